//! Times that are cut off: designs, draws, and Kaplan–Meier on them.

use serde::{Deserialize, Serialize};

use super::cell::{Design, named_design};
use super::counts::gamma_factor;
use crate::base::Seed;
use crate::base::seed::Stream;
use crate::stats::bootstrap::Resampling;
use crate::stats::survival::{Censored, kaplan_meier, median_interval, restricted_mean_interval};
use crate::stats::{Level, Limits};

/// Exponential times whose rate, 1 on average, differs between tasks by a gamma factor; a cap and
/// random loss cut them off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimesCell {
    /// A name for the table; made from the fields if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of tasks.
    pub units: u32,
    /// Trials per task.
    pub trials: u32,
    /// Variance of the factor; 0 for independent trials.
    #[serde(default)]
    pub frailty: f64,
    /// Longest time that a trial is watched.
    pub cap: f64,
    /// Rate at which trials are lost from sight before.
    #[serde(default)]
    pub loss: f64,
    /// The time at which survival is asked for, and the horizon of the mean; at most the cap.
    pub at: f64,
}

/// One simulated run: the trials of each task, and a seed for resampling.
#[derive(Default)]
pub(super) struct TimesData {
    tasks: Vec<Vec<Censored>>,
    seed: u64,
}

/// What is asked of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimesQuestion {
    Survival,
    Median,
    RestrictedMean,
}

/// Resamples of the simulated bootstrap: enough for percentile limits, and half of what is shown.
pub(super) const RESAMPLES: u32 = 1000;

impl Design for TimesCell {
    named_design!();

    fn units(&self) -> u32 {
        self.units
    }

    fn trials(&self) -> u32 {
        self.trials
    }

    fn check(&self) -> Result<(), &'static str> {
        let not_negative = |v: f64| v >= 0.0 && v.is_finite();
        let watched = self.at > 0.0 && self.at <= self.cap && self.cap.is_finite();
        if watched && not_negative(self.frailty) && not_negative(self.loss) {
            return Ok(());
        }
        Err("0 < at <= cap, and neither frailty nor loss is negative")
    }
}

impl TimesCell {
    pub(super) fn truth(&self, question: TimesQuestion) -> f64 {
        let (v, at) = (self.frailty, self.at);
        match question {
            TimesQuestion::Survival if v == 0.0 => (-at).exp(),
            TimesQuestion::Survival => (1.0 + v * at).powf(-1.0 / v),
            TimesQuestion::Median if v == 0.0 => std::f64::consts::LN_2,
            TimesQuestion::Median => (2f64.powf(v) - 1.0) / v,
            TimesQuestion::RestrictedMean if v == 0.0 => 1.0 - (-at).exp(),
            TimesQuestion::RestrictedMean if v == 1.0 => (1.0 + at).ln(),
            TimesQuestion::RestrictedMean => ((1.0 + v * at).powf(1.0 - 1.0 / v) - 1.0) / (v - 1.0),
        }
    }

    pub(super) fn draw(&self, stream: &mut Stream) -> TimesData {
        let seed = stream.bits();
        let tasks = (0..self.units).map(|_| {
            let rate = gamma_factor(self.frailty, stream);
            (0..self.trials).map(|_| self.trial(rate, stream)).collect()
        });
        let tasks = tasks.collect();
        TimesData { tasks, seed }
    }

    fn trial(&self, rate: f64, stream: &mut Stream) -> Censored {
        let event = exponential(rate, stream);
        let end = exponential(self.loss, stream).min(self.cap);
        Censored {
            time: event.min(end),
            observed: event <= end,
        }
    }

    /// The limits of a method by its id; `None` where it gives none.
    pub(super) fn limits(&self, id: &str, data: &TimesData, level: Level) -> Option<Limits> {
        let plan = Resampling {
            replicates: RESAMPLES,
            level,
            seed: Seed(data.seed),
        };
        let interval = match id {
            "kaplan_meier_median_clustered" => median_interval(&data.tasks, &plan),
            "restricted_mean_clustered" => restricted_mean_interval(&data.tasks, self.at, &plan),
            _ => return self.of_curve(id, data, level),
        };
        let interval = interval.ok()?.interval;
        Some(Limits {
            // A limit that is not reached lies beyond the watch, and says no more than that.
            lower: interval.low.min(self.cap),
            upper: interval.high,
        })
    }

    /// Limits from one curve of all trials, which takes them for independent.
    fn of_curve(&self, id: &str, data: &TimesData, level: Level) -> Option<Limits> {
        let curve = kaplan_meier(&data.tasks.concat(), level).ok()?;
        if id == "kaplan_meier_survival" {
            return curve.limits_at(self.at).ok();
        }
        let median = curve.median();
        Some(Limits {
            // What is not reached lies beyond the watch, and may be anything there.
            lower: median.lower.unwrap_or(curve.last),
            upper: median.upper.unwrap_or(f64::INFINITY),
        })
    }
}

/// An exponential time; never, at rate 0.
fn exponential(rate: f64, stream: &mut Stream) -> f64 {
    // One minus a number in [0, 1) is never 0.
    let unit = -(1.0 - stream.unit()).ln();
    if rate > 0.0 {
        unit / rate
    } else {
        f64::INFINITY
    }
}

/// METHODS 4.4 names no grid: caps that cut off two fifths and a tenth of independent times, with and
/// without loss.
pub(super) fn grid(trials: u32) -> Vec<TimesCell> {
    let mut cells = vec![];
    for units in [30u32, 100, 300] {
        for frailty in [0.0, 1.0] {
            for (cap, loss) in [(0.9, 0.0), (2.3, 0.0), (2.3, 0.3)] {
                let name = format!("G={units} m={trials} frailty={frailty} cap={cap} loss={loss}");
                cells.push(TimesCell {
                    name: Some(name),
                    units,
                    trials,
                    frailty,
                    cap,
                    loss,
                    at: 0.8,
                });
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed forms of a gamma mixture, against the trapezoid rule on its survival.
    #[test]
    fn restricted_means_are_areas_under_survival() {
        for frailty in [0.0, 0.5, 1.0, 2.0] {
            let cell = |at: f64| TimesCell {
                name: None,
                units: 5,
                trials: 1,
                frailty,
                cap: 3.0,
                loss: 0.0,
                at,
            };
            let height = |at: f64| cell(at).truth(TimesQuestion::Survival);
            let steps = 2000;
            let width = 3.0 / f64::from(steps);
            let inside: f64 = (1..steps).map(|i| height(f64::from(i) * width)).sum();
            let area = width * (inside + (1.0 + height(3.0)) / 2.0);
            let mean = cell(3.0).truth(TimesQuestion::RestrictedMean);
            assert!((area - mean).abs() < 1e-5, "{frailty} {area} {mean}");
            let median = cell(1.0).truth(TimesQuestion::Median);
            assert!((height(median) - 0.5).abs() < 1e-12);
        }
    }

    #[test]
    fn drawn_times_have_the_survival_they_claim() {
        let cell = TimesCell {
            name: None,
            units: 20_000,
            trials: 1,
            frailty: 1.0,
            cap: 2.0,
            loss: 0.0,
            at: 0.8,
        };
        let data = cell.draw(&mut Seed(5).stream());
        let alive = data.tasks.iter().filter(|t| t[0].time > 0.8).count() as f64 / 20_000.0;
        let wanted = cell.truth(TimesQuestion::Survival);
        assert!((alive - wanted).abs() < 0.015, "{alive} {wanted}");
    }
}
