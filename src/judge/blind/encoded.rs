//! Words that are another text in base64, base32 or hexadecimal digits, over several lines too.

use std::ops::Range;

/// Shorter tokens are words.
const SHORTEST: usize = 4;
/// Longer ones are files, and no name is looked for in them.
const LONGEST: usize = 1 << 16;
/// A text is encoded at most so many times.
const DEPTH: usize = 3;

/// A token and what it says.
pub(super) struct Encoded {
    /// First byte in the text.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// The decoded text.
    pub decoded: String,
}

/// Every token of a text that decodes to readable text.
pub(super) fn encoded(text: &str) -> Vec<Encoded> {
    let tokens = tokens(text.as_bytes());
    let mut found: Vec<Encoded> = tokens
        .iter()
        .flat_map(|token| decoded(&text.as_bytes()[token.clone()], token, DEPTH))
        .collect();
    for lines in blocks(text.as_bytes(), &tokens) {
        let joined: Vec<u8> = lines
            .iter()
            .flat_map(|line| &text.as_bytes()[line.clone()])
            .copied()
            .collect();
        let all = lines[0].start..lines[lines.len() - 1].end;
        found.extend(decoded(&joined, &all, DEPTH));
    }
    found
}

/// Runs of letters of base64, their padding included.
fn tokens(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = vec![];
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let run = rest.iter().take_while(|b| value(**b).is_some()).count();
        let padding = rest[run..].iter().take(6).take_while(|b| **b == b'=');
        let end = at + run + padding.count();
        if run > 0 && end - at >= SHORTEST {
            found.push(at..end);
        }
        at = end.max(at + 1);
    }
    found
}

/// Tokens of one length on lines that follow each other, and the shorter one at their end.
fn blocks(bytes: &[u8], tokens: &[Range<usize>]) -> Vec<Vec<Range<usize>>> {
    let mut found: Vec<Vec<Range<usize>>> = vec![];
    for token in tokens {
        let follows = |block: &&mut Vec<Range<usize>>| {
            let (first, last) = (&block[0], &block[block.len() - 1]);
            let between = &bytes[last.end..token.start];
            let broken = matches!(between, b"\n" | b"\r\n" | b"\\n" | b" " | b"\n ");
            broken && last.len() == first.len() && token.len() <= first.len()
        };
        match found.last_mut().filter(follows) {
            Some(block) => block.push(token.clone()),
            None => found.push(vec![token.clone()]),
        }
    }
    found.retain(|block| block.len() > 1);
    found
}

/// What a token says, and what that says if it is encoded too.
fn decoded(token: &[u8], place: &Range<usize>, depth: usize) -> Vec<Encoded> {
    let end = token
        .iter()
        .rposition(|b| *b != b'=')
        .map_or(0, |at| at + 1);
    let token = &token[..end];
    if !(SHORTEST..=LONGEST).contains(&token.len()) {
        return vec![];
    }
    let readings = [hexadecimal(token), base64(token), base32(token)];
    let mut found = vec![];
    for decoded in readings.into_iter().flatten() {
        if depth > 1 && tokens(decoded.as_bytes()).first() == Some(&(0..decoded.len())) {
            found.extend(self::decoded(decoded.as_bytes(), place, depth - 1));
        }
        found.push(Encoded {
            start: place.start,
            end: place.end,
            decoded,
        });
    }
    found
}

/// The six bits of a letter of base64, in its plain or its URL alphabet.
fn value(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

fn base64(token: &[u8]) -> Option<String> {
    if token.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(token.len() * 3 / 4);
    for chunk in token.chunks(4) {
        let mut bits = 0u32;
        for &byte in chunk {
            bits = (bits << 6) | value(byte)?;
        }
        bits <<= 6 * (4 - chunk.len());
        let bytes = bits.to_be_bytes();
        out.extend(&bytes[1..chunk.len()]);
    }
    readable(out)
}

fn base32(token: &[u8]) -> Option<String> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a'),
        b'2'..=b'7' => Some(byte - b'2' + 26),
        _ => None,
    };
    let mut out = Vec::with_capacity(token.len() * 5 / 8);
    for chunk in token.chunks(8) {
        let mut bits = 0u64;
        for &byte in chunk {
            bits = (bits << 5) | u64::from(value(byte)?);
        }
        bits <<= 5 * (8 - chunk.len());
        out.extend(&bits.to_be_bytes()[3..3 + chunk.len() * 5 / 8]);
    }
    readable(out)
}

fn hexadecimal(token: &[u8]) -> Option<String> {
    if !token.len().is_multiple_of(2) || !token.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    let bytes = token
        .chunks(2)
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
    readable(bytes.collect::<Option<Vec<u8>>>()?)
}

/// A text in UTF-8, or in UTF-16 if every other byte is zero; colours of a terminal may stand in it.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = match wide(&bytes) {
        Some(text) => text,
        None => String::from_utf8(bytes).ok()?,
    };
    let seen = |c: char| !c.is_control() || c.is_whitespace() || c == '\u{1b}';
    (!text.is_empty() && text.chars().all(seen)).then_some(text)
}

/// Latin text in UTF-16, whichever of its bytes comes first, with or without the mark of their order.
fn wide(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.strip_prefix(b"\xff\xfe").unwrap_or(bytes);
    let bytes = bytes.strip_prefix(b"\xfe\xff").unwrap_or(bytes);
    let zero = |from: usize| bytes.iter().skip(from).step_by(2).all(|b| *b == 0);
    let from = [0, 1]
        .into_iter()
        .find(|high| zero(*high) && bytes.len() > 3)?;
    let low = bytes.iter().skip(1 - from).step_by(2);
    Some(low.map(|b| char::from(*b)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read() {
        let texts = |text| {
            encoded(text)
                .into_iter()
                .map(|e| e.decoded)
                .collect::<Vec<_>>()
        };
        assert_eq!(texts("say R1BULTQ= now"), ["GPT-4"]);
        assert_eq!(texts("436c61756465"), ["Claude"]);
        assert!(texts("INWGC5LEMU======").contains(&"Claude".to_owned()));
        assert!(texts("UTJ4aGRXUmw=").contains(&"Claude".to_owned()));
        assert!(texts("SSBhbSBD\nbGF1ZGUg\nMw==").contains(&"I am Claude 3".to_owned()));
        assert_eq!(texts("QwBsAGEAdQBkAGUA"), ["Claude"]);
        assert_eq!(texts("AEMAbABhAHUAZABl"), ["Claude"]);
        assert!(texts("//5DAGwAYQB1AGQAZQA=").contains(&"Claude".to_owned()));
        assert!(texts("43006c00610075006400").contains(&"Claud".to_owned()));
        assert!(texts("a b\u{e4}c").is_empty());
    }
}
