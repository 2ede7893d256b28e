//! `key.csv` beside a blinded sheet of pairs: which pair each item was, and which output came first.

use std::collections::BTreeMap;
use std::path::Path;

use super::combined;
use super::sheet::{Sheet, SheetRow};
use crate::base::{Error, ItemId, Result};
use crate::model::preference::Preference;

/// What a blinded sheet hid of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairPlace {
    /// The pair, as [`crate::model::preference::PairKey::item`] names it, kept from being a formula.
    pub pair: String,
    /// Whether the baseline's output was shown first, else the candidate's.
    pub baseline_first: bool,
}

/// Reads the key of a sheet of pairs, by item; `None` where there is no `key.csv` beside the labels, or it
/// is that of a sheet of trials.
///
/// # Errors
///
/// If a row names no item or pair, or its `first` is neither `baseline` nor `candidate`; every row at once.
pub fn pair_key(labels: &Path) -> Result<Option<BTreeMap<ItemId, PairPlace>>> {
    let path = labels.with_file_name("key.csv");
    if !path.exists() {
        return Ok(None);
    }
    let sheet = Sheet::read(&path)?;
    let columns = ["item", "pair", "first"].map(|name| sheet.column(name));
    let [Some(item), Some(pair), Some(first)] = columns else {
        return Ok(None);
    };
    let mut problems = vec![];
    let mut found = BTreeMap::new();
    for row in &sheet.rows {
        match place(row, [item, pair, first]) {
            Ok((item, place)) => {
                found.insert(item, place);
            }
            Err(why) => problems.push(Error::input(why).at(&path, row.line)),
        }
    }
    match problems.is_empty() {
        true => Ok(Some(found)),
        false => Err(combined(&path, problems)),
    }
}

fn place(row: &SheetRow, columns: [usize; 3]) -> std::result::Result<(ItemId, PairPlace), String> {
    let [Some(item), Some(pair), Some(first)] = columns.map(|at| row.cells[at].as_deref()) else {
        return Err("the row lacks its item, its pair or which output came first".to_owned());
    };
    let baseline_first = match Preference::from_name(first) {
        Some(Preference::Baseline) => true,
        Some(Preference::Candidate) => false,
        _ => {
            return Err(format!(
                "`{first}` in `first` is neither baseline nor candidate"
            ));
        }
    };
    let place = PairPlace {
        pair: pair.to_owned(),
        baseline_first,
    };
    Ok((ItemId::new(item), place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Result<Option<BTreeMap<ItemId, PairPlace>>> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("key.csv"), text).unwrap();
        pair_key(&folder.path().join("labels.csv"))
    }

    #[test]
    fn a_key_of_pairs_says_what_came_first() {
        let found = key("item,pair,first\nq1,a/t/0|b/t/0,candidate\n")
            .unwrap()
            .unwrap();
        let place = &found[&ItemId::new("q1")];
        assert_eq!(
            (place.pair.as_str(), place.baseline_first),
            ("a/t/0|b/t/0", false)
        );
        assert_eq!(key("item,arm,task,trial\nq1,a,t,0\n").unwrap(), None);
        let wrong = key("item,pair,first\nq1,a/t/0|b/t/0,left\n").unwrap_err();
        assert_eq!(wrong.line(), Some(2));
    }
}
