//! What a shape can't say: whether the parts of a suite make sense, by themselves and together.

pub(crate) mod contract;
pub(crate) mod decision;
pub(crate) mod environment;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod reach;
pub(crate) mod schemas;
pub(crate) mod settings;
pub(crate) mod templates;
pub(crate) mod tools;

use std::fmt::Display;

use crate::base::Error;
use crate::load::document::{Document, child};
use crate::load::misfit::dotted;

/// A place in a document: where a value stands that is being checked.
#[derive(Clone, Debug)]
pub(crate) struct At<'a> {
    document: &'a Document,
    pointer: String,
}

impl<'a> At<'a> {
    /// The whole document.
    pub fn root(document: &'a Document) -> Self {
        Self {
            document,
            pointer: String::new(),
        }
    }

    /// The value under a key, or the element of a list with an index.
    pub fn to(&self, step: impl Display) -> Self {
        Self {
            document: self.document,
            pointer: child(&self.pointer, step),
        }
    }

    /// The value that a JSON Pointer names, seen from here.
    pub fn down(&self, pointer: &str) -> Self {
        Self {
            document: self.document,
            pointer: format!("{}{pointer}", self.pointer),
        }
    }

    /// The path as people write it.
    pub fn name(&self) -> String {
        dotted(&self.pointer)
    }

    /// Where it stands, for hints in other places: file and line.
    pub fn place(&self) -> String {
        let file = self.document.file.display();
        format!("{file}:{}", self.document.line(&self.pointer))
    }

    /// A problem with the value here.
    pub fn problem(&self, message: impl Into<String>) -> Error {
        self.document.problem(&self.pointer, message)
    }
}
