//! Names under which keys are passed: what stands under them would be stored with the arm.

use serde_json::{Map, Value};

/// Parts of names of headers and of parts of a URL's query.
const PARTS: [&str; 8] = [
    "key",
    "token",
    "secret",
    "auth",
    "cookie",
    "password",
    "signature",
    "credential",
];

/// Whole words of such names; as parts they stand in harmless ones (`encoding`, `passthrough`).
const WORDS: [&str; 6] = ["pass", "passwd", "session", "sig", "code", "subscription"];

/// Last words of names of parameters; many have such a word in front (`token_budget`, `stop_token_ids`).
const LAST: [&str; 11] = [
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "pass",
    "auth",
    "authorization",
    "cookie",
    "signature",
    "credential",
];

/// Whether a header carries a key, by its name or by the scheme before its value. A session that is filled
/// in from the trial is none.
pub(super) fn header_holds_key(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let filled_in = value.contains('{');
    let by_word = |word: &str| match word {
        "code" | "subscription" => false,
        "session" => !filled_in,
        word => WORDS.contains(&word),
    };
    PARTS.iter().any(|part| name.contains(part)) || words(&name).any(by_word) || is_bearer(value)
}

/// Whether the query of a URL carries a key.
pub(super) fn query_holds_key(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|pair| {
        let name = pair.split('=').next().unwrap_or("").to_ascii_lowercase();
        PARTS.iter().any(|part| name.contains(part))
            || name.contains("sig")
            || words(&name).any(|word| WORDS.contains(&word))
    })
}

/// The names of parameters, at any depth, whose text is a key by its name or by the scheme before it.
pub(super) fn params_with_key(params: &Map<String, Value>) -> Vec<&str> {
    let mut found = vec![];
    for (name, value) in params {
        gather(name, value, &mut found);
    }
    found
}

fn gather<'a>(name: &'a str, value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) if is_parameter_of_key(name) || is_bearer(text) => found.push(name),
        Value::Array(items) => items.iter().for_each(|item| gather(name, item, found)),
        Value::Object(members) => {
            let members = members.iter();
            members.for_each(|(name, value)| gather(name, value, found));
        }
        _ => {}
    }
}

fn is_parameter_of_key(name: &str) -> bool {
    const KEYS: [&str; 5] = ["api", "access", "secret", "private", "subscription"];
    let name = name.to_ascii_lowercase();
    let all: Vec<&str> = words(&name).collect();
    match all.as_slice() {
        ["key"] => true,
        [.., kind, "key"] => KEYS.contains(kind),
        [.., last] => LAST.contains(last) || *last == "credentials",
        [] => false,
    }
}

fn is_bearer(text: &str) -> bool {
    let scheme = text.trim_start().split_at_checked(7);
    scheme.is_some_and(|(scheme, rest)| {
        scheme.eq_ignore_ascii_case("bearer ") && !rest.trim().is_empty()
    })
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn headers_of_keys_are_known_and_others_are_free() {
        for name in [
            "X-Pass",
            "x-session",
            "x-signature",
            "X-Goog-Api-Key",
            "cookie",
        ] {
            assert!(header_holds_key(name, "abc"), "{name}");
        }
        assert!(header_holds_key("x-custom", "Bearer abc"));
        for (name, value) in [
            ("x-passthrough", "1"),
            ("x-session-id", "{trial_id}"),
            ("x-code", "1"),
            ("x-kind", "bearer"),
        ] {
            assert!(!header_holds_key(name, value), "{name}");
        }
    }

    #[test]
    fn parameters_of_keys_are_known_at_any_depth_and_others_are_free() {
        let params = json!({
            "api_key": "s", "extra_body": {"access-token": "s", "x": ["Bearer s"]},
            "max_tokens": 5, "prompt_cache_key": "suite", "stop_token_ids": [1],
            "token": 3, "session_id": "s", "service_tier": "auto",
        });
        let mut found = params_with_key(params.as_object().unwrap());
        found.sort_unstable();
        assert_eq!(found, ["access-token", "api_key", "x"]);
    }

    #[test]
    fn queries_of_keys_are_known_and_others_are_free() {
        for query in [
            "code=x",
            "subscription=x",
            "a=1&subscription-key=x",
            "sig=x",
            "SESSION=x",
        ] {
            assert!(query_holds_key(&format!("http://h/v1?{query}")), "{query}");
        }
        for query in ["api-version=2024-10-21", "encoding=json", "a=code"] {
            assert!(!query_holds_key(&format!("http://h/v1?{query}")), "{query}");
        }
    }
}
