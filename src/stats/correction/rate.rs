//! A corrected rate with its interval.

use crate::base::Notice;
use crate::stats::{Level, Limits, Status};

/// A rate corrected for the judge's errors; everything undefined is `None` with a reason.
#[derive(Clone, Debug, PartialEq)]
pub struct CorrectedRate {
    /// Method id, for example `post_stratified_cp`.
    pub method: &'static str,
    /// The corrected rate, in \[0, 1\].
    pub estimate: Option<f64>,
    /// Lower limit, in \[0, 1\].
    pub lower: Option<f64>,
    /// Upper limit, in \[0, 1\].
    pub upper: Option<f64>,
    /// Two-sided level.
    pub level: f64,
    /// How far it may be used.
    pub status: Status,
    /// Why there is no value, as a snake_case code.
    pub reason: Option<&'static str>,
    /// Warnings that travel with the rate.
    pub notices: Vec<Notice>,
}

impl CorrectedRate {
    /// A rate with both limits, from the estimate and limits before they are clipped to \[0, 1\].
    ///
    /// An estimate outside the scale is noticed (`estimate_outside_scale`): the labels do not fit the
    /// items. Limits that clipping leaves without width are printed and never decide.
    pub(super) fn new(method: &'static str, estimate: f64, limits: Limits, level: Level) -> Self {
        let limits = limits.clipped(0.0, 1.0);
        let inside = (-1e-9..=1.0 + 1e-9).contains(&estimate);
        let outside = || {
            let detail = format!("{estimate:.3} before clipping: the labels do not fit the items");
            Notice::with("estimate_outside_scale", detail)
        };
        let wide = limits.upper > limits.lower;
        Self {
            method,
            estimate: Some(estimate.clamp(0.0, 1.0)),
            lower: Some(limits.lower),
            upper: Some(limits.upper),
            level: level.conf(),
            status: if wide {
                Status::Ok
            } else {
                Status::NotEstimable
            },
            reason: None,
            notices: (!inside).then(outside).into_iter().collect(),
        }
    }

    /// Nothing is known of the rate: estimate null, interval \[0, 1\].
    pub(super) fn not_identified(method: &'static str, reason: &'static str, level: Level) -> Self {
        Self {
            estimate: None,
            status: Status::NotIdentified,
            reason: Some(reason),
            ..Self::new(
                method,
                0.5,
                Limits {
                    lower: 0.0,
                    upper: 1.0,
                },
                level,
            )
        }
    }

    /// An estimate without an interval.
    pub(super) fn without_limits(mut self, reason: &'static str) -> Self {
        (self.lower, self.upper) = (None, None);
        (self.status, self.reason) = (Status::NotEstimable, Some(reason));
        self
    }

    /// Lowers the status, never raises it.
    pub(super) fn at_most(mut self, status: Status) -> Self {
        self.status = self.status.min(status);
        self
    }

    /// Adds a notice.
    pub(super) fn noticing(mut self, notice: Notice) -> Self {
        self.notices.push(notice);
        self
    }
}
