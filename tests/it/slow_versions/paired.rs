//! Paired differences and 2×2 tables.

use assize::base::Seed;
use assize::stats::Level;
use assize::stats::paired::{
    BpHall, PairedTable, bonett_price, mcnemar_exact, mcnemar_midp, newcombe, paired_t, tango,
    tost_t,
};
use assize::stats::permutation::sign_flip;
use assize::stats::power::{Need, mde, tasks_needed};
use assize::stats::sample::Paired;
use assize::stats::units::Weights;
use proptest::collection::vec;
use proptest::prelude::*;

use super::numeric::{self, bisect, close};

fn differences() -> impl Strategy<Value = Vec<f64>> {
    let one = prop_oneof![3 => Just(0.0), 1 => Just(1.0), 1 => Just(-1.0), 2 => -1.0..=1.0f64];
    vec(one, 1..14)
}

/// The normal score of METHODS 6.2 for equal weights, on the plain list with ±1 appended.
fn slow_score(d: &[f64], theta: f64) -> f64 {
    let all: Vec<f64> = d.iter().copied().chain([1.0, -1.0]).collect();
    let n = all.len() as f64;
    let m = numeric::mean(&all);
    let s = (all.iter().map(|d| (d - m).powi(2)).sum::<f64>() / n).sqrt();
    let g = all.iter().map(|d| (d - m).powi(3)).sum::<f64>() / n / s.powi(3);
    let t = (m - theta) / s;
    n.sqrt() * (t + g * t * t / 3.0 + g * g * t.powi(3) / 27.0 + g / (6.0 * n))
}

fn tables() -> impl Strategy<Value = PairedTable> {
    (0u64..9, 0u64..9, 0u64..9, 0u64..9)
        .prop_map(|(both, a_only, b_only, neither)| PairedTable {
            both,
            a_only,
            b_only,
            neither,
        })
        .prop_filter("a table needs a task", |t| t.total() > 0)
}

/// Tango's score at Δ with the nuisance probability found by maximising the likelihood.
fn slow_tango(t: PairedTable, delta: f64) -> f64 {
    let n = t.total() as f64;
    let (b, c) = (t.a_only as f64, t.b_only as f64);
    let rest = n - b - c;
    let ln = |count: f64, p: f64| {
        if count == 0.0 {
            0.0
        } else {
            count * p.max(1e-300).ln()
        }
    };
    let likelihood = |q: f64| ln(b, q + delta) + ln(c, q) + ln(rest, 1.0 - 2.0 * q - delta);
    // The likelihood is concave in q: golden-section search.
    let (mut low, mut high) = ((-delta).max(0.0), (1.0 - delta) / 2.0);
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    for _ in 0..120 {
        let (x, y) = (high - golden * (high - low), low + golden * (high - low));
        if likelihood(x) < likelihood(y) {
            low = x
        } else {
            high = y
        }
    }
    let q = 0.5 * (low + high);
    (b - c - n * delta) / (n * (2.0 * q + delta * (1.0 - delta))).sqrt()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bp_hall_limits_are_where_the_score_is_z(d in differences(), conf in prop::sample::select(vec![0.8, 0.95, 0.99])) {
        let n = d.len() as f64;
        let got = BpHall::new(&d, &vec![1.0 / n; d.len()], n).unwrap();
        let limits = got.unclipped(Level::new(conf).unwrap());
        let z = numeric::z(conf);
        // The score falls in θ.
        let lower = bisect(-9.0, 9.0, -z, |theta| -slow_score(&d, theta));
        let upper = bisect(-9.0, 9.0, z, |theta| -slow_score(&d, theta));
        prop_assert!(close(limits.lower, lower, 1e-5) && close(limits.upper, upper, 1e-5), "{limits:?} {lower} {upper}");
        for theta in [-0.5, 0.0, 0.3] {
            let x = slow_score(&d, theta);
            prop_assert!(close(got.score(theta), x, 1e-5));
            prop_assert!(close(got.p(theta), 2.0 * (1.0 - numeric::normal_cdf(x.abs().min(9.0))), 1e-5));
        }
    }

    /// Whole weights are copies: weight k on one cluster equals the masses METHODS writes down.
    #[test]
    fn bp_hall_masses_agree_with_the_text(d in vec((-1.0..=1.0f64, 1u32..5, 0u32..4), 2..12)) {
        let values: Vec<f64> = d.iter().map(|(v, ..)| *v).collect();
        let labels: Vec<u32> = d.iter().map(|(.., l)| *l).collect();
        let weights: Vec<f64> = d.iter().map(|(_, w, _)| f64::from(*w)).collect();
        let sample = Paired::new(&values, Some(&labels), &Weights::Explicit(weights.clone())).unwrap();
        let total: f64 = weights.iter().sum();
        let mut points = vec![];
        for label in 0..4 {
            let members: Vec<usize> = (0..d.len()).filter(|&i| labels[i] == label).collect();
            let w: f64 = members.iter().map(|&i| weights[i] / total).sum();
            if w > 0.0 {
                let mean = members.iter().map(|&i| weights[i] / total * values[i]).sum::<f64>() / w;
                points.push((mean, w));
            }
        }
        let n_c = 1.0 / points.iter().map(|(_, w)| w * w).sum::<f64>();
        let n = n_c + 2.0;
        let mut masses: Vec<(f64, f64)> = points.iter().map(|(d, w)| (*d, w * n_c / n)).collect();
        masses.extend([(1.0, 1.0 / n), (-1.0, 1.0 / n)]);
        prop_assert!(close(masses.iter().map(|(_, a)| a).sum::<f64>(), 1.0, 1e-12));
        let m: f64 = masses.iter().map(|(d, a)| a * d).sum();
        let s = (n * masses.iter().map(|(d, a)| a * a * (d - m).powi(2)).sum::<f64>()).sqrt();
        let got = BpHall::new(&sample.unit_means, &sample.units.unit_weights, sample.units.n_c).unwrap();
        prop_assert!(close(got.mean, m, 1e-12) && close(got.sd, s, 1e-12) && close(got.n, n, 1e-12));
    }

    #[test]
    fn sign_flips_agree_with_enumeration(d in differences()) {
        let total: f64 = d.iter().sum();
        let n = d.len();
        let sums: Vec<f64> = (0u32..1 << n)
            .map(|signs| (0..n).map(|i| if signs >> i & 1 == 1 { d[i] } else { -d[i] }).sum())
            .collect();
        let share = |hit: &dyn Fn(f64) -> bool| sums.iter().filter(|s| hit(**s)).count() as f64 / sums.len() as f64;
        let got = sign_flip(&d, Seed(1), 9999);
        prop_assert_eq!(got.p_two_sided, share(&|s| s.abs() >= total.abs() - 1e-9));
        prop_assert_eq!(got.p_greater, share(&|s| s >= total - 1e-9));
        prop_assert_eq!(got.p_less, share(&|s| s <= total + 1e-9));
    }

    #[test]
    fn t_methods_agree_with_integration(d in vec(-1.0..=1.0f64, 3..20), margin in 0.01..0.5f64) {
        let got = paired_t(&d, Level::p95());
        let (n, m, s) = (d.len() as f64, numeric::mean(&d), numeric::sd(&d));
        let se = s / n.sqrt();
        let half = numeric::t(0.95, n - 1.0) * se;
        prop_assert!(close(got.lower.unwrap(), m - half, 1e-8) && close(got.upper.unwrap(), m + half, 1e-8));
        // The p-value is one minus the level at which the interval ends at 0.
        let p = got.p.unwrap();
        if p > 1e-4 && p < 0.99 {
            prop_assert!(close(numeric::t(1.0 - p, n - 1.0) * se, m.abs(), 1e-6));
        }
        let tost = tost_t(&d, margin);
        let one = tost.p_noninferior.unwrap();
        if one > 1e-4 && one < 0.4999 {
            prop_assert!(close(numeric::t(1.0 - 2.0 * one, n - 1.0) * se, m + margin, 1e-6));
        }
    }

    #[test]
    fn mcnemar_agrees_with_exact_sums(table in tables()) {
        let n = table.discordant();
        let ways = |hit: &dyn Fn(u64) -> bool| (0..=n).filter(|k| hit(*k)).map(|k| numeric::choose(n, k)).sum::<u128>();
        let all = 2f64.powi(n as i32);
        let gap = |k: u64| (2 * k).abs_diff(n);
        let seen = gap(table.a_only);
        let exact = ways(&|k| gap(k) >= seen) as f64 / all;
        let beyond = ways(&|k| gap(k) > seen) as f64 / all;
        prop_assert!(close(mcnemar_exact(table), exact, 1e-12));
        // Half of what is exactly as extreme; 1 by definition without a discordant task.
        let midp = if n == 0 { 1.0 } else { 0.5 * (exact + beyond) };
        prop_assert!(close(mcnemar_midp(table), midp, 1e-12), "{} {midp}", mcnemar_midp(table));
    }

    #[test]
    fn table_intervals_agree_with_slow_ones(table in tables()) {
        let level = Level::p95();
        let estimate = table.difference().unwrap();
        let got = tango(table, level);
        let z = numeric::z(0.95);
        let lower = bisect(-1.0 + 1e-9, estimate.clamp(-1.0 + 1e-9, 1.0), -z, |d| -slow_tango(table, d));
        let upper = bisect(estimate, 1.0 - 1e-9, z, |d| -slow_tango(table, d));
        prop_assert!(close(got.lower.unwrap(), lower, 1e-6) && close(got.upper.unwrap(), upper, 1e-6), "{got:?} {lower} {upper}");

        // Bonett and Price is the normal interval on the list with one +1 and one −1 appended.
        let mut d = vec![1.0; table.a_only as usize + 1];
        d.extend(vec![-1.0; table.b_only as usize + 1]);
        d.extend(vec![0.0; (table.both + table.neither) as usize]);
        let n = d.len() as f64;
        let m = numeric::mean(&d);
        let s = (d.iter().map(|d| (d - m).powi(2)).sum::<f64>() / n).sqrt();
        let got = bonett_price(table, level);
        prop_assert!(close(got.lower.unwrap(), (m - z * s / n.sqrt()).max(-1.0), 1e-9));
        prop_assert!(close(got.upper.unwrap(), (m + z * s / n.sqrt()).min(1.0), 1e-9));

        let got = newcombe(table, level);
        let (lower, upper) = slow_newcombe(table, z);
        prop_assert!(close(got.lower.unwrap(), lower, 1e-9) && close(got.upper.unwrap(), upper, 1e-9), "{got:?} {lower} {upper}");
    }

    #[test]
    fn tasks_needed_agrees_with_a_linear_search(variance in 0.0..0.4f64, margin in 0.04..0.3f64, strict in any::<bool>()) {
        let need = Need { margin, assumed_loss: 0.0, variance, power: 0.8, strict };
        let got = tasks_needed(need, Level::p95()).unwrap();
        let least = (if strict { 3.7 } else { 2.8 } / margin * 1.959963984540054 / 1.959964f64).ceil().max(2.0) as u64;
        let slow = (least..).find(|&g| mde(g as f64, variance, Level::p95(), 0.8).unwrap() <= margin + 1e-9).unwrap();
        prop_assert_eq!(got.tasks, slow);
    }
}

/// Newcombe's method 10 with Wilson limits written as the roots of a quadratic.
fn slow_newcombe(t: PairedTable, z: f64) -> (f64, f64) {
    let n = t.total() as f64;
    let roots = |x: f64| {
        let (a, b, c) = (n + z * z, -(2.0 * x + z * z), x * x / n);
        let disc = (b * b - 4.0 * a * c).max(0.0).sqrt();
        ((-b - disc) / (2.0 * a), (-b + disc) / (2.0 * a))
    };
    let [e, f, g, h] = [t.both, t.a_only, t.b_only, t.neither].map(|v| v as f64);
    let ((l1, u1), (l2, u2)) = (roots(e + f), roots(e + g));
    let product = (e + f) * (g + h) * (e + g) * (f + h);
    let cross = e * h - f * g;
    let cross = if cross > n / 2.0 {
        cross - n / 2.0
    } else if cross >= 0.0 {
        0.0
    } else {
        cross
    };
    let phi = if product > 0.0 {
        cross / product.sqrt()
    } else {
        0.0
    };
    let (p1, p2) = ((e + f) / n, (e + g) / n);
    let side = |x: f64, y: f64| (x * x - 2.0 * phi * x * y + y * y).max(0.0).sqrt();
    let (lower, upper) = (
        p1 - p2 - side(p1 - l1, u2 - p2),
        p1 - p2 + side(u1 - p1, p2 - l2),
    );
    (lower.max(-1.0), upper.min(1.0))
}
