//! Proportions and clustered rates.

use std::collections::BTreeMap;

use assize::stats::Level;
use assize::stats::clustered::{
    Df, RobustType, TaskSpread, cluster_robust, icc_anova, korn_graubard, sen_cp, sen_midp,
    sen_wilson, task_mean_t, tasks_fixed_cp,
};
use assize::stats::missing::{PartialTask, manski_difference, manski_tasks};
use assize::stats::pass_k::{PassKind, Successes, pass_task};
use assize::stats::proportion::{clopper_pearson, jeffreys, midp, wilson};
use assize::stats::sample::{Clustered, TaskScore};
use assize::stats::units::Weights;
use proptest::collection::vec;
use proptest::prelude::*;

use super::numeric::{self, beta_cdf, binomial, bisect, close};

const CONF: [f64; 3] = [0.8, 0.95, 0.99];

fn conf() -> impl Strategy<Value = f64> {
    prop::sample::select(CONF.to_vec())
}

/// The p at which the score statistic equals ±z.
fn wilson_by_inversion(x: f64, n: f64, conf: f64) -> (f64, f64) {
    let z = numeric::z(conf);
    let score = |p: f64| (p - x / n) / (p * (1.0 - p) / n).sqrt();
    let lower = if x == 0.0 {
        0.0
    } else {
        bisect(1e-12, x / n, -z, score)
    };
    let upper = if x == n {
        1.0
    } else {
        bisect(x / n, 1.0 - 1e-12, z, score)
    };
    (lower, upper)
}

/// The p at which the mid-P tail of whole counts equals α/2.
fn midp_by_sums(x: u64, n: u64, conf: f64) -> (f64, f64) {
    let tail = (1.0 - conf) / 2.0;
    let above = |p: f64| (x + 1..=n).map(|k| binomial(k, n, p)).sum::<f64>();
    let mid = |p: f64| above(p) + 0.5 * binomial(x, n, p);
    let lower = if x == 0 {
        0.0
    } else {
        bisect(0.0, 1.0, tail, mid)
    };
    let upper = if x == n {
        1.0
    } else {
        bisect(0.0, 1.0, 1.0 - tail, mid)
    };
    (lower, upper)
}

fn exact_by_sums(x: u64, n: u64, conf: f64) -> (f64, f64) {
    let tail = (1.0 - conf) / 2.0;
    let from = |first: u64, p: f64| (first..=n).map(|k| binomial(k, n, p)).sum::<f64>();
    let lower = if x == 0 {
        0.0
    } else {
        bisect(0.0, 1.0, tail, |p| from(x, p))
    };
    let upper = if x == n {
        1.0
    } else {
        bisect(0.0, 1.0, 1.0 - tail, |p| from(x + 1, p))
    };
    (lower, upper)
}

/// A task as the slow versions take it: values of its trials, weight and label.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) values: Vec<f64>,
    pub(super) weight: f64,
    pub(super) label: u32,
}

fn tasks() -> impl Strategy<Value = Vec<Task>> {
    let value = prop_oneof![3 => Just(1.0), 2 => Just(0.0), 1 => 0.0..=1.0f64];
    let task = (vec(value, 1..7), 0.1..4.0f64, 0u32..6).prop_map(|(values, weight, label)| Task {
        values,
        weight,
        label,
    });
    vec(task, 1..14)
}

fn library(tasks: &[Task]) -> Clustered {
    let scores: Vec<TaskScore> = tasks
        .iter()
        .map(|t| TaskScore {
            sum: t.values.iter().sum(),
            trials: t.values.len() as u32,
        })
        .collect();
    let labels: Vec<u32> = tasks.iter().map(|t| t.label).collect();
    let weights = Weights::Explicit(tasks.iter().map(|t| t.weight).collect());
    Clustered::new(&scores, Some(&labels), &weights).unwrap()
}

/// METHODS 1.4 read line by line, over maps and trial values.
pub(super) struct SlowSen {
    pub(super) p: f64,
    n_c: f64,
    n_eff: f64,
}

pub(super) fn slow_sen(tasks: &[Task], conf: f64) -> SlowSen {
    let total: f64 = tasks.iter().map(|t| t.weight).sum();
    let w = |t: &Task| t.weight / total;
    let p: f64 = tasks.iter().map(|t| w(t) * numeric::mean(&t.values)).sum();
    let (mut mass, mut error) = (BTreeMap::new(), BTreeMap::new());
    for t in tasks {
        *mass.entry(t.label).or_insert(0.0) += w(t);
        *error.entry(t.label).or_insert(0.0) += w(t) * (numeric::mean(&t.values) - p);
    }
    let n_c = 1.0 / mass.values().map(|m: &f64| m * m).sum::<f64>();
    let unequal = mass.values().any(|&m| m > 2.0 / mass.len() as f64 + 1e-9);
    let lo = n_c
        * tasks
            .iter()
            .map(|t| w(t) * w(t) / t.values.len() as f64)
            .sum::<f64>();
    let v: f64 = error
        .iter()
        .map(|(label, e): (_, &f64)| e * e / if unequal { 1.0 - mass[label] } else { 1.0 })
        .sum();
    let certain = p <= 1e-12 || 1.0 - p <= 1e-12;
    let mut r = if certain {
        1.0
    } else {
        lo.max(v * n_c / (p * (1.0 - p)))
    };
    if !unequal {
        r = r.min(1.0);
    }
    let k = if certain { 0.0 } else { n_c * p.min(1.0 - p) };
    let mut r_s = (k * r + 1.0) / (k + 1.0);
    let mut n_eff = n_c / r_s;
    if unequal {
        r_s *= (numeric::t(conf, (n_c - 1.0).max(1.0)) / numeric::z(conf)).powi(2);
        n_eff = (n_c / r_s).max(0.2);
    }
    SlowSen {
        p: if p <= 1e-12 {
            0.0
        } else if 1.0 - p <= 1e-12 {
            1.0
        } else {
            p
        },
        n_c,
        n_eff,
    }
}

/// SEN-CP's limits on those numbers, with the floor for collapse that was not seen.
pub(super) fn slow_sen_cp(tasks: &[Task], conf: f64) -> (f64, f64) {
    let slow = slow_sen(tasks, conf);
    let (l, u) = numeric::clopper_pearson(slow.p * slow.n_eff, slow.n_eff, conf);
    let f = ((1.0 - conf) / 2.0).powf(1.0 / slow.n_c);
    (l.min(slow.p * f), u.max(1.0 - (1.0 - slow.p) * f))
}

/// Residual maker, cluster by cluster, on trials: e = (I − 11'/N)y, and CR2's adjustment
/// (I − n_c/N)^(−½) on the span of 1.
fn slow_robust(tasks: &[Task], kind: RobustType) -> (f64, f64, f64) {
    let values: Vec<(u32, f64)> = tasks
        .iter()
        .flat_map(|t| t.values.iter().map(|&v| (t.label, v)))
        .collect();
    let n = values.len() as f64;
    let mean = values.iter().map(|(_, v)| v).sum::<f64>() / n;
    let mut clusters: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, (label, _)) in values.iter().enumerate() {
        clusters.entry(*label).or_default().push(i);
    }
    let c = clusters.len() as f64;
    // Each cluster contributes (g'y)² with g = a_c·(I − H)1_c/N.
    let directions: Vec<Vec<f64>> = clusters
        .values()
        .map(|members| {
            let size = members.len() as f64;
            let a = match kind {
                RobustType::Cr0 => 1.0,
                RobustType::Cr1 => (c / (c - 1.0)).sqrt(),
                RobustType::Cr2 => (1.0 - size / n).powf(-0.5),
            };
            (0..values.len())
                .map(|i| a / n * (f64::from(members.contains(&i) as u8) - size / n))
                .collect()
        })
        .collect();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let y: Vec<f64> = values.iter().map(|(_, v)| *v).collect();
    let variance: f64 = directions.iter().map(|g| dot(g, &y).powi(2)).sum();
    let trace: f64 = directions.iter().map(|g| dot(g, g)).sum();
    let square: f64 = directions
        .iter()
        .flat_map(|g| directions.iter().map(|h| dot(g, h).powi(2)))
        .sum();
    (mean, variance.sqrt(), trace * trace / square)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn proportions_agree_with_sums_and_inversion((n, x) in (1u64..40).prop_flat_map(|n| (Just(n), 0..=n)), conf in conf()) {
        let level = Level::new(conf).unwrap();
        let (xf, nf) = (x as f64, n as f64);
        for (got, (lower, upper)) in [
            (clopper_pearson(xf, nf, level), exact_by_sums(x, n, conf)),
            (wilson(xf, nf, level), wilson_by_inversion(xf, nf, conf)),
            (midp(xf, nf, level), midp_by_sums(x, n, conf)),
        ] {
            prop_assert!(close(got.lower, lower, 1e-9) && close(got.upper, upper, 1e-9), "{got:?} {lower} {upper}");
        }
        let got = jeffreys(xf, nf, level);
        let tail = (1.0 - conf) / 2.0;
        if x > 0 {
            prop_assert!(close(beta_cdf(xf + 0.5, nf - xf + 0.5, got.lower), tail, 1e-8));
        }
        if x < n {
            prop_assert!(close(beta_cdf(xf + 0.5, nf - xf + 0.5, got.upper), 1.0 - tail, 1e-8));
        }
    }

    #[test]
    fn sen_cp_agrees_with_the_text(tasks in tasks(), conf in conf()) {
        let (sample, level) = (library(&tasks), Level::new(conf).unwrap());
        let slow = slow_sen(&tasks, conf);
        let got = sen_cp(&sample, level);
        prop_assert!(close(got.n_eff.unwrap(), slow.n_eff, 1e-7), "{got:?} {}", slow.n_eff);
        let (lower, upper) = slow_sen_cp(&tasks, conf);
        prop_assert!(close(got.lower.unwrap(), lower, 1e-7) && close(got.upper.unwrap(), upper, 1e-7), "{got:?} {lower} {upper}");
        let other = sen_wilson(&sample, level);
        let (lower, upper) = wilson_by_inversion(slow.p * slow.n_eff, slow.n_eff, conf);
        prop_assert!(close(other.lower.unwrap(), lower, 1e-7) && close(other.upper.unwrap(), upper, 1e-7), "{other:?}");
        let midp = sen_midp(&sample, level);
        let (x, n) = (slow.p * slow.n_eff, slow.n_eff);
        for (limit, target) in [(midp.lower.unwrap(), (1.0 - conf) / 2.0), (midp.upper.unwrap(), (1.0 + conf) / 2.0)] {
            if x > 0.0 && x < n && limit > 1e-6 && limit < 1.0 - 1e-6 {
                let mid = |p: f64| 0.5 * (beta_cdf(x, n - x + 1.0, p) + beta_cdf(x + 1.0, n - x, p));
                // Where the distribution is steep a limit that is right to 1e-8 misses the target by more.
                let (below, above) = (mid((limit - 1e-8).max(0.0)), mid((limit + 1e-8).min(1.0)));
                prop_assert!(below.min(above) - 1e-9 <= target && target <= below.max(above) + 1e-9, "{below} {above} {target}");
            }
        }
    }

    #[test]
    fn fixed_tasks_agree_with_the_text(tasks in tasks(), conf in conf()) {
        let got = tasks_fixed_cp(&library(&tasks), Level::new(conf).unwrap());
        let total: f64 = tasks.iter().map(|t| t.weight).sum();
        let n = tasks.iter().map(|t| t.values.len() as f64 * total / t.weight).fold(f64::INFINITY, f64::min);
        let p = slow_sen(&tasks, conf).p;
        let (lower, upper) = numeric::clopper_pearson(p * n, n, conf);
        prop_assert!(close(got.lower.unwrap(), lower, 1e-7) && close(got.upper.unwrap(), upper, 1e-7), "{got:?} {lower} {upper}");
    }

    #[test]
    fn robust_errors_agree_with_matrices(tasks in tasks(), conf in conf()) {
        let (sample, level) = (library(&tasks), Level::new(conf).unwrap());
        let clusters: std::collections::BTreeSet<u32> = tasks.iter().map(|t| t.label).collect();
        for kind in [RobustType::Cr0, RobustType::Cr1, RobustType::Cr2] {
            let got = cluster_robust(&sample, kind, Df::Satterthwaite, level);
            if clusters.len() < 2 {
                prop_assert_eq!(got.reason, Some("too_few_units"));
                continue;
            }
            let (mean, se, df) = slow_robust(&tasks, kind);
            prop_assert!(close(got.estimate.unwrap(), mean, 1e-12));
            prop_assert!(close(got.se.unwrap(), se, 1e-9));
            prop_assert!(close(got.df.unwrap(), df, 1e-9), "{kind:?} {got:?} {df}");
            if let Some(upper) = got.upper {
                prop_assert!(close(upper, mean + numeric::t(conf, df) * se, 1e-6));
            }
        }
        let got = korn_graubard(&sample, level);
        if let Some(lower) = got.lower {
            let (mean, se, _) = slow_robust(&tasks, RobustType::Cr1);
            let trials: usize = tasks.iter().map(|t| t.values.len()).sum();
            let ratio = numeric::t(conf, trials as f64 - 1.0) / numeric::t(conf, clusters.len() as f64 - 1.0);
            let n = mean * (1.0 - mean) / (se * se) * ratio * ratio;
            let (slow, _) = numeric::clopper_pearson(mean * n, n, conf);
            prop_assert!(close(lower, slow, 1e-5), "{got:?} {slow}");
        }
    }

    #[test]
    fn task_means_and_icc_agree_with_trials(tasks in tasks(), conf in conf()) {
        let means: Vec<f64> = tasks.iter().map(|t| numeric::mean(&t.values)).collect();
        let got = task_mean_t(&library(&tasks), Level::new(conf).unwrap());
        if let Some(upper) = got.upper {
            let n = means.len() as f64;
            let slow = numeric::mean(&means) + numeric::t(conf, n - 1.0) * numeric::sd(&means) / n.sqrt();
            prop_assert!(close(upper, slow, 1e-6), "{upper} {slow}");
        }
        let spreads: Vec<TaskSpread> = tasks.iter().map(|t| TaskSpread::of(&t.values)).collect();
        let effect = icc_anova(&spreads);
        let all: Vec<f64> = tasks.iter().flat_map(|t| t.values.clone()).collect();
        if let Some(icc) = effect.icc {
            let (g, n) = (tasks.len() as f64, all.len() as f64);
            let grand = numeric::mean(&all);
            let between: f64 = tasks.iter().flat_map(|t| {
                let m = numeric::mean(&t.values);
                t.values.iter().map(move |_| (m - grand).powi(2)).collect::<Vec<_>>()
            }).sum::<f64>() / (g - 1.0);
            let within: f64 = tasks.iter().flat_map(|t| {
                let m = numeric::mean(&t.values);
                t.values.iter().map(move |v| (v - m).powi(2)).collect::<Vec<_>>()
            }).sum::<f64>() / (n - g);
            let m0 = (n - tasks.iter().map(|t| (t.values.len() as f64).powi(2)).sum::<f64>() / n) / (g - 1.0);
            prop_assert!(close(icc, (between - within) / (between + (m0 - 1.0) * within), 1e-7), "{effect:?}");
        }
    }

    #[test]
    fn pass_k_agrees_with_all_subsets(outcomes in vec(any::<bool>(), 1..10), k in 1u32..6) {
        let n = outcomes.len() as u32;
        let successes = outcomes.iter().filter(|b| **b).count() as u32;
        let task = Successes { trials: n, successes };
        let subsets: Vec<u32> = (0u32..1 << n).filter(|s| s.count_ones() == k).collect();
        let share = |hit: &dyn Fn(u32) -> bool| {
            let hits = subsets.iter().filter(|s| hit(**s)).count();
            (!subsets.is_empty()).then(|| hits as f64 / subsets.len() as f64)
        };
        let passed = (0..n).filter(|i| outcomes[*i as usize]).fold(0u32, |set, i| set | 1 << i);
        let (at, hat) = (share(&|s| s & passed != 0), share(&|s| s & !passed == 0));
        for (kind, slow) in [(PassKind::At, at), (PassKind::Hat, hat)] {
            match (pass_task(kind, task, k), slow) {
                (Some(a), Some(b)) => prop_assert!((a - b).abs() < 1e-12),
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }

    #[test]
    fn bounds_are_the_extremes_of_all_completions(tasks in vec((vec(any::<bool>(), 0..4), 0u32..3), 1..5)) {
        let partial: Vec<PartialTask> = tasks.iter()
            .map(|(v, k)| PartialTask { sum: v.iter().filter(|b| **b).count() as f64, observed: v.len() as u32, missing: *k })
            .collect();
        // A task without any planned trial counts as one that is missing.
        let missing: Vec<u32> = partial.iter().map(|t| if t.observed == 0 { t.missing.max(1) } else { t.missing }).collect();
        let bits: u32 = missing.iter().sum();
        let rate = |fill: u32| {
            let mut at = 0;
            let mean = |i: usize, at: &mut u32| {
                let extra = (0..missing[i]).filter(|j| fill >> (*at + j) & 1 == 1).count() as f64;
                *at += missing[i];
                (partial[i].sum + extra) / f64::from(partial[i].observed + missing[i])
            };
            (0..partial.len()).map(|i| mean(i, &mut at)).sum::<f64>() / partial.len() as f64
        };
        let all: Vec<f64> = (0..1u32 << bits).map(rate).collect();
        let (low, high) = (all.iter().copied().fold(1.0, f64::min), all.iter().copied().fold(0.0, f64::max));
        let got = manski_tasks(&partial, None, &Weights::EqualTask, Level::p95()).unwrap();
        prop_assert!(close(got.worst.unwrap(), low, 1e-12) && close(got.best.unwrap(), high, 1e-12));
        let same = manski_difference(&partial, &partial, None, &Weights::EqualTask, Level::p95(), false).unwrap();
        prop_assert!(close(same.worst.estimate.unwrap(), low - high, 1e-12));
        prop_assert!(close(same.best.estimate.unwrap(), high - low, 1e-12));
    }
}
