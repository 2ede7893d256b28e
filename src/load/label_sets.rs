//! Label sets as `assize validate` checks them: labels with the items that lie beside them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::labelled::items;
use super::labels::{LabelOptions, labels};
use super::scale::ScaleChoice;
use super::sheet::Sheet;
use crate::base::{Error, ItemId, Notice};
use crate::model::judge::Judge;
use crate::model::label::LabelSet;

/// Files of labels, by their names.
const NAMES: [&str; 3] = ["labels.csv", "labels.jsonl", "labels.ndjson"];

/// The files of labels in a folder.
pub(super) fn files_in(dir: &Path) -> Vec<PathBuf> {
    let files = NAMES.iter().map(|name| dir.join(name));
    files.filter(|file| file.is_file()).collect()
}

/// The label sets in a folder of label sets, by name.
pub(super) fn sets_in(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let mut sets: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir() && !files_in(path).is_empty())
        .collect();
    sets.sort();
    sets.into_iter()
}

/// Whether a file holds labels: by its name, or by its columns.
pub(super) fn is_labels(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if NAMES.contains(&name.as_ref()) {
        return true;
    }
    let is_csv = path.extension().is_some_and(|e| e == "csv");
    is_csv
        && Sheet::read(path)
            .is_ok_and(|s| s.column("label").is_some() && s.column("verdict").is_none())
}

/// Everything that is wrong with labels and with the items beside them, and what is worth knowing. The
/// scale is that of the judge beside them; without one it is read from the labels, and what is off a
/// declared one is found where the scale is declared.
pub(super) fn problems(file: &Path, judge: Option<&Judge>) -> (Vec<Error>, Vec<String>) {
    let scale = judge.map(|judge| ScaleChoice {
        kind: Some(judge.scale.kind),
        levels: judge.scale.levels.clone(),
        positive: judge.scale.positive.clone(),
    });
    let options = LabelOptions {
        scale: scale.unwrap_or_default(),
        ..LabelOptions::default()
    };
    match labels(file, &options) {
        Ok(set) => {
            let said = |notice: &Notice| match notice.detail.as_str() {
                "" => format!("{}: {}", file.display(), notice.code),
                detail => format!("{}: {detail}", file.display()),
            };
            let notices = set.notices.iter().filter(|n| n.code != "raters_disagree");
            (without_item(file, &set), notices.map(said).collect())
        }
        Err(error) => {
            let problems = [parts(error), item_problems(&beside(file))].concat();
            (problems, vec![])
        }
    }
}

/// Labels of items that are not among those beside them.
fn without_item(file: &Path, set: &LabelSet) -> Vec<Error> {
    let beside = beside(file);
    // A blinded sheet is about codes, which its key turns into trials.
    if !beside.exists() || file.with_file_name("key.csv").exists() {
        return vec![];
    }
    let known: BTreeSet<ItemId> = match items(&beside) {
        Ok(items) => items.into_iter().map(|i| i.id).collect(),
        Err(error) => return parts(error),
    };
    let mut seen = BTreeSet::new();
    set.labels
        .iter()
        .filter(|l| !known.contains(&l.item) && seen.insert(&l.item))
        .map(|l| {
            Error::input(format!("item `{}` is not in items.jsonl", l.item))
                .at(file, l.line)
                .hint("raters and judges see what stands there")
        })
        .collect()
}

/// Everything that is wrong with items; nothing where there are none.
pub(super) fn item_problems(file: &Path) -> Vec<Error> {
    match file.exists().then(|| items(file)) {
        Some(Err(error)) => parts(error),
        _ => vec![],
    }
}

fn beside(file: &Path) -> PathBuf {
    file.with_file_name("items.jsonl")
}

/// An error as the problems that it is made of.
fn parts(error: Error) -> Vec<Error> {
    match error.parts() {
        [] => vec![error],
        parts => parts.to_vec(),
    }
}
