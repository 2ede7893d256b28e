//! Mean judge plus rectifier: graded scores, and suites under 50 tasks.

use super::CorrectedRate;
use super::units_mean::{TaskFrame, UnitsMean, square_and_add};
use crate::base::{Error, Result};
use crate::stats::{Level, Status};

/// One task as the judge and people saw it, in scores rescaled to \[0, 1\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RectifiedTask {
    /// Mean of the judge's scores over all trials.
    pub judge: f64,
    /// Mean of human − judge over the labelled trials, if any.
    pub error: Option<f64>,
}

/// Mean judge plus mean rectifier, for graded human scores and for suites under 50 tasks with several
/// labels per task; method id `rectified_mean`.
///
/// p̂ = J̄ + ē, with J̄ over all tasks and ē over the labelled ones; the limits of ē are those of 6.2
/// (BP-Hall), and the sampling of tasks is added in squares. Labelled tasks are a random sample of the
/// tasks, and labelled trials of each task's trials. Minimum coverage .942.
///
/// With fewer than two labelled units, or two units, there is no interval; under ten labelled units it
/// is `exploratory`.
///
/// # Errors
///
/// If a score is outside \[0, 1\] or an error outside \[−1, 1\], or as
/// [`crate::stats::units::Units::new`].
///
/// Source: METHODS 9.2, after Angelopoulos et al. 2023 and Zou, Huang & Zhang 2009.
pub fn rectified_mean(
    tasks: &[RectifiedTask],
    frame: &TaskFrame,
    level: Level,
) -> Result<CorrectedRate> {
    const METHOD: &str = "rectified_mean";
    for (index, task) in tasks.iter().enumerate() {
        let error = task.error.unwrap_or(0.0);
        if !((0.0..=1.0).contains(&task.judge) && (-1.0..=1.0).contains(&error)) {
            let message = format!("task {index} (from 0): judge {}, error {error}", task.judge);
            return Err(Error::input(message).hint("rescale scores to [0, 1] first"));
        }
    }
    let judge: Vec<Option<f64>> = tasks.iter().map(|t| Some(t.judge)).collect();
    let errors: Vec<Option<f64>> = tasks.iter().map(|t| t.error).collect();
    let Some(judge) = UnitsMean::of(&judge, frame)? else {
        return Ok(CorrectedRate::not_identified(
            METHOD,
            "no_valid_trials",
            level,
        ));
    };
    let Some(errors) = UnitsMean::of(&errors, frame)? else {
        return Ok(CorrectedRate::not_identified(
            METHOD,
            "too_few_labels",
            level,
        ));
    };
    let raw = judge.value + errors.value;
    let half = level.z() * judge.variance().sqrt();
    let limits = errors.limits(level);
    let limits = limits.map(|limits| square_and_add(raw, errors.value, limits, half));
    let enough = !judge.units.too_few() && !errors.units.too_few();
    let Some(limits) = limits.filter(|_| enough) else {
        let limits = crate::stats::Limits {
            lower: 0.0,
            upper: 1.0,
        };
        let rate = CorrectedRate::new(METHOD, raw, limits, level);
        return Ok(rate.without_limits("too_few_units"));
    };
    let mut rate = CorrectedRate::new(METHOD, raw, limits, level);
    if errors.units.len() < FEWEST_LABELLED || errors.units.few_and_unequal() {
        rate = rate.at_most(Status::Exploratory);
    }
    Ok(rate)
}

/// Fewer labelled units than this only explore.
pub(super) const FEWEST_LABELLED: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::units::Weights;

    const FRAME: TaskFrame = TaskFrame {
        clusters: None,
        weights: &Weights::EqualTask,
    };

    fn tasks(n: u32) -> Vec<RectifiedTask> {
        let task = |i: u32| RectifiedTask {
            judge: f64::from(i % 5) / 4.0,
            error: i.is_multiple_of(2).then(|| f64::from(i % 3) / 10.0 - 0.1),
        };
        (0..n).map(task).collect()
    }

    #[test]
    fn the_estimate_is_judge_plus_error() {
        let rate = rectified_mean(&tasks(30), &FRAME, Level::p95()).unwrap();
        assert!((rate.estimate.unwrap() - 0.5).abs() < 1e-12);
        assert!(rate.lower.unwrap() < 0.5 && rate.upper.unwrap() > 0.5);
        assert_eq!(rate.status, Status::Ok);
    }

    #[test]
    fn too_little_is_said() {
        let few = rectified_mean(&tasks(12), &FRAME, Level::p95()).unwrap();
        assert_eq!(few.status, Status::Exploratory);
        let none = [RectifiedTask {
            judge: 0.5,
            error: None,
        }; 9];
        let none = rectified_mean(&none, &FRAME, Level::p95()).unwrap();
        assert_eq!((none.estimate, none.reason), (None, Some("too_few_labels")));
        let one = rectified_mean(&tasks(2), &FRAME, Level::p95()).unwrap();
        assert_eq!((one.lower, one.reason), (None, Some("too_few_units")));
        assert!(
            rectified_mean(
                &[RectifiedTask {
                    judge: 5.0,
                    error: None
                }],
                &FRAME,
                Level::p95()
            )
            .is_err()
        );
    }

    #[test]
    fn perfect_scores_still_have_width() {
        let perfect = [RectifiedTask {
            judge: 1.0,
            error: Some(0.0),
        }; 40];
        let rate = rectified_mean(&perfect, &FRAME, Level::p95()).unwrap();
        assert_eq!((rate.estimate, rate.upper), (Some(1.0), Some(1.0)));
        assert!(rate.lower.unwrap() < 0.96);
    }

    #[test]
    fn clusters_count_once() {
        let alone = rectified_mean(&tasks(60), &FRAME, Level::p95()).unwrap();
        let twice: Vec<RectifiedTask> = tasks(60).iter().flat_map(|t| [*t, *t]).collect();
        let clusters: Vec<u32> = (0..120).map(|i| i / 2).collect();
        let frame = TaskFrame {
            clusters: Some(&clusters),
            ..FRAME
        };
        let twice = rectified_mean(&twice, &frame, Level::p95()).unwrap();
        assert!((alone.lower.unwrap() - twice.lower.unwrap()).abs() < 1e-12);
    }
}
