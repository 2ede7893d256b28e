//! The 2×2 table of one trial per task, and its closed-form intervals.

use serde::Serialize;

use crate::stats::proportion::wilson;
use crate::stats::{Level, Limits};

/// Counts of tasks by who passed, one trial per task and arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairedTable {
    /// Both arms passed.
    pub both: u64,
    /// Only A passed.
    pub a_only: u64,
    /// Only B passed.
    pub b_only: u64,
    /// Neither passed.
    pub neither: u64,
}

impl PairedTable {
    /// Number of tasks.
    pub fn total(self) -> u64 {
        self.both + self.a_only + self.b_only + self.neither
    }

    /// Number of discordant tasks.
    pub fn discordant(self) -> u64 {
        self.a_only + self.b_only
    }

    /// The difference A − B of the pass rates; `None` without tasks.
    pub fn difference(self) -> Option<f64> {
        let n = self.total();
        (n > 0).then(|| (self.a_only as f64 - self.b_only as f64) / n as f64)
    }
}

/// A difference A − B from a 2×2 table (the orientation of the source tables).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TableDifference {
    /// A − B; `None` with a `reason`.
    pub estimate: Option<f64>,
    /// Lower limit in \[−1, 1\].
    pub lower: Option<f64>,
    /// Upper limit in \[−1, 1\].
    pub upper: Option<f64>,
    /// Why there is no value.
    pub reason: Option<&'static str>,
}

impl TableDifference {
    pub(super) fn new(table: PairedTable, limits: impl FnOnce(f64) -> Limits) -> Self {
        let Some(estimate) = table.difference() else {
            let reason = Some("no_common_tasks");
            return Self {
                estimate: None,
                lower: None,
                upper: None,
                reason,
            };
        };
        let limits = limits(estimate).clipped(-1.0, 1.0);
        Self {
            estimate: Some(estimate),
            lower: Some(limits.lower),
            upper: Some(limits.upper),
            reason: None,
        }
    }
}

/// Bonett and Price's (2012) adjusted Wald interval (method `bonett_price`), A − B.
///
/// One task is added to each discordant cell. Simulated minimum .928.
///
/// Unreliable at rates near 1 with tasks that nearly all agree, and with several trials per task,
/// which it cannot take.
pub fn bonett_price(table: PairedTable, level: Level) -> TableDifference {
    TableDifference::new(table, |_| {
        let n = table.total() as f64 + 2.0;
        let a = (table.a_only as f64 + 1.0) / n;
        let b = (table.b_only as f64 + 1.0) / n;
        let half = level.z() * ((a + b - (a - b).powi(2)) / n).sqrt();
        Limits {
            lower: a - b - half,
            upper: a - b + half,
        }
    })
}

/// Newcombe's (1998) method 10 (method `newcombe_paired_diff`), A − B: Wilson limits of both arms,
/// square-and-add with a continuity-corrected correlation.
pub fn newcombe(table: PairedTable, level: Level) -> TableDifference {
    TableDifference::new(table, |difference| {
        let n = table.total() as f64;
        let (p1, p2) = (
            (table.both + table.a_only) as f64,
            (table.both + table.b_only) as f64,
        );
        let (first, second) = (wilson(p1, n, level), wilson(p2, n, level));
        let phi = correlation(table);
        let half = |d1: f64, d2: f64| (d1 * d1 - 2.0 * phi * d1 * d2 + d2 * d2).max(0.0).sqrt();
        let lower = half(p1 / n - first.lower, second.upper - p2 / n);
        let upper = half(first.upper - p1 / n, p2 / n - second.lower);
        Limits {
            lower: difference - lower,
            upper: difference + upper,
        }
    })
}

/// φ̂ with Newcombe's correction of n/2; 0 where a margin is empty.
fn correlation(table: PairedTable) -> f64 {
    let [e, f, g, h] =
        [table.both, table.a_only, table.b_only, table.neither].map(|count| count as f64);
    let margins = (e + f) * (g + h) * (e + g) * (f + h);
    if margins == 0.0 {
        return 0.0;
    }
    let excess = e * h - f * g;
    let half = (e + f + g + h) / 2.0;
    let corrected = if excess > 0.0 {
        (excess - half).max(0.0)
    } else {
        excess
    };
    corrected / margins.sqrt()
}
