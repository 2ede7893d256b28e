//! JSON as a tree with lines.
//!
//! `serde_json` does not say where a value stood. A borrowed `RawValue`, however, is a slice of the
//! text itself, so its distance from the start of the text is the place.

use std::fmt;
use std::path::Path;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::base::{Error, Result};
use crate::load::document::{Entry, Kind, Node};

/// The same bound as for YAML; each level costs one pass over its text.
const DEEPEST: usize = 64;

/// Parses one JSON text whose first line has the number `first_line` in its file. Keys written
/// twice are kept, for the caller to report.
///
/// # Errors
///
/// If the text is not JSON, or nested beyond 64 levels.
pub(crate) fn parse(text: &str, file: &Path, first_line: u64) -> Result<Node> {
    let source = Source {
        text,
        file,
        first_line,
        newlines: text.match_indices('\n').map(|(at, _)| at).collect(),
    };
    let raw: &RawValue = serde_json::from_str(text).map_err(|e| source.broken(&e, 1))?;
    source.node(raw, 0)
}

struct Source<'a> {
    text: &'a str,
    file: &'a Path,
    first_line: u64,
    newlines: Vec<usize>,
}

impl Source<'_> {
    fn line(&self, part: &str) -> u64 {
        let offset = part.as_ptr() as usize - self.text.as_ptr() as usize;
        self.first_line + self.newlines.partition_point(|at| *at < offset) as u64
    }

    /// A syntax error found while reading a part that begins on line `from` of the text.
    fn broken(&self, error: &serde_json::Error, from: u64) -> Error {
        let message = error.to_string();
        let reason = message.split(" at line ").next().unwrap_or(&message);
        let line = self.first_line + from - 1 + (error.line() as u64).saturating_sub(1);
        Error::input(format!("not valid JSON: {reason}")).at(self.file, line)
    }

    fn read<'de, T>(
        &self,
        raw: &'de RawValue,
        read: impl FnOnce(
            &mut serde_json::Deserializer<serde_json::de::StrRead<'de>>,
        ) -> serde_json::Result<T>,
    ) -> Result<T> {
        let mut from = serde_json::Deserializer::from_str(raw.get());
        let line = self.line(raw.get()) - self.first_line + 1;
        read(&mut from).map_err(|e| self.broken(&e, line))
    }

    fn node(&self, raw: &RawValue, depth: usize) -> Result<Node> {
        let line = self.line(raw.get());
        if depth > DEEPEST {
            let message = format!("nested beyond {DEEPEST} levels");
            return Err(Error::input(message).at(self.file, line));
        }
        let kind = match raw.get().as_bytes().first() {
            Some(b'{') => Kind::Map(self.map(raw, depth)?),
            Some(b'[') => Kind::List(self.list(raw, depth)?),
            _ => match self.read(raw, |from| serde::Deserialize::deserialize(from))? {
                Value::Bool(flag) => Kind::Bool(flag),
                Value::Number(number) => Kind::Number(number),
                Value::String(text) => Kind::Text(text),
                _ => Kind::Null,
            },
        };
        Ok(Node { line, kind })
    }

    fn list(&self, raw: &RawValue, depth: usize) -> Result<Vec<Node>> {
        let items = self.read(raw, |from| from.deserialize_seq(Items))?;
        items.into_iter().map(|i| self.node(i, depth + 1)).collect()
    }

    fn map(&self, raw: &RawValue, depth: usize) -> Result<Vec<Entry>> {
        let pairs = self.read(raw, |from| from.deserialize_map(Pairs))?;
        let entry = |(key, value): (&RawValue, &RawValue)| {
            Ok(Entry {
                line: self.line(key.get()),
                key: self.read(key, |from| serde::Deserialize::deserialize(from))?,
                value: self.node(value, depth + 1)?,
            })
        };
        pairs.into_iter().map(entry).collect()
    }
}

/// The members of a JSON object on one line, in the order of the text.
///
/// # Errors
///
/// In words: if it is not JSON, not an object, or says a key twice, of which one would be lost.
pub(crate) fn members(line: &str) -> std::result::Result<Vec<(String, Value)>, String> {
    if !line.trim_start().starts_with('{') {
        return Err(match serde_json::from_str::<Value>(line) {
            Ok(_) => "this line is no JSON object".to_owned(),
            Err(e) => format!("not valid JSON: {e}"),
        });
    }
    let mut from = serde_json::Deserializer::from_str(line);
    let read = (&mut from).deserialize_map(Members);
    let members = read
        .and_then(|m| from.end().map(|()| m))
        .map_err(|e| format!("not valid JSON: {e}"))?;
    for (at, (key, _)) in members.iter().enumerate() {
        if members[..at].iter().any(|(other, _)| other == key) {
            return Err(format!("key `{key}` occurs twice in this line"));
        }
    }
    Ok(members)
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, Value)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = vec![];
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(map)
    }
}

struct Items;

impl<'de> Visitor<'de> for Items {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = vec![];
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(list)
    }
}

struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = vec![];
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        match parse(text, Path::new("a.json"), 10) {
            Ok(node) => format!("{node:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_value_knows_its_line() {
        let text = "{\n \"a\\u0062\":\n  [1,\n   {\"c\": null}],\n \"a\\u0062\": \"x\\ny\"}";
        let node = parse(text, Path::new("a.json"), 1).unwrap();
        let Kind::Map(map) = &node.kind else {
            panic!("a mapping")
        };
        assert_eq!(map[0].key, "ab");
        assert_eq!((map[0].line, map[0].value.line), (2, 3));
        let Kind::List(list) = &map[0].value.kind else {
            panic!("a list")
        };
        assert_eq!((list[0].line, list[1].line), (3, 4));
        assert_eq!((map[1].line, map[1].key.as_str()), (5, "ab"));
        assert_eq!(map[1].value.kind, Kind::Text("x\ny".into()));
    }

    #[test]
    fn broken_json_names_its_line() {
        assert_eq!(
            check("{\"a\": 1,\n \"b\": }"),
            "a.json:11: not valid JSON: expected value"
        );
        assert_eq!(
            check("{\"a\": 1} x"),
            "a.json:10: not valid JSON: trailing characters"
        );
        assert_eq!(
            check("{\"a\": [1,\n 1e999]}"),
            "a.json:11: not valid JSON: number out of range"
        );
        assert!(check("{\"a\":\n \"\\ud800\"}").starts_with("a.json:11: not valid JSON"));
        let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
        assert_eq!(check(&deep), "a.json:10: nested beyond 64 levels");
    }
}
