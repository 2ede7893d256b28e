//! What the main comparisons would say under other defensible rules.

use serde::Serialize;

use super::safe;
use super::view::Lookup;
use super::{number, words};
use crate::model::estimate::RobustnessRow;

/// One line of the table.
#[derive(Serialize)]
pub(super) struct RobustnessLine {
    dimension: String,
    metric: String,
    reading: String,
    contrast: minijinja::Value,
    limits: minijinja::Value,
    word: String,
    changes: bool,
}

/// The lines in the order of the report.
pub(super) fn robustness(lookup: &Lookup<'_>) -> Vec<RobustnessLine> {
    lookup
        .report
        .robustness
        .iter()
        .map(|row| line(lookup, row))
        .collect()
}

fn line(lookup: &Lookup<'_>, row: &RobustnessRow) -> RobustnessLine {
    let mut compared = lookup.compared(row.dimension, &row.metric);
    let is_ratio = compared.any(|c| c.contrast == "ratio");
    let contrast = match row.value {
        None => "–".to_owned(),
        Some(value) if is_ratio => format!("×{}", number::number(value)),
        Some(value) => number::difference(value),
    };
    RobustnessLine {
        dimension: row.dimension.name().to_owned(),
        metric: words::metric(&row.metric, None),
        reading: words::reading(&row.reading),
        contrast: safe(contrast),
        limits: safe(number::interval(row.low, row.high, &[])),
        word: words::decision(row.decision),
        changes: row.changes,
    }
}
