//! Stored verdicts as columns of the score table.

use std::collections::{BTreeMap, HashMap};

use crate::base::Result;
use crate::calibrate::{JudgeAnswer, all_in_all, majority};
use crate::model::judged::{Drawn, JudgeCell, JudgeColumn, Standing, StandingState, TrialLabel};
use crate::model::label::{Scale, ScaleKind, TrialKey};
use crate::model::score::ScoreTable;
use crate::model::verdict::{Verdict, unusable};
use crate::store::{RunStore, StoredJudge, StoredLabel};

/// Adds what is stored of judges to the scores of a run.
///
/// # Errors
///
/// If the store is damaged.
pub(super) fn attach(store: &RunStore, table: &mut ScoreTable) -> Result<()> {
    let judges = store.judged()?;
    if judges.is_empty() {
        return Ok(());
    }
    let row_of: HashMap<TrialKey, usize> = (0..table.len())
        .map(|row| {
            let key = TrialKey {
                arm: table.arms[usize::from(table.arm[row])].clone(),
                task: table.tasks[table.task[row] as usize].clone(),
                index: table.index[row],
            };
            (key, row)
        })
        .collect();
    // What compares two arms has columns of its own.
    let of_one = |j: &&StoredJudge| j.scale.kind != ScaleKind::Pairwise;
    table.judges = judges
        .iter()
        .filter(of_one)
        .map(|judge| column(judge, table, &row_of))
        .collect();
    Ok(())
}

fn column(
    stored: &StoredJudge,
    table: &ScoreTable,
    row_of: &HashMap<TrialKey, usize>,
) -> JudgeColumn {
    let mut asked: BTreeMap<usize, Vec<JudgeAnswer>> = BTreeMap::new();
    for (key, verdict) in &stored.verdicts {
        if let Some(&row) = row_of.get(key) {
            asked
                .entry(row)
                .or_default()
                .push(answer(verdict, &stored.scale));
        }
    }
    let mut cell = vec![JudgeCell::NotJudged; table.len()];
    for (row, answers) in asked {
        cell[row] =
            all_in_all(&answers, &stored.scale).map_or(JudgeCell::Unusable, JudgeCell::Level);
    }
    let standing = table
        .arms
        .iter()
        .map(|arm| standing(stored, arm.as_str()))
        .collect();
    let mut column = JudgeColumn {
        judge: stored.judge.clone(),
        scale: stored.scale.clone(),
        cell,
        label: vec![None; table.len()],
        standing,
    };
    for (row, labels) in labels_by_row(&stored.labels, row_of) {
        column.label[row] = label(&column, &labels);
    }
    column
}

fn answer(verdict: &Verdict, scale: &Scale) -> JudgeAnswer {
    let code = verdict.answer.value().and_then(|text| scale.code(text));
    let Verdict {
        repeat,
        order,
        identity,
        score,
        ..
    } = *verdict;
    JudgeAnswer {
        repeat,
        order,
        identity,
        code: code.ok_or_else(|| unusable::MISSING.to_owned()),
        score,
    }
}

fn labels_by_row<'a>(
    labels: &'a [StoredLabel],
    row_of: &HashMap<TrialKey, usize>,
) -> BTreeMap<usize, Vec<&'a StoredLabel>> {
    let mut rows: BTreeMap<usize, Vec<&StoredLabel>> = BTreeMap::new();
    for label in labels {
        if let Some(&row) = row_of.get(&label.trial) {
            rows.entry(row).or_default().push(label);
        }
    }
    rows
}

/// What people said all in all: their majority; where they tie, the mean of what they said.
fn label(column: &JudgeColumn, labels: &[&StoredLabel]) -> Option<TrialLabel> {
    let votes: Vec<Option<u32>> = labels.iter().map(|l| Some(l.answer)).collect();
    let worth = match majority(&votes) {
        Ok(code) => column.worth(code)?,
        Err(_) => {
            let all: Vec<f64> = labels
                .iter()
                .filter_map(|l| column.worth(l.answer))
                .collect();
            crate::stats::sum::mean(&all)?
        }
    };
    let first = labels.first()?;
    Some(TrialLabel {
        worth,
        drawn: Drawn::of(first.stratum.as_deref(), first.probability),
    })
}

pub(super) fn standing(stored: &StoredJudge, arm: &str) -> Standing {
    let Some((certificate, digest)) = &stored.certificate else {
        return Standing::default();
    };
    // A pin that only one of the two knows does not show that they are the same judge.
    let state = if certificate.pin != stored.pin {
        StandingState::Expired
    } else if certificate.result.passed() {
        StandingState::Valid
    } else {
        StandingState::Refused
    };
    Standing {
        state,
        certificate: Some(digest.to_string()),
        error_rates: certificate.error_rates_of(arm).cloned(),
        by_arm: certificate.is_by_arm(),
    }
}
