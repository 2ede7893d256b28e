//! Recovery from faults, and whether two arms met them alike.

use assize::base::Seed;
use assize::stats::Level;
use assize::stats::recovery::{FaultTask, compare_reach, recovery};
use proptest::collection::vec;
use proptest::prelude::*;

use super::numeric::close;
use super::rates::{Task, slow_sen, slow_sen_cp};

/// Trials with a planned fault: not reached, or whether it recovered; and the task's cluster.
type Trials = (Vec<Option<bool>>, u32);

fn trials() -> impl Strategy<Value = Vec<Trials>> {
    vec((vec(prop::option::of(any::<bool>()), 0..5), 0u32..9), 1..10)
}

fn counted(trials: &[Option<bool>]) -> FaultTask {
    let count = |keep: fn(&Option<bool>) -> bool| trials.iter().filter(|t| keep(t)).count() as u32;
    FaultTask {
        injected: count(|_| true),
        reached: count(Option::is_some),
        recovered: count(|t| *t == Some(true)),
    }
}

/// Tasks whose trials are turned into values; those without any are left out.
fn valued(
    tasks: &[Trials],
    by_trial: bool,
    value: impl Fn(&Option<bool>) -> Option<f64>,
) -> Vec<Task> {
    tasks
        .iter()
        .map(|(trials, label)| {
            let values: Vec<f64> = trials.iter().filter_map(&value).collect();
            let weight = if by_trial { values.len() as f64 } else { 1.0 };
            Task {
                values,
                weight,
                label: *label,
            }
        })
        .filter(|t| !t.values.is_empty())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn recovery_agrees_with_trials(tasks in trials()) {
        let counts: Vec<FaultTask> = tasks.iter().map(|t| counted(&t.0)).collect();
        let labels: Vec<u32> = tasks.iter().map(|t| t.1).collect();
        let got = recovery(&counts, Some(&labels), Level::p95()).unwrap();
        let all: Vec<&Option<bool>> = tasks.iter().flat_map(|t| &t.0).collect();
        let reached = all.iter().filter(|t| t.is_some()).count();
        prop_assert_eq!(got.reach_rate, (!all.is_empty()).then(|| reached as f64 / all.len() as f64));
        prop_assert_eq!(got.tasks_reached + got.unreached.len(), tasks.len());
        let among = |by_trial| valued(&tasks, by_trial, |t| t.map(|ok| f64::from(u8::from(ok))));
        for (rate, by_trial) in [(&got.equal_task, false), (&got.reached_weighted, true)] {
            let slow = among(by_trial);
            prop_assert_eq!(rate.estimate.is_some(), !slow.is_empty());
            if let (Some(estimate), Some(limits)) = (rate.estimate, rate.limits()) {
                let (lower, upper) = slow_sen_cp(&slow, 0.95);
                prop_assert!(close(estimate, slow_sen(&slow, 0.95).p, 1e-12));
                prop_assert!(close(limits.lower, lower, 1e-7) && close(limits.upper, upper, 1e-7), "{rate:?}");
            }
        }
        // Bounds: whatever was not reached failed, or recovered.
        let filled = |missing: f64| valued(&tasks, false, |t| Some(t.map_or(missing, |ok| f64::from(u8::from(ok)))));
        if all.is_empty() {
            prop_assert_eq!(got.bounds.worst, None);
        } else {
            let (worst, best) = (filled(0.0), filled(1.0));
            prop_assert!(close(got.bounds.worst.unwrap(), slow_sen(&worst, 0.95).p, 1e-12));
            prop_assert!(close(got.bounds.best.unwrap(), slow_sen(&best, 0.95).p, 1e-12));
            prop_assert!(close(got.bounds.lower.unwrap(), slow_sen_cp(&worst, 0.95).0, 1e-7));
            prop_assert!(close(got.bounds.upper.unwrap(), slow_sen_cp(&best, 0.95).1, 1e-7));
        }
    }

    #[test]
    fn reach_agrees_with_all_signs(pairs in vec((trials_of_one(), trials_of_one()), 1..9)) {
        let arm = |b: bool| -> Vec<FaultTask> { pairs.iter().map(|p| counted(if b { &p.1 } else { &p.0 })).collect() };
        let got = compare_reach(&arm(false), &arm(true), None, Seed(5), 9999).unwrap();
        let share = |trials: &[Option<bool>]| trials.iter().flatten().count() as f64 / trials.len() as f64;
        let common: Vec<(f64, f64)> = pairs.iter()
            .filter(|(a, b)| !a.is_empty() && !b.is_empty())
            .map(|(a, b)| (share(a), share(b)))
            .collect();
        let n = common.len() as f64;
        let rate = |of: fn(&(f64, f64)) -> f64| (n > 0.0).then(|| common.iter().map(of).sum::<f64>() / n);
        let (a, b) = (rate(|c| c.0), rate(|c| c.1));
        for (x, y) in [(got.rate_a, a), (got.rate_b, b)] {
            prop_assert_eq!(x.is_some(), y.is_some());
            prop_assert!(close(x.unwrap_or(0.0), y.unwrap_or(0.0), 1e-12));
        }
        let signed = |signs: u32| common.iter().enumerate()
            .map(|(i, (a, b))| if signs >> i & 1 == 1 { a - b } else { b - a })
            .sum::<f64>();
        let patterns = 1u32 << common.len();
        let reached = (0..patterns).filter(|&s| signed(s).abs() >= signed(0).abs() - 1e-9).count();
        let p = reached as f64 / f64::from(patterns);
        prop_assert!(close(got.p, p, 1e-12));
        let gap = (a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs();
        prop_assert_eq!(got.selection, p < 0.1 - 1e-9 || gap > 0.1 + 1e-9);
        let both: Vec<usize> = (0..pairs.len())
            .filter(|&i| pairs[i].0.iter().flatten().count() > 0 && pairs[i].1.iter().flatten().count() > 0)
            .collect();
        prop_assert_eq!(got.both, both);
    }
}

fn trials_of_one() -> impl Strategy<Value = Vec<Option<bool>>> {
    vec(prop::option::of(any::<bool>()), 0..5)
}
