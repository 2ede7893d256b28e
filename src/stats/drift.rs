//! The drift screen of METHODS 6.6: did the arms move against each other over time?

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::base::Seed;
use crate::stats::sum::{mean, sum};
use crate::stats::undefined::{Defined, Undefined};

/// One trial with its place in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedTrial {
    /// Task number.
    pub task: u32,
    /// Whether it belongs to arm B.
    pub in_b: bool,
    /// Block of the schedule.
    pub block: u32,
    /// Outcome in [0, 1].
    pub y: f64,
}

/// The drift statistic and what it was computed from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// X = Σ_blocks n_A n_B/(n_A + n_B)·(r̄_B − r̄_A)².
    pub statistic: f64,
    /// Mean over tasks of the difference B − A.
    pub mean_difference: f64,
    /// Tasks present in both arms.
    pub tasks: usize,
    /// Blocks that hold both arms.
    pub blocks: usize,
}

/// Trials of the tasks in both arms with what is left of each after its task and arm.
struct Residuals {
    trials: Vec<TimedTrial>,
    left: Vec<f64>,
    /// Block of each trial, numbered from 0 in ascending order.
    blocks: Vec<usize>,
    mean_difference: f64,
    tasks: usize,
}

/// The drift statistic, method id `drift_statistic`.
///
/// From every trial of a task that both arms have, the mean of the two task means and half the mean
/// difference are taken; what is left should not differ between arms within a block. Large values say
/// that one arm moved and the other did not; drift that both share cancels.
///
/// # Errors
///
/// `no_common_tasks`; `not_finite`.
///
/// Source: METHODS 6.6 (own construction).
pub fn drift_statistic(trials: &[TimedTrial]) -> Defined<Drift> {
    let residuals = Residuals::of(trials)?;
    let (statistic, blocks) = residuals.statistic(&residuals.blocks);
    let (mean_difference, tasks) = (residuals.mean_difference, residuals.tasks);
    Ok(Drift {
        statistic,
        mean_difference,
        tasks,
        blocks,
    })
}

/// The permutation p of the drift statistic: (1 + #)/(1 + B), the same at any thread count.
///
/// Block labels are exchanged among the trials of one arm within a task; single trials exchange
/// labels with the other single trials of their arm. At least 999 draws. Size .03–.06 in simulation;
/// power is about .1 with one trial per task, so a negative screen is no proof.
///
/// # Errors
///
/// As [`drift_statistic`]; `too_few_draws` under 999; `single_block` if fewer than two blocks hold
/// both arms, where nothing can be told about time.
pub fn drift_p_value(trials: &[TimedTrial], draws: u32, seed: Seed) -> Defined<f64> {
    if draws < 999 {
        return Err(Undefined("too_few_draws"));
    }
    let residuals = Residuals::of(trials)?;
    let blocks = &residuals.blocks;
    let (observed, both) = residuals.statistic(blocks);
    if both < 2 {
        return Err(Undefined("single_block"));
    }
    let groups = residuals.exchangeable();
    let least = observed - 1e-9 * observed.abs().max(1.0);
    let root = seed.child("drift");
    let reached: u32 = (0..draws)
        .into_par_iter()
        .map(|draw| {
            let mut stream = root.nth("draw", u64::from(draw)).stream();
            let mut permuted = blocks.clone();
            for group in &groups {
                let mut labels: Vec<usize> = group.iter().map(|&i| blocks[i]).collect();
                stream.shuffle(&mut labels);
                group
                    .iter()
                    .zip(labels)
                    .for_each(|(&i, label)| permuted[i] = label);
            }
            u32::from(residuals.statistic(&permuted).0 >= least)
        })
        .sum();
    Ok((1.0 + f64::from(reached)) / (1.0 + f64::from(draws)))
}

/// The blocks of trials, numbered from 0 in ascending order.
fn numbered(trials: &[TimedTrial]) -> Vec<usize> {
    let mut known: Vec<u32> = trials.iter().map(|t| t.block).collect();
    known.sort_unstable();
    known.dedup();
    let number = |t: &TimedTrial| known.partition_point(|&block| block < t.block);
    trials.iter().map(number).collect()
}

impl Residuals {
    fn of(trials: &[TimedTrial]) -> Defined<Self> {
        if trials.iter().any(|t| !t.y.is_finite()) {
            return Err(Undefined("not_finite"));
        }
        let mut tasks: BTreeMap<u32, [Vec<f64>; 2]> = BTreeMap::new();
        for trial in trials {
            tasks.entry(trial.task).or_default()[usize::from(trial.in_b)].push(trial.y);
        }
        let means: BTreeMap<u32, [f64; 2]> = tasks
            .into_iter()
            .filter_map(|(task, [a, b])| Some((task, [mean(&a)?, mean(&b)?])))
            .collect();
        let differences: Vec<f64> = means.values().map(|[a, b]| b - a).collect();
        let mean_difference = mean(&differences).ok_or(Undefined("no_common_tasks"))?;
        let paired = trials
            .iter()
            .filter_map(|t| Some((*t, means.get(&t.task)?)));
        let (trials, left): (Vec<TimedTrial>, Vec<f64>) = paired
            .map(|(trial, [a, b])| {
                let sign = if trial.in_b { 1.0 } else { -1.0 };
                (
                    trial,
                    trial.y - (a + b) / 2.0 - sign * mean_difference / 2.0,
                )
            })
            .unzip();
        Ok(Self {
            blocks: numbered(&trials),
            trials,
            left,
            mean_difference,
            tasks: differences.len(),
        })
    }

    /// X under a labelling, and how many blocks hold both arms.
    fn statistic(&self, blocks: &[usize]) -> (f64, usize) {
        #[derive(Clone, Default)]
        struct Side {
            n: f64,
            total: f64,
        }
        let count = self.blocks.iter().max().map_or(0, |last| last + 1);
        let mut sides = vec![[Side::default(), Side::default()]; count];
        for ((trial, left), &block) in self.trials.iter().zip(&self.left).zip(blocks) {
            let side = &mut sides[block][usize::from(trial.in_b)];
            side.n += 1.0;
            side.total += left;
        }
        let both = || sides.iter().filter(|[a, b]| a.n > 0.0 && b.n > 0.0);
        let term =
            |[a, b]: &[Side; 2]| a.n * b.n / (a.n + b.n) * (b.total / b.n - a.total / a.n).powi(2);
        (sum(both().map(term)), both().count())
    }

    /// Trials that may exchange block labels: of one task and arm, or all single ones of an arm.
    fn exchangeable(&self) -> Vec<Vec<usize>> {
        let mut cells: BTreeMap<(u32, bool), Vec<usize>> = BTreeMap::new();
        for (i, trial) in self.trials.iter().enumerate() {
            cells.entry((trial.task, trial.in_b)).or_default().push(i);
        }
        let mut singles: [Vec<usize>; 2] = Default::default();
        let mut groups = vec![];
        for ((_, in_b), members) in cells {
            match members.as_slice() {
                [single] => singles[usize::from(in_b)].push(*single),
                _ => groups.push(members),
            }
        }
        groups.extend(singles);
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thirty tasks, five blocks, five trials each; arm B falls in the later blocks by `drift`.
    fn run(drift: f64, shared: bool) -> Vec<TimedTrial> {
        let mut stream = Seed(5).stream();
        let mut trials = vec![];
        for task in 0..30 {
            for block in 0..5 {
                for in_b in [false, true] {
                    let moved = if in_b || shared {
                        drift * (f64::from(block) - 2.0)
                    } else {
                        0.0
                    };
                    let y = f64::from(stream.unit() < 0.5 + moved);
                    trials.push(TimedTrial {
                        task,
                        in_b,
                        block,
                        y,
                    });
                }
            }
        }
        trials
    }

    #[test]
    fn own_drift_shows_and_shared_drift_cancels() {
        assert!(drift_p_value(&run(0.2, false), 999, Seed(1)).unwrap() < 0.01);
        assert!(drift_p_value(&run(0.2, true), 999, Seed(1)).unwrap() > 0.05);
        assert!(drift_p_value(&run(0.0, false), 999, Seed(1)).unwrap() > 0.05);
    }

    #[test]
    fn any_thread_count_gives_the_same_p() {
        let trials = run(0.05, false);
        let p = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| drift_p_value(&trials, 999, Seed(2)).unwrap())
        };
        assert_eq!(p(1), p(4));
    }

    #[test]
    fn undefined_cases_name_their_reason() {
        let trial = |task, in_b, block| TimedTrial {
            task,
            in_b,
            block,
            y: 1.0,
        };
        let apart = [trial(1, false, 1), trial(2, true, 1)];
        assert_eq!(
            drift_statistic(&apart).unwrap_err().code(),
            "no_common_tasks"
        );
        let one = [trial(1, false, 1), trial(1, true, 1)];
        assert_eq!(
            drift_p_value(&one, 999, Seed(1)).unwrap_err().code(),
            "single_block"
        );
        assert_eq!(
            drift_p_value(&one, 99, Seed(1)).unwrap_err().code(),
            "too_few_draws"
        );
        let nan = [TimedTrial {
            y: f64::NAN,
            ..trial(1, false, 1)
        }];
        assert_eq!(drift_statistic(&nan).unwrap_err().code(), "not_finite");
    }

    #[test]
    fn constant_outcomes_cannot_drift() {
        let trials: Vec<TimedTrial> = run(0.0, false)
            .into_iter()
            .map(|t| TimedTrial { y: 1.0, ..t })
            .collect();
        assert_eq!(drift_p_value(&trials, 999, Seed(1)).unwrap(), 1.0);
    }
}
