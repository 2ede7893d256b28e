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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::compare::decision::ScheduleState;
    use crate::model::analysis::DecisionSpec;
    use crate::model::judged::{JudgeColumn, Standing};
    use crate::model::label::Scale;

    #[test]
    fn valid_trials_and_pairs_without_a_verdict_are_found() {
        let decision = DecisionSpec::default();
        let comparing = Comparing {
            a: 0,
            b: 1,
            decision: &decision,
            locked: None,
            stopped_early: false,
            schedule: ScheduleState::Ok,
            drift: &[],
            seed: Seed(1),
        };
        let mut table = ScoreTable {
            arms: vec!["a".into(), "b".into()],
            tasks: vec!["t".into()],
            arm: vec![0, 1],
            task: vec![0, 0],
            index: vec![0, 0],
            state: vec![RowState::Valid, RowState::Valid],
            ..ScoreTable::default()
        };
        table.judges = vec![JudgeColumn {
            judge: "tone@1".into(),
            scale: Scale::binary(),
            cell: vec![JudgeCell::Level(1), JudgeCell::Unusable],
            label: vec![None, None],
            standing: vec![],
        }];
        table.preferences = vec![PreferenceColumn {
            judge: "which@1".into(),
            baseline: 0,
            candidate: 1,
            pairs: BTreeMap::new(),
            standing: Standing::default(),
        }];
        let found = |table: &ScoreTable| {
            ["tone@1.rate", "which@1.preference"].map(|m| never_judged(table, &comparing, m))
        };
        assert_eq!(found(&table), [false, true]);
        table.judges[0].cell[1] = JudgeCell::NotJudged;
        assert_eq!(found(&table), [true, true]);
        // What broke before a judge could be asked is not the judge's.
        table.state[1] = RowState::NotStarted;
        assert_eq!(found(&table), [false, false]);
    }
}
