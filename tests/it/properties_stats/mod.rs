//! What must hold of every interval, whatever the data.

mod invariance;
mod more_tasks;

use assize::compare::decision::{DecideInput, decide};
use assize::compare::orient::Direction;
use assize::stats::clustered::{
    RateEstimate, korn_graubard, sen_cp, sen_midp, sen_wilson, tasks_fixed_cp,
};
use assize::stats::count::{UnitCount, garwood, poisson_clustered};
use assize::stats::missing::{PartialTask, manski_difference, manski_tasks};
use assize::stats::paired::{PairedTable, bonett_price, bp_hall, newcombe, tango};
use assize::stats::pass_k::{PassKind, Successes, pass_k};
use assize::stats::proportion::{clopper_pearson, jeffreys, midp, wilson};
use assize::stats::quantile::quantile_clustered;
use assize::stats::ratio::{geometric_mean_ratio, mean_amount, ratio_of_means};
use assize::stats::sample::{Clustered, Paired, TaskScore};
use assize::stats::units::Weights;
use assize::stats::{Level, Limits};
use proptest::collection::vec;
use proptest::prelude::*;

type RateMethod = fn(&Clustered, Level) -> RateEstimate;

const RATES: &[(&str, RateMethod)] = &[
    ("sen_cp", sen_cp),
    ("sen_wilson", sen_wilson),
    ("sen_midp", sen_midp),
    ("tasks_fixed_cp", tasks_fixed_cp),
    ("korn_graubard", korn_graubard),
];

/// Tasks with labels of random clusters, and how they are weighted.
#[derive(Clone, Debug)]
struct Data {
    tasks: Vec<TaskScore>,
    labels: Option<Vec<u32>>,
    weights: Weights,
}

impl Data {
    fn sample(&self) -> Clustered {
        Clustered::new(&self.tasks, self.labels.as_deref(), &self.weights).unwrap()
    }

    /// Every task twice; copies belong to clusters of their own.
    fn doubled(&self) -> Self {
        let twice = |n: usize| (0..2 * n).map(move |i| i % n);
        let n = self.tasks.len();
        Self {
            tasks: twice(n).map(|i| self.tasks[i]).collect(),
            labels: self.labels.as_ref().map(|labels| {
                (0..2 * n)
                    .map(|i| labels[i % n] + if i < n { 0 } else { 1000 })
                    .collect()
            }),
            weights: match &self.weights {
                Weights::Explicit(w) => Weights::Explicit(twice(n).map(|i| w[i]).collect()),
                other => other.clone(),
            },
        }
    }

    fn reordered(&self, order: &[usize]) -> Self {
        Self {
            tasks: order.iter().map(|&i| self.tasks[i]).collect(),
            labels: self
                .labels
                .as_ref()
                .map(|l| order.iter().map(|&i| l[i]).collect()),
            weights: match &self.weights {
                Weights::Explicit(w) => Weights::Explicit(order.iter().map(|&i| w[i]).collect()),
                other => other.clone(),
            },
        }
    }

    /// Failures counted as successes.
    fn mirrored(&self) -> Self {
        let flip = |t: &TaskScore| TaskScore {
            sum: f64::from(t.trials) - t.sum,
            ..*t
        };
        Self {
            tasks: self.tasks.iter().map(flip).collect(),
            ..self.clone()
        }
    }
}

fn score() -> impl Strategy<Value = TaskScore> {
    (
        0u32..12,
        prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0f64],
        any::<bool>(),
    )
        .prop_map(|(trials, share, graded)| {
            let sum = share * f64::from(trials);
            TaskScore {
                sum: if graded { sum } else { sum.round() },
                trials,
            }
        })
}

fn weights(n: usize) -> impl Strategy<Value = Weights> {
    prop_oneof![
        Just(Weights::EqualTask),
        Just(Weights::Trials),
        Just(Weights::EqualCluster),
        vec(0.1..5.0f64, n).prop_map(Weights::Explicit),
    ]
}

fn data() -> impl Strategy<Value = Data> {
    (1usize..30).prop_flat_map(|n| {
        (
            vec(score(), n),
            proptest::option::of(vec(0u32..9, n)),
            weights(n),
        )
            .prop_map(|(tasks, labels, weights)| Data {
                tasks,
                labels,
                weights,
            })
    })
}

fn differences(least: usize) -> impl Strategy<Value = Vec<f64>> {
    let one = prop_oneof![3 => Just(0.0), 1 => Just(1.0), 1 => Just(-1.0), 2 => -1.0..=1.0f64];
    vec(one, least..40)
}

fn level() -> impl Strategy<Value = Level> {
    (0.5..0.999f64).prop_map(|conf| Level::new(conf).unwrap())
}

fn table() -> impl Strategy<Value = PairedTable> {
    let count = || prop_oneof![Just(0u64), 0u64..30, 0u64..100_000];
    (count(), count(), count(), count()).prop_map(|(both, a_only, b_only, neither)| PairedTable {
        both,
        a_only,
        b_only,
        neither,
    })
}

/// Whether `limits` lie in the range and around the estimate.
fn sound(limits: Limits, estimate: f64, low: f64, high: f64) -> bool {
    let slack = 1e-9 * estimate.abs().max(1.0);
    limits.lower >= low
        && limits.upper <= high
        && limits.lower <= estimate + slack
        && estimate <= limits.upper + slack
}

/// Whether `outer` holds `inner`, but for rounding.
fn holds(outer: Limits, inner: Limits) -> bool {
    let slack = |v: f64| {
        if v.is_finite() {
            1e-9 * v.abs().max(1.0)
        } else {
            0.0
        }
    };
    outer.lower <= inner.lower + slack(inner.lower)
        && inner.upper <= outer.upper + slack(inner.upper)
}

fn near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

fn negated(limits: Limits) -> Limits {
    Limits {
        lower: -limits.upper,
        upper: -limits.lower,
    }
}

fn near_limits(a: Limits, b: Limits) -> bool {
    near(a.lower, b.lower) && near(a.upper, b.upper)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rates_contain_their_estimate_and_stay_in_range(data in data(), level in level()) {
        let sample = data.sample();
        for (name, method) in RATES {
            let rate = method(&sample, level);
            match rate.limits() {
                Some(limits) => prop_assert!(sound(limits, rate.estimate.unwrap(), 0.0, 1.0), "{name} {rate:?}"),
                None => prop_assert!(rate.reason.is_some(), "{name} {rate:?}"),
            }
        }
    }

    #[test]
    fn rates_widen_with_the_level(data in data(), conf in 0.5..0.98f64) {
        let sample = data.sample();
        let (narrow, wide) = (Level::new(conf).unwrap(), Level::new(conf + 0.019).unwrap());
        for (name, method) in RATES {
            if let (Some(inner), Some(outer)) = (method(&sample, narrow).limits(), method(&sample, wide).limits()) {
                prop_assert!(holds(outer, inner), "{name} {inner:?} {outer:?}");
            }
        }
    }

    #[test]
    fn rates_shrink_with_more_tasks(data in data(), level in level()) {
        let (once, twice) = (data.sample(), data.doubled().sample());
        for (name, method) in &RATES[..4] {
            if let (Some(outer), Some(inner)) = (method(&once, level).limits(), method(&twice, level).limits()) {
                prop_assert!(holds(outer, inner), "{name} {outer:?} {inner:?}");
            }
        }
    }

    #[test]
    fn order_of_tasks_changes_nothing((data, order) in data().prop_flat_map(|d| {
        let n = d.tasks.len();
        (Just(d), Just((0..n).collect::<Vec<_>>()).prop_shuffle())
    })) {
        let (as_given, shuffled) = (data.sample(), data.reordered(&order).sample());
        for (name, method) in RATES {
            let (a, b) = (method(&as_given, Level::p95()), method(&shuffled, Level::p95()));
            prop_assert_eq!(a.status, b.status);
            match (a.limits(), b.limits()) {
                (Some(x), Some(y)) => prop_assert!(near_limits(x, y), "{name} {x:?} {y:?}"),
                (x, y) => prop_assert_eq!(x.is_some(), y.is_some(), "{}", name),
            }
        }
    }

    #[test]
    fn failures_mirror_successes(data in data(), level in level()) {
        let (sample, mirror) = (data.sample(), data.mirrored().sample());
        for (name, method) in RATES {
            if let (Some(a), Some(b)) = (method(&sample, level).limits(), method(&mirror, level).limits()) {
                let b = Limits { lower: 1.0 - b.upper, upper: 1.0 - b.lower };
                prop_assert!(near_limits(a, b), "{name} {a:?} {b:?}");
            }
        }
    }

    #[test]
    fn proportions_are_sound(n in prop_oneof![1.0..60.0f64, Just(1e7), 0.2..1.0f64], share in 0.0..=1.0f64, level in level()) {
        let x = n * share;
        let exact = clopper_pearson(x, n, level);
        prop_assert!(holds(exact, midp(x, n, level)));
        for limits in [exact, wilson(x, n, level), midp(x, n, level), jeffreys(x, n, level)] {
            // Jeffreys' equal-tailed limits may exclude an estimate very near 0 or 1.
            prop_assert!(limits.lower <= limits.upper && limits.lower >= 0.0 && limits.upper <= 1.0);
        }
        for limits in [exact, wilson(x, n, level), midp(x, n, level)] {
            prop_assert!(sound(limits, share, 0.0, 1.0), "{limits:?}");
        }
    }

    #[test]
    fn pass_k_is_sound(counts in vec((0u32..9, 0u32..9), 1..20), k in 1u32..6, level in level()) {
        let tasks: Vec<Successes> =
            counts.iter().map(|&(c, rest)| Successes { trials: c + rest, successes: c }).collect();
        let run = |kind| pass_k(kind, &tasks, k, None, &Weights::EqualTask, level).unwrap();
        let (at, hat) = (run(PassKind::At), run(PassKind::Hat));
        for got in [&at, &hat] {
            if let Some(limits) = got.rate.limits() {
                prop_assert!(sound(limits, got.rate.estimate.unwrap(), 0.0, 1.0));
            }
            prop_assert_eq!(got.tasks_used + got.tasks_excluded, tasks.len());
        }
        if let (Some(at), Some(hat)) = (at.rate.estimate, hat.rate.estimate) {
            prop_assert!(hat <= at + 1e-12);
        }
    }

    #[test]
    fn quantiles_are_sound(trials in vec(vec(0.0..9.0f64, 0..5), 1..25), tau in 0.05..0.95f64, seed in any::<u32>()) {
        let run = |trials: &[Vec<f64>], level| quantile_clustered(trials, None, &Weights::EqualTask, tau, level).unwrap();
        let got = run(&trials, Level::p95());
        if let (Some(point), Some(lower), Some(upper)) = (got.estimate, got.lower, got.upper) {
            prop_assert!(lower <= point && point <= upper);
            let narrow = run(&trials, Level::new(0.8).unwrap());
            prop_assert!(lower <= narrow.lower.unwrap() && narrow.upper.unwrap() <= upper);
            let mut shuffled = trials.clone();
            let by = seed as usize % trials.len();
            shuffled.rotate_left(by);
            prop_assert_eq!(run(&shuffled, Level::p95()), got);
        } else {
            prop_assert!(got.reason.is_some());
        }
    }

    #[test]
    fn differences_are_sound(d in differences(1), conf in 0.5..0.98f64, labels in vec(0u32..7, 40), clustered in any::<bool>(), strict in any::<bool>()) {
        let labels = clustered.then(|| &labels[..d.len()]);
        let sample = Paired::new(&d, labels, &Weights::EqualTask).unwrap();
        let narrow = bp_hall(&sample, Level::new(conf).unwrap(), strict);
        let wide = bp_hall(&sample, Level::new(conf + 0.019).unwrap(), strict);
        let limits = narrow.limits().unwrap();
        prop_assert!(sound(limits, narrow.estimate.unwrap(), -1.0, 1.0), "{narrow:?}");
        prop_assert!(holds(wide.limits().unwrap(), limits));
        prop_assert!((0.0..=1.0).contains(&narrow.p.unwrap()));
    }

    #[test]
    fn exchanging_arms_mirrors_a_difference(d in differences(1), level in level()) {
        let run = |d: &[f64]| bp_hall(&Paired::new(d, None, &Weights::EqualTask).unwrap(), level, false);
        let minus: Vec<f64> = d.iter().map(|d| -d).collect();
        let (a, b) = (run(&d), run(&minus));
        let (x, y) = (a.limits().unwrap(), b.limits().unwrap());
        prop_assert!(near_limits(x, negated(y)));
        prop_assert!(near(a.p.unwrap(), b.p.unwrap()));
        // The same evidence read as a loss gives the same word.
        let gain = decide(&DecideInput::plain(a.limits(), Some(0.1)));
        let loss = decide(&DecideInput { direction: Direction::Loss, ..DecideInput::plain(b.limits(), Some(0.1)) });
        prop_assert_eq!(gain.word, loss.word);
    }

    /// From five tasks on; below, the interval is next to vacuous and the skewness dominates it.
    #[test]
    fn differences_shrink_with_more_tasks(d in differences(5), level in level()) {
        let run = |d: &[f64]| bp_hall(&Paired::new(d, None, &Weights::EqualTask).unwrap(), level, false);
        let twice: Vec<f64> = d.iter().chain(&d).copied().collect();
        let width = |l: Limits| l.upper - l.lower;
        let (once, twice) = (run(&d).limits().unwrap(), run(&twice).limits().unwrap());
        prop_assert!(width(twice) <= width(once) + 1e-9, "{once:?} {twice:?}");
    }

    #[test]
    fn tables_are_sound_and_mirror(table in table(), level in level()) {
        prop_assume!(table.total() > 0);
        let swapped = PairedTable { a_only: table.b_only, b_only: table.a_only, ..table };
        for method in [bonett_price, newcombe, tango] {
            let (a, b) = (method(table, level), method(swapped, level));
            let of = |t: assize::stats::paired::TableDifference| Limits { lower: t.lower.unwrap(), upper: t.upper.unwrap() };
            let (x, y) = (of(a), of(b));
            prop_assert!(near_limits(x, negated(y)), "{x:?} {y:?}");
            prop_assert!(x.lower >= -1.0 && x.upper <= 1.0 && x.lower <= x.upper);
        }
        for method in [newcombe, tango] {
            let got = method(table, level);
            let limits = Limits { lower: got.lower.unwrap(), upper: got.upper.unwrap() };
            prop_assert!(sound(limits, got.estimate.unwrap(), -1.0, 1.0), "{got:?}");
        }
    }

    #[test]
    fn ratios_are_sound_and_invert(pairs in vec((0.01..50.0f64, 0.01..50.0f64), 0..30), level in level()) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        for method in [ratio_of_means, geometric_mean_ratio] {
            let (ab, ba) = (method(&a, &b, level).unwrap(), method(&b, &a, level).unwrap());
            match (ab.lower, ab.upper, ba.lower, ba.upper) {
                (Some(l), Some(u), Some(bl), Some(bu)) => {
                    prop_assert!(l <= ab.estimate.unwrap() && ab.estimate.unwrap() <= u && l > 0.0);
                    prop_assert!(near(l.ln(), -bu.ln()) && near(u.ln(), -bl.ln()));
                }
                _ => prop_assert!(ab.reason.is_some() && ba.reason.is_some()),
            }
        }
        let mean = mean_amount(&a, level).unwrap();
        match mean.lower {
            Some(lower) => prop_assert!(lower <= mean.estimate.unwrap() && mean.estimate.unwrap() <= mean.upper.unwrap()),
            None => prop_assert!(mean.reason.is_some()),
        }
    }

    #[test]
    fn counts_are_sound(units in vec((0u32..5, 0u32..9), 0..40), level in level()) {
        let units: Vec<UnitCount> = units.iter()
            .map(|&(x, e)| UnitCount { events: if e == 0 { 0.0 } else { f64::from(x) }, exposure: f64::from(e) })
            .collect();
        let got = poisson_clustered(&units, level).unwrap();
        match (got.lower, got.upper) {
            (Some(l), Some(u)) => prop_assert!(0.0 <= l && l <= got.rate.unwrap() && got.rate.unwrap() <= u),
            _ => prop_assert!(got.reason.is_some()),
        }
        let plain = garwood(7.5, 3.0, level);
        prop_assert!(plain.lower < 2.5 && plain.upper > 2.5);
    }

    #[test]
    fn bounds_hold_the_complete_case(tasks in vec((0u32..5, 0u32..5, 0u32..4), 1..20)) {
        let part = |&(c, rest, k): &(u32, u32, u32)| PartialTask { sum: f64::from(c), observed: c + rest, missing: k };
        let a: Vec<PartialTask> = tasks.iter().map(part).collect();
        let b: Vec<PartialTask> = tasks.iter().rev().map(part).collect();
        let got = manski_tasks(&a, None, &Weights::EqualTask, Level::p95()).unwrap();
        let (worst, best) = (got.worst.unwrap(), got.best.unwrap());
        prop_assert!(got.lower.unwrap() <= worst + 1e-12 && worst <= best + 1e-12 && best <= got.upper.unwrap() + 1e-12);
        let run = |a, b| manski_difference(a, b, None, &Weights::EqualTask, Level::p95(), false).unwrap();
        let (ab, ba) = (run(&a, &b), run(&b, &a));
        prop_assert!(near(ab.worst.estimate.unwrap(), -ba.best.estimate.unwrap()));
        prop_assert!(ab.worst.estimate.unwrap() <= ab.best.estimate.unwrap() + 1e-12);
    }
}
