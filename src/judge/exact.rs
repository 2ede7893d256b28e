//! Whether a model id names one model, or whichever the vendor serves under that name today.

/// Words in a model id that stand for whatever is newest.
const MOVING: [&str; 5] = ["latest", "current", "newest", "default", "auto"];

/// What a cloud writes before a model's name, with a dot: `us.anthropic.claude-…`.
const BEFORE_DOTS: [&str; 14] = [
    "us",
    "eu",
    "apac",
    "global",
    "anthropic",
    "meta",
    "mistral",
    "amazon",
    "cohere",
    "ai21",
    "openai",
    "google",
    "qwen",
    "deepseek",
];

/// How a family writes the version of a model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Versions {
    /// A date: `2025-04-14`, `20250514`, or four digits as `0613` and `2411`.
    Dated,
    /// Three digits, `-002`, or a date.
    Numbered,
    /// Weights that come in several sizes: `8b`, `8x7b`; also a date or a version of the weights, `v0.3`.
    Sized,
    /// Weights of one size that their publisher revised under the same version: a date, a size (of what was
    /// distilled from them), a named revision, or the publisher's own repository.
    Revised,
    /// None: the vendor moves the name.
    Never,
}

/// Families of which the vendor also serves names without a version, by how their ids begin; the
/// longest beginning counts, and `None` says that plain names are exact.
const FAMILIES: [(&str, Option<Versions>); 54] = [
    ("gpt", Some(Versions::Dated)),
    ("gpt-oss", None),
    ("gpt2", None),
    ("gpt-2", None),
    ("gpt-j", None),
    ("gpt-neo", None),
    ("chatgpt", Some(Versions::Dated)),
    ("o1", Some(Versions::Dated)),
    ("o3", Some(Versions::Dated)),
    ("o4", Some(Versions::Dated)),
    ("codex", Some(Versions::Dated)),
    ("claude", Some(Versions::Dated)),
    ("opus", Some(Versions::Dated)),
    ("sonnet", Some(Versions::Dated)),
    ("haiku", Some(Versions::Dated)),
    ("gemini", Some(Versions::Numbered)),
    ("gemma", Some(Versions::Sized)),
    ("gemma2", Some(Versions::Sized)),
    ("gemma3", Some(Versions::Sized)),
    ("mistral", Some(Versions::Sized)),
    ("mistral-large", Some(Versions::Dated)),
    ("mistral-medium", Some(Versions::Dated)),
    ("mistral-small", Some(Versions::Dated)),
    ("mistral-tiny", Some(Versions::Dated)),
    ("mistral-nemo", Some(Versions::Dated)),
    ("open-mistral-nemo", Some(Versions::Dated)),
    ("mixtral", Some(Versions::Sized)),
    ("codestral", Some(Versions::Dated)),
    ("ministral", Some(Versions::Dated)),
    ("pixtral", Some(Versions::Dated)),
    ("magistral", Some(Versions::Dated)),
    ("devstral", Some(Versions::Dated)),
    ("grok", Some(Versions::Dated)),
    ("grok-1", None),
    ("command", Some(Versions::Dated)),
    ("deepseek", Some(Versions::Revised)),
    ("deepseek-chat", Some(Versions::Never)),
    ("deepseek-reasoner", Some(Versions::Never)),
    ("deepseek-coder", Some(Versions::Sized)),
    ("llama", Some(Versions::Sized)),
    ("llama2", Some(Versions::Sized)),
    ("llama3", Some(Versions::Sized)),
    ("llama4", Some(Versions::Sized)),
    ("codellama", Some(Versions::Sized)),
    ("qwen", Some(Versions::Sized)),
    ("qwen2", Some(Versions::Sized)),
    ("qwen3", Some(Versions::Sized)),
    ("qwen-max", Some(Versions::Dated)),
    ("qwen-plus", Some(Versions::Dated)),
    ("qwen-turbo", Some(Versions::Dated)),
    ("qwen-flash", Some(Versions::Dated)),
    ("kimi", Some(Versions::Dated)),
    ("sonar", Some(Versions::Never)),
    ("moonshot-v1", None),
];

/// Why a model id is not exact; `None` if it is.
///
/// An exact id is a snapshot: of a hosted model its dated or numbered id, of open weights a name with its
/// size or revision. A version alone is none where the publisher put other weights under it later: of
/// `deepseek-v3.1` and `deepseek-r1` only a date (`-0528`), a size, `-terminus`, `-exp` or the publisher's
/// repository (`deepseek-ai/DeepSeek-V3.1`) is exact. `llama-4-maverick` and `llama-4-scout` are exact:
/// these words are the sizes of that version, and each has one set of weights. Known are the naming rules of vendors whose plain names move (as of November
/// 2026); any other id is taken as it is, since nobody but its server knows what it means. Claude models
/// from 4.6 on have no dated ids, so that their plain names are exact; so are tuned models (`ft:…`) and
/// Kimi's published weights (`-instruct`, `-base`).
///
/// # Examples
///
/// ```
/// use assize::judge::exact::inexact;
/// assert_eq!(inexact("gpt-4.1-2025-04-14"), None);
/// assert!(inexact("gpt-4.1").unwrap().contains("without its date"));
/// assert!(inexact("claude-3-5-sonnet-latest").unwrap().contains("latest"));
/// assert!(inexact("llama3.1").unwrap().contains("without its size"));
/// ```
pub fn inexact(model: &str) -> Option<String> {
    let id = model.trim().to_lowercase();
    if id.is_empty() {
        return Some("the model id is empty".to_owned());
    }
    let name = without_cloud(id.rsplit('/').next().unwrap_or(&id));
    let words = words(name);
    if let Some(word) = words.iter().find(|w| MOVING.contains(w)) {
        return Some(format!(
            "`{model}` is an alias: `{word}` means another model tomorrow"
        ));
    }
    let matching = FAMILIES.iter().filter(|(start, _)| begins(name, start));
    let versions = matching.max_by_key(|(start, _)| start.len())?.1?;
    let weights = has_size(&words) || has_revision(&words);
    // A tag of a local server: `devstral:24b`.
    let tagged = name.contains(':') && has_size(&words);
    let ok = match versions {
        _ if tagged || has_date(&words) => true,
        Versions::Dated if name.starts_with("claude-") => plain_claude(name),
        Versions::Dated if name.starts_with("kimi") => published(&words),
        Versions::Dated => name.contains("stral") && has_revision(&words),
        Versions::Numbered => has_number(name),
        Versions::Sized => weights,
        Versions::Revised => {
            weights || revised(&words) || id.ends_with(&format!("deepseek-ai/{name}"))
        }
        Versions::Never => false,
    };
    (!ok).then(|| match versions {
        Versions::Dated => format!("`{model}` is an alias without its date; the vendor moves it"),
        Versions::Numbered => {
            format!("`{model}` is an alias without its number or date; the vendor moves it")
        }
        Versions::Sized => {
            format!(
                "`{model}` is an alias without its size; the server decides which model that is"
            )
        }
        Versions::Revised => {
            format!("`{model}` is an alias without its date or size; hosts serve later revisions by that name")
        }
        Versions::Never => format!("`{model}` is an alias that the vendor moves"),
    })
}

fn without_cloud(name: &str) -> &str {
    let mut name = name;
    while let Some((before, rest)) = name.split_once('.') {
        if !BEFORE_DOTS.contains(&before) {
            break;
        }
        name = rest;
    }
    name
}

fn words(name: &str) -> Vec<&str> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|w| !w.is_empty()).collect()
}

/// Whether a name begins with that of a family, as a word.
fn begins(name: &str, family: &str) -> bool {
    let rest = name.strip_prefix(family);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

/// Whether a Claude id is of version 4.6 or later.
fn plain_claude(name: &str) -> bool {
    let numbers: Vec<u32> = name
        .split(['-', '.'])
        .filter(|w| w.len() <= 2)
        .filter_map(|w| w.parse().ok())
        .collect();
    match numbers[..] {
        [major, minor, ..] => (major, minor) >= (4, 6),
        [major] => major >= 5,
        [] => false,
    }
}

fn published(words: &[&str]) -> bool {
    words.iter().any(|w| matches!(*w, "instruct" | "base"))
}

/// The names of two revisions of published weights.
fn revised(words: &[&str]) -> bool {
    words.iter().any(|w| matches!(*w, "terminus" | "exp"))
}

/// `8b`, `8x7b`, `0p5b`, `350m`, `e4b`; and the words by which two families say it.
fn has_size(words: &[&str]) -> bool {
    let size = |word: &&str| {
        let digits = word.trim_start_matches(['e', 'a']);
        let digits = digits.strip_suffix(['b', 'm']).unwrap_or_default();
        digits.starts_with(|c: char| c.is_ascii_digit())
            && digits
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'x' | b'p'))
    };
    words
        .iter()
        .any(|w| size(w) || matches!(*w, "scout" | "maverick"))
}

/// The version of published weights: `v0.3`, `v01`.
fn has_revision(words: &[&str]) -> bool {
    let revision = |w: &&str| {
        let digits = w.strip_prefix('v').unwrap_or_default();
        digits.starts_with('0') && is_number(digits)
    };
    words.iter().any(revision)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a date of this century stands in an id, in one of the ways that vendors write it.
fn has_date(words: &[&str]) -> bool {
    let rest = words.get(1..).unwrap_or_default();
    let whole = rest.iter().any(|w| is_date(w));
    let two = rest.windows(2).enumerate().any(|(at, w)| {
        let (a, b) = (w[0], w[1]);
        let month_year = a.len() == 2 && is_year(b) && is_month(a);
        let year_month = is_year(a) && b.len() == 2 && is_month(b);
        let day = a.len() == 2 && b.len() == 2 && is_day(a, b);
        // `2024-08-06` is a date only if all of it is.
        let after_year = at > 0 && is_year(rest[at - 1]);
        let before_day = rest.get(at + 2).filter(|d| d.len() == 2 && is_number(d));
        match before_day {
            Some(d) if year_month => is_day(b, d),
            _ => month_year || year_month || (day && !after_year && at + 2 == rest.len()),
        }
    });
    whole || two
}

/// `20250514`, `202505`, `250514`, `0613` (month and day), `2411` (year and month).
fn is_date(word: &str) -> bool {
    if !is_number(word) {
        return false;
    }
    let century = |year: &str| ("20"..="39").contains(&year);
    match word.len() {
        8 => is_year(&word[..4]) && is_day(&word[4..6], &word[6..]),
        6 => {
            (is_year(&word[..4]) && is_month(&word[4..]))
                || (century(&word[..2]) && is_day(&word[2..4], &word[4..]))
        }
        4 => is_day(&word[..2], &word[2..]) || (century(&word[..2]) && is_month(&word[2..])),
        _ => false,
    }
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && is_number(word) && ("2015".."2050").contains(&word)
}

fn is_month(word: &str) -> bool {
    is_number(word) && ("01"..="12").contains(&word)
}

fn is_day(month: &str, day: &str) -> bool {
    let last = match month {
        "02" => "29",
        "04" | "06" | "09" | "11" => "30",
        _ => "31",
    };
    is_month(month) && is_number(day) && ("01"..=last).contains(&day)
}

fn has_number(name: &str) -> bool {
    let last = name.rsplit('-').next().unwrap_or_default();
    last.len() == 3 && is_number(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_ids_are_taken() {
        for id in [
            "gpt-4o-2024-08-06",
            "gpt-4-0613",
            "gpt-4-1106-preview",
            "openai/gpt-4.1-mini-2025-04-14",
            "gpt-oss-120b",
            "ft:gpt-4o-mini-2024-07-18:house::abc",
            "o3-2025-04-16",
            "claude-sonnet-4-5-20250929",
            "claude-3-haiku@20240307",
            "us.anthropic.claude-3-5-sonnet-20241022-v2:0",
            "claude-opus-4-6",
            "gemini-1.5-pro-002",
            "gemini-2.5-pro-preview-05-06",
            "gemini-2.5-flash-preview-09-2025",
            "mistral-large-2411",
            "mistral-7b-instruct-v0.3",
            "codestral-22b-v0.1",
            "devstral:24b",
            "open-mixtral-8x22b",
            "command-r-08-2024",
            "grok-4-0709",
            "grok-2-1212",
            "kimi-k2-0905-preview",
            "moonshotai/Kimi-K2-Instruct",
            "moonshot-v1-8k",
            "deepseek-ai/DeepSeek-R1",
            "deepseek-ai/DeepSeek-V3.1",
            "deepseek-r1-0528",
            "deepseek-r1:8b",
            "deepseek-v3.1-terminus",
            "deepseek-r1-distill-qwen-32b",
            "llama-4-maverick",
            "meta-llama/llama-4-scout",
            "meta-llama/Llama-3.1-8B-Instruct",
            "llama-3.1-8b-instruct",
            "llama3.1:8b",
            "llama4:scout",
            "accounts/fireworks/models/llama-v3p1-70b-instruct",
            "qwen2.5:7b-instruct-q4_K_M",
            "qwen3-max-2025-09-23",
            "gemma3:4b",
            "phi3:mini",
            "our-judge",
            "my-judge-v3",
            "opusculum-1",
            "verity-2026-01-01",
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
            "gpt-4o-2024",
            "gpt-4o-2024-99-99",
            "gpt-4o-2024-02-30",
            "gpt-4o-20241301",
            "gpt-4-9999",
            "o3",
            "chatgpt-4o-latest",
            "claude-3-5-sonnet-latest",
            "claude-sonnet-4-5",
            "claude-opus-4-1",
            "anthropic/claude-3-haiku",
            "anthropic.claude-3-haiku",
            "sonnet",
            "opus",
            "haiku-4.5",
            "gemini-1.5-pro",
            "gemini-2.0-flash",
            "gemini-2.5-pro",
            "models/gemini-2.5-pro-preview",
            "gemini-flash-latest",
            "mistral",
            "mistral-large",
            "mistral-small-latest",
            "grok-3",
            "grok-4",
            "grok-code-fast-1",
            "kimi-k2-turbo-preview",
            "deepseek-chat",
            "deepseek-v3.1",
            "deepseek/deepseek-r1",
            "deepseek-r1:latest",
            "llama-4",
            "llama3",
            "llama3.1",
            "llama3:latest",
            "qwen2.5",
            "qwen3-max",
            "gemma2",
            "openrouter/auto",
            "command-r-plus",
            "sonar-pro",
        ] {
            assert!(inexact(id).is_some(), "{id}");
        }
    }
}
