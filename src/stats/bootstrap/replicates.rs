//! Replicates of a statistic, and what can be read from them.

use rayon::prelude::*;

use super::{Pool, Range, Resampling};
use crate::base::Interval;
use crate::stats::level::Level;
use crate::stats::undefined::{Defined, Undefined};

/// Fewer units than this carry no information about their own spread.
const FEWEST_UNITS: usize = 2;

/// The replicates of one statistic, sorted.
///
/// A replicate on which the statistic is undefined is counted and never dropped silently: dropping
/// would condition the interval on the good luck of being defined.
#[derive(Clone, Debug)]
pub struct Replicates {
    /// The statistic on the units themselves.
    pub estimate: f64,
    /// How many replicates left the statistic undefined.
    pub undefined: usize,
    units: usize,
    sorted: Vec<f64>,
}

impl Replicates {
    /// Draws the replicates on all threads; replicate `i` uses the `i`th child of the seed, so the
    /// result is the same at any thread count.
    ///
    /// The statistic receives how often each distinct value of the pool was drawn, and answers
    /// `None` where it is undefined.
    ///
    /// # Errors
    ///
    /// `too_few_units` under two units, `estimate_undefined` if the statistic is undefined on the
    /// units themselves, `no_defined_replicate` if it is undefined on every resample.
    pub fn draw<F>(pool: &Pool, plan: &Resampling, statistic: F) -> Defined<Self>
    where
        F: Fn(&[u32]) -> Option<f64> + Sync,
    {
        if pool.units() < FEWEST_UNITS {
            return Err(Undefined("too_few_units"));
        }
        let estimate = statistic(pool.multiplicity()).ok_or(Undefined("estimate_undefined"))?;
        let root = plan.seed.child("bootstrap");
        let drawn: Vec<Option<f64>> = (0..plan.replicates)
            .into_par_iter()
            .with_min_len(16)
            .map_init(
                || vec![0u32; pool.distinct()],
                |counts, index| {
                    pool.draw(
                        &mut root.nth("replicate", u64::from(index)).stream(),
                        counts,
                    );
                    statistic(counts)
                },
            )
            .collect();
        let mut sorted: Vec<f64> = drawn
            .into_iter()
            .flatten()
            .filter(|v| !v.is_nan())
            .collect();
        if sorted.is_empty() {
            return Err(Undefined("no_defined_replicate"));
        }
        sorted.sort_unstable_by(f64::total_cmp);
        let undefined = plan.replicates as usize - sorted.len();
        Ok(Self {
            estimate,
            undefined,
            units: pool.units(),
            sorted,
        })
    }

    /// The defined replicates in ascending order.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// How many replicates were drawn.
    pub fn drawn(&self) -> usize {
        self.sorted.len() + self.undefined
    }

    /// The percentile interval (Efron 1979), method id `bootstrap_percentile`.
    ///
    /// Undefined replicates count as the lowest possible value for the lower limit and as the
    /// highest for the upper one. Unreliable with few units or near the end of a scale: a resample
    /// cannot show a failure that was not sampled.
    ///
    /// # Errors
    ///
    /// `no_variation` if all replicates agree: a width of zero is not evidence. `too_few_units` where
    /// even one sign in all units would not be rare at this level (under six units at 95 %).
    pub fn percentile(&self, level: Level, range: Range) -> Defined<Interval> {
        let tail = level.tail();
        self.between(tail, 1.0 - tail, level, range, "bootstrap_percentile")
    }

    /// The interval between two quantiles of the replicates.
    pub(super) fn between(
        &self,
        low: f64,
        high: f64,
        level: Level,
        range: Range,
        method: &str,
    ) -> Defined<Interval> {
        if self.sorted.first() == self.sorted.last() {
            return Err(Undefined("no_variation"));
        }
        if self.least_p() > level.alpha() + 1e-12 {
            return Err(Undefined("too_few_units"));
        }
        let low = self.quantile(low, Side::Low, range);
        let high = self.quantile(high, Side::High, range);
        Interval::new(low, high, level.conf(), method).ok_or(Undefined("limits_exchanged"))
    }

    /// Linear interpolation between order statistics; infinite neighbours give the wider side.
    fn quantile(&self, q: f64, side: Side, range: Range) -> f64 {
        let position = q.clamp(0.0, 1.0) * (self.drawn() - 1) as f64;
        let (below, share) = (position.floor() as usize, position.fract());
        let a = self.ranked(below, side, range);
        if share == 0.0 {
            return a;
        }
        let b = self.ranked(below + 1, side, range);
        match (a.is_finite() && b.is_finite(), side) {
            (true, _) => a + share * (b - a),
            (false, Side::Low) => a,
            (false, Side::High) => b,
        }
    }

    /// The replicate at a rank, undefined ones at the far end of the range.
    fn ranked(&self, rank: usize, side: Side, range: Range) -> f64 {
        match side {
            Side::Low if rank < self.undefined => range.low,
            Side::Low => self.sorted[rank - self.undefined],
            Side::High => self.sorted.get(rank).copied().unwrap_or(range.high),
        }
    }

    /// Two-sided p for a null value, 2·min over sides of (1 + #)/(1 + B), at most 1 and never 0
    /// (Davison & Hinkley 1997, 4.2), and never below what a sign test of the units could reach.
    /// Undefined replicates count against both sides.
    pub fn p_value(&self, null: f64) -> f64 {
        let tolerance = 1e-9 * null.abs().max(1.0);
        let below = self.sorted.partition_point(|v| *v <= null + tolerance);
        let above = self.sorted.len() - self.sorted.partition_point(|v| *v < null - tolerance);
        let fewest = below.min(above) + self.undefined;
        let p = 2.0 * (1.0 + fewest as f64) / (1.0 + self.drawn() as f64);
        p.max(self.least_p()).min(1.0)
    }

    /// 2/2ⁿ for n units: what an exact sign test gives if all of them point one way. A resample of
    /// two units that agree in sign would otherwise claim far more.
    fn least_p(&self) -> f64 {
        2.0 * (-(self.units as f64)).exp2()
    }

    /// Share of replicates below the estimate, ties counted half.
    pub(super) fn share_below(&self) -> f64 {
        let below = self.sorted.partition_point(|v| *v < self.estimate);
        let up_to = self.sorted.partition_point(|v| *v <= self.estimate);
        (below + up_to) as f64 / (2 * self.sorted.len()) as f64
    }
}

#[derive(Clone, Copy)]
enum Side {
    Low,
    High,
}
