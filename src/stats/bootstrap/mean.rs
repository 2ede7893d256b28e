//! The mean, bootstrapped over distinct values.

use super::{BootstrapInterval, Pool, Range, Resampling, bca};
use crate::stats::undefined::{Defined, Undefined};

/// The mean of distinct values that occur `counts` times; `None` if nothing occurs.
pub fn weighted_mean(counts: &[u32], values: &[f64]) -> Option<f64> {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let mut totals = [0u64; LANES];
    let (whole_counts, rest_counts) = counts.as_chunks::<LANES>();
    let (whole_values, rest_values) = values.as_chunks::<LANES>();
    // Fixed lanes keep the order of additions independent of the machine's vector width.
    for (count, value) in whole_counts.iter().zip(whole_values) {
        for lane in 0..LANES {
            sums[lane] += f64::from(count[lane]) * value[lane];
            totals[lane] += u64::from(count[lane]);
        }
    }
    let mut sum: f64 = sums.iter().sum();
    let mut total: u64 = totals.iter().sum();
    for (count, value) in rest_counts.iter().zip(rest_values) {
        sum += f64::from(*count) * value;
        total += u64::from(*count);
    }
    (total > 0).then(|| sum / total as f64)
}

/// BCa interval of the mean of task values, method id `bootstrap_bca`.
///
/// Equal values are resampled together, so differences out of few trials cost little. For outcomes
/// in [0, 1] use `sen_cp` or `bp_hall` instead: this interval cannot see what was not sampled.
///
/// # Errors
///
/// `not_finite` for a NaN or infinite value; else as [`bca`].
///
/// # Examples
///
/// ```
/// use assize::base::Seed;
/// use assize::stats::Level;
/// use assize::stats::bootstrap::{Resampling, bca_mean};
/// let plan = Resampling { replicates: 2_000, level: Level::p95(), seed: Seed(1) };
/// let differences: Vec<f64> = (0..60).map(|i| f64::from(i % 7) - 2.5).collect();
/// let result = bca_mean(&differences, &plan).unwrap();
/// assert!(result.interval.contains(result.estimate));
/// assert!(bca_mean(&[0.1, 0.1], &plan).is_err());
/// ```
///
/// Source: Efron 1987.
pub fn bca_mean(values: &[f64], plan: &Resampling) -> Defined<BootstrapInterval> {
    if values.iter().any(|v| !v.is_finite()) {
        return Err(Undefined("not_finite"));
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let runs = sorted.chunk_by(|a, b| a == b);
    let (distinct, multiplicity): (Vec<f64>, Vec<u32>) =
        runs.map(|run| (run[0], run.len() as u32)).unzip();
    bca(&Pool::new(multiplicity), plan, Range::REAL, |counts| {
        weighted_mean(counts, &distinct)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::stats::Level;

    #[test]
    fn lanes_change_nothing() {
        let counts: Vec<u32> = (0..29).map(|i| i * 7 % 5).collect();
        let values: Vec<f64> = (0..29).map(|i| f64::from(i) * 0.3 - 2.0).collect();
        let sum: f64 = counts
            .iter()
            .zip(&values)
            .map(|(c, v)| f64::from(*c) * v)
            .sum();
        let total: u32 = counts.iter().sum();
        let mean = weighted_mean(&counts, &values).unwrap();
        assert!((mean - sum / f64::from(total)).abs() < 1e-14);
        assert_eq!(weighted_mean(&[0, 0], &[1.0, 2.0]), None);
    }

    #[test]
    fn order_of_tasks_changes_nothing() {
        let plan = Resampling {
            replicates: 500,
            level: Level::p95(),
            seed: Seed(2),
        };
        let values: Vec<f64> = (0..50).map(|i| f64::from(i * i % 11)).collect();
        let mut reversed = values.clone();
        reversed.reverse();
        assert_eq!(bca_mean(&values, &plan), bca_mean(&reversed, &plan));
    }
}
