//! Whether the model that answered is the one that was asked.

use super::failure::{Code, Failed};

/// Accepts the model that the reply names if it is the requested one: equal, with a date or version
/// (`gpt-4o` → `gpt-4o-2024-08-06`), or with or without the vendor before it (`openai/gpt-4o`).
///
/// # Errors
///
/// `wrong_model` if it is another.
pub(super) fn check(requested: &str, answered: Option<&str>) -> Result<(), Failed> {
    match answered {
        Some(answered) if !same(requested, answered) => Err(Failed::new(
            Code::WrongModel,
            format!("asked for `{requested}`, but `{answered}` answered"),
        )),
        _ => Ok(()),
    }
}

fn same(requested: &str, answered: &str) -> bool {
    let (requested, answered) = (requested.to_lowercase(), answered.to_lowercase());
    let ((vendor, asked), (other, named)) = (parts(&requested), parts(&answered));
    if !vendors_agree(vendor, other) {
        return false;
    }
    // `latest` stands for whichever version that is.
    let base = asked
        .strip_suffix("-latest")
        .or_else(|| asked.strip_suffix(":latest"))
        .unwrap_or(asked);
    asked == named
        || named
            .strip_prefix(base)
            .is_some_and(|rest| rest.is_empty() || version(rest))
}

/// What stands before the last slash, and the name after it.
fn parts(model: &str) -> (&str, &str) {
    model.rsplit_once('/').unwrap_or(("", model))
}

/// Whether one vendor path is the end of the other.
fn vendors_agree(a: &str, b: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short)
            .is_some_and(|rest| short.is_empty() || rest.is_empty() || rest.ends_with('/'))
    };
    ends(a, b) || ends(b, a)
}

/// Whether `rest` is a date or a version and nothing else: `-2024-08-06`, `-20250514`, `@20250514`,
/// `-0613`, `-001`, `-05-06`, `-v2:0`. A short number is none: `claude-opus-4-1` is not a dated
/// `claude-opus-4`.
fn version(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(['-', '@', ':']) else {
        return false;
    };
    let words: Vec<&str> = rest.split(['-', ':', '@']).collect();
    let dated = |words: &[&str]| {
        let lengths: Vec<usize> = words.iter().map(|word| word.len()).collect();
        let digits = words
            .iter()
            .all(|word| word.bytes().all(|b| b.is_ascii_digit()));
        digits && matches!(lengths[..], [4, 2, 2] | [2, 2] | [3 | 4 | 6 | 8])
    };
    let numbered = |words: &[&str]| {
        let number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        match words {
            [first] => first.strip_prefix('v').is_some_and(number),
            [first, minor] => first.strip_prefix('v').is_some_and(number) && number(minor),
            _ => false,
        }
    };
    let split = words
        .iter()
        .position(|word| word.starts_with('v'))
        .unwrap_or(words.len());
    let (date, numbers) = words.split_at(split);
    (date.is_empty() || dated(date)) && (numbers.is_empty() || numbered(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_model_under_another_name_is_accepted() {
        for (asked, named) in [
            ("gpt-4o", "gpt-4o"),
            ("gpt-4o", "gpt-4o-2024-08-06"),
            ("gpt-4o", "GPT-4o"),
            ("gpt-4o", "openai/gpt-4o"),
            ("openai/gpt-4o", "gpt-4o-2024-08-06"),
            ("gpt-4", "gpt-4-0613"),
            ("claude-sonnet-4", "claude-sonnet-4-20250514"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
            ("claude-3-haiku", "claude-3-haiku@20240307"),
            ("claude-3-haiku", "claude-3-haiku-20240307-v1:0"),
            ("gemini-2.5-pro-preview", "gemini-2.5-pro-preview-05-06"),
            ("gemini-1.5-pro", "models/gemini-1.5-pro-002"),
            ("m", "accounts/a/models/m"),
            ("llama3:latest", "llama3"),
        ] {
            assert_eq!(check(asked, Some(named)), Ok(()), "{asked} {named}");
        }
        assert_eq!(check("m", None), Ok(()));
    }

    #[test]
    fn another_model_is_not() {
        for (asked, named) in [
            ("gpt-4o", "gpt-4o-mini"),
            ("gpt-4o", "gpt-4"),
            ("gpt-4", "gpt-4o"),
            ("gpt-4", "gpt-4.5"),
            ("gpt-4o-2024-08-06", "gpt-4o-2024-05-13"),
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("claude-opus-4", "claude-opus-4-1"),
            ("claude-opus-4", "claude-opus-4-1-20250805"),
            ("openai/gpt-4o", "azure/gpt-4o"),
            ("good", "good-v"),
            ("good", "good-"),
            ("good", "bad"),
            ("good", ""),
        ] {
            let failed = check(asked, Some(named)).expect_err(named);
            assert_eq!(failed.code, Code::WrongModel);
        }
    }
}
