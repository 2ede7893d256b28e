//! The ledger of looks at a test part, kept beside the labels.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::file;
use super::files::write_atomically;
use crate::base::{Error, Result};

/// Format of the ledger.
const FORMAT: u32 = 1;

/// Every look at the test part of a label file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ledger {
    format: u32,
    looks: Vec<LookedAt>,
}

/// One judge held against the labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LookedAt {
    judge: String,
    verdicts: String,
    labels: String,
}

/// Which look this is, out of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// This look, from 1.
    pub this: u64,
    /// All looks so far.
    pub all: u64,
}

/// Notes a look at the test part in `LABELS.looks.json` beside the labels, and counts. The same verdicts
/// looked at again are the same look; edited labels do not start the count again.
///
/// # Errors
///
/// If the ledger cannot be read or written, or is of a newer version.
pub fn note_look(labels: &Path, judge: &str, verdicts: &str, digest: &str) -> Result<Look> {
    let path = labels.with_extension("looks.json");
    let mut ledger = match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str::<Ledger>(&text).map_err(|e| {
            Error::input(format!("not a ledger of looks: {e}")).at(&path, e.line() as u64)
        })?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ledger {
            format: FORMAT,
            looks: vec![],
        },
        Err(e) => return Err(file(&e, "cannot read the ledger of looks", &path)),
    };
    if ledger.format > FORMAT {
        return Err(
            Error::input("the ledger of looks was written by a newer version").in_file(path),
        );
    }
    let same = |l: &LookedAt| l.judge == judge && l.verdicts == verdicts;
    let at = match ledger.looks.iter().position(same) {
        Some(at) => at,
        None => {
            let (judge, verdicts) = (judge.to_owned(), verdicts.to_owned());
            ledger.looks.push(LookedAt {
                judge,
                verdicts,
                labels: digest.to_owned(),
            });
            write_atomically(&path, |out| {
                serde_json::to_writer_pretty(&mut *out, &ledger)?;
                writeln!(out)
            })?;
            ledger.looks.len() - 1
        }
    };
    Ok(Look {
        this: at as u64 + 1,
        all: ledger.looks.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_verdicts_are_another_look_and_the_same_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let labels = folder.path().join("labels.csv");
        let look = |verdicts: &str, digest: &str| {
            let look = note_look(&labels, "tone", verdicts, digest).unwrap();
            (look.this, look.all)
        };
        assert_eq!(look("v1", "d"), (1, 1));
        assert_eq!(look("v2", "d"), (2, 2));
        assert_eq!(look("v1", "d"), (1, 2));
        assert_eq!(look("v3", "edited"), (3, 3));
    }
}
