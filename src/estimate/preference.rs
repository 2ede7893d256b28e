//! Pairs of two arms as a pairwise judge sees them: cells by task, the judge's own preference, and what
//! labels of the run make of it (METHODS 6.2, 9.4, 10).

use std::collections::HashMap;

use super::cells::share;
use super::table::Context;
use crate::base::Result;
use crate::model::preference::{JudgedPair, PreferenceColumn};
use crate::model::score::{RowState, ScoreTable};
use crate::stats::Limits;
use crate::stats::correction::{
    CorrectedDifference, LabelledPair, PairedTask, TaskFrame, ppi_paired_bp_hall,
};
use crate::stats::paired::{DifferenceEstimate, bp_hall};
use crate::stats::sample::Paired;
use crate::stats::sum::mean;
use crate::stats::units::Weights;

/// What a judge and people prefer in one pair: candidate minus baseline, in \[−1, 1\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairScore {
    /// The judge; a tie and an answer that changed with the order are 0.
    pub judge: f64,
    /// People, where the pair was drawn for labelling whatever the judge said.
    pub human: Option<f64>,
}

/// Pairs of two arms by task; every vector has one entry per task of the score table.
#[derive(Clone, Debug, PartialEq)]
pub struct PairCells {
    /// Pairs with a usable answer, in the order of their trial numbers.
    pub judged: Vec<Vec<PairScore>>,
    /// Pairs that were started and have none.
    pub missing: Vec<u32>,
    /// Planned pairs.
    pub planned: Vec<u32>,
}

/// 1 where two arms are compared as the judge's pairs were made, −1 the other way round; `None` where the
/// judge saw no pairs of them.
pub fn direction(column: &PreferenceColumn, baseline: usize, candidate: usize) -> Option<f64> {
    let own = (usize::from(column.baseline), usize::from(column.candidate));
    match own {
        _ if own == (baseline, candidate) => Some(1.0),
        _ if own == (candidate, baseline) => Some(-1.0),
        _ => None,
    }
}

/// What became of a planned pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PairState<'a> {
    /// One of its trials never started, or was cut off by a stop of the run.
    NotStarted,
    /// One of its trials was lost to infrastructure.
    Lost,
    /// Both trials are there; what the judge said of them, if it was asked.
    Valid(Option<&'a JudgedPair>),
}

/// Every planned pair: trials of both arms with the same number, with its task.
pub fn planned_pairs<'a>(
    table: &ScoreTable,
    column: &'a PreferenceColumn,
) -> Vec<(usize, PairState<'a>)> {
    let of_arm = |arm: u16| (0..table.len()).filter(move |&row| table.arm[row] == arm);
    let place = |row: usize| (table.task[row], table.index[row]);
    let others: HashMap<(u32, u32), usize> = of_arm(column.candidate)
        .map(|row| (place(row), row))
        .collect();
    let state = |row: usize, other: usize| match (table.state[row], table.state[other]) {
        (one, two) if one.is_to_run() || two.is_to_run() => PairState::NotStarted,
        (RowState::Valid, RowState::Valid) => PairState::Valid(column.pairs.get(&place(row))),
        _ => PairState::Lost,
    };
    of_arm(column.baseline)
        .filter_map(|row| {
            let other = *others.get(&place(row))?;
            Some((table.task[row] as usize, state(row, other)))
        })
        .collect()
}

impl PairCells {
    /// Gathers the pairs of a judge; with `direction` −1 the arms change roles.
    pub fn gather(table: &ScoreTable, column: &PreferenceColumn, direction: f64) -> Self {
        let tasks = table.tasks.len();
        let mut cells = Self {
            judged: vec![vec![]; tasks],
            missing: vec![0; tasks],
            planned: vec![0; tasks],
        };
        for (task, state) in planned_pairs(table, column) {
            cells.planned[task] += 1;
            let pair = match state {
                PairState::NotStarted => continue,
                PairState::Lost => None,
                PairState::Valid(pair) => pair,
            };
            let said = pair.and_then(|p| Some((p, p.preference.as_ref()?.value()?)));
            match said {
                Some((pair, preference)) => cells.judged[task].push(PairScore {
                    judge: direction * preference.value(),
                    human: pair.label.filter(|_| pair.drawn).map(|h| direction * h),
                }),
                None => cells.missing[task] += 1,
            }
        }
        cells
    }

    /// Missing over planned pairs of some tasks.
    pub fn missing_rate(&self, tasks: &[usize]) -> f64 {
        share(&self.missing, &self.planned, tasks)
    }

    /// The share of a task's started pairs that is missing.
    pub fn lost(&self, task: usize) -> f64 {
        let (judged, missing) = (
            self.judged[task].len() as f64,
            f64::from(self.missing[task]),
        );
        if missing > 0.0 {
            missing / (judged + missing)
        } else {
            0.0
        }
    }

    /// Mean of the judge's preferences in a task.
    pub fn mean(&self, task: usize) -> Option<f64> {
        let all: Vec<f64> = self.judged[task].iter().map(|p| p.judge).collect();
        mean(&all)
    }

    /// The tasks with a usable pair.
    pub fn paired(&self, tasks: &[usize]) -> Vec<usize> {
        let usable = |t: &usize| !self.judged[*t].is_empty();
        tasks.iter().copied().filter(usable).collect()
    }

    /// Labelled pairs that count: the first of each task.
    pub fn labelled(&self, tasks: &[usize]) -> u64 {
        let any = |t: &&usize| self.judged[**t].iter().any(|p| p.human.is_some());
        tasks.iter().filter(any).count() as u64
    }

    fn task(&self, task: usize) -> PairedTask {
        let labelled = self.judged[task].iter().find_map(|p| {
            Some(LabelledPair {
                human: p.human?,
                judge: p.judge,
            })
        });
        PairedTask {
            judge: self.mean(task).unwrap_or(0.0),
            labelled,
        }
    }

    /// Means of tasks are what is weighted: weights by trials are their numbers of pairs.
    fn weights(&self, context: &Context, tasks: &[usize]) -> Weights {
        let pairs = |t: &usize| (self.judged[*t].len() as f64) + f64::from(self.missing[*t]);
        match &context.weights {
            Weights::Trials => Weights::Explicit(tasks.iter().map(pairs).collect()),
            other => other.clone(),
        }
    }
}

/// The judge's own preference over some tasks, several pairs of a task averaged first.
///
/// # Errors
///
/// As the statistics; none for cells of a store that is whole.
pub fn own_preference(
    context: &Context,
    cells: &PairCells,
    tasks: &[usize],
) -> Result<DifferenceEstimate> {
    let paired = cells.paired(tasks);
    let means: Vec<f64> = paired.iter().filter_map(|&t| cells.mean(t)).collect();
    of_means(context, cells, &paired, &means)
}

/// The judge's own preference if every missing pair had gone to the candidate (`fill` 1) or the baseline
/// (−1), over all tasks that were started.
///
/// # Errors
///
/// As [`own_preference`].
pub fn completed(
    context: &Context,
    cells: &PairCells,
    tasks: &[usize],
    fill: f64,
) -> Result<DifferenceEstimate> {
    let started = |t: &usize| cells.judged[*t].len() as u32 + cells.missing[*t] > 0;
    let started: Vec<usize> = tasks.iter().copied().filter(started).collect();
    let one = |&t: &usize| {
        let lost = cells.lost(t);
        (1.0 - lost) * cells.mean(t).unwrap_or(0.0) + lost * fill
    };
    let means: Vec<f64> = started.iter().map(one).collect();
    of_means(context, cells, &started, &means)
}

fn of_means(
    context: &Context,
    cells: &PairCells,
    tasks: &[usize],
    means: &[f64],
) -> Result<DifferenceEstimate> {
    let clusters = context.clusters(tasks);
    let weights = cells.weights(context, tasks);
    let sample = Paired::new(means, clusters.as_deref(), &weights)?;
    Ok(bp_hall(&sample, context.level, false))
}

/// People's preference behind the judge's, over some tasks (METHODS 9.4 with answers in {−1, 0, 1}).
///
/// # Errors
///
/// As [`own_preference`].
pub fn corrected_preference(
    context: &Context,
    cells: &PairCells,
    tasks: &[usize],
) -> Result<CorrectedDifference> {
    let paired = cells.paired(tasks);
    let all: Vec<PairedTask> = paired.iter().map(|&t| cells.task(t)).collect();
    let clusters = context.clusters(&paired);
    let weights = cells.weights(context, &paired);
    let frame = TaskFrame {
        clusters: clusters.as_deref(),
        weights: &weights,
    };
    ppi_paired_bp_hall(&all, &frame, context.level)
}

/// Limits if everything missing, a share of all, had been `fill`; exact with one pair per task.
pub fn moved(limits: Limits, share: f64, fill: f64) -> Limits {
    Limits {
        lower: (1.0 - share) * limits.lower + share * fill,
        upper: (1.0 - share) * limits.upper + share * fill,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Observation;
    use crate::model::analysis::WeightsSpec;
    use crate::model::judged::Standing;
    use crate::model::preference::Preference;
    use crate::stats::Level;

    /// One pair per task with this answer; `None` is an unusable one.
    fn table(answers: &[Option<Preference>]) -> ScoreTable {
        let tasks = answers.len();
        let mut table = ScoreTable {
            arms: vec!["a".into(), "b".into()],
            tasks: (0..tasks)
                .map(|t| crate::base::TaskId::new(format!("t{t}")))
                .collect(),
            ..ScoreTable::default()
        };
        for arm in 0..2 {
            for task in 0..tasks as u32 {
                table.arm.push(arm);
                table.task.push(task);
                table.index.push(0);
                table.state.push(RowState::Valid);
            }
        }
        let pair = |answer: &Option<Preference>| JudgedPair {
            preference: Some(match answer {
                Some(preference) => Observation::Value(*preference),
                None => Observation::Missing("unparsable".to_owned()),
            }),
            effect: None,
            label: None,
            drawn: false,
        };
        let pairs = answers.iter().zip(0..);
        table.preferences = vec![PreferenceColumn {
            judge: "j".into(),
            baseline: 0,
            candidate: 1,
            pairs: pairs.map(|(a, t)| ((t, 0), pair(a))).collect(),
            standing: Standing::default(),
        }];
        table
    }

    fn of(table: &ScoreTable, direction: f64) -> (Context, PairCells, Vec<usize>) {
        let context = Context::new(table, vec![1; 2], WeightsSpec::EqualTask, Level::p95());
        let cells = PairCells::gather(table, &table.preferences[0], direction);
        (context, cells, (0..table.tasks.len()).collect())
    }

    #[test]
    fn ties_are_no_half_wins_of_a_binomial() {
        // Shared fault 37: ten wins, no loss and 190 ties are evidence.
        let mut answers = vec![Some(Preference::Tie); 200];
        answers[..10].fill(Some(Preference::Candidate));
        let table = table(&answers);
        let (context, cells, tasks) = of(&table, 1.0);
        let found = own_preference(&context, &cells, &tasks).unwrap();
        assert_eq!(found.estimate, Some(0.05));
        assert!(
            found.lower.unwrap() > 0.0 && found.p.unwrap() < 0.01,
            "{found:?}"
        );
        let (context, cells, tasks) = of(&table, -1.0);
        let back = own_preference(&context, &cells, &tasks).unwrap();
        assert!((back.upper.unwrap() + found.lower.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn what_is_missing_bounds_the_preference() {
        let mut answers = vec![Some(Preference::Candidate); 9];
        answers.push(None);
        let table = table(&answers);
        let (context, cells, tasks) = of(&table, 1.0);
        assert_eq!(cells.missing_rate(&tasks), 0.1);
        let value = |fill| completed(&context, &cells, &tasks, fill).unwrap().estimate;
        assert!((value(-1.0).unwrap() - 0.8).abs() < 1e-12);
        assert_eq!(value(1.0), Some(1.0));
        let limits = Limits {
            lower: 0.5,
            upper: 1.0,
        };
        assert!((moved(limits, 0.1, -1.0).upper - 0.8).abs() < 1e-12);
    }

    #[test]
    fn a_trial_that_never_started_is_not_missing() {
        let mut table = table(&[Some(Preference::Tie); 3]);
        table.state[0] = RowState::NotStarted;
        table.state[4] = RowState::Infra(crate::model::trial::Boundary::Provider);
        let (_, cells, tasks) = of(&table, 1.0);
        assert_eq!((cells.missing, cells.planned), (vec![0, 1, 0], vec![1; 3]));
        assert_eq!(tasks.len(), 3);
    }
}
