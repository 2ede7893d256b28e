//! Fisher, the per-task screen and adjusted p-values on whole numbers.

use assize::compare::screen::{ScreenTask, task_screen};
use assize::stats::multiplicity::{Adjustment, adjust, tarone};
use assize::stats::special::{Draw, fisher_two_sided, hypergeometric_cdf};
use proptest::collection::vec;
use proptest::prelude::*;

use super::numeric::{choose, close};

/// Weight of k marked among those drawn, out of C(total, drawn).
fn ways(k: u64, draw: Draw) -> u128 {
    if k > draw.drawn {
        return 0;
    }
    choose(draw.marked, k) * choose(draw.total - draw.marked, draw.drawn - k)
}

fn draws() -> impl Strategy<Value = (u64, Draw)> {
    (1u64..60)
        .prop_flat_map(|total| (Just(total), 0..=total, 0..=total))
        .prop_map(|(total, marked, drawn)| Draw {
            total,
            marked,
            drawn,
        })
        .prop_flat_map(|draw| (draw.min()..=draw.max(), Just(draw)))
}

fn screen_tasks() -> impl Strategy<Value = Vec<ScreenTask>> {
    let task = (1u32..8, 0u32..8).prop_flat_map(|(ma, mb)| {
        (0..=ma, 0..=mb, prop::bool::weighted(0.3)).prop_map(move |(a, b, broken)| {
            let (a, b) = if broken { (ma, 0) } else { (a, b) };
            (a, ma, b, mb)
        })
    });
    vec(task, 1..12).prop_map(|tasks| {
        let named = tasks
            .into_iter()
            .enumerate()
            .map(|(i, (a, ma, b, mb))| ScreenTask {
                task: format!("t{i}"),
                a_successes: a,
                a_trials: ma,
                b_successes: b,
                b_trials: mb,
            });
        named.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hypergeometric_tails_agree_with_whole_numbers((k, draw) in draws()) {
        let all = choose(draw.total, draw.drawn) as f64;
        let lower: u128 = (0..=k).map(|j| ways(j, draw)).sum();
        prop_assert!(close(hypergeometric_cdf(k, draw), lower as f64 / all, 1e-11));
        let seen = ways(k, draw);
        let extreme: u128 = (0..=draw.max()).map(|j| ways(j, draw)).filter(|w| *w <= seen).sum();
        prop_assert!(close(fisher_two_sided(k, draw), extreme as f64 / all, 1e-11));
    }

    /// Screens by trying every K, and Holm by its definition over ordered p-values.
    #[test]
    fn the_screen_agrees_with_its_definition(tasks in screen_tasks()) {
        let got = task_screen(&tasks, 0.05).unwrap();
        let worse = |t: &ScreenTask, b: u32| {
            let (na, nb) = (u64::from(t.a_trials), u64::from(t.b_trials));
            let s = u64::from(t.a_successes) + u64::from(b);
            let draw = Draw { total: na + nb, marked: s, drawn: nb };
            let sum: u128 = (0..=u64::from(b)).map(|j| ways(j, draw)).sum();
            sum as f64 / choose(na + nb, nb) as f64
        };
        let candidates: Vec<&ScreenTask> = tasks.iter().filter(|t| t.a_trials >= 2 && t.b_trials >= 2).collect();
        let smallest = |t: &ScreenTask| {
            let s = t.a_successes + t.b_successes;
            let least = s.saturating_sub(t.a_trials);
            // The margins stay: fewer successes in B are more in A.
            let moved = ScreenTask { a_successes: s - least, b_successes: least, ..t.clone() };
            worse(&moved, least)
        };
        let k = (1..100u64).find(|k| candidates.iter().filter(|t| smallest(t) <= 0.05 / *k as f64 + 1e-9).count() as u64 <= *k).unwrap();
        prop_assert_eq!(got.k, k);
        let mut tested: Vec<(f64, &str)> = candidates.iter()
            .filter(|t| smallest(t) <= 0.05 / k as f64 + 1e-9)
            .map(|t| (worse(t, t.b_successes), t.task.as_str()))
            .collect();
        tested.sort_by(|x, y| x.0.total_cmp(&y.0));
        let mut regressed = vec![];
        for (rank, (p, name)) in tested.iter().enumerate() {
            if p * (tested.len() - rank) as f64 > 0.05 + 1e-9 {
                break;
            }
            regressed.push(name.to_string());
        }
        let (mut a, mut b) = (got.regressed.clone(), regressed);
        a.sort();
        b.sort();
        prop_assert_eq!(a, b);
        prop_assert_eq!(got.untestable, tasks.len() - tested.len());
        let blind = tasks.iter().filter(|t| 3 * t.a_successes >= 2 * t.a_trials && worse(t, 0) > 0.05 / k as f64 + 1e-9).count();
        prop_assert_eq!(got.cannot_detect_full_break.len(), blind);
    }

    #[test]
    fn adjusted_values_agree_with_their_definitions(p in vec(0.0..=1.0f64, 0..12)) {
        let n = p.len();
        let rank = |i: usize| p.iter().enumerate().filter(|(j, q)| **q < p[i] || (**q == p[i] && *j < i)).count();
        let harmonic: f64 = (1..=n).map(|i| 1.0 / i as f64).sum();
        let slow = |i: usize, kind: Adjustment| {
            let scaled = |j: usize| match kind {
                Adjustment::Holm | Adjustment::Hochberg => (n - rank(j)) as f64 * p[j],
                Adjustment::Bonferroni => n as f64 * p[j],
                Adjustment::BenjaminiHochberg => n as f64 / (rank(j) + 1) as f64 * p[j],
                Adjustment::BenjaminiYekutieli => harmonic * n as f64 / (rank(j) + 1) as f64 * p[j],
            };
            let before = (0..n).filter(|&j| rank(j) <= rank(i)).map(scaled).fold(0.0, f64::max);
            let after = (0..n).filter(|&j| rank(j) >= rank(i)).map(scaled).fold(f64::INFINITY, f64::min);
            let value = match kind {
                Adjustment::Holm => before,
                Adjustment::Bonferroni => scaled(i),
                _ => after,
            };
            value.min(1.0)
        };
        for kind in [Adjustment::Holm, Adjustment::Hochberg, Adjustment::Bonferroni, Adjustment::BenjaminiHochberg, Adjustment::BenjaminiYekutieli] {
            let got = adjust(kind, &p).unwrap();
            for (i, got) in got.iter().enumerate() {
                prop_assert!(close(*got, slow(i, kind), 1e-12), "{kind:?} {i}");
            }
        }
        let screen = tarone(&p, 0.05);
        prop_assert!(screen.set.iter().filter(|s| **s).count() as u64 <= screen.k.max(1));
    }
}
