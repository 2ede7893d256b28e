//! Stopping early: betting confidence sequences and e-values (METHODS 7).
//!
//! The unit is a completed task pair in *pre-randomised* order, with all trials of both arms; tasks
//! that finish first are easy ones, and using them first breaks every guarantee here. All limits hold
//! at every look. A run that may stop early reports these and no fixed-sample limits.

mod betting;
mod capital;
mod confidence;
mod reach;
mod sign;

pub use betting::{HedgedCapital, NonInferiority};
pub use capital::Capital;
pub use confidence::BettingCs;
pub use reach::{Reach, non_inferiority_is_futile, sign_reach};
pub use sign::{SignEValue, sign_e_value};
