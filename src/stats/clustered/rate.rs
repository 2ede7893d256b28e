//! What an interval for a rate carries.

use serde::Serialize;

use crate::base::Notice;
use crate::stats::sample::Clustered;
use crate::stats::{Level, Limits, Status};

/// A rate with its interval, how it was made, and how far it may be used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateEstimate {
    /// Method id, for example `sen_cp`.
    pub method: &'static str,
    /// The weighted mean; `None` with a `reason`.
    pub estimate: Option<f64>,
    /// Lower limit; `None` with a `reason`.
    pub lower: Option<f64>,
    /// Upper limit; `None` with a `reason`.
    pub upper: Option<f64>,
    /// Two-sided level.
    pub level: f64,
    /// How far the interval may be used.
    pub status: Status,
    /// Why there is no value, as a snake_case code.
    pub reason: Option<&'static str>,
    /// Effective number of independent observations.
    pub n_eff: Option<f64>,
    /// R: variance relative to one observation per unit (SEN methods).
    pub r: Option<f64>,
    /// K = n_c·min(p̂, q̂): informative units (SEN methods).
    pub k: Option<f64>,
    /// R_s: R shrunk towards 1, and widened for unequal weights (SEN methods).
    pub r_s: Option<f64>,
    /// Whether the floor for unseen collapse moved a limit.
    pub floor_binds: bool,
    /// n_c = 1/ΣW_u².
    pub n_c: f64,
    /// Number of units.
    pub units: usize,
    /// Number of tasks that entered.
    pub tasks: usize,
    /// Number of trials that entered.
    pub trials: u64,
    /// Warnings that travel with the interval.
    pub notices: Vec<Notice>,
}

impl RateEstimate {
    /// The estimate of a sample, without limits yet.
    pub(super) fn begin(method: &'static str, sample: &Clustered, level: Level) -> Self {
        let estimate = sample.estimate();
        let missing = estimate.is_none();
        Self {
            method,
            estimate,
            lower: None,
            upper: None,
            level: level.conf(),
            status: if missing {
                Status::NotEstimable
            } else {
                Status::Ok
            },
            reason: missing.then_some("no_valid_trials"),
            n_eff: None,
            r: None,
            k: None,
            r_s: None,
            floor_binds: false,
            n_c: sample.units.n_c,
            units: sample.units.len(),
            tasks: sample.units.kept.len(),
            trials: sample.trial_count(),
            notices: vec![],
        }
    }

    /// Both limits, if there are any.
    pub fn limits(&self) -> Option<Limits> {
        Some(Limits {
            lower: self.lower?,
            upper: self.upper?,
        })
    }

    pub(super) fn with_limits(mut self, limits: Limits) -> Self {
        self.lower = Some(limits.lower);
        self.upper = Some(limits.upper);
        self
    }
}
