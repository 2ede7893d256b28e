//! Integration tests: one binary, so that the library is linked once.

mod calculator;
mod coverage;
mod coverage_judged;
mod faults_judge;
mod faults_stats;
mod properties_stats;
mod published;
mod slow_judge;
mod slow_versions;
mod vectors;
