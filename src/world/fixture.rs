//! Fixtures: a fresh copy per trial, and fingerprints of folders.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use crate::base::Digest;

/// Why a folder can't be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unusable {
    pub code: &'static str,
    pub detail: String,
}

impl Unusable {
    fn new(code: &'static str, path: &Path, why: impl std::fmt::Display) -> Self {
        let detail = format!("{}: {why}", path.display());
        Self { code, detail }
    }
}

/// A trial's own folder; removed with everything in it when dropped.
#[derive(Debug)]
pub(super) struct Copy(PathBuf);

impl Copy {
    /// Makes a folder with a copy of the fixture, or an empty one.
    ///
    /// Blocks; files keep their modes, folders are made writable so that the copy can be removed.
    pub fn make(folder: PathBuf, fixture: Option<&Path>) -> Result<Self, Unusable> {
        // A trial that was killed may have left its folder behind; nothing of it may be used again.
        remove(&folder).map_err(|e| Unusable::new("fixture_not_made", Path::new("copy"), e))?;
        let made = fs::create_dir_all(&folder);
        made.map_err(|e| Unusable::new("fixture_not_made", Path::new("copy"), e))?;
        let copy = Self(folder);
        if let Some(fixture) = fixture {
            copy_tree(fixture, &copy.0)?;
        }
        Ok(copy)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What can't be removed now is in nobody's way: the next copy with this name removes it first.
        let _ = remove(&self.0);
    }
}

/// Removes a folder, even if something in it was made unwritable.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            open_up(folder);
            fs::remove_dir_all(folder)
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn open_up(folder: &Path) {
    let mut todo = vec![folder.to_path_buf()];
    while let Some(folder) = todo.pop() {
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        todo.extend(
            entries
                .filter(|e| e.file_type().is_ok_and(|t| t.is_dir()))
                .map(|e| e.path()),
        );
    }
}

/// One entry of a folder, by its path within it.
struct Entry {
    inner: PathBuf,
    kind: Kind,
}

enum Kind {
    File,
    Folder,
    Link(PathBuf),
    Special,
}

/// Everything in a folder in the order of its paths; symbolic links are not followed.
fn entries(root: &Path) -> Result<Vec<Entry>, Unusable> {
    let metadata = fs::metadata(root).map_err(|e| unreadable(&e, root, root))?;
    let mut found = vec![];
    let mut todo = match metadata.is_dir() {
        true => vec![PathBuf::new()],
        false => {
            found.push(Entry {
                inner: PathBuf::new(),
                kind: Kind::File,
            });
            vec![]
        }
    };
    while let Some(folder) = todo.pop() {
        let path = root.join(&folder);
        for entry in fs::read_dir(&path).map_err(|e| unreadable(&e, root, &path))? {
            let entry = entry.map_err(|e| unreadable(&e, root, &path))?;
            let kind = entry.file_type().map_err(|e| unreadable(&e, root, &path))?;
            let inner = folder.join(entry.file_name());
            let kind = if kind.is_dir() {
                todo.push(inner.clone());
                Kind::Folder
            } else if kind.is_file() {
                Kind::File
            } else if kind.is_symlink() {
                let to = fs::read_link(entry.path());
                Kind::Link(to.map_err(|e| unreadable(&e, root, &entry.path()))?)
            } else {
                Kind::Special
            };
            found.push(Entry { inner, kind });
        }
    }
    found.sort_by(|a, b| a.inner.cmp(&b.inner));
    Ok(found)
}

fn unreadable(error: &io::Error, root: &Path, path: &Path) -> Unusable {
    let code = match error.kind() {
        io::ErrorKind::NotFound if path == root => "fixture_missing",
        _ => "fixture_unreadable",
    };
    Unusable::new(code, told(root, path), error)
}

/// A path within a folder, for people.
fn told<'a>(root: &Path, path: &'a Path) -> &'a Path {
    match path.strip_prefix(root) {
        Ok(inner) if inner != Path::new("") => inner,
        _ => Path::new(path.file_name().unwrap_or(path.as_os_str())),
    }
}

fn copy_tree(from: &Path, to: &Path) -> Result<(), Unusable> {
    for Entry { inner, kind } in entries(from)? {
        let target = to.join(&inner);
        let copied = match kind {
            Kind::Folder => copy_folder(&from.join(&inner), &target),
            Kind::File => copy_file(&from.join(&inner), &target, &inner)?,
            Kind::Link(link) => {
                if leaves(&inner, &link) {
                    let why = "the symbolic link leads out of the fixture";
                    return Err(Unusable::new("fixture_link_leads_out", &inner, why));
                }
                std::os::unix::fs::symlink(link, target)
            }
            Kind::Special => {
                let why = "neither file nor folder nor symbolic link";
                return Err(Unusable::new("fixture_special_file", &inner, why));
            }
        };
        copied.map_err(|e| Unusable::new("fixture_not_copied", &inner, e))?;
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    let mode = fs::metadata(from)?.mode() | 0o700;
    fs::create_dir(to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode & 0o7777))
}

fn copy_file(from: &Path, to: &Path, inner: &Path) -> Result<io::Result<()>, Unusable> {
    // Opened by itself first, to tell what can't be read from what can't be written.
    fs::File::open(from).map_err(|e| Unusable::new("fixture_unreadable", inner, e))?;
    Ok(fs::copy(from, to).map(|_| ()))
}

/// Whether a symbolic link leads out of the folder in which it stands, by its text alone.
fn leaves(link: &Path, to: &Path) -> bool {
    let mut depth = link.components().count() as i64 - 1;
    for step in to.components() {
        match step {
            Component::Normal(_) => depth += 1,
            Component::ParentDir => depth -= 1,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return true,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

/// The fingerprint of a file or folder: blake3 over names, kinds, sizes and contents.
///
/// Blocks. A path that does not exist has one too, for another may make it.
pub(super) fn fingerprint(root: &Path) -> Result<Digest, Unusable> {
    let mut hasher = blake3::Hasher::new();
    if !root.exists() {
        return Ok(Digest::of_bytes(b"absent"));
    }
    for Entry { inner, kind } in entries(root)? {
        part(&mut hasher, inner.as_os_str().as_bytes());
        let path = match inner.as_os_str().is_empty() {
            true => root.to_path_buf(),
            false => root.join(&inner),
        };
        match kind {
            Kind::Folder => part(&mut hasher, b"folder"),
            Kind::Special => part(&mut hasher, b"special"),
            Kind::Link(to) => part(&mut hasher, &[b"link ", to.as_os_str().as_bytes()].concat()),
            Kind::File => {
                let content = file(&path).map_err(|e| unreadable(&e, root, &path))?;
                part(&mut hasher, content.as_bytes());
            }
        }
    }
    Ok(Digest::from_hex(hasher.finalize().to_hex().as_str()))
}

fn part(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// Size and content of a file.
fn file(path: &Path) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    let mut file = fs::File::open(path)?;
    hasher.update(&file.metadata()?.len().to_le_bytes());
    io::copy(&mut file, &mut hasher)?;
    Ok(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("deep/empty")).unwrap();
        fs::write(from.join("deep/a"), "1").unwrap();
        (dir, from, to)
    }

    fn refused(make: impl Fn(&Path)) -> Option<&'static str> {
        let (_dir, from, to) = place();
        make(&from);
        let made = Copy::make(to.clone(), Some(&from));
        let code = made.as_ref().err().map(|e| e.code);
        drop(made);
        assert!(!to.exists(), "a copy that failed is removed, too");
        code
    }

    #[test]
    fn a_copy_is_the_same_and_goes_when_dropped() {
        let (_dir, from, to) = place();
        symlink("../deep/a", from.join("deep/link")).unwrap();
        fs::set_permissions(from.join("deep/a"), fs::Permissions::from_mode(0o555)).unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::write(to.join("left"), "by a killed trial").unwrap();
        let copy = Copy::make(to.clone(), Some(&from)).unwrap();
        assert_eq!(fingerprint(copy.path()), fingerprint(&from));
        assert_eq!(
            fs::metadata(to.join("deep/a")).unwrap().mode() & 0o777,
            0o555
        );
        fs::set_permissions(to.join("deep"), fs::Permissions::from_mode(0o555)).unwrap();
        drop(copy);
        assert!(!to.exists() && from.join("deep/a").exists());
    }

    #[test]
    fn hostile_fixtures_are_refused() {
        assert_eq!(refused(|_| ()), None);
        let code = refused(|from| symlink("/etc/passwd", from.join("x")).unwrap());
        assert_eq!(code, Some("fixture_link_leads_out"));
        let code = refused(|from| symlink("../../from", from.join("deep/x")).unwrap());
        assert_eq!(code, Some("fixture_link_leads_out"));
        let code = refused(|from| {
            let socket = std::os::unix::net::UnixListener::bind(from.join("socket"));
            drop(socket.unwrap());
        });
        assert_eq!(code, Some("fixture_special_file"));
        let code = refused(|from| fs::remove_dir_all(from).unwrap());
        assert_eq!(code, Some("fixture_missing"));
    }

    #[test]
    fn fingerprints_see_names_contents_links_and_absence() {
        let (_dir, from, _) = place();
        let mut seen = vec![fingerprint(&from).unwrap()];
        fs::write(from.join("deep/a"), "2").unwrap();
        seen.push(fingerprint(&from).unwrap());
        fs::rename(from.join("deep/a"), from.join("deep/b")).unwrap();
        seen.push(fingerprint(&from).unwrap());
        symlink("b", from.join("deep/c")).unwrap();
        seen.push(fingerprint(&from).unwrap());
        fs::remove_dir(from.join("deep/empty")).unwrap();
        seen.push(fingerprint(&from).unwrap());
        seen.push(fingerprint(&from.join("deep/b")).unwrap());
        seen.push(fingerprint(&from.join("none")).unwrap());
        let distinct: std::collections::HashSet<_> = seen.iter().collect();
        assert_eq!(distinct.len(), seen.len(), "{seen:?}");
    }
}
