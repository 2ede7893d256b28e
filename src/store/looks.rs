//! The ledger of looks at a test part, kept beside the labels.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file;
use super::files::write_atomically;
use crate::base::{Error, Result};

/// Format of the ledger that is written; format 1, without truth rules and earlier looks, is read too.
const FORMAT: u32 = 2;

/// End of the name of every ledger.
const ENDING: &str = ".looks.json";

/// Every look at the test part of a label file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ledger {
    format: u32,
    looks: Vec<LookedAt>,
    /// Looks that only certificates knew of, by the digest of their labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<Earlier>,
}

/// One judge held against the labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookedAt {
    /// Judge.
    pub judge: String,
    /// Digest of its verdicts.
    pub verdicts: String,
    /// Digest of what the labels said.
    pub labels: String,
    /// Rule by which labels became truth: another rule shows another result, so it is another look.
    #[serde(default = "majority")]
    pub truth: String,
}

fn majority() -> String {
    "majority".to_owned()
}

/// Looks that no ledger lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Earlier {
    labels: String,
    looks: u64,
}

/// What a certificate says of earlier looks.
#[derive(Clone, Debug)]
pub struct KnownLook {
    /// The look that it was written for.
    pub look: LookedAt,
    /// All looks that it knew of.
    pub looks: u64,
}

/// Which look this is, out of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// This look, from 1; `None` where it was none.
    pub this: Option<u64>,
    /// All looks so far.
    pub all: u64,
}

/// The ledgers in reach of a label file.
pub struct Looks {
    path: PathBuf,
    own: Ledger,
    others: Vec<(String, Ledger)>,
}

impl Looks {
    /// Reads `LABELS.looks.json` beside the labels, and the ledgers of other label files in the folder:
    /// a set that is renamed or copied there is the same set, by the digest of what it says.
    ///
    /// # Errors
    ///
    /// If a ledger cannot be read, or is of a newer version.
    pub fn open(labels: &Path) -> Result<Self> {
        let path = labels.with_extension(&ENDING[1..]);
        let own = read(&path)?.unwrap_or_default();
        let folder = match labels.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let mut others = vec![];
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(ENDING) && path.file_name() != Some(&entry.file_name()) {
                others.extend(read(&entry.path())?.map(|ledger| (name, ledger)));
            }
        }
        others.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Self { path, own, others })
    }

    /// Counts the looks at these labels, with those that certificates know of, and notes this one if it
    /// is one. The same verdicts looked at again by the same rule are the same look; edited labels do not
    /// start the count again.
    ///
    /// A set that was copied to another folder without its ledger is a new one: nothing there says that
    /// anybody looked at it. A certificate of it given with `--against` does.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be written.
    pub fn note(&mut self, look: &LookedAt, known: &[KnownLook], is_look: bool) -> Result<Look> {
        let before = self.own.clone();
        for certificate in known.iter().filter(|k| k.look.labels == look.labels) {
            self.take_over(certificate);
        }
        if is_look && !self.knows(look) {
            self.own.looks.push(look.clone());
        }
        if self.own != before {
            self.own.format = FORMAT;
            let own = &self.own;
            write_atomically(&self.path, |out| {
                serde_json::to_writer_pretty(&mut *out, own)?;
                writeln!(out)
            })?;
        }
        let all = self.all(&look.labels);
        let earlier = self.earlier(&look.labels);
        let at = all
            .iter()
            .position(|l| is_same(l, look))
            .filter(|_| is_look);
        Ok(Look {
            this: at.map(|at| earlier + at as u64 + 1),
            all: earlier + all.len() as u64,
        })
    }

    /// What a certificate knows and no ledger does.
    fn take_over(&mut self, known: &KnownLook) {
        let digest = &known.look.labels;
        if !self.knows(&known.look) {
            self.own.looks.push(known.look.clone());
        }
        let counted = self.earlier(digest) + self.all(digest).len() as u64;
        if let Some(more) = known.looks.checked_sub(counted).filter(|more| *more > 0) {
            self.own.earlier.push(Earlier {
                labels: digest.clone(),
                looks: more,
            });
        }
    }

    /// The ledgers that are about these labels: the file's own, whatever it said before, and others that
    /// a chain of common digests leads to.
    fn related(&self, digest: &str) -> Vec<&Ledger> {
        let mut digests: BTreeSet<&str> = BTreeSet::from([digest]);
        let mut rest: Vec<&Ledger> = self.others.iter().map(|(_, ledger)| ledger).collect();
        let mut found = vec![&self.own];
        digests.extend(self.own.looks.iter().map(|l| l.labels.as_str()));
        while let Some(at) = rest.iter().position(|l| {
            l.looks
                .iter()
                .any(|look| digests.contains(look.labels.as_str()))
        }) {
            let ledger = rest.remove(at);
            digests.extend(ledger.looks.iter().map(|l| l.labels.as_str()));
            found.push(ledger);
        }
        found
    }

    /// Every look once, those of other ledgers first: this ledger was begun after them.
    fn all(&self, digest: &str) -> Vec<&LookedAt> {
        let related = self.related(digest);
        let (own, others) = related.split_at(1);
        let mut seen = BTreeSet::new();
        let all = others.iter().chain(own).flat_map(|l| &l.looks);
        all.filter(|l| seen.insert((&l.judge, &l.verdicts, &l.truth)))
            .collect()
    }

    fn knows(&self, look: &LookedAt) -> bool {
        let all = self.all(&look.labels);
        all.iter().any(|l| is_same(l, look))
    }

    fn earlier(&self, digest: &str) -> u64 {
        let of = |ledger: &&Ledger| ledger.earlier.iter().map(|e| e.looks).sum::<u64>();
        self.related(digest).iter().map(of).sum()
    }
}

/// The same verdicts by the same rule: whatever the labels said at the time, it is one look.
fn is_same(a: &LookedAt, b: &LookedAt) -> bool {
    (&a.judge, &a.verdicts, &a.truth) == (&b.judge, &b.verdicts, &b.truth)
}

fn read(path: &Path) -> Result<Option<Ledger>> {
    let ledger = match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str::<Ledger>(&text).map_err(|e| {
            Error::input(format!("not a ledger of looks: {e}")).at(path, e.line() as u64)
        })?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(file(&e, "cannot read the ledger of looks", path)),
    };
    if ledger.format > FORMAT {
        return Err(
            Error::input("the ledger of looks was written by a newer version").in_file(path),
        );
    }
    Ok(Some(ledger))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(verdicts: &str, labels: &str) -> LookedAt {
        LookedAt {
            judge: "tone".to_owned(),
            verdicts: verdicts.to_owned(),
            labels: labels.to_owned(),
            truth: "majority".to_owned(),
        }
    }

    fn noted(file: &Path, look: &LookedAt) -> (u64, u64) {
        let found = Looks::open(file).unwrap().note(look, &[], true).unwrap();
        (found.this.unwrap(), found.all)
    }

    #[test]
    fn other_verdicts_are_another_look_and_the_same_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let labels = folder.path().join("labels.csv");
        let noted = |verdicts, digest| noted(&labels, &look(verdicts, digest));
        assert_eq!(noted("v1", "d"), (1, 1));
        assert_eq!(noted("v2", "d"), (2, 2));
        assert_eq!(noted("v1", "d"), (1, 2));
        assert_eq!(noted("v3", "edited"), (3, 3));
    }

    #[test]
    fn another_truth_rule_is_another_look() {
        let folder = tempfile::tempdir().unwrap();
        let labels = folder.path().join("labels.csv");
        let soft = LookedAt {
            truth: "soft".to_owned(),
            ..look("v1", "d")
        };
        assert_eq!(noted(&labels, &look("v1", "d")), (1, 1));
        assert_eq!(noted(&labels, &soft), (2, 2));
    }

    #[test]
    fn a_renamed_or_copied_set_keeps_its_count() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(noted(&at("labels.csv"), &look("v1", "d")), (1, 1));
        assert_eq!(noted(&at("copy.csv"), &look("v2", "d")), (2, 2));
        // Edited after it was copied: the chain of digests still leads to the first.
        assert_eq!(noted(&at("copy.csv"), &look("v3", "e")), (3, 3));
        assert_eq!(noted(&at("third.csv"), &look("v4", "e")), (4, 4));
        assert_eq!(noted(&at("other.csv"), &look("v1", "x")), (1, 1));
    }

    #[test]
    fn certificates_of_the_same_labels_raise_the_count() {
        let folder = tempfile::tempdir().unwrap();
        let labels = folder.path().join("labels.csv");
        let known = [
            KnownLook {
                look: look("v7", "d"),
                looks: 4,
            },
            KnownLook {
                look: look("v9", "elsewhere"),
                looks: 40,
            },
        ];
        let again = || {
            let mut looks = Looks::open(&labels).unwrap();
            looks.note(&look("v8", "d"), &known, true).unwrap()
        };
        let expected = Look {
            this: Some(5),
            all: 5,
        };
        assert_eq!((again(), again()), (expected, expected));
    }

    #[test]
    fn what_was_no_look_is_not_noted() {
        let folder = tempfile::tempdir().unwrap();
        let labels = folder.path().join("labels.csv");
        noted(&labels, &look("v1", "d"));
        let mut looks = Looks::open(&labels).unwrap();
        let found = looks.note(&look("v2", "d"), &[], false).unwrap();
        assert_eq!((found.this, found.all), (None, 1));
        assert_eq!(noted(&labels, &look("v1", "d")), (1, 1));
    }

    #[test]
    fn ledgers_of_the_first_format_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let old = r#"{"format":1,"looks":[{"judge":"tone","verdicts":"v1","labels":"d"}]}"#;
        std::fs::write(folder.path().join("labels.looks.json"), old).unwrap();
        let labels = folder.path().join("labels.csv");
        assert_eq!(noted(&labels, &look("v1", "d")), (1, 1));
        assert_eq!(noted(&labels, &look("v2", "d")), (2, 2));
    }
}
