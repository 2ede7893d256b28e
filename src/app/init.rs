//! `assize init`: the four folders of a repository, with a small suite that runs at once.

use std::path::{Path, PathBuf};

use crate::base::{Error, Result};
use crate::store::FileFolder;

/// A file of a new repository.
struct Template {
    path: &'static str,
    text: &'static str,
}

/// The suite is the one that this project ships, so that it is tested with it.
const TEMPLATES: [Template; 7] = [
    Template {
        path: "suites/starter/suite.yaml",
        text: include_str!("../../suites/starter/suite.yaml"),
    },
    Template {
        path: "suites/starter/tasks.jsonl",
        text: include_str!("../../suites/starter/tasks.jsonl"),
    },
    Template {
        path: "suites/starter/arms.yaml",
        text: include_str!("../../suites/starter/arms.yaml"),
    },
    Template {
        path: "suites/starter/script.yaml",
        text: include_str!("../../suites/starter/script.yaml"),
    },
    Template {
        path: "judges/README.md",
        text: "# Judges\n\nOne file per judge: model, prompt, scale. A judge earns its use with `assize calibrate`.\n",
    },
    Template {
        path: "calibration/README.md",
        text: "# Calibration\n\nOne folder per set of human labels: `labels.csv`, `items.jsonl`, and a card that says who labelled what.\n",
    },
    Template {
        path: "reports/README.md",
        text: "# Reports\n\nReports that are worth keeping. `assize run` writes each into `runs/ID/report/`.\n",
    },
];

/// What was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialised {
    /// Files, in order.
    pub files: Vec<PathBuf>,
    /// The suite.
    pub suite: PathBuf,
}

/// Makes the folders and the starter suite.
///
/// # Errors
///
/// If one of the files exists already, of which nothing is touched, or files cannot be written.
pub fn init(dir: &Path) -> Result<Initialised> {
    let paths = TEMPLATES.iter().map(|t| dir.join(t.path));
    let existing: Vec<PathBuf> = paths.filter(|path| path.exists()).collect();
    if let Some(first) = existing.first() {
        return Err(
            Error::input("this file exists already; nothing was written")
                .in_file(first)
                .hint("name another folder, or move what is there"),
        );
    }
    let mut files = Vec::new();
    for Template { path, text } in TEMPLATES {
        let path = dir.join(path);
        let folder = FileFolder::create(path.parent().unwrap_or(dir))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        folder.write(&name, |out| out.write_all(text.as_bytes()))?;
        files.push(path);
    }
    Ok(Initialised {
        files,
        suite: dir.join("suites/starter"),
    })
}
