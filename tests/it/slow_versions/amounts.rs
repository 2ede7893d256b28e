//! Quantiles, ratios, counts.

use assize::stats::Level;
use assize::stats::clustered::sen_cp;
use assize::stats::count::{TwoCounts, garwood, rate_ratio_exact};
use assize::stats::quantile::{quantile_clustered, quantile_order_statistic};
use assize::stats::ratio::{geometric_mean, geometric_mean_ratio, mean_amount, ratio_of_means};
use assize::stats::sample::{Clustered, TaskScore};
use assize::stats::units::Weights;
use proptest::collection::vec;
use proptest::prelude::*;

use super::numeric::{self, binomial, bisect, close};

/// The definition of METHODS 4.1: one SEN-CP interval per observed value.
fn slow_quantile(
    trials: &[Vec<f64>],
    labels: &[u32],
    weights: &Weights,
    tau: f64,
) -> (f64, f64, f64) {
    let level = Level::p95();
    let share = |q: f64| {
        let scores: Vec<TaskScore> = trials
            .iter()
            .map(|t| {
                TaskScore::binary(t.iter().filter(|v| **v <= q).count() as u32, t.len() as u32)
            })
            .collect();
        sen_cp(
            &Clustered::new(&scores, Some(labels), weights).unwrap(),
            level,
        )
    };
    let mut values: Vec<f64> = trials.iter().flatten().copied().collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let rates: Vec<_> = values.iter().map(|&q| share(q)).collect();
    let point = values[rates
        .iter()
        .position(|r| r.estimate.unwrap() >= tau - 1e-9)
        .unwrap()];
    let none = share(f64::NEG_INFINITY);
    let lower = if none.upper.unwrap() >= tau - 1e-9 {
        f64::NEG_INFINITY
    } else {
        values[rates
            .iter()
            .position(|r| r.upper.unwrap() >= tau - 1e-9)
            .unwrap()]
    };
    let last = rates.iter().rposition(|r| r.lower.unwrap() <= tau + 1e-9);
    let next = last.map_or(0, |i| i + 1);
    (
        point,
        lower,
        values.get(next).copied().unwrap_or(f64::INFINITY),
    )
}

fn amounts() -> impl Strategy<Value = Vec<f64>> {
    vec(0.01..50.0f64, 2..15)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn clustered_quantiles_follow_their_definition(
        trials in vec((vec((0u32..9).prop_map(f64::from), 0..5), 0u32..8), 2..20),
        kind in 0..3,
        tau in prop::sample::select(vec![0.1, 0.25, 0.5, 0.75, 0.9]),
    ) {
        prop_assume!(trials.iter().any(|(t, _)| !t.is_empty()));
        let labels: Vec<u32> = trials.iter().map(|(_, l)| *l).collect();
        let trials: Vec<Vec<f64>> = trials.into_iter().map(|(t, _)| t).collect();
        let weights = [Weights::EqualTask, Weights::Trials, Weights::EqualCluster][kind as usize].clone();
        let got = quantile_clustered(&trials, Some(&labels), &weights, tau, Level::p95()).unwrap();
        let (point, lower, upper) = slow_quantile(&trials, &labels, &weights, tau);
        prop_assert_eq!((got.estimate, got.lower, got.upper), (Some(point), Some(lower), Some(upper)));
    }

    #[test]
    fn order_statistics_agree_with_sums(n in 1usize..40, tau in 0.05..0.95f64) {
        let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let got = quantile_order_statistic(&values, tau, Level::p95()).unwrap();
        let below = |k: usize| (0..k as u64).map(|j| binomial(j, n as u64, tau)).sum::<f64>();
        // [X_(l), X_(u)] misses on one side with P(Bin < l) and on the other with P(Bin ≥ u).
        let lower = (1..=n).rev().find(|&l| below(l) <= 0.025 + 1e-12).map_or(f64::NEG_INFINITY, |l| values[l - 1]);
        let upper = (1..=n).find(|&u| 1.0 - below(u) <= 0.025 + 1e-12).map_or(f64::INFINITY, |u| values[u - 1]);
        prop_assert_eq!((got.lower, got.upper), (Some(lower), Some(upper)));
    }

    #[test]
    fn ratios_agree_with_leaving_out_each_task(a in amounts(), seed in any::<u64>()) {
        let b: Vec<f64> = a.iter().enumerate().map(|(i, x)| x * (0.5 + ((seed >> (i % 50)) & 7) as f64 / 7.0)).collect();
        let got = ratio_of_means(&a, &b, Level::p95()).unwrap();
        let ratio = |skip: usize| {
            let total = |v: &[f64]| v.iter().enumerate().filter(|(i, _)| *i != skip).map(|(_, x)| x).sum::<f64>();
            (total(&b) / total(&a)).ln()
        };
        let g = a.len() as f64;
        let logs: Vec<f64> = (0..a.len()).map(ratio).collect();
        let se = (g - 1.0) / g.sqrt() * numeric::sd(&logs);
        if let Some(lower) = got.lower {
            let (sa, sb): (f64, f64) = (a.iter().sum(), b.iter().sum());
            let shares: f64 = a.iter().zip(&b).map(|(x, y)| (0.5 * (x / sa + y / sb)).powi(2)).sum();
            let df = (1.0 / shares - 1.0).max(1.0);
            let slow = ((sb / sa).ln() - numeric::t(0.95, df) * se).exp();
            prop_assert!(close(lower, slow, 1e-6), "{got:?} {slow}");
        } else {
            prop_assert!(se < 1e-12);
        }
    }

    #[test]
    fn means_of_amounts_agree_with_the_text(a in amounts()) {
        let logs: Vec<f64> = a.iter().map(|x| x.ln()).collect();
        let g = a.len() as f64;
        let half = numeric::t(0.95, g - 1.0) * numeric::sd(&logs) / g.sqrt();
        let upper = (numeric::mean(&logs) + half).exp();
        prop_assert!(close(geometric_mean(&a, Level::p95()).unwrap().upper.unwrap(), upper, 1e-6));
        let ones = vec![1.0; a.len()];
        prop_assert!(close(geometric_mean_ratio(&ones, &a, Level::p95()).unwrap().upper.unwrap(), upper, 1e-6));
        let total: f64 = a.iter().sum();
        let n_w = 1.0 / a.iter().map(|x| (x / total).powi(2)).sum::<f64>();
        let got = mean_amount(&a, Level::p95()).unwrap();
        prop_assert_eq!(got.lower.is_some(), n_w >= 5.0);
        if let Some(lower) = got.lower {
            let leave: Vec<f64> = a.iter().map(|x| ((total - x) / (g - 1.0)).ln()).collect();
            let se = (g - 1.0) / g.sqrt() * numeric::sd(&leave);
            let slow = ((total / g).ln() - numeric::t(0.95, n_w - 1.0) * se).exp();
            prop_assert!(close(lower, slow, 1e-6));
        }
    }

    #[test]
    fn counts_agree_with_sums(x in 0u64..30, exposure in 0.5..40.0f64, other in 0u64..20) {
        let got = garwood(x as f64, exposure, Level::p95());
        // P(X ≤ k) at mean m by its terms.
        let cdf = |k: i64, m: f64| {
            let mut term = (-m).exp();
            let mut total = 0.0;
            for j in 0..=k {
                total += term;
                term *= m / (j + 1) as f64;
            }
            total
        };
        let lower = if x == 0 { 0.0 } else { bisect(0.0, 200.0, 0.025, |m| 1.0 - cdf(x as i64 - 1, m)) };
        let upper = bisect(0.0, 200.0, 0.975, |m| 1.0 - cdf(x as i64, m));
        prop_assert!(close(got.lower, lower / exposure, 1e-9) && close(got.upper, upper / exposure, 1e-9));

        let counts = TwoCounts { events_a: x, exposure_a: exposure, events_b: other, exposure_b: 7.0 };
        let got = rate_ratio_exact(counts, Level::p95()).unwrap();
        if x + other > 0 {
            let p = 7.0 / (7.0 + exposure);
            let seen = binomial(other, x + other, p);
            let slow: f64 = (0..=x + other).map(|k| binomial(k, x + other, p)).filter(|w| *w <= seen * (1.0 + 1e-7)).sum();
            prop_assert!(close(got.p.unwrap(), slow.min(1.0), 1e-9), "{got:?} {slow}");
        } else {
            prop_assert_eq!(got.reason, Some("no_events"));
        }
    }
}
