//! The paired difference of one judge between two arms, before anything is decided.

use super::labels::{self, labelled_pair};
use super::main_metric;
use crate::base::Result;
use crate::compare::decision::MissingState;
use crate::compare::table::Comparing;
use crate::estimate::{Context, QualityCells, Segment};
use crate::model::analysis::DecisionSpec;
use crate::model::judged::JudgeColumn;
use crate::model::score::ScoreTable;
use crate::stats::correction::{CorrectedDifference, PairedTask, TaskFrame, ppi_paired_bp_hall};
use crate::stats::paired::bp_hall;
use crate::stats::sample::Paired;
use crate::stats::units::Weights;
use crate::stats::{Limits, Status};

/// The paired difference of one judge in one segment, before anything is decided.
pub(in crate::compare) struct JudgedContrast<'a> {
    pub(super) table: &'a ScoreTable,
    pub(super) column: &'a JudgeColumn,
    pub(super) segment: Option<String>,
    pub(super) found: CorrectedDifference,
    /// What the judge alone says, which nobody checked.
    pub(super) naive: Naive,
    pub(super) missing: MissingState,
    pub(super) unpaired: usize,
    /// Why the difference is not identified, where labels are what it lacks.
    pub(super) unlabelled: Option<&'static str>,
    /// Whether there are labels, and fewer than a decision needs.
    pub(super) few_labels: bool,
}

/// The uncorrected difference of two arms.
#[derive(Clone, Copy)]
pub(super) struct Naive {
    pub(super) value: Option<f64>,
    pub(super) limits: Option<Limits>,
}

impl JudgedContrast<'_> {
    /// Whether this is the main comparison of quality.
    pub(in crate::compare) fn is_main(&self, decision: &DecisionSpec) -> bool {
        let main = || main_metric(self.table, decision);
        self.segment.is_none() && main() == Some(self.column.metric())
    }

    /// The p of no difference.
    pub(in crate::compare) fn p(&self) -> Option<f64> {
        self.found.p
    }
}

/// Contrasts two arms by every judge in every segment.
pub(in crate::compare) fn contrasts<'a>(
    table: &'a ScoreTable,
    context: &Context,
    segments: &[Segment],
    comparing: &Comparing,
) -> Result<Vec<JudgedContrast<'a>>> {
    let mut found = vec![];
    for column in &table.judges {
        let a = QualityCells::gather(table, comparing.a, column);
        let b = QualityCells::gather(table, comparing.b, column);
        // Where every verdict was lost, that is what the comparison has to say.
        let nothing = |c: &QualityCells| c.judged.iter().all(Vec::is_empty) && !c.all_lost();
        if nothing(&a) && nothing(&b) {
            continue;
        }
        for segment in segments {
            found.push(contrast(context, (table, column), &a, &b, segment)?);
        }
    }
    Ok(found)
}

fn contrast<'a>(
    context: &Context,
    (table, column): (&'a ScoreTable, &'a JudgeColumn),
    a: &QualityCells,
    b: &QualityCells,
    segment: &Segment,
) -> Result<JudgedContrast<'a>> {
    let is_paired = |t: &usize| !a.judged[*t].is_empty() && !b.judged[*t].is_empty();
    let paired: Vec<usize> = segment.tasks.iter().copied().filter(is_paired).collect();
    let tasks: Vec<PairedTask> = paired
        .iter()
        .map(|&t| PairedTask {
            judge: b.mean(t).unwrap_or(0.0) - a.mean(t).unwrap_or(0.0),
            labelled: labelled_pair(&a.judged[t], &b.judged[t]),
        })
        .collect();
    let clusters = context.clusters(&paired);
    // Values are means of tasks; weights by trials are their numbers of judged trials in both arms.
    let weights = match &context.weights {
        Weights::Trials => {
            let trials = |t: &usize| (a.judged[*t].len() + b.judged[*t].len()) as f64;
            Weights::Explicit(paired.iter().map(trials).collect())
        }
        other => other.clone(),
    };
    let frame = TaskFrame {
        clusters: clusters.as_deref(),
        weights: &weights,
    };
    let mut found = ppi_paired_bp_hall(&tasks, &frame, context.level)?;
    let unlabelled = labels::unlabelled(&found, (a, b), &paired);
    let few_labels = labels::too_few(&found);
    if few_labels {
        found.status = found.status.min(Status::Exploratory);
    }
    let limits = found
        .lower
        .zip(found.upper)
        .map(|(lower, upper)| Limits { lower, upper });
    let differences: Vec<f64> = tasks.iter().map(|t| t.judge).collect();
    let paired_alone = Paired::new(&differences, clusters.as_deref(), &weights)?;
    let alone = bp_hall(&paired_alone, context.level, false);
    Ok(JudgedContrast {
        table,
        column,
        naive: Naive {
            value: alone.estimate,
            limits: alone.limits(),
        },
        segment: segment.name.clone(),
        missing: missing(context, a, b, segment, limits),
        unpaired: segment.tasks.len() - paired.len(),
        found,
        unlabelled,
        few_labels,
    })
}

/// What is missing, and the limits moved by the most that it could have moved them.
fn missing(
    context: &Context,
    a: &QualityCells,
    b: &QualityCells,
    segment: &Segment,
    limits: Option<Limits>,
) -> MissingState {
    let weights = context.planned_weights(&segment.tasks);
    let of = |chosen: &dyn Fn(usize) -> f64| -> f64 {
        segment
            .tasks
            .iter()
            .zip(&weights)
            .map(|(&t, w)| w * chosen(t))
            .sum()
    };
    let lost = |c: &QualityCells, t: usize| match c.started[t] {
        0 => 0.0,
        started => f64::from(c.missing[t]) / f64::from(started),
    };
    let shift = of(&|t| lost(a, t)) + of(&|t| lost(b, t));
    let moved = |by: f64| {
        limits.map(|l| {
            Limits {
                lower: l.lower + by,
                upper: l.upper + by,
            }
            .clipped(-1.0, 1.0)
        })
    };
    // What a randomised schedule did not come to is not missing.
    let begun = |t: usize| a.started[t] > 0 && b.started[t] > 0;
    let unpaired =
        |t: usize| f64::from(begun(t) && (a.judged[t].is_empty() || b.judged[t].is_empty()));
    MissingState {
        rate_a: a.missing_rate(&segment.tasks),
        rate_b: b.missing_rate(&segment.tasks),
        drop: of(&unpaired),
        p_missing: None,
        worst: (shift > 0.0).then(|| moved(-shift)).flatten(),
        best: (shift > 0.0).then(|| moved(shift)).flatten(),
    }
}
