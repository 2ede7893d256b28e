//! `assize plan`: how many tasks and trials a margin needs, what they cost, and which of the two to
//! buy.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::evaluate::Evaluation;
use crate::base::{Error, Result};
use crate::compare::contrast::POWER;
use crate::compare::table::margin_of;
use crate::estimate::{TaskCells, task_scores};
use crate::load;
use crate::model::metric::{Contrast, Metric};
use crate::model::suite::Suite;
use crate::plan::PlanOptions;
use crate::stats::Level;
use crate::stats::clustered::TaskSpread;
use crate::stats::power::{
    Need, TasksNeeded, mde, optimal_trials, tasks_needed, variance_components,
};
use crate::stats::sample::Paired;
use crate::store::RunStore;

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
}

/// Variances of one task's difference (METHODS 6.5).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Variances {
    /// σ_δ²: variance over tasks of the true difference.
    pub difference: f64,
    /// σ_A²: mean variance of one trial of the baseline within its task.
    pub within_a: f64,
    /// σ_B²: the same of the candidate.
    pub within_b: f64,
    /// Tasks per independent unit: 1 without random clusters and unequal weights.
    pub tasks_per_unit: f64,
}

impl Variances {
    /// Var₁, the variance of one unit's difference, with m trials per task and arm.
    fn of_one_unit(&self, trials: u32) -> f64 {
        let noise = (self.within_a + self.within_b) / f64::from(trials.max(1));
        self.difference + noise / self.tasks_per_unit
    }

    /// How many units some tasks are worth.
    fn units(&self, tasks: u64) -> f64 {
        tasks as f64 / self.tasks_per_unit
    }
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
    /// Tasks of the suite, and the difference that they can show.
    pub suite: Design,
    /// Tasks needed at several numbers of trials per task.
    pub needed: Vec<Design>,
    /// Trials per task that buy the most for the money.
    pub best_trials: Option<u64>,
    /// Which of the two to buy.
    pub advice: String,
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
}

/// Sizes a suite for a margin.
///
/// # Errors
///
/// If the metric is not a rate, no margin is known, or there is neither a pilot nor stated variances.
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
    let pilot = command
        .pilot
        .as_deref()
        .map(|run| from_pilot(run, &command.roles, &metric))
        .transpose()?;
    let (variances, source) = match (command.stated, &pilot) {
        (Some(stated), _) => (stated, "stated".to_owned()),
        (None, Some(pilot)) => (pilot.variances, pilot.source.clone()),
        (None, None) => {
            return Err(Error::input("sizing needs the variances")
                .hint("name a run with `--pilot`, or state them with `--variances DIFFERENCE,WITHIN_A,WITHIN_B`"));
        }
    };
    let trial_cost = command
        .trial_cost
        .or(pilot.as_ref().and_then(|p| p.trial_cost));
    let costs = Costs {
        task: command.task_cost,
        trial: trial_cost,
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

#[derive(Clone, Copy)]
struct Costs {
    task: Option<f64>,
    trial: Option<f64>,
}

impl Costs {
    fn of(self, tasks: u64, trials: u32) -> Option<f64> {
        let tasks = tasks as f64;
        Some(tasks * self.task.unwrap_or(0.0) + tasks * f64::from(trials) * self.trial?)
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
    let detectable = mde(variances.units(now), variance, ask.level, ask.power);
    let best = best_trials(command, costs, &variances)?;
    let mut counts: Vec<u32> = vec![1, 2, 3, 5, 10, planned];
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
        let TasksNeeded { tasks: units, mde } = tasks_needed(need, ask.level)?;
        let tasks = (units as f64 * variances.tasks_per_unit).ceil() as u64;
        needed.push(design(tasks, trials, Some(mde), costs));
    }
    Ok(Sizing {
        metric: metric.name(),
        margin: ask.margin,
        level: ask.level.conf(),
        power: ask.power,
        assumed_loss: ask.assumed_loss,
        variances_from: source,
        variances,
        suite: design(now, planned, detectable, costs),
        advice: advice(best, &needed),
        needed,
        best_trials: best,
    })
}

fn design(tasks: u64, trials: u32, mde: Option<f64>, costs: Costs) -> Design {
    Design {
        tasks,
        trials,
        mde,
        trials_in_all: 2 * tasks * u64::from(trials),
        cost: costs.of(tasks, trials),
    }
}

/// Cochran's optimum where tasks cost something; `None` where costs are not known, or where tasks show
/// no difference of their own, so that ever more trials of few tasks would seem best.
fn best_trials(
    command: &SizingCommand,
    costs: Costs,
    variances: &Variances,
) -> Result<Option<u64>> {
    let (Some(task), Some(trial)) = (command.task_cost, costs.trial) else {
        return Ok(None);
    };
    let within = (variances.within_a + variances.within_b) / variances.tasks_per_unit;
    Ok(optimal_trials(task, trial, variances.difference, within)?.map(|o| o.whole))
}

fn advice(best: Option<u64>, needed: &[Design]) -> String {
    let cheapest = needed.iter().filter(|d| d.cost.is_some()).min_by(|a, b| {
        a.cost
            .unwrap_or(f64::MAX)
            .total_cmp(&b.cost.unwrap_or(f64::MAX))
    });
    let fewest = needed.iter().min_by_key(|d| d.trials_in_all);
    match (cheapest, fewest) {
        (Some(d), _) => {
            let buy = format!(
                "cheapest of these: {} tasks with {} trials each",
                d.tasks, d.trials
            );
            match best {
                Some(best) => {
                    format!("{buy}; about {best} trials per task buy the most for the money")
                }
                None => format!(
                    "{buy}; name what a task costs to write with `--task-cost`, or mind that the variances show no difference between tasks"
                ),
            }
        }
        (None, Some(d)) => format!(
            "if tasks cost nothing to write, more tasks beat more trials: {} tasks with {} trials each need the fewest trials in all; name costs with `--task-cost` and `--trial-cost`",
            d.tasks, d.trials
        ),
        (None, None) => String::new(),
    }
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

struct Pilot {
    variances: Variances,
    trial_cost: Option<f64>,
    source: String,
}

fn from_pilot(run: &Path, roles: &PlanOptions, metric: &Metric) -> Result<Pilot> {
    let store = RunStore::open(run)?;
    let evaluation = Evaluation::new(vec![&store], roles)?;
    let (a, b) = evaluation.roles().ok_or_else(|| {
        Error::input("the pilot does not say which arms to compare")
            .in_file(run)
            .hint("name them with `--baseline` and `--candidate`")
    })?;
    let gather =
        |arm: usize, metric: &Metric| TaskCells::gather(&evaluation.table, arm as u16, metric);
    let (cells_a, cells_b) = (gather(a, metric), gather(b, metric));
    let paired: Vec<usize> = (0..evaluation.table.tasks.len())
        .filter(|&t| cells_a.scored[t] > 0 && cells_b.scored[t] > 0)
        .collect();
    let within = |cells: &TaskCells| {
        let spreads: Vec<TaskSpread> = paired.iter().map(|&t| spread(cells, t)).collect();
        variance_components(&spreads).within.ok_or_else(|| {
            Error::input("the pilot has no task with two trials in an arm, so trials' own variance is not known")
                .in_file(run)
                .hint("run a pilot with at least two trials per task")
        })
    };
    let (within_a, within_b) = (within(&cells_a)?, within(&cells_b)?);
    let noise: f64 = paired
        .iter()
        .map(|&t| within_a / f64::from(cells_a.scored[t]) + within_b / f64::from(cells_b.scored[t]))
        .sum::<f64>()
        / paired.len().max(1) as f64;
    let context = evaluation.context(&store.plan())?;
    let clusters = context.clusters(&paired);
    let scores = |cells: &TaskCells| task_scores(cells, &paired);
    let sample = Paired::from_arms(
        &scores(&cells_a),
        &scores(&cells_b),
        clusters.as_deref(),
        &context.weights,
    )?;
    let too_few =
        || Error::input("the pilot has fewer than two independent paired tasks").in_file(run);
    let variance = sample.unit_variance().ok_or_else(too_few)?;
    let tasks_per_unit = paired.len() as f64 / sample.units.n_c;
    let all: Vec<usize> = (0..evaluation.table.tasks.len()).collect();
    let cost = |arm: usize| {
        let cells = gather(arm, &Metric::from_name("cost_usd.mean")?);
        let trials = cells.scored_in(&all);
        let total: f64 = cells.sum.iter().sum();
        (trials > 0).then(|| total / trials as f64)
    };
    Ok(Pilot {
        variances: Variances {
            difference: (variance - noise / tasks_per_unit).max(0.0),
            within_a,
            within_b,
            tasks_per_unit,
        },
        trial_cost: cost(a).zip(cost(b)).map(|(a, b)| a + b),
        source: format!(
            "pilot run {} ({} paired tasks)",
            store.plan_file().run,
            paired.len()
        ),
    })
}

fn spread(cells: &TaskCells, task: usize) -> TaskSpread {
    TaskSpread {
        sum: cells.sum[task],
        squares: cells.squares[task],
        trials: cells.scored[task],
    }
}

/// The usual power.
pub const DEFAULT_POWER: f64 = POWER;
