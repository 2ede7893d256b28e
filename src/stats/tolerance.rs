//! Comparisons with a threshold that forgive rounding (METHODS, Numerics).
//!
//! An estimate, limit, rate or p-value is compared with a threshold t with tolerance
//! 1e-9·max(1, |t|); strict comparisons are the exact negations, so a limit equal to a margin is
//! not beyond it. Infinite values compare as usual.

fn slack(threshold: f64) -> f64 {
    if threshold.is_finite() {
        1e-9 * threshold.abs().max(1.0)
    } else {
        0.0
    }
}

/// Whether `value` ≤ `threshold`, forgiving rounding.
pub fn at_most(value: f64, threshold: f64) -> bool {
    value <= threshold + slack(threshold)
}

/// Whether `value` ≥ `threshold`, forgiving rounding.
pub fn at_least(value: f64, threshold: f64) -> bool {
    value >= threshold - slack(threshold)
}

/// Whether `value` > `threshold`: the negation of [`at_most`].
pub fn above(value: f64, threshold: f64) -> bool {
    !at_most(value, threshold)
}

/// Whether `value` < `threshold`: the negation of [`at_least`].
pub fn below(value: f64, threshold: f64) -> bool {
    !at_least(value, threshold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_equal_to_a_margin_is_not_beyond_it() {
        let margin = 0.1 + 0.2;
        assert!(!above(margin, 0.3) && !below(margin, 0.3));
        assert!(above(0.3 + 2e-9, 0.3) && below(0.3 - 2e-9, 0.3));
    }

    #[test]
    fn infinite_limits_compare() {
        assert!(above(f64::INFINITY, 0.1) && below(f64::NEG_INFINITY, -0.1));
        assert!(!above(f64::INFINITY, f64::INFINITY));
    }
}
