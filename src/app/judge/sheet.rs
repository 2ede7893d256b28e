//! Labels of trials of a run, as people gave them back.

use std::path::Path;

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
        return Err(
            Error::input(format!("none of the {rows} rows has a label yet"))
                .in_file(file)
                .hint("raters write their answer into the column `label`, and may leave out rows; give the sheet back once some are filled"),
        );
    }
    talk(&format!(
        "labels: {used} of {rows} rows of {} have a label and are used",
        file.display()
    ));
    set.labels = set.standing();
    Ok(set)
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
