//! Limits of a difference from the limits of its parts.

use crate::stats::Limits;

/// An estimate with its limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    /// The estimate, inside its limits.
    pub estimate: f64,
    /// Its limits.
    pub limits: Limits,
}

/// Limits of b − a by square-and-add (MOVER; Newcombe 1998, Zou & Donner 2008) for estimates whose
/// errors are independent.
///
/// Two arms on the same tasks are not independent; for them MOVER–Wilson covered as little as .69
/// (METHODS 6.2). Never add strata of SEN-CP or BP-Hall limits with it: coverage fell to .914.
///
/// # Examples
///
/// Two flawless arms of 10 and 12 independent runs:
///
/// ```
/// use assize::stats::{Level, mover::{Bounded, mover_difference}, proportion::wilson};
/// let arm = |n: f64| Bounded { estimate: 1.0, limits: wilson(n, n, Level::p95()) };
/// let limits = mover_difference(arm(10.0), arm(12.0));
/// assert!((limits.lower + 0.2425).abs() < 1e-4 && (limits.upper - 0.2775).abs() < 1e-4);
/// ```
pub fn mover_difference(a: Bounded, b: Bounded) -> Limits {
    let difference = b.estimate - a.estimate;
    let below = |x: Bounded| x.estimate - x.limits.lower;
    let above = |x: Bounded| x.limits.upper - x.estimate;
    Limits {
        lower: difference - below(b).hypot(above(a)),
        upper: difference + above(b).hypot(below(a)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanging_the_parts_mirrors_the_limits() {
        let bounded = |estimate, lower, upper| Bounded {
            estimate,
            limits: Limits { lower, upper },
        };
        let (a, b) = (bounded(0.3, 0.1, 0.6), bounded(0.7, 0.4, 0.8));
        let (ab, ba) = (mover_difference(a, b), mover_difference(b, a));
        assert_eq!((ab.lower, ab.upper), (-ba.upper, -ba.lower));
        let exact = bounded(0.3, 0.3, 0.3);
        let shifted = mover_difference(exact, b);
        assert!((shifted.lower - 0.1).abs() < 1e-12 && (shifted.upper - 0.5).abs() < 1e-12);
    }
}
