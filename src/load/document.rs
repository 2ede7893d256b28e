//! A file as a tree in which every value knows its line.
//!
//! serde stops at the first problem and, inside tagged enums, forgets where it stood. Files that
//! users write are therefore read into this tree first; every later check names lines by looking a
//! JSON Pointer up in it.

use std::path::{Path, PathBuf};

use serde_json::{Map, Number, Value};

use crate::base::{Error, Result};
use crate::load::{json, text, yaml};

/// One value of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Line on which it begins, counted from 1.
    pub line: u64,
    /// The value itself.
    pub kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    /// Infinite, or not a number: YAML can write it, JSON and our model can't hold it.
    NotFinite,
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key of a mapping with its value; a key that is written twice has two entries.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub line: u64,
    pub value: Node,
}

/// A file, or a part of one, with the name under which problems mention it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    pub file: PathBuf,
    pub root: Node,
}

impl Document {
    /// Reads a YAML or JSON file by its extension.
    ///
    /// # Errors
    ///
    /// If the file can't be read, is empty, is not UTF-8, or breaks the syntax of its format.
    pub fn read(file: &Path) -> Result<Self> {
        let text = text::read(file)?;
        let root = if is_json(file) {
            json::parse(&text, file, 1)?
        } else {
            yaml::parse(&text, file)?
        };
        let file = file.to_path_buf();
        Ok(Self { file, root })
    }

    /// The tree as a JSON value; of a key that is written twice the last value counts.
    pub fn value(&self) -> Value {
        self.root.value()
    }

    /// The line of the value that a JSON Pointer names: of its key where it has one; if it does not
    /// exist, the line of the nearest value around it.
    pub fn line(&self, pointer: &str) -> u64 {
        self.walk(pointer).0
    }

    /// Whether the value that a JSON Pointer names is a number that is none.
    pub fn is_not_finite(&self, pointer: &str) -> bool {
        self.walk(pointer).1.kind == Kind::NotFinite
    }

    /// Follows a pointer as far as it leads: the last value on the way, and its line.
    fn walk(&self, pointer: &str) -> (u64, &Node) {
        let mut node = &self.root;
        let mut line = node.line;
        for step in steps(pointer) {
            let next = match &node.kind {
                Kind::Map(entries) => entries
                    .iter()
                    .rev()
                    .find(|e| e.key == step)
                    .map(|e| (e.line, &e.value)),
                Kind::List(items) => step
                    .parse::<usize>()
                    .ok()
                    .and_then(|i| items.get(i))
                    .map(|n| (n.line, n)),
                _ => None,
            };
            let Some(found) = next else { break };
            (line, node) = found;
        }
        (line, node)
    }

    /// A problem with the value that a JSON Pointer names.
    pub fn problem(&self, pointer: &str, message: impl Into<String>) -> Error {
        Error::input(message).at(&self.file, self.line(pointer))
    }

    /// Problems of the tree itself: keys that are written twice, and numbers that are none.
    pub fn defects(&self) -> Vec<Error> {
        let mut found = vec![];
        self.root.defects(&self.file, &mut found);
        found
    }

    /// The elements of a list as documents of their own, or the document itself if it is no list.
    pub fn split(self) -> Vec<Document> {
        let file = self.file;
        let part = |root| Document {
            file: file.clone(),
            root,
        };
        match self.root.kind {
            Kind::List(items) => items.into_iter().map(part).collect(),
            _ => vec![part(self.root)],
        }
    }
}

impl Node {
    fn value(&self) -> Value {
        match &self.kind {
            // A number that is none has been reported as a defect; null never reaches the model.
            Kind::Null | Kind::NotFinite => Value::Null,
            Kind::Bool(flag) => Value::Bool(*flag),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => items.iter().map(Node::value).collect(),
            Kind::Map(entries) => entries
                .iter()
                .map(|e| (e.key.clone(), e.value.value()))
                .collect::<Map<_, _>>()
                .into(),
        }
    }

    fn defects(&self, file: &Path, found: &mut Vec<Error>) {
        match &self.kind {
            Kind::NotFinite => {
                let message = "infinite values and NaN are not allowed";
                found.push(Error::input(message).at(file, self.line));
            }
            Kind::List(items) => items.iter().for_each(|n| n.defects(file, found)),
            Kind::Map(entries) => {
                duplicates(entries, file, found);
                entries.iter().for_each(|e| e.value.defects(file, found));
            }
            _ => {}
        }
    }
}

fn duplicates(entries: &[Entry], file: &Path, found: &mut Vec<Error>) {
    let mut first = std::collections::HashMap::new();
    for entry in entries {
        if let Some(line) = first.get(entry.key.as_str()) {
            let message = format!("key `{}` is written twice", entry.key);
            let error = Error::input(message).at(file, entry.line);
            found.push(error.hint(format!("the first one is on line {line}")));
        } else {
            first.insert(entry.key.as_str(), entry.line);
        }
    }
}

/// Whether a file is JSON by its extension; everything else is read as YAML.
pub(crate) fn is_json(file: &Path) -> bool {
    file.extension().is_some_and(|e| e == "json")
}

/// The steps of a JSON Pointer (RFC 6901), unescaped.
pub(crate) fn steps(pointer: &str) -> impl Iterator<Item = String> + '_ {
    pointer
        .split('/')
        .skip(1)
        .map(|s| s.replace("~1", "/").replace("~0", "~"))
}

/// A JSON Pointer with one more step.
pub(crate) fn child(pointer: &str, step: impl std::fmt::Display) -> String {
    let step = step.to_string().replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{step}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml_document(text: &str) -> Document {
        let file = PathBuf::from("a.yaml");
        let root = yaml::parse(text, &file).unwrap();
        Document { file, root }
    }

    #[test]
    fn pointers_find_lines() {
        let doc = yaml_document("a: 1\nb:\n  - x: 2\n  -\n    y/z: 3\n");
        assert_eq!(doc.line("/a"), 1);
        assert_eq!(doc.line("/b"), 2);
        assert_eq!(doc.line("/b/0/x"), 3);
        assert_eq!(doc.line(&child("/b/1", "y/z")), 5);
        assert_eq!(doc.line("/b/1/absent"), 5, "the nearest value around it");
    }

    #[test]
    fn keys_written_twice_are_found_at_every_depth() {
        let doc = yaml_document("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n");
        let found: Vec<String> = doc.defects().iter().map(|e| e.to_string()).collect();
        assert_eq!(
            found,
            [
                "a.yaml:5: key `a` is written twice\n  hint: the first one is on line 1",
                "a.yaml:4: key `c` is written twice\n  hint: the first one is on line 3",
            ]
        );
    }
}
