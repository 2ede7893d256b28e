//! Integration tests: one binary, so that the library is linked once.

mod calculator;
mod coverage;
mod faults_stats;
mod properties_stats;
mod slow_versions;
mod vectors;
