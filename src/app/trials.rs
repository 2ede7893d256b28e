//! The wide table of all trials: `trials.csv`, and Parquet where the build has it.

use super::evaluate::Evaluation;
use crate::base::Result;
use crate::model::measure::Dimension;
use crate::model::score::{CellState, RowState, ScoreTable};
use crate::model::trial::Boundary;
use crate::report::csv::{Column, columns};
use crate::store::FileFolder;

/// Writes `trials.csv`, and with the feature `frames` `tables/trials.parquet` of a single run.
///
/// # Errors
///
/// If a file cannot be written.
pub(super) fn write(evaluation: &Evaluation, files: &FileFolder) -> Result<()> {
    let table = &evaluation.table;
    files.write("trials.csv", |out| {
        columns(table.len(), &of_trials(table), out)
    })?;
    #[cfg(feature = "frames")]
    if let [run] = evaluation.stores[..] {
        let folder = FileFolder::create(&run.dir().join("tables"))?;
        folder.write("trials.parquet", |out| {
            crate::frame::write_parquet(table.len(), &of_trials(table), out)
        })?;
    }
    Ok(())
}

/// One row per planned trial: place, how it ended, and every measure; why a value is absent stands in
/// the state column of its dimension.
fn of_trials(table: &ScoreTable) -> Vec<Column<'_>> {
    let task = |row: usize| table.task[row] as usize;
    let mut all = vec![
        Column::text("arm", |row| {
            Some(table.arms[usize::from(table.arm[row])].as_str())
        }),
        Column::text("task", move |row| Some(table.tasks[task(row)].as_str())),
        Column::integer("trial", |row| Some(i64::from(table.index[row]))),
        Column::text("status", |row| Some(status(table.state[row]))),
        Column::text("boundary", |row| boundary(table.state[row])),
        Column::text("terminal", |row| ending(table, row).map(|(word, _)| word)),
        Column::text("code", |row| ending(table, row).and_then(|(_, code)| code)),
    ];
    for segment in &table.segments {
        let name = format!("segment.{}", segment.key);
        all.push(Column::text(name, move |row| {
            segment.values[task(row)].as_deref()
        }));
    }
    if let Some(clusters) = &table.clusters {
        all.push(Column::integer("cluster", move |row| {
            Some(i64::from(clusters[task(row)]))
        }));
    }
    for dimension in Dimension::ALL {
        let measures = move || {
            table
                .measures
                .iter()
                .filter(move |c| c.measure.dimension() == dimension)
        };
        if measures().next().is_some() {
            let name = format!("{}_state", dimension.name());
            let cells = move |row: usize| measures().map(move |column| column.cell[row]);
            all.push(Column::text(name, move |row| Some(state(cells(row)))));
        }
    }
    for column in &table.measures {
        let value = |row: usize| (column.cell[row] == CellState::Scored).then(|| column.value[row]);
        all.push(Column::number(column.measure.name(), value));
    }
    all
}

fn status(state: RowState) -> &'static str {
    match state {
        RowState::NotStarted => "not_started",
        RowState::Valid => "valid",
        RowState::Infra(_) | RowState::CutOff => "infrastructure",
    }
}

fn boundary(state: RowState) -> Option<&'static str> {
    match state {
        RowState::Infra(boundary) => Some(boundary.name()),
        RowState::CutOff => Some(Boundary::Cancelled.name()),
        _ => None,
    }
}

/// How the trial itself ended, and why: `completed`, `agent_failed` with its reason, `limit_reached` with
/// the limit, `infra` with the code of the boundary; `None` if it never started.
fn ending(table: &ScoreTable, row: usize) -> Option<(&str, Option<&str>)> {
    let stored = table.ending.get(row).copied().flatten();
    let Some(text) = stored.and_then(|number| table.endings.get(usize::from(number))) else {
        let lost = table.state[row] != RowState::NotStarted;
        return lost.then_some(("infra", Some("no_record")));
    };
    Some(match text.split_once(':') {
        // The agent came to its end, and what graded it did not.
        None if table.state[row] == RowState::Infra(Boundary::Grader) => {
            ("infra", Some("grader_failed"))
        }
        None => (text, None),
        Some(("infra", rest)) => ("infra", rest.split_once(':').map(|(_, code)| code)),
        Some((word, reason)) => (word, Some(reason)),
    })
}

/// What became of a trial on a dimension, from its cells of the dimension's measures, by the order of the
/// accounting: scored if any measure has a value, else not applicable, else ungradable.
fn state(cells: impl Iterator<Item = CellState> + Clone) -> &'static str {
    let any = |wanted| cells.clone().any(|cell| cell == wanted);
    let ranked = [
        (CellState::Scored, "scored"),
        (CellState::NotApplicable, "not_applicable"),
        (CellState::Ungradable, "ungradable"),
    ];
    let found = ranked.into_iter().find(|(cell, _)| any(*cell));
    found.map_or("no_trial", |(_, word)| word)
}
