//! Escapes of JSON and programs, of HTML, of URLs, of style sheets, read as what they stand for.

use super::fold::Unit;

/// Escapes of escapes are read so many times.
const DEPTH: usize = 4;

/// A text after its escapes have been read; `None` if it has none.
pub(super) fn decoded(text: &str, plain: &[Unit]) -> Option<Vec<Unit>> {
    if !text.contains(['\\', '&', '%', '^']) {
        return None;
    }
    let mut units = plain.to_vec();
    let before = units.len();
    for _ in 0..DEPTH {
        let next = decode(&units);
        let done = next.len() == units.len();
        units = next;
        if done {
            break;
        }
    }
    (units.len() < before).then_some(units)
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
            // As terminals and editors show an escape.
            '^' if rest.get(1).is_some_and(|u| u.c == '[') => Some(("\u{1b}".to_owned(), 2)),
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
        'N' => one(
            named_letter(units)?,
            units.iter().take(40).position(|u| u.c == '}')? + 1,
        ),
        'e' | 'E' if units.get(2).is_some_and(|u| u.c == '[') => one('\u{1b}', 2),
        // Style sheets write six digits, or two and a blank.
        '0' if number(units, 1, 6, 16).is_some_and(|code| code > 0) => {
            let blank = units.get(7).is_some_and(|u| u.c == ' ');
            one(
                char::from_u32(number(units, 1, 6, 16)?)?,
                7 + usize::from(blank),
            )
        }
        '4'..='7' if units.get(3).is_some_and(|u| matches!(u.c, ' ' | '\\')) => {
            let blank = usize::from(units[3].c == ' ');
            one(char::from_u32(number(units, 1, 2, 16)?)?, 3 + blank)
        }
        'x' => one(char::from_u32(number(units, 2, 2, 16)?)?, 4),
        '0'..='3' => one(char::from_u32(number(units, 1, 3, 8)?)?, 4),
        'n' | 'r' | 't' => one(' ', 2),
        c @ ('\\' | '"' | '/' | '\'') => one(c, 2),
        _ => None,
    }
}

/// `\N{LATIN SMALL LETTER V}`, as Python writes a letter by its name.
fn named_letter(units: &[Unit]) -> Option<char> {
    let head: String = units.iter().skip(2).take(40).map(|u| u.c).collect();
    let name = head.strip_prefix('{')?.split_once('}')?.0.to_uppercase();
    let letter = name.strip_prefix("LATIN SMALL LETTER ");
    let letter = letter.or(name.strip_prefix("LATIN CAPITAL LETTER "))?;
    let mut letters = letter.chars();
    letters.next().filter(|_| letters.next().is_none())
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
    use super::super::fold::plain;
    use super::super::terminal::erased;
    use super::*;

    fn read(text: &str) -> String {
        let plain = plain(text);
        let units = decoded(text, &plain).unwrap_or(plain);
        let shown = erased(&units);
        shown.iter().map(|u| u.c.to_ascii_lowercase()).collect()
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
            r"\000047PT",
            r"\000047 \50 \54 ",
            r"\47 PT",
            r"\N{LATIN CAPITAL LETTER G}PT",
            r"\u001b[1mG\u001b[0mPT",
            r"\x1b[1mG\033[0mPT",
            r"\e[1mGP^[[0mT",
            "&#27;[1mGPT",
            "%1B[1mGPT",
            "&Gacute;PT",
        ] {
            assert_eq!(read(text), "gpt", "{text}");
        }
        assert_eq!(read(r"a\nGPT"), "a gpt");
        assert_eq!(read("100% sure & \\done"), "100% sure & \\done");
    }
}
