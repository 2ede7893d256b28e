//! From what is stored and graded to a report: scores, denominators, estimates, comparisons, gate.

mod judges;
mod notices;

use std::collections::BTreeMap;

use crate::base::{ArmId, Error, Result};
use crate::compare::decision::ScheduleState;
use crate::compare::drift;
use crate::compare::robustness::robustness;
use crate::compare::rules::{Bench, judge, screen};
use crate::compare::table::{Comparing, Comparisons, compare};
use crate::estimate::{Context, accounting, estimates, segments};
use crate::model::analysis::{DecisionSpec, Schedule};
use crate::model::estimate::{Gate, ScreenRow};
use crate::model::plan::Plan;
use crate::model::report::{
    ArmInfo, Environment, Evidence, FailureRow, InputDiffers, REPORT_FORMAT, Report, RuleRow,
    RunInfo,
};
use crate::model::score::ScoreTable;
use crate::plan::PlanOptions;
use crate::stats::Level;
use crate::store::RunStore;

use super::{judged, preferences, rules_of_report, tables};

/// Examples of a broken rule that the report shows.
const EXAMPLES: usize = 3;

/// What is evaluated: one run, or two whose arms are put side by side.
pub struct Evaluation<'a> {
    /// The runs.
    pub stores: Vec<&'a RunStore>,
    /// Scores of all their arms.
    pub table: ScoreTable,
    /// The arms with the run that holds each.
    pub arms: Vec<EvaluatedArm>,
    /// The decision rules in force, if there is a comparison.
    pub decision: Option<DecisionSpec>,
    /// The decision rules that were locked.
    pub locked: Option<DecisionSpec>,
}

/// An arm under its name in the report.
pub struct EvaluatedArm {
    /// Position of its run.
    pub store: usize,
    /// Its name in that run.
    pub stored: ArmId,
    /// What the report says of it.
    pub info: ArmInfo,
}

impl<'a> Evaluation<'a> {
    /// Puts the scores of one or two runs together.
    ///
    /// # Errors
    ///
    /// If a chosen arm is absent, or the two arms have no task in common.
    pub fn new(stores: Vec<&'a RunStore>, choices: &PlanOptions) -> Result<Self> {
        let mut all = Vec::new();
        for store in &stores {
            let mut table = store.score_table(&store.suite()?)?;
            judged::attach(store, &mut table)?;
            preferences::attach(store, &mut table)?;
            all.push(table);
        }
        let arms = tables::named_arms(&stores)?;
        let table = tables::side_by_side(all, &arms);
        let plans: Vec<Plan> = stores.iter().map(|s| s.plan()).collect();
        let locked = locked_decision(&plans);
        let decision = chosen_decision(locked.as_ref(), choices, &arms)?;
        let evaluation = Self {
            stores,
            table,
            arms,
            decision,
            locked,
        };
        evaluation.check_common_tasks()?;
        Ok(evaluation)
    }

    /// The positions of baseline and candidate.
    pub(super) fn roles(&self) -> Option<(usize, usize)> {
        let decision = self.decision.as_ref()?;
        let at = |arm: &Option<ArmId>| {
            let name = arm.as_ref()?;
            self.arms.iter().position(|a| a.info.name == name.as_str())
        };
        Some((at(&decision.baseline)?, at(&decision.candidate)?))
    }

    /// Two arms without a single task in common cannot be compared, whatever their trials did.
    fn check_common_tasks(&self) -> Result<()> {
        let Some((a, b)) = self.roles() else {
            return Ok(());
        };
        let recorded =
            |arm: usize| self.stores[self.arms[arm].store].recorded_tasks(&self.arms[arm].stored);
        let (a, b) = (recorded(a)?, recorded(b)?);
        if a.is_empty() || b.is_empty() || a.intersection(&b).next().is_some() {
            return Ok(());
        }
        // A live run that was stopped early has tasks in common that it did not come to.
        if !super::live_facts::to_run(self).is_empty() {
            return Ok(());
        }
        Err(
            Error::input("the two arms have no task in common, so there is nothing to compare")
                .hint("tasks pair by id: check the task ids of both arms"),
        )
    }

    /// Every broken rule, arms under their names in the report.
    ///
    /// # Errors
    ///
    /// If a store is damaged.
    pub fn failures(&self) -> Result<Vec<FailureRow>> {
        let mut rows = Vec::new();
        for (at, store) in self.stores.iter().enumerate() {
            store.for_each_failure(|mut failure| {
                if let Some(name) = self.reported_name(at, &failure.arm) {
                    failure.arm = name.to_owned();
                    rows.push(failure);
                }
                Ok(())
            })?;
        }
        Ok(rows)
    }

    /// Evaluates everything; `failures` are those of [`Self::failures`].
    ///
    /// # Errors
    ///
    /// If a store is damaged.
    pub fn report(&self, failures: &[FailureRow]) -> Result<Report> {
        let first = self.stores[0].plan();
        let context = self.context(&first)?;
        let segments = segments(&self.table);
        let mut report = Report {
            format: REPORT_FORMAT,
            run: self.run_info(&first),
            arms: self.arms.iter().map(|a| a.info.clone()).collect(),
            accounting: accounting(&self.table, &segments),
            estimates: estimates(&self.table, &context, &segments)?,
            comparisons: vec![],
            preferences: vec![],
            robustness: vec![],
            screens: vec![],
            drift: vec![],
            live: super::live_facts::rows(self)?,
            preflight: vec![],
            judges: self.judges()?,
            stopped: super::live_facts::stopped(self),
            gate: Gate {
                result: "none".to_owned(),
                exit_code: 0,
                rules: vec![],
            },
            rules: self.rules(failures)?,
            input_differs: None,
            infrastructure: self.infrastructure()?,
            reporting_rules: rules_of_report::all(&first.body.analysis, self.decision.as_ref()),
            environment: self.environment(),
            notices: vec![],
        };
        if let (Some(decision), Some((a, b))) = (&self.decision, self.roles()) {
            self.compare(&mut report, &context, &segments, decision, (a, b))?;
        }
        report.notices = self.notices(&report)?;
        Ok(report)
    }

    /// What all estimates of this evaluation share.
    ///
    /// # Errors
    ///
    /// If the locked level is no level.
    pub(super) fn context(&self, first: &Plan) -> Result<Context> {
        let alpha = self.decision.as_ref().map_or(0.05, |d| d.alpha);
        let level = Level::new(1.0 - alpha)?;
        let trials = self.arms.iter().map(|a| a.info.trials).collect();
        Ok(Context::new(
            &self.table,
            trials,
            first.body.analysis.weights,
            level,
        ))
    }

    fn compare(
        &self,
        report: &mut Report,
        context: &Context,
        segments: &[crate::estimate::Segment],
        decision: &DecisionSpec,
        (a, b): (usize, usize),
    ) -> Result<()> {
        let seed = self.stores[0].plan().body.seed;
        let drift = drift::screens(&self.table, context, decision, (a, b), seed);
        let comparing = Comparing {
            drift: &drift,
            a,
            b,
            decision,
            locked: self.locked.as_ref(),
            stopped_early: report.stopped.is_some(),
            schedule: self.schedule(decision, a, b),
            seed,
        };
        let Comparisons {
            compared,
            judged,
            preferences,
        } = compare(&self.table, context, segments, &comparing)?;
        let screened = screen(&self.table, &comparing)?;
        let bench = Bench {
            table: &self.table,
            context,
            comparing: &comparing,
            compared: &compared,
            judged: &judged,
            screen: screened.as_ref(),
        };
        report.gate = judge(&bench)?;
        report.preferences = preferences;
        report.robustness = robustness(&self.table, context, &comparing, &compared)?;
        let uncorrected = judged.iter().filter_map(|j| j.uncorrected.clone());
        report.robustness.extend(uncorrected);
        report.screens = screened
            .into_iter()
            .map(|s| s.row)
            .collect::<Vec<ScreenRow>>();
        report.drift = drift.iter().map(|d| d.row.clone()).collect();
        report.comparisons = compared.into_iter().map(|c| c.row).collect();
        report.comparisons.extend(judged.into_iter().map(|j| j.row));
        report.input_differs = self.input_differs(a, b)?;
        Ok(())
    }

    /// Recorded arms, and arms of two runs, did not run interleaved.
    fn schedule(&self, decision: &DecisionSpec, a: usize, b: usize) -> ScheduleState {
        let (a, b) = (&self.arms[a], &self.arms[b]);
        let interleaved = a.store == b.store && !a.info.recorded && !b.info.recorded;
        match (interleaved, decision.schedule) {
            (true, _) => ScheduleState::Ok,
            (false, Schedule::Assumed) => ScheduleState::Assumed,
            (false, Schedule::Checked | Schedule::WholeTasks) => ScheduleState::NotInterleaved,
        }
    }

    fn run_info(&self, plan: &Plan) -> RunInfo {
        RunInfo {
            id: plan.run.to_string(),
            suite: plan.body.suite.to_string(),
            suite_version: plan.body.suite_version.clone(),
            suite_digest: plan.body.suite_digest.to_string(),
            plan_digest: plan.digest.to_string(),
            seed: plan.body.seed.0,
            tasks: self.table.tasks.len() as u64,
        }
    }

    /// The name that the report gives an arm of a run.
    pub(super) fn reported_name(&self, store: usize, stored: &str) -> Option<&str> {
        let arm = self
            .arms
            .iter()
            .find(|a| a.store == store && a.stored.as_str() == stored)?;
        Some(&arm.info.name)
    }

    fn rules(&self, failures: &[FailureRow]) -> Result<Vec<RuleRow>> {
        let mut rows: BTreeMap<(String, String, String), RuleRow> = BTreeMap::new();
        for (at, store) in self.stores.iter().enumerate() {
            for found in store.found_rules()? {
                let Some(arm) = self.reported_name(at, &found.arm) else {
                    continue;
                };
                let Some(dimension) = tables::dimension(&found.dimension) else {
                    continue;
                };
                let key = (arm.to_owned(), found.dimension.clone(), found.rule.clone());
                let row = rows.entry(key).or_insert_with(|| RuleRow {
                    arm: arm.to_owned(),
                    dimension,
                    rule: found.rule.clone(),
                    pass: 0,
                    fail: 0,
                    value: 0,
                    not_applicable: 0,
                    ungradable: BTreeMap::new(),
                    examples: vec![],
                });
                match found.finding.as_str() {
                    "pass" => row.pass += found.trials,
                    "fail" => row.fail += found.trials,
                    "value" => row.value += found.trials,
                    "not_applicable" => row.not_applicable += found.trials,
                    _ => {
                        let reason = found.reason.unwrap_or_default();
                        *row.ungradable.entry(reason).or_default() += found.trials;
                    }
                }
            }
        }
        for failure in failures {
            let key = (
                failure.arm.clone(),
                failure.dimension.name().to_owned(),
                failure.rule.clone(),
            );
            if let Some(row) = rows.get_mut(&key).filter(|r| r.examples.len() < EXAMPLES) {
                row.examples.push(Evidence {
                    task: failure.task.clone(),
                    trial: failure.trial,
                    events: failure
                        .events
                        .split(' ')
                        .filter_map(|e| e.parse().ok())
                        .collect(),
                    detail: failure.detail.clone(),
                });
            }
        }
        let mut rows: Vec<RuleRow> = rows.into_values().collect();
        let order = |name: &str| self.arms.iter().position(|a| a.info.name == name);
        rows.sort_by_key(|r| (r.dimension, r.rule.clone(), order(&r.arm)));
        Ok(rows)
    }

    fn infrastructure(&self) -> Result<Vec<crate::model::report::InfrastructureRow>> {
        let mut rows = Vec::new();
        for (at, store) in self.stores.iter().enumerate() {
            for mut row in store.infrastructure()? {
                let Some(name) = self.reported_name(at, &row.arm) else {
                    continue;
                };
                row.arm = name.to_owned();
                rows.push(row);
            }
        }
        let unrecorded = tables::unrecorded(self)?;
        rows.extend(unrecorded);
        Ok(rows)
    }

    fn input_differs(&self, a: usize, b: usize) -> Result<Option<InputDiffers>> {
        let digests = |arm: usize| {
            let arm = &self.arms[arm];
            self.stores[arm.store].input_digests(arm.stored.as_str())
        };
        let (a, b) = (digests(a)?, digests(b)?);
        let both: Vec<_> = self
            .table
            .tasks
            .iter()
            .filter(|t| a.contains_key(t) && b.contains_key(t))
            .collect();
        if both.is_empty() {
            return Ok(None);
        }
        let differ: Vec<String> = both
            .iter()
            .filter(|t| a[**t] != b[**t])
            .map(|t| t.to_string())
            .collect();
        Ok(Some(InputDiffers {
            differ: differ.len() as u64,
            compared: both.len() as u64,
            tasks: differ,
        }))
    }

    fn environment(&self) -> Environment {
        let mut digests = BTreeMap::new();
        for arm in &self.arms {
            digests.insert(format!("arm {}", arm.info.name), arm.info.digest.clone());
        }
        for store in &self.stores {
            let plan = store.plan();
            digests.insert(
                format!("suite of run {}", plan.run),
                plan.body.suite_digest.to_string(),
            );
            digests.insert(format!("plan of run {}", plan.run), plan.digest.to_string());
        }
        Environment {
            assize: env!("CARGO_PKG_VERSION").to_owned(),
            platform: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
            digests,
        }
    }
}

/// The decision that was locked: that of the run, or of both runs if they agree.
fn locked_decision(plans: &[Plan]) -> Option<DecisionSpec> {
    let first = plans[0].body.analysis.decision.clone()?;
    plans
        .iter()
        .all(|p| p.body.analysis.decision.as_ref() == Some(&first))
        .then_some(first)
}

/// The locked decision with the choices of this command in place of its own; `None` if nobody says
/// which arms to compare.
fn chosen_decision(
    locked: Option<&DecisionSpec>,
    choices: &PlanOptions,
    arms: &[EvaluatedArm],
) -> Result<Option<DecisionSpec>> {
    let mut decision = locked.cloned().unwrap_or_default();
    decision.baseline = choices.baseline.clone().or(decision.baseline);
    decision.candidate = choices.candidate.clone().or(decision.candidate);
    decision.margins.extend(choices.margins.clone());
    if choices.assume_schedule {
        decision.schedule = Schedule::Assumed;
    }
    let names: Vec<String> = arms.iter().map(|a| format!("`{}`", a.info.name)).collect();
    for (role, arm) in [
        ("baseline", &decision.baseline),
        ("candidate", &decision.candidate),
    ] {
        let Some(arm) = arm else { return Ok(None) };
        if !arms.iter().any(|a| a.info.name == arm.as_str()) {
            return Err(
                Error::input(format!("the {role} `{arm}` is absent from the run"))
                    .hint(format!("the run holds the arms {}", names.join(", "))),
            );
        }
    }
    if decision.baseline == decision.candidate {
        return Err(Error::input("baseline and candidate are the same arm"));
    }
    Ok(Some(decision))
}
