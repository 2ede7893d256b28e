//! Ordinary words: a name that is one of them is hidden as a whole word only.
//!
//! The list holds word stems of three letters and more that are common in English and technical texts
//! (answers of assistants, conversations at a service desk, documentation), and words by which arms are
//! usually called (`baseline`, `candidate`). Endings and beginnings of words are taken off before it is
//! asked, so that `refunds` and `unstable` are ordinary as `refund` and `stable` are.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::lists::{GENERIC, ORDINARY_FAMILIES, ORDINARY_VENDORS, VARIANTS};

static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lists = [GENERIC, ORDINARY_FAMILIES, ORDINARY_VENDORS, VARIANTS];
    let known = lists.into_iter().flatten().copied();
    let common = include_str!("ordinary.txt").split_whitespace();
    common.chain(known).collect()
});

const ENDINGS: [&str; 26] = [
    "s", "es", "ed", "d", "ing", "ly", "er", "ers", "or", "ors", "est", "ion", "ions", "ation",
    "ations", "al", "ally", "able", "ible", "ment", "ments", "ness", "ity", "ive", "ful", "less",
];
const BEGINNINGS: [&str; 9] = [
    "un", "re", "pre", "non", "dis", "mis", "over", "sub", "inter",
];
/// Fewest letters that are left of a word without its ending.
const STEM: usize = 4;

/// Whether a word in small letters is an ordinary one.
pub(super) fn is_ordinary(word: &str) -> bool {
    let known = |word: &str| WORDS.contains(word);
    let ended = |word: &str| {
        known(word)
            || ENDINGS.iter().any(|ending| {
                let stem = word.strip_suffix(ending).filter(|s| s.len() >= STEM);
                stem.is_some_and(|stem| stems(stem).iter().any(|s| known(s)))
            })
    };
    let begun = |beginning: &&str| {
        let rest = word.strip_prefix(*beginning);
        rest.is_some_and(|rest| rest.len() > STEM && ended(rest))
    };
    ended(word) || BEGINNINGS.iter().any(begun)
}

/// What a word without its ending may have been: `plan`, `plann` of `planned`; `choos` of `chooser`;
/// `repli` of `replies`.
fn stems(stem: &str) -> Vec<String> {
    let mut all = vec![stem.to_owned(), format!("{stem}e")];
    if let Some(start) = stem.strip_suffix('i') {
        all.push(format!("{start}y"));
    }
    let mut end = stem.chars().rev();
    if let (Some(a), Some(b)) = (end.next(), end.next())
        && a == b
    {
        all.push(stem[..stem.len() - a.len_utf8()].to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_what_is_made_of_them() {
        for word in [
            "baseline",
            "candidate",
            "refund",
            "refunds",
            "unstable",
            "planned",
            "replies",
            "mini",
            "turbo",
            "haiku",
            "old",
            "new",
        ] {
            assert!(is_ordinary(word), "{word}");
        }
        for word in [
            "quokkatron",
            "blorptron",
            "zephyrine",
            "veldtworks",
            "claude",
            "acme",
            "zyxw",
        ] {
            assert!(!is_ordinary(word), "{word}");
        }
    }
}
