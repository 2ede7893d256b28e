//! The word on one judged difference.

use super::contrast::{JudgedContrast, Naive};
use super::{judge_state, margin_of};
use crate::compare::judged::{self, Believed, FEW_LABELS, JudgedComparison, Said};
use crate::compare::table::Comparing;
use crate::estimate::Context;
use crate::stats::Status;

/// Decides one contrast; `p_adjusted` is its p over the primary family, where it is in it.
pub(in crate::compare) fn finish(
    context: &Context,
    comparing: &Comparing,
    contrast: &JudgedContrast,
    p_adjusted: Option<f64>,
) -> JudgedComparison {
    let column = contrast.column;
    let metric = column.metric();
    let judge = judge_state(column, &[comparing.a, comparing.b]);
    let margin = margin_of(contrast.table, comparing.decision, &metric);
    let notices = [
        (!column.is_rate(), "rescaled_to_unit"),
        (contrast.few_labels, FEW_LABELS),
    ];
    let said = Said {
        segment: contrast.segment.clone(),
        found: &contrast.found,
        missing: contrast.missing,
        tasks: contrast.found.tasks,
        unpaired: contrast.unpaired,
        margin,
        locked: is_locked(comparing, contrast, &metric, margin),
        judge,
        unknown: judge.blocks() && contrast.found.labelled == 0,
        unlabelled: contrast.unlabelled,
        notices: notices
            .iter()
            .filter(|(holds, _)| *holds)
            .map(|(_, code)| (*code).to_owned())
            .collect(),
        believed: contrast.segment.is_none().then(|| believed(contrast.naive)),
        metric,
    };
    judged::finish(context, comparing, said, p_adjusted)
}

fn believed(naive: Naive) -> Believed {
    Believed {
        value: naive.value,
        limits: naive.limits,
        status: match naive.limits {
            Some(_) => Status::Ok,
            None => Status::NotEstimable,
        },
    }
}

fn is_locked(
    comparing: &Comparing,
    contrast: &JudgedContrast,
    metric: &str,
    margin: Option<f64>,
) -> bool {
    comparing.same_as_locked()
        && comparing
            .locked
            .is_some_and(|l| margin_of(contrast.table, l, metric) == margin)
}
