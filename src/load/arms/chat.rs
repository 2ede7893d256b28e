//! What a live arm may say.

use super::secret_name;
use crate::base::Error;
use crate::load::check::At;
use crate::load::nearest;
use crate::model::arm::ChatArm;

/// Parameters that the tool loop sets itself.
const OURS: [&str; 5] = ["model", "messages", "tools", "stream", "system"];

/// Parameters that are numbers with every provider.
const NUMBERS: [&str; 8] = [
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "max_completion_tokens",
    "frequency_penalty",
    "presence_penalty",
    "seed",
];

/// Headers that carry keys or belong to the connection.
const NOT_DECLARED: [&str; 6] = [
    "authorization",
    "x-api-key",
    "api-key",
    "host",
    "content-length",
    "content-type",
];

/// What is filled in between braces in headers.
const FILLED_IN: [&str; 4] = ["task", "trial", "trial_id", "seed"];

/// The words that stand in braces by themselves, such as `{task}`; JSON in a header has none.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let inside = text
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'));
    inside
        .map(|(name, _)| name)
        .filter(move |name| !name.is_empty() && name.chars().all(word))
}

/// Checks a live arm for sense.
pub(crate) fn check(arm: &ChatArm, at: &At, problems: &mut Vec<Error>) {
    if let Some(problem) = url_problem(&arm.base_url) {
        problems.push(at.to("base_url").problem(problem));
    }
    if arm.model.trim().is_empty() {
        problems.push(at.to("model").problem("`model` is empty"));
    }
    if let Some(name) = &arm.api_key_env
        && !is_variable(name)
    {
        let problem = "`api_key_env` is not the name of an environment variable";
        let hint = "write the name of the variable, such as OPENAI_API_KEY, never the key itself";
        problems.push(at.to("api_key_env").problem(problem).hint(hint));
    }
    for key in OURS.iter().filter(|k| arm.params.contains_key(**k)) {
        let problem = format!("`{key}` is set by the tool loop and not a parameter");
        problems.push(at.to("params").to(key).problem(problem));
    }
    for key in NUMBERS {
        let value = arm.params.get(key);
        if let Some(value) = value.filter(|value| !value.is_number() && !value.is_null()) {
            let problem = format!("`{key}` is a number, not {value}");
            problems.push(at.to("params").to(key).problem(problem));
        }
    }
    for (name, value) in &arm.headers {
        if is_reserved(name) || secret_name::header_holds_key(name, value) {
            let problem = format!("the header `{name}` is not declared here");
            let hint = "keys come from the environment: name the variable with `api_key_env`";
            problems.push(at.to("headers").to(name).problem(problem).hint(hint));
        }
    }
    for name in secret_name::params_with_key(&arm.params) {
        let problem = format!("the parameter `{name}` looks like a key, which would be stored");
        let hint = "keys come from the environment: name the variable with `api_key_env`";
        problems.push(at.to("params").problem(problem).hint(hint));
    }
    for (name, value) in &arm.headers {
        for unknown in placeholders(value).filter(|p| !FILLED_IN.contains(p)) {
            let problem =
                format!("the header `{name}` holds `{{{unknown}}}`, which is not filled in");
            let hint = nearest::hint(unknown, FILLED_IN, "names");
            problems.push(at.to("headers").to(name).problem(problem).hint(hint));
        }
    }
    let times = [
        ("connect_s", arm.timeouts.connect_s),
        ("first_byte_s", arm.timeouts.first_byte_s),
        ("total_s", arm.timeouts.total_s),
    ];
    for (key, seconds) in times {
        if !(seconds > 0.0 && seconds < 1e6) {
            let problem = format!("`{key}` must be a number of seconds above 0");
            problems.push(at.to("timeouts").to(key).problem(problem));
        }
    }
    if !(0.0..1e6).contains(&arm.max_retry_wait_s) {
        let problem = "`max_retry_wait_s` must be a number of seconds from 0";
        problems.push(at.to("max_retry_wait_s").problem(problem));
    }
    let rates = [
        (
            "requests_per_minute",
            arm.rate.requests_per_minute == Some(0),
        ),
        ("tokens_per_minute", arm.rate.tokens_per_minute == Some(0)),
        ("concurrency", arm.concurrency == Some(0)),
    ];
    for (key, _) in rates.into_iter().filter(|(_, is_zero)| *is_zero) {
        let at = match key {
            "concurrency" => at.to(key),
            _ => at.to("rate").to(key),
        };
        problems.push(at.problem(format!("`{key}` must be at least 1")));
    }
}

/// Whether a header carries a key by its protocol, or belongs to the connection.
fn is_reserved(name: &str) -> bool {
    NOT_DECLARED.contains(&name.to_ascii_lowercase().as_str())
}

/// What is wrong with the URL of an endpoint.
pub fn url_problem(url: &str) -> Option<String> {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"));
    match rest {
        None => Some(format!("`{url}` is not a URL with http:// or https://")),
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            Some(format!("`{url}` names no host"))
        }
        Some(rest)
            if rest
                .split('/')
                .next()
                .is_some_and(|host| host.contains('@')) =>
        {
            Some("the URL holds a user or key; keys come from the environment".to_owned())
        }
        Some(_) if secret_name::query_holds_key(url) => {
            Some("the URL's query holds a key; keys come from the environment".to_owned())
        }
        Some(_) => None,
    }
}

/// Whether a text can be the name of an environment variable.
pub fn is_variable(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
