//! Integration tests: one binary, so that the library is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout
)]

mod bad_input;
mod calculator;
mod calibrated_words;
mod calibration;
mod censoring;
mod common;
mod coverage;
mod coverage_judged;
mod coverage_kinds;
mod endpoint;
mod faults_end_to_end;
mod faults_grading;
mod faults_judge;
mod faults_stats;
mod faults_traces;
mod grading;
mod grading_odd_input;
mod judged_quality;
mod judges;
mod judging_live;
mod label_truth;
mod layers;
mod live_agent;
mod live_common;
mod live_control;
mod live_disk;
mod live_first_lines;
mod live_kill;
mod live_odd_replies;
mod live_power;
mod live_provider;
mod live_reports;
mod live_resumed;
mod live_run;
mod live_secrets;
mod live_store;
mod live_world;
mod load;
mod preferences;
mod properties_stats;
mod provider;
mod published;
mod run_labels;
mod runs;
mod shipped;
mod shows;
mod sizing;
mod slow_judge;
mod slow_versions;
mod traces;
mod validate;
mod vectors;
mod world;
