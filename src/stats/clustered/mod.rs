//! One arm's rate from tasks with repeated trials (METHODS 1).
//!
//! `sen_cp` is the default. The cluster-robust errors, Korn–Graubard and the t interval on task
//! means are named options for interior means of many units: near 0 and 1 their coverage
//! collapses, because identical outcomes give them width 0.

mod design;
mod fixed;
mod rate;
mod robust;
mod sen;

pub use design::{DesignEffect, TaskSpread, icc_anova};
pub use fixed::tasks_fixed_cp;
pub use rate::RateEstimate;
pub use robust::{Df, RobustType, cluster_robust, korn_graubard, task_mean_t};
pub(crate) use sen::{Shrinkage, Widening};
pub use sen::{sen_cp, sen_midp, sen_wilson};
