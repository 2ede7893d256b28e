//! A text as names are looked for in it: escapes read, look-alikes made Latin, invisible things gone,
//! each letter with its place in the original.

use icu_normalizer::DecomposingNormalizerBorrowed;

use super::confusable::{is_invisible, skeleton};

/// Escapes of escapes are read so many times.
const DEPTH: usize = 4;

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

/// The characters of a text.
fn plain(text: &str) -> Vec<Unit> {
    let units = text.char_indices().map(|(start, c)| Unit {
        c,
        upper: c.is_uppercase(),
        start,
        end: start + c.len_utf8(),
    });
    units.collect()
}

/// A text folded as it stands.
pub(in crate::judge) fn fold(text: &str) -> Vec<Unit> {
    skeletons(&plain(text))
}

/// A text folded after its escapes have been read; `None` if it has none.
pub(super) fn fold_decoded(text: &str) -> Option<Vec<Unit>> {
    if !text.contains(['\\', '&', '%']) {
        return None;
    }
    let mut units = plain(text);
    let before = units.len();
    for _ in 0..DEPTH {
        let next = decode(&units);
        let done = next.len() == units.len();
        units = next;
        if done {
            break;
        }
    }
    (units.len() < before).then(|| skeletons(&units))
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
            out.push(Unit {
                c: skeleton(c),
                upper,
                ..*unit
            });
        }
    }
    out
}

/// Reads one level of escapes: of JSON and programs, of HTML, of URLs.
fn decode(units: &[Unit]) -> Vec<Unit> {
    let mut out = Vec::with_capacity(units.len());
    let mut at = 0;
    while at < units.len() {
        let rest = &units[at..];
        let read = match rest[0].c {
            '\\' => backslash(rest),
            '&' => entity(rest),
            '%' => percent(rest),
            _ => None,
        };
        match read {
            Some((text, used)) => {
                let (start, end) = (rest[0].start, rest[used - 1].end);
                out.extend(text.chars().map(|c| Unit {
                    c,
                    upper: c.is_uppercase(),
                    start,
                    end,
                }));
                at += used;
            }
            None => {
                out.push(rest[0]);
                at += 1;
            }
        }
    }
    out
}

/// A number of `digits` digits that starts at a unit.
fn number(units: &[Unit], from: usize, digits: usize, radix: u32) -> Option<u32> {
    let digits: String = units
        .get(from..from + digits)?
        .iter()
        .map(|u| u.c)
        .collect();
    u32::from_str_radix(&digits, radix).ok()
}

fn backslash(units: &[Unit]) -> Option<(String, usize)> {
    let one = |c: char, used: usize| Some((c.to_string(), used));
    match units.get(1)?.c {
        'u' if units.get(2).is_some_and(|u| u.c == '{') => {
            let close = units.iter().take(10).position(|u| u.c == '}')?;
            let code = number(units, 3, close - 3, 16)?;
            one(char::from_u32(code)?, close + 1)
        }
        'u' | 'U' => {
            let code = number(units, 2, 4, 16)?;
            if (0xD800..0xDC00).contains(&code) {
                let low = number(units, 8, 4, 16)?;
                let pair = 0x10000 + ((code - 0xD800) << 10) + low.checked_sub(0xDC00)?;
                return one(char::from_u32(pair)?, 12);
            }
            one(char::from_u32(code)?, 6)
        }
        'x' => one(char::from_u32(number(units, 2, 2, 16)?)?, 4),
        '0'..='3' => one(char::from_u32(number(units, 1, 3, 8)?)?, 4),
        'n' | 'r' | 't' => one(' ', 2),
        c @ ('\\' | '"' | '/' | '\'') => one(c, 2),
        _ => None,
    }
}

fn entity(units: &[Unit]) -> Option<(String, usize)> {
    let head: String = units.iter().take(20).map(|u| u.c).collect();
    if let Some(named) = named(&head) {
        return Some(named);
    }
    let digits = head.strip_prefix("&#")?;
    let (digits, radix, lead) = match digits.strip_prefix(['x', 'X']) {
        Some(hex) => (hex, 16, 3),
        None => (digits, 10, 2),
    };
    let count = digits.chars().take_while(|c| c.is_digit(radix)).count();
    let code = u32::from_str_radix(&digits[..count], radix).ok()?;
    let closed = digits[count..].starts_with(';');
    let used = lead + count + usize::from(closed);
    Some((char::from_u32(code)?.to_string(), used))
}

/// Entities with a name: signs, invisible ones, and letters with an accent as the letter alone.
fn named(head: &str) -> Option<(String, usize)> {
    const NAMED: [(&str, &str); 10] = [
        ("&amp;", "&"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&nbsp;", " "),
        ("&shy;", "\u{ad}"),
        ("&zwnj;", "\u{ad}"),
        ("&zwj;", "\u{ad}"),
        ("&ZeroWidthSpace;", "\u{ad}"),
    ];
    const ACCENTS: [&str; 8] = [
        "acute", "grave", "circ", "uml", "cedil", "tilde", "ring", "caron",
    ];
    if let Some((name, text)) = NAMED.iter().find(|(name, _)| head.starts_with(name)) {
        return Some(((*text).to_owned(), name.len()));
    }
    let name = head.strip_prefix('&')?.split_once(';')?.0;
    let (letter, accent) = name.split_at_checked(1)?;
    ACCENTS
        .contains(&accent)
        .then(|| (letter.to_owned(), name.len() + 2))
}

/// A run of `%xx`, together a text in UTF-8.
fn percent(units: &[Unit]) -> Option<(String, usize)> {
    let mut bytes = vec![];
    while units.get(bytes.len() * 3).is_some_and(|u| u.c == '%') {
        match number(units, bytes.len() * 3 + 1, 2, 16) {
            Some(byte) => bytes.push(byte as u8),
            None => break,
        }
    }
    let good = match std::str::from_utf8(&bytes) {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    let text = String::from_utf8(bytes[..good].to_vec()).ok()?;
    (good > 0).then_some((text, good * 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let units = fold_decoded(text).unwrap_or_else(|| fold(text));
        units.iter().map(|u| u.c).collect()
    }

    #[test]
    fn escapes_of_every_kind_are_read() {
        for text in [
            r"\u0047PT",
            r"\\u0047PT",
            r"\x47PT",
            r"\u{47}PT",
            "&#71;PT",
            "&#x47;PT",
            "&#71PT",
            "%47PT",
            "%2547PT",
            "%47%50%54",
            "&amp;#71;PT",
            r"\107PT",
            "&Gacute;PT",
            "G&zwnj;PT",
        ] {
            assert_eq!(read(text), "gpt", "{text}");
        }
        assert_eq!(read(r"a\nGPT"), "a gpt");
        assert_eq!(read("100% sure & \\done"), "100% sure & \\done");
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
        let units = fold_decoded(text).unwrap();
        let found: Vec<&str> = units.iter().map(|u| &text[u.start..u.end]).collect();
        assert_eq!(found, ["é", "&#71;", "x"]);
    }
}
