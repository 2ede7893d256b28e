//! Recorded trials become stored trials.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Talk;
use crate::base::{ArmId, Error, Result, TaskId};
use crate::load::recorded::{RecordedOptions, read_recorded, traces_in};
use crate::model::arm::{Arm, ArmSpec, Price, RecordedArm};
use crate::model::measure::Measure;
use crate::model::plan::{Plan, PlannedArm};
use crate::model::suite::Suite;
use crate::model::trace::Usage;
use crate::model::trial::{Boundary, RecordedTrial, Trial, TrialStatus};
use crate::store::{RunStore, Stored, TrialWriter};
use crate::trace::import::{ImportOptions, MalformedArguments};

/// Imports every recorded arm of a plan; trials that are stored already are left as they are.
///
/// # Errors
///
/// If a trace is invalid, names an unknown task, comes twice, or exceeds the planned trials; then
/// nothing of that arm is stored.
pub fn record(
    store: &mut RunStore,
    suite: &Suite,
    arms: &[Arm],
    root: &Path,
    malformed_is_agent: bool,
    talk: &mut Talk,
) -> Result<()> {
    let plan = store.plan();
    let mut said = Vec::new();
    for arm in arms {
        let (ArmSpec::Recorded(recorded), Some(planned)) = (&arm.spec, plan.arm(&arm.id)) else {
            continue;
        };
        let source = Recording {
            paths: vec![root.join(&recorded.path)],
            price: recorded.price,
            first_index: 0,
            options: of_arm(suite, recorded, malformed_is_agent),
        };
        let mut beyond = false;
        let mut attempt = |first: u32, beyond: &mut bool| {
            store.store_trials(|writer| {
                put_counting_from(first, writer, &plan, Some(planned), &source, beyond)
            })
        };
        let count = match attempt(0, &mut beyond) {
            // One trial too many may only mean that the source counts from 1.
            Err(_) if beyond && counts_from_one(&source)? => attempt(1, &mut beyond)?,
            result => result?,
        };
        said.push(format!(
            "{}: {} trials recorded, {} of them new",
            arm.id, count.read, count.new
        ));
    }
    // Said only when all of it stays: a new run whose input is wrong is taken away again.
    said.iter().for_each(|line| talk(line));
    Ok(())
}

/// How the recording of an arm of a suite is read.
pub(super) fn of_arm(suite: &Suite, arm: &RecordedArm, malformed_is_agent: bool) -> ReadOptions {
    let mut options = ReadOptions::new(Some(suite), malformed_is_agent);
    options.files.format = arm.format;
    options
}

/// How recorded trials are read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// What is known about the files.
    pub files: RecordedOptions,
    /// What is known about the traces in them.
    pub traces: ImportOptions,
}

impl ReadOptions {
    /// Options for the traces of a suite; `None` for a table without one.
    pub fn new(suite: Option<&Suite>, malformed_is_agent: bool) -> Self {
        let mut traces = ImportOptions::new("", "");
        if malformed_is_agent {
            traces.malformed_arguments = MalformedArguments::Agent;
        }
        let mut files = RecordedOptions::default();
        if let Some(suite) = suite {
            traces.private_tools = suite.spec.private_tools.iter().cloned().collect();
            if let Some(errors) = &suite.spec.tool_errors {
                traces.error_prefixes = errors.prefixes.clone();
            }
            files.tasks = suite.tasks.iter().map(|t| t.id.to_string()).collect();
        }
        Self { files, traces }
    }
}

/// Reads every trial of a file or folder; `each` gets the file that holds it.
///
/// # Errors
///
/// If a file is not of its format, and those of `each`, to which file and record are added.
pub fn read_trials(
    path: &Path,
    options: &ReadOptions,
    each: &mut dyn FnMut(RecordedTrial) -> Result<()>,
) -> Result<()> {
    for file in traces_in(path)? {
        read_recorded(&file, &options.files, &options.traces, &mut |trial| {
            let place = trial.place;
            each(trial).map_err(|error| match error.file() {
                Some(_) => error,
                None => error.at(&file, place),
            })
        })?;
    }
    Ok(())
}

/// Where recorded trials are and how they are read.
pub struct Recording {
    /// Files or folders.
    pub paths: Vec<PathBuf>,
    /// Price, to turn recorded tokens into cost.
    pub price: Option<Price>,
    /// The number that the source gives the first trial of a task: 0, or 1 if that is known.
    pub first_index: u32,
    /// How traces are read.
    pub options: ReadOptions,
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Trials read.
    pub read: u64,
    /// Trials that were not stored before.
    pub new: u64,
}

/// Puts trials into a transaction, as those of `arm`, or of the arm that each names.
///
/// # Errors
///
/// As [`record`].
pub fn put(
    writer: &mut TrialWriter,
    plan: &Plan,
    arm: Option<&PlannedArm>,
    source: &Recording,
) -> Result<Count> {
    put_counting_from(source.first_index, writer, plan, arm, source, &mut false)
}

fn put_counting_from(
    first_index: u32,
    writer: &mut TrialWriter,
    plan: &Plan,
    arm: Option<&PlannedArm>,
    source: &Recording,
    beyond: &mut bool,
) -> Result<Count> {
    let mut importing = Importing {
        plan,
        arm,
        price: source.price,
        first_index,
        next: HashMap::new(),
        beyond,
    };
    let mut count = Count::default();
    for path in &source.paths {
        read_trials(path, &source.options, &mut |trial| {
            let stored = importing.put(writer, trial)?;
            count.read += 1;
            count.new += u64::from(stored == Stored::New);
            Ok(())
        })?;
    }
    Ok(count)
}

/// The numbers that a source gives its trials.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbering {
    least: Option<u32>,
    unnumbered: bool,
}

impl Numbering {
    /// Takes the number of one trial, if it has one.
    pub(super) fn see(&mut self, index: Option<u32>) {
        match index {
            Some(index) => self.least = Some(self.least.map_or(index, |least| least.min(index))),
            None => self.unnumbered = true,
        }
    }

    /// The number of the first trial of a task: 1 where all trials are numbered and none is 0.
    pub(super) fn first(self) -> u32 {
        u32::from(self.least == Some(1) && !self.unnumbered)
    }
}

/// Whether a source numbers all its trials, from 1.
fn counts_from_one(source: &Recording) -> Result<bool> {
    let mut numbering = Numbering::default();
    for path in &source.paths {
        read_trials(path, &source.options, &mut |trial| {
            numbering.see(trial.index);
            Ok(())
        })?;
    }
    Ok(numbering.first() == 1)
}

struct Importing<'a> {
    plan: &'a Plan,
    arm: Option<&'a PlannedArm>,
    price: Option<Price>,
    /// The number that the source gives the first trial of a task: 0 or 1.
    first_index: u32,
    /// Next index per arm and task, for sources that do not number their trials.
    next: HashMap<(ArmId, TaskId), u32>,
    /// Set where a trial's number exceeds the plan by one.
    beyond: &'a mut bool,
}

impl<'a> Importing<'a> {
    fn put(&mut self, writer: &mut TrialWriter, recorded: RecordedTrial) -> Result<Stored> {
        let arm = self.arm_of(&recorded)?;
        let task = self.plan.task(&recorded.task).ok_or_else(|| {
            Error::input(format!(
                "task `{}` is not in the suite `{}`",
                recorded.task, self.plan.body.suite
            ))
            .hint("remove the record, or add the task to the suite")
        })?;
        let index = self.index(&arm.id, &recorded);
        if arm.stated && index >= arm.trials {
            *self.beyond = index == arm.trials && self.first_index == 0;
            return Err(Error::input(format!(
                "task `{}` has a trial {index} (from 0), but {} trials are planned for arm `{}`",
                recorded.task, arm.trials, arm.id
            ))
            .hint("set the arm's `trials`, or `--trials`, to what was recorded: no trial is dropped silently"));
        }
        let id = self.plan.trial_id(arm, task, index);
        let (trial, trace) = finished(id, arm.id.clone(), index, self.price, recorded);
        writer.put(&trial, trace.as_ref())
    }

    fn arm_of(&self, recorded: &RecordedTrial) -> Result<&'a PlannedArm> {
        if let Some(arm) = self.arm {
            return self.not_another(arm, recorded);
        }
        let name = recorded
            .arm
            .as_ref()
            .ok_or_else(|| Error::input("the record names no arm").hint("name one with `--arm`"))?;
        self.plan
            .arm(name)
            .ok_or_else(|| Error::input(format!("arm `{name}` is not in the plan")))
    }

    /// Traces may be filed under another name, but not under that of one arm where they name another.
    fn not_another(&self, arm: &'a PlannedArm, recorded: &RecordedTrial) -> Result<&'a PlannedArm> {
        let named = recorded.arm.as_ref().filter(|name| **name != arm.id);
        match named.and_then(|name| self.plan.arm(name)) {
            None => Ok(arm),
            Some(other) => Err(Error::input(format!(
                "the record belongs to arm `{}`, but is read as one of arm `{}`",
                other.id, arm.id
            ))
            .hint("are the paths of the arms exchanged?")),
        }
    }

    fn index(&mut self, arm: &ArmId, recorded: &RecordedTrial) -> u32 {
        if let Some(index) = recorded.index {
            return index.saturating_sub(self.first_index);
        }
        let next = self
            .next
            .entry((arm.clone(), recorded.task.clone()))
            .or_default();
        *next += 1;
        *next - 1
    }
}

/// A recorded trial as it is stored: a truncated trace is an infrastructure error, whatever the
/// source says of the agent.
fn finished(
    id: crate::base::TrialId,
    arm: ArmId,
    index: u32,
    price: Option<Price>,
    recorded: RecordedTrial,
) -> (Trial, Option<crate::model::trace::Trace>) {
    let RecordedTrial {
        task,
        status,
        trace,
        recorded: mut measures,
        input_digest,
        notices,
        ..
    } = recorded;
    let truncated = trace.as_ref().and_then(|t| t.truncated.clone());
    let status = match truncated {
        Some(code) if status.is_valid() => TrialStatus::infra(Boundary::Trace, &code, ""),
        _ => status,
    };
    let mut trace = trace;
    if let Some(price) = price {
        trace
            .iter_mut()
            .flat_map(|t| &mut t.events)
            .filter_map(|e| e.usage.as_mut())
            .for_each(|u| add_cost(u, price));
        add_recorded_cost(&mut measures, price);
    }
    (
        Trial {
            id,
            arm,
            task,
            index,
            status,
            recorded: measures,
            input_digest,
            notices,
            block: None,
            attempts: vec![],
            model_retries: 0,
        },
        trace,
    )
}

/// A recorded cost stands; otherwise tokens and price give one, if both kinds of tokens are known.
fn add_cost(usage: &mut Usage, price: Price) {
    usage.cost_usd = usage.cost_usd.or_else(|| price.of(usage));
}

fn add_recorded_cost(measures: &mut std::collections::BTreeMap<Measure, f64>, price: Price) {
    let tokens = measures
        .get(&Measure::InputTokens)
        .copied()
        .zip(measures.get(&Measure::OutputTokens).copied());
    if let Some((input, output)) = tokens {
        measures
            .entry(Measure::CostUsd)
            .or_insert_with(|| price.of_tokens(input, output));
    }
}
