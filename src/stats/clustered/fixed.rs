//! The rate over exactly these tasks (METHODS 1.1, estimand F).

use super::RateEstimate;
use crate::stats::proportion::clopper_pearson;
use crate::stats::sample::Clustered;
use crate::stats::{Level, Status};

/// Clopper–Pearson for the mean over exactly these tasks (method `tasks_fixed_cp`), with
/// n = 1/max_i(w_i/m_i).
///
/// Answers "would a re-run of this suite change?", never "how would it do on other tasks?". Where
/// w_i/m_i is the same for all tasks, n is the number of trials and the interval is conservative
/// by Hoeffding (1956); otherwise the status is `conservative` (simulated coverage ≥ .986).
/// Assumes that the trials within a task are independent.
pub fn tasks_fixed_cp(sample: &Clustered, level: Level) -> RateEstimate {
    let rate = RateEstimate::begin("tasks_fixed_cp", sample, level);
    let Some(p) = rate.estimate else {
        return rate;
    };
    let loads = || {
        sample
            .units
            .weights
            .iter()
            .zip(&sample.trials)
            .map(|(w, &m)| w / f64::from(m))
    };
    let heaviest = loads().fold(0.0, f64::max);
    let lightest = loads().fold(f64::INFINITY, f64::min);
    let n = 1.0 / heaviest;
    let mut rate = rate.with_limits(clopper_pearson(p * n, n, level));
    rate.n_eff = Some(n);
    if heaviest > lightest * (1.0 + 1e-9) {
        rate.status = Status::Conservative;
    }
    rate
}
