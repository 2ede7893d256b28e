//! A judge does not judge its own model: models prefer what they wrote themselves (Panickssery et al.
//! 2024), and blinding hides names, not style.

use crate::base::{Error, Result};
use crate::model::arm::Arm;
use crate::model::judge::Judge;

/// Refuses a judge whose model, or that of one of its panel's members, is that of an arm.
///
/// # Errors
///
/// If it is, with the arm and both ids.
pub fn refuse(judge: &Judge, arms: &[Arm]) -> Result<()> {
    match judged_by_itself(judge, arms).as_slice() {
        [] => Ok(()),
        found => Err(Error::refused(found.join("; "))
            .hint("take a judge of another model, or force it: the report will say so")),
    }
}

/// Every pair of judge and arm that share a model, in words.
pub fn judged_by_itself(judge: &Judge, arms: &[Arm]) -> Vec<String> {
    let mut found = vec![];
    if let Some(endpoint) = &judge.spec.endpoint {
        let own = arms
            .iter()
            .filter_map(|arm| Some((arm, arm.model()?)))
            .filter(|(_, model)| same_model(&endpoint.model, model));
        found.extend(own.map(|(arm, model)| {
            let judge = judge.key();
            let asked = &endpoint.model;
            format!(
                "judge `{judge}` ({asked}) would judge its own model: arm `{}` is {model}",
                arm.id
            )
        }));
    }
    let members = judge.members.iter();
    found.extend(members.flat_map(|member| judged_by_itself(member, arms)));
    found
}

/// Names of vendors and servers that some tools write before an id: `openai:gpt-4o`.
const SERVERS: [&str; 20] = [
    "openai",
    "anthropic",
    "google",
    "vertex",
    "vertexai",
    "azure",
    "bedrock",
    "mistral",
    "mistralai",
    "cohere",
    "groq",
    "together",
    "openrouter",
    "ollama",
    "xai",
    "deepseek",
    "hf",
    "fireworks",
    "moonshot",
    "meta",
];

/// Those that name no family of models too: `openai-gpt-4o` is no other model than `gpt-4o`, and
/// `mistral-large` is not `large`.
fn is_server_alone(word: &str) -> bool {
    SERVERS.contains(&word) && !["mistral", "deepseek", "moonshot"].contains(&word)
}

/// What follows a name and makes no other model of it: how its weights are stored, how it is served.
const SERVED: [&str; 17] = [
    "latest", "free", "beta", "nitro", "online", "extended", "gguf", "awq", "gptq", "mlx", "fp8",
    "fp16", "bf16", "int4", "int8", "4bit", "8bit",
];

/// Whether two ids name one model, however they are written: whatever vendor, path or server stands
/// before it, whatever signs part its words, and whatever date, revision, tag or way of storing the weights
/// follows. Two snapshots of one model are one model here; two models of one family are not.
///
/// # Examples
///
/// ```
/// use assize::judge::own::same_model;
/// assert!(same_model("openai/gpt-4o", "gpt-4o-2024-08-06"));
/// assert!(same_model("zyxw_mega_2", "ZYXW-Mega-2"));
/// assert!(!same_model("gpt-4o", "gpt-4o-mini"));
/// ```
pub fn same_model(a: &str, b: &str) -> bool {
    let other = readings(b);
    readings(a).iter().any(|name| other.contains(name))
}

/// The name without what stands before and after it, letters and digits only; also without a vendor that
/// Bedrock writes with a dot (`anthropic.claude-3-haiku-20240307-v1:0`) or others with a hyphen, and with the
/// vendor that stands before a slash, as part of the name (`acme/mega.5`, `acme-mega-5`).
fn readings(model: &str) -> Vec<String> {
    let id = model.trim().to_lowercase();
    let (path, last) = id.rsplit_once('/').unwrap_or(("", &id));
    let split = |name: &str, sign| {
        name.split_once(sign)
            .map(|(s, rest)| (s.to_owned(), rest.to_owned()))
    };
    let mut name = last.to_owned();
    if let Some((_, rest)) = split(&name, ':').filter(|(s, _)| SERVERS.contains(&s.as_str())) {
        name = rest;
    }
    let mut all = vec![base(&name)];
    if let Some(vendor) = path.rsplit('/').next().filter(|vendor| !vendor.is_empty()) {
        all.push(base(&format!("{vendor}-{name}")));
    }
    if let Some((_, rest)) = split(&name, '-').filter(|(s, _)| is_server_alone(s)) {
        all.push(base(&rest));
    }
    let vendor = |before: &str| before.bytes().all(|b| b.is_ascii_lowercase());
    while let Some((before, rest)) = split(&name, '.') {
        if !vendor(&before) || rest.starts_with(|c: char| c.is_ascii_digit()) {
            break;
        }
        all.push(base(&rest));
        name = rest;
    }
    all.retain(|name| !name.is_empty());
    all
}

/// The letters and digits of a name without tag, date, revision and the like at its end.
fn base(name: &str) -> String {
    let words = |text| -> Vec<&str> {
        let words = str::split(text, |c: char| !c.is_ascii_alphanumeric());
        words.filter(|w| !w.is_empty()).collect()
    };
    // A tag says how a model is served, unless it says how large it is.
    let name = match name.split_once(':') {
        Some((before, tag)) if !words(tag).iter().any(|w| is_size(w)) => before,
        _ => name,
    };
    let mut words = words(name);
    while let Some(fewer) = without_version(&words) {
        words.truncate(fewer);
    }
    words.concat()
}

/// How many words are left without a date, a revision or the like at the end; `None` if there is none, or
/// nothing else.
fn without_version(words: &[&str]) -> Option<usize> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let revision = |text: &str| text.strip_prefix('v').is_some_and(digits);
    let two = |text: &str| text.len() == 2 && digits(text);
    let year = |text: &str| text.len() == 4 && digits(text);
    let gone = match words {
        // `2024-08-06`.
        [.., a, b, c] if year(a) && two(b) && two(c) => 3,
        // `08-2024`, `2024-08`, `05-06`; `v1:0`, `v0.3`.
        [.., a, b] if two(a) && (two(b) || year(b)) || year(a) && two(b) => 2,
        [.., a, b] if revision(a) && digits(b) && b.len() <= 2 => 2,
        // `q4_K_M` says how the weights are stored.
        [.., a, "k", b] if is_quantised(a) && b.len() == 1 => 3,
        [.., a] if SERVED.contains(a) || revision(a) || is_quantised(a) => 1,
        [.., a] if digits(a) && a.len() >= 3 => 1,
        _ => 0,
    };
    (gone > 0 && words.len() > gone).then(|| words.len() - gone)
}

fn is_quantised(word: &str) -> bool {
    let bits = word.strip_prefix("iq").or(word.strip_prefix('q'));
    bits.is_some_and(|b| b.len() == 1 && b.bytes().all(|b| b.is_ascii_digit()))
}

/// `8b`, `8x7b`.
fn is_size(word: &str) -> bool {
    let digits = word.strip_suffix(['b', 'm']).unwrap_or_default();
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b'x')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_vendors_and_tags_do_not_hide_a_model() {
        for (a, b) in [
            ("gpt-4o", "GPT-4o"),
            ("gpt-4o-2024-05-13", "azure/gpt-4o-2024-08-06"),
            ("gpt-4-0613", "gpt-4"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
            ("anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku"),
            ("claude-3-haiku@20240307", "claude-3-haiku"),
            ("gemini-2.5-pro-preview-05-06", "gemini-2.5-pro-preview"),
            ("models/gemini-1.5-pro-002", "gemini-1.5-pro"),
            ("llama3:latest", "llama3"),
            ("zyxw_mega_2", "zyxw-mega-2"),
            ("ZYXW Mega.2", "acme/zyxw-mega-2:prod"),
            ("zyxw-mega-2-20260301", "zyxwmega2"),
            ("openai:gpt-4o", "gpt-4o-2024-08-06"),
            ("openrouter/meta/llama-3.1-8b:free", "llama-3.1-8b"),
            ("qwen2.5:7b-instruct-q4_K_M", "Qwen2.5-7B-Instruct"),
            ("command-r-08-2024", "command-r"),
            (
                "claude-3.5-sonnet",
                "us.anthropic.claude-3-5-sonnet-20241022-v2:0",
            ),
            ("wibblecorp/ULTRA.5:free", "wibblecorp-ultra-5"),
            ("wibblecorp-ultra-5", "router/wibblecorp/ultra_5"),
            ("wibblecorp.ultra.5", "ULTRA-5"),
            ("openai-gpt-4o", "gpt-4o-2024-08-06"),
            ("meta-llama-3.1-8b", "meta/llama-3.1-8b"),
            ("mistral-7b-instruct-v0.3", "Mistral-7B-Instruct"),
        ] {
            assert!(same_model(a, b), "{a} {b}");
        }
    }

    #[test]
    fn neighbours_are_other_models() {
        for (a, b) in [
            ("gpt-4o", "gpt-4o-mini"),
            ("gpt-4", "gpt-4.5"),
            ("claude-opus-4", "claude-opus-4-1"),
            ("llama-3.1-8b", "llama-3.1-70b"),
            ("llama3:8b", "llama3:70b"),
            ("zyxw-mega-2", "zyxw-mega-3"),
            ("zyxw-mega-2", "zyxw-mega"),
            ("wibblecorp/ultra.5", "wibblecorp-ultra-6"),
            ("wibblecorp/ultra-5", "wibblecorp"),
            ("mistral-large", "acme/large"),
            ("deepseek-coder", "mistral-coder"),
            ("2024", "2025"),
            ("", ""),
        ] {
            assert!(!same_model(a, b), "{a} {b}");
        }
    }
}
