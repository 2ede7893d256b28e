//! Designs with positive amounts of one or two arms.

use serde::{Deserialize, Serialize};

use super::cell::{Design, named_design};

/// Lognormal amounts: exp of a task effect, a trial effect and, in B, the log ratio and a
/// task-by-arm effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountCell {
    /// A name for the table; made from the fields if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of tasks.
    pub units: u32,
    /// Trials per task and arm.
    pub trials: u32,
    /// Standard deviation of the task effect.
    pub sd_task: f64,
    /// Standard deviation of the trial effect.
    pub sd_trial: f64,
    /// Standard deviation of the task's own difference between the arms.
    #[serde(default)]
    pub sd_change: f64,
    /// The true ratio of totals B/A.
    #[serde(default = "certain")]
    pub ratio: f64,
    /// Which quantile is estimated.
    #[serde(default = "half")]
    pub tau: f64,
}

fn certain() -> f64 {
    1.0
}

fn half() -> f64 {
    0.5
}

impl Design for AmountCell {
    named_design!();

    fn units(&self) -> u32 {
        self.units
    }

    fn trials(&self) -> u32 {
        self.trials
    }

    fn check(&self) -> Result<(), &'static str> {
        let spreads = [self.sd_task, self.sd_trial, self.sd_change];
        if spreads.iter().any(|s| !s.is_finite() || *s < 0.0) {
            return Err("standard deviations are not negative");
        }
        if self.ratio > 0.0 && self.tau > 0.0 && self.tau < 1.0 {
            return Ok(());
        }
        Err("the ratio is positive and tau between 0 and 1")
    }
}
