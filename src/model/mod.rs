//! Types that travel between layers; no behaviour beyond their invariants.

pub mod analysis;
pub mod arm;
pub mod calibration;
pub mod chat;
pub mod environment;
pub mod estimate;
pub mod expect;
pub mod grade;
pub mod judge;
pub mod judged;
pub mod judging;
pub mod label;
pub mod measure;
pub mod metric;
pub mod plan;
pub mod preference;
pub mod report;
pub mod score;
pub mod script;
pub mod suite;
pub mod trace;
pub mod trial;
pub mod verdict;
