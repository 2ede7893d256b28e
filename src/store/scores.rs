//! Everything graded as columns: the score table of a run.

use std::collections::{BTreeMap, HashMap};

use rusqlite::Row;

use super::read::{damaged, parse};
use super::{RunStore, sql};
use crate::base::{Result, TaskId};
use crate::model::measure::Measure;
use crate::model::plan::PlanBody;
use crate::model::score::{
    CellState, MeasureColumn, RowState, ScoreTable, SegmentColumn, Unscored,
};
use crate::model::suite::Suite;
use crate::model::trial::Boundary;

impl RunStore {
    /// Everything graded as columns, one row per planned trial in plan order.
    ///
    /// A planned trial of a recorded arm of which nothing is stored has the state `Infra(Trace)`: what
    /// should have been recorded is missing, which is never a pass and never a failure. One of a live
    /// arm was never started: the run ended before its randomised schedule did. Where nobody stated how many
    /// trials were planned, what was recorded is what was planned, but for tasks of which an arm has
    /// no trial at all: they miss as many as the arm has of any task.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn score_table(&self, suite: &Suite) -> Result<ScoreTable> {
        let mut table = empty_table(self, suite);
        let keys = Keys::of(self)?;
        let starts = self.lay_out(&mut table, &keys)?;
        let rows = table.arm.len();
        let arms = &self.plan.plan.arms;
        let unstored = |arm: &u16| match arms[usize::from(*arm)].recorded {
            true => RowState::Infra(Boundary::Trace),
            false => RowState::NotStarted,
        };
        table.state = table.arm.iter().map(unstored).collect();
        if arms.iter().any(|arm| !arm.recorded) {
            table.block = vec![None; rows];
        }
        for column in &mut table.measures {
            column.value = vec![0.0; rows];
            column.cell = vec![CellState::NoTrial; rows];
        }
        self.fill(&mut table, &keys, &starts)?;
        table.unscored = self.unscored(&keys.arms)?;
        Ok(table)
    }

    /// Lays out the rows; gives where the rows of each arm and task start, and where the last end.
    fn lay_out(&self, table: &mut ScoreTable, keys: &Keys) -> Result<Vec<usize>> {
        let plan = &self.plan.plan;
        let mut starts = Vec::with_capacity(plan.arms.len() * plan.tasks.len() + 1);
        for (arm, planned) in plan.arms.iter().enumerate() {
            let recorded = if planned.stated {
                None
            } else {
                Some(self.recorded_indices(keys, arm)?)
            };
            for task in 0..plan.tasks.len() {
                starts.push(table.arm.len());
                let indices = match &recorded {
                    None => (0..planned.trials).collect(),
                    Some(recorded) => recorded
                        .get(&task)
                        .cloned()
                        .unwrap_or_else(|| (0..planned.trials).collect()),
                };
                for index in indices {
                    table.arm.push(arm as u16);
                    table.task.push(task as u32);
                    table.index.push(index);
                }
            }
        }
        starts.push(table.arm.len());
        Ok(starts)
    }

    /// The trial numbers that an arm has of each task, ascending.
    fn recorded_indices(&self, keys: &Keys, arm: usize) -> Result<HashMap<usize, Vec<u32>>> {
        let mut recorded: HashMap<usize, Vec<u32>> = HashMap::new();
        let Some((key, _)) = keys.arms.iter().find(|(_, at)| **at == arm) else {
            return Ok(recorded);
        };
        let select = "SELECT task, idx FROM trials WHERE arm = ?1 ORDER BY task, idx";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let mut rows = select.query([key]).map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            if let Some(&task) = keys.tasks.get(&row.get::<_, i64>(0).map_err(sql)?) {
                recorded
                    .entry(task)
                    .or_default()
                    .push(row.get(1).map_err(sql)?);
            }
        }
        Ok(recorded)
    }

    fn fill(&self, table: &mut ScoreTable, keys: &Keys, starts: &[usize]) -> Result<()> {
        let tasks = self.plan.plan.tasks.len();
        let columns: String = Measure::ALL
            .iter()
            .map(|m| format!(", s.{}", m.name()))
            .collect();
        let block = match table.block.is_empty() {
            true => "NULL",
            false => "t.body ->> '$.block'",
        };
        table.ending = vec![None; table.arm.len()];
        let mut endings: HashMap<String, u16> = HashMap::new();
        let select = format!(
            "SELECT t.arm, t.task, t.idx, t.boundary, s.states{columns}, {block}, t.status
             FROM current t LEFT JOIN scores s ON s.trial = t.row"
        );
        let mut select = self.db.prepare(&select).map_err(sql)?;
        let mut rows = select.query([]).map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            let (Some(&arm), Some(&task)) = (
                keys.arms.get(&row.get::<_, i64>(0).map_err(sql)?),
                keys.tasks.get(&row.get::<_, i64>(1).map_err(sql)?),
            ) else {
                continue;
            };
            let index: u32 = row.get(2).map_err(sql)?;
            let range = starts[arm * tasks + task]..starts[arm * tasks + task + 1];
            if let Ok(at) = table.index[range.clone()].binary_search(&index) {
                let at = range.start + at;
                fill_row(table, at, row, self.plan.plan.arms[arm].recorded)?;
                table.ending[at] = ending(&mut endings, &mut table.endings, row)?;
            }
        }
        Ok(())
    }

    /// Counts why values are missing; the reasons of a trial are one text, and few texts differ.
    fn unscored(&self, arm_of: &HashMap<i64, usize>) -> Result<Vec<Unscored>> {
        let select =
            "SELECT t.arm, s.reasons, count(*) FROM scores s JOIN trials t ON t.row = s.trial
                      GROUP BY 1, 2 ORDER BY 1, 2";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let mut rows = select.query([]).map_err(sql)?;
        let mut counts: BTreeMap<(u16, Measure, String), u64> = BTreeMap::new();
        while let Some(row) = rows.next().map_err(sql)? {
            let Some(&arm) = arm_of.get(&row.get::<_, i64>(0).map_err(sql)?) else {
                continue;
            };
            let reasons: BTreeMap<Measure, String> = parse(
                &row.get::<_, String>(1).map_err(sql)?,
                "the reasons of a trial",
            )?;
            let trials = row.get::<_, i64>(2).map_err(sql)? as u64;
            for (measure, reason) in reasons {
                *counts.entry((arm as u16, measure, reason)).or_default() += trials;
            }
        }
        let row = |((arm, measure, reason), trials)| Unscored {
            arm,
            measure,
            reason,
            trials,
        };
        Ok(counts.into_iter().map(row).collect())
    }
}

/// Where the database's keys of arms and tasks stand in the plan.
struct Keys {
    arms: HashMap<i64, usize>,
    tasks: HashMap<i64, usize>,
}

impl Keys {
    fn of(store: &RunStore) -> Result<Self> {
        let PlanBody { arms, tasks, .. } = &store.plan.plan;
        let positions = |names: Vec<&str>| -> HashMap<String, usize> {
            names
                .into_iter()
                .enumerate()
                .map(|(at, name)| (name.to_owned(), at))
                .collect()
        };
        let arms = positions(arms.iter().map(|a| a.id.as_str()).collect());
        let tasks = positions(tasks.iter().map(|t| t.id.as_str()).collect());
        Ok(Self {
            arms: dictionary(store, "SELECT arm, name FROM arms", &arms)?,
            tasks: dictionary(store, "SELECT task, name FROM tasks", &tasks)?,
        })
    }
}

fn dictionary(
    store: &RunStore,
    select: &str,
    known: &HashMap<String, usize>,
) -> Result<HashMap<i64, usize>> {
    let mut select = store.db.prepare(select).map_err(sql)?;
    let rows = select
        .query_map([], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?)))
        .map_err(sql)?;
    let mut keys = HashMap::new();
    for row in rows {
        let (key, name) = row.map_err(sql)?;
        if let Some(&at) = known.get(&name) {
            keys.insert(key, at);
        }
    }
    Ok(keys)
}

/// The number of a row's status; a run has few that differ.
fn ending(
    known: &mut HashMap<String, u16>,
    endings: &mut Vec<String>,
    row: &Row,
) -> Result<Option<u16>> {
    let text = row.get_ref(6 + Measure::ALL.len()).map_err(sql)?;
    let text = text.as_str().map_err(|e| damaged(&e.to_string()))?;
    if let Some(&number) = known.get(text) {
        return Ok(Some(number));
    }
    let Ok(number) = u16::try_from(endings.len()) else {
        return Ok(None);
    };
    endings.push(text.to_owned());
    known.insert(text.to_owned(), number);
    Ok(Some(number))
}

fn fill_row(table: &mut ScoreTable, at: usize, row: &Row, recorded: bool) -> Result<()> {
    let text = |column: usize| -> Result<Option<&str>> {
        let value = row.get_ref(column).map_err(sql)?;
        value.as_str_or_null().map_err(|e| damaged(&e.to_string()))
    };
    let states = text(4)?.unwrap_or("");
    let boundary = match (text(3)?, states) {
        (Some(name), _) => Some(Boundary::from_name(name).unwrap_or(Boundary::Runner)),
        (None, super::write::GRADER_FAILED) => Some(Boundary::Grader),
        (None, _) => None,
    };
    if let Some(block) = table.block.get_mut(at) {
        let column = 5 + table.measures.len();
        *block = row.get(column).map_err(|e| damaged(&e.to_string()))?;
    }
    table.state[at] = match boundary {
        None => RowState::Valid,
        // A recording cannot go on; a live run can.
        Some(Boundary::Cancelled) if !recorded => RowState::CutOff,
        Some(boundary) => RowState::Infra(boundary),
    };
    for (m, column) in table.measures.iter_mut().enumerate() {
        column.cell[at] = match (boundary, states.as_bytes().get(m)) {
            (_, Some(b'n')) => CellState::NotApplicable,
            (Some(_), _) => CellState::NoTrial,
            (None, Some(b's')) => CellState::Scored,
            (None, _) => CellState::Ungradable,
        };
        if column.cell[at] == CellState::Scored {
            let value: f64 = row.get(m + 5).map_err(|e| damaged(&e.to_string()))?;
            column.value[at] = value;
        }
    }
    Ok(())
}

fn empty_table(store: &RunStore, suite: &Suite) -> ScoreTable {
    let plan = &store.plan.plan;
    let tasks: HashMap<&TaskId, &crate::model::suite::Task> =
        suite.tasks.iter().map(|t| (&t.id, t)).collect();
    let metadata = |key: &str| -> Vec<Option<String>> {
        plan.tasks
            .iter()
            .map(|t| tasks.get(&t.id).and_then(|t| t.metadata_text(key)))
            .collect()
    };
    let column = |measure| MeasureColumn {
        measure,
        value: vec![],
        cell: vec![],
    };
    ScoreTable {
        arms: plan.arms.iter().map(|a| a.id.clone()).collect(),
        tasks: plan.tasks.iter().map(|t| t.id.clone()).collect(),
        clusters: plan
            .analysis
            .cluster
            .as_ref()
            .map(|key| numbered(&metadata(key))),
        segments: plan
            .analysis
            .segments
            .iter()
            .map(|key| SegmentColumn {
                key: key.clone(),
                values: metadata(key),
            })
            .collect(),
        measures: Measure::ALL.into_iter().map(column).collect(),
        ..ScoreTable::default()
    }
}

/// Numbers cluster labels in the order of their first task; a task without a label is its own
/// cluster.
fn numbered(labels: &[Option<String>]) -> Vec<u32> {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut next = 0u32;
    let mut fresh = || {
        next += 1;
        next - 1
    };
    labels
        .iter()
        .map(|label| match label {
            Some(label) => *known.entry(label).or_insert_with(&mut fresh),
            None => fresh(),
        })
        .collect()
}
