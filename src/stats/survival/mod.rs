//! Times that may be cut off: Kaplan–Meier, medians and restricted means (METHODS 4.4).
//!
//! A timeout is a time that was cut off, never the cap itself and never dropped.

mod clustered;
mod curve;

pub use clustered::{median_interval, restricted_mean_interval};
pub use curve::{Censored, KaplanMeier, Median, RestrictedMean, Step, kaplan_meier};
