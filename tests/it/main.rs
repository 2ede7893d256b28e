//! All integration tests in one binary: each further one would link everything again.

mod faults_traces;
mod traces;
