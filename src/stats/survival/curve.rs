//! The Kaplan–Meier curve with log-log limits.

use crate::stats::tolerance::at_most;
use crate::stats::undefined::{Defined, Undefined};
use crate::stats::{Level, Limits};

/// A time until something, or until watching stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Censored {
    /// Time from the start, in any unit, not negative.
    pub time: f64,
    /// Whether the event was seen; a timeout or cap is `false`, and never the cap itself.
    pub observed: bool,
}

/// The curve just after one distinct time at which events were seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The time.
    pub time: f64,
    /// Share still without the event.
    pub survival: f64,
    /// Greenwood's variance of log survival, Σ d/(n(n − d)); infinite once survival is 0.
    pub greenwood: f64,
}

/// The Kaplan–Meier estimate of independent times.
#[derive(Clone, Debug, PartialEq)]
pub struct KaplanMeier {
    /// The curve at each distinct event time, ascending.
    pub steps: Vec<Step>,
    /// The last time at which anything was watched.
    pub last: f64,
    level: Level,
}

/// A median of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    /// The smallest time with survival ≤ ½; `median_not_reached` if there is none.
    pub estimate: Defined<f64>,
    /// The smallest time whose lower limit of survival is ≤ ½; `not_reached` if there is none.
    pub lower: Defined<f64>,
    /// The smallest time whose upper limit of survival is ≤ ½; `not_reached` if there is none: the data
    /// do not bound it.
    pub upper: Defined<f64>,
}

/// A mean time restricted to a horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RestrictedMean {
    /// Area under the curve up to the horizon.
    pub estimate: f64,
    /// Greenwood-type standard error; `zero_variance` where no event before the horizon, or only events at
    /// one time, say nothing about spread.
    pub se: Defined<f64>,
}

/// The Kaplan–Meier curve of independent times, method ids `kaplan_meier_survival` and
/// `kaplan_meier_median`.
///
/// Right-censored times stay in the risk set until they end; at equal times events come first. For
/// several trials per task take limits from [`super::median_interval`] and
/// [`super::restricted_mean_interval`], which resample tasks.
///
/// # Errors
///
/// `no_items`; `negative_or_not_finite` for a time that is not a number from 0.
///
/// # Examples
///
/// ```
/// use assize::stats::Level;
/// use assize::stats::survival::{Censored, kaplan_meier};
/// let times = [(4.0, true), (7.0, true), (9.0, false), (12.0, true)];
/// let times = times.map(|(time, observed)| Censored { time, observed });
/// let curve = kaplan_meier(&times, Level::p95()).unwrap();
/// assert_eq!(curve.survival_at(8.0), Ok(0.5));
/// assert_eq!(curve.median().estimate, Ok(7.0));
/// ```
///
/// Source: Kaplan & Meier 1958; Brookmeyer & Crowley 1982; Kalbfleisch & Prentice 1980 (log-log).
pub fn kaplan_meier(times: &[Censored], level: Level) -> Defined<KaplanMeier> {
    if times.iter().any(|t| !(t.time >= 0.0 && t.time.is_finite())) {
        return Err(Undefined("negative_or_not_finite"));
    }
    let mut sorted = times.to_vec();
    sorted.sort_by(|a, b| a.time.total_cmp(&b.time));
    let last = sorted.last().ok_or(Undefined("no_items"))?.time;
    let (mut at_risk, mut survival, mut greenwood) = (sorted.len() as f64, 1.0, 0.0);
    let mut steps = vec![];
    for group in sorted.chunk_by(|a, b| a.time == b.time) {
        let events = group.iter().filter(|t| t.observed).count() as f64;
        if events > 0.0 {
            survival *= (at_risk - events) / at_risk;
            greenwood += events / (at_risk * (at_risk - events));
            steps.push(Step {
                time: group[0].time,
                survival,
                greenwood,
            });
        }
        at_risk -= group.len() as f64;
    }
    Ok(KaplanMeier { steps, last, level })
}

impl KaplanMeier {
    /// Share without the event at a time.
    ///
    /// # Errors
    ///
    /// `beyond_follow_up` past the last time watched, unless the share is 0.
    pub fn survival_at(&self, time: f64) -> Defined<f64> {
        let survival = self.step_at(time).map_or(1.0, |step| step.survival);
        let known = time <= self.last || survival == 0.0;
        known
            .then_some(survival)
            .ok_or(Undefined("beyond_follow_up"))
    }

    /// Log-log limits of survival at a time.
    ///
    /// # Errors
    ///
    /// `limit_undefined_at_0_or_1`, where the log-log scale ends; `beyond_follow_up` as
    /// [`Self::survival_at`].
    pub fn limits_at(&self, time: f64) -> Defined<Limits> {
        self.survival_at(time)?;
        let limits = self.step_at(time).and_then(|step| self.step_limits(step));
        limits.ok_or(Undefined("limit_undefined_at_0_or_1"))
    }

    fn step_at(&self, time: f64) -> Option<&Step> {
        let after = self.steps.partition_point(|step| step.time <= time);
        after.checked_sub(1).map(|index| &self.steps[index])
    }

    /// S^exp(±z·σ/log S).
    fn step_limits(&self, step: &Step) -> Option<Limits> {
        let log = step.survival.ln();
        if !(log.is_finite() && log < 0.0) {
            return None;
        }
        let stretch = (self.level.z() * step.greenwood.sqrt() / log.abs()).exp();
        let power = |exponent: f64| (log * exponent).exp();
        Some(Limits {
            lower: power(stretch),
            upper: power(1.0 / stretch),
        })
    }

    /// The median with Brookmeyer–Crowley limits from the log-log limits of the curve.
    ///
    /// The smallest time with survival ≤ ½, as every quantile here; software that averages over a
    /// flat piece at exactly ½ answers differently there.
    pub fn median(&self) -> Median {
        let reach = |share: &dyn Fn(&Step) -> Option<f64>| {
            let reached = |step: &&Step| share(step).is_some_and(|s| at_most(s, 0.5));
            let first = self.steps.iter().find(reached);
            first.map(|step| step.time).ok_or(Undefined("not_reached"))
        };
        Median {
            estimate: reach(&|step| Some(step.survival))
                .map_err(|_| Undefined("median_not_reached")),
            lower: reach(&|step| {
                // Where survival is 0 its lower limit is 0 too.
                self.step_limits(step)
                    .map(|l| l.lower)
                    .or((step.survival == 0.0).then_some(0.0))
            }),
            upper: reach(&|step| self.step_limits(step).map(|l| l.upper)),
        }
    }

    /// Area under the curve up to a horizon, with its Greenwood-type standard error, method id
    /// `restricted_mean`.
    ///
    /// # Errors
    ///
    /// `beyond_follow_up` if the curve is not known up to the horizon.
    ///
    /// Source: Irwin 1949; Kaplan & Meier 1958.
    pub fn restricted_mean(&self, horizon: f64) -> Defined<RestrictedMean> {
        if horizon.is_nan() || horizon < 0.0 || self.survival_at(horizon).is_err() {
            return Err(Undefined("beyond_follow_up"));
        }
        let within = self.steps.partition_point(|step| step.time <= horizon);
        let (mut area, mut variance) = (0.0, 0.0);
        // From the right: the area after an event weighs its contribution to the variance.
        for index in (0..within).rev() {
            let step = &self.steps[index];
            let end = if index + 1 < within {
                self.steps[index + 1].time
            } else {
                horizon
            };
            area += step.survival * (end - step.time);
            let before = if index == 0 {
                0.0
            } else {
                self.steps[index - 1].greenwood
            };
            if area > 0.0 {
                variance += area * area * (step.greenwood - before);
            }
        }
        let first = if within == 0 {
            horizon
        } else {
            self.steps[0].time
        };
        Ok(RestrictedMean {
            estimate: area + first,
            se: Some(variance.sqrt())
                .filter(|se| *se > 0.0)
                .ok_or(Undefined("zero_variance")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(times: &[(f64, bool)]) -> KaplanMeier {
        let times: Vec<Censored> = times
            .iter()
            .map(|&(time, observed)| Censored { time, observed })
            .collect();
        kaplan_meier(&times, Level::p95()).unwrap()
    }

    #[test]
    fn without_censoring_it_is_the_empirical_distribution() {
        let curve = curve(&[(1.0, true), (2.0, true), (2.0, true), (5.0, true)]);
        let at = [0.5, 1.0, 2.0, 4.9, 5.0, 9.0].map(|t| curve.survival_at(t).unwrap());
        assert_eq!(at, [1.0, 0.75, 0.25, 0.25, 0.0, 0.0]);
        let mean = curve.restricted_mean(5.0).unwrap();
        assert!((mean.estimate - 2.5).abs() < 1e-12);
        // Without censoring, the Greenwood-type error is the population sd over √n.
        let variance = [1.5f64, 0.5, 0.5, 2.5].iter().map(|d| d * d).sum::<f64>() / 4.0;
        assert!((mean.se.unwrap() - (variance / 4.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_was_not_watched_is_unknown() {
        let censored = curve(&[(1.0, true), (3.0, false), (4.0, false)]);
        let beyond = Err(Undefined("beyond_follow_up"));
        assert_eq!(censored.survival_at(5.0), beyond);
        assert_eq!(
            censored.limits_at(5.0).unwrap_err().code(),
            "beyond_follow_up"
        );
        let median = censored.median();
        assert_eq!(median.estimate, Err(Undefined("median_not_reached")));
        assert_eq!(median.upper, Err(Undefined("not_reached")));
        assert_eq!(
            censored.restricted_mean(5.0).unwrap_err().code(),
            "beyond_follow_up"
        );
        assert!(censored.restricted_mean(4.0).unwrap().estimate > 3.0 - 1e-12);
        let nobody = curve(&[(3.0, false)]);
        assert_eq!(
            (nobody.survival_at(2.0), nobody.limits_at(2.0)),
            (Ok(1.0), Err(Undefined("limit_undefined_at_0_or_1")))
        );
        let mean = nobody.restricted_mean(3.0).unwrap();
        assert_eq!(
            (mean.estimate, mean.se),
            (3.0, Err(Undefined("zero_variance")))
        );
    }

    #[test]
    fn bad_times_are_refused() {
        let code = |time| {
            let times = [Censored {
                time,
                observed: true,
            }];
            kaplan_meier(&times, Level::p95()).unwrap_err().code()
        };
        assert_eq!(code(-1.0), "negative_or_not_finite");
        assert_eq!(code(f64::NAN), "negative_or_not_finite");
        assert_eq!(
            kaplan_meier(&[], Level::p95()).unwrap_err().code(),
            "no_items"
        );
    }
}
