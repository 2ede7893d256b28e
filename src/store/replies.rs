//! Replies of judges, kept by what was asked: the same question is not paid for twice.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file;
use crate::base::Result;

/// One line of the file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    /// A kept reply.
    Kept { key: String, reply: String },
    /// The replies to these keys are void from here on.
    Void { void: Vec<String>, why: String },
}

/// Replies by their key, in a file of JSON lines that only grows.
#[derive(Default)]
pub struct Replies {
    /// The file; without one, nothing is kept and nothing is known.
    file: Option<(PathBuf, File)>,
    known: HashMap<String, String>,
    /// Keys of what was kept since the file was opened.
    fresh: Vec<String>,
}

impl Replies {
    /// Opens the file, which is made where it does not exist. A last line that was cut off by a kill is
    /// left out, and so is asked again.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written.
    pub fn open(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| file(&e, "cannot create the folder", folder))?;
        }
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(file(&e, "cannot read the kept replies", path)),
        };
        let known = standing(&text);
        let mut opened = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map_err(|e| file(&e, "cannot open the kept replies", path))?;
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(opened).map_err(|e| file(&e, "cannot write", path))?;
        }
        Ok(Self {
            file: Some((path.to_path_buf(), opened)),
            known,
            fresh: vec![],
        })
    }

    /// Knows also the replies of `replies.jsonl` in the folders of this folder, which may be absent. Replies
    /// are known by the pin and by all that was asked, so that it matters not who kept them; those of the
    /// own file come first, then those of the folders by name.
    pub fn know_those_in(&mut self, folders: &Path) {
        let entries = fs::read_dir(folders).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|e| e.path().join("replies.jsonl")).collect();
        files.sort();
        for file in files {
            let text = fs::read(file).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            // Whether a reply named its model is a line of its own, so that a file is taken as a whole.
            let mut others = standing(&text);
            others.retain(|key, _| !self.known.contains_key(key));
            self.known.extend(others);
        }
    }

    /// The reply that was kept.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.known.get(key).map(String::as_str)
    }

    /// Keeps a reply.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn keep(&mut self, key: &str, reply: &str) -> Result<()> {
        let (key, reply) = (key.to_owned(), reply.to_owned());
        self.write(&Line::Kept {
            key: key.clone(),
            reply: reply.clone(),
        })?;
        if self.file.is_some() {
            self.fresh.push(key.clone());
            self.known.insert(key, reply);
        }
        Ok(())
    }

    /// Makes void what was kept since the file was opened, so that it is asked again: the judge that gave it
    /// is not the one that was examined. The lines stay in the file.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn void(&mut self, why: &str) -> Result<()> {
        let void = std::mem::take(&mut self.fresh);
        if void.is_empty() {
            return Ok(());
        }
        void.iter().for_each(|key| drop(self.known.remove(key)));
        let why = why.to_owned();
        self.write(&Line::Void { void, why })
    }

    fn write(&mut self, line: &Line) -> Result<()> {
        let Some((path, kept)) = &mut self.file else {
            return Ok(());
        };
        let text = serde_json::to_string(line).unwrap_or_default();
        writeln!(kept, "{text}").map_err(|e| file(&e, "cannot write", path))
    }
}

/// The replies of a file that stand, by key.
fn standing(text: &str) -> HashMap<String, String> {
    let mut known = HashMap::new();
    for line in text.lines().filter_map(|l| serde_json::from_str(l).ok()) {
        match line {
            Line::Kept { key, reply } => drop(known.insert(key, reply)),
            Line::Void { void, .. } => void.iter().for_each(|key| drop(known.remove(key))),
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_survive_and_a_cut_line_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("inner/replies.jsonl");
        let mut replies = Replies::open(&path).unwrap();
        replies.keep("a", "one\ntwo").unwrap();
        replies.keep("b", "three").unwrap();
        drop(replies);
        let mut bytes = fs::read(&path).unwrap();
        bytes.truncate(bytes.len() - 4);
        fs::write(&path, bytes).unwrap();
        let mut replies = Replies::open(&path).unwrap();
        assert_eq!(replies.get("a"), Some("one\ntwo"));
        assert_eq!(replies.get("b"), None);
        replies.keep("b", "four").unwrap();
        assert_eq!(Replies::open(&path).unwrap().get("b"), Some("four"));
    }

    #[test]
    fn void_replies_are_asked_again_and_earlier_ones_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("replies.jsonl");
        let mut replies = Replies::open(&path).unwrap();
        replies.keep("early", "yes").unwrap();
        drop(replies);
        let mut replies = Replies::open(&path).unwrap();
        replies.keep("late", "no").unwrap();
        replies.void("drift").unwrap();
        assert_eq!(replies.get("late"), None);
        drop(replies);
        let replies = Replies::open(&path).unwrap();
        assert_eq!(replies.get("early"), Some("yes"));
        assert_eq!(replies.get("late"), None);
    }
}
