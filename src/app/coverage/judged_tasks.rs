//! Tasks with several judged trials, of which some tasks carry one human label.

use serde::{Deserialize, Serialize};

use super::cell::{CellWeights, Design, are_masses, is_share, named_design};
use crate::base::seed::Stream;
use crate::stats::correction::{
    Inversion, JudgedTask, TaskLabel, TaskLabelDesign, post_stratified_tasks,
};
use crate::stats::sum::sum;
use crate::stats::units::Weights;
use crate::stats::{Level, Limits};

/// Tasks, possibly in clusters, whose trials a binary judge answers; at most one trial per task is
/// labelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgedTasksCell {
    /// A name for the table; made from the fields if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of clusters, or of tasks where each cluster has one.
    pub units: u32,
    /// Tasks per cluster, all of one type.
    #[serde(default = "one")]
    pub size: u32,
    /// Trials per task.
    pub trials: u32,
    /// How many tasks carry a label.
    pub labels: u32,
    /// How labelled trials are chosen.
    #[serde(default)]
    pub choice: LabelChoice,
    /// P(judge positive | human positive).
    pub sensitivity: f64,
    /// P(judge negative | human negative).
    pub specificity: f64,
    /// What tasks are like.
    pub types: Vec<JudgedType>,
    /// How tasks are weighted, where no type has a weight of its own.
    #[serde(default)]
    pub weights: CellWeights,
}

fn one() -> u32 {
    1
}

/// How labelled trials are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelChoice {
    /// Tasks at random, then one trial at random in each.
    #[default]
    TaskThenTrial,
    /// Half of the labels from each level of the judge: trials at random, skipping used tasks.
    LevelPool,
}

/// One type of task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgedType {
    /// How common the type is; masses sum to 1.
    pub mass: f64,
    /// P(people call a trial positive).
    pub positive: f64,
    /// Weight of its tasks; where some type has one, 1 for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Trials of its tasks, if not the cell's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials: Option<u32>,
}

/// One simulated run.
#[derive(Default)]
pub(super) struct JudgedTasks {
    tasks: Vec<JudgedTask>,
    clusters: Option<Vec<u32>>,
    weights: Vec<f64>,
}

/// One trial: whether people and the judge call it positive.
#[derive(Clone, Copy)]
struct Trial {
    task: usize,
    human: bool,
    judge: bool,
}

impl Design for JudgedTasksCell {
    named_design!();

    fn units(&self) -> u32 {
        self.units
    }

    fn trials(&self) -> u32 {
        let own = self.types.iter().filter_map(|t| t.trials);
        own.max().unwrap_or(0).max(self.trials)
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn check(&self) -> Result<(), &'static str> {
        let tasks = u64::from(self.units) * u64::from(self.size);
        let labels = self.labels >= 1 && u64::from(self.labels) <= tasks;
        let sound = |t: &JudgedType| {
            let weight = t.weight.is_none_or(|w| w > 0.0 && w.is_finite());
            is_share(t.positive) && weight && t.trials != Some(0)
        };
        let judge = is_share(self.sensitivity) && is_share(self.specificity);
        let masses = are_masses(self.types.iter().map(|t| t.mass));
        if labels && judge && masses && self.types.iter().all(sound) {
            return Ok(());
        }
        Err(
            "labels from 1 to tasks, probabilities in [0, 1], positive weights and trials, and masses that sum to 1",
        )
    }
}

impl JudgedTasksCell {
    fn explicit(&self) -> bool {
        self.types.iter().any(|t| t.weight.is_some())
    }

    /// The weighted share of positives.
    pub(super) fn truth(&self) -> f64 {
        let weight = |t: &JudgedType| match self.weights {
            _ if self.explicit() => t.mass * t.weight.unwrap_or(1.0),
            CellWeights::Trials => t.mass * f64::from(t.trials.unwrap_or(self.trials)),
            CellWeights::EqualTask | CellWeights::EqualCluster => t.mass,
        };
        let total = sum(self.types.iter().map(weight));
        sum(self.types.iter().map(|t| weight(t) * t.positive)) / total
    }

    pub(super) fn draw(&self, stream: &mut Stream) -> JudgedTasks {
        let (mut data, mut trials) = (JudgedTasks::default(), vec![]);
        let mut clusters = vec![];
        for cluster in 0..self.units {
            let kind = self.pick(stream.unit());
            for _ in 0..self.size {
                clusters.push(cluster);
                data.weights.push(kind.weight.unwrap_or(1.0));
                self.task(kind, stream, &mut data.tasks, &mut trials);
            }
        }
        data.clusters = (self.size > 1).then_some(clusters);
        match self.choice {
            LabelChoice::TaskThenTrial => self.by_task(&trials, &mut data.tasks, stream),
            LabelChoice::LevelPool => self.by_level(trials, &mut data.tasks, stream),
        }
        data
    }

    fn pick(&self, mut u: f64) -> JudgedType {
        let last = self.types.len() - 1;
        for kind in &self.types[..last] {
            if u < kind.mass {
                return *kind;
            }
            u -= kind.mass;
        }
        self.types[last]
    }

    fn task(
        &self,
        kind: JudgedType,
        stream: &mut Stream,
        tasks: &mut Vec<JudgedTask>,
        trials: &mut Vec<Trial>,
    ) {
        let mut levels = vec![0, 0];
        for _ in 0..kind.trials.unwrap_or(self.trials) {
            let human = stream.unit() < kind.positive;
            let right = stream.unit()
                < if human {
                    self.sensitivity
                } else {
                    self.specificity
                };
            let judge = human == right;
            levels[usize::from(judge)] += 1;
            trials.push(Trial {
                task: tasks.len(),
                human,
                judge,
            });
        }
        tasks.push(JudgedTask {
            trials: levels,
            label: None,
        });
    }

    fn by_task(&self, trials: &[Trial], tasks: &mut [JudgedTask], stream: &mut Stream) {
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        stream.shuffle(&mut order);
        for task in order.into_iter().take(self.labels as usize) {
            let first = trials.partition_point(|t| t.task < task);
            let size = tasks[task].trials.iter().sum::<u32>() as usize;
            tasks[task].label = Some(label(trials[first + stream.below(size)]));
        }
    }

    fn by_level(&self, mut trials: Vec<Trial>, tasks: &mut [JudgedTask], stream: &mut Stream) {
        stream.shuffle(&mut trials);
        let half = self.labels / 2;
        // The rarer level chooses first, or its tasks would be used up.
        let positive = trials.iter().filter(|t| t.judge).count();
        let rarer = 2 * positive < trials.len();
        for (level, quota) in [(rarer, half), (!rarer, self.labels - half)] {
            let mut left = quota;
            for trial in trials.iter().filter(|t| t.judge == level) {
                if left > 0 && tasks[trial.task].label.is_none() {
                    tasks[trial.task].label = Some(label(*trial));
                    left -= 1;
                }
            }
        }
    }

    /// The limits of `post_stratified_cp` or `post_stratified_jeffreys`; `None` where there are none.
    pub(super) fn limits(&self, id: &str, data: &JudgedTasks, level: Level) -> Option<Limits> {
        let weights = match self.weights {
            _ if self.explicit() => Weights::Explicit(data.weights.clone()),
            CellWeights::EqualTask => Weights::EqualTask,
            CellWeights::Trials => Weights::Trials,
            CellWeights::EqualCluster => Weights::EqualCluster,
        };
        let design = match self.choice {
            LabelChoice::TaskThenTrial => TaskLabelDesign::TaskThenTrial,
            LabelChoice::LevelPool => TaskLabelDesign::LevelPool,
        };
        let inversion = if id == "post_stratified_jeffreys" {
            Inversion::Jeffreys
        } else {
            Inversion::ClopperPearson
        };
        let clusters = data.clusters.as_deref();
        let got = post_stratified_tasks(&data.tasks, clusters, &weights, design, inversion, level)
            .ok()?;
        // A refusal is no interval here, though the product reports all of [0, 1].
        got.rate.estimate?;
        Some(Limits {
            lower: got.rate.lower?,
            upper: got.rate.upper?,
        })
    }
}

fn label(trial: Trial) -> TaskLabel {
    TaskLabel {
        level: usize::from(trial.judge),
        positive: f64::from(u8::from(trial.human)),
    }
}

/// METHODS 9.2, clustering: tasks that are alike, that differ, and that always or never pass; five
/// trials each, or one for easy and ten for hard tasks.
pub(super) fn grid(choice: LabelChoice) -> Vec<JudgedTasksCell> {
    let mut cells = vec![];
    for (units, labels) in [(60u32, 30u32), (200, 50), (200, 100), (1000, 200)] {
        for (label, types) in shapes() {
            for (sensitivity, specificity) in [(0.95, 0.95), (0.9, 0.7)] {
                let cell = JudgedTasksCell {
                    name: None,
                    units,
                    size: 1,
                    trials: 5,
                    labels,
                    choice,
                    sensitivity,
                    specificity,
                    types: types.clone(),
                    weights: CellWeights::EqualTask,
                };
                cells.push(cell.titled(label));
            }
        }
    }
    cells
}

/// The same with clusters of four tasks, and with weights of the tasks' own that are unrelated to the
/// rate, larger where it is low, and larger where it is high.
pub(super) fn weighted_grid() -> Vec<JudgedTasksCell> {
    let mut cells = vec![];
    for cell in grid(LabelChoice::TaskThenTrial) {
        let clustered = JudgedTasksCell {
            units: cell.units / 4,
            size: 4,
            ..cell.clone()
        };
        cells.push(clustered.renamed("clusters of 4"));
        for (label, factors) in [
            ("unrelated", None),
            ("heavier-where-low", Some((1.0, 3.0))),
            ("heavier-where-high", Some((3.0, 1.0))),
        ] {
            cells.push(cell.weighted(factors).renamed(label));
        }
    }
    cells
}

impl JudgedTasksCell {
    fn titled(self, label: &str) -> Self {
        let name = format!(
            "G={} n={} {:?} {label} Se={} Sp={}",
            self.units * self.size,
            self.labels,
            self.choice,
            self.sensitivity,
            self.specificity
        );
        Self {
            name: Some(name),
            ..self
        }
    }

    fn renamed(self, label: &str) -> Self {
        let name = self.name.clone().map(|name| format!("{name} {label}"));
        Self { name, ..self }
    }

    /// Weights for tasks above and below a rate of one half; or 1 and 3 at random.
    fn weighted(&self, factors: Option<(f64, f64)>) -> Self {
        let weigh = |kind: &JudgedType| -> Vec<JudgedType> {
            let of = |weight: f64, share: f64| JudgedType {
                weight: Some(weight),
                mass: kind.mass * share,
                ..*kind
            };
            match factors {
                Some((high, _)) if kind.positive > 0.5 => vec![of(high, 1.0)],
                Some((_, low)) => vec![of(low, 1.0)],
                None => vec![of(1.0, 0.5), of(3.0, 0.5)],
            }
        };
        Self {
            types: self.types.iter().flat_map(weigh).collect(),
            ..self.clone()
        }
    }
}

fn shapes() -> Vec<(&'static str, Vec<JudgedType>)> {
    let kind = |mass, positive, trials| JudgedType {
        mass,
        positive,
        weight: None,
        trials,
    };
    let plain = |mass, positive| kind(mass, positive, None);
    vec![
        ("alike", vec![plain(1.0, 0.9)]),
        ("two kinds", vec![plain(0.8, 0.95), plain(0.2, 0.3)]),
        ("all or nothing", vec![plain(0.85, 1.0), plain(0.15, 0.0)]),
        (
            "more trials where hard",
            vec![kind(0.8, 0.95, Some(1)), kind(0.2, 0.3, Some(10))],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;

    fn cell(choice: LabelChoice) -> JudgedTasksCell {
        JudgedTasksCell {
            name: None,
            units: 4000,
            size: 1,
            trials: 5,
            labels: 2000,
            choice,
            sensitivity: 0.9,
            specificity: 0.7,
            types: shapes()[1].1.clone(),
            weights: CellWeights::EqualTask,
        }
    }

    #[test]
    fn labels_are_as_many_as_planned_and_at_most_one_per_task() {
        for choice in [LabelChoice::TaskThenTrial, LabelChoice::LevelPool] {
            let data = cell(choice).draw(&mut Seed(3).stream());
            let labelled = data.tasks.iter().filter_map(|t| t.label);
            let labels: Vec<TaskLabel> = labelled.collect();
            assert_eq!(labels.len(), 2000);
            let positive = labels.iter().filter(|l| l.level == 1).count();
            let expected = match choice {
                LabelChoice::LevelPool => 1000,
                // P(judge positive) = .82·.9 + .18·.3.
                LabelChoice::TaskThenTrial => 1584,
            };
            assert!(positive.abs_diff(expected) < 80, "{positive}");
        }
    }

    #[test]
    fn the_judge_errs_as_often_as_it_should() {
        let data = cell(LabelChoice::TaskThenTrial).draw(&mut Seed(4).stream());
        let labels: Vec<TaskLabel> = data.tasks.iter().filter_map(|t| t.label).collect();
        let share = |level: usize, positive: f64| {
            let of = |l: &&TaskLabel| l.positive == positive;
            let all = labels.iter().filter(of).count() as f64;
            labels
                .iter()
                .filter(of)
                .filter(|l| l.level == level)
                .count() as f64
                / all
        };
        assert!((share(1, 1.0) - 0.9).abs() < 0.03 && (share(0, 0.0) - 0.7).abs() < 0.08);
    }

    #[test]
    fn own_weights_move_the_truth() {
        let cell = cell(LabelChoice::TaskThenTrial);
        assert!((cell.truth() - 0.82).abs() < 1e-12);
        let low = cell.weighted(Some((1.0, 3.0)));
        assert!((low.truth() - (0.76 + 0.18) / 1.4).abs() < 1e-12);
        assert!((cell.weighted(None).truth() - 0.82).abs() < 1e-12);
    }
}
