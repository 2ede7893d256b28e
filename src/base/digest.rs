//! blake3 over a canonical form.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_leaf(&Value::String(key.clone()), out);
                out.push(':');
                write_canonical(&map[key.as_str()], out);
            }
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
        leaf => write_leaf(leaf, out),
    }
}

fn write_leaf(leaf: &Value, out: &mut String) {
    const EXACT: i128 = 1 << 53;
    if let Value::Number(number) = leaf {
        let integer = number
            .as_i64()
            .map(i128::from)
            .or(number.as_u64().map(i128::from));
        if let Some(integer) = integer.filter(|i| i.abs() > EXACT) {
            out.push_str(&integer.to_string());
            return;
        }
    }
    // A leaf that serde_json holds is always representable; the plain form is only a safe default.
    let text = serde_json_canonicalizer::to_string(leaf).unwrap_or_else(|_| leaf.to_string());
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
