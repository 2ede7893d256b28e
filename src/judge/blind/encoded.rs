//! Words that are another text in base64 or hexadecimal digits.

/// Shorter tokens are words.
const SHORTEST: usize = 4;
/// Longer ones are files, and no name is looked for in them.
const LONGEST: usize = 4096;

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
    let bytes = text.as_bytes();
    let mut found = vec![];
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..]
            .iter()
            .take_while(|b| value(**b).is_some())
            .count();
        let padding = bytes[at + run..]
            .iter()
            .take(2)
            .take_while(|b| **b == b'=')
            .count();
        if (SHORTEST..=LONGEST).contains(&run) {
            let token = &bytes[at..at + run];
            let decoded = [hexadecimal(token), base64(token)];
            found.extend(decoded.into_iter().flatten().map(|decoded| Encoded {
                start: at,
                end: at + run + padding,
                decoded,
            }));
        }
        at += run + padding.max(usize::from(run == 0));
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

fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let seen = |c: char| !c.is_control() || c.is_whitespace();
    (!text.is_empty() && text.chars().all(seen)).then_some(text)
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
        assert!(texts("a b\u{e4}c").is_empty());
    }
}
