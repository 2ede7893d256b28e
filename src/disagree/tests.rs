use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::base::TaskId;
use crate::model::score::{CellState, MeasureColumn, RowState, SegmentColumn};

/// A table of two arms with `trials` trials each and one measure; `value` gives arm, task, trial.
fn table(
    tasks: usize,
    trials: usize,
    measure: Measure,
    value: impl Fn(usize, usize, usize) -> Option<f64>,
) -> ScoreTable {
    let mut table = ScoreTable {
        arms: vec!["a".into(), "b".into()],
        tasks: (0..tasks).map(|i| TaskId::new(format!("t{i}"))).collect(),
        ..ScoreTable::default()
    };
    let mut column = MeasureColumn {
        measure,
        value: vec![],
        cell: vec![],
    };
    for arm in 0..2 {
        for task in 0..tasks {
            for trial in 0..trials {
                let value = value(arm, task, trial);
                table.arm.push(arm as u16);
                table.task.push(task as u32);
                table.index.push(trial as u32);
                table.state.push(RowState::Valid);
                column.value.push(value.unwrap_or(f64::NAN));
                column.cell.push(match value {
                    Some(_) => CellState::Scored,
                    None => CellState::Ungradable,
                });
            }
        }
    }
    table.measures.push(column);
    table
}

/// Arm a passes everywhere but in its last trial of even tasks; arm b fails everywhere.
fn mixed(tasks: usize) -> ScoreTable {
    table(tasks, 3, Measure::Success, |arm, task, trial| {
        Some(f64::from(u8::from(
            arm == 0 && !(task % 2 == 0 && trial == 2),
        )))
    })
}

#[test]
fn each_stratum_is_counted_and_drawn() {
    let picks = sample(&mixed(10), Seed(7), 3);
    let within: Vec<&Pick> = picks
        .iter()
        .filter(|p| p.kind == Kind::TrialVsTrial)
        .collect();
    let between: Vec<&Pick> = picks.iter().filter(|p| p.kind == Kind::ArmVsArm).collect();
    assert_eq!((within.len(), between.len()), (3, 3));
    assert!(within.iter().all(|p| p.held == 5 && p.drawn == 3));
    assert!(between.iter().all(|p| p.held == 10 && p.drawn == 3));
    assert_eq!(within[0].note(), "3 of 5 tasks: a passes and fails");
    assert_eq!(between[0].note(), "3 of 10 tasks: a passes, b fails");
}

#[test]
fn the_first_row_is_that_of_the_first_arm_in_both_directions() {
    let swapped = table(4, 2, Measure::Success, |arm, _, _| Some(arm as f64));
    let picks = sample(&swapped, Seed(7), 3);
    assert_eq!(picks.len(), 3);
    for pick in &picks {
        assert_eq!(pick.stratum, "b passes, a fails");
        assert_eq!((swapped.arm[pick.row_a], swapped.arm[pick.row_b]), (0, 1));
    }
}

#[test]
fn fewer_is_better_for_violations() {
    let table = table(2, 2, Measure::Violations, |arm, _, _| {
        Some(2.0 * arm as f64)
    });
    let picks = sample(&table, Seed(7), 3);
    assert!(!picks.is_empty());
    assert!(picks.iter().all(|pick| pick.stratum == "a passes, b fails"));
}

#[test]
fn efficiency_and_unscored_cells_are_no_disagreement() {
    let steps = table(4, 2, Measure::Steps, |arm, _, trial| {
        Some((arm + trial) as f64)
    });
    assert_eq!(sample(&steps, Seed(7), 3), []);
    let unscored = table(4, 2, Measure::Success, |arm, _, _| {
        (arm == 0).then_some(1.0)
    });
    assert_eq!(sample(&unscored, Seed(7), 3), []);
    assert_eq!(sample(&ScoreTable::default(), Seed(7), 3), []);
}

#[test]
fn a_tie_between_trials_takes_no_side_between_arms() {
    let tied = table(4, 2, Measure::Success, |arm, _, trial| {
        Some(if arm == 0 { trial as f64 } else { 0.0 })
    });
    let picks = sample(&tied, Seed(7), 3);
    assert!(picks.iter().all(|pick| pick.kind == Kind::TrialVsTrial));
    assert_eq!(picks.len(), 3);
}

#[test]
fn segments_are_strata() {
    let mut table = mixed(10);
    table.segments.push(SegmentColumn {
        key: "cabin".into(),
        values: (0..10)
            .map(|t| (t > 0).then(|| format!("c{}", t % 2)))
            .collect(),
    });
    let picks = sample(&table, Seed(7), 2);
    let strata: BTreeSet<String> = picks.iter().map(Pick::note).collect();
    let expected = [
        "1 of 1 tasks: a passes and fails",
        "2 of 4 tasks: a passes and fails, cabin=c0",
        "1 of 1 tasks: a passes, b fails",
        "2 of 4 tasks: a passes, b fails, cabin=c0",
        "2 of 5 tasks: a passes, b fails, cabin=c1",
    ];
    assert_eq!(strata, expected.map(str::to_owned).into());
}

#[test]
fn the_seed_decides_what_is_drawn_and_nothing_else() {
    let table = mixed(200);
    let picks = sample(&table, Seed(7), 3);
    assert_eq!(picks, sample(&table, Seed(7), 3));
    assert_ne!(picks, sample(&table, Seed(8), 3));
    // A further measure moves no pick of the others.
    let mut wider = table.clone();
    let mut other = wider.measures[0].clone();
    other.measure = Measure::Conformance;
    wider.measures.insert(0, other);
    let success = |picks: Vec<Pick>| -> Vec<Pick> {
        picks
            .into_iter()
            .filter(|p| p.measure == Measure::Success)
            .collect()
    };
    assert_eq!(success(sample(&wider, Seed(7), 3)), picks);
}

#[test]
fn every_task_is_equally_likely() {
    let table = mixed(8);
    let mut counts = [0u32; 8];
    for seed in 0..4000 {
        let picks = sample(&table, Seed(seed), 2);
        for pick in picks.iter().filter(|p| p.kind == Kind::ArmVsArm) {
            counts[table.task[pick.row_a] as usize] += 1;
        }
    }
    // 1,000 expected each; the standard deviation of a count is 27.
    assert!(counts.iter().all(|&n| n.abs_diff(1000) < 140), "{counts:?}");
}

/// The naive version: every pair of rows, tasks counted by what any pair shows.
fn naive_held(table: &ScoreTable, kind: Kind, good_arm: u16, bad_arm: u16) -> usize {
    let column = &table.measures[0];
    let rows = |arm: u16, task: u32, good: bool| {
        (0..table.len())
            .filter(|&r| table.arm[r] == arm && table.task[r] == task)
            .filter(|&r| column.cell[r] == CellState::Scored && (column.value[r] >= 0.5) == good)
            .count()
    };
    let tasks = 0..table.tasks.len() as u32;
    tasks
        .filter(|&task| match kind {
            Kind::TrialVsTrial => rows(good_arm, task, true) * rows(bad_arm, task, false) > 0,
            Kind::ArmVsArm => {
                rows(good_arm, task, true) > rows(good_arm, task, false)
                    && rows(bad_arm, task, false) > rows(bad_arm, task, true)
            }
        })
        .count()
}

proptest! {
    #[test]
    fn agrees_with_the_naive_count(values in prop::collection::vec(0u8..4, 60), most in 0usize..5) {
        let table = table(10, 3, Measure::Success, |arm, task, trial| {
            let value = values[arm * 30 + task * 3 + trial];
            (value < 3).then_some(f64::from(value) / 2.0)
        });
        let picks = sample(&table, Seed(1), most);
        let column = &table.measures[0];
        let passes = |row: usize| column.value[row] >= 0.5;
        for (kind, good, bad) in [
            (Kind::TrialVsTrial, 0, 0),
            (Kind::TrialVsTrial, 1, 1),
            (Kind::ArmVsArm, 0, 1),
            (Kind::ArmVsArm, 1, 0),
        ] {
            let held = naive_held(&table, kind, good, bad);
            let of: Vec<&Pick> = picks.iter().filter(|p| p.kind == kind && {
                let (a, b) = (table.arm[p.row_a], table.arm[p.row_b]);
                if passes(p.row_a) { (a, b) == (good, bad) } else { (b, a) == (good, bad) }
            }).collect();
            prop_assert_eq!(of.len(), held.min(most));
            for pick in of {
                prop_assert_eq!((pick.held, pick.drawn), (held, held.min(most)));
                prop_assert_eq!(table.task[pick.row_a], table.task[pick.row_b]);
                prop_assert!(passes(pick.row_a) != passes(pick.row_b));
            }
        }
    }
}
