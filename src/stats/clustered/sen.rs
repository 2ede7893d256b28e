//! SEN-CP: shrunk effective-n Clopper–Pearson with a floor for unseen collapse (METHODS 1.4).

use super::RateEstimate;
use crate::stats::proportion::{clopper_pearson, midp, wilson};
use crate::stats::sample::Clustered;
use crate::stats::special::t_quantile;
use crate::stats::sum::sum;
use crate::stats::units::Units;
use crate::stats::{Level, Limits, Status};

/// What unequal weights change: R is not capped, and R_s is multiplied by (t_ν/z)².
#[derive(Clone, Copy, Debug)]
pub(crate) struct Widening {
    factor: f64,
    unequal: bool,
}

impl Widening {
    pub(crate) fn of(units: &Units, level: Level) -> Self {
        if !units.unequal {
            return Self {
                factor: 1.0,
                unequal: false,
            };
        }
        let t = t_quantile(1.0 - level.tail(), (units.n_c - 1.0).max(1.0));
        Self {
            factor: (t / level.z()).powi(2),
            unequal: true,
        }
    }

    /// The factor on e_u² of a unit with weight W_u.
    pub(crate) fn share(self, unit_weight: f64) -> f64 {
        if self.unequal {
            1.0 / (1.0 - unit_weight)
        } else {
            1.0
        }
    }
}

/// The steps from p̂ to the effective number of observations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shrinkage {
    p: f64,
    q: f64,
    n_c: f64,
    r: f64,
    k: f64,
    r_s: f64,
    pub(crate) n_eff: f64,
}

impl Shrinkage {
    /// From a snapped share p, n_c, the least variance `lo` = n_c Σw²/m, and v = Σ e_u².
    pub(crate) fn new(p: f64, n_c: f64, lo: f64, v: f64, widening: Widening) -> Self {
        let q = 1.0 - p;
        let r = if p == 0.0 || q == 0.0 {
            1.0
        } else {
            let r = lo.max(v.max(0.0) * n_c / (p * q));
            if widening.unequal { r } else { r.min(1.0) }
        };
        let k = n_c * p.min(q);
        let r_s = (k * r + 1.0) / (k + 1.0) * widening.factor;
        let n_eff = if widening.unequal {
            (n_c / r_s).max(0.2)
        } else {
            n_c / r_s
        };
        Self {
            p,
            q,
            n_c,
            r,
            k,
            r_s,
            n_eff,
        }
    }

    /// Successes among the effective observations.
    pub(crate) fn x(&self) -> f64 {
        self.p * self.n_eff
    }

    /// Where the floor puts the limits: a share 1 − (α/2)^{1/n_c} of units could be of a kind that
    /// was not yet seen.
    pub(crate) fn floor(&self, level: Level) -> Limits {
        let f = level.tail().powf(1.0 / self.n_c);
        Limits {
            lower: self.p * f,
            upper: 1.0 - self.q * f,
        }
    }
}

fn shrink(sample: &Clustered, level: Level) -> Option<Shrinkage> {
    let (units, p) = (&sample.units, sample.estimate()?);
    let widening = Widening::of(units, level);
    let pairs = || units.weights.iter().zip(&sample.trials);
    let lo = units.n_c * sum(pairs().map(|(w, &m)| w * w / f64::from(m)));
    let errors = units.sums(|i| units.weights[i] * (sample.means[i] - p));
    let v = sum(errors
        .zip(&units.unit_weights)
        .map(|(e, &w)| e * e * widening.share(w)));
    Some(Shrinkage::new(p, units.n_c, lo, v, widening))
}

/// SEN-CP (methods `sen_cp`, and `sen_cp_w` where the weights are unequal): the default interval
/// for a rate.
///
/// Own construction: Kish's (1965) design effect as in Korn & Graubard (1998), shrunk towards one
/// observation per unit, Clopper–Pearson at the effective sample size, and a floor for kinds of
/// units not yet seen. Simulated coverage ≥ .945 at 95 % (METHODS 1.5). Trial weights that are
/// related to the outcome are covered less: .93, and .88 with 20 tasks where hard tasks have ten
/// times the trials and may not be drawn at all; prefer equal weights. Wide for homogeneous tasks with many trials: if the task list is
/// complete, [`super::tasks_fixed_cp`] answers the other question.
///
/// # Examples
///
/// Five tasks, 100 trials each, all passed: the lower limit knows five tasks, not 500 trials.
///
/// ```
/// use assize::stats::{Level, clustered::sen_cp, sample::{Clustered, TaskScore}, units::Weights};
/// let tasks = [TaskScore::binary(100, 100); 5];
/// let sample = Clustered::new(&tasks, None, &Weights::EqualTask).unwrap();
/// let rate = sen_cp(&sample, Level::p95());
/// assert!((rate.lower.unwrap() - 0.4782).abs() < 1e-4);
/// ```
pub fn sen_cp(sample: &Clustered, level: Level) -> RateEstimate {
    let method = if sample.units.unequal {
        "sen_cp_w"
    } else {
        "sen_cp"
    };
    let Some((mut rate, shrinkage)) = begin(method, sample, level) else {
        return RateEstimate::begin(method, sample, level);
    };
    let plain = clopper_pearson(shrinkage.x(), shrinkage.n_eff, level);
    let floor = shrinkage.floor(level);
    rate.floor_binds = floor.lower < plain.lower - 1e-12 || floor.upper > plain.upper + 1e-12;
    rate.with_limits(Limits {
        lower: plain.lower.min(floor.lower),
        upper: plain.upper.max(floor.upper),
    })
}

/// Wilson's interval on SEN-CP's effective n, without floor (method `sen_wilson`). Shorter;
/// simulated minimum .90.
///
/// Unreliable where a few tasks always fail and may be absent from the sample: the floor is what
/// SEN-CP has against it.
///
/// Source: Wilson 1927, on METHODS 1.4.
pub fn sen_wilson(sample: &Clustered, level: Level) -> RateEstimate {
    without_floor("sen_wilson", sample, level, wilson)
}

/// The mid-P interval on SEN-CP's effective n, without floor (method `sen_midp`). Shorter;
/// simulated minimum .91.
///
/// Unreliable where a few tasks always fail and may be absent from the sample: the floor is what
/// SEN-CP has against it.
///
/// Source: Lancaster 1961, on METHODS 1.4.
pub fn sen_midp(sample: &Clustered, level: Level) -> RateEstimate {
    without_floor("sen_midp", sample, level, midp)
}

fn without_floor(
    method: &'static str,
    sample: &Clustered,
    level: Level,
    limits: fn(f64, f64, Level) -> Limits,
) -> RateEstimate {
    match begin(method, sample, level) {
        Some((rate, s)) => rate.with_limits(limits(s.x(), s.n_eff, level)),
        None => RateEstimate::begin(method, sample, level),
    }
}

fn begin(
    method: &'static str,
    sample: &Clustered,
    level: Level,
) -> Option<(RateEstimate, Shrinkage)> {
    let s = shrink(sample, level)?;
    let mut rate = RateEstimate::begin(method, sample, level);
    (rate.n_eff, rate.r, rate.k, rate.r_s) = (Some(s.n_eff), Some(s.r), Some(s.k), Some(s.r_s));
    rate.status = if sample.units.too_few() {
        Status::NotEstimable
    } else if sample.units.few_and_unequal() {
        Status::Exploratory
    } else {
        Status::Ok
    };
    Some((rate, s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::sample::TaskScore;
    use crate::stats::units::Weights;

    fn rate(tasks: &[TaskScore]) -> RateEstimate {
        let sample = Clustered::new(tasks, None, &Weights::EqualTask).unwrap();
        sen_cp(&sample, Level::p95())
    }

    #[test]
    fn one_trial_per_task_is_clopper_pearson() {
        let tasks = [1, 1, 0, 1, 0, 1, 1].map(|s| TaskScore::binary(s, 1));
        let plain = clopper_pearson(5.0, 7.0, Level::p95());
        let got = rate(&tasks).limits().unwrap();
        assert!((got.lower - plain.lower).abs() < 1e-12 && (got.upper - plain.upper).abs() < 1e-12);
    }

    #[test]
    fn a_failed_trial_in_many_tasks_never_beats_a_flawless_agent() {
        let flawless = rate(&[TaskScore::binary(10, 10); 50]).lower.unwrap();
        let mut tasks = [TaskScore::binary(10, 10); 50];
        tasks[..39].fill(TaskScore::binary(9, 10));
        assert!(rate(&tasks).lower.unwrap() < flawless);
    }

    #[test]
    fn one_task_is_printed_and_never_decides() {
        let one = rate(&[TaskScore::binary(90, 100)]);
        assert_eq!(one.status, Status::NotEstimable);
        assert!(one.lower.is_some());
        assert_eq!(rate(&[TaskScore::binary(9, 10); 2]).status, Status::Ok);
    }

    #[test]
    fn no_trial_is_no_rate() {
        let none = rate(&[TaskScore::binary(0, 0)]);
        assert_eq!(
            (none.estimate, none.reason),
            (None, Some("no_valid_trials"))
        );
    }
}
