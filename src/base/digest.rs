//! blake3 over a canonical form.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// A blake3 digest as 64 lower-case hexadecimal digits.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// Hashes bytes as they are.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }

    /// Hashes the canonical form of a JSON value (see [`canonical`]).
    pub fn of_json(value: &Value) -> Self {
        Self::of_bytes(canonical(value).as_bytes())
    }

    /// Hashes several parts, each preceded by its length, so that no two lists of parts collide.
    pub fn of_parts(parts: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Self(hasher.finalize().to_hex().to_string())
    }

    /// Wraps a digest that was read from disk.
    pub fn from_hex(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// All 64 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 12 digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The canonical text of a JSON value: RFC 8785 (keys sorted by UTF-16 code units, shortest
/// round-trip numbers, no white space), so that `1`, `1.0` and `1e0` are the same value.
///
/// One addition: an integer outside ±2^53, which RFC 8785 would round to the nearest double, keeps
/// its exact digits, so that two different 64-bit identifiers stay different. Beyond the 64-bit range
/// a JSON number is read as the nearest double before it comes here, so that two such numbers may be
/// one value: longer identifiers belong into strings.
///
/// # Examples
///
/// ```
/// use assize::base::digest::canonical;
/// let a: serde_json::Value = serde_json::from_str(r#"{"b": 1.0, "a": "x"}"#).unwrap();
/// assert_eq!(canonical(&a), r#"{"a":"x","b":1}"#);
/// ```
pub fn canonical(value: &Value) -> String {
    let mut out = String::with_capacity(256);
    write_canonical(value, &mut out);
    out
}

/// An object in canonical form, written member by member without an intermediate value; who writes
/// gives the members in the order of their keys, which are ASCII without escapes.
pub struct Members(String);

impl Members {
    /// An object without members.
    #[expect(
        clippy::new_without_default,
        reason = "it is begun to be written, not to be defaulted"
    )]
    pub fn new() -> Self {
        let mut out = String::with_capacity(256);
        out.push('{');
        Self(out)
    }

    fn key(&mut self, key: &str) -> &mut String {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(key);
        self.0.push_str("\":");
        &mut self.0
    }

    /// A text, if there is one.
    pub fn text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            write_text(text, self.key(key));
        }
    }

    /// A number, if there is one.
    pub fn number(&mut self, key: &str, number: Option<u64>) {
        if let Some(number) = number {
            write_number(&number.into(), self.key(key));
        }
    }

    /// Any value, if there is one.
    pub fn value(&mut self, key: &str, value: Option<&Value>) {
        if let Some(value) = value {
            write_canonical(value, self.key(key));
        }
    }

    /// The object as text.
    pub fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            out.push('{');
            let mut first = true;
            each_member(map, |key, value| {
                if !std::mem::take(&mut first) {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write_canonical(value, out);
            });
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::String(text) => write_text(text, out),
        Value::Number(number) => write_number(number, out),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Null => out.push_str("null"),
    }
}

/// The members by the UTF-16 code units of their keys. A map holds them by their bytes, which is the
/// same order where all keys are ASCII.
fn each_member<'a>(map: &'a Map<String, Value>, mut each: impl FnMut(&'a str, &'a Value)) {
    if map.keys().all(|key| key.is_ascii()) && map.keys().is_sorted() {
        return map.iter().for_each(|(key, value)| each(key, value));
    }
    let mut members: Vec<(&String, &Value)> = map.iter().collect();
    members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    for (key, value) in members {
        each(key, value);
    }
}

/// A string with the escapes of RFC 8785: those with a letter of their own, and `\u00xx` for the
/// other control characters.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        plain = at + 1;
        match escape {
            "" => out.push_str(&format!("\\u{byte:04x}")),
            escape => out.push_str(escape),
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

fn write_number(number: &Number, out: &mut String) {
    // Within ±2^53 an integer reads as RFC 8785 has it, and beyond it keeps its digits.
    if number.is_i64() || number.is_u64() {
        return out.push_str(&number.to_string());
    }
    // A number that serde_json holds is always representable; the plain form is only a safe default.
    let text = serde_json_canonicalizer::to_string(number).unwrap_or_else(|_| number.to_string());
    out.push_str(&text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn numbers_of_equal_value_are_equal() {
        for text in ["1", "1.0", "1e0", "100e-2"] {
            assert_eq!(canonical(&parse(text)), "1", "{text}");
        }
        assert_eq!(canonical(&parse("-0.0")), "0");
        assert_eq!(canonical(&parse("1e21")), "1e+21");
        assert_eq!(canonical(&parse("0.1")), "0.1");
    }

    #[test]
    fn large_integers_stay_distinct() {
        let a = canonical(&parse("9007199254740993"));
        let b = canonical(&parse("9007199254740992"));
        assert_ne!(a, b);
        assert_ne!(
            canonical(&parse("18446744073709551615")),
            canonical(&parse("18446744073709551614"))
        );
    }

    #[test]
    fn texts_and_numbers_read_as_the_canonicalizer_has_them() {
        let texts = (0..0x100)
            .filter_map(char::from_u32)
            .map(|c| Value::from(format!("a{c}b")))
            .chain(["", "\u{2028}", "\u{1f600}", "\\\"", "\u{7f}"].map(Value::from));
        let numbers = [
            "0",
            "-0.0",
            "1e-7",
            "-12",
            "4.5",
            "9007199254740992",
            "1e300",
        ]
        .map(parse);
        for value in texts.chain(numbers) {
            let expected = serde_json_canonicalizer::to_string(&value).unwrap();
            assert_eq!(canonical(&value), expected);
        }
    }

    #[test]
    fn keys_are_sorted_by_utf16() {
        let value =
            json!({"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6});
        let text = canonical(&value);
        let order: Vec<usize> = ["\\r", "1", "\u{80}", "\u{20ac}", "\u{1f600}", "\u{fb33}"]
            .iter()
            .map(|k| text.find(k).unwrap())
            .collect();
        assert!(order.is_sorted(), "{text}");
    }

    #[test]
    fn parts_do_not_collide() {
        assert_ne!(
            Digest::of_parts(&["ab", "c"]),
            Digest::of_parts(&["a", "bc"])
        );
    }
}
