//! What difference a number of tasks can show, how many tasks a margin needs, and whether to buy
//! tasks or trials (METHODS 6.5).

use serde::Serialize;

use crate::base::{Error, Result};
use crate::stats::Level;
use crate::stats::clustered::TaskSpread;
use crate::stats::special::normal_quantile;
use crate::stats::sum::{mean_of, variance_of};
use crate::stats::tolerance::at_most;
use crate::stats::undefined::{Defined, Undefined};

/// The smallest true difference that an interval of `n_c` units shows with a given power.
///
/// `variance` is Var₁, the variance of one unit's difference
/// (σ_δ² + σ_A²/m_A + σ_B²/m_B, or [`crate::stats::sample::Paired::unit_variance`]). The +2 are
/// BP-Hall's pseudo-units. `None` unless n_c > 0, the variance is not negative and the power lies
/// between α/2 and 1: with less power than a test has where nothing differs, the difference would be
/// negative.
pub fn mde(n_c: f64, variance: f64, level: Level, power: f64) -> Option<f64> {
    let sound =
        n_c > 0.0 && variance >= 0.0 && variance.is_finite() && check_power(power, level).is_ok();
    sound.then(|| {
        level.z() * (n_c * variance + 2.0).sqrt() / (n_c + 2.0)
            + normal_quantile(power) * (variance / n_c).sqrt() * n_c / (n_c + 2.0)
    })
}

/// What a result prints as detectable: [`mde`], but never below c/n_c with the c of [`tasks_needed`].
///
/// With units that hardly differ the formula falls below the margin that so many tied units can rule out
/// at all: 54 ties rule out .05, whatever the power. The number of tasks for a margin has the same
/// floor, so that a margin counts as detectable exactly where there are tasks enough for it.
pub fn detectable(n_c: f64, variance: f64, level: Level, power: f64, strict: bool) -> Option<f64> {
    Some(mde(n_c, variance, level, power)?.max(ties_floor(level, strict) / n_c))
}

/// c of ⌈c/δ⌉, the least number of units with which a margin δ can be shown: 2.8, or 3.7 if strict, at 95 %.
fn ties_floor(level: Level, strict: bool) -> f64 {
    let at_95 = if strict { 3.7 } else { 2.8 };
    at_95 * level.z() / 1.959964
}

/// Checks that a power can be asked for.
///
/// # Errors
///
/// If it is not between α/2 and 1: the chance of a finding in one direction is α/2 even where nothing
/// differs.
pub fn check_power(power: f64, level: Level) -> Result<()> {
    if power > level.tail() && power < 1.0 {
        return Ok(());
    }
    let message = format!("power {power} is not between {} and 1", level.tail());
    Err(Error::input(message).hint("half of alpha is reached without any difference; 0.8 is usual"))
}

/// More units than this are not counted: no suite has them.
pub const MOST_UNITS: f64 = 1e12;

/// What a number of tasks is planned for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// The margin δ.
    pub margin: f64,
    /// The loss that B is assumed to have; 0 for no difference.
    pub assumed_loss: f64,
    /// Var₁, the variance of one task's difference.
    pub variance: f64,
    /// The power, for example 0.8.
    pub power: f64,
    /// Whether the `strict` interval is used.
    pub strict: bool,
}

/// A number of tasks with the difference it can show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TasksNeeded {
    /// Number of tasks (of clusters, where they are the units).
    pub tasks: u64,
    /// MDE at that number.
    pub mde: f64,
}

/// The smallest G ≥ 2 with MDE(G) ≤ δ − assumed loss, never below ⌈c/δ⌉ with
/// c = 2.8 z/1.959964 (3.7 if strict) (method `tasks_needed_paired`).
///
/// # Errors
///
/// If the margin does not exceed the assumed loss, a number is not finite, the variance is
/// negative, the power is not between α/2 and 1, or more than 10¹² tasks would be needed.
pub fn tasks_needed(need: Need, level: Level) -> Result<TasksNeeded> {
    tasks_within_reach(need, level)?.ok_or_else(|| {
        Error::input("more than 10^12 tasks would be needed")
            .hint("a wider margin or more trials per task")
    })
}

/// The same as [`tasks_needed`], but `None` if more than 10¹² tasks would be needed.
///
/// # Errors
///
/// As [`tasks_needed`], but for the number of tasks.
pub fn tasks_within_reach(need: Need, level: Level) -> Result<Option<TasksNeeded>> {
    let target = need.margin - need.assumed_loss;
    if !(target > 0.0 && need.margin > 0.0 && target.is_finite()) {
        return Err(Error::input(format!(
            "margin {} does not exceed the assumed loss {}",
            need.margin, need.assumed_loss
        ))
        .hint("no number of tasks shows a loss smaller than the loss itself"));
    }
    check_power(need.power, level)?;
    let at = |g: u64| mde(g as f64, need.variance, level, need.power);
    if at(2).is_none() {
        return Err(Error::input(format!(
            "variance {} is out of range",
            need.variance
        )));
    }
    let Some(least) = least_units(need.margin, level, need.strict) else {
        return Ok(None);
    };
    let enough = |g: u64| at(g).is_some_and(|d| at_most(d, target));
    let Some(tasks) = smallest(least, enough) else {
        return Ok(None);
    };
    let mde = at(tasks).unwrap_or(f64::INFINITY);
    Ok(Some(TasksNeeded { tasks, mde }))
}

/// ⌈c/δ⌉, and at least 2: fewer units cannot show a margin δ, whatever is assumed of the truth; `None` if
/// they are more than 10¹².
pub fn least_units(margin: f64, level: Level, strict: bool) -> Option<u64> {
    let least = (ties_floor(level, strict) / margin).ceil();
    (least <= MOST_UNITS).then_some((least as u64).max(2))
}

/// The smallest G ≥ 2 with MDE(G) ≤ a distance, without the floor of [`tasks_needed`]; `None` if it is more
/// than 10¹² or an argument is out of range.
pub fn units_by_formula(distance: f64, variance: f64, level: Level, power: f64) -> Option<u64> {
    let at = |g: u64| mde(g as f64, variance, level, power);
    at(2)?;
    smallest(2, |g| at(g).is_some_and(|d| at_most(d, distance)))
}

/// The smallest number from `least` on that is enough, where every greater one is too.
fn smallest(least: u64, enough: impl Fn(u64) -> bool) -> Option<u64> {
    let mut high = least;
    while !enough(high) {
        high *= 2;
        if high as f64 > MOST_UNITS {
            return None;
        }
    }
    let mut low = least.max(high / 2);
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle
        } else {
            low = middle + 1
        }
    }
    Some(high)
}

/// Variance within and between tasks of one arm, from a pilot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct VarianceComponents {
    /// σ_w², the mean variance of one trial within its task.
    pub within: Option<f64>,
    /// σ_b² between the tasks' true means, not below 0.
    pub between: Option<f64>,
    /// σ_b²/(σ_b² + σ_w²).
    pub icc: Option<f64>,
    /// Why something is missing.
    pub reason: Option<&'static str>,
}

/// Moment estimates of the variance components (method `variance_components_binary`, also for
/// graded trials): σ̂_w² is the mean of the tasks' sample variances, for binary trials
/// ȳ(1−ȳ)m/(m−1); σ̂_b² = max(0, s²_ȳ − mean(σ̂_w²/m)).
///
/// `not_identifiable` without a task that has two trials, `too_few_units` with fewer than two
/// tasks.
pub fn variance_components(tasks: &[TaskSpread]) -> VarianceComponents {
    let used = || tasks.iter().filter(|t| t.trials > 0);
    let m = |t: &TaskSpread| f64::from(t.trials);
    let missing = |reason| VarianceComponents {
        reason: Some(reason),
        ..Default::default()
    };
    let inside = used()
        .filter(|t| t.trials > 1)
        .map(|t| (t.squares - t.sum * t.sum / m(t)).max(0.0) / (m(t) - 1.0));
    let Some(within) = mean_of(inside) else {
        return missing("not_identifiable");
    };
    let Some(spread) = variance_of(used().map(|t| t.sum / m(t))) else {
        return VarianceComponents {
            within: Some(within),
            ..missing("too_few_units")
        };
    };
    let inverse = mean_of(used().map(|t| 1.0 / m(t))).unwrap_or(0.0);
    let between = (spread - within * inverse).max(0.0);
    let total = between + within;
    VarianceComponents {
        within: Some(within),
        between: Some(between),
        icc: (total > 0.0).then(|| between / total),
        reason: (total <= 0.0).then_some("no_variation"),
    }
}

/// How many trials per task buy the most for the money.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OptimalTrials {
    /// m* = √((c_task/c_trial)(σ_w²/σ_δ²)).
    pub real: f64,
    /// The whole number, at least 1, with the lowest variance for the money.
    pub whole: u64,
}

/// The optimum number of trials per task (method `optimal_trials_per_task`; Cochran 1977).
///
/// Without a cost per task it is 1: more tasks beat more trials. Undefined as
/// `no_variance_between_tasks` where σ_δ² is 0 while tasks cost something (then trials on one task would
/// do, which no one believes), and as `out_of_range` beyond 10¹² trials.
///
/// # Errors
///
/// If a number is negative or not finite, or a trial costs nothing.
pub fn optimal_trials(
    cost_per_task: f64,
    cost_per_trial: f64,
    between: f64,
    within: f64,
) -> Result<Defined<OptimalTrials>> {
    let all = [cost_per_task, cost_per_trial, between, within];
    if all.iter().any(|v| !(*v >= 0.0 && v.is_finite())) || cost_per_trial == 0.0 {
        return Err(Error::input(format!("costs and variances {all:?}"))
            .hint("they are not negative, and a trial costs something"));
    }
    let real = (cost_per_task / cost_per_trial * within / between).sqrt();
    if cost_per_task == 0.0 || within == 0.0 {
        return Ok(Ok(OptimalTrials {
            real: 0.0,
            whole: 1,
        }));
    }
    if between == 0.0 {
        return Ok(Err(Undefined("no_variance_between_tasks")));
    }
    if real.is_nan() || real > MOST_UNITS {
        return Ok(Err(Undefined("out_of_range")));
    }
    let price = |m: f64| (between + within / m) * (cost_per_task + cost_per_trial * m);
    let (low, high) = (real.floor().max(1.0), real.ceil().max(1.0));
    let whole = if price(low) <= price(high) { low } else { high } as u64;
    Ok(Ok(OptimalTrials { real, whole }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_task_fewer_is_not_enough() {
        let need = Need {
            margin: 0.05,
            assumed_loss: 0.0,
            variance: 0.01,
            power: 0.8,
            strict: false,
        };
        let got = tasks_needed(need, Level::p95()).unwrap();
        assert_eq!(got.tasks, 79);
        assert!(mde(78.0, 0.01, Level::p95(), 0.8).unwrap() > 0.05 && got.mde <= 0.05);
    }

    #[test]
    fn a_margin_within_the_assumed_loss_is_an_error() {
        let need = Need {
            margin: 0.05,
            assumed_loss: 0.05,
            variance: 0.01,
            power: 0.8,
            strict: false,
        };
        assert!(tasks_needed(need, Level::p95()).is_err());
        assert_eq!(mde(10.0, -1.0, Level::p95(), 0.8), None);
    }

    #[test]
    fn no_difference_is_negative_and_no_number_saturates() {
        let need = |margin, power| Need {
            margin,
            assumed_loss: 0.0,
            variance: 0.2,
            power,
            strict: false,
        };
        for power in [1e-300, 0.01, 0.025, 1.0] {
            assert_eq!(mde(50.0, 0.2, Level::p95(), power), None, "{power}");
            assert!(tasks_needed(need(0.05, power), Level::p95()).is_err());
        }
        assert!(mde(50.0, 0.2, Level::p95(), 0.03).unwrap() > 0.0);
        for margin in [1e-308, 1e-13, 1e-9] {
            assert!(tasks_needed(need(margin, 0.8), Level::p95()).is_err());
            assert_eq!(
                tasks_within_reach(need(margin, 0.8), Level::p95()).unwrap(),
                None
            );
        }
    }

    #[test]
    fn ties_rule_out_no_more_than_their_number_allows() {
        let shown = |n, strict| detectable(n, 0.0, Level::p95(), 0.8, strict).unwrap();
        assert!(
            (shown(56.0, false) - 0.05).abs() < 1e-6 && (shown(74.0, true) - 0.05).abs() < 1e-6
        );
        assert_eq!(
            detectable(79.0, 0.5, Level::p95(), 0.8, false),
            mde(79.0, 0.5, Level::p95(), 0.8)
        );
    }

    #[test]
    fn single_trials_do_not_identify_components() {
        let single = [TaskSpread::binary(1.0, 1), TaskSpread::binary(0.0, 1)];
        assert_eq!(
            variance_components(&single).reason,
            Some("not_identifiable")
        );
        let flat = variance_components(&[TaskSpread::binary(3.0, 3); 2]);
        assert_eq!((flat.icc, flat.reason), (None, Some("no_variation")));
    }

    #[test]
    fn without_task_cost_one_trial_is_best() {
        assert_eq!(
            optimal_trials(0.0, 1.0, 0.1, 0.2).unwrap().unwrap().whole,
            1
        );
        let reason = |task, trial, between| optimal_trials(task, trial, between, 0.2).unwrap();
        let undefined = |code| Err(Undefined(code));
        assert_eq!(
            reason(1.0, 1.0, 0.0),
            undefined("no_variance_between_tasks")
        );
        assert_eq!(reason(1e308, 1e-308, 0.05), undefined("out_of_range"));
        assert!(optimal_trials(1.0, 0.0, 0.1, 0.2).is_err());
    }
}
