//! A text as names are looked for in it: escapes read, look-alikes made Latin, invisible things gone,
//! each letter with its place in the original.

use icu_normalizer::DecomposingNormalizerBorrowed;

use super::confusable::{is_invisible, skeleton, spelt_out};
use super::escapes::decoded;
use super::terminal::{erased, parted};

/// One letter and the bytes of the original text that it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::judge) struct Unit {
    /// The letter.
    pub c: char,
    /// Whether it was upper case before folding.
    pub upper: bool,
    /// First byte in the original.
    pub start: usize,
    /// One past the last byte in the original.
    pub end: usize,
}

impl Unit {
    /// Whether it is part of a word written in an alphabet; ideographs stand alone, so that a Latin name
    /// between them is a word.
    pub fn is_word(self) -> bool {
        self.c.is_alphanumeric() && (self.c as u32) < 0x2E80
    }
}

/// Whether a character belongs to a script that is written without blanks: Han, Kana, Hangul.
pub(super) fn is_ideographic(c: char) -> bool {
    matches!(c as u32, 0x2E80..=0x2FDF | 0x3005..=0x3007 | 0x3040..=0x9FFF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
        && c.is_alphanumeric()
}

/// The characters of a text.
pub(super) fn plain(text: &str) -> Vec<Unit> {
    let units = text.char_indices().map(|(start, c)| Unit {
        c,
        upper: c.is_uppercase(),
        start,
        end: start + c.len_utf8(),
    });
    units.collect()
}

/// A text folded as it stands, without what only a terminal obeys.
pub(in crate::judge) fn fold(text: &str) -> Vec<Unit> {
    skeletons(&erased(&plain(text)))
}

/// A text folded in every way that it may be read: as it stands, with its escapes read, with words that
/// end at a terminal's controls, and with umlauts as two letters.
pub(super) fn readings(text: &str) -> Vec<Vec<Unit>> {
    let plain = plain(text);
    let decoded = decoded(text, &plain);
    let mut all = vec![];
    for units in [Some(plain), decoded].into_iter().flatten() {
        let shown = erased(&units);
        all.push(skeletons(&shown));
        all.extend(parted(&units).map(|units| skeletons(&units)));
        all.extend(umlauts(&shown).map(|units| skeletons(&units)));
    }
    all
}

/// A text with `ae` for `ä` and the like; `None` if it has none.
pub(super) fn umlauts(units: &[Unit]) -> Option<Vec<Unit>> {
    let mut out = Vec::with_capacity(units.len());
    let mut any = false;
    for (at, unit) in units.iter().enumerate() {
        let mark = units.get(at + 1).is_some_and(|next| next.c == '\u{308}');
        match two_letters(unit.c, mark) {
            Some(two) => out.extend(two.chars().map(|c| Unit { c, ..*unit })),
            None => out.push(*unit),
        }
        any |= out.last() != Some(unit);
    }
    any.then_some(out)
}

/// How a letter is written where there is no key for it; `mark` says that a mark of two dots follows.
fn two_letters(c: char, mark: bool) -> Option<&'static str> {
    match (c, mark) {
        ('ä' | 'Ä', _) | ('a' | 'A', true) => Some("ae"),
        ('ö' | 'Ö' | 'ø' | 'Ø', _) | ('o' | 'O', true) => Some("oe"),
        ('ü' | 'Ü', _) | ('u' | 'U', true) => Some("ue"),
        ('å' | 'Å', _) => Some("aa"),
        _ => None,
    }
}

fn skeletons(units: &[Unit]) -> Vec<Unit> {
    let nfkd = DecomposingNormalizerBorrowed::new_nfkd();
    let mut out = Vec::with_capacity(units.len());
    let mut buffer = [0u8; 4];
    for unit in units {
        if unit.c.is_ascii() {
            let c = unit.c.to_ascii_lowercase();
            out.push(Unit { c, ..*unit });
            continue;
        }
        let parts = nfkd.normalize(unit.c.encode_utf8(&mut buffer));
        for c in parts.chars().filter(|c| !is_invisible(*c)) {
            let upper = unit.upper || c.is_uppercase();
            let here = |c: char| Unit { c, upper, ..*unit };
            match spelt_out(c) {
                Some(letters) => out.extend(letters.chars().map(here)),
                None => out.push(here(skeleton(c))),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let units = readings(text).swap_remove(0);
        units.iter().map(|u| u.c).collect()
    }

    #[test]
    fn lookalikes_become_latin() {
        for text in [
            "ＧＰＴ",
            "𝐆𝐏𝐓",
            "GРТ",
            "ɢᴘᴛ",
            "Ⓖⓟⓣ",
            "🅶🅿🆃",
            "g\u{200b}p\u{ad}t",
            "ĞṖŤ",
            "🇬🇵🇹",
        ] {
            assert_eq!(read(text), "gpt", "{text}");
        }
    }

    #[test]
    fn letters_know_their_place() {
        let text = "é&#71;x";
        let units = readings(text).pop().unwrap();
        let found: Vec<&str> = units.iter().map(|u| &text[u.start..u.end]).collect();
        assert_eq!(found, ["é", "&#71;", "x"]);
    }

    #[test]
    fn letters_that_are_two_elsewhere() {
        let of = |text: &str| -> Vec<String> {
            let all = readings(text);
            all.iter()
                .map(|units| units.iter().map(|u| u.c).collect())
                .collect()
        };
        assert_eq!(of("GROẞE Straße"), ["grosse strasse"]);
        assert_eq!(of("Ærø"), ["aero", "aeroe"]);
        assert_eq!(of("Müller"), ["muller", "mueller"]);
        assert_eq!(of("Mu\u{308}ller"), ["muller", "mueller"]);
        assert_eq!(of("İIıi"), ["iiii"]);
        assert_eq!(of("ΣΟΦΟΣ"), of("σοφος"));
        assert_eq!(of("ΣΟΦΟΣ"), of("σοφοσ"));
    }
}
