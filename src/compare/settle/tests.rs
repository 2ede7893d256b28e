//! What a settling number says must hold when the run is made that large.

use super::*;
use crate::base::Seed;
use crate::compare::contrast::{Pair, contrast};
use crate::compare::orient::theta;
use crate::compare::word::word;
use crate::estimate::{Context, Segment, TaskCells};
use crate::stats::units::Weights;

/// Cells of tasks whose trials all have one score.
fn cells(scores: &[f64]) -> TaskCells {
    let trials = 4;
    let none = || vec![0; scores.len()];
    TaskCells {
        sum: scores.iter().map(|s| s * f64::from(trials)).collect(),
        squares: scores.iter().map(|s| s * s * f64::from(trials)).collect(),
        scored: vec![trials; scores.len()],
        missing: none(),
        not_started: none(),
        censored: none(),
        not_applicable: none(),
        planned: vec![trials; scores.len()],
    }
}

fn success() -> Metric {
    Metric::from_name("success_rate").unwrap()
}

/// Contrasts arms whose tasks score so.
fn contrasted(a: &[f64], b: &[f64]) -> Contrasted {
    let metric = success();
    let context = Context {
        arms: vec!["old".to_owned(), "new".to_owned()],
        cluster_of: None,
        weights: Weights::EqualTask,
        level: Level::p95(),
        trials: vec![4, 4],
    };
    let segment = Segment {
        name: None,
        tasks: (0..a.len()).collect(),
    };
    let (a, b) = (cells(a), cells(b));
    let pair = Pair {
        metric: &metric,
        a: &a,
        b: &b,
    };
    contrast(&context, &pair, &segment, false, Seed(1)).unwrap()
}

fn question(metric: &Metric, margin: Option<f64>) -> Question<'_> {
    Question {
        metric,
        margin,
        level: Level::p95(),
        strict: false,
        cost_per_task: Some(2.0),
    }
}

/// The word of arms of which each task scores 1 and 0.
fn all_lost(tasks: usize, margin: Option<f64>) -> Word {
    let found = contrasted(&vec![1.0; tasks], &vec![0.0; tasks]);
    let metric = success();
    let limits = theta(
        found.interval.unwrap(),
        metric.contrast(),
        metric.direction(),
    );
    word(limits, margin, true).word
}

#[test]
fn the_number_decides_when_all_tasks_are_lost_and_one_fewer_does_not() {
    let metric = success();
    for (tasks, margin) in [
        (5, Some(0.05)),
        (12, Some(0.05)),
        (12, None),
        (10, Some(0.2)),
    ] {
        let found = contrasted(&vec![1.0; tasks], &vec![0.0; tasks]);
        assert_eq!(all_lost(tasks, margin), Word::Inconclusive);
        let settled = settle(&found, &question(&metric, margin)).unwrap();
        let needed = settled.tasks as usize;
        assert!(needed > tasks, "{settled:?}");
        assert_eq!(all_lost(needed, margin), Word::Worse, "{settled:?}");
        assert_eq!(all_lost(needed - 1, margin), Word::Inconclusive);
        let said = format!("about {needed} tasks would show the ");
        assert!(settled.text.starts_with(&said), "{settled:?}");
        assert_eq!(settled.cost_usd, Some(2.0 * (needed - tasks) as f64));
    }
}

#[test]
fn nothing_is_called_detectable_that_the_run_itself_did_not_show() {
    let lost = contrasted(&[1.0; 12], &[0.0; 12]);
    assert_eq!(lost.mde, None);
    assert!(lost.notices.iter().any(|n| n == "detectable_unknown"));
    let tied = contrasted(&[1.0; 12], &[1.0; 12]);
    assert!((tied.mde.unwrap() - 2.8 / 12.0).abs() < 1e-6);
    assert!(tied.notices.is_empty());
}

#[test]
fn a_number_that_the_run_has_is_not_printed() {
    let metric = success();
    // Two in three tasks tie, one in six is lost and one in nine won, in any number of tasks.
    for tasks in [18, 90, 180, 360] {
        let score = |i: usize, lost: bool| f64::from(u8::from(!lost || i % 18 > 4));
        let a: Vec<f64> = (0..tasks).map(|i| score(i, i % 18 < 2)).collect();
        let b: Vec<f64> = (0..tasks)
            .map(|i| score(i, (2..5).contains(&(i % 18))))
            .collect();
        let found = contrasted(&a, &b);
        let Some(settled) = settle(&found, &question(&metric, Some(0.05))) else {
            continue;
        };
        let numbers = settled
            .text
            .split(' ')
            .filter_map(|w| w.parse::<usize>().ok());
        // The last number is that of the run itself.
        let numbers: Vec<usize> = numbers.collect();
        let (own, needed) = numbers.split_last().unwrap();
        assert_eq!(*own, tasks);
        assert!(!needed.is_empty(), "{settled:?}");
        assert!(needed.iter().all(|n| *n > tasks), "{settled:?}");
    }
}

#[test]
fn what_decides_already_is_not_a_matter_of_tasks() {
    let found = contrasted(&[1.0; 60], &[1.0; 60]);
    let metric = success();
    assert!(repeated::fewest(&found, &question(&metric, Some(0.05))).is_none());
    assert!(settle(&found, &question(&metric, Some(0.05))).is_none());
}

#[test]
fn a_floor_binds_whatever_gain_is_assumed_and_has_no_power() {
    let metric = success();
    let a = [0.0; 8];
    let b = [1.0, 1.0, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0];
    let found = contrasted(&a, &b);
    let settled = settle(&found, &question(&metric, Some(0.05))).unwrap();
    assert!(settled.text.contains("about 56"), "{settled:?}");
    assert!(!settled.text.contains("about 10 "), "{settled:?}");
    assert!(settled.text.contains("power not known"), "{settled:?}");
    let tied = contrasted(&[1.0; 12], &[1.0; 12]);
    let settled = settle(&tied, &question(&metric, Some(0.05))).unwrap();
    assert!(!settled.text.contains("power .80"), "{settled:?}");
}

#[test]
fn no_rate_differs_by_more_than_one() {
    let found = contrasted(&[1.0; 2], &[1.0; 2]);
    assert_eq!(found.mde, None);
    assert!(found.notices.iter().any(|n| n == "detectable_above_one"));
}
