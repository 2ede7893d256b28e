//! Intervals for one proportion with real counts: Clopper–Pearson, Wilson, Jeffreys, mid-P.
//!
//! All take x successes of n observations, 0 ≤ x ≤ n and n > 0, both real: effective sample sizes
//! are not whole. They hold for independent observations only; repeated trials of one task are not
//! (see [`crate::stats::clustered`]).

use crate::stats::special::{beta_cdf, beta_quantile};
use crate::stats::{Level, Limits};

/// Clopper–Pearson limits (method `clopper_pearson`; Clopper & Pearson 1934) with real arguments.
///
/// Never below the nominal level for whole counts; wide for few observations. Lower limit 0 at
/// x = 0, upper limit 1 at x = n.
///
/// # Examples
///
/// ```
/// use assize::stats::{Level, proportion::clopper_pearson};
/// let limits = clopper_pearson(10.0, 10.0, Level::p95());
/// assert!((limits.lower - 0.025f64.powf(0.1)).abs() < 1e-12);
/// assert_eq!(limits.upper, 1.0);
/// ```
pub fn clopper_pearson(x: f64, n: f64, level: Level) -> Limits {
    let rest = (n - x).max(0.0);
    let tail = level.tail();
    let lower = if x <= 0.0 {
        0.0
    } else {
        beta_quantile(tail, x, rest + 1.0).x()
    };
    // The upper limit is one minus the lower limit of the failures, which keeps its digits.
    let upper = if rest <= 0.0 {
        1.0
    } else {
        beta_quantile(tail, rest, x.max(0.0) + 1.0).complement()
    };
    Limits { lower, upper }
}

/// Whether the upper Clopper–Pearson limit reaches `share` (0 < share < 1), without inverting.
pub(crate) fn upper_reaches(x: f64, n: f64, share: f64, level: Level) -> bool {
    let rest = (n - x).max(0.0);
    rest <= 0.0 || beta_cdf(rest, x.max(0.0) + 1.0, 1.0 - share) >= level.tail()
}

/// Wilson's score limits (method `wilson`; Wilson 1927), exactly 0 at x = 0 and 1 at x = n.
///
/// Close to nominal on average, below it for some rates near 0 and 1.
pub fn wilson(x: f64, n: f64, level: Level) -> Limits {
    let z2 = level.z() * level.z();
    let p = x / n;
    let centre = (x + z2 / 2.0) / (n + z2);
    let half = level.z() / (n + z2) * (n * p * (1.0 - p).max(0.0) + z2 / 4.0).sqrt();
    Limits {
        lower: if x <= 0.0 {
            0.0
        } else {
            (centre - half).max(0.0)
        },
        upper: if x >= n {
            1.0
        } else {
            (centre + half).min(1.0)
        },
    }
}

/// Jeffreys' limits (method `jeffreys`; Brown, Cai & DasGupta 2001): quantiles of
/// Beta(x+½, n−x+½), with 0 at x = 0 and 1 at x = n. Nominal on average only.
pub fn jeffreys(x: f64, n: f64, level: Level) -> Limits {
    let (a, b) = (x + 0.5, n - x + 0.5);
    let tail = level.tail();
    Limits {
        lower: if x <= 0.0 {
            0.0
        } else {
            beta_quantile(tail, a, b).x()
        },
        upper: if x >= n {
            1.0
        } else {
            beta_quantile(tail, b, a).complement()
        },
    }
}

/// Mid-P limits (method `clopper_pearson_midp`; Lancaster 1961): Clopper–Pearson with half of the
/// observed point's probability. Nominal on average only.
pub fn midp(x: f64, n: f64, level: Level) -> Limits {
    let rest = (n - x).max(0.0);
    let tail = level.tail();
    Limits {
        lower: midp_lower(x, rest, tail),
        upper: 1.0 - midp_lower(rest, x.max(0.0), tail),
    }
}

/// The p at which the mid-P upper tail of x successes and `rest` failures equals `tail`.
fn midp_lower(x: f64, rest: f64, tail: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let mid = |p: f64| {
        let beyond = if rest <= 0.0 {
            0.0
        } else {
            beta_cdf(x + 1.0, rest, p)
        };
        0.5 * (beta_cdf(x, rest + 1.0, p) + beyond)
    };
    // The tail rises in p, and Clopper–Pearson's limit lies below the root.
    let mut low = beta_quantile(tail, x, rest + 1.0).x();
    let mut high = if rest <= 0.0 {
        1.0
    } else {
        beta_quantile(tail, x + 1.0, rest).x()
    };
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if mid(middle) < tail {
            low = middle
        } else {
            high = middle
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_ten_million_keep_their_digits() {
        // mpmath at 60 digits; scipy 1.17.1 agrees to 1e-14 and 3e-11.
        let rare = clopper_pearson(3.0, 1e7, Level::p95());
        assert!(
            (rare.lower / 6.186721656250593e-8 - 1.0).abs() < 1e-12,
            "{rare:?}"
        );
        assert!(
            (rare.upper / 8.767270541579751e-7 - 1.0).abs() < 1e-12,
            "{rare:?}"
        );
        let half = clopper_pearson(5e6, 1e7, Level::p95());
        assert!((half.lower + half.upper - 1.0).abs() < 1e-13);
    }

    #[test]
    fn limits_nest_as_they_should() {
        for (x, n) in [(0.0, 8.0), (3.0, 10.0), (2.4, 7.7), (9.9, 10.0), (5.0, 5.0)] {
            let level = Level::p95();
            let (wide, narrow) = (clopper_pearson(x, n, level), midp(x, n, level));
            assert!(
                wide.lower <= narrow.lower && narrow.upper <= wide.upper,
                "{x} {n}"
            );
            for limits in [wide, narrow, wilson(x, n, level), jeffreys(x, n, level)] {
                assert!(
                    limits.lower <= x / n && x / n <= limits.upper,
                    "{x} {n} {limits:?}"
                );
            }
        }
    }

    #[test]
    fn reaching_a_share_is_the_inverted_limit() {
        let limits = clopper_pearson(3.3, 9.1, Level::p95());
        assert!(upper_reaches(3.3, 9.1, limits.upper - 1e-9, Level::p95()));
        assert!(!upper_reaches(3.3, 9.1, limits.upper + 1e-9, Level::p95()));
        assert!(upper_reaches(5.0, 5.0, 0.999, Level::p95()));
    }
}
