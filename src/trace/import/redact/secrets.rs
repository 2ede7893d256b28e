//! API keys and authorization headers within payloads.

use serde_json::Value;

use super::reasoning::plain;

/// What stands in place of a secret.
const REMOVED: &str = "[removed]";
/// Beginnings of providers' keys, each with the fewest characters that follow.
const KEYS: [(&str, usize); 8] = [
    ("sk-", 16),
    ("gsk_", 16),
    ("xai-", 16),
    ("hf_", 20),
    ("ghp_", 30),
    ("github_pat_", 30),
    ("AIza", 30),
    ("AKIA", 16),
];
/// Schemes of authorization headers.
const SCHEMES: [&str; 6] = ["bearer", "basic", "token", "digest", "apikey", "negotiate"];

/// Where a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// In the payload of an event.
    Payload,
    /// In what went to or came from an endpoint.
    Exchange,
    /// Among headers.
    Headers,
}

/// Replaces secrets, by the names of their fields and by their looks.
pub(super) fn remove(value: &mut Value, within: Within) {
    match value {
        Value::String(text) => {
            if let Some(left) = without_secrets(text) {
                *text = left;
            }
        }
        Value::Array(items) => {
            if within == Within::Headers {
                remove_from_pair(items);
            }
            items.iter_mut().for_each(|item| remove(item, within));
        }
        Value::Object(members) => {
            let named = ["name", "key"]
                .iter()
                .find_map(|k| members.get(*k)?.as_str());
            let named = named.is_some_and(|n| within == Within::Headers && is_secret(n, within));
            for (key, member) in members.iter_mut() {
                if is_named_secret(key, member, within) || (named && key == "value") {
                    *member = Value::String(REMOVED.to_owned());
                } else if plain(key).ends_with("headers") {
                    remove(member, Within::Headers);
                } else {
                    remove(member, within);
                }
            }
        }
        _ => {}
    }
}

/// A header written as a list of its name and its value.
fn remove_from_pair(items: &mut [Value]) {
    if let [Value::String(name), value] = items
        && is_secret(name, Within::Headers)
    {
        *value = Value::String(REMOVED.to_owned());
    }
}

/// Whether a member is a secret. Only the name counts, except for an `authorization` outside of
/// exchanges, which may be one of a card.
fn is_named_secret(name: &str, value: &Value, within: Within) -> bool {
    if value.is_null() || value.is_boolean() {
        return false;
    }
    let scheme = |text: &str| {
        let (first, rest) = text.trim().split_once(' ').unwrap_or((text, ""));
        !rest.is_empty() && SCHEMES.contains(&plain(first).as_str())
    };
    is_secret(name, within)
        || (plain(name).ends_with("authorization") && value.as_str().is_some_and(scheme))
}

fn is_secret(name: &str, within: Within) -> bool {
    let name = plain(name);
    let any = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    match within {
        _ if name.ends_with("apikey") => true,
        Within::Payload => false,
        Within::Exchange => name.ends_with("authorization") || name.ends_with("cookie"),
        Within::Headers => any(&["auth", "key", "token", "secret", "cookie", "credential"]),
    }
}

/// The text without keys and authorization headers; `None` if there are none in it.
fn without_secrets(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let looks = KEYS.iter().any(|(begin, _)| text.contains(begin));
    if !looks && !lower.contains("authorization") && !lower.contains("bearer ") {
        return None;
    }
    let mut kept = String::new();
    let mut at = 0;
    while let Some((from, to)) = next_secret(text, &lower, at) {
        kept.push_str(&text[at..from]);
        kept.push_str(REMOVED);
        at = to;
    }
    kept.push_str(&text[at..]);
    (kept != text).then_some(kept)
}

/// Where the next secret from `at` on begins and ends.
fn next_secret(text: &str, lower: &str, at: usize) -> Option<(usize, usize)> {
    let keys = KEYS.iter().filter_map(|key| next_key(text, at, *key));
    let headers = next_header(text, lower, at);
    let bearers = next_bearer(text, lower, at);
    keys.chain(headers).chain(bearers).min()
}

/// A provider's key: it begins a word, is long, and holds a digit.
fn next_key(text: &str, at: usize, (begin, fewest): (&str, usize)) -> Option<(usize, usize)> {
    text[at..].match_indices(begin).find_map(|(i, _)| {
        let from = at + i;
        let before = text[..from].chars().next_back();
        let word = word_at(text, from);
        let is_key = !before.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_')
            && word.len() >= begin.len() + fewest
            && word.contains(|c: char| c.is_ascii_digit());
        is_key.then_some((from, from + word.len()))
    })
}

/// The value of an authorization header in text: a scheme and its credentials.
fn next_header(text: &str, lower: &str, at: usize) -> Option<(usize, usize)> {
    lower[at..]
        .match_indices("authorization")
        .find_map(|(i, name)| {
            let after = at + i + name.len();
            let sign =
                |c: char| c == ':' || c == '=' || c == '"' || c == '\'' || c == '\\' || c == ' ';
            let from = after + text[after..].find(|c| !sign(c))?;
            let scheme = word_at(text, from);
            let is_scheme = SCHEMES.contains(&plain(scheme).as_str());
            let value = from + scheme.len() + 1;
            let separated = text[after..from].contains([':', '=']);
            let spaced = text[from + scheme.len()..].starts_with(' ');
            (separated && is_scheme && spaced).then(|| (from, value + word_at(text, value).len()))
        })
}

/// A bearer token by itself: long, or with a digit or two capitals, as no word of prose has.
fn next_bearer(text: &str, lower: &str, at: usize) -> Option<(usize, usize)> {
    lower[at..]
        .match_indices("bearer ")
        .find_map(|(i, scheme)| {
            let from = at + i + scheme.len();
            let word = word_at(text, from);
            let capitals = word.chars().filter(char::is_ascii_uppercase).count();
            let odd = capitals > 1 || word.contains(|c: char| c.is_ascii_digit());
            (word.len() >= 8 && (odd || word.len() >= 24)).then_some((from, from + word.len()))
        })
}

/// The run of characters that tokens are made of.
fn word_at(text: &str, from: usize) -> &str {
    let token = |c: char| c.is_ascii_alphanumeric() || "-_.~+/=".contains(c);
    let rest = &text[from..];
    &rest[..rest.find(|c| !token(c)).unwrap_or(rest.len())]
}
