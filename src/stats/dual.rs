//! p-values of intervals that have no test of their own.

use crate::stats::{Level, Limits};

/// The smallest α whose interval excludes `null`, by bisection to 1e-9 (METHODS 6.4, step 5).
///
/// `interval` gives the limits at a level; they must widen with it. 1 if even the shortest
/// interval holds the null value, and 1e-9, never 0, if even the widest excludes it. `None` where
/// the method gives no interval.
///
/// # Examples
///
/// ```
/// use assize::stats::{Limits, dual::dual_p, special::normal_two_sided};
/// let p = dual_p(0.0, |level| {
///     Some(Limits { lower: 0.3 - level.z() * 0.1, upper: 0.3 + level.z() * 0.1 })
/// });
/// assert!((p.unwrap() - normal_two_sided(3.0)).abs() < 1e-8);
/// ```
pub fn dual_p(null: f64, interval: impl Fn(Level) -> Option<Limits>) -> Option<f64> {
    const STEP: f64 = 1e-9;
    let excludes = |alpha: f64| -> Option<bool> {
        let limits = interval(Level::new(1.0 - alpha).ok()?)?;
        Some(null < limits.lower || null > limits.upper)
    };
    let (mut low, mut high) = (STEP, 1.0 - STEP);
    if excludes(low)? {
        return Some(STEP);
    }
    if !excludes(high)? {
        return Some(1.0);
    }
    while high - low > STEP {
        let middle = 0.5 * (low + high);
        if excludes(middle)? {
            high = middle
        } else {
            low = middle
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::paired::{BpHall, PairedTable, tango};

    #[test]
    fn it_agrees_with_a_p_of_closed_form() {
        let d = [0.4, 0.0, 0.2, -0.1, 0.3, 0.0, 0.6];
        let hall = BpHall::new(&d, &[1.0 / 7.0; 7], 7.0).unwrap();
        for null in [-0.1, 0.0, 0.3] {
            let p = dual_p(null, |level| Some(hall.unclipped(level))).unwrap();
            assert!(
                (p - hall.p(null)).abs() < 2e-9,
                "{null} {p} {}",
                hall.p(null)
            );
        }
    }

    #[test]
    fn the_ends_are_never_zero_and_never_above_one() {
        let sure = |_| {
            Some(Limits {
                lower: 1.0,
                upper: 2.0,
            })
        };
        assert_eq!(dual_p(0.0, sure), Some(1e-9));
        let table = PairedTable {
            both: 5,
            a_only: 2,
            b_only: 2,
            neither: 1,
        };
        let p = dual_p(0.0, |level| {
            let got = tango(table, level);
            Some(Limits {
                lower: got.lower?,
                upper: got.upper?,
            })
        });
        assert_eq!(p, Some(1.0));
        assert_eq!(dual_p(0.0, |_| None), None);
    }
}
