//! Trials that a judge was never asked about, for example because they ran after it.

use std::collections::BTreeMap;

use super::table::Comparing;
use crate::model::judged::JudgeCell;
use crate::model::preference::PreferenceColumn;
use crate::model::score::{RowState, ScoreTable};

/// Whether a judge was never asked about some valid trials, or pairs of such, of the arms compared.
pub(super) fn never_judged(table: &ScoreTable, comparing: &Comparing, metric: &str) -> bool {
    let valid = |arm: usize| -> BTreeMap<(u32, u32), usize> {
        let rows = (0..table.len()).filter(|&row| usize::from(table.arm[row]) == arm);
        rows.filter(|&row| table.state[row] == RowState::Valid)
            .map(|row| ((table.task[row], table.index[row]), row))
            .collect()
    };
    let (a, b) = (valid(comparing.a), valid(comparing.b));
    if let Some(judge) = table.judges.iter().find(|j| j.metric() == metric) {
        let mut rows = a.values().chain(b.values());
        return rows.any(|&row| judge.cell[row] == JudgeCell::NotJudged);
    }
    let arms = [comparing.a, comparing.b].map(|arm| arm as u16);
    let of_both =
        |p: &&PreferenceColumn| p.metric() == metric && arms.iter().all(|&x| p.concerns(x));
    let column = table.preferences.iter().find(of_both);
    let mut pairs = a.keys().filter(|place| b.contains_key(place));
    column.is_some_and(|c| pairs.any(|place| !c.pairs.contains_key(place)))
}
