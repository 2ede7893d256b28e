//! YAML as a tree with lines.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Options, Spanned};

use crate::base::{Error, Result};
use crate::load::document::{Entry, Kind, Node};

/// Parses one YAML document. Keys written twice are kept, for the caller to report.
///
/// # Errors
///
/// If the text is not YAML, holds several documents, or is built to exhaust memory (aliases of
/// aliases, nesting beyond 64 levels).
pub(crate) fn parse(text: &str, file: &Path) -> Result<Node> {
    let node = serde_saphyr::from_str_with_options::<Node>(text, options());
    node.map_err(|error| {
        let plain = error.without_snippet();
        let message = plain.to_string();
        let reason = without_place(&message);
        let problem = Error::input(format!("not valid YAML: {reason}"));
        match plain.location() {
            Some(place) if place.line() > 0 => problem.at(file, place.line()),
            _ => problem.in_file(file),
        }
    })
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            // Task lists are long, but not as long as what a handful of aliases can unfold to.
            max_events: 20_000_000,
            max_nodes: 10_000_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 100_000,
        },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        // Reported with all other problems, not instead of them.
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        // `no` is a country and `on` a word: only true and false are booleans (YAML 1.2).
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
    }
}

/// The place is told apart from the message, so the parser's own mention of it goes.
fn without_place(message: &str) -> &str {
    let first = message.lines().next().unwrap_or(message);
    let first = first.rfind(" at line ").map_or(first, |end| &first[..end]);
    // The parser names its own functions here.
    first.split("; use from_str").next().unwrap_or(first)
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Kind>::deserialize(from)?;
        Ok(Node {
            line: spanned.referenced.line().max(1),
            kind: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Kind, D::Error> {
        Kind::deserialize(from)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Kind, E> {
        Ok(Kind::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Kind, E> {
        Ok(Kind::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Kind, E> {
        Ok(Number::from_f64(number).map_or(Kind::NotFinite, Kind::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Kind, E> {
        Ok(Kind::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kind, A::Error> {
        let mut list = vec![];
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Kind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Kind, A::Error> {
        let mut map = vec![];
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            map.push(Entry {
                line: key.referenced.line().max(1),
                key: key.value,
                value: entries.next_value()?,
            });
        }
        Ok(Kind::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        match parse(text, Path::new("a.yaml")) {
            Ok(node) => format!("{:?}", node.kind),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn scalars_keep_their_type() {
        assert_eq!(check("no"), r#"Text("no")"#);
        assert_eq!(check("007"), r#"Text("007")"#);
        assert_eq!(check("1.5"), "Number(Number(1.5))");
        assert_eq!(check("-3"), "Number(Number(-3))");
        assert_eq!(
            check("18446744073709551615"),
            "Number(Number(18446744073709551615))"
        );
        assert_eq!(check(".nan"), "NotFinite");
        assert_eq!(check("-.inf"), "NotFinite");
        assert_eq!(check("~"), "Null");
        assert_eq!(check("2024-05-20"), r#"Text("2024-05-20")"#);
    }

    #[test]
    fn keys_are_texts_whatever_they_look_like() {
        let Ok(Node {
            kind: Kind::Map(map),
            ..
        }) = parse("1: a\ntrue: b\n\"x\": c\n", Path::new("a.yaml"))
        else {
            panic!("a mapping");
        };
        let keys: Vec<_> = map.iter().map(|e| (e.key.as_str(), e.line)).collect();
        assert_eq!(keys, [("1", 1), ("true", 2), ("x", 3)]);
    }

    #[test]
    fn broken_yaml_names_its_line() {
        for text in [
            "a: 1\nb: [1, 2\n",
            "a: 1\n\tb: 2\n",
            "a: &x 1\nb: *y\n",
            "a: 1\n---\nb: 2\n",
        ] {
            let error = check(text);
            assert!(error.starts_with("a.yaml:"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn aliases_of_aliases_are_refused() {
        let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
        for i in 1..12 {
            let before = vec![format!("*a{}", i - 1); 9].join(",");
            text.push_str(&format!("a{i}: &a{i} [{before}]\n"));
        }
        let error = check(&text);
        assert!(error.contains("not valid YAML"), "{error}");
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        assert!(check(&deep).contains("not valid YAML"));
    }
}
