//! What a report says of live arms alone: retries, caches, trials that are still to be run.

use super::evaluate::{EvaluatedArm, Evaluation};
use crate::base::Result;
use crate::model::report::{LiveRow, PromptCache, StoppedEarly};
use crate::model::score::RowState;
use crate::stats::sum;
use crate::store::CachedTrial;

/// One row per live arm.
///
/// # Errors
///
/// Those of the database.
pub(super) fn rows(evaluation: &Evaluation) -> Result<Vec<LiveRow>> {
    let live = evaluation.arms.iter().filter(|arm| !arm.info.recorded);
    live.map(|arm| row(evaluation, arm)).collect()
}

fn row(evaluation: &Evaluation, arm: &EvaluatedArm) -> Result<LiveRow> {
    let store = evaluation.stores[arm.store];
    let retries = store.retries()?.remove(arm.stored.as_str());
    let retries = retries.unwrap_or_default();
    let (warm, cold) = store
        .cached_trials(arm.stored.as_str())?
        .into_iter()
        .partition(|trial| trial.tokens > 0);
    Ok(LiveRow {
        arm: arm.info.name.clone(),
        retried: retries.attempts,
        retried_trials: retries.trials,
        model_retries: retries.model,
        warm_cache: retries.warm_cache,
        cold: prompt_cache(cold),
        warm: prompt_cache(warm),
    })
}

fn prompt_cache(trials: Vec<CachedTrial>) -> PromptCache {
    PromptCache {
        trials: trials.len() as u64,
        cached_tokens: trials.iter().map(|t| t.tokens).sum(),
        latency_ms_p50: median(sorted(trials.iter().filter_map(|t| t.latency_ms))),
        cost_usd_mean: sum::mean(&sorted(trials.iter().filter_map(|t| t.cost_usd))),
    }
}

/// Sorted, so that the order in which trials were stored changes no digit.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: Vec<f64>) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(
            *sorted.get(middle.checked_sub(1)?)?,
            sorted[middle],
        )),
    }
}

/// How far the live arms came, if not to the end of their schedule.
pub(super) fn stopped(evaluation: &Evaluation) -> Option<StoppedEarly> {
    let waiting = to_run(evaluation);
    let first = waiting.first()?;
    let live = |arm: &&EvaluatedArm| !arm.info.recorded;
    let planned = |arm: &EvaluatedArm| {
        let at = evaluation.arms.iter().position(|a| std::ptr::eq(a, arm));
        let own = |a: &&u16| Some(usize::from(**a)) == at;
        evaluation.table.arm.iter().filter(own).count() as u64
    };
    let planned: u64 = evaluation.arms.iter().filter(live).map(planned).sum();
    let store = evaluation
        .arms
        .iter()
        .find(|a| a.info.name == first.arm)?
        .store;
    Some(StoppedEarly {
        started: planned - waiting.iter().map(|arm| arm.not_started).sum::<u64>(),
        cancelled: waiting.iter().map(|arm| arm.cut_off).sum(),
        planned,
        by: evaluation.stores[store].stopped_by().map(str::to_owned),
    })
}

/// The trials of a live arm that are still to be run.
pub(super) struct ToRun<'a> {
    /// Arm.
    pub arm: &'a str,
    /// Trials that never started.
    pub not_started: u64,
    /// Trials that a stop of the run cut off.
    pub cut_off: u64,
    /// Trials that were planned.
    pub planned: u64,
}

/// Live arms of which planned trials never started or were cut off.
pub(super) fn to_run<'a>(evaluation: &'a Evaluation) -> Vec<ToRun<'a>> {
    let table = &evaluation.table;
    let arms = evaluation.arms.iter().enumerate().map(|(at, arm)| {
        let rows = || (0..table.len()).filter(|&row| usize::from(table.arm[row]) == at);
        let count = |state| rows().filter(|&row| table.state[row] == state).count() as u64;
        ToRun {
            arm: &arm.info.name,
            not_started: count(RowState::NotStarted),
            cut_off: count(RowState::CutOff),
            planned: rows().count() as u64,
        }
    });
    arms.filter(|arm| arm.not_started + arm.cut_off > 0)
        .collect()
}
