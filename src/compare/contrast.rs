//! Two arms on one metric in one segment: the paired contrast and what may stand in its way.

use super::decision::MissingState;
use crate::base::{Result, Seed};
use crate::estimate::{Context, Segment, TaskCells, partial_tasks, task_scores, unit_means};
use crate::model::metric::{Contrast, Metric};
use crate::stats::missing::{PartialTask, manski_difference, missing_sign_flip};
use crate::stats::paired::bp_hall;
use crate::stats::permutation::sign_flip;
use crate::stats::power::detectable;
use crate::stats::ratio::ratio_of_means;
use crate::stats::sample::Paired;
use crate::stats::special::{normal_quantile, t_quantile};
use crate::stats::{Limits, Status};

/// Power at which minimum detectable effects are stated.
pub const POWER: f64 = 0.80;

/// Random sign patterns where exact enumeration is too long.
const DRAWS: u64 = 9_999;

/// The paired contrast of two arms.
#[derive(Clone, Debug)]
pub struct Contrasted {
    /// B − A, or B/A.
    pub value: Option<f64>,
    /// Its limits.
    pub interval: Option<Limits>,
    /// Method id.
    pub method: &'static str,
    /// Two-sided p, dual to the interval.
    pub p: Option<f64>,
    /// Sign-flip p, a sensitivity line.
    pub p_sign_flip: Option<f64>,
    /// How far the interval may be used.
    pub status: Status,
    /// Why there is no interval.
    pub reason: Option<String>,
    /// n_c of the units.
    pub n_c: Option<f64>,
    /// Minimum detectable effect at power .80: a difference, or a factor.
    pub mde: Option<f64>,
    /// Variance of one unit's difference.
    pub unit_variance: Option<f64>,
    /// The units of a difference, for what a larger run of the same kind would show; `None` of a ratio.
    pub sample: Option<Paired>,
    /// Paired tasks.
    pub tasks: usize,
    /// Planned tasks that are not paired.
    pub unpaired: usize,
    /// What is missing.
    pub missing: MissingState,
    /// Trials of B whose value a limit cut short.
    pub censored_b: u64,
    /// Codes of warnings.
    pub notices: Vec<String>,
}

/// The cells of one metric in both arms.
pub struct Pair<'a> {
    /// Metric.
    pub metric: &'a Metric,
    /// Baseline.
    pub a: &'a TaskCells,
    /// Candidate.
    pub b: &'a TaskCells,
}

/// Contrasts two arms; `seed` drives the sign-flip only where exact enumeration is too long.
///
/// # Errors
///
/// If scores are outside their range: the store is damaged.
pub fn contrast(
    context: &Context,
    pair: &Pair,
    segment: &Segment,
    strict: bool,
    seed: Seed,
) -> Result<Contrasted> {
    let concerned = concerned(pair, segment);
    let mut found = match pair.metric.contrast() {
        Contrast::Difference => difference(context, pair, &concerned, strict, seed)?,
        Contrast::Ratio => ratio(context, pair, &concerned)?,
    };
    if !is_finite(&found) {
        (found.value, found.interval, found.p, found.mde) = (None, None, None, None);
        found.unit_variance = None;
        found.reason = Some("out_of_range".to_owned());
    }
    found.missing = missing(context, pair, &concerned, strict, seed)?;
    found.tasks = concerned.iter().filter(|&&t| is_paired(pair, t)).count();
    found.unpaired = segment.tasks.len() - found.tasks;
    found.censored_b = pair.b.censored_in(&concerned);
    let censored = pair.a.censored_in(&concerned) + found.censored_b;
    if censored > 0 {
        let codes = ["restricted_mean".to_owned(), format!("censored:{censored}")];
        found.notices.extend(codes);
    }
    let any = |left_out: fn(&TaskCells, usize) -> bool| {
        let mut tasks = segment.tasks.iter();
        tasks.any(|&t| left_out(pair.a, t) || left_out(pair.b, t))
    };
    if any(TaskCells::never_applies) {
        found.notices.push("conditional_on_opportunity".to_owned());
    }
    if any(TaskCells::never_started) {
        found.notices.push("tasks_not_started".to_owned());
    }
    Ok(found)
}

/// Amounts near the largest number there is overflow in sums.
fn is_finite(found: &Contrasted) -> bool {
    let limits = found.interval.map(|i| [i.lower, i.upper]);
    let numbers = [found.value, found.p, found.mde, found.unit_variance];
    numbers
        .iter()
        .flatten()
        .chain(limits.iter().flatten())
        .all(|n| n.is_finite())
}

/// The tasks that the measure concerns in both arms: a task in which no trial of an arm had an
/// opportunity says nothing about that arm, and is not missing; neither is one that never started.
fn concerned(pair: &Pair, segment: &Segment) -> Vec<usize> {
    let says = |cells: &TaskCells, t| !cells.never_applies(t) && !cells.never_started(t);
    let both = |&t: &usize| says(pair.a, t) && says(pair.b, t);
    segment.tasks.iter().copied().filter(both).collect()
}

fn is_paired(pair: &Pair, task: usize) -> bool {
    pair.a.scored[task] > 0 && pair.b.scored[task] > 0
}

fn difference(
    context: &Context,
    pair: &Pair,
    tasks: &[usize],
    strict: bool,
    seed: Seed,
) -> Result<Contrasted> {
    let (a, b) = (task_scores(pair.a, tasks), task_scores(pair.b, tasks));
    let clusters = context.clusters(tasks);
    let paired = Paired::from_arms(&a, &b, clusters.as_deref(), &context.weights)?;
    let found = bp_hall(&paired, context.level, strict);
    let variance = paired.unit_variance();
    let shown = variance.and_then(|v| detectable(found.n_c, v, context.level, POWER, strict));
    let mut notices: Vec<String> = found.notices.iter().map(|n| n.code.clone()).collect();
    let open = found
        .limits()
        .is_some_and(|l| l.lower <= 0.0 && l.upper >= 0.0);
    let observed = found.estimate.map_or(0.0, f64::abs);
    // The formula rests on the spread alone; where the data contradict it, it is not printed.
    let contradicted = open && shown.is_some_and(|shown| observed >= shown);
    if contradicted {
        notices.push("detectable_unknown".to_owned());
    }
    // No two rates differ by more than 1.
    let beyond = shown.is_some_and(|shown| shown > 1.0);
    if beyond && !contradicted {
        notices.push("detectable_above_one".to_owned());
    }
    let flips: Vec<f64> = paired
        .unit_means
        .iter()
        .zip(&paired.units.unit_weights)
        .map(|(d, w)| d * w)
        .collect();
    Ok(Contrasted {
        value: found.estimate,
        interval: found.limits(),
        method: found.method,
        p: found.p,
        p_sign_flip: (!flips.is_empty()).then(|| sign_flip(&flips, seed, DRAWS).p_two_sided),
        status: found.status,
        reason: found.reason.map(str::to_owned),
        n_c: (found.n_c > 0.0).then_some(found.n_c),
        mde: shown.filter(|_| !contradicted && !beyond),
        unit_variance: variance,
        sample: Some(paired),
        tasks: 0,
        unpaired: 0,
        missing: MissingState::default(),
        censored_b: 0,
        notices,
    })
}

fn ratio(context: &Context, pair: &Pair, tasks: &[usize]) -> Result<Contrasted> {
    let units = unit_means(
        context,
        tasks,
        |t| Some([pair.a.mean(t)?, pair.b.mean(t)?]),
        |t| pair.a.scored[t] + pair.b.scored[t],
    )?;
    let side = |side: usize| units.iter().map(|u| u[side]).collect::<Vec<f64>>();
    let (a, b) = (side(0), side(1));
    let found = ratio_of_means(&a, &b, context.level)?;
    let quantiles = found
        .df
        .map(|df| t_quantile(1.0 - context.level.tail(), df) + normal_quantile(POWER));
    Ok(Contrasted {
        value: found.estimate,
        interval: found
            .lower
            .zip(found.upper)
            .map(|(lower, upper)| Limits { lower, upper }),
        method: "ratio_of_means_jackknife",
        p: found.p,
        p_sign_flip: None,
        status: found.status,
        reason: found.reason.map(str::to_owned),
        n_c: found.n_eff,
        mde: quantiles.zip(found.log_se).map(|(q, se)| (q * se).exp()),
        unit_variance: found.log_se.zip(found.n_eff).map(|(se, n)| se * se * n),
        sample: None,
        tasks: 0,
        unpaired: 0,
        missing: MissingState::default(),
        censored_b: 0,
        notices: vec![],
    })
}

/// What is missing: rates per arm, weight of the tasks that are not paired, and the contrast on the
/// worst and the best completion. Costs have no bounds, so they have no completions.
fn missing(
    context: &Context,
    pair: &Pair,
    tasks: &[usize],
    strict: bool,
    seed: Seed,
) -> Result<MissingState> {
    let (rate_a, rate_b) = (pair.a.missing_rate(tasks), pair.b.missing_rate(tasks));
    let weights = context.planned_weights(tasks);
    let unpaired = tasks
        .iter()
        .zip(&weights)
        .filter(|(t, _)| !is_paired(pair, **t));
    let drop: f64 = unpaired.map(|(_, w)| w).sum();
    let mut state = MissingState {
        rate_a,
        rate_b,
        drop,
        p_missing: None,
        worst: None,
        best: None,
    };
    if rate_a == 0.0 && rate_b == 0.0 && drop == 0.0 {
        return Ok(state);
    }
    state.p_missing = Some(p_missing(context, pair, tasks, seed)?);
    if pair.metric.contrast() == Contrast::Difference {
        let (a, b) = (partial_tasks(pair.a, tasks), partial_tasks(pair.b, tasks));
        let clusters = context.clusters(tasks);
        let bounds = manski_difference(
            &a,
            &b,
            clusters.as_deref(),
            &context.weights,
            context.level,
            strict,
        )?;
        let (low, high) = (bounds.worst.limits(), bounds.best.limits());
        // For losses the candidate's worst is the highest rate: the caller reads both the same way.
        (state.worst, state.best) = match pair.metric.direction() {
            crate::model::metric::Direction::Gain => (low, high),
            crate::model::metric::Direction::Loss => (high, low),
        };
    }
    Ok(state)
}

/// Sign-flip on per-task differences of missing rates (METHODS 10).
fn p_missing(context: &Context, pair: &Pair, tasks: &[usize], seed: Seed) -> Result<f64> {
    let (a, b) = (planned_tasks(pair.a, tasks), planned_tasks(pair.b, tasks));
    let clusters = context.clusters(tasks);
    let seed = seed.child("missing");
    let found = missing_sign_flip(&a, &b, clusters.as_deref(), seed, DRAWS)?;
    Ok(found.p_two_sided)
}

/// The planned trials that the measure concerns, by whether they are missing: the same denominators
/// as those of the missing rates beside it.
fn planned_tasks(cells: &TaskCells, tasks: &[usize]) -> Vec<PartialTask> {
    let planned = |&t: &usize| PartialTask {
        sum: cells.sum[t],
        observed: cells.planned[t]
            .saturating_sub(cells.not_applicable[t])
            .saturating_sub(cells.missing[t]),
        missing: cells.missing[t],
    };
    tasks.iter().map(planned).collect()
}
