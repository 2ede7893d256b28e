//! An interval that was checked when it was built.

use serde::{Deserialize, Serialize};

/// A two-sided interval with its level and the id of the method that made it.
///
/// Limits may be infinite where nothing bounds a quantile; they are never NaN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower limit, in the unit of the estimate.
    pub low: f64,
    /// Upper limit, in the unit of the estimate.
    pub high: f64,
    /// Two-sided level, for example 0.95.
    pub level: f64,
    /// Method id as METHODS names it, for example `sen_cp`.
    pub method: String,
}

impl Interval {
    /// Builds an interval, or `None` if a limit is NaN, the limits are exchanged, or the level is
    /// not strictly between 0 and 1.
    pub fn new(low: f64, high: f64, level: f64, method: &str) -> Option<Self> {
        let sound = low <= high && level > 0.0 && level < 1.0;
        sound.then(|| Self {
            low,
            high,
            level,
            method: method.to_owned(),
        })
    }

    /// Upper minus lower limit.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Whether a value lies within the closed interval.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsound_limits_are_refused() {
        assert!(Interval::new(0.2, 0.1, 0.95, "wilson").is_none());
        assert!(Interval::new(f64::NAN, 0.1, 0.95, "wilson").is_none());
        assert!(Interval::new(0.0, 1.0, 1.0, "wilson").is_none());
        assert!(Interval::new(0.0, f64::INFINITY, 0.95, "quantile").is_some());
    }
}
