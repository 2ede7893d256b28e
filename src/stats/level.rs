//! The confidence level, checked once; and plain pairs of limits.

use crate::base::{Error, Result};
use crate::stats::special::normal_quantile;

/// A two-sided confidence level with its normal quantile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    conf: f64,
    z: f64,
}

impl Level {
    /// Checks a two-sided level, for example 0.95.
    ///
    /// # Errors
    ///
    /// If the level is not strictly between 0 and 1.
    pub fn new(conf: f64) -> Result<Self> {
        if !(conf > 0.0 && conf < 1.0) {
            return Err(
                Error::input(format!("confidence level {conf} is not between 0 and 1"))
                    .hint("write 0.95 for 95 %"),
            );
        }
        Ok(Self {
            conf,
            z: normal_quantile(1.0 - (1.0 - conf) / 2.0),
        })
    }

    /// The usual 95 %.
    pub fn p95() -> Self {
        Self {
            conf: 0.95,
            z: 1.959_963_984_540_054,
        }
    }

    /// The two-sided level.
    pub fn conf(self) -> f64 {
        self.conf
    }

    /// One minus the level.
    pub fn alpha(self) -> f64 {
        1.0 - self.conf
    }

    /// The error allowed on each side: half of `alpha`.
    pub fn tail(self) -> f64 {
        self.alpha() / 2.0
    }

    /// The normal quantile at 1 − α/2.
    pub fn z(self) -> f64 {
        self.z
    }
}

/// A lower and an upper limit, in the unit of the estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Lower limit; may be −∞ where nothing bounds a quantile.
    pub lower: f64,
    /// Upper limit; may be +∞ where nothing bounds a quantile.
    pub upper: f64,
}

impl Limits {
    /// Both limits moved into a range.
    pub fn clipped(self, low: f64, high: f64) -> Self {
        Self {
            lower: self.lower.clamp(low, high),
            upper: self.upper.clamp(low, high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_outside_the_open_unit_interval_are_refused() {
        for conf in [0.0, 1.0, 95.0, -0.1, f64::NAN] {
            assert!(Level::new(conf).is_err(), "{conf}");
        }
    }

    #[test]
    fn the_constant_is_the_quantile() {
        assert!((Level::new(0.95).unwrap().z() - Level::p95().z()).abs() < 1e-14);
    }
}
