//! Sequential, drift and censoring methods from their definitions.

use std::collections::BTreeMap;

use assize::base::Seed;
use assize::stats::Level;
use assize::stats::drift::{TimedTrial, drift_p_value, drift_statistic};
use assize::stats::sequential::{BettingCs, HedgedCapital, NonInferiority, sign_e_value};
use assize::stats::survival::{Censored, kaplan_meier};
use proptest::prelude::*;

use super::{derivative, integral, near, root};

/// Both capitals against `m`, from scratch.
fn capitals(x: &[f64], m: f64, one_sided: f64) -> (f64, f64) {
    let (mut above, mut below) = (1.0, 1.0);
    for i in 1..=x.len() {
        // Variance of what came before, each value against the mean up to itself.
        let running = |k: usize| (0.5 + x[..k].iter().sum::<f64>()) / (k as f64 + 1.0);
        let squares: f64 = (1..i)
            .map(|k| (x[k - 1] - running(k).min(1.0)).powi(2))
            .sum();
        let variance = (0.25 + squares) / i as f64;
        let stake =
            (2.0 * (1.0 / one_sided).ln() / (variance * i as f64 * (i as f64 + 1.0).ln())).sqrt();
        above *= 1.0 + stake.min(0.5 / m) * (x[i - 1] - m);
        below *= 1.0 - stake.min(0.5 / (1.0 - m)) * (x[i - 1] - m);
    }
    (above, below)
}

/// Survival by redistributing each censored mass to the right (Efron 1967).
fn redistributed(times: &[Censored], at: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(|a, b| a.time.total_cmp(&b.time).then(b.observed.cmp(&a.observed)));
    let n = sorted.len();
    let mut mass = vec![1.0 / n as f64; n];
    for i in 0..n {
        if !sorted[i].observed && i + 1 < n {
            let share = mass[i] / (n - i - 1) as f64;
            mass[i] = 0.0;
            mass[i + 1..].iter_mut().for_each(|m| *m += share);
        }
    }
    let gone = sorted
        .iter()
        .zip(&mass)
        .filter(|(t, _)| t.observed && t.time <= at);
    1.0 - gone.map(|(_, m)| m).sum::<f64>()
}

fn times() -> impl Strategy<Value = Vec<Censored>> {
    prop::collection::vec((0u8..20, any::<bool>()), 1..30).prop_map(|rows| {
        rows.into_iter()
            .map(|(t, observed)| Censored {
                time: f64::from(t),
                observed,
            })
            .collect()
    })
}

/// Log-log limits of survival at a time: Greenwood's sum over the event times, and the survival whose
/// log-log score is z away, by bisection. `None` where survival is 0 or 1.
fn log_log(times: &[Censored], at: f64, z: f64) -> Option<(f64, f64)> {
    let survival = redistributed(times, at);
    if !(1e-9..1.0 - 1e-9).contains(&survival) {
        return None;
    }
    let mut greenwood = 0.0;
    for t in (0..=at as u32).map(f64::from) {
        let at_risk = times.iter().filter(|x| x.time >= t).count() as f64;
        let events = times.iter().filter(|x| x.observed && x.time == t).count() as f64;
        if events > 0.0 {
            greenwood += events / (at_risk * (at_risk - events));
        }
    }
    let log_log = |s: f64| (-s.ln()).ln();
    let se = greenwood.sqrt() / survival.ln().abs();
    // The score falls with survival.
    let limit = |score: f64| {
        let gap = |s: f64| score - (log_log(s) - log_log(survival)) / se;
        root(gap, 1e-300, 1.0 - 1e-16)
    };
    Some((limit(z), limit(-z)))
}

/// X of METHODS 6.6 straight from its text.
fn drift_by_text(trials: &[TimedTrial]) -> Option<f64> {
    let average = |keep: &dyn Fn(&TimedTrial) -> bool| {
        let kept: Vec<f64> = trials.iter().filter(|t| keep(t)).map(|t| t.y).collect();
        (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64)
    };
    let arm = |task: u32, in_b: bool| average(&|t| t.task == task && t.in_b == in_b);
    let mut common: Vec<u32> = trials.iter().map(|t| t.task).collect();
    common.sort_unstable();
    common.dedup();
    common.retain(|&task| arm(task, false).is_some() && arm(task, true).is_some());
    if common.is_empty() {
        return None;
    }
    let difference = |task: &u32| arm(*task, true).unwrap() - arm(*task, false).unwrap();
    let mean = common.iter().map(difference).sum::<f64>() / common.len() as f64;
    let mut blocks: BTreeMap<u32, [Vec<f64>; 2]> = BTreeMap::new();
    for t in trials.iter().filter(|t| common.contains(&t.task)) {
        let sign = if t.in_b { 1.0 } else { -1.0 };
        let centre = (arm(t.task, false).unwrap() + arm(t.task, true).unwrap()) / 2.0;
        blocks.entry(t.block).or_default()[usize::from(t.in_b)]
            .push(t.y - centre - sign * mean / 2.0);
    }
    let term = |[a, b]: &[Vec<f64>; 2]| {
        let (n, m) = (a.len() as f64, b.len() as f64);
        let gap = b.iter().sum::<f64>() / m - a.iter().sum::<f64>() / n;
        if a.is_empty() || b.is_empty() {
            0.0
        } else {
            n * m / (n + m) * gap * gap
        }
    };
    Some(blocks.values().map(term).sum())
}

/// Every way to deal block labels out again within a task's arm.
fn relabelled(trials: &[TimedTrial], groups: &[Vec<usize>]) -> Vec<Vec<TimedTrial>> {
    let Some((group, rest)) = groups.split_first() else {
        return vec![trials.to_vec()];
    };
    let mut orders = vec![vec![]];
    for _ in 0..group.len() {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                let free = group
                    .iter()
                    .filter(|i| !order.contains(i))
                    .copied()
                    .collect::<Vec<_>>();
                free.into_iter()
                    .map(move |i| [order.clone(), vec![i]].concat())
            })
            .collect();
    }
    orders
        .into_iter()
        .flat_map(|order| {
            let mut moved = trials.to_vec();
            group
                .iter()
                .zip(&order)
                .for_each(|(&to, &from)| moved[to].block = trials[from].block);
            relabelled(&moved, rest)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn capital_from_scratch(x in prop::collection::vec(0.0..=1.0f64, 1..40), m in 0.05..0.95f64) {
        let mut capital = HedgedCapital::new(m, 0.05).unwrap();
        let path: Vec<f64> = x.iter().map(|&x| capital.observe(x).unwrap().amount().unwrap()).collect();
        let (above, below) = capitals(&x, m, 0.025);
        prop_assert!(near(*path.last().unwrap(), above.max(below) / 2.0, 1e-10));
        let mut sequence = BettingCs::new(0.05, 50).unwrap();
        x.iter().for_each(|&x| sequence.observe(x).unwrap());
        let kept: Vec<f64> = (0..=50)
            .map(|i| f64::from(i) / 50.0)
            .filter(|&m| { let (a, b) = capitals(&x, m, 0.025); a.max(b) / 2.0 < 20.0 })
            .collect();
        match sequence.limits() {
            Some(limits) => {
                prop_assert!(near(limits.lower, (kept[0] - 0.02).max(0.0), 1e-12));
                prop_assert!(near(limits.upper, (kept[kept.len() - 1] + 0.02).min(1.0), 1e-12));
            }
            None => prop_assert!(kept.is_empty()),
        }
        let mut one_sided = NonInferiority::new(0.1, 0.025).unwrap();
        let last = x.iter().map(|x| one_sided.observe(2.0 * x - 1.0).unwrap()).last().unwrap();
        prop_assert!(near(last.amount().unwrap(), capitals(&x, 0.45, 0.025).0, 1e-9));
    }

    #[test]
    fn the_sign_value_is_an_integral(wins in 0u64..30, losses in 0u64..30) {
        // The mixture over θ = sin²u under the arcsine law, against ½.
        let likelihood = |u: f64| {
            (2.0 * u.sin().powi(2)).powi(wins as i32) * (2.0 * u.cos().powi(2)).powi(losses as i32)
        };
        let mixture = integral(likelihood, 0.0, std::f64::consts::FRAC_PI_2, 4000) * 2.0 / std::f64::consts::PI;
        prop_assert!((sign_e_value(wins, losses).e_value / mixture - 1.0).abs() < 1e-9);
    }

    #[test]
    fn survival_by_redistribution(times in times(), at in 0u8..25) {
        let curve = kaplan_meier(&times, Level::p95()).unwrap();
        if let Ok(survival) = curve.survival_at(f64::from(at)) {
            prop_assert!((survival - redistributed(&times, f64::from(at))).abs() < 1e-10);
        }
        let half = (0..25).map(f64::from).find(|&t| redistributed(&times, t) <= 0.5 + 1e-9);
        prop_assert_eq!(curve.median().estimate.ok(), half.filter(|_| curve.steps.iter().any(|s| s.survival <= 0.5 + 1e-9)));
        // The area by rectangles of whole steps: times are whole.
        let horizon = curve.last;
        let area: f64 = (0..horizon as u32).map(|t| redistributed(&times, f64::from(t))).sum();
        prop_assert!(near(curve.restricted_mean(horizon).unwrap().estimate, area, 1e-9));
    }

    /// The delta method on the hazards: each is a binomial share of those at risk.
    #[test]
    fn errors_of_restricted_means_by_numerical_derivatives(times in times(), horizon in 1u8..20) {
        let curve = kaplan_meier(&times, Level::p95()).unwrap();
        let horizon = f64::from(horizon).min(curve.last);
        let mut whole: Vec<f64> = times.iter().filter(|t| t.observed && t.time <= horizon).map(|t| t.time).collect();
        whole.sort_by(f64::total_cmp);
        whole.dedup();
        let at_risk = |t: f64| times.iter().filter(|x| x.time >= t).count() as f64;
        let events = |t: f64| times.iter().filter(|x| x.observed && x.time == t).count() as f64;
        let hazards: Vec<f64> = whole.iter().map(|&t| events(t) / at_risk(t)).collect();
        let area = |hazards: &[f64]| {
            let (mut area, mut since, mut height) = (0.0, 0.0, 1.0);
            for (&t, h) in whole.iter().zip(hazards) {
                area += height * (t - since);
                (since, height) = (t, height * (1.0 - h));
            }
            area + height * (horizon - since)
        };
        let variance: f64 = (0..whole.len()).map(|j| {
            let moved = |h: f64| {
                let mut hazards = hazards.clone();
                hazards[j] = h;
                area(&hazards)
            };
            let slope = derivative(moved, hazards[j]);
            slope * slope * hazards[j] * (1.0 - hazards[j]) / at_risk(whole[j])
        }).sum();
        let got = curve.restricted_mean(horizon).unwrap();
        prop_assert!(near(got.estimate, area(&hazards), 1e-9));
        match got.se {
            Ok(se) => prop_assert!(near(se, variance.sqrt(), 1e-6), "{se} {variance}"),
            Err(reason) => prop_assert!(variance < 1e-12 && reason.code() == "zero_variance", "{variance}"),
        }
    }

    #[test]
    fn limits_of_survival_by_bisection(times in times(), conf in prop::sample::select(vec![0.8, 0.95, 0.99])) {
        let z = root(|z| integral(|t| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt(), 0.0, z, 600) - conf / 2.0, 0.0, 6.0);
        let curve = kaplan_meier(&times, Level::new(conf).unwrap()).unwrap();
        let whole = || (0..=curve.last as u32).map(f64::from);
        for t in whole() {
            if let Some((lower, upper)) = log_log(&times, t, z) {
                let got = curve.limits_at(t).unwrap();
                prop_assert!(near(got.lower, lower, 1e-7) && near(got.upper, upper, 1e-7), "{got:?} {lower} {upper}");
            }
        }
        // Where survival is 1 nothing is below one half, where it is 0 its lower limit is too.
        let lower = whole().find(|&t| match log_log(&times, t, z) {
            Some(limits) => limits.0 <= 0.5 + 1e-9,
            None => redistributed(&times, t) < 0.5,
        });
        let upper = whole().find(|&t| log_log(&times, t, z).is_some_and(|l| l.1 <= 0.5 + 1e-9));
        let got = curve.median();
        prop_assert_eq!((got.lower.ok(), got.upper.ok()), (lower, upper));
    }

    #[test]
    fn drift_from_its_text(rows in prop::collection::vec((0u32..5, any::<bool>(), 0u32..4, 0u8..3), 1..30)) {
        let trials: Vec<TimedTrial> = rows
            .into_iter()
            .map(|(task, in_b, block, y)| TimedTrial { task, in_b, block, y: f64::from(y) / 2.0 })
            .collect();
        match (drift_statistic(&trials), drift_by_text(&trials)) {
            (Ok(got), Some(slow)) => prop_assert!(near(got.statistic, slow, 1e-10)),
            (got, slow) => prop_assert_eq!(got.is_ok(), slow.is_some()),
        }
    }
}

#[test]
fn drift_p_by_full_enumeration() {
    let y = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0];
    let trials: Vec<TimedTrial> = y
        .iter()
        .enumerate()
        .map(|(i, &y)| TimedTrial {
            task: (i / 6) as u32,
            in_b: i % 6 >= 3,
            block: (i % 3) as u32,
            y,
        })
        .collect();
    let groups: Vec<Vec<usize>> = (0..4).map(|g| (3 * g..3 * g + 3).collect()).collect();
    let all = relabelled(&trials, &groups);
    assert_eq!(all.len(), 6usize.pow(4));
    let observed = drift_by_text(&trials).unwrap();
    let reached = all
        .iter()
        .filter(|t| drift_by_text(t).unwrap() >= observed - 1e-9)
        .count();
    let exact = reached as f64 / all.len() as f64;
    let got = drift_p_value(&trials, 9_999, Seed(3)).unwrap();
    let error = (exact * (1.0 - exact) / 9_999.0).sqrt();
    assert!(
        (got - exact).abs() < 5.0 * error + 1e-3,
        "{got} for {exact}"
    );
    assert!(exact > 0.02 && exact < 0.98, "{exact}");
}
