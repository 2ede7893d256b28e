//! Limits of censored times by resampling whole tasks.

use super::Censored;
use crate::stats::bootstrap::{BootstrapInterval, Pool, Range, Replicates, Resampling};
use crate::stats::undefined::{Defined, Undefined};

/// Median time over tasks with percentile limits from resampled tasks, method id
/// `kaplan_meier_median_clustered`.
///
/// Every task counts the same: each of its m trials carries 1/m. An infinite limit says that the
/// median is not reached; an infinite estimate too.
///
/// Unreliable under 30 tasks (rule of thumb), and where the curve is flat near one half.
///
/// # Errors
///
/// `no_items`, `negative_or_not_finite`; `not_reached` if no event was seen at all; else as [`Replicates::draw`] and [`Replicates::percentile`].
///
/// Source: Kaplan & Meier 1958; Efron 1981.
pub fn median_interval(tasks: &[Vec<Censored>], plan: &Resampling) -> Defined<BootstrapInterval> {
    let watched = Watched::of(tasks)?;
    if !watched.trials.iter().any(|t| t.observed) {
        return Err(Undefined("not_reached"));
    }
    watched.interval(plan, Range::POSITIVE, |counts| watched.median(counts))
}

/// Restricted mean time over tasks with percentile limits from resampled tasks, method id
/// `restricted_mean_clustered`; weights as [`median_interval`].
///
/// Unreliable under 30 tasks (rule of thumb), and near a horizon that few tasks reach.
///
/// # Errors
///
/// As [`median_interval`]; `estimate_undefined` if the curve is not known up to the horizon.
///
/// Source: Irwin 1949; Efron 1981.
pub fn restricted_mean_interval(
    tasks: &[Vec<Censored>],
    horizon: f64,
    plan: &Resampling,
) -> Defined<BootstrapInterval> {
    let watched = Watched::of(tasks)?;
    let range = Range {
        low: 0.0,
        high: horizon,
    };
    watched.interval(plan, range, |counts| {
        watched.restricted_mean(counts, horizon)
    })
}

/// All trials by time, each with its task and weight.
struct Watched {
    tasks: usize,
    trials: Vec<Trial>,
}

#[derive(Clone, Copy)]
struct Trial {
    task: usize,
    weight: f64,
    time: f64,
    observed: bool,
}

impl Watched {
    fn of(tasks: &[Vec<Censored>]) -> Defined<Self> {
        let present: Vec<&Vec<Censored>> = tasks.iter().filter(|t| !t.is_empty()).collect();
        let mut trials = vec![];
        for (task, times) in present.iter().enumerate() {
            let weight = 1.0 / times.len() as f64;
            for &Censored { time, observed } in times.iter() {
                if !(time >= 0.0 && time.is_finite()) {
                    return Err(Undefined("negative_or_not_finite"));
                }
                trials.push(Trial {
                    task,
                    weight,
                    time,
                    observed,
                });
            }
        }
        if trials.is_empty() {
            return Err(Undefined("no_items"));
        }
        trials.sort_by(|a, b| a.time.total_cmp(&b.time));
        Ok(Self {
            tasks: present.len(),
            trials,
        })
    }

    fn interval<F>(&self, plan: &Resampling, range: Range, f: F) -> Defined<BootstrapInterval>
    where
        F: Fn(&[u32]) -> Option<f64> + Sync,
    {
        let replicates = Replicates::draw(&Pool::of_units(self.tasks), plan, f)?;
        Ok(BootstrapInterval {
            estimate: replicates.estimate,
            interval: replicates.percentile(plan.level, range)?,
            undefined: replicates.undefined,
            p: None,
        })
    }

    /// Visits (time, survival after it) at each event time until `visit` answers false; returns the
    /// last survival and the last time watched.
    fn walk(&self, counts: &[u32], mut visit: impl FnMut(f64, f64) -> bool) -> Option<(f64, f64)> {
        let weight = |t: &Trial| f64::from(counts[t.task]) * t.weight;
        let mut at_risk: f64 = self.trials.iter().map(weight).sum();
        let (mut survival, mut last) = (1.0, None);
        let mut left: u64 = self
            .trials
            .iter()
            .map(|t| u64::from(counts[t.task] > 0))
            .sum();
        for group in self.trials.chunk_by(|a, b| a.time == b.time) {
            let drawn = || group.iter().filter(|t| counts[t.task] > 0);
            let total: f64 = drawn().map(weight).sum();
            if total == 0.0 {
                continue;
            }
            last = Some(group[0].time);
            left -= drawn().count() as u64;
            let events: f64 = drawn().filter(|t| t.observed).map(weight).sum();
            if events > 0.0 {
                // The last trials end the curve exactly, whatever rounding left at risk.
                let all = left == 0 && drawn().all(|t| t.observed);
                survival *= if all {
                    0.0
                } else {
                    (1.0 - events / at_risk).max(0.0)
                };
                if !visit(group[0].time, survival) {
                    break;
                }
            }
            at_risk -= total;
        }
        Some((survival, last?))
    }

    fn median(&self, counts: &[u32]) -> Option<f64> {
        let mut median = f64::INFINITY;
        self.walk(counts, |time, survival| {
            let reached = survival <= 0.5 + 1e-9;
            if reached {
                median = time;
            }
            !reached
        })?;
        Some(median)
    }

    fn restricted_mean(&self, counts: &[u32], horizon: f64) -> Option<f64> {
        let (mut area, mut since, mut height) = (0.0, 0.0, 1.0);
        let (survival, last) = self.walk(counts, |time, survival| {
            let end = time.min(horizon);
            area += height * (end - since);
            (since, height) = (end, survival);
            true
        })?;
        let known = survival == 0.0 || last >= horizon;
        known.then_some(area + height * (horizon - since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::stats::Level;
    use crate::stats::survival::kaplan_meier;

    fn plan() -> Resampling {
        Resampling {
            replicates: 1000,
            level: Level::p95(),
            seed: Seed(6),
        }
    }

    fn single(n: u32) -> Vec<Vec<Censored>> {
        let trial = |i: u32| Censored {
            time: f64::from((i * 7) % 31).min(25.0),
            observed: (i * 7) % 31 < 25,
        };
        (0..n).map(|i| vec![trial(i)]).collect()
    }

    #[test]
    fn single_trials_are_the_plain_curve() {
        let tasks = single(40);
        let plain: Vec<Censored> = tasks.iter().flatten().copied().collect();
        let plain = kaplan_meier(&plain, Level::p95()).unwrap();
        let median = median_interval(&tasks, &plan()).unwrap();
        assert_eq!(Ok(median.estimate), plain.median().estimate);
        let mean = restricted_mean_interval(&tasks, 20.0, &plan()).unwrap();
        let expected = plain.restricted_mean(20.0).unwrap();
        assert!((mean.estimate - expected.estimate).abs() < 1e-9);
        let half = mean.interval.width() / 2.0;
        assert!(
            (half / (1.96 * expected.se.unwrap()) - 1.0).abs() < 0.15,
            "{half} {}",
            expected.se.unwrap()
        );
    }

    #[test]
    fn repeated_trials_add_nothing() {
        let tasks: Vec<Vec<Censored>> = single(40).into_iter().map(|t| vec![t[0]; 5]).collect();
        let many = restricted_mean_interval(&tasks, 20.0, &plan()).unwrap();
        let once = restricted_mean_interval(&single(40), 20.0, &plan()).unwrap();
        assert!((many.interval.width() / once.interval.width() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn an_unreached_median_is_infinite() {
        let tasks: Vec<Vec<Censored>> = (0..40u32)
            .map(|i| {
                vec![Censored {
                    time: if i % 5 < 3 { 3.0 } else { 10.0 },
                    observed: i % 5 < 3,
                }]
            })
            .collect();
        let interval = median_interval(&tasks, &plan()).unwrap();
        assert_eq!(
            (interval.estimate, interval.interval.high),
            (3.0, f64::INFINITY)
        );
        assert_eq!(
            restricted_mean_interval(&tasks, 11.0, &plan())
                .unwrap_err()
                .code(),
            "estimate_undefined"
        );
        assert_eq!(
            median_interval(&[vec![]], &plan()).unwrap_err().code(),
            "no_items"
        );
    }
}
