//! Rare events, and trials that are missing.

use std::collections::BTreeMap;

use assize::base::Seed;
use assize::stats::Level;
use assize::stats::count::{
    UnitCount, poisson_clustered, zero_event_units_needed, zero_event_upper,
};
use assize::stats::missing::{PartialTask, PooledArm, missing_comparison, missing_sign_flip};
use proptest::collection::vec;
use proptest::prelude::*;

use super::numeric::{self, bisect, choose, close};

/// P(X ≤ m) of a gamma variable of shape a, by its power series.
fn gamma_cdf(a: f64, m: f64) -> f64 {
    if m <= 0.0 {
        return 0.0;
    }
    let mut term = (a * m.ln() - m - statrs::function::gamma::ln_gamma(a + 1.0)).exp();
    let mut total = 0.0;
    for j in 1..2000 {
        total += term;
        term *= m / (a + f64::from(j));
    }
    total
}

/// Section 3 of METHODS read line by line.
fn slow_counts(units: &[(u32, u32)], conf: f64) -> (f64, f64) {
    let used: Vec<(f64, f64)> = units
        .iter()
        .filter(|u| u.1 > 0)
        .map(|&(x, e)| (f64::from(x), f64::from(e)))
        .collect();
    let g = used.len() as f64;
    let x: f64 = used.iter().map(|u| u.0).sum();
    let e: f64 = used.iter().map(|u| u.1).sum();
    let (r, m) = (x / e, e / g);
    let shrunk = if x == 0.0 {
        m.max(1.0)
    } else {
        let squares: f64 = used.iter().map(|u| (u.0 / u.1 - r).powi(2)).sum();
        let phi = (squares / (g * (g - 1.0)) / (r / e)).max(1.0);
        let k = used.iter().filter(|u| u.0 > 0.0).count() as f64;
        (k * phi + phi.max(m)) / (k + 1.0)
    };
    let phi = shrunk * (numeric::t(conf, g - 1.0) / numeric::z(conf)).powi(2);
    let tail = (1.0 - conf) / 2.0;
    // The mean at which so many events or more, or so many or fewer, are as rare as the tail.
    let lower = if x == 0.0 {
        0.0
    } else {
        bisect(0.0, 500.0, tail, |m| gamma_cdf(x / phi, m))
    };
    let upper = bisect(0.0, 500.0, 1.0 - tail, |m| gamma_cdf(x / phi + 1.0, m));
    (lower * phi / e, upper * phi / e)
}

/// (1 − p)^n by n products.
fn all_clean(p: f64, n: u64) -> f64 {
    (0..n).fold(1.0, |chance, _| chance * (1.0 - p))
}

fn pooled() -> impl Strategy<Value = (PooledArm, Vec<bool>)> {
    (vec(any::<bool>(), 0..6), 0u64..4).prop_map(|(values, missing)| {
        let arm = PooledArm {
            successes: values.iter().filter(|v| **v).count() as f64,
            observed: values.len() as u64,
            missing,
        };
        (arm, values)
    })
}

/// The rate for each number of passes among the missing; empty without trials.
fn completions(arm: PooledArm) -> Vec<f64> {
    let all = (arm.observed + arm.missing) as f64;
    (0..=arm.missing)
        .filter(|_| all > 0.0)
        .map(|passes| (arm.successes + passes as f64) / all)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn clustered_counts_agree_with_the_text(
        units in vec((prop_oneof![2 => Just(0u32), 1 => 0u32..6], 0u32..9), 0..30),
        conf in prop::sample::select(vec![0.8, 0.95, 0.99]),
    ) {
        let units: Vec<(u32, u32)> = units.into_iter().map(|(x, e)| (if e == 0 { 0 } else { x }, e)).collect();
        let given: Vec<UnitCount> = units.iter()
            .map(|&(x, e)| UnitCount { events: f64::from(x), exposure: f64::from(e) })
            .collect();
        let got = poisson_clustered(&given, Level::new(conf).unwrap()).unwrap();
        prop_assert_eq!(got.lower.is_some(), units.iter().filter(|u| u.1 > 0).count() >= 2);
        if let (Some(lower), Some(upper)) = (got.lower, got.upper) {
            let slow = slow_counts(&units, conf);
            prop_assert!(close(lower, slow.0, 1e-7) && close(upper, slow.1, 1e-7), "{got:?} {slow:?}");
        }
    }

    #[test]
    fn clean_units_agree_with_products(n in 1u64..400, rate in 0.004..0.9f64, alpha in prop::sample::select(vec![0.005, 0.025, 0.05, 0.3])) {
        let upper = bisect(0.0, 1.0, 1.0 - alpha, |p| 1.0 - all_clean(p, n));
        prop_assert!(close(zero_event_upper(n, alpha).unwrap().unwrap(), upper, 1e-12));
        let needed = (1..).find(|&n| all_clean(rate, n) <= alpha).unwrap();
        prop_assert_eq!(zero_event_units_needed(rate, alpha).unwrap(), Some(needed));
    }

    #[test]
    fn pooled_losses_agree_with_all_completions((a, va) in pooled(), (b, vb) in pooled()) {
        let got = missing_comparison(a, b);
        let gaps: Vec<f64> = completions(b).iter().flat_map(|y| completions(a).into_iter().map(move |x| y - x)).collect();
        if gaps.is_empty() {
            prop_assert_eq!((got.diff_worst, got.diff_best, got.sign_decidable), (None, None, false));
        } else {
            let low = gaps.iter().copied().fold(f64::INFINITY, f64::min);
            let high = gaps.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(close(got.diff_worst.unwrap(), low, 1e-12) && close(got.diff_best.unwrap(), high, 1e-12));
            let one_sign = gaps.iter().all(|d| *d > 1e-9) || gaps.iter().all(|d| *d < -1e-9);
            prop_assert_eq!(got.sign_decidable, one_sign);
        }
        let rate = |v: &[bool]| v.iter().filter(|x| **x).count() as f64 / v.len() as f64;
        prop_assert_eq!(got.diff_complete_case.is_some(), !va.is_empty() && !vb.is_empty());
        if let Some(gap) = got.diff_complete_case {
            prop_assert!(close(gap, rate(&vb) - rate(&va), 1e-12));
        }
        // Fisher: every way to deal the missing out over the planned trials, no likelier than this.
        let (n, m) = (a.observed + a.missing, b.observed + b.missing);
        let lost = a.missing + b.missing;
        let ways = |k: u64| if k > lost { 0 } else { choose(n, k) * choose(m, lost - k) };
        let rare: u128 = (0..=lost).map(ways).filter(|w| *w <= ways(a.missing)).sum();
        let p = rare as f64 / choose(n + m, lost) as f64;
        prop_assert!(close(got.missing_fisher_p, p, 1e-9), "{got:?} {p}");
    }

    #[test]
    fn the_screen_for_losses_agrees_with_all_signs(
        tasks in vec(((0u32..4, 0u32..4), (0u32..4, 0u32..4), 0u32..7), 0..12),
        clustered in any::<bool>(),
    ) {
        let part = |(observed, missing): (u32, u32)| PartialTask { sum: 0.0, observed, missing };
        let a: Vec<PartialTask> = tasks.iter().map(|t| part(t.0)).collect();
        let b: Vec<PartialTask> = tasks.iter().map(|t| part(t.1)).collect();
        let labels: Vec<u32> = tasks.iter().enumerate().map(|(i, t)| if clustered { t.2 } else { i as u32 }).collect();
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        for ((a, b), label) in a.iter().zip(&b).zip(&labels) {
            let share = |t: &PartialTask| f64::from(t.missing) / f64::from(t.observed + t.missing);
            if a.observed + a.missing > 0 && b.observed + b.missing > 0 {
                *sums.entry(*label).or_default() += share(b) - share(a);
            }
        }
        let sums: Vec<f64> = sums.into_values().collect();
        let seen: f64 = sums.iter().sum();
        let signed = |signs: u32| sums.iter().enumerate().map(|(i, d)| if signs >> i & 1 == 1 { -d } else { *d }).sum::<f64>();
        let all = 1u32 << sums.len();
        let reached = (0..all).filter(|&s| signed(s).abs() >= seen.abs() - 1e-9).count();
        let got = missing_sign_flip(&a, &b, clustered.then_some(&labels[..]), Seed(4), 9999).unwrap();
        let p = reached as f64 / f64::from(all);
        prop_assert!(close(got.p_two_sided, p, 1e-12), "{got:?} {p}");
    }
}
