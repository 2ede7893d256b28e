//! Resampling intervals against the exact distribution of all resamples.
//!
//! Units of a few kinds have few different resamples: those of n units of k kinds are the ways to split n
//! into k counts, each with its multinomial probability. Statistics here are computed from lists of drawn
//! units, by their definitions.

use assize::base::Seed;
use assize::stats::Level;
use assize::stats::agreement::{
    CeilingMeasure, KappaOfItems, Table, Weights, difference_interval, human_ceiling, task_interval,
};
use assize::stats::bootstrap::{BootstrapInterval, Range, Resampling, paired_cluster_bootstrap};
use assize::stats::survival::{Censored, median_interval, restricted_mean_interval};

use super::{integral, root};

const REPLICATES: u32 = 20_000;

fn plan() -> Resampling {
    Resampling {
        replicates: REPLICATES,
        level: Level::p95(),
        seed: Seed(31),
    }
}

/// All ways to split `total` into `kinds` counts.
fn splits(total: u32, kinds: usize) -> Vec<Vec<u32>> {
    if kinds == 1 {
        return vec![vec![total]];
    }
    let first = |n: u32| {
        splits(total - n, kinds - 1)
            .into_iter()
            .map(move |rest| [vec![n], rest].concat())
    };
    (0..=total).flat_map(first).collect()
}

/// The exact bootstrap distribution of a statistic.
struct Exact {
    /// Defined values, ascending, each with its probability.
    values: Vec<(f64, f64)>,
    /// Probability of an undefined resample.
    undefined: f64,
}

impl Exact {
    /// `kinds` says how many units there are of each kind.
    fn of(kinds: &[u32], statistic: impl Fn(&[u32]) -> Option<f64>) -> Self {
        let total: u32 = kinds.iter().sum();
        let log_factorial = |n: u32| (1..=n).map(|i| f64::from(i).ln()).sum::<f64>();
        let (mut values, mut undefined) = (vec![], 0.0);
        for drawn in splits(total, kinds.len()) {
            let share = |kind: usize| f64::from(kinds[kind]) / f64::from(total);
            let term =
                |(kind, &n): (usize, &u32)| f64::from(n) * share(kind).ln() - log_factorial(n);
            let log = log_factorial(total) + drawn.iter().enumerate().map(term).sum::<f64>();
            match statistic(&drawn) {
                Some(value) => values.push((value, log.exp())),
                None => undefined += log.exp(),
            }
        }
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mass: f64 = values.iter().map(|v| v.1).sum();
        assert!((mass + undefined - 1.0).abs() < 1e-9);
        Self { values, undefined }
    }

    /// Probability of a defined value of at most `x`.
    fn up_to(&self, x: f64) -> f64 {
        let within = self.values.iter().take_while(|(value, _)| *value <= x);
        within.map(|(_, p)| p).sum()
    }

    /// `x` is a quantile at `level` as far as the number of replicates can tell; undefined resamples lie
    /// below all values (`before`) or above.
    fn is_quantile(&self, x: f64, level: f64, before: bool, slack: f64) -> bool {
        let offset = if before { self.undefined } else { 0.0 };
        let (below, up_to) = (self.up_to(x - 1e-9), self.up_to(x + 1e-9));
        below + offset <= level + slack && up_to + offset >= level - slack
    }

    /// Limits, p and number of undefined replicates all follow this distribution.
    fn agrees(&self, got: &BootstrapInterval, null: f64, units: i32) {
        let b = f64::from(REPLICATES);
        let error = |p: f64| 5.0 * (p.max(1.0 / b) * (1.0 - p) / b).sqrt();
        let interval = &got.interval;
        assert!(
            self.is_quantile(interval.low, 0.025, true, error(0.025)),
            "{got:?}"
        );
        assert!(
            self.is_quantile(interval.high, 0.975, false, error(0.025)),
            "{got:?}"
        );
        let undefined = got.undefined as f64 / b;
        assert!(
            (undefined - self.undefined).abs() < error(self.undefined),
            "{got:?}"
        );
        let Some(p) = got.p else { return };
        let mass: f64 = 1.0 - self.undefined;
        let (below, above) = (self.up_to(null + 1e-9), mass - self.up_to(null - 1e-9));
        let exact =
            (2.0 * (below.min(above) + self.undefined)).clamp(2.0 * 0.5f64.powi(units), 1.0);
        assert!(
            (p - exact).abs() < 2.0 * error(exact / 2.0) + 2.0 / b,
            "{p} for {exact}"
        );
    }
}

/// Drawn trials, each with its weight.
type Weighted = Vec<(Censored, f64)>;

/// The trials of drawn tasks, each task's trials sharing one vote per draw.
fn trials_of(tasks: &[Vec<Censored>], drawn: &[u32]) -> Weighted {
    let each = tasks.iter().zip(drawn).filter(|(_, n)| **n > 0);
    each.flat_map(|(task, &n)| {
        let weight = f64::from(n) / task.len() as f64;
        task.iter().map(move |trial| (*trial, weight))
    })
    .collect()
}

/// Event times with the mass that falls on each, censored mass handed to the right (Efron 1967), and
/// what is left after the last time watched.
fn mass_of_events(mut trials: Weighted) -> (Vec<(f64, f64)>, f64) {
    trials.sort_by(|(a, _), (b, _)| a.time.total_cmp(&b.time).then(b.observed.cmp(&a.observed)));
    let total: f64 = trials.iter().map(|t| t.1).sum();
    let mut mass: Vec<f64> = trials.iter().map(|t| t.1 / total).collect();
    let (mut events, mut left) = (vec![], 0.0);
    for i in 0..trials.len() {
        if trials[i].0.observed {
            events.push((trials[i].0.time, mass[i]));
            continue;
        }
        let later: f64 = trials[i + 1..].iter().map(|t| t.1).sum();
        if later == 0.0 {
            left += mass[i];
        }
        for j in i + 1..trials.len() {
            mass[j] += mass[i] * trials[j].1 / later;
        }
    }
    (events, left)
}

fn median_of(trials: Weighted) -> f64 {
    let (events, _) = mass_of_events(trials);
    let reached = |at: f64| {
        events
            .iter()
            .filter(|e| e.0 <= at)
            .map(|e| e.1)
            .sum::<f64>()
    };
    let half = events
        .iter()
        .map(|e| e.0)
        .find(|&t| reached(t) >= 0.5 - 1e-9);
    half.unwrap_or(f64::INFINITY)
}

fn restricted_mean_of(trials: Weighted, horizon: f64) -> Option<f64> {
    let last = trials.iter().map(|t| t.0.time).fold(0.0, f64::max);
    let (events, left) = mass_of_events(trials);
    if left > 1e-12 && last < horizon {
        return None;
    }
    // The mean of min(time, horizon); what is left lives beyond the horizon.
    let early = events.iter().map(|(time, mass)| time.min(horizon) * mass);
    Some(early.sum::<f64>() + left * horizon)
}

fn tasks() -> Vec<Vec<Censored>> {
    let trials = |times: &[(f64, bool)]| -> Vec<Censored> {
        let one = |&(time, observed): &(f64, bool)| Censored { time, observed };
        times.iter().map(one).collect()
    };
    vec![
        trials(&[(2.0, true), (5.0, true)]),
        trials(&[(3.0, true)]),
        trials(&[(4.0, false), (4.0, true), (9.0, true)]),
        trials(&[(6.0, true), (7.0, false)]),
        trials(&[(8.0, true)]),
        trials(&[(10.0, false), (10.0, false)]),
        trials(&[(1.0, true), (11.0, true), (3.0, true)]),
    ]
}

#[test]
fn medians_of_censored_times_follow_all_resamples_of_tasks() {
    let tasks = tasks();
    let exact = Exact::of(&[1; 7], |drawn| Some(median_of(trials_of(&tasks, drawn))));
    let got = median_interval(&tasks, &plan()).unwrap();
    assert_eq!(got.estimate, median_of(trials_of(&tasks, &[1; 7])));
    exact.agrees(&got, 0.0, 7);
}

#[test]
fn restricted_means_follow_all_resamples_of_tasks() {
    let tasks = tasks();
    // Beyond 7 a resample of the fourth task alone, which was watched to 7, is undefined.
    for horizon in [6.5, 7.5] {
        let statistic = |drawn: &[u32]| restricted_mean_of(trials_of(&tasks, drawn), horizon);
        let exact = Exact::of(&[1; 7], statistic);
        assert_eq!(exact.undefined > 0.0, horizon > 7.0);
        let got = restricted_mean_interval(&tasks, horizon, &plan()).unwrap();
        assert!((got.estimate - statistic(&[1; 7]).unwrap()).abs() < 1e-12);
        exact.agrees(&got, 0.0, 7);
    }
}

/// Where more resamples are undefined than a tail holds, nothing inside the range is a limit.
#[test]
fn undefined_resamples_widen_a_restricted_mean_to_its_range() {
    let tasks = tasks();
    let exact = Exact::of(&[1; 7], |drawn| {
        restricted_mean_of(trials_of(&tasks, drawn), 10.5)
    });
    let got = restricted_mean_interval(&tasks, 10.5, &plan()).unwrap();
    let share = got.undefined as f64 / f64::from(REPLICATES);
    assert!(exact.undefined > 0.2 && (share - exact.undefined).abs() < 0.015);
    assert_eq!((got.interval.low, got.interval.high), (0.0, 10.5));
}

#[test]
fn a_paired_statistic_follows_all_resamples_of_units() {
    // 34 tasks of three kinds: quantile differences of both arms, undefined where a kind lacks.
    let (kinds, gain) = ([20, 8, 6], [0.0, 1.0, -1.0]);
    let of_kinds = |drawn: &[u32]| {
        let total: u32 = drawn.iter().sum();
        let sum: f64 = drawn.iter().zip(gain).map(|(&n, g)| f64::from(n) * g).sum();
        (drawn[2] > 0).then(|| (sum / f64::from(total)).cbrt())
    };
    let exact = Exact::of(&kinds, of_kinds);
    let kind = |unit: usize| {
        if unit < 20 {
            0
        } else {
            1 + usize::from(unit >= 28)
        }
    };
    let statistic = |drawn: &[u32]| {
        let mut by_kind = [0; 3];
        drawn
            .iter()
            .enumerate()
            .for_each(|(unit, n)| by_kind[kind(unit)] += n);
        of_kinds(&by_kind)
    };
    let got = paired_cluster_bootstrap(34, &plan(), Range::SIGNED_UNIT, 0.0, statistic).unwrap();
    assert!(got.undefined > 0 && got.p.unwrap() > 0.3);
    exact.agrees(&got, 0.0, 34);
}

/// Kappa of pairs of answers below `k`, by its definition.
fn kappa_of(pairs: &[(u32, u32)], k: u32) -> Option<f64> {
    let n = pairs.len() as f64;
    let share =
        |keep: &dyn Fn(&(u32, u32)) -> bool| pairs.iter().filter(|p| keep(p)).count() as f64 / n;
    let expected: f64 = (0..k)
        .map(|c| share(&|p| p.0 == c) * share(&|p| p.1 == c))
        .sum();
    let observed = share(&|p| p.0 == p.1);
    (n > 0.0 && expected < 1.0 - 1e-12).then(|| (observed - expected) / (1.0 - expected))
}

/// Judge minus human: each person and the judge against what the others agree on.
fn ceiling_of(items: &[[Option<u32>; 4]], kappa: bool) -> Option<f64> {
    let measure = |pairs: &[(u32, u32)]| match kappa {
        true => kappa_of(pairs, 2),
        false => {
            let same = pairs.iter().filter(|p| p.0 == p.1).count() as f64;
            (!pairs.is_empty()).then(|| same / pairs.len() as f64)
        }
    };
    let mut difference = 0.0;
    for person in 0..3 {
        let (mut own, mut judge) = (vec![], vec![]);
        for item in items {
            let mut others: Vec<u32> = (0..3)
                .filter(|j| *j != person)
                .filter_map(|j| item[j])
                .collect();
            others.dedup();
            if let (Some(answer), Some(verdict), [agreed]) = (item[person], item[3], &others[..]) {
                own.push((answer, *agreed));
                judge.push((verdict, *agreed));
            }
        }
        difference += (measure(&judge)? - measure(&own)?) / 3.0;
    }
    Some(difference)
}

#[test]
fn the_human_ceiling_follows_all_resamples_of_items() {
    let (yes, no) = (Some(1), Some(0));
    // What three people and the judge said, and how often.
    let kinds: [([Option<u32>; 4], u32); 6] = [
        ([yes, yes, yes, yes], 7),
        ([no, no, no, no], 6),
        ([no, no, no, yes], 3),
        ([yes, no, yes, yes], 2),
        ([no, yes, None, no], 2),
        ([yes, yes, no, None], 1),
    ];
    let counts: Vec<u32> = kinds.iter().map(|k| k.1).collect();
    let items: Vec<[Option<u32>; 4]> = kinds
        .iter()
        .flat_map(|(k, n)| vec![*k; *n as usize])
        .collect();
    let column = |j: usize| items.iter().map(|item| item[j]).collect::<Vec<_>>();
    for (measure, kappa) in [
        (CeilingMeasure::Agreement, false),
        (CeilingMeasure::Kappa(Weights::Nominal), true),
    ] {
        let exact = Exact::of(&counts, |drawn| {
            let each = kinds.iter().zip(drawn);
            let drawn: Vec<_> = each.flat_map(|(k, &n)| vec![k.0; n as usize]).collect();
            ceiling_of(&drawn, kappa)
        });
        let humans = [column(0), column(1), column(2)];
        let got = human_ceiling(&humans, &column(3), 2, measure, &plan()).unwrap();
        let estimate = ceiling_of(&items, kappa).unwrap();
        assert!((got.difference.estimate - estimate).abs() < 1e-12);
        exact.agrees(&got.difference, 0.0, items.len() as i32);
    }
}

#[test]
fn a_difference_of_kappas_follows_all_resamples_of_items() {
    // Truth, first judge, second judge; kinds of items and how often.
    let kinds: [([u32; 3], u32); 5] = [
        ([1, 1, 1], 12),
        ([0, 0, 0], 9),
        ([1, 0, 1], 5),
        ([0, 1, 0], 3),
        ([0, 0, 1], 2),
    ];
    let counts: Vec<u32> = kinds.iter().map(|k| k.1).collect();
    let judged = |drawn: &[u32], judge: usize| -> Vec<(u32, u32)> {
        let each = kinds.iter().zip(drawn);
        each.flat_map(|(k, &n)| vec![(k.0[0], k.0[judge]); n as usize])
            .collect()
    };
    let exact = Exact::of(&counts, |drawn| {
        Some(kappa_of(&judged(drawn, 2), 2)? - kappa_of(&judged(drawn, 1), 2)?)
    });
    let table = |judge: usize| {
        let (truth, said): (Vec<usize>, Vec<usize>) = judged(&counts, judge)
            .into_iter()
            .map(|(a, b)| (a as usize, b as usize))
            .unzip();
        let cells: Vec<u32> = truth
            .iter()
            .zip(&said)
            .map(|(a, b)| (2 * a + b) as u32)
            .collect();
        (Table::from_pairs(&truth, &said, 2).unwrap(), cells)
    };
    let ((first, first_cells), (second, second_cells)) = (table(1), table(2));
    let first = KappaOfItems::new(&first, &first_cells, Weights::Nominal);
    let second = KappaOfItems::new(&second, &second_cells, Weights::Nominal);
    let got = difference_interval(&first, &second, &plan()).unwrap();
    exact.agrees(&got, 0.0, 31);
}

fn phi(x: f64) -> f64 {
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    0.5 + integral(density, 0.0, x, 2000)
}

/// BCa of kappa over whole tasks: bias and quantiles from the exact distribution, the acceleration from
/// leaving out each task.
#[test]
fn kappa_over_tasks_follows_all_resamples_of_tasks() {
    // Pairs of answers of ten tasks, three items or so each; two tasks of each kind.
    let kinds: [&[(u32, u32)]; 5] = [
        &[(1, 1), (1, 1), (0, 0)],
        &[(0, 0), (0, 1), (0, 0)],
        &[(1, 1), (1, 0), (1, 0), (0, 0)],
        &[(1, 1), (0, 0)],
        &[(0, 1), (1, 1), (0, 0)],
    ];
    let pairs_of = |drawn: &[u32]| -> Vec<(u32, u32)> {
        let each = kinds.iter().zip(drawn);
        each.flat_map(|(k, &n)| k.repeat(n as usize)).collect()
    };
    let statistic = |drawn: &[u32]| kappa_of(&pairs_of(drawn), 2);
    let exact = Exact::of(&[2; 5], statistic);
    assert!(
        exact.undefined < 1e-4,
        "so that undefined resamples do not matter here"
    );
    let estimate = statistic(&[2; 5]).unwrap();
    let (below, up_to) = (exact.up_to(estimate - 1e-9), exact.up_to(estimate + 1e-9));
    let bias = root(|z| phi(z) - (below + up_to) / 2.0, -5.0, 5.0);
    let left_out: Vec<f64> = (0..5)
        .map(|kind| {
            let mut drawn = [2; 5];
            drawn[kind] = 1;
            statistic(&drawn).unwrap()
        })
        .collect();
    let centre = left_out.iter().sum::<f64>() / 5.0;
    let power = |k: i32| 2.0 * left_out.iter().map(|v| (centre - v).powi(k)).sum::<f64>();
    let acceleration = power(3) / (6.0 * power(2).powf(1.5));
    let level = |z: f64| phi(bias + (bias + z) / (1.0 - acceleration * (bias + z)));
    let (mut items, mut tasks): (Vec<(u32, u32)>, Vec<u32>) = (vec![], vec![]);
    for task in 0..10u32 {
        let pairs = kinds[task as usize / 2];
        items.extend(pairs);
        tasks.extend(vec![task; pairs.len()]);
    }
    let (a, b): (Vec<usize>, Vec<usize>) =
        items.iter().map(|p| (p.0 as usize, p.1 as usize)).unzip();
    let cells: Vec<u32> = items.iter().map(|(a, b)| 2 * a + b).collect();
    let table = Table::from_pairs(&a, &b, 2).unwrap();
    let kappa = KappaOfItems::new(&table, &cells, Weights::Nominal);
    let got = task_interval(&kappa, &tasks, &plan()).unwrap();
    assert!((got.estimate - estimate).abs() < 1e-12);
    // Errors of the drawn bias and of the drawn quantile together.
    let slack = 0.006;
    let (low, high) = (level(-1.959_964), level(1.959_964));
    assert!(
        exact.is_quantile(got.interval.low, low, true, slack),
        "{got:?} {low}"
    );
    assert!(
        exact.is_quantile(got.interval.high, high, false, slack),
        "{got:?} {high}"
    );
}
