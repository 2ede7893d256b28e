//! People's rate behind the judge's: the correction that the labels at hand allow.

use super::cells::{JudgedTrial, QualityCells};
use super::few;
use crate::base::{Notice, Result};
use crate::estimate::Context;
use crate::model::calibration::ErrorRates;
use crate::model::judged::{Drawn, JudgeColumn, StandingState};
use crate::stats::clustered::{RateEstimate, sen_cp};
use crate::stats::correction::{
    CorrectedRate, Inversion, JudgeLevel, JudgedTask, LevelScale, RectifiedTask, TaskFrame,
    TaskLabel, TaskLabelDesign, Transported, lang_reiczigel_checked, merge_levels,
    post_stratified_tasks, rectified_mean,
};
use crate::stats::sample::{Clustered, TaskScore};
use crate::stats::sum::mean;
use crate::stats::units::Weights;
use crate::stats::{Level, Status};

/// Fewer tasks than this are corrected by the rectifier form (METHODS 9.2).
const FEWEST_TASKS: usize = 50;

/// The notice of a certificate that labels like its own would often refuse: it corrects nothing.
pub(crate) const BORDERLINE: &str = "borderline";

/// Why the mean of scores is unknown: no error rates carry it over from elsewhere.
const NEEDS_LABELS: &str = "no_labels_of_this_run";

/// Why an arm's rate is unknown where the certificate knows the judge's errors by arm, but not on this one.
const NO_LABELS_OF_ARM: &str = "no_labels_of_this_arm";

/// Why a rate is unknown where the certificate holds no error rates at all.
const NO_ERROR_RATES: &str = "no_error_rates";

/// People's rate behind the judge's, in one arm.
///
/// Labels of this run that were drawn at random: post-stratification by the judge's answer, or the
/// rectifier where there are under 50 tasks, several labels per task, or scores. Otherwise, where the
/// certificate holds, its error rates with their refusals; they exist for rates alone, so that the mean of
/// scores is not identified without labels of this run. Where it does not hold, or is borderline, the
/// judge's own value (`not_corrected`), which nobody checked and which decides nothing (METHODS 8).
/// Labels of this run that are fewer than METHODS 8 asks for leave the interval as it is, but nothing is
/// decided by it: `exploratory` with the notice `few_labels`.
///
/// # Errors
///
/// As the statistics; none for cells of a store that is whole.
pub(crate) fn corrected(
    context: &Context,
    arm: usize,
    column: &JudgeColumn,
    cells: &QualityCells,
    tasks: &[usize],
    level: Level,
) -> Result<CorrectedRate> {
    let kept: Vec<usize> = tasks
        .iter()
        .copied()
        .filter(|&t| !cells.judged[t].is_empty())
        .collect();
    let clusters = context.clusters(&kept);
    let clusters = clusters.as_deref();
    if cells.drawn(&kept).next().is_some() {
        return from_labels(context, column, cells, &kept, clusters, level);
    }
    let raw = raw(context, cells, &kept, clusters, level)?;
    let standing = &column.standing[arm];
    if standing.state != StandingState::Valid {
        return Ok(uncorrected(raw, vec![]));
    }
    if !column.is_rate() {
        return Ok(unknown(&raw, NEEDS_LABELS));
    }
    match &standing.error_rates {
        Some(rates) => transported(raw, rates, level),
        None if standing.by_arm => Ok(unknown(&raw, NO_LABELS_OF_ARM)),
        None => Ok(unknown(&raw, NO_ERROR_RATES)),
    }
}

/// The judge's own rate corrected by error rates from elsewhere; as it is where they are borderline.
fn transported(raw: RateEstimate, rates: &ErrorRates, level: Level) -> Result<CorrectedRate> {
    let items = raw.n_eff.unwrap_or(0.0);
    let counts = Transported {
        judge_positive: raw.estimate.unwrap_or(0.0) * items,
        items,
        true_positive: rates.true_positive,
        positives: rates.positives,
        true_negative: rates.true_negative,
        negatives: rates.negatives,
    };
    let found = lang_reiczigel_checked(&counts, level)?.rate;
    let borderline = found.notices.iter().find(|n| n.code == BORDERLINE);
    match borderline.cloned() {
        Some(notice) => Ok(uncorrected(raw, vec![notice])),
        None => Ok(found),
    }
}

/// The judge's own value, said to be that.
fn uncorrected(raw: RateEstimate, mut notices: Vec<Notice>) -> CorrectedRate {
    notices.push(Notice::code("not_corrected"));
    CorrectedRate {
        method: raw.method,
        estimate: raw.estimate,
        lower: raw.lower,
        upper: raw.upper,
        level: raw.level,
        status: raw.status,
        reason: raw.reason,
        notices,
    }
}

/// Nothing is known of what people would say.
fn unknown(raw: &RateEstimate, reason: &'static str) -> CorrectedRate {
    CorrectedRate {
        method: raw.method,
        estimate: None,
        lower: Some(0.0),
        upper: Some(1.0),
        level: raw.level,
        status: Status::NotIdentified,
        reason: Some(reason),
        notices: vec![],
    }
}

/// The judge's own rate.
fn raw(
    context: &Context,
    cells: &QualityCells,
    tasks: &[usize],
    clusters: Option<&[u32]>,
    level: Level,
) -> Result<RateEstimate> {
    let scores: Vec<TaskScore> = tasks
        .iter()
        .map(|&t| TaskScore {
            sum: cells.judged[t].iter().map(|j| j.worth).sum(),
            trials: cells.judged[t].len() as u32,
        })
        .collect();
    Ok(sen_cp(
        &Clustered::new(&scores, clusters, &context.weights)?,
        level,
    ))
}

fn from_labels(
    context: &Context,
    column: &JudgeColumn,
    cells: &QualityCells,
    tasks: &[usize],
    clusters: Option<&[u32]>,
    level: Level,
) -> Result<CorrectedRate> {
    let labelled = |t: usize| cells.judged[t].iter().filter(|j| is_drawn(j)).count();
    let several = tasks.iter().any(|&t| labelled(t) > 1);
    let quota = cells
        .drawn(tasks)
        .any(|(_, drawn)| drawn == Drawn::LevelPool);
    let few = tasks.len() < FEWEST_TASKS;
    if several || !column.is_rate() || (few && !quota) {
        let found = rectified(context, cells, tasks, clusters, level)?;
        return Ok(few::graded(found, few::too_few_in_all(cells, tasks)));
    }
    let design = if quota {
        TaskLabelDesign::LevelPool
    } else {
        TaskLabelDesign::TaskThenTrial
    };
    let groups = groups(column, cells, tasks, design);
    let group_of = |l: u32| {
        groups
            .iter()
            .position(|g| g.contains(&(l as usize)))
            .unwrap_or(0)
    };
    let judged: Vec<JudgedTask> = tasks
        .iter()
        .map(|&t| {
            let mut trials = vec![0; groups.len()];
            cells.judged[t]
                .iter()
                .for_each(|j| trials[group_of(j.level)] += 1);
            let label = cells.judged[t]
                .iter()
                .find(|j| is_drawn(j))
                .map(|j| TaskLabel {
                    level: group_of(j.level),
                    positive: j.label.map_or(0.0, |l| l.0),
                });
            JudgedTask { trials, label }
        })
        .collect();
    let weights = &context.weights;
    let inversion = Inversion::ClopperPearson;
    let found = post_stratified_tasks(&judged, clusters, weights, design, inversion, level)?.rate;
    let missing = few::too_few_in_all(cells, tasks)
        .or_else(|| few::too_few_at_a_level(&judged, &context.planned_weights(tasks)));
    Ok(few::graded(found, missing))
}

pub(super) fn is_drawn(trial: &JudgedTrial) -> bool {
    trial.label.is_some_and(|l| l.1.is_some())
}

/// The judge's levels, merged by counts where there are three or more and labels are a random sample.
fn groups(
    column: &JudgeColumn,
    cells: &QualityCells,
    tasks: &[usize],
    design: TaskLabelDesign,
) -> Vec<Vec<usize>> {
    let levels = column.scale.levels.len();
    let mut counts = vec![
        JudgeLevel {
            judged: 0.0,
            labelled: 0.0,
            positive: 0.0
        };
        levels
    ];
    for trial in tasks.iter().flat_map(|&t| &cells.judged[t]) {
        let count = &mut counts[trial.level as usize];
        count.judged += 1.0;
        count.labelled += f64::from(is_drawn(trial));
    }
    if levels < 3 || design == TaskLabelDesign::LevelPool {
        return (0..levels).map(|l| vec![l]).collect();
    }
    let ordinal = column.scale.kind == crate::model::label::ScaleKind::Ordinal;
    merge_levels(
        &counts,
        if ordinal {
            LevelScale::Ordinal
        } else {
            LevelScale::Nominal
        },
    )
}

fn rectified(
    context: &Context,
    cells: &QualityCells,
    tasks: &[usize],
    clusters: Option<&[u32]>,
    level: Level,
) -> Result<CorrectedRate> {
    let judged: Vec<RectifiedTask> = tasks
        .iter()
        .map(|&t| {
            let errors: Vec<f64> = cells.judged[t]
                .iter()
                .filter(|j| is_drawn(j))
                .filter_map(|j| Some(j.label?.0 - j.worth))
                .collect();
            RectifiedTask {
                judge: cells.mean(t).unwrap_or(0.0),
                error: mean(&errors),
            }
        })
        .collect();
    // Values are means of tasks, for which weights by trials are their numbers of judged trials.
    let weights = match &context.weights {
        Weights::Trials => Weights::Explicit(
            tasks
                .iter()
                .map(|&t| cells.judged[t].len() as f64)
                .collect(),
        ),
        other => other.clone(),
    };
    rectified_mean(
        &judged,
        &TaskFrame {
            clusters,
            weights: &weights,
        },
        level,
    )
}
