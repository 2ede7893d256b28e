//! Files that are written whole or not at all.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::file;
use super::open::put_meta;
use crate::base::{Digest, Error, Result};
use crate::store::RunStore;

/// Writes a file so that a reader sees the old or the new content, never a part.
pub(super) fn write_atomically(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    Prepared::write(path, content)?.publish()
}

/// A file that is written whole and durable beside its place, and put there by one renaming, which
/// needs no room on the file system.
pub(super) struct Prepared {
    temporary: PathBuf,
    path: PathBuf,
    published: bool,
}

impl Prepared {
    pub(super) fn write(
        path: &Path,
        content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<Self> {
        // Made first, so that a half-written part is removed whatever happens.
        let prepared = Self {
            temporary: path.with_extension("part"),
            path: path.to_path_buf(),
            published: false,
        };
        let write = || -> std::io::Result<()> {
            let mut out = BufWriter::new(File::create(&prepared.temporary)?);
            content(&mut out)?;
            out.into_inner()?.sync_all()
        };
        match write() {
            Ok(()) => Ok(prepared),
            Err(e) => Err(file(&e, "cannot write", path)),
        }
    }

    pub(super) fn publish(mut self) -> Result<()> {
        fs::rename(&self.temporary, &self.path)
            .map_err(|e| file(&e, "cannot write", &self.path))?;
        self.published = true;
        Ok(())
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if !self.published {
            // The part is of no use to anybody; failing to remove it changes nothing.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A folder of files, each written whole or not at all.
pub struct FileFolder {
    path: PathBuf,
    written: RefCell<Vec<String>>,
}

impl FileFolder {
    /// Makes the folder where it does not exist.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn create(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).map_err(|e| file(&e, "cannot create the folder", folder))?;
        Ok(Self {
            path: folder.to_path_buf(),
            written: RefCell::default(),
        })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text of a file of the folder; `None` where there is none that can be read.
    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path.join(name)).ok()
    }

    /// Writes one file through a buffer; a reader sees the old or the new content.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(
        &self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<()> {
        write_atomically(&self.path.join(name), |out| content(out))?;
        self.written.borrow_mut().push(name.to_owned());
        Ok(())
    }
}

impl RunStore {
    /// Remembers the digests of the files that were written into the report folder of the run.
    ///
    /// # Errors
    ///
    /// If a file cannot be read again, or the database cannot be written.
    pub fn note_report(&self, files: &FileFolder) -> Result<()> {
        if files.path != self.dir.join("report") {
            return Ok(());
        }
        let mut digests = BTreeMap::new();
        for name in files.written.borrow().iter() {
            digests.insert(name.clone(), digest_of(&files.path.join(name))?);
        }
        let text = serde_json::to_string(&digests).map_err(|e| Error::io(e.to_string()))?;
        put_meta(&self.db, "report", &text)
    }

    /// The files of the report whose content is not what was written.
    ///
    /// # Errors
    ///
    /// If the database or a file cannot be read.
    pub fn changed_report_files(&self) -> Result<Vec<String>> {
        let Some(text) = self.meta("report")? else {
            return Ok(vec![]);
        };
        let digests: BTreeMap<String, Digest> = super::read::parse(&text, "the report's digests")?;
        let mut changed = Vec::new();
        for (name, digest) in digests {
            let path = self.dir.join("report").join(&name);
            if path.exists() && digest_of(&path)? != digest {
                changed.push(name);
            }
        }
        Ok(changed)
    }
}

fn digest_of(path: &Path) -> Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    let read = File::open(path).and_then(|mut opened| std::io::copy(&mut opened, &mut hasher));
    read.map_err(|e| file(&e, "cannot read", path))?;
    Ok(Digest::from_hex(hasher.finalize().to_hex().to_string()))
}
