//! Suite × arms × trials → a locked plan; pure.

pub mod schedule;

pub use schedule::{schedule, specs};

use std::collections::BTreeMap;

use crate::base::{ArmId, Digest, Error, Result, Seed};
use crate::model::analysis::{DecisionSpec, RuleKind, RuleSpec, Schedule};
use crate::model::arm::Arm;
use crate::model::measure::Dimension;
use crate::model::metric::Metric;
use crate::model::plan::{Analysis, Plan, PlanBody, PlannedArm, PlannedTask};
use crate::model::suite::{DataClass, Suite};

/// What the user chose beside suite and arms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanOptions {
    /// Baseline in place of the suite's.
    pub baseline: Option<ArmId>,
    /// Candidate in place of the suite's.
    pub candidate: Option<ArmId>,
    /// Trials per task in place of the arms' and the suite's.
    pub trials: Option<u32>,
    /// Root seed. Default: 7.
    pub seed: Option<u64>,
    /// Margins in place of the suite's, by dimension or metric name.
    pub margins: BTreeMap<String, f64>,
    /// Declares that arms which were not interleaved may be compared.
    pub assume_schedule: bool,
    /// Digest of the fixtures and programs that live trials use.
    pub files: Option<Digest>,
}

impl PlanOptions {
    /// Whether anything was chosen of how the comparison will be decided.
    pub fn decides(&self) -> bool {
        self.baseline.is_some()
            || self.candidate.is_some()
            || !self.margins.is_empty()
            || self.assume_schedule
    }
}

impl PlanOptions {
    /// Checks the margins that were given beside the suite's.
    ///
    /// # Errors
    ///
    /// If a name is neither a dimension nor a compared metric, or a number is no margin of it.
    pub fn check_margins(&self) -> Result<()> {
        for (name, margin) in &self.margins {
            if is_quality(name) {
                if !(*margin > 0.0 && *margin <= 1.0) {
                    let message =
                        format!("the margin of `{name}` must lie above 0 and at most at 1");
                    return Err(Error::input(message));
                }
                continue;
            }
            let metric = Metric::of_margin(name)
                .filter(Metric::is_compared)
                .ok_or_else(|| {
                    let metrics = Metric::all().into_iter().filter(Metric::is_compared);
                    let known: Vec<String> = metrics.map(|m| m.name()).collect();
                    Error::input(format!("no margin can be set for `{name}`"))
                        .hint(format!("name a dimension, or one of {}", known.join(", ")))
                })?;
            if let Some(problem) = metric.margin_problem(*margin) {
                return Err(Error::input(problem));
            }
        }
        Ok(())
    }
}

/// Whether a margin's name means quality: the dimension, or a metric that is called after its judge.
fn is_quality(name: &str) -> bool {
    name == Dimension::Quality.name() || name.ends_with(".rate")
}

/// The most trials of a plan: what reports are made for, ten times over.
pub const MOST_TRIALS: u64 = 10_000_000;

/// The seed of a plan for which none was given.
pub const DEFAULT_SEED: u64 = 7;

/// Without a suite's rules, a margin says what must hold: the candidate is not worse by more.
fn imply_rules(decision: &mut DecisionSpec) {
    let rule = |dimension: Dimension, metric: Option<String>| RuleSpec {
        dimension,
        metric,
        rule: RuleKind::NonInferior,
        margin: None,
        rate: None,
    };
    let implied = |name: &String| {
        if is_quality(name) {
            let own = (name != Dimension::Quality.name()).then(|| name.clone());
            return Some(rule(Dimension::Quality, own));
        }
        Metric::of_margin(name).map(|m| rule(m.dimension(), Some(m.name())))
    };
    decision.rules = decision.margins.keys().filter_map(implied).collect();
}

/// A plan for imported trials: arms come with the imports, so none is checked yet.
pub fn lock_for_import(suite: &Suite, options: &PlanOptions) -> Plan {
    let mut decision = decision(suite, options);
    if suite.spec.decision.is_none() {
        decision.iter_mut().for_each(imply_rules);
    }
    Plan::lock(body(suite, &[], decision, options))
}

/// Locks a plan.
///
/// # Errors
///
/// If baseline or candidate is not among the arms, if they are the same, if there are no arms, or if
/// an arm does not accept the suite's class of data.
pub fn lock(suite: &Suite, arms: &[Arm], options: &PlanOptions) -> Result<Plan> {
    let decision = decision(suite, options);
    if let Some(decision) = &decision {
        check_roles(decision, arms)?;
    }
    check_data(suite.spec.data, arms)?;
    let body = body(suite, arms, decision, options);
    check_size(&body)?;
    Ok(Plan::lock(body))
}

fn body(
    suite: &Suite,
    arms: &[Arm],
    decision: Option<DecisionSpec>,
    options: &PlanOptions,
) -> PlanBody {
    PlanBody {
        suite: suite.spec.id.clone(),
        suite_version: suite.spec.version.clone(),
        suite_digest: suite.digest.clone(),
        files: options.files.clone(),
        tasks: suite
            .tasks
            .iter()
            .map(|task| PlannedTask {
                id: task.id.clone(),
                digest: task_digest(task),
            })
            .collect(),
        arms: ordered(arms, decision.as_ref())
            .into_iter()
            .map(|arm| PlannedArm {
                id: arm.id.clone(),
                digest: arm.digest.clone(),
                model: arm.model().map(str::to_owned),
                trials: options.trials.or(arm.trials()).unwrap_or(suite.spec.trials),
                stated: true,
                recorded: !arm.is_live(),
            })
            .collect(),
        seed: Seed(options.seed.unwrap_or(DEFAULT_SEED)),
        analysis: Analysis {
            decision,
            weights: suite.spec.weights,
            segments: suite.spec.segments.clone(),
            cluster: suite.spec.cluster.clone(),
        },
    }
}

fn task_digest(task: &crate::model::suite::Task) -> Digest {
    Digest::of_json(&serde_json::to_value(task).unwrap_or_default())
}

fn decision(suite: &Suite, options: &PlanOptions) -> Option<DecisionSpec> {
    if suite.spec.decision.is_none() && !options.decides() {
        return None;
    }
    let mut decision = suite.spec.decision.clone().unwrap_or_default();
    decision.baseline = options.baseline.clone().or(decision.baseline);
    decision.candidate = options.candidate.clone().or(decision.candidate);
    decision.margins.extend(options.margins.clone());
    if options.assume_schedule {
        decision.schedule = Schedule::Assumed;
    }
    Some(decision)
}

fn check_roles(decision: &DecisionSpec, arms: &[Arm]) -> Result<()> {
    let names = || {
        arms.iter()
            .map(|a| format!("`{}`", a.id))
            .collect::<Vec<_>>()
            .join(", ")
    };
    for (role, arm) in [
        ("baseline", &decision.baseline),
        ("candidate", &decision.candidate),
    ] {
        let Some(arm) = arm else {
            return Err(Error::input(format!("no {role} is named")).hint(format!(
                "name one with `--{role}` or in the suite's `decision`; the arms are {}",
                names()
            )));
        };
        if !arms.iter().any(|a| &a.id == arm) {
            return Err(
                Error::input(format!("the {role} `{arm}` is not among the arms"))
                    .hint(format!("the arms are {}", names())),
            );
        }
    }
    if decision.baseline == decision.candidate {
        return Err(Error::input("baseline and candidate are the same arm"));
    }
    Ok(())
}

fn check_data(data: DataClass, arms: &[Arm]) -> Result<()> {
    for arm in arms {
        if !arm.spec.accepts().contains(&data) {
            let class = serde_json::to_value(data).unwrap_or_default();
            return Err(Error::input(format!(
                "arm `{}` does not accept {class} data, which the suite holds",
                arm.id
            ))
            .hint("declare what the arm may be given under `accepts` in arms.yaml"));
        }
    }
    Ok(())
}

/// A plan that no machine can hold is a slip of the keyboard.
pub(crate) fn check_size(body: &PlanBody) -> Result<()> {
    let per_task: u64 = body.arms.iter().map(|a| u64::from(a.trials)).sum();
    let planned = per_task.saturating_mul(body.tasks.len() as u64);
    if planned <= MOST_TRIALS {
        return Ok(());
    }
    Err(Error::input(format!(
        "{planned} trials are planned; at most {MOST_TRIALS} can be"
    ))
    .hint("lower `--trials`"))
}

/// Baseline first, then candidate, then the others by name.
fn ordered<'a>(arms: &'a [Arm], decision: Option<&DecisionSpec>) -> Vec<&'a Arm> {
    let rank = |arm: &Arm| match decision {
        Some(d) if d.baseline.as_ref() == Some(&arm.id) => 0,
        Some(d) if d.candidate.as_ref() == Some(&arm.id) => 1,
        _ => 2,
    };
    let mut sorted: Vec<&Arm> = arms.iter().collect();
    sorted.sort_by(|a, b| (rank(a), &a.id).cmp(&(rank(b), &b.id)));
    sorted
}
