//! Post-stratification where tasks have several trials.

use super::post_stratified::{Stratum, combine};
use super::{CorrectedRate, Inversion, StratifiedRate};
use crate::base::{Error, Notice, Result};
use crate::stats::sum::sum;
use crate::stats::units::{Units, Weights};
use crate::stats::{Level, Status};

/// A human label of one trial of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskLabel {
    /// The judge's level of the labelled trial.
    pub level: usize,
    /// 1 for positive, 0 for negative, a share for a soft label.
    pub positive: f64,
}

/// One task: how many of its trials the judge put at each level, and the label of one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedTask {
    /// Trials per level of the judge's answer.
    pub trials: Vec<u32>,
    /// The label, if the task was chosen.
    pub label: Option<TaskLabel>,
}

/// How the labelled trials were drawn; at most one per task in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskLabelDesign {
    /// Tasks at random, then one trial at random in each, whatever the judge said.
    TaskThenTrial,
    /// Quotas by judge level: trials at random from the level's pool, skipping used tasks. Allowed
    /// while at most half of the tasks are labelled.
    LevelPool,
}

/// Post-stratification by judge label over tasks, method ids as [`super::post_stratified`].
///
/// Every trial carries w_i/m_i in the share of its level. A label stands for the trials it was drawn
/// from: w_i where the task was chosen first, w_i/m_i where the trial was drawn from a pool; with equal
/// numbers of trials these are the same. The number of labels of a level is Kish's, over clusters
/// where clusters are given, or q(1 − q)/v with v the linearised variance of the weighted share q, if
/// that is smaller: Kish's holds for weights that are unrelated to the labels, and alone covers .90
/// where negative tasks weigh three times as much. With equal weights both are n. V is the variance over units of Σ_k q_k·share_ik: three labels per task
/// treated as independent would cover .75.
///
/// Under 50 units the result is `exploratory`: use [`super::rectified_mean`].
///
/// Unreliable under quotas that use up a level: trials of tasks that were labelled before are skipped,
/// so tasks with many trials at the level enter less often than their trials say. With at most half of
/// the tasks labelled but half of a level's tasks used, tasks that always or never pass cover .81 (200
/// tasks, 50 labels per level), and .62 where hard tasks have more trials too. Labels on more than a
/// quarter of the tasks that have a trial at their level are therefore `exploratory`; choosing tasks
/// first has no such limit (≥ .95).
///
/// # Errors
///
/// If tasks differ in their number of levels, a label's level has no trial of its task, a label is not
/// in \[0, 1\], or as [`Units::new`].
///
/// Source: METHODS 9.2, after Cochran 1977; Kish 1965.
pub fn post_stratified_tasks(
    tasks: &[JudgedTask],
    clusters: Option<&[u32]>,
    weights: &Weights,
    design: TaskLabelDesign,
    inversion: Inversion,
    level: Level,
) -> Result<StratifiedRate> {
    let levels = tasks.first().map_or(0, |task| task.trials.len());
    tasks
        .iter()
        .enumerate()
        .try_for_each(|(index, task)| task.check(index, levels))?;
    let sizes: Vec<u32> = tasks.iter().map(|task| task.trials.iter().sum()).collect();
    let units = Units::new(&sizes, clusters, weights)?;
    let kept: Vec<&JudgedTask> = units.kept.iter().map(|&i| &tasks[i]).collect();
    let method = inversion.method();
    let labelled = kept.iter().filter(|task| task.label.is_some()).count();
    if design == TaskLabelDesign::LevelPool && 2 * labelled > kept.len() {
        let reason = "quota_over_half_of_tasks";
        let rate = CorrectedRate::not_identified(method, reason, level);
        return Ok(StratifiedRate {
            rate,
            unlabelled_weight: 0.0,
        });
    }
    let strata: Vec<Stratum> = (0..levels)
        .map(|k| stratum(&kept, &units, design, k))
        .collect();
    let expected = |task: usize| {
        let strata = strata.iter().enumerate();
        strata
            .map(|(k, s)| s.in_use() * kept[task].share(k))
            .sum::<f64>()
    };
    let over_tasks = |_: f64| mean_variance(&units, expected);
    let mut result = combine(method, strata.iter().copied(), inversion, level, over_tasks);
    result.rate = graded(result.rate, &units);
    let used_up = (0..levels).find(|&k| uses_up(&kept, k));
    if let Some(k) = used_up.filter(|_| design == TaskLabelDesign::LevelPool) {
        result.rate = exploring(result.rate, k);
    }
    Ok(result)
}

/// Whether labels are on more than a quarter of the tasks that have a trial at a level.
fn uses_up(tasks: &[&JudgedTask], k: usize) -> bool {
    let labelled = |task: &&&JudgedTask| task.label.is_some_and(|label| label.level == k);
    let present = tasks.iter().filter(|task| task.trials[k] > 0).count();
    4 * tasks.iter().filter(labelled).count() > present
}

fn exploring(rate: CorrectedRate, k: usize) -> CorrectedRate {
    if rate.estimate.is_none() {
        return rate;
    }
    let detail = format!("more than a quarter of the tasks with a trial at level {k} (from 0)");
    rate.at_most(Status::Exploratory)
        .noticing(Notice::with("quota_uses_up_level", detail))
}

/// Σ_u(Σ_{i∈u} w_i(z_i − z̄))²·U/(U − 1); s²/G for tasks of equal weight.
pub(super) fn mean_variance(units: &Units, value: impl Fn(usize) -> f64) -> f64 {
    let centre = sum(units.weights.iter().enumerate().map(|(i, w)| w * value(i)));
    let sums = units.sums(|i| units.weights[i] * (value(i) - centre));
    let count = units.len() as f64;
    sum(sums.map(|e| e * e)) * count / (count - 1.0).max(1.0)
}

/// Fewer effective units than this call for the rectifier form.
const FEWEST_UNITS: f64 = 50.0;

fn graded(rate: CorrectedRate, units: &Units) -> CorrectedRate {
    if rate.estimate.is_none() {
        return rate;
    }
    if units.too_few() {
        return rate.without_limits("too_few_units");
    }
    if units.n_c + 1e-9 < FEWEST_UNITS {
        let detail = format!(
            "{:.1} effective units; labels of several trials per task say more",
            units.n_c
        );
        return rate
            .at_most(Status::Exploratory)
            .noticing(Notice::with("few_tasks", detail));
    }
    rate
}

/// Weight, share of positives and effective number of labels of one level.
fn stratum(tasks: &[&JudgedTask], units: &Units, design: TaskLabelDesign, k: usize) -> Stratum {
    let weight = sum(tasks
        .iter()
        .zip(&units.weights)
        .map(|(task, w)| w * task.share(k)));
    let carried = |i: usize| match tasks[i].label {
        Some(label) if label.level == k => {
            let trials = match design {
                TaskLabelDesign::TaskThenTrial => 1.0,
                TaskLabelDesign::LevelPool => f64::from(tasks[i].size()),
            };
            (units.weights[i] / trials, label.positive)
        }
        _ => (0.0, 0.0),
    };
    let total = sum((0..tasks.len()).map(|i| carried(i).0));
    let positive = sum((0..tasks.len()).map(|i| carried(i).0 * carried(i).1));
    if total <= 0.0 {
        return Stratum {
            weight,
            labels: 0.0,
            share: None,
        };
    }
    let share = (positive / total).clamp(0.0, 1.0);
    let squares = |value: &dyn Fn(usize) -> f64| sum(units.sums(value).map(|c| c * c));
    let kish = total * total / squares(&|i| carried(i).0);
    let error = squares(&|i| carried(i).0 * (carried(i).1 - share));
    let linear = share * (1.0 - share) * total * total / error;
    Stratum {
        weight,
        // Without any spread of labels nothing can be said of it.
        labels: if error > 0.0 && share > 0.0 && share < 1.0 {
            kish.min(linear)
        } else {
            kish
        },
        share: Some(share),
    }
}

impl JudgedTask {
    fn size(&self) -> u32 {
        self.trials.iter().sum()
    }

    /// The share of the task's trials at a level; 0 without trials.
    fn share(&self, k: usize) -> f64 {
        f64::from(self.trials[k]) / f64::from(self.size().max(1))
    }

    fn check(&self, index: usize, levels: usize) -> Result<()> {
        let wrong = |what: &str| Err(Error::input(format!("task {index} (from 0): {what}")));
        if self.trials.len() != levels {
            return wrong("another number of judge levels than the first task");
        }
        let Some(label) = self.label else {
            return Ok(());
        };
        if self
            .trials
            .get(label.level)
            .is_none_or(|&trials| trials == 0)
        {
            return wrong("a label at a level without trials");
        }
        if !(0.0..=1.0).contains(&label.positive) {
            return wrong("a label outside 0 to 1");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::correction::{JudgeLevel, post_stratified};

    fn task(trials: [u32; 2], label: Option<(usize, f64)>) -> JudgedTask {
        let label = label.map(|(level, positive)| TaskLabel { level, positive });
        JudgedTask {
            trials: trials.to_vec(),
            label,
        }
    }

    fn run(
        tasks: &[JudgedTask],
        clusters: Option<&[u32]>,
        design: TaskLabelDesign,
    ) -> StratifiedRate {
        let inversion = Inversion::ClopperPearson;
        post_stratified_tasks(
            tasks,
            clusters,
            &Weights::EqualTask,
            design,
            inversion,
            Level::p95(),
        )
        .unwrap()
    }

    fn single_trials() -> Vec<JudgedTask> {
        (0..120u32)
            .map(|i| {
                let level = usize::from(i % 3 > 0);
                let label = (i % 2 == 0).then(|| (level, f64::from(u8::from(i % 12 < 9))));
                task(if level == 1 { [0, 1] } else { [1, 0] }, label)
            })
            .collect()
    }

    #[test]
    fn single_trials_are_the_plain_formula() {
        let tasks = single_trials();
        let clustered = run(&tasks, None, TaskLabelDesign::TaskThenTrial);
        let count = |k: usize, what: &dyn Fn(&JudgedTask) -> f64| {
            tasks
                .iter()
                .filter(|t| t.trials[k] == 1)
                .map(what)
                .sum::<f64>()
        };
        let level = |k| JudgeLevel {
            judged: count(k, &|_| 1.0),
            labelled: count(k, &|t| f64::from(u8::from(t.label.is_some()))),
            positive: count(k, &|t| t.label.map_or(0.0, |l| l.positive)),
        };
        let plain = post_stratified(
            &[level(0), level(1)],
            Inversion::ClopperPearson,
            Level::p95(),
        )
        .unwrap();
        assert!((clustered.rate.estimate.unwrap() - plain.rate.estimate.unwrap()).abs() < 1e-12);
        // The sample variance over tasks has divisor G − 1, the plain formula G.
        assert!((clustered.rate.lower.unwrap() - plain.rate.lower.unwrap()).abs() < 1e-3);
        assert!(clustered.rate.lower < plain.rate.lower && clustered.rate.upper > plain.rate.upper);
    }

    #[test]
    fn both_designs_agree_for_equal_numbers_of_trials() {
        let tasks = single_trials();
        let first = run(&tasks, None, TaskLabelDesign::TaskThenTrial).rate;
        let second = run(&tasks, None, TaskLabelDesign::LevelPool).rate;
        let numbers = |rate: &CorrectedRate| (rate.estimate, rate.lower, rate.upper);
        assert_eq!(numbers(&first), numbers(&second));
    }

    /// Labels that weigh more where they are negative carry less than Kish's number says.
    #[test]
    fn weights_that_follow_the_label_leave_fewer_labels() {
        let width = |heavy: f64| {
            let tasks: Vec<JudgedTask> = (0..100u32)
                .map(|i| task([0, 1], Some((1, f64::from(u8::from(i % 5 > 0))))))
                .collect();
            // Every fifth task weighs 3: the negative ones, or as many others.
            let weights = (0..100u32).map(|i| if f64::from(i % 5) == heavy { 3.0 } else { 1.0 });
            let weights = Weights::Explicit(weights.collect());
            let design = TaskLabelDesign::TaskThenTrial;
            let inversion = Inversion::ClopperPearson;
            let got =
                post_stratified_tasks(&tasks, None, &weights, design, inversion, Level::p95());
            let rate = got.unwrap().rate;
            let share = rate.estimate.unwrap();
            (rate.upper.unwrap() - rate.lower.unwrap()) / (share * (1.0 - share)).sqrt()
        };
        let (negative, positive) = (width(0.0), width(1.0));
        // q = 4/7: v = (80·(3/7)² + 20·9·(4/7)²)/140² against q(1 − q)/n with n = 140²/260.
        let expected = ((80.0 * 9.0 + 180.0 * 16.0) / 49.0 / (12.0 / 49.0) / 260.0f64).sqrt();
        assert!(
            (negative / positive / expected - 1.0).abs() < 0.05,
            "{negative} {positive}"
        );
    }

    #[test]
    fn a_quota_that_uses_up_a_level_only_explores() {
        // Eighty tasks with a trial at both levels; labels are at the lower one.
        let labelled = |count: u32| -> Vec<JudgedTask> {
            (0..80u32)
                .map(|i| task([1, 1], (i < count).then_some((0, f64::from(i % 2)))))
                .collect()
        };
        let status = |count, design| run(&labelled(count), None, design).rate;
        let within = status(20, TaskLabelDesign::LevelPool);
        let beyond = status(21, TaskLabelDesign::LevelPool);
        assert!(within.status > Status::Exploratory, "{within:?}");
        assert_eq!(beyond.status, Status::Exploratory);
        assert!(
            beyond
                .notices
                .iter()
                .any(|n| n.code == "quota_uses_up_level")
        );
        let by_task = status(21, TaskLabelDesign::TaskThenTrial);
        assert_eq!(by_task.status, within.status);
    }

    #[test]
    fn clusters_of_equal_tasks_widen() {
        let tasks = single_trials();
        let clusters: Vec<u32> = (0..120).map(|i| i / 2).collect();
        let alone = run(&tasks, None, TaskLabelDesign::TaskThenTrial).rate;
        let paired = run(&tasks, Some(&clusters), TaskLabelDesign::TaskThenTrial).rate;
        assert_eq!(alone.estimate, paired.estimate);
        let doubled: Vec<JudgedTask> = tasks.iter().flat_map(|t| [t.clone(), t.clone()]).collect();
        let clusters: Vec<u32> = (0..240).map(|i| i / 2).collect();
        let doubled = run(&doubled, Some(&clusters), TaskLabelDesign::TaskThenTrial).rate;
        assert!((doubled.lower.unwrap() - alone.lower.unwrap()).abs() < 1e-9);
    }

    #[test]
    fn a_quota_over_half_of_the_tasks_is_refused() {
        let tasks: Vec<JudgedTask> = (0..60).map(|_| task([1, 2], Some((1, 1.0)))).collect();
        let refused = run(&tasks, None, TaskLabelDesign::LevelPool).rate;
        assert_eq!(
            (refused.estimate, refused.reason),
            (None, Some("quota_over_half_of_tasks"))
        );
        assert!(
            run(&tasks, None, TaskLabelDesign::TaskThenTrial)
                .rate
                .estimate
                .is_some()
        );
    }

    #[test]
    fn few_tasks_only_explore() {
        let tasks: Vec<JudgedTask> = (0..30u32)
            .map(|i| task([i % 2, 2], Some((1, 1.0))))
            .collect();
        let few = run(&tasks, None, TaskLabelDesign::TaskThenTrial).rate;
        assert_eq!(few.status, Status::Exploratory);
        let many: Vec<JudgedTask> = tasks.iter().cycle().take(60).cloned().collect();
        let graded = |weights: &Weights| {
            post_stratified_tasks(
                &many,
                None,
                weights,
                TaskLabelDesign::TaskThenTrial,
                Inversion::Jeffreys,
                Level::p95(),
            )
            .unwrap()
            .rate
            .status
        };
        assert_ne!(graded(&Weights::EqualTask), Status::Exploratory);
        let mut one_large = vec![1.0; 60];
        one_large[0] = 30.0;
        // Sixty tasks of which one counts for half are worth few.
        assert_eq!(graded(&Weights::Explicit(one_large)), Status::Exploratory);
        let one = run(&tasks[..1], None, TaskLabelDesign::TaskThenTrial).rate;
        assert_eq!((one.status, one.lower), (Status::NotEstimable, None));
    }

    #[test]
    fn impossible_labels_are_refused() {
        let bad = [
            task([2, 0], Some((1, 1.0))),
            task([2, 0], Some((0, 1.5))),
            task([2, 0], Some((2, 1.0))),
        ];
        for bad in bad {
            let result = post_stratified_tasks(
                std::slice::from_ref(&bad),
                None,
                &Weights::EqualTask,
                TaskLabelDesign::TaskThenTrial,
                Inversion::Jeffreys,
                Level::p95(),
            );
            assert!(result.is_err(), "{bad:?}");
        }
    }
}
