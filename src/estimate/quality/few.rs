//! How many labels of this run a decision needs (METHODS 8).
//!
//! Fewer than 50 labelled trials, or fewer than 10 at an answer of the judge that more than 2 % of the
//! judged trials have, give an honest interval, but one on which no gate should rest: the correction then
//! hangs on a handful of labels, each of which may be a slip of a person. Such an estimate is
//! `exploratory`, and no rule passes or fails on it. An answer of lesser weight moves the rate by less
//! than that weight; 9.2 bounds the same weight where it has no label at all.

use super::cells::QualityCells;
use crate::base::Notice;
use crate::stats::Status;
use crate::stats::correction::{CorrectedRate, JudgedTask};
use crate::stats::tolerance::above;

/// Labelled trials in the arms concerned that a decision needs; both arms together for a difference.
pub(crate) const FEWEST_LABELLED_TRIALS: usize = 50;

/// Labels at each answer of the judge that a decision needs.
const FEWEST_AT_A_LEVEL: usize = 10;

/// The share of an answer up to which it may have fewer labels.
const NEGLIGIBLE: f64 = 0.02;

/// What is missing where fewer trials are labelled than a decision needs.
pub(super) fn too_few_in_all(cells: &QualityCells, tasks: &[usize]) -> Option<String> {
    let labelled = cells.drawn(tasks).count();
    (labelled < FEWEST_LABELLED_TRIALS)
        .then(|| format!("{labelled} of {FEWEST_LABELLED_TRIALS} labelled trials"))
}

/// What is missing where an answer of the judge that is not rare has fewer labels than a decision needs;
/// one weight per task.
pub(super) fn too_few_at_a_level(tasks: &[JudgedTask], weights: &[f64]) -> Option<String> {
    let levels = tasks.first().map_or(0, |task| task.trials.len());
    let total: f64 = weights.iter().sum();
    (0..levels).find_map(|level| {
        let share = |task: &JudgedTask| {
            let all: u32 = task.trials.iter().sum();
            f64::from(task.trials[level]) / f64::from(all.max(1))
        };
        let of_tasks = tasks.iter().zip(weights);
        let weight: f64 = of_tasks.map(|(task, w)| w * share(task)).sum();
        let at_it = |task: &&JudgedTask| task.label.is_some_and(|label| label.level == level);
        let labelled = tasks.iter().filter(at_it).count();
        let too_few = above(weight, NEGLIGIBLE * total) && labelled < FEWEST_AT_A_LEVEL;
        too_few.then(|| {
            format!(
                "{labelled} of {FEWEST_AT_A_LEVEL} labels at answer {level} (from 0) of the judge"
            )
        })
    })
}

/// The estimate as it is, exploratory where labels are missing.
pub(super) fn graded(mut found: CorrectedRate, missing: Option<String>) -> CorrectedRate {
    if let Some(missing) = missing.filter(|_| found.estimate.is_some()) {
        found.status = found.status.min(Status::Exploratory);
        found.notices.push(Notice::with("few_labels", missing));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::correction::TaskLabel;

    /// 100 tasks of one trial; `bad` of them at level 0, of which `labelled` have a label; all the others
    /// have one.
    fn missing(bad: usize, labelled: usize) -> Option<String> {
        let tasks: Vec<JudgedTask> = (0..100)
            .map(|i| {
                let level = usize::from(i >= bad);
                let label = (i >= bad || i < labelled).then_some(TaskLabel {
                    level,
                    positive: 1.0,
                });
                let trials = if level == 0 { vec![1, 0] } else { vec![0, 1] };
                JudgedTask { trials, label }
            })
            .collect();
        too_few_at_a_level(&tasks, &[0.01; 100])
    }

    #[test]
    fn an_answer_needs_ten_labels_unless_it_is_rare() {
        assert_eq!(missing(20, 10), None);
        assert!(missing(20, 9).unwrap().starts_with("9 of 10 labels"));
        assert_eq!(missing(2, 0), None);
        assert!(missing(3, 0).is_some());
    }
}
