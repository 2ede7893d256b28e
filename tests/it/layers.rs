//! Imports go to lower layers only, and inside level 2 along the flow.

use std::fs;
use std::path::{Path, PathBuf};

/// Layers from the bottom; a module may use those of lower rank, and itself.
///
/// Level 1 has two modules that do not know each other, level 2 follows the flow, and the modules of
/// level 3 know nothing of each other.
const RANKS: &[(&str, u32)] = &[
    ("base", 0),
    ("stats", 10),
    ("model", 10),
    ("plan", 20),
    ("trace", 20),
    ("grade", 21),
    ("calibrate", 22),
    ("estimate", 23),
    ("compare", 24),
    ("disagree", 25),
    ("load", 30),
    ("store", 30),
    ("provider", 30),
    ("report", 30),
    ("world", 30),
    ("frame", 31),
    ("exec", 32),
    ("app", 40),
    ("cli", 50),
];

/// What a module must not see although its rank would allow it.
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "report",
        &[
            "stats",
            "plan",
            "trace",
            "grade",
            "calibrate",
            "estimate",
            "compare",
            "disagree",
        ],
    ),
    (
        "exec",
        &[
            "stats", "estimate", "compare", "disagree", "store", "report",
        ],
    ),
    (
        "provider",
        &[
            "stats", "plan", "trace", "grade", "estimate", "compare", "disagree",
        ],
    ),
    ("world", &["stats", "estimate", "compare"]),
    (
        "frame",
        &[
            "stats",
            "plan",
            "trace",
            "grade",
            "calibrate",
            "estimate",
            "compare",
            "disagree",
        ],
    ),
];

fn rank(module: &str) -> Option<u32> {
    RANKS
        .iter()
        .find(|(name, _)| *name == module)
        .map(|(_, rank)| *rank)
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The modules of ours that a source text names, in `use` lines and in paths, tests left out.
fn used(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or("");
    let mut names = Vec::new();
    for line in code.lines().filter(|l| !l.trim_start().starts_with("//")) {
        for part in line.split("crate::").skip(1) {
            // `use crate::{a::B, c::D}` names several modules on one line.
            let listed = part
                .strip_prefix('{')
                .map(|list| list.split('}').next().unwrap_or(""));
            let firsts = listed.map_or_else(|| vec![part], |list| list.split(',').collect());
            for first in firsts {
                let word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
                names.push(first.trim_start().chars().take_while(word).collect());
            }
        }
    }
    names
}

#[test]
fn grouped_imports_are_read_too() {
    assert_eq!(
        used("use crate::{base::Error, stats};\nuse crate::model::plan;"),
        ["base", "stats", "model"]
    );
}

#[test]
fn every_import_goes_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut breaches = Vec::new();
    let mut checked = 0;
    for file in files {
        let inner = file.strip_prefix(&root).unwrap();
        let module = inner
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_string_lossy()
            .into_owned();
        let Some(own) = rank(&module) else {
            assert!(
                module == "lib.rs" || module == "main.rs",
                "{module} has no layer"
            );
            continue;
        };
        for name in used(&fs::read_to_string(&file).unwrap())
            .iter()
            .filter(|n| **n != module)
        {
            let Some(theirs) = rank(name) else { continue };
            checked += 1;
            let forbidden = FORBIDDEN
                .iter()
                .any(|(m, list)| *m == module && list.contains(&name.as_str()));
            if theirs >= own || forbidden {
                breaches.push(format!("{} uses {name}", inner.display()));
            }
        }
    }
    assert!(checked > 100, "the test reads imports: {checked}");
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn polars_has_one_home() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    for file in files {
        let at_home = file.strip_prefix(&root).unwrap().starts_with("frame");
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(
            text.contains("use polars"),
            at_home && text.contains("use polars"),
            "{}",
            file.display()
        );
    }
}
