//! Score tables of one or two runs side by side.

use std::collections::HashMap;

use super::evaluate::{EvaluatedArm, Evaluation};
use crate::base::{ArmId, Result, TaskId};
use crate::model::judged::{JudgeCell, JudgeColumn, Standing};
use crate::model::measure::Dimension;
use crate::model::preference::PreferenceColumn;
use crate::model::report::{ArmInfo, InfrastructureRow};
use crate::model::score::{MeasureColumn, ScoreTable, SegmentColumn, Unscored};
use crate::store::RunStore;

/// The arms of all runs; a name that occurs in both runs gets the run's id behind it.
///
/// # Errors
///
/// If a run is damaged.
pub(super) fn named_arms(stores: &[&RunStore]) -> Result<Vec<EvaluatedArm>> {
    let mut arms: Vec<EvaluatedArm> = Vec::new();
    for (store, run) in stores.iter().enumerate() {
        let plan = run.plan();
        let asked = run.remembered_arms()?.map_or(vec![], |(arms, _)| arms);
        let endpoint = |id: &ArmId| {
            let arm = asked.iter().find(|arm| arm.id == *id)?;
            Some(arm.endpoint()?.to_owned())
        };
        for arm in &plan.body.arms {
            let taken = arms.iter().any(|a| a.info.name == arm.id.as_str());
            let name = if taken {
                format!("{}@{}", arm.id, plan.run)
            } else {
                arm.id.to_string()
            };
            arms.push(EvaluatedArm {
                store,
                stored: arm.id.clone(),
                info: ArmInfo {
                    name,
                    digest: arm.digest.to_string(),
                    model: arm.model.clone(),
                    endpoint: endpoint(&arm.id),
                    trials: arm.trials,
                    recorded: arm.recorded,
                },
            });
        }
    }
    Ok(arms)
}

/// Puts tables together: arms one after the other, tasks by id.
pub(super) fn side_by_side(mut tables: Vec<ScoreTable>, arms: &[EvaluatedArm]) -> ScoreTable {
    let mut whole = tables.remove(0);
    for table in tables {
        append(&mut whole, table);
    }
    whole.arms = arms
        .iter()
        .map(|a| ArmId::new(a.info.name.clone()))
        .collect();
    whole
}

fn append(whole: &mut ScoreTable, mut other: ScoreTable) {
    append_judges(whole, &mut other);
    let mut position: HashMap<TaskId, u32> = whole
        .tasks
        .iter()
        .enumerate()
        .map(|(i, t)| (t.clone(), i as u32))
        .collect();
    let shift = whole.arms.len() as u16;
    let next_cluster = whole.clusters.iter().flatten().max().map_or(0, |c| c + 1);
    for (at, task) in other.tasks.iter().enumerate() {
        if position.contains_key(task) {
            continue;
        }
        position.insert(task.clone(), whole.tasks.len() as u32);
        whole.tasks.push(task.clone());
        if let Some(clusters) = &mut whole.clusters {
            clusters.push(next_cluster + at as u32);
        }
        for column in &mut whole.segments {
            column
                .values
                .push(value_of(&other.segments, &column.key, at));
        }
    }
    if !whole.block.is_empty() || !other.block.is_empty() {
        whole.block.resize(whole.arm.len(), None);
        other.block.resize(other.arm.len(), None);
        whole.block.append(&mut other.block);
    }
    let moved = |p: PreferenceColumn| PreferenceColumn {
        baseline: p.baseline + shift,
        candidate: p.candidate + shift,
        pairs: p
            .pairs
            .into_iter()
            .map(|((task, index), pair)| ((position[&other.tasks[task as usize]], index), pair))
            .collect(),
        ..p
    };
    let more = std::mem::take(&mut other.preferences);
    whole.preferences.extend(more.into_iter().map(moved));
    whole.arms.append(&mut other.arms);
    whole.arm.extend(other.arm.iter().map(|a| a + shift));
    whole.task.extend(
        other
            .task
            .iter()
            .map(|&t| position[&other.tasks[t as usize]]),
    );
    whole.index.append(&mut other.index);
    whole.state.append(&mut other.state);
    let known = u16::try_from(whole.endings.len()).ok();
    whole.endings.append(&mut other.endings);
    let moved = |ending: &Option<u16>| ending.as_ref()?.checked_add(known?);
    whole.ending.extend(other.ending.iter().map(moved));
    for (column, more) in whole.measures.iter_mut().zip(other.measures) {
        let MeasureColumn {
            mut value,
            mut cell,
            ..
        } = more;
        column.value.append(&mut value);
        column.cell.append(&mut cell);
    }
    let shifted = |u: Unscored| Unscored {
        arm: u.arm + shift,
        ..u
    };
    whole
        .unscored
        .extend(other.unscored.into_iter().map(shifted));
}

/// Judges by name; one that only one of the runs knows was not asked in the other, and has no standing
/// there. Before rows and arms are put together.
fn append_judges(whole: &mut ScoreTable, other: &mut ScoreTable) {
    let (rows, arms) = (whole.arm.len(), whole.arms.len());
    let (more_rows, more_arms) = (other.arm.len(), other.arms.len());
    let mut mine = std::mem::take(&mut whole.judges);
    for theirs in std::mem::take(&mut other.judges) {
        // Verdicts on another scale are those of another judge.
        let same = |j: &JudgeColumn| j.judge == theirs.judge && j.scale == theirs.scale;
        match mine.iter_mut().find(|j| same(j)) {
            Some(column) => {
                column.cell.extend(theirs.cell);
                column.label.extend(theirs.label);
                column.standing.extend(theirs.standing);
            }
            None => {
                let mut column = theirs;
                column.cell = [vec![JudgeCell::NotJudged; rows], column.cell].concat();
                column.label = [vec![None; rows], column.label].concat();
                column.standing = [vec![Standing::default(); arms], column.standing].concat();
                mine.push(column);
            }
        }
    }
    for column in &mut mine {
        column.cell.resize(rows + more_rows, JudgeCell::NotJudged);
        column.label.resize(rows + more_rows, None);
        column
            .standing
            .resize(arms + more_arms, Standing::default());
    }
    mine.sort_by(|a, b| a.judge.cmp(&b.judge));
    whole.judges = mine;
}

fn value_of(segments: &[SegmentColumn], key: &str, task: usize) -> Option<String> {
    segments
        .iter()
        .find(|s| s.key == key)
        .and_then(|s| s.values[task].clone())
}

/// Planned trials of which nothing is stored, by arm; those of live arms never started.
pub(super) fn unrecorded(evaluation: &Evaluation) -> Result<Vec<InfrastructureRow>> {
    let mut rows = Vec::new();
    let recorded = |(_, arm): &(usize, &EvaluatedArm)| arm.info.recorded;
    for (at, arm) in evaluation.arms.iter().enumerate().filter(recorded) {
        let planned = evaluation
            .table
            .arm
            .iter()
            .filter(|a| usize::from(**a) == at)
            .count() as u64;
        let stored = evaluation.stores[arm.store].trials_of(&arm.stored)?;
        if stored < planned {
            rows.push(InfrastructureRow {
                arm: arm.info.name.clone(),
                boundary: "trace".to_owned(),
                code: "no_record".to_owned(),
                trials: planned - stored,
            });
        }
    }
    Ok(rows)
}

/// The dimension with this name.
pub(super) fn dimension(name: &str) -> Option<Dimension> {
    Dimension::ALL.into_iter().find(|d| d.name() == name)
}
