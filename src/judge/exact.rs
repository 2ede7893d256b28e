//! Whether a model id names one model, or whichever the vendor serves under that name today.

/// Words in a model id that stand for whatever is newest.
const MOVING: [&str; 5] = ["latest", "current", "newest", "default", "auto"];

/// How a family writes the version of a model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Versions {
    /// A date: `2025-04-14`, `20250514`, or four digits as `0613` and `2411`.
    Dated,
    /// Three digits: `-002`.
    Numbered,
    /// None: the vendor moves the name.
    Never,
}

/// Families of which the vendor also serves names without a version, by how their ids begin; the
/// longest beginning counts, and `None` says that plain names are exact.
const FAMILIES: [(&str, Option<Versions>); 32] = [
    ("gpt-", Some(Versions::Dated)),
    ("gpt-oss", None),
    ("chatgpt-", Some(Versions::Dated)),
    ("o1", Some(Versions::Dated)),
    ("o3", Some(Versions::Dated)),
    ("o4", Some(Versions::Dated)),
    ("claude-", Some(Versions::Dated)),
    ("gemini-1", Some(Versions::Numbered)),
    ("gemini-2.0", Some(Versions::Numbered)),
    ("gemini-pro", Some(Versions::Never)),
    ("gemini-flash", Some(Versions::Never)),
    ("mistral-large", Some(Versions::Dated)),
    ("mistral-medium", Some(Versions::Dated)),
    ("mistral-small", Some(Versions::Dated)),
    ("mistral-tiny", Some(Versions::Dated)),
    ("codestral", Some(Versions::Dated)),
    ("ministral", Some(Versions::Dated)),
    ("pixtral", Some(Versions::Dated)),
    ("magistral", Some(Versions::Dated)),
    ("devstral", Some(Versions::Dated)),
    ("grok-2", Some(Versions::Dated)),
    ("grok-4", Some(Versions::Dated)),
    ("grok-beta", Some(Versions::Never)),
    ("command-", Some(Versions::Dated)),
    ("command", Some(Versions::Dated)),
    ("deepseek-chat", Some(Versions::Never)),
    ("deepseek-reasoner", Some(Versions::Never)),
    ("qwen-max", Some(Versions::Dated)),
    ("qwen-plus", Some(Versions::Dated)),
    ("qwen-turbo", Some(Versions::Dated)),
    ("qwen-flash", Some(Versions::Dated)),
    ("kimi-latest", Some(Versions::Never)),
];

/// Why a model id is not exact; `None` if it is.
///
/// Known are the naming rules of vendors whose plain names move (as of November 2026); any other id is
/// taken as it is, since nobody but its server knows what it means. Claude models from 4.6 on have no
/// dated ids, so that their plain names are exact.
///
/// # Examples
///
/// ```
/// use assize::judge::exact::inexact;
/// assert_eq!(inexact("gpt-4.1-2025-04-14"), None);
/// assert!(inexact("gpt-4.1").unwrap().contains("without its date"));
/// assert!(inexact("claude-3-5-sonnet-latest").unwrap().contains("latest"));
/// ```
pub fn inexact(model: &str) -> Option<String> {
    let id = model.trim().to_lowercase();
    if id.is_empty() {
        return Some("the model id is empty".to_owned());
    }
    let name = id.rsplit('/').next().unwrap_or(&id);
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    if let Some(word) = words.find(|w| MOVING.contains(w)) {
        return Some(format!(
            "`{model}` is an alias: `{word}` means another model tomorrow"
        ));
    }
    let matching = FAMILIES.iter().filter(|(start, _)| name.starts_with(start));
    let versions = matching.max_by_key(|(start, _)| start.len())?.1?;
    if name.starts_with("claude-") && plain_claude(name) {
        return None;
    }
    let ok = match versions {
        Versions::Dated => has_date(name),
        Versions::Numbered => has_number(name) || has_date(name),
        Versions::Never => false,
    };
    (!ok).then(|| match versions {
        Versions::Dated => format!("`{model}` is an alias without its date; the vendor moves it"),
        Versions::Numbered => {
            format!("`{model}` is an alias without its number; the vendor moves it")
        }
        Versions::Never => format!("`{model}` is an alias that the vendor moves"),
    })
}

/// Whether a Claude id is of version 4.6 or later.
fn plain_claude(name: &str) -> bool {
    let numbers: Vec<u32> = name
        .split('-')
        .filter(|w| w.len() <= 2)
        .filter_map(|w| w.parse().ok())
        .collect();
    match numbers[..] {
        [major, minor, ..] => (major, minor) >= (4, 6),
        [major] => major >= 5,
        [] => false,
    }
}

fn has_date(name: &str) -> bool {
    let words: Vec<&str> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .skip(1)
        .collect();
    let digits = |w: &&str| w.bytes().all(|b| b.is_ascii_digit());
    let year =
        |w: &str| w.len() == 4 && w.starts_with("20") && w.bytes().all(|b| b.is_ascii_digit());
    let long = words.iter().any(|w| digits(w) && matches!(w.len(), 6 | 8));
    let four = words.iter().any(|w| digits(w) && w.len() == 4 && !year(w));
    let month_year = words
        .windows(2)
        .any(|w| (w[0].len() == 2 && digits(&w[0]) && year(w[1])) || (year(w[0]) && digits(&w[1])));
    long || four || month_year
}

fn has_number(name: &str) -> bool {
    let last = name.rsplit('-').next().unwrap_or_default();
    last.len() == 3 && last.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_ids_are_taken() {
        for id in [
            "gpt-4o-2024-08-06",
            "gpt-4-0613",
            "openai/gpt-4.1-mini-2025-04-14",
            "gpt-oss-120b",
            "o3-2025-04-16",
            "claude-sonnet-4-5-20250929",
            "claude-3-haiku@20240307",
            "claude-opus-4-6",
            "gemini-1.5-pro-002",
            "gemini-2.5-pro",
            "mistral-large-2411",
            "mistral-7b-instruct-v0.3",
            "command-r-08-2024",
            "grok-4-0709",
            "meta-llama/Llama-3.1-8B-Instruct",
            "llama3.1:8b",
            "our-judge",
        ] {
            assert_eq!(inexact(id), None, "{id}");
        }
    }

    #[test]
    fn aliases_are_not() {
        for id in [
            "",
            " ",
            "gpt-4o",
            "gpt-4",
            "gpt-5-mini",
            "o3",
            "chatgpt-4o-latest",
            "claude-3-5-sonnet-latest",
            "claude-sonnet-4-5",
            "claude-opus-4-1",
            "anthropic/claude-3-haiku",
            "gemini-1.5-pro",
            "gemini-2.0-flash",
            "gemini-flash-latest",
            "mistral-large",
            "mistral-small-latest",
            "grok-4",
            "deepseek-chat",
            "llama3:latest",
            "openrouter/auto",
            "command-r-plus",
        ] {
            assert!(inexact(id).is_some(), "{id}");
        }
    }
}
