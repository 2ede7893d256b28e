//! Quantiles by inverting SEN-CP, in one sort and one pass.

use super::{QuantileEstimate, check};
use crate::base::Result;
use crate::stats::clustered::{Shrinkage, Widening};
use crate::stats::proportion::upper_reaches;
use crate::stats::sum::{Sum, sum};
use crate::stats::tolerance::{at_least, at_most};
use crate::stats::units::{Units, Weights, snap_share};
use crate::stats::{Level, Limits, Status};

/// The default interval for a quantile with repeated trials (method
/// `quantile_clustered_inversion`): all q for which τ lies inside the SEN-CP interval of F̂(q).
///
/// With one trial per task it is the exact order-statistic interval; simulated minima ≥ .95. A
/// finite upper limit needs about 6, 36, 72 units for the median, p90, p95. Takes one sort and one
/// pass, with two incomplete beta functions per distinct value.
///
/// `trials` holds each task's observed values; censored values do not belong here.
///
/// # Errors
///
/// If τ is not between 0 and 1, a value is not finite, or as [`Units::new`].
///
/// Source: METHODS 4.1, after Thompson 1936; Woodruff 1952.
pub fn quantile_clustered(
    trials: &[Vec<f64>],
    clusters: Option<&[u32]>,
    weights: &Weights,
    tau: f64,
    level: Level,
) -> Result<QuantileEstimate> {
    check(tau, trials.iter().flatten().copied())?;
    let counts: Vec<u32> = trials.iter().map(|t| t.len() as u32).collect();
    let units = Units::new(&counts, clusters, weights)?;
    if units.is_empty() {
        return Ok(QuantileEstimate::missing());
    }
    let status = if units.too_few() {
        Status::NotEstimable
    } else if units.few_and_unequal() {
        Status::Exploratory
    } else {
        Status::Ok
    };
    let scan = Scan::new(&units, &counts, level);
    let found = scan.run(sorted_mass(&units, trials), tau);
    Ok(QuantileEstimate {
        estimate: Some(found.point),
        lower: Some(found.limits.lower),
        upper: Some(found.limits.upper),
        status,
        reason: None,
        n_c: units.n_c,
        units: units.len(),
    })
}

/// One trial's value, weight and unit.
struct Mass {
    value: f64,
    weight: f64,
    unit: u32,
}

fn sorted_mass(units: &Units, trials: &[Vec<f64>]) -> Vec<Mass> {
    let mut all = Vec::with_capacity(units.kept.iter().map(|&i| trials[i].len()).sum());
    for (position, &task) in units.kept.iter().enumerate() {
        let weight = units.weights[position] / trials[task].len() as f64;
        let unit = units.unit_of[position];
        all.extend(trials[task].iter().map(|&value| Mass {
            value,
            weight,
            unit,
        }));
    }
    all.sort_by(|a, b| a.value.total_cmp(&b.value));
    all
}

struct Found {
    point: f64,
    limits: Limits,
}

/// F̂ and its variance, kept up to date while q runs through the sorted values.
struct Scan<'a> {
    units: &'a Units,
    level: Level,
    widening: Widening,
    /// n_c Σ w_i²/m_i.
    lo: f64,
    /// A_u = Σ_{i∈u} w_i·(share of the task's trials ≤ q).
    mass: Vec<f64>,
    /// Σ c_u A_u², Σ c_u A_u W_u and Σ c_u W_u² with c_u = 1, or 1/(1−W_u) if unequal.
    squares: [f64; 3],
    share: Sum,
}

impl<'a> Scan<'a> {
    fn new(units: &'a Units, counts: &[u32], level: Level) -> Self {
        let widening = Widening::of(units, level);
        let pairs = units.weights.iter().zip(&units.kept);
        let lo = units.n_c * sum(pairs.map(|(w, &i)| w * w / f64::from(counts[i])));
        let fixed = sum(units
            .unit_weights
            .iter()
            .map(|&w| widening.share(w) * w * w));
        let mass = vec![0.0; units.len()];
        Self {
            units,
            level,
            widening,
            lo,
            mass,
            squares: [0.0, 0.0, fixed],
            share: Sum::default(),
        }
    }

    fn add(&mut self, trial: &Mass) {
        let unit = trial.unit as usize;
        let weight = self.units.unit_weights[unit];
        let c = self.widening.share(weight);
        let before = self.mass[unit];
        self.mass[unit] += trial.weight;
        self.squares[0] += c * trial.weight * (2.0 * before + trial.weight);
        self.squares[1] += c * trial.weight * weight;
        self.share.add(trial.weight);
    }

    /// The SEN-CP steps for F̂(q): v = Σ c_u (A_u − W_u F̂)².
    fn shrinkage(&self) -> Shrinkage {
        let p = snap_share(self.share.value());
        let [aa, aw, ww] = self.squares;
        let v = (aa - 2.0 * p * aw + p * p * ww).max(0.0);
        Shrinkage::new(p, self.units.n_c, self.lo, v, self.widening)
    }

    /// Whether the upper limit of F̂(q) is at least τ.
    fn upper_reaches(&self, tau: f64) -> bool {
        let s = self.shrinkage();
        at_least(s.floor(self.level).upper, tau)
            || upper_reaches(
                s.x(),
                s.n_eff,
                (tau - 1e-9).max(f64::MIN_POSITIVE),
                self.level,
            )
    }

    /// Whether the lower limit of F̂(q) is at most τ: the mirror of [`Self::upper_reaches`].
    fn lower_reaches(&self, tau: f64) -> bool {
        let s = self.shrinkage();
        let rest = s.n_eff - s.x();
        at_most(s.floor(self.level).lower, tau)
            || upper_reaches(
                rest,
                s.n_eff,
                (1.0 - tau - 1e-9).max(f64::MIN_POSITIVE),
                self.level,
            )
    }

    fn run(mut self, trials: Vec<Mass>, tau: f64) -> Found {
        let mut lower = self.upper_reaches(tau).then_some(f64::NEG_INFINITY);
        let mut point = None;
        // The upper limit is the value after the last whose lower limit is at most τ.
        let (mut upper, mut after_last) = (trials[0].value, true);
        for group in trials.chunk_by(|a, b| a.value == b.value) {
            let value = group[0].value;
            if after_last {
                upper = value;
            }
            group.iter().for_each(|trial| self.add(trial));
            if lower.is_none() && self.upper_reaches(tau) {
                lower = Some(value);
            }
            if point.is_none() && at_least(self.share.value(), tau) {
                point = Some(value);
            }
            after_last = self.share.value() <= tau || self.lower_reaches(tau);
        }
        let last = trials[trials.len() - 1].value;
        Found {
            point: point.unwrap_or(last),
            limits: Limits {
                lower: lower.unwrap_or(last),
                upper: if after_last { f64::INFINITY } else { upper },
            },
        }
    }
}
