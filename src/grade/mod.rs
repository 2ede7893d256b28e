//! Deterministic graders, pure: one file per dimension, matchers beside them.
//!
//! Grading reads stored evidence only: the same trace gives the same grades, whoever asks. Three
//! rules hold everywhere. What the evidence lacks is `ungradable`, never `fail`. What a contract does
//! not ask, or a trial gave no occasion for, is `not_applicable`, never `pass`. A break that the
//! evidence shows is `fail`, even where other parts of the evidence are missing.
//!
//! An infrastructure trial is never graded. A trace that is marked as truncated is treated as no
//! trace: what it lacks cannot be told from what did not happen.

mod arguments;
mod calendar;
mod duplicates;
mod effects;
mod efficiency;
mod evidence;
mod finding;
pub mod golden;
mod grader;
mod ledger;
mod outcome;
mod owners;
mod paths;
mod permission;
mod permission_approval;
mod permission_asking;
mod recorded;
mod recovery;
mod rules;
mod schema;
mod state;
#[cfg(test)]
mod testing;
mod trajectory;
mod trajectory_arguments;

pub use grader::{Grader, TaskGrader, grade_trial};
pub use paths::call_matches;
