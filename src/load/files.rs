//! What a suite's live trials use beside its own files: fixtures and programs.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::base::{Digest, Error, Result};
use crate::model::suite::Suite;

/// The digest of the fixtures and programs that live trials of a suite use; `None` if there are none.
///
/// It is part of the plan, so that a run is not gone on with after they were edited.
///
/// # Errors
///
/// If a file cannot be read.
pub fn files_digest(suite: &Suite, dir: &Path) -> Result<Option<Digest>> {
    let mut parts = Vec::new();
    for name in used(suite) {
        let path = dir.join(&name);
        if path.exists() {
            parts.push(name);
            add(&path, &mut parts).map_err(|error| {
                Error::input(format!("a file of the suite cannot be read: {error}")).in_file(&path)
            })?;
        }
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    Ok((!parts.is_empty()).then(|| Digest::of_parts(&parts)))
}

/// Fixture folders, and every word of a command that may name a file of the suite.
fn used(suite: &Suite) -> BTreeSet<String> {
    let environment = &suite.spec.environment;
    let mut used: BTreeSet<String> = environment.fixture.iter().cloned().collect();
    used.extend(suite.tasks.iter().filter_map(|task| task.fixture.clone()));
    let tools = suite.spec.tools.values();
    let commands = tools.filter_map(|tool| tool.command.as_ref());
    let commands = commands.chain(&environment.prepare).map(|c| &c.run);
    let tasks = suite.tasks.iter();
    let checks = tasks.flat_map(|task| task.expect.checks.iter().map(|check| &check.run));
    let words = commands.chain(checks).flatten();
    used.extend(words.filter(|word| word.contains('/')).cloned());
    used
}

/// Adds names and contents, folders in the order of their names; links by where they point.
fn add(path: &Path, parts: &mut Vec<String>) -> io::Result<()> {
    let kind = fs::symlink_metadata(path)?.file_type();
    if kind.is_symlink() {
        parts.push(fs::read_link(path)?.to_string_lossy().into_owned());
    } else if kind.is_dir() {
        let mut inner: Vec<PathBuf> = fs::read_dir(path)?
            .map(|entry| entry.map(|e| e.path()))
            .collect::<io::Result<_>>()?;
        inner.sort();
        for entry in inner {
            let name = entry.file_name().unwrap_or_default();
            parts.push(name.to_string_lossy().into_owned());
            add(&entry, parts)?;
        }
    } else if kind.is_file() {
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut fs::File::open(path)?, &mut hasher)?;
        parts.push(hasher.finalize().to_hex().to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn suite(environment: serde_json::Value) -> Suite {
        let spec = json!({"id": "s", "version": "1", "environment": environment,
            "tools": {"pay": {"command": {"run": ["tools/pay", "x"]}}}});
        Suite::new(serde_json::from_value(spec).unwrap(), vec![])
    }

    #[test]
    fn an_edited_fixture_or_program_changes_the_digest() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let digest = || files_digest(&suite(json!({"fixture": "desk"})), dir.path()).unwrap();
        assert_eq!(digest(), None);
        fs::create_dir_all(at("desk/inner")).unwrap();
        fs::write(at("desk/inner/a"), "1").unwrap();
        let first = digest().unwrap();
        fs::write(at("desk/inner/a"), "2").unwrap();
        let second = digest().unwrap();
        fs::create_dir(at("tools")).unwrap();
        fs::write(at("tools/pay"), "#!").unwrap();
        let third = digest().unwrap();
        assert_ne!(first, second);
        assert_ne!(second, third);
        fs::rename(at("desk/inner/a"), at("desk/inner/b")).unwrap();
        assert_ne!(digest().unwrap(), third);
    }
}
