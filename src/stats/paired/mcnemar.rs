//! McNemar's tests on the discordant tasks, at any count.

use serde::Serialize;

use super::PairedTable;
use crate::stats::special::{binomial_cdf, binomial_pmf, chi2_sf, positive_p};

/// McNemar's exact two-sided p-value (method `mcnemar_exact`; McNemar 1947): 1 where no task is
/// discordant. Tails are computed in log space, so no count overflows; a p that underflows is the
/// smallest normal number, never 0.
pub fn mcnemar_exact(table: PairedTable) -> f64 {
    let (n, least) = (table.discordant(), table.a_only.min(table.b_only));
    positive_p((2.0 * binomial_cdf(least, n, 0.5)).min(1.0))
}

/// McNemar's mid-P two-sided p-value (method `mcnemar_midp`; Fagerland, Lydersen & Laake 2013): 1
/// by definition where no task is discordant. Not guaranteed to keep its level, close to it in
/// practice.
pub fn mcnemar_midp(table: PairedTable) -> f64 {
    let (n, least) = (table.discordant(), table.a_only.min(table.b_only));
    if n == 0 {
        return 1.0;
    }
    let point = binomial_pmf(least, n, 0.5);
    if table.a_only == table.b_only {
        // All other splits are more extreme than the even one.
        return 1.0 - 0.5 * point;
    }
    positive_p(2.0 * binomial_cdf(least, n, 0.5) - point)
}

/// McNemar's chi-square statistics with one degree of freedom.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct McnemarChi2 {
    /// (|b−c|−1)²/(b+c), not below 0; `None` where no task is discordant.
    pub chi2_cc: Option<f64>,
    /// (b−c)²/(b+c).
    pub chi2: Option<f64>,
    /// The p-value of `chi2_cc`.
    pub p_cc: Option<f64>,
    /// The p-value of `chi2`.
    pub p: Option<f64>,
    /// Why there is no value: `no_discordant_task`.
    pub reason: Option<&'static str>,
}

/// McNemar's chi-square tests, with and without continuity correction (method `mcnemar_chi2`), for
/// comparison with other software; the exact test needs no approximation.
///
/// Unreliable under 25 discordant tasks (rule of thumb).
///
/// Source: McNemar 1947; Edwards 1948 (continuity correction).
pub fn mcnemar_chi2(table: PairedTable) -> McnemarChi2 {
    let n = table.discordant() as f64;
    if n == 0.0 {
        let reason = Some("no_discordant_task");
        return McnemarChi2 {
            chi2_cc: None,
            chi2: None,
            p_cc: None,
            p: None,
            reason,
        };
    }
    let gap = table.a_only.abs_diff(table.b_only) as f64;
    let (cc, plain) = ((gap - 1.0).max(0.0).powi(2) / n, gap * gap / n);
    McnemarChi2 {
        chi2_cc: Some(cc),
        chi2: Some(plain),
        p_cc: Some(positive_p(chi2_sf(cc, 1.0))),
        p: Some(positive_p(chi2_sf(plain, 1.0))),
        reason: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(a_only: u64, b_only: u64) -> PairedTable {
        PairedTable {
            both: 0,
            a_only,
            b_only,
            neither: 0,
        }
    }

    #[test]
    fn many_discordant_tasks_do_not_overflow() {
        assert!((mcnemar_exact(table(600, 500)) - 0.00282).abs() < 1e-5);
        assert!((mcnemar_midp(table(600, 500)) - 0.002565).abs() < 1e-6);
        let millions = mcnemar_exact(table(5_000_000, 4_993_000));
        assert!((millions - 0.0268).abs() < 1e-3, "{millions}");
    }

    #[test]
    fn no_p_is_zero() {
        let all = table(10_000_000, 0);
        let chi2 = mcnemar_chi2(all);
        for p in [mcnemar_exact(all), mcnemar_midp(all)] {
            assert_eq!(p, f64::MIN_POSITIVE);
        }
        assert_eq!(
            (chi2.p, chi2.p_cc),
            (Some(f64::MIN_POSITIVE), Some(f64::MIN_POSITIVE))
        );
    }

    #[test]
    fn an_even_split_is_no_evidence() {
        assert_eq!(mcnemar_exact(table(3, 3)), 1.0);
        assert!((mcnemar_midp(table(1, 1)) - 0.75).abs() < 1e-15);
        assert_eq!(
            (mcnemar_exact(table(0, 0)), mcnemar_midp(table(0, 0))),
            (1.0, 1.0)
        );
        assert_eq!(mcnemar_chi2(table(0, 0)).reason, Some("no_discordant_task"));
    }
}
