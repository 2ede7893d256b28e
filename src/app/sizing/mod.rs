//! `assize plan`: how many tasks and trials a margin needs, what they cost, and which of the two to
//! buy.

mod advice;
mod cost;
mod pilot;
mod variances;

use std::path::PathBuf;

use serde::Serialize;

use crate::base::{Error, Result};
use crate::compare::contrast::POWER;
use crate::compare::table::margin_of;
use crate::load;
use crate::model::metric::{Contrast, Metric};
use crate::model::suite::Suite;
use crate::plan::PlanOptions;
use crate::stats::Level;
use crate::stats::power::{
    MOST_UNITS, Need, TasksNeeded, check_power, detectable, optimal_trials, tasks_needed,
};

use advice::advice;
pub use cost::TrialCost;
use pilot::from_pilot;
pub use variances::Variances;

/// What to size.
#[derive(Clone, Debug)]
pub struct SizingCommand {
    /// Suite folder.
    pub suite: PathBuf,
    /// Metric; default: success rate.
    pub metric: Option<String>,
    /// Margin; default: the suite's.
    pub margin: Option<f64>,
    /// The loss that the candidate is assumed to have in truth.
    pub assumed_loss: f64,
    /// Power.
    pub power: f64,
    /// Trials per task; default: the suite's.
    pub trials: Option<u32>,
    /// Run from which variances and costs are taken.
    pub pilot: Option<PathBuf>,
    /// Arms of the pilot.
    pub roles: PlanOptions,
    /// Stated variances, in place of a pilot.
    pub stated: Option<Variances>,
    /// Cost of preparing one more task (writing, checking), in the unit of the trials' cost.
    pub task_cost: Option<f64>,
    /// Cost of one trial in both arms together.
    pub trial_cost: Option<f64>,
    /// `arms.yaml` whose prices turn the pilot's tokens into the cost of a trial.
    pub arms: Option<PathBuf>,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Sizing {
    /// Metric.
    pub metric: String,
    /// Margin.
    pub margin: f64,
    /// Level of the interval.
    pub level: f64,
    /// Power.
    pub power: f64,
    /// Assumed true loss.
    pub assumed_loss: f64,
    /// Where the variances come from.
    pub variances_from: String,
    /// The variances.
    pub variances: Variances,
    /// What one trial costs in both arms, as far as anything says so; the first is what designs cost.
    pub trial_costs: Vec<TrialCost>,
    /// Tasks of the suite, and the difference that they can show.
    pub suite: Design,
    /// Tasks needed at several numbers of trials per task.
    pub needed: Vec<Design>,
    /// Trials per task that buy the most for the money.
    pub best_trials: Option<u64>,
    /// Which of the two to buy.
    pub advice: String,
    /// What the variances can't tell.
    pub unknown: Option<String>,
}

/// A number of tasks and trials.
#[derive(Clone, Debug, Serialize)]
pub struct Design {
    /// Tasks.
    pub tasks: u64,
    /// Trials per task and arm.
    pub trials: u32,
    /// Smallest true difference that is shown with the power asked for.
    pub mde: Option<f64>,
    /// Trials in both arms.
    pub trials_in_all: u64,
    /// Cost, where it is known.
    pub cost: Option<f64>,
    /// Whether fewer tasks may do, or a smaller difference may show: the variance is an upper bound.
    pub at_most: bool,
}

/// Sizes a suite for a margin.
///
/// # Errors
///
/// If the metric is not a rate, no margin is known, or there is neither a pilot nor stated variances; if
/// the power is not above α/2, or tasks, trials or costs are beyond counting; if prices were asked for and an arm's price or tokens are not known.
pub fn plan(command: &SizingCommand) -> Result<Sizing> {
    let suite = load::suite(&command.suite)?.suite;
    let metric = metric(command)?;
    let decision = suite.spec.decision.clone().unwrap_or_default();
    let margin = command
        .margin
        .or_else(|| margin_of(&decision, &metric))
        .ok_or_else(|| {
            Error::input(format!("no margin is known for {metric}"))
                .hint("give one with `--margin`, or declare it in the suite's decision")
        })?;
    if let Some(problem) = metric.margin_problem(margin) {
        return Err(Error::input(problem));
    }
    let level = Level::new(1.0 - decision.alpha)?;
    check_power(command.power, level)?;
    let pilot = command
        .pilot
        .as_deref()
        .map(|run| from_pilot(run, &command.roles, &metric))
        .transpose()?;
    let Some((variances, source)) =
        command
            .stated
            .map(|v| (v, "stated".to_owned()))
            .or_else(|| {
                let pilot = pilot.as_ref()?;
                Some((pilot.variances, pilot.source.clone()))
            })
    else {
        return Err(Error::input("sizing needs the variances")
            .hint("name a run with `--pilot`, or state them with `--variances DIFFERENCE,WITHIN_A,WITHIN_B`"));
    };
    let costs = Costs {
        task: command.task_cost,
        trials: cost::trial_costs(command, pilot.as_ref())?,
    };
    let ask = Ask {
        margin,
        level,
        power: command.power,
        assumed_loss: command.assumed_loss,
        strict: decision.strict,
    };
    sizing(command, &suite, &metric, &ask, variances, source, costs)
}

struct Ask {
    margin: f64,
    level: Level,
    power: f64,
    assumed_loss: f64,
    strict: bool,
}

struct Costs {
    task: Option<f64>,
    trials: Vec<TrialCost>,
}

impl Costs {
    fn trial(&self) -> Option<f64> {
        self.trials.first().map(|cost| cost.both)
    }

    fn of(&self, tasks: u64, trials: u32) -> Option<f64> {
        let tasks = tasks as f64;
        Some(tasks * self.task.unwrap_or(0.0) + tasks * f64::from(trials) * self.trial()?)
    }
}

fn sizing(
    command: &SizingCommand,
    suite: &Suite,
    metric: &Metric,
    ask: &Ask,
    variances: Variances,
    source: String,
    costs: Costs,
) -> Result<Sizing> {
    let planned = command.trials.unwrap_or(suite.spec.trials);
    let now = suite.tasks.len() as u64;
    let variance = variances.of_one_unit(planned);
    let units = variances.units(now);
    // No difference of rates is larger than 1, so none would show.
    let shown = detectable(units, variance, ask.level, ask.power, ask.strict).filter(|d| *d <= 1.0);
    let best = best_trials(&costs, &variances)?;
    // What is not known to fall with more trials is not tabulated as if it were.
    let mut counts: Vec<u32> = match variances.separable() {
        true => vec![1, 2, 3, 5, 10, planned],
        false => vec![1, planned],
    };
    counts.extend(best.and_then(|best| u32::try_from(best).ok()));
    counts.sort_unstable();
    counts.dedup();
    let mut needed = Vec::new();
    for trials in counts {
        let need = Need {
            margin: ask.margin,
            assumed_loss: ask.assumed_loss,
            variance: variances.of_one_unit(trials),
            power: ask.power,
            strict: ask.strict,
        };
        let TasksNeeded { tasks: units, .. } = tasks_needed(need, ask.level)?;
        let mde = detectable(
            units as f64,
            need.variance,
            ask.level,
            ask.power,
            ask.strict,
        );
        let tasks = (units as f64 * variances.tasks_per_unit).ceil() as u64;
        needed.push(design(tasks, trials, mde, &costs, &variances)?);
    }
    Ok(Sizing {
        metric: metric.name(),
        margin: ask.margin,
        level: ask.level.conf(),
        power: ask.power,
        assumed_loss: ask.assumed_loss,
        variances_from: source,
        variances,
        suite: design(now, planned, shown, &costs, &variances)?,
        advice: advice(best, costs.task.is_some(), &needed, &variances),
        unknown: variances.unknown(),
        needed,
        best_trials: best,
        trial_costs: costs.trials,
    })
}

fn design(
    tasks: u64,
    trials: u32,
    mde: Option<f64>,
    costs: &Costs,
    variances: &Variances,
) -> Result<Design> {
    let all = 2.0 * tasks as f64 * f64::from(trials);
    if all > MOST_TRIALS {
        return Err(Error::input(format!(
            "{tasks} tasks with {trials} trials in each arm are beyond counting"
        ))
        .hint("a wider margin or fewer trials per task"));
    }
    let cost = costs.of(tasks, trials);
    if cost.is_some_and(|cost| !cost.is_finite()) {
        return Err(Error::input(format!(
            "the cost of {tasks} tasks with {trials} trials each is beyond any number"
        ))
        .hint("state `--task-cost` and `--trial-cost` in a larger unit"));
    }
    Ok(Design {
        tasks,
        trials,
        mde,
        trials_in_all: 2 * tasks * u64::from(trials),
        cost,
        at_most: trials > 1 && !variances.separable(),
    })
}

/// Trials in both arms up to which a design is counted: a million for each of the most tasks.
const MOST_TRIALS: f64 = 1e6 * MOST_UNITS;

/// Cochran's optimum where tasks cost something; `None` where costs are not known, or where tasks show
/// no difference of their own, so that ever more trials of few tasks would seem best.
fn best_trials(costs: &Costs, variances: &Variances) -> Result<Option<u64>> {
    let (Some(task), Some(trial)) = (costs.task, costs.trial()) else {
        return Ok(None);
    };
    let Some((difference, within)) = variances.components() else {
        return Ok(None);
    };
    let best = optimal_trials(task, trial, difference, within)?;
    Ok(best.ok().map(|o| o.whole))
}

fn metric(command: &SizingCommand) -> Result<Metric> {
    let name = command.metric.as_deref().unwrap_or("success_rate");
    let metric =
        Metric::from_name(name).filter(|m| m.contrast() == Contrast::Difference && m.is_compared());
    metric.ok_or_else(|| {
        let known: Vec<String> = Metric::all()
            .into_iter()
            .filter(|m| m.contrast() == Contrast::Difference && m.is_compared())
            .map(|m| m.name())
            .collect();
        Error::input(format!("`{name}` is not a compared rate"))
            .hint(format!("there are {}", known.join(", ")))
    })
}

/// The usual power.
pub const DEFAULT_POWER: f64 = POWER;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_counting_is_refused() {
        let variances = Variances::stated(0.01, 0.1, 0.1);
        let costs = |task: f64| Costs {
            task: Some(task),
            trials: vec![],
        };
        let got = |tasks, trials, task| design(tasks, trials, None, &costs(task), &variances);
        assert!(got(u64::MAX, 5, 1.0).is_err() && got(1_000_000_000_000, u32::MAX, 1.0).is_err());
        assert_eq!(got(1000, 5, 1.0).unwrap().trials_in_all, 10_000);
        let dear = Costs {
            task: Some(1e308),
            trials: vec![TrialCost {
                source: "stated",
                baseline: None,
                candidate: None,
                both: 1.0,
            }],
        };
        let error = design(1000, 5, None, &dear, &variances).unwrap_err();
        assert!(error.to_string().contains("beyond any number"), "{error}");
    }
}
