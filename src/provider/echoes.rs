//! The forms in which a key may come back: as it is, or encoded.

use std::fmt::Write;

/// A key and what it looks like percent-encoded, escaped in JSON, reversed, in hexadecimal digits and in
/// base64 (RFC 4648, plain and URL alphabet, also inside a longer encoded text), the longest form first.
///
/// Inside a longer text base64 has three forms of a key, by where in a group of three bytes it begins; the
/// letters at its edges that hold bits of its neighbours as well are left out.
pub fn echoes(key: &str) -> Vec<String> {
    let percent = |keep: fn(u8) -> bool, upper: bool| {
        key.bytes().fold(String::new(), |mut text, byte| {
            // Writing to a text cannot fail.
            let _ = match (keep(byte), upper) {
                (true, _) => write!(text, "{}", char::from(byte)),
                (false, true) => write!(text, "%{byte:02X}"),
                (false, false) => write!(text, "%{byte:02x}"),
            };
            text
        })
    };
    let unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
    let escaped = serde_json::Value::from(key).to_string();
    let escaped = escaped[1..escaped.len() - 1].to_owned();
    let digits = percent(|_| false, false).replace('%', "");
    let mut forms = vec![
        key.to_owned(),
        percent(unreserved, true),
        percent(unreserved, false),
        percent(|_| false, true),
        percent(|_| false, false),
        escaped.replace('/', "\\/"),
        escaped,
        key.chars().rev().collect(),
        digits.to_uppercase(),
        digits,
    ];
    for before in 0..3 {
        let plain = inside_base64(key.as_bytes(), before);
        forms.push(plain.replace('+', "-").replace('/', "_"));
        forms.push(plain);
    }
    forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    forms.dedup();
    forms
}

/// The letters of base64 that bytes alone decide, after so many other bytes of their group of three.
fn inside_base64(bytes: &[u8], before: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let from = before * 8;
    let bit = |at: usize| match at.checked_sub(from) {
        Some(at) if at < bytes.len() * 8 => bytes[at / 8] >> (7 - at % 8) & 1,
        _ => 0,
    };
    let end = from + bytes.len() * 8;
    let letter = |first: usize| {
        let six = (first..first + 6).fold(0usize, |six, at| six << 1 | usize::from(bit(at)));
        char::from(LETTERS[six])
    };
    (from.div_ceil(6)..end / 6)
        .map(|group| letter(group * 6))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `printf %s … | base64` and Python's urllib.parse.quote give.
    #[test]
    fn forms_of_a_key_are_those_that_others_make() {
        let forms = echoes("sk-live/1234+ab\"c");
        let has = |form: &str| forms.iter().any(|f| f == form);
        assert!(has("sk-live%2F1234%2Bab%22c"));
        assert!(has("sk-live/1234+ab\\\"c"));
        assert!(has("sk-live\\/1234+ab\\\"c"));
        assert!(has("c\"ba+4321/evil-ks"));
        assert!(has("736b2d6c6976652f313233342b61622263"));
        assert_eq!(forms[0].len(), "sk-live/1234+ab\"c".len() * 3);
    }

    #[test]
    fn base64_of_a_longer_text_holds_a_form_of_the_key() {
        // base64 of "key: sk-12345678!", of "a key: …" and of "my key: …".
        let texts = [
            "a2V5OiBzay0xMjM0NTY3OCE=",
            "YSBrZXk6IHNrLTEyMzQ1Njc4IQ==",
            "bXkga2V5OiBzay0xMjM0NTY3OCE=",
        ];
        let forms = echoes("sk-12345678");
        for text in texts {
            assert!(
                forms.iter().any(|form| text.contains(form.as_str())),
                "{text}"
            );
        }
    }
}
