//! Which trials people are asked to label.

use std::collections::BTreeMap;

use crate::base::{Error, Result, Seed};
use crate::model::judged::{JudgeCell, JudgeColumn, LEVEL_STRATUM, TASK_STRATUM};
use crate::model::score::{RowState, ScoreTable};

/// How trials are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Draw {
    /// This many tasks at random, the same for all arms; in each arm one trial at random of each.
    Tasks(usize),
    /// This many trials per arm and per answer of the judge, at most one of a task.
    Quota {
        /// Position of the judge's column.
        judge: usize,
        /// Trials per answer.
        each: usize,
    },
}

/// One drawn trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Row of the score table.
    pub row: usize,
    /// Stratum that it was drawn from.
    pub stratum: String,
    /// Probability with which it was drawn.
    pub probability: f64,
}

/// Draws trials for labelling, in a random order that mixes arms; the same seed draws the same.
///
/// # Errors
///
/// If there is no trial to label, or quotas would label more than half of an arm's tasks: then labels of
/// tasks that the judge finds easy and hard no longer stand for the rest (METHODS 9.2).
///
/// Source: METHODS 9.2, after Cochran 1977.
pub fn draw(table: &ScoreTable, how: &Draw, seed: Seed) -> Result<Vec<Drawing>> {
    let mut drawn = match how {
        Draw::Tasks(n) => by_task(table, *n, seed),
        Draw::Quota { judge, each } => by_quota(table, &table.judges[*judge], *each, seed)?,
    };
    if drawn.is_empty() {
        return Err(Error::input(
            "the run holds no trial that could be labelled",
        ));
    }
    seed.child("label-sample/order")
        .stream()
        .shuffle(&mut drawn);
    Ok(drawn)
}

/// Valid rows of an arm by task.
fn valid_rows(table: &ScoreTable, arm: usize) -> BTreeMap<u32, Vec<usize>> {
    let mut rows: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let of_arm =
        |row: &usize| usize::from(table.arm[*row]) == arm && table.state[*row] == RowState::Valid;
    for row in (0..table.len()).filter(of_arm) {
        rows.entry(table.task[row]).or_default().push(row);
    }
    rows
}

fn by_task(table: &ScoreTable, n: usize, seed: Seed) -> Vec<Drawing> {
    let arms: Vec<_> = (0..table.arms.len())
        .map(|arm| valid_rows(table, arm))
        .collect();
    let mut tasks: Vec<u32> = (0..table.tasks.len() as u32)
        .filter(|t| arms.iter().any(|rows| rows.contains_key(t)))
        .collect();
    let all = tasks.len();
    seed.child("label-sample/tasks")
        .stream()
        .shuffle(&mut tasks);
    tasks.truncate(n);
    let share = tasks.len() as f64 / all as f64;
    let mut drawn = vec![];
    for (arm, rows) in arms.iter().enumerate() {
        let mut stream = seed.nth("label-sample/trials", arm as u64).stream();
        for own in tasks.iter().filter_map(|t| rows.get(t)) {
            drawn.push(Drawing {
                row: own[stream.below(own.len())],
                stratum: TASK_STRATUM.to_owned(),
                probability: share / own.len() as f64,
            });
        }
    }
    drawn
}

fn by_quota(
    table: &ScoreTable,
    judge: &JudgeColumn,
    each: usize,
    seed: Seed,
) -> Result<Vec<Drawing>> {
    let mut drawn = vec![];
    for arm in 0..table.arms.len() {
        let rows = valid_rows(table, arm);
        let mut pools: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for &row in rows.values().flatten() {
            if let JudgeCell::Level(level) = judge.cell[row] {
                pools.entry(level).or_default().push(row);
            }
        }
        let wanted: usize = pools.values().map(|pool| pool.len().min(each)).sum();
        if 2 * wanted > rows.len() {
            let message = format!(
                "quotas would label {wanted} of the {} tasks of arm `{}`; at most half",
                rows.len(),
                table.arms[arm]
            );
            return Err(
                Error::refused(message).hint("draw tasks at random: leave out `--quota-by`")
            );
        }
        let mut used = vec![];
        for (level, mut pool) in pools {
            let size = pool.len() as f64;
            let label = format!("label-sample/quota/{arm}/{level}");
            seed.child(&label).stream().shuffle(&mut pool);
            let mut taken = vec![];
            for row in pool {
                if taken.len() < each && !used.contains(&table.task[row]) {
                    used.push(table.task[row]);
                    taken.push(row);
                }
            }
            let probability = taken.len() as f64 / size;
            let word = &judge.scale.levels[level as usize];
            drawn.extend(taken.into_iter().map(|row| Drawing {
                row,
                stratum: format!("{LEVEL_STRATUM}{word}"),
                probability,
            }));
        }
    }
    Ok(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{ArmId, JudgeId, TaskId};
    use crate::model::judged::Standing;
    use crate::model::label::Scale;

    /// Two arms, `tasks` tasks, three trials each; the judge passes every third trial.
    fn table(tasks: usize) -> ScoreTable {
        let mut table = ScoreTable {
            arms: vec![ArmId::from("a"), ArmId::from("b")],
            tasks: (0..tasks).map(|t| TaskId::new(format!("t{t}"))).collect(),
            ..ScoreTable::default()
        };
        for arm in 0..2 {
            for task in 0..tasks as u32 {
                for index in 0..3 {
                    table.arm.push(arm);
                    table.task.push(task);
                    table.index.push(index);
                    table.state.push(RowState::Valid);
                }
            }
        }
        let cell = table
            .index
            .iter()
            .map(|i| JudgeCell::Level(u32::from(*i == 0)))
            .collect();
        table.judges = vec![JudgeColumn {
            judge: JudgeId::from("j"),
            scale: Scale::binary(),
            cell,
            label: vec![None; table.arm.len()],
            standing: vec![Standing::default(); 2],
        }];
        table
    }

    #[test]
    fn both_arms_are_labelled_on_the_same_tasks() {
        let table = table(40);
        let drawn = draw(&table, &Draw::Tasks(10), Seed(3)).unwrap();
        assert_eq!(drawn.len(), 20);
        let tasks = |arm: u16| {
            let own = drawn.iter().filter(|d| table.arm[d.row] == arm);
            own.map(|d| table.task[d.row])
                .collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!((tasks(0), tasks(0).len()), (tasks(1), 10));
        assert!(
            drawn
                .iter()
                .all(|d| (d.probability - 0.25 / 3.0).abs() < 1e-12)
        );
        assert_eq!(drawn, draw(&table, &Draw::Tasks(10), Seed(3)).unwrap());
        assert_ne!(drawn, draw(&table, &Draw::Tasks(10), Seed(4)).unwrap());
    }

    #[test]
    fn every_trial_of_a_task_has_the_same_chance() {
        let table = table(1);
        let mut seen = [0u32; 3];
        for seed in 0..600 {
            let drawn = draw(&table, &Draw::Tasks(1), Seed(seed)).unwrap();
            drawn
                .iter()
                .for_each(|d| seen[table.index[d.row] as usize] += 1);
        }
        assert!(seen.iter().all(|n| (330..470).contains(n)), "{seen:?}");
    }

    #[test]
    fn quotas_stop_at_half_of_the_tasks() {
        let table = table(40);
        let quota = |each| draw(&table, &Draw::Quota { judge: 0, each }, Seed(1));
        let drawn = quota(10).unwrap();
        assert_eq!(drawn.len(), 40);
        let own = drawn
            .iter()
            .filter(|d| table.arm[d.row] == 0)
            .map(|d| table.task[d.row]);
        assert_eq!(own.collect::<std::collections::BTreeSet<_>>().len(), 20);
        assert!(drawn.iter().any(|d| d.stratum == "level:pass"));
        assert!(quota(11).is_err());
    }
}
