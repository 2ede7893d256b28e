//! Where a record stood, for errors and for the trial.

use crate::base::{Error, Notice};
use crate::trace::import::ImportOptions;

/// Where a record stood in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of the record, from 1.
    pub record: u64,
    /// Line on which it began, from 1.
    pub line: u64,
    /// Number of the top-level value that holds it, from 1.
    pub top: u64,
    /// Whether it is an element of a list (rather than a top-level value of its own).
    pub listed: bool,
    /// Whether a lone surrogate in it was replaced.
    pub mended: bool,
}

/// The warning that a lone surrogate was replaced.
pub(crate) fn mended() -> Notice {
    Notice::with(
        "lone_surrogate",
        "half of a surrogate pair was replaced by U+FFFD",
    )
}

impl Place {
    /// What a trial keeps: the record number within a list, else the line.
    pub fn number(&self) -> u64 {
        if self.listed { self.record } else { self.line }
    }

    /// Warnings about the record as it was read.
    pub fn notices(&self) -> Vec<Notice> {
        self.mended.then(mended).into_iter().collect()
    }

    /// An input error about this record.
    pub fn error(&self, options: &ImportOptions, message: impl AsRef<str>) -> Error {
        Error::input(format!("record {}: {}", self.record, message.as_ref()))
            .at(&options.source_name, self.line)
    }
}
