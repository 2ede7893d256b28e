//! How well raters agree: kappa, alpha, AC1 and AC2, rank correlations, with bootstrap intervals.
//!
//! Undefined is never 0 or 1: two constant raters have no kappa, a constant score has no
//! correlation, and the reason says so.

mod ceiling;
mod fleiss;
mod gwet;
mod interval;
mod kappa;
mod krippendorff;
mod rank;
mod ratings;
mod table;

pub use ceiling::{CeilingMeasure, HumanCeiling, human_ceiling};
pub use fleiss::fleiss_kappa;
pub use gwet::{Gwet, GwetOfUnits, gwet};
pub use interval::{Counted, difference_interval, item_interval, task_interval};
pub use kappa::{Kappa, KappaOfItems, Weights, cohen_kappa};
pub use krippendorff::{AlphaOfUnits, Measurement, krippendorff_alpha};
pub use rank::{Correlation, PairedScores, kendall_tau_b, spearman};
pub use ratings::{Given, Ratings};
pub use table::Table;
