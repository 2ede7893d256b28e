//! Columns that no key names.

use std::path::Path;

use super::nearest;
use super::sheet::Sheet;
use crate::base::{Error, Notice};

/// Longest name that is never taken for a mistyped one.
const SHORT: usize = 3;

/// Tells columns that were mistyped from columns that are for people: one whose name is near a key that
/// the table lacks is a problem, as its values would be lost in silence; the others are named in a
/// notice.
///
/// `used` are the positions that some key stands for, `keys` the keys of this kind of table that have no
/// column yet, and `foreign` the keys of its companion, for labels and verdicts may share a file.
pub(super) fn unknown(
    file: &Path,
    sheet: &Sheet,
    used: &[usize],
    keys: &[&str],
    foreign: &[&str],
) -> (Vec<Error>, Option<Notice>) {
    let (mut problems, mut others) = (vec![], vec![]);
    for (at, name) in sheet.columns.iter().enumerate() {
        if used.contains(&at) || foreign.contains(&name.as_str()) {
            continue;
        }
        // Words of three letters are near each other by chance.
        let telling = name.chars().count() > SHORT;
        match nearest::nearest(name, keys.iter().copied().filter(|_| telling)) {
            Some(key) => {
                let message = format!("unknown column `{name}`: its values would be lost");
                let hint = format!("did you mean `{key}`? Else give the column a name of its own");
                problems.push(Error::input(message).at(file, 1).hint(hint));
            }
            None => others.push(name.as_str()),
        }
    }
    let notice = (!others.is_empty()).then(|| {
        let detail = format!(
            "no key names these columns, so they are not read: {}",
            others.join(", ")
        );
        Notice::with("unknown_columns", detail)
    });
    (problems, notice)
}
