//! The bias-corrected and accelerated interval.

use rayon::prelude::*;

use super::{BootstrapInterval, Pool, Range, Replicates, Resampling};
use crate::stats::special::{normal_cdf, normal_quantile};
use crate::stats::undefined::{Defined, Undefined};

/// Bias-corrected and accelerated bootstrap interval of a statistic, method id `bootstrap_bca`.
///
/// The statistic receives how often each distinct value of the pool was drawn and answers `None`
/// where it is undefined. Limits are quantiles of the replicates at levels that are moved by the
/// bias z₀ (ties of replicate and estimate counted half) and by the acceleration of the jackknife.
/// Second-order accurate for smooth statistics of many units; unreliable under about 30 units (rule of
/// thumb) and at the ends of a scale.
///
/// # Errors
///
/// As [`Replicates::draw`] and [`Replicates::percentile`]; `jackknife_undefined` if leaving one unit
/// out leaves no value; `estimate_outside_replicates` if all replicates lie on one side.
///
/// Source: Efron 1987; Efron & Tibshirani 1993, 14.3.
pub fn bca<F>(
    pool: &Pool,
    plan: &Resampling,
    range: Range,
    statistic: F,
) -> Defined<BootstrapInterval>
where
    F: Fn(&[u32]) -> Option<f64> + Sync,
{
    let replicates = Replicates::draw(pool, plan, &statistic)?;
    if replicates.sorted().first() == replicates.sorted().last() {
        return Err(Undefined("no_variation"));
    }
    let below = replicates.share_below();
    if below <= 0.0 || below >= 1.0 {
        return Err(Undefined("estimate_outside_replicates"));
    }
    let bias = normal_quantile(below);
    let acceleration = acceleration(pool, &statistic)?;
    let moved = |z: f64| moved_level(bias, acceleration, z);
    let z = plan.level.z();
    let interval = replicates.between(moved(-z), moved(z), plan.level, range, "bootstrap_bca")?;
    let (estimate, undefined) = (replicates.estimate, replicates.undefined);
    Ok(BootstrapInterval {
        estimate,
        interval,
        undefined,
        p: None,
    })
}

/// Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))); past the pole it is the end that z points to.
fn moved_level(bias: f64, acceleration: f64, z: f64) -> f64 {
    let shifted = bias + z;
    let scale = 1.0 - acceleration * shifted;
    if scale <= 0.0 {
        return if shifted > 0.0 { 1.0 } else { 0.0 };
    }
    normal_cdf(bias + shifted / scale)
}

/// Σ(θ̄ − θ₋ᵤ)³ / 6(Σ(θ̄ − θ₋ᵤ)²)^{3/2} over all units; equal units are left out once.
fn acceleration<F>(pool: &Pool, statistic: &F) -> Defined<f64>
where
    F: Fn(&[u32]) -> Option<f64> + Sync,
{
    let multiplicity = pool.multiplicity();
    let left_out: Vec<Option<f64>> = (0..pool.distinct())
        .into_par_iter()
        .with_min_len(16)
        .map_init(
            || multiplicity.to_vec(),
            |counts, value| {
                if multiplicity[value] == 0 {
                    return Some(0.0);
                }
                counts[value] -= 1;
                let result = statistic(counts);
                counts[value] += 1;
                result
            },
        )
        .collect();
    let left_out: Option<Vec<f64>> = left_out.into_iter().collect();
    let left_out = left_out.ok_or(Undefined("jackknife_undefined"))?;
    let weigh = |f: &dyn Fn(f64) -> f64| -> f64 {
        left_out
            .iter()
            .zip(multiplicity)
            .map(|(v, &m)| f64::from(m) * f(*v))
            .sum()
    };
    let mean = weigh(&|v| v) / pool.units() as f64;
    let square = weigh(&|v| (mean - v).powi(2));
    let cube = weigh(&|v| (mean - v).powi(3));
    Ok(if square > 0.0 {
        cube / (6.0 * square.powf(1.5))
    } else {
        0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::stats::Level;
    use crate::stats::bootstrap::{bca_mean, weighted_mean};

    fn skewed(n: u32) -> Vec<f64> {
        (0..n)
            .map(|i| (f64::from(i) + 0.5) / f64::from(n))
            .map(|u| -(1.0 - u).ln())
            .collect()
    }

    #[test]
    fn acceleration_of_a_mean_is_its_skewness() {
        let values = skewed(200);
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let m2 = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        let m3 = values.iter().map(|v| (v - mean).powi(3)).sum::<f64>() / n;
        let expected = m3 / m2.powf(1.5) / (6.0 * n.sqrt());
        let found = acceleration(&Pool::of_units(200), &|c: &[u32]| weighted_mean(c, &values));
        assert!((found.unwrap() - expected).abs() < 1e-10);
    }

    #[test]
    fn a_skewed_mean_moves_the_interval_up() {
        let values = skewed(60);
        let plan = Resampling {
            replicates: 4000,
            level: Level::p95(),
            seed: Seed(9),
        };
        let plain = Replicates::draw(&Pool::of_units(60), &plan, |c| weighted_mean(c, &values));
        let plain = plain
            .unwrap()
            .percentile(Level::p95(), Range::REAL)
            .unwrap();
        let moved = bca_mean(&values, &plan).unwrap().interval;
        assert!(
            moved.low > plain.low && moved.high > plain.high,
            "{moved:?} {plain:?}"
        );
    }

    #[test]
    fn any_thread_count_gives_the_same_bytes() {
        let values = skewed(80);
        let plan = Resampling {
            replicates: 1000,
            level: Level::p95(),
            seed: Seed(4),
        };
        let results: Vec<_> = [1, 2, 5]
            .map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                pool.install(|| bca_mean(&values, &plan).unwrap())
            })
            .into();
        assert_eq!(results[0], results[1]);
        assert_eq!(results[0], results[2]);
    }

    #[test]
    fn constant_values_have_no_interval() {
        let plan = Resampling {
            replicates: 100,
            level: Level::p95(),
            seed: Seed(4),
        };
        assert_eq!(
            bca_mean(&[-0.1, -0.1], &plan).unwrap_err().code(),
            "no_variation"
        );
        assert_eq!(bca_mean(&[1.0], &plan).unwrap_err().code(), "too_few_units");
    }
}
