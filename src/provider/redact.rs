//! Secrets are taken out of every text before anybody sees it.

use std::ops::Range;

use super::echoes::echoes;

/// Longest text that is shown, in characters.
const LONGEST: usize = 300;

/// What stands where a secret stood.
const MASK: &str = "***";

/// Names whose values are secrets when `:` or `=` follows.
const LABELS: [&str; 9] = [
    "proxy-authorization",
    "authorization",
    "x-api-key",
    "api-key",
    "api_key",
    "apikey",
    "access_token",
    "token",
    "key",
];

/// Takes the secrets of one arm, and whatever looks like a secret, out of texts.
#[derive(Clone, Default)]
pub(super) struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    /// Knows these secrets literally; what is shorter than three bytes would blank whole texts.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let known = secrets.into_iter().filter(|s| s.len() > 2);
        // A short one has forms that stand in many texts by chance.
        let forms = |s: String| match s.len() {
            ..8 => vec![s],
            _ => echoes(&s),
        };
        let mut secrets: Vec<String> = known.flat_map(forms).collect();
        // A secret that holds another one goes first, or its remains would be left.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// The text on one line, without secrets, cut to 300 characters.
    pub fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            text = text.replace(secret.as_str(), MASK);
        }
        shorten(&masked(&text))
    }
}

fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    let cut: String = line.chars().take(LONGEST - 1).collect();
    cut + "…"
}

fn masked(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        if let Some(found) = secret_at(&lower, at) {
            clean.push_str(&text[at..found.start]);
            clean.push_str(MASK);
            at = found.end;
        } else {
            clean.push(next);
            at += next.len_utf8();
        }
    }
    clean
}

/// The secret that a word starting at `at` announces, if any.
fn secret_at(lower: &str, at: usize) -> Option<Range<usize>> {
    if lower[at..].starts_with("://") {
        return userinfo(lower, at + 3);
    }
    let inside_word = lower[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
    if inside_word {
        return None;
    }
    labelled(lower, at)
        .or_else(|| scheme(lower, at))
        .or_else(|| Some(run(lower, at)).filter(|r| lower[at..].starts_with("sk-") && r.len() > 6))
}

/// `user:password@` of a URL whose host part starts at `from`.
fn userinfo(lower: &str, from: usize) -> Option<Range<usize>> {
    let ends = |c: char| c.is_whitespace() || "/?#\"'<>".contains(c);
    let length = lower[from..].find(ends).unwrap_or(lower.len() - from);
    let at = lower[from..from + length].rfind('@')?;
    Some(from..from + at)
}

/// The value after `label:` or `label=`, with its scheme.
fn labelled(lower: &str, at: usize) -> Option<Range<usize>> {
    let label = LABELS
        .iter()
        .find(|label| lower[at..].starts_with(**label))?;
    let from = at + label.len();
    let quiet = |c: char| c == '"' || c == '\'' || c == '\\' || c == ' ';
    let rest = lower[from..].trim_start_matches(quiet);
    let rest = rest.strip_prefix([':', '='])?.trim_start_matches(quiet);
    let start = lower.len() - rest.len();
    scheme(lower, start).or_else(|| Some(run(lower, start)).filter(|r| !r.is_empty()))
}

/// The value after `Bearer` or `Basic`.
fn scheme(lower: &str, at: usize) -> Option<Range<usize>> {
    let word = ["bearer ", "basic "]
        .into_iter()
        .find(|word| lower[at..].starts_with(word))?;
    let rest = lower[at + word.len()..].trim_start_matches(' ');
    let found = run(lower, lower.len() - rest.len());
    (found.len() > 5).then_some(found)
}

/// The run of characters that a token may have.
fn run(lower: &str, from: usize) -> Range<usize> {
    let token = |c: char| c.is_ascii_alphanumeric() || "-_.~+/=*".contains(c);
    let length = lower[from..]
        .find(|c| !token(c))
        .unwrap_or(lower.len() - from);
    from..from + length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        let redactor = Redactor::new([]);
        let cases = [
            (
                "Incorrect API key provided: sk-proj-Ab1*****9xyz. See",
                "Incorrect API key provided: *** See",
            ),
            (
                "Authorization: Bearer abc.def-123, gone",
                "Authorization: Bearer ***, gone",
            ),
            (
                r#"{"x-api-key": "abc123", "a": 1}"#,
                r#"{"x-api-key": "***", "a": 1}"#,
            ),
            (
                "via http://me:pass@proxy:3128/x",
                "via http://***@proxy:3128/x",
            ),
            ("GET /v1?key=AIza123&a=1", "GET /v1?key=***&a=1"),
            ("bearer of bad news", "bearer of bad news"),
            (
                "the authorization header is missing",
                "the authorization header is missing",
            ),
            ("task-list and risk-free", "task-list and risk-free"),
            ("größe sk-ähm", "größe sk-ähm"),
        ];
        for (text, expected) in cases {
            assert_eq!(redactor.clean(text), expected);
        }
    }

    #[test]
    fn known_secrets_are_masked_wherever_they_stand() {
        let redactor = Redactor::new(["hunter2".to_owned(), "hunter2-long".to_owned()]);
        assert_eq!(redactor.clean("xhunter2-longx hunter2"), "x***x ***");
    }

    #[test]
    fn long_texts_are_cut_after_masking() {
        let key = "k".repeat(40);
        let redactor = Redactor::new([key.clone()]);
        // Cut first, the key would be cut in half and stay.
        let text = format!("{}{key}", "ä".repeat(280));
        let clean = redactor.clean(&text);
        assert_eq!(clean, format!("{}***", "ä".repeat(280)));
        assert_eq!(redactor.clean(&"ä".repeat(999)).chars().count(), 300);
        assert_eq!(redactor.clean("a\n\n  b"), "a b");
    }
}
