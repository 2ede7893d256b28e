//! Integration tests: one binary, so that the library is linked once.

mod faults_stats;
mod faults_traces;
mod load;
mod shipped;
mod traces;
mod validate;
mod vectors;
