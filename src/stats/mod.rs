//! Statistics on plain slices; every method is named as METHODS (`METHODS.md` beside this file) names
//! it.
//!
//! In reading order:
//!
//! - [`level`], [`tolerance`], [`sum`], [`special`]: the level, comparisons that forgive rounding,
//!   compensated sums, quantiles and tails.
//! - [`units`], [`strata`], [`sample`]: tasks with weights gathered into independent units; one
//!   arm's scores, paired differences.
//! - [`proportion`], [`clustered`], [`pass_k`], [`count`], [`recovery`]: rates of one arm.
//! - [`quantile`], [`ratio`], [`mean`]: amounts.
//! - [`paired`], [`permutation`], [`multiplicity`], [`mover`], [`dual`]: comparing two arms.
//! - [`missing`]: bounds for what was not observed.
//! - [`survival`], [`drift`], [`sequential`]: times that were cut off, drift, stopping early.
//! - [`agreement`], [`confusion`], [`alt_test`], [`judge_bias`], [`panel`]: judges beside people.
//! - [`correction`]: what a judge's rate says about people's.
//! - [`bootstrap`]: resampling, for statistics without a formula.
//! - [`power`]: sizing a run.
//!
//! Data are validated once, into [`units::Units`], [`sample::Clustered`] or [`sample::Paired`];
//! the methods assume it. A method that cannot answer gives `None` with a reason, never 0, 1 or
//! NaN; where that is all it answers, the reason is an [`Undefined`]. [`Status`]
//! says how far an interval may be used.

pub mod agreement;
pub mod alt_test;
pub mod bootstrap;
pub mod clustered;
pub mod confusion;
pub mod correction;
pub mod count;
pub mod drift;
pub mod dual;
pub mod judge_bias;
pub mod level;
pub mod mean;
pub mod missing;
pub mod mover;
pub mod multiplicity;
pub mod paired;
pub mod panel;
pub mod pass_k;
pub mod permutation;
pub mod power;
pub mod proportion;
pub mod quantile;
pub mod ratio;
pub mod recovery;
pub mod sample;
pub mod sequential;
pub mod special;
pub mod status;
pub mod strata;
pub mod sum;
pub mod survival;
pub mod tolerance;
pub mod undefined;
pub mod units;

pub use level::{Level, Limits};
pub use status::Status;
pub use undefined::{Defined, Undefined};
