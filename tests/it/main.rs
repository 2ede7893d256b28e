//! One binary for all integration tests: each further one would link a large binary again.

mod faults_grading;
mod grading;
mod grading_odd_input;
mod shipped;
mod validate;
