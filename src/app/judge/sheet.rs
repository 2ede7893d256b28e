//! Labels of trials of a run, as people gave them back.

use std::path::Path;

use super::Labelling;
use crate::app::Talk;
use crate::base::{Error, Result};
use crate::load::{self, LabelOptions};
use crate::model::label::LabelSet;

/// Reads labels of trials of a run, as [`filled`].
///
/// # Errors
///
/// As [`filled`], or if nobody says which trials they are of because `key.csv` is not beside the sheet.
pub(in crate::app) fn labels_of_run(
    file: &Path,
    options: &LabelOptions,
    talk: &mut Talk,
) -> Result<LabelSet> {
    let set = filled(file, options, talk)?;
    match set.labels.iter().all(|label| label.trial_key().is_none()) {
        true => Err(without_key(file)),
        false => Ok(set),
    }
}

/// Reads a sheet that people filled, and says how many of its rows are used. Of what was adjudicated, only
/// that label stands.
///
/// # Errors
///
/// If the file is wrong, or no row has a label.
pub(in crate::app) fn filled(
    file: &Path,
    options: &LabelOptions,
    talk: &mut Talk,
) -> Result<LabelSet> {
    let mut set = load::labels(file, options)?;
    let used = set.labels.len() as u64;
    let rows = used + set.blank;
    if used == 0 {
        return Err(nothing_labelled(file, rows));
    }
    set.labels = set.standing();
    let notices = Labelling::of_set(&set.labels).notices();
    // Whether labels that were not drawn are of any use is said by their notice.
    let all_drawn = notices.iter().all(|n| n.code != "labels_not_drawn");
    let (name, use_of) = (file.display(), if all_drawn { " and are used" } else { "" });
    talk(&format!(
        "labels: {used} of {rows} rows of {name} have a label{use_of}"
    ));
    notices.iter().for_each(|n| talk(&n.detail));
    Ok(set)
}

/// There are labels to come, or no rows at all.
pub(in crate::app) fn nothing_labelled(file: &Path, rows: u64) -> Error {
    let message = match rows {
        0 => "the file holds no label, only its header".to_owned(),
        rows => format!("none of the {rows} rows has a label yet"),
    };
    Error::input(message)
        .in_file(file)
        .hint("raters write their answer into the column `label`, and may leave out rows; give the sheet back once some are filled")
}

/// One message for the whole sheet: that all its rows lack the same is one problem.
fn without_key(file: &Path) -> Error {
    let key = file.with_file_name("key.csv");
    let message = match key.exists() {
        true => {
            "no label says which trial it is of, and `key.csv` beside it knows none of its items"
        }
        false => "`key.csv` is not beside the labels, so nobody knows which trials they are of",
    };
    Error::input(message).in_file(file).hint(
        "`assize label-sample` wrote key.csv into the folder of its sheet: put the labels there, or name arm, task and trial in columns of these names",
    )
}
