//! Which pairs of trials people are asked to compare.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::{Error, Result, Seed};
use crate::model::judged::TASK_STRATUM;
use crate::model::score::{RowState, ScoreTable};

/// One drawn pair.
#[derive(Clone, Debug, PartialEq)]
pub struct PairDrawing {
    /// Task, by its position in the score table.
    pub task: usize,
    /// Trial number in both arms.
    pub index: u32,
    /// Whether the baseline's output is shown first.
    pub baseline_first: bool,
    /// Stratum that it was drawn from.
    pub stratum: String,
    /// Probability with which it was drawn.
    pub probability: f64,
}

/// Draws `count` tasks at random and one pair at random in each: trials of both arms with the same number,
/// both valid, whatever a judge says of them. In half of the pairs the baseline comes first, in half the
/// candidate, and which is which is drawn; the same seed draws the same.
///
/// # Errors
///
/// If no task has such a pair.
///
/// Source: METHODS 9.2 and 9.4, after Cochran 1977.
pub fn draw_pairs(
    table: &ScoreTable,
    arms: [usize; 2],
    count: usize,
    seed: Seed,
) -> Result<Vec<PairDrawing>> {
    let mut tasks: Vec<(usize, Vec<u32>)> = pairs(table, arms).into_iter().collect();
    let all = tasks.len();
    if all == 0 {
        return Err(Error::input("no task has a valid trial of both arms"));
    }
    seed.child("tasks").stream().shuffle(&mut tasks);
    tasks.truncate(count);
    let share = tasks.len() as f64 / all as f64;
    let mut places: Vec<bool> = (0..tasks.len()).map(|at| at % 2 == 0).collect();
    seed.child("places").stream().shuffle(&mut places);
    let mut stream = seed.child("pairs").stream();
    let drawn = tasks.into_iter().zip(places);
    Ok(drawn
        .map(|((task, own), baseline_first)| PairDrawing {
            task,
            index: own[stream.below(own.len())],
            baseline_first,
            stratum: TASK_STRATUM.to_owned(),
            probability: share / own.len() as f64,
        })
        .collect())
}

/// Numbers of the pairs of each task.
fn pairs(table: &ScoreTable, [baseline, candidate]: [usize; 2]) -> BTreeMap<usize, Vec<u32>> {
    let valid = |arm: usize| {
        let own = move |row: &usize| {
            usize::from(table.arm[*row]) == arm && table.state[*row] == RowState::Valid
        };
        let place = |row: usize| (table.task[row] as usize, table.index[row]);
        (0..table.len())
            .filter(own)
            .map(place)
            .collect::<BTreeSet<(usize, u32)>>()
    };
    let mut pairs: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (task, index) in valid(baseline).intersection(&valid(candidate)) {
        pairs.entry(*task).or_default().push(*index);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{ArmId, TaskId};

    /// Two arms, forty tasks, three trials each; the candidate's trial 1 is lost everywhere.
    fn table() -> ScoreTable {
        let mut table = ScoreTable {
            arms: vec![ArmId::from("a"), ArmId::from("b")],
            tasks: (0..40).map(|t| TaskId::new(format!("t{t}"))).collect(),
            ..ScoreTable::default()
        };
        for arm in 0..2u16 {
            for task in 0..40 {
                for index in 0..3 {
                    table.arm.push(arm);
                    table.task.push(task);
                    table.index.push(index);
                    let lost = arm == 1 && index == 1;
                    let infra = RowState::Infra(crate::model::trial::Boundary::Runner);
                    table.state.push(if lost { infra } else { RowState::Valid });
                }
            }
        }
        table
    }

    #[test]
    fn places_are_balanced_and_lost_trials_have_no_pair() {
        let drawn = draw_pairs(&table(), [0, 1], 20, Seed(3)).unwrap();
        let first = drawn.iter().filter(|d| d.baseline_first).count();
        assert_eq!((drawn.len(), first), (20, 10));
        let tasks: BTreeSet<usize> = drawn.iter().map(|d| d.task).collect();
        assert_eq!(tasks.len(), 20);
        assert!(drawn.iter().all(|d| d.index != 1));
        assert!(drawn.iter().all(|d| (d.probability - 0.25).abs() < 1e-12));
        assert_eq!(drawn, draw_pairs(&table(), [0, 1], 20, Seed(3)).unwrap());
        assert_ne!(drawn, draw_pairs(&table(), [0, 1], 20, Seed(4)).unwrap());
    }

    #[test]
    fn without_a_pair_there_is_nothing_to_draw() {
        assert!(draw_pairs(&ScoreTable::default(), [0, 1], 5, Seed(1)).is_err());
    }
}
