//! Ratios B/A and means of positive amounts such as cost (METHODS 4.2, 4.3).

use serde::Serialize;

use crate::base::{Error, Result};
use crate::stats::mean::{MeanEstimate, t_mean_of};
use crate::stats::special::{t_quantile, t_two_sided};
use crate::stats::sum::sum;
use crate::stats::tolerance::below;
use crate::stats::{Level, Status};

/// A ratio or mean of positive amounts with limits that were formed on the log scale.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogEstimate {
    /// The ratio or mean; `None` with a `reason`.
    pub estimate: Option<f64>,
    /// Lower limit.
    pub lower: Option<f64>,
    /// Upper limit.
    pub upper: Option<f64>,
    /// Standard error of the logarithm.
    pub log_se: Option<f64>,
    /// Degrees of freedom of the t quantile.
    pub df: Option<f64>,
    /// Effective number of tasks 1/Σ share².
    pub n_eff: Option<f64>,
    /// Two-sided p-value for a ratio of 1, dual to the interval.
    pub p: Option<f64>,
    /// How far the interval may be used.
    pub status: Status,
    /// Why something is missing.
    pub reason: Option<&'static str>,
}

impl LogEstimate {
    fn missing(estimate: Option<f64>, reason: &'static str) -> Self {
        let sound = |v: &f64| v.is_finite();
        if estimate.is_some_and(|v| !sound(&v)) {
            return Self::missing(None, "out_of_range");
        }
        Self {
            estimate,
            lower: None,
            upper: None,
            log_se: None,
            df: None,
            n_eff: None,
            p: None,
            status: Status::NotEstimable,
            reason: Some(reason),
        }
    }

    /// Nothing, `out_of_range`, where some number left the range of floating point: what is then left
    /// (a p of 0, an infinite ratio) would not be what the data say.
    fn in_range(self) -> Self {
        let numbers = [self.lower, self.upper, self.log_se, self.df, self.p];
        let finite = numbers.iter().flatten().all(|v| v.is_finite());
        let positive = self.estimate.is_none_or(|v| v.is_finite() && v > 0.0);
        if finite && positive {
            return self;
        }
        Self::missing(self.estimate.filter(|_| positive), "out_of_range")
    }

    fn new(log: f64, se: f64, df: f64, level: Level) -> Self {
        let half = t_quantile(1.0 - level.tail(), df) * se;
        let found = Self {
            estimate: Some(log.exp()),
            lower: Some((log - half).exp()),
            upper: Some((log + half).exp()),
            log_se: Some(se),
            df: Some(df),
            n_eff: None,
            p: Some(t_two_sided(log / se, df)),
            status: Status::Ok,
            reason: None,
        };
        found.in_range()
    }

    fn from_logs(mean: &MeanEstimate) -> Self {
        let reason = mean.reason.unwrap_or("zero_variance");
        match (mean.estimate, mean.limits()) {
            (Some(log), Some(limits)) => Self {
                estimate: Some(log.exp()),
                lower: Some(limits.lower.exp()),
                upper: Some(limits.upper.exp()),
                log_se: mean.se,
                df: mean.df,
                n_eff: None,
                p: mean.p,
                status: Status::Ok,
                reason: None,
            }
            .in_range(),
            (log, _) => Self::missing(log.map(f64::exp), reason),
        }
    }
}

fn check(values: &[f64]) -> Result<()> {
    match values.iter().position(|v| !(*v >= 0.0 && v.is_finite())) {
        Some(i) => Err(
            Error::input(format!("amount {} of task {i} (from 0)", values[i]))
                .hint("amounts are finite and not negative; what was not measured is left out"),
        ),
        None => Ok(()),
    }
}

fn check_pair(a: &[f64], b: &[f64]) -> Result<()> {
    if a.len() != b.len() {
        return Err(
            Error::input(format!("{} tasks in A, {} in B", a.len(), b.len()))
                .hint("both arms list the same tasks in the same order"),
        );
    }
    check(a)?;
    check(b)
}

/// The standard error of a jackknifed quantity: √((G−1)/G·Σ(J_i−J̄)²).
fn jackknife_se(leave_one_out: impl Iterator<Item = f64> + Clone, count: f64) -> f64 {
    let centre = sum(leave_one_out.clone()) / count;
    let squares = sum(leave_one_out.map(|j| (j - centre) * (j - centre)));
    let se = ((count - 1.0) / count * squares).sqrt();
    // Equal terms leave only rounding.
    if se <= 1e-14 * count { 0.0 } else { se }
}

/// Total of B over total of A on paired tasks, with a jackknife t interval on the log (method
/// `ratio_of_means_jackknife`): the default contrast for tokens, cost and latency.
///
/// `a` and `b` are task means of the same tasks in the same order. Simulated coverage .934–.974
/// for lognormal spread up to 1.5 and 5–200 tasks; .90 where the tasks' own changes have spread 1.
/// `no_common_tasks` without tasks,
/// `too_few_units` with one, `zero_total` where a total, or all but one task of it, is 0,
/// `zero_variance` where all tasks have the same ratio, `out_of_range` where totals, their ratio or
/// its limits are beyond floating point.
///
/// # Errors
///
/// If the arms differ in length or an amount is negative or not finite.
pub fn ratio_of_means(a: &[f64], b: &[f64], level: Level) -> Result<LogEstimate> {
    check_pair(a, b)?;
    if a.is_empty() {
        return Ok(LogEstimate::missing(None, "no_common_tasks"));
    }
    let (sa, sb) = (sum(a.iter().copied()), sum(b.iter().copied()));
    if !(sa.is_finite() && sb.is_finite()) {
        return Ok(LogEstimate::missing(None, "out_of_range"));
    }
    if sa <= 0.0 {
        return Ok(LogEstimate::missing(None, "zero_total"));
    }
    if a.len() < 2 {
        return Ok(LogEstimate::missing(Some(sb / sa), "too_few_units"));
    }
    let pairs = || a.iter().zip(b);
    let left = |total: f64, part: f64| total - part;
    if pairs().any(|(&x, &y)| left(sa, x) <= 1e-14 * sa || left(sb, y) <= 1e-14 * sb) {
        return Ok(LogEstimate::missing(Some(sb / sa), "zero_total"));
    }
    let jackknife = pairs().map(|(&x, &y)| (left(sb, y) / left(sa, x)).ln());
    let se = jackknife_se(jackknife, a.len() as f64);
    if se == 0.0 {
        return Ok(LogEstimate::missing(Some(sb / sa), "zero_variance"));
    }
    let n_eff = 1.0 / sum(pairs().map(|(&x, &y)| (0.5 * (x / sa + y / sb)).powi(2)));
    let ratio = LogEstimate::new((sb / sa).ln(), se, (n_eff - 1.0).max(1.0), level);
    Ok(LogEstimate {
        n_eff: Some(n_eff).filter(|n| n.is_finite()),
        ..ratio
    })
}

/// log(y/x) of positive amounts, also where the quotient itself is too large or too small to hold.
fn log_ratio(x: f64, y: f64) -> f64 {
    let quotient = y / x;
    if quotient.is_normal() {
        quotient.ln()
    } else {
        y.ln() - x.ln()
    }
}

/// The typical task's ratio: exp of the mean log(B_i/A_i) with a t interval (method
/// `geometric_mean_ratio`). Says nothing about total spend.
///
/// `nonpositive_amount` where some amount is 0, `out_of_range` where the ratio or its limits are
/// beyond floating point.
///
/// Unreliable under five tasks (rule of thumb), with amounts near 0 (their logarithms dominate), and where
/// trials per task differ much: the mean of few trials has the lower logarithm.
///
/// # Errors
///
/// As [`ratio_of_means`].
///
/// Source: Student 1908, on logarithms.
pub fn geometric_mean_ratio(a: &[f64], b: &[f64], level: Level) -> Result<LogEstimate> {
    check_pair(a, b)?;
    if a.is_empty() {
        return Ok(LogEstimate::missing(None, "no_common_tasks"));
    }
    if a.iter().chain(b).any(|&v| v <= 0.0) {
        return Ok(LogEstimate::missing(None, "nonpositive_amount"));
    }
    let logs = a.iter().zip(b).map(|(x, y)| log_ratio(*x, *y));
    Ok(LogEstimate::from_logs(&t_mean_of(logs, level)))
}

/// The mean amount with a jackknife t interval on the log (method `mean_log_jackknife`), n_w − 1
/// degrees of freedom, n_w = 1/Σ(x_i/Σx)².
///
/// Totals are paid, so the mean is what matters; no method rescues a heavy tail (lognormal spread
/// 1.5 with 50 tasks covered .89). `not_estimable` with fewer than five effective tasks
/// (`few_effective_units`).
///
/// # Errors
///
/// If an amount is negative or not finite.
pub fn mean_amount(values: &[f64], level: Level) -> Result<LogEstimate> {
    check(values)?;
    let (count, total) = (values.len() as f64, sum(values.iter().copied()));
    if values.is_empty() {
        return Ok(LogEstimate::missing(None, "no_valid_trials"));
    }
    if !total.is_finite() {
        return Ok(LogEstimate::missing(None, "out_of_range"));
    }
    let mean = total / count;
    if total <= 0.0 {
        return Ok(LogEstimate::missing(Some(mean), "zero_total"));
    }
    let n_w = 1.0 / sum(values.iter().map(|x| (x / total).powi(2)));
    if below(n_w, 5.0) {
        let few = LogEstimate::missing(Some(mean), "few_effective_units");
        return Ok(LogEstimate {
            n_eff: Some(n_w),
            ..few
        });
    }
    let jackknife = values.iter().map(|x| ((total - x) / (count - 1.0)).ln());
    let se = jackknife_se(jackknife, count);
    if se == 0.0 {
        return Ok(LogEstimate::missing(Some(mean), "zero_variance"));
    }
    let p = LogEstimate::new(mean.ln(), se, n_w - 1.0, level);
    // A p-value for a mean of 1 would mean nothing.
    Ok(LogEstimate {
        n_eff: Some(n_w),
        p: None,
        ..p
    })
}

/// The geometric mean with a t interval on the logs (method `geometric_mean`): the typical task's
/// amount, not what is paid in total. Simulated coverage .94–.96.
///
/// # Errors
///
/// If an amount is negative or not finite.
pub fn geometric_mean(values: &[f64], level: Level) -> Result<LogEstimate> {
    check(values)?;
    if values.is_empty() {
        return Ok(LogEstimate::missing(None, "no_valid_trials"));
    }
    if values.iter().any(|&v| v <= 0.0) {
        return Ok(LogEstimate::missing(None, "nonpositive_amount"));
    }
    let logs = values.iter().map(|v| v.ln());
    Ok(LogEstimate {
        p: None,
        ..LogEstimate::from_logs(&t_mean_of(logs, level))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanging_the_arms_inverts_the_ratio() {
        let (a, b) = ([1.2, 0.5, 3.3, 0.9, 7.5], [1.5, 0.4, 4.1, 1.0, 9.9]);
        let level = Level::p95();
        let ab = ratio_of_means(&a, &b, level).unwrap();
        let ba = ratio_of_means(&b, &a, level).unwrap();
        assert!((ab.lower.unwrap() * ba.upper.unwrap() - 1.0).abs() < 1e-12);
        assert!((ab.p.unwrap() - ba.p.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_estimated_says_why() {
        let level = Level::p95();
        let reason = |a: &[f64], b: &[f64]| ratio_of_means(a, b, level).unwrap().reason;
        assert_eq!(reason(&[], &[]), Some("no_common_tasks"));
        assert_eq!(reason(&[1.0], &[2.0]), Some("too_few_units"));
        assert_eq!(reason(&[0.0, 0.0], &[2.0, 1.0]), Some("zero_total"));
        assert_eq!(reason(&[1.0, 3.0], &[2.0, 6.0]), Some("zero_variance"));
        assert!(ratio_of_means(&[1.0], &[-1.0], level).is_err());
        let heavy = mean_amount(&[1.0, 1.0, 1.0, 1.0, 1.0, 900.0], level).unwrap();
        assert_eq!(
            (heavy.lower, heavy.reason),
            (None, Some("few_effective_units"))
        );
    }

    #[test]
    fn amounts_beyond_floating_point_are_out_of_range() {
        let level = Level::p95();
        let nothing = |got: LogEstimate| {
            let numbers = [got.estimate, got.lower, got.upper, got.p];
            assert_eq!(numbers, [None; 4], "{got:?}");
            assert_eq!(
                (got.status, got.reason),
                (Status::NotEstimable, Some("out_of_range"))
            );
        };
        let (huge, large) = ([1e308; 3], [1e308, 1e307, 1e308]);
        let (small, wide) = ([1e-320, 2e-320, 1e-320], [1e300, 2e300, 3e300]);
        nothing(ratio_of_means(&huge, &large, level).unwrap());
        nothing(ratio_of_means(&small, &wide, level).unwrap());
        nothing(ratio_of_means(&wide, &small, level).unwrap());
        nothing(geometric_mean_ratio(&[1e-300; 2], &[1e300; 2], level).unwrap());
        nothing(geometric_mean_ratio(&small, &wide, level).unwrap());
        nothing(mean_amount(&huge, level).unwrap());
        // A quotient that does not fit is no obstacle where its logarithm does.
        let (a, b) = ([1e-300, 1e300], [1e300, 1e-300]);
        let even = geometric_mean_ratio(&a, &b, level).unwrap();
        assert_eq!(even.estimate, Some(1.0));
    }

    #[test]
    fn a_mean_of_many_tasks_has_an_interval() {
        let values: Vec<f64> = (1..=40).map(f64::from).collect();
        let got = mean_amount(&values, Level::p95()).unwrap();
        assert!((got.estimate.unwrap() - 20.5).abs() < 1e-12);
        assert!(got.lower.unwrap() < 20.5 && got.upper.unwrap() > 20.5 && got.p.is_none());
    }
}
