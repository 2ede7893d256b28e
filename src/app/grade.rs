//! `assize grade`: grading from stored evidence; it never runs an agent.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use rayon::prelude::*;

use super::suite_of_run;
use crate::base::Result;
use crate::grade::{Grader, TaskGrader};
use crate::model::grade::{Cell, Score, TrialGrades};
use crate::model::measure::Measure;
use crate::model::suite::Suite;
use crate::store::{GradeWriter, RunStore, StoredTrial};

/// Trials that are read, graded in parallel and written at a time.
const BATCH: usize = 1024;

/// Grades a run again.
///
/// # Errors
///
/// If there is no run, or its suite was edited since.
pub fn grade(run: &Path, suite: Option<&Path>) -> Result<u64> {
    let mut store = RunStore::open(run)?;
    let suite = suite_of_run(&store, suite)?;
    grade_all(&mut store, &suite)
}

/// Grades every stored trial and replaces all earlier grades; returns how many were graded.
///
/// # Errors
///
/// If a contract cannot be compiled or the database fails; then the earlier grades stand.
pub fn grade_all(store: &mut RunStore, suite: &Suite) -> Result<u64> {
    store.replace_grades(|writer| grade_into(writer, suite))
}

/// Grades every stored trial into a writer; returns how many were graded.
///
/// # Errors
///
/// If a contract cannot be compiled or the database fails.
pub(super) fn grade_into(writer: &mut GradeWriter, suite: &Suite) -> Result<u64> {
    let grader = Grader::new(suite)?;
    let mut after = 0;
    let mut graded = 0;
    loop {
        let batch = writer.trials_after(after, BATCH)?;
        let Some(last) = batch.last() else {
            return Ok(graded);
        };
        after = last.row;
        let grades: Vec<Option<TrialGrades>> = batch
            .par_iter()
            .map(|trial| grade_one(&grader, trial))
            .collect();
        for (trial, grades) in batch.iter().zip(&grades) {
            match grades {
                Some(grades) => writer.put(trial.row, grades)?,
                None => writer.put_failed_grader(trial.row)?,
            }
            graded += 1;
        }
    }
}

/// The grades of one trial; `None` if its grader panicked, which says nothing about the agent.
fn grade_one(grader: &Grader, stored: &StoredTrial) -> Option<TrialGrades> {
    let trial = &stored.trial;
    let task = grader.task(&trial.task)?;
    if !trial.status.is_valid() {
        return Some(not_asked(task));
    }
    let grade = || task.grade(&trial.status, &trial.recorded, stored.trace.as_ref());
    catch_unwind(AssertUnwindSafe(grade)).ok()
}

/// A trial that says nothing about the agent is missing only where its task asks something.
fn not_asked(task: &TaskGrader) -> TrialGrades {
    let cell = |measure: Measure| {
        let reason = task.not_asked(measure)?;
        Some(Score {
            measure,
            cell: Cell::NotApplicable(reason.to_owned()),
        })
    };
    TrialGrades {
        grades: vec![],
        scores: Measure::ALL.into_iter().filter_map(cell).collect(),
    }
}
