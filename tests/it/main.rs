//! Integration tests: one binary, so that the library is linked once.

mod faults_grading;
mod faults_stats;
mod faults_traces;
mod grading;
mod grading_odd_input;
mod load;
mod published;
mod shipped;
mod traces;
mod validate;
mod vectors;
