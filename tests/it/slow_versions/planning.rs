//! Variance components, costs, strata, and what is made of intervals.

use std::collections::{BTreeMap, HashMap};

use assize::stats::clustered::TaskSpread;
use assize::stats::dual::dual_p;
use assize::stats::mover::{Bounded, mover_difference};
use assize::stats::paired::{BpHall, PairedTable, mcnemar_chi2};
use assize::stats::power::{optimal_trials, variance_components};
use assize::stats::strata::stratum_weights;
use assize::stats::units::Weights;
use assize::stats::{Level, Limits};
use proptest::collection::vec;
use proptest::prelude::*;

use super::numeric::{self, close, normal_cdf};

/// The mean of half the squared gaps over all pairs: a sample variance without a mean.
fn variance_by_pairs(values: &[f64]) -> f64 {
    let n = values.len();
    let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
    let gaps: f64 = pairs.map(|(i, j)| (values[i] - values[j]).powi(2)).sum();
    gaps / (n * (n - 1)) as f64
}

/// The farthest that an error of one arm and an error of the other, on the same ellipse, move a
/// difference: half axes `x` and `y`, over a fine circle.
fn farthest(x: f64, y: f64) -> f64 {
    (0..=40_000)
        .map(|i| f64::from(i) / 40_000.0 * std::f64::consts::FRAC_PI_2)
        .map(|angle| x * angle.cos() + y * angle.sin())
        .fold(0.0, f64::max)
}

fn bounded() -> impl Strategy<Value = Bounded> {
    vec(0.0..=1.0f64, 3).prop_map(|mut v| {
        v.sort_by(f64::total_cmp);
        let limits = Limits {
            lower: v[0],
            upper: v[2],
        };
        Bounded {
            estimate: v[1],
            limits,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn components_agree_with_pairs_of_trials(tasks in vec(vec(prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0f64], 0..6), 0..9)) {
        let given: Vec<TaskSpread> = tasks.iter().map(|t| TaskSpread::of(t)).collect();
        let got = variance_components(&given);
        let used: Vec<&Vec<f64>> = tasks.iter().filter(|t| !t.is_empty()).collect();
        let inside: Vec<f64> = used.iter().filter(|t| t.len() > 1).map(|t| variance_by_pairs(t)).collect();
        if inside.is_empty() {
            prop_assert_eq!((got.within, got.between, got.reason), (None, None, Some("not_identifiable")));
            return Ok(());
        }
        let within = numeric::mean(&inside);
        prop_assert!(close(got.within.unwrap(), within, 1e-12));
        if used.len() < 2 {
            prop_assert_eq!((got.between, got.reason), (None, Some("too_few_units")));
            return Ok(());
        }
        let means: Vec<f64> = used.iter().map(|t| numeric::mean(t)).collect();
        let noise = used.iter().map(|t| within / t.len() as f64).sum::<f64>() / used.len() as f64;
        let between = (variance_by_pairs(&means) - noise).max(0.0);
        prop_assert!(close(got.between.unwrap(), between, 1e-12));
        if let Some(icc) = got.icc {
            prop_assert!(close(icc, between / (between + within), 1e-9));
        }
    }

    #[test]
    fn the_best_number_of_trials_is_found_by_trying(
        per_task in 0.0..20.0f64, per_trial in 0.05..5.0f64, between in 0.01..0.3f64, within in 0.0..0.3f64,
    ) {
        // Variance of the mean for one unit of money spent.
        let price = |m: u64| (between + within / m as f64) * (per_task + per_trial * m as f64);
        let best = (1..3000).map(price).fold(f64::INFINITY, f64::min);
        let got = optimal_trials(per_task, per_trial, between, within).unwrap().unwrap();
        prop_assert!(close(price(got.whole), best, 1e-12), "{got:?} {best}");
    }

    #[test]
    fn square_and_add_is_the_farthest_point_of_an_ellipse(a in bounded(), b in bounded()) {
        let got = mover_difference(a, b);
        let lower = farthest(b.estimate - b.limits.lower, a.limits.upper - a.estimate);
        let upper = farthest(b.limits.upper - b.estimate, a.estimate - a.limits.lower);
        prop_assert!((got.lower - (b.estimate - a.estimate - lower)).abs() < 1e-8);
        prop_assert!((got.upper - (b.estimate - a.estimate + upper)).abs() < 1e-8);
    }

    #[test]
    fn chi_squares_agree_with_the_normal(both in 0u64..9, a_only in 0u64..60, b_only in 0u64..60) {
        let got = mcnemar_chi2(PairedTable { both, a_only, b_only, neither: 3 });
        let (b, c) = (a_only as f64, b_only as f64);
        if b + c == 0.0 {
            prop_assert_eq!((got.p, got.p_cc, got.reason), (None, None, Some("no_discordant_task")));
            return Ok(());
        }
        // The square root of a chi-square with one degree of freedom is a normal score.
        let p = |score: f64| 2.0 * (1.0 - normal_cdf(score));
        let plain = (b - c).abs() / (b + c).sqrt();
        let corrected = ((b - c).abs() - 1.0).max(0.0) / (b + c).sqrt();
        prop_assert!(close(got.chi2.unwrap(), plain * plain, 1e-12) && close(got.chi2_cc.unwrap(), corrected * corrected, 1e-12));
        prop_assert!((got.p.unwrap() - p(plain)).abs() < 1e-9 && (got.p_cc.unwrap() - p(corrected)).abs() < 1e-9, "{got:?}");
    }

    #[test]
    fn a_dual_p_agrees_with_a_scan_of_levels(d in vec(prop_oneof![Just(0.0), -1.0..=1.0f64], 2..12), null in -0.5..0.5f64) {
        let n = d.len() as f64;
        let hall = BpHall::new(&d, &vec![1.0 / n; d.len()], n).unwrap();
        let interval = |level: Level| hall.unclipped(level);
        let got = dual_p(null, |level| Some(interval(level))).unwrap();
        // The first of a thousand levels, from the widest interval, that excludes the value.
        let alpha = |i: u32| f64::from(i) / 1000.0;
        let excluded = (1..1000).find(|&i| {
            let limits = interval(Level::new(1.0 - alpha(i)).unwrap());
            null < limits.lower || null > limits.upper
        });
        match excluded {
            Some(i) => prop_assert!(got <= alpha(i) + 1e-8 && got >= alpha(i - 1) - 1e-8, "{got} {i}"),
            None => prop_assert!(got >= 0.999 - 1e-8),
        }
    }

    #[test]
    fn stratified_means_agree_with_means_of_strata(
        tasks in vec((0u32..4, 0u32..4, 0.0..=1.0f64), 1..20),
        shares in vec(0.0..5.0f64, 4),
    ) {
        let stratum: Vec<u32> = tasks.iter().map(|t| t.0).collect();
        let trials: Vec<u32> = tasks.iter().map(|t| t.1).collect();
        let share: HashMap<u32, f64> = stratum.iter().map(|&s| (s, shares[s as usize])).collect();
        let mut inside: BTreeMap<u32, Vec<f64>> = stratum.iter().map(|&s| (s, vec![])).collect();
        for (s, m, y) in &tasks {
            if *m > 0 {
                inside.get_mut(s).unwrap().push(*y);
            }
        }
        let empty = inside.iter().any(|(s, v)| v.is_empty() && share[s] > 0.0);
        let got = stratum_weights(&stratum, &share, &trials, None);
        prop_assert_eq!(got.is_err(), empty);
        if let Ok(Weights::Explicit(weights)) = got {
            let total: f64 = inside.keys().map(|s| share[s]).sum();
            let slow: f64 = inside.iter().filter(|(_, v)| !v.is_empty()).map(|(s, v)| share[s] / total * numeric::mean(v)).sum();
            let mean: f64 = weights.iter().zip(&tasks).map(|(w, t)| w * t.2).sum();
            prop_assert!(close(mean, slow, 1e-12));
            prop_assert!(close(weights.iter().sum::<f64>(), 1.0, 1e-12));
        }
    }
}
