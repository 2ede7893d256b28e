//! The entry point: one trial in, its grades out.

use std::collections::{BTreeMap, HashMap};

use crate::base::{Error, Result, TaskId};
use crate::grade::evidence::Evidence;
use crate::grade::finding::Graded;
use crate::grade::rules::{Schemas, compile};
use crate::grade::schema::SchemaCache;
use crate::grade::{duplicates, efficiency, outcome, permission, recorded, recovery, trajectory};
use crate::model::grade::TrialGrades;
use crate::model::measure::Measure;
use crate::model::suite::{Suite, Task};
use crate::model::trace::Trace;
use crate::model::trial::TrialStatus;

/// A suite's contracts, compiled once and used for every trial, from any thread.
pub struct Grader<'s> {
    suite: &'s Suite,
    tasks: HashMap<&'s TaskId, TaskGrader<'s>>,
}

impl<'s> Grader<'s> {
    /// Compiles the contracts of all tasks.
    ///
    /// # Errors
    ///
    /// Every rule that could not be applied, all at once: a schema that does not compile or that
    /// refers to something outside itself, a pointer or hash that is none, a rule without a test,
    /// `must_ask_before_write` where no tool is declared as writing.
    pub fn new(suite: &'s Suite) -> Result<Self> {
        let mut cache = SchemaCache::default();
        let mut errors = vec![];
        let tasks = suite
            .tasks
            .iter()
            .map(|task| {
                let schemas = compile(suite, task, &mut cache, &mut errors);
                let grader = TaskGrader {
                    suite,
                    task,
                    schemas,
                };
                (&task.id, grader)
            })
            .collect();
        match errors.len() {
            0 => Ok(Self { suite, tasks }),
            1 => Err(errors.remove(0)),
            n => Err(Error::many(format!("{n} rules cannot be applied"), errors)),
        }
    }

    /// The suite.
    pub fn suite(&self) -> &'s Suite {
        self.suite
    }

    /// The grader of one task; `None` if the suite has no such task.
    pub fn task(&self, id: &TaskId) -> Option<&TaskGrader<'s>> {
        self.tasks.get(id)
    }
}

/// The compiled contract of one task.
pub struct TaskGrader<'s> {
    pub(crate) suite: &'s Suite,
    pub(crate) task: &'s Task,
    pub(crate) schemas: Schemas,
}

impl TaskGrader<'_> {
    /// Why a measure does not concern any trial of this task, as the contract alone says; `None` if
    /// it may.
    ///
    /// An infrastructure trial has no grades, yet what its task never asks is not missing from it.
    pub fn not_asked(&self, measure: Measure) -> Option<&'static str> {
        match measure {
            Measure::Conformance => trajectory::not_asked(&self.task.expect),
            Measure::Violations => permission::not_asked(&self.task.expect),
            Measure::Reached | Measure::Recovered => recovery::not_asked(self),
            _ => None,
        }
    }

    /// Grades one trial: a grade per rule, and for every measure a value or why there is none.
    ///
    /// An infrastructure trial says nothing about the agent: the result is empty. A trial that the
    /// agent failed or that reached a limit fails its outcome whatever the trace holds; its other
    /// dimensions are graded on the evidence that exists. `recorded` holds results of a table; they
    /// fill what the trace does not give.
    pub fn grade(
        &self,
        status: &TrialStatus,
        recorded: &BTreeMap<Measure, f64>,
        trace: Option<&Trace>,
    ) -> TrialGrades {
        if !status.is_valid() {
            return TrialGrades::default();
        }
        let evidence = Evidence::read(self.suite, Some(self.task), trace);
        let evidence = evidence.as_ref().map_err(|reason| *reason);
        let outcome = outcome::grade(self, status, recorded, evidence);
        let permission = permission::grade(self, evidence);
        let duplicates = duplicates::grade(evidence);
        let recovery = recovery::grade(self, evidence, &outcome, &permission, &duplicates);
        let mut all = TrialGrades::default();
        for part in [
            outcome,
            trajectory::grade(self, evidence),
            efficiency::grade(evidence),
            permission.graded,
            duplicates.graded,
            recovery,
        ] {
            let Graded { grades, scores } = part;
            all.grades.extend(grades);
            all.scores.extend(scores);
        }
        recorded::fill(&mut all, recorded);
        all
    }
}

/// Grades one trial of one task; [`Grader`] is the same for many trials, without compiling each time.
///
/// # Errors
///
/// As [`Grader::new`], for this task's contract.
pub fn grade_trial(
    suite: &Suite,
    task: &Task,
    status: &TrialStatus,
    recorded: &BTreeMap<Measure, f64>,
    trace: Option<&Trace>,
) -> Result<TrialGrades> {
    let mut errors = vec![];
    let schemas = compile(suite, task, &mut SchemaCache::default(), &mut errors);
    if !errors.is_empty() {
        return Err(Error::many("the contract cannot be applied", errors));
    }
    let grader = TaskGrader {
        suite,
        task,
        schemas,
    };
    Ok(grader.grade(status, recorded, trace))
}
