//! Texts that are the same and are written in different code points, or in different case.

use std::collections::{BTreeMap, BTreeSet};

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::base::Notice;

/// A text in Unicode's composed form (NFC), in which an accented letter is one code point: names of
/// items and raters and answers are compared so.
pub fn nfc(text: String) -> String {
    if text.is_ascii() {
        return text;
    }
    ComposingNormalizerBorrowed::new_nfc()
        .normalize(&text)
        .into_owned()
}

/// Names as they were written, to say where one is written in several ways.
#[derive(Default)]
pub(crate) struct Spellings {
    seen: BTreeMap<(&'static str, String), BTreeMap<String, u64>>,
}

impl Spellings {
    /// Notes how a name was written, and returns it in composed form.
    pub fn note(&mut self, what: &'static str, written: String, line: u64) -> String {
        // Only what is not ASCII has two forms; case is looked at where levels are made.
        if written.is_ascii() {
            return written;
        }
        let name = nfc(written.clone());
        let ways = self.seen.entry((what, name.clone())).or_default();
        ways.entry(written).or_insert(line);
        name
    }

    /// Says which names are written in several ways.
    pub fn notices(self) -> Vec<Notice> {
        let several = self.seen.into_iter().filter(|(_, ways)| ways.len() > 1);
        several
            .map(|((what, name), ways)| {
                let lines: BTreeSet<u64> = ways.into_values().collect();
                let lines: Vec<String> = lines.iter().map(u64::to_string).collect();
                let detail = format!(
                    "{what} `{name}` is written in {} ways that look alike (Unicode forms; first in lines {}): they are one",
                    lines.len(),
                    lines.join(", ")
                );
                Notice::with("spellings_merged", detail)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_forms_of_one_name_are_one_and_said() {
        let mut spellings = Spellings::default();
        let composed = spellings.note("level", "g\u{fc}ltig".to_owned(), 2);
        let decomposed = spellings.note("level", "gu\u{308}ltig".to_owned(), 5);
        assert_eq!(composed, decomposed);
        spellings.note("level", "n\u{e9}".to_owned(), 6);
        spellings.note("rater", "ann".to_owned(), 7);
        let notices = spellings.notices();
        assert_eq!(notices.len(), 1);
        assert!(notices[0].detail.contains("2, 5"), "{}", notices[0].detail);
    }
}
