//! Paths that users write: they stay within the folder of their suite.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::base::{Error, Result};
use crate::load::nearest;

/// The names a suite file may have.
pub(crate) const SUITE_FILES: [&str; 3] = ["suite.yaml", "suite.yml", "suite.json"];

/// The folder that bounds the paths in a file: that of the nearest suite around it, else its own.
pub(crate) fn root_of(file: &Path) -> PathBuf {
    let own = match file.parent() {
        Some(parent) if parent != Path::new("") => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let holds_suite = |dir: &&Path| SUITE_FILES.iter().any(|name| dir.join(name).is_file());
    // A relative path does not show the folders above the current one.
    let own = fs::canonicalize(&own).unwrap_or(own);
    let found = own.ancestors().find(holds_suite).map(Path::to_path_buf);
    found.unwrap_or(own)
}

/// Resolves a path that was written in `file` (relative to the file's folder) and checks that it
/// exists and stays within `root`, symbolic links followed.
///
/// # Errors
///
/// If the path is absolute, leaves `root`, or does not exist; without place, for the caller to add.
pub(crate) fn resolve(path: &str, file: &Path, root: &Path) -> Result<PathBuf> {
    let wrong = |reason: &str| Error::input(format!("path `{}` {reason}", path.escape_debug()));
    if path.is_empty() || path.contains('\0') {
        return Err(wrong("is not a path"));
    }
    let relative = Path::new(path);
    if relative.is_absolute() || relative.components().any(is_prefix) {
        let hint = "write it relative to the folder of this file";
        return Err(wrong("is absolute").hint(hint));
    }
    let own = file.parent().unwrap_or(Path::new(""));
    let full = own.join(relative);
    let root = fs::canonicalize(root)
        .map_err(|e| Error::io(format!("the folder can't be read: {e}")).in_file(root))?;
    // Told from the text alone first, so that nothing outside is even looked at.
    let base = fs::canonicalize(if own == Path::new("") {
        Path::new(".")
    } else {
        own
    })
    .map_err(|e| Error::io(format!("the folder can't be read: {e}")).in_file(own))?;
    let leaves = "leaves the folder of its suite";
    if !lexical(&base.join(relative)).starts_with(&root) {
        return Err(wrong(leaves));
    }
    match fs::canonicalize(&full) {
        Ok(real) if real.starts_with(&root) => Ok(full),
        Ok(_) => Err(wrong(leaves).hint("it is a symbolic link to somewhere else")),
        Err(_) => Err(absent(&full, wrong("does not exist"))),
    }
}

fn is_prefix(component: Component) -> bool {
    matches!(component, Component::Prefix(_))
}

/// A path without `.` and `..`, by its text alone.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Adds the nearest existing name beside a path that does not exist.
fn absent(path: &Path, error: Error) -> Error {
    let entries = path.parent().and_then(|dir| fs::read_dir(dir).ok());
    let names: Vec<String> = entries
        .into_iter()
        .flatten()
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .collect();
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    match nearest::nearest(&wanted, names.iter().map(String::as_str)) {
        Some(name) => error.hint(format!("did you mean `{name}`?")),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let suite = dir.path().join("suite");
        fs::create_dir_all(suite.join("arms/recorded")).unwrap();
        fs::write(suite.join("suite.yaml"), "").unwrap();
        fs::write(suite.join("arms/recorded/a.json"), "").unwrap();
        fs::write(suite.join("b.json"), "").unwrap();
        fs::write(dir.path().join("secret"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(dir.path().join("secret"), suite.join("arms/link")).unwrap();
        let file = suite.join("arms/arms.yaml");
        match resolve(path, &file, &root_of(&file)) {
            Ok(found) => format!("{}", found.exists()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn paths_stay_within_the_suite() {
        assert_eq!(check("recorded/a.json"), "true");
        assert_eq!(check("../b.json"), "true", "still within the suite");
        let out = "path `../../secret` leaves the folder of its suite";
        assert_eq!(check("../../secret"), out);
        assert_eq!(
            check("recorded/../../../nothing"),
            "path `recorded/../../../nothing` leaves the folder of its suite"
        );
        assert!(check("/etc/passwd").starts_with("path `/etc/passwd` is absolute"));
        assert_eq!(
            check("recorded/b.json"),
            "path `recorded/b.json` does not exist\n  hint: did you mean `a.json`?"
        );
        assert!(check("").contains("is not a path"));
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_out_are_refused() {
        assert!(check("link").starts_with("path `link` leaves the folder of its suite"));
    }
}
