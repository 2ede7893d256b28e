//! Replies of judges, kept by what was asked: the same question is not paid for twice.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file;
use crate::base::Result;

/// One kept reply.
#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    reply: String,
}

/// Replies by their key, in a file of JSON lines that only grows.
#[derive(Default)]
pub struct Replies {
    /// The file; without one, nothing is kept and nothing is known.
    file: Option<(PathBuf, File)>,
    known: HashMap<String, String>,
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
        let lines = text
            .lines()
            .filter_map(|l| serde_json::from_str::<Line>(l).ok());
        let known = lines.map(|line| (line.key, line.reply)).collect();
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
            let lines: Vec<Line> = text
                .lines()
                .filter_map(|l| serde_json::from_str(l).ok())
                .filter(|line: &Line| !self.known.contains_key(&line.key))
                .collect();
            self.known
                .extend(lines.into_iter().map(|line| (line.key, line.reply)));
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
        let line = Line {
            key: key.to_owned(),
            reply: reply.to_owned(),
        };
        let Some((path, kept)) = &mut self.file else {
            return Ok(());
        };
        let text = serde_json::to_string(&line).unwrap_or_default();
        writeln!(kept, "{text}").map_err(|e| file(&e, "cannot write", path))?;
        self.known.insert(line.key, line.reply);
        Ok(())
    }
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
}
