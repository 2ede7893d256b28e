//! Quality as judges see it, corrected for their errors (METHODS 9).

use super::segments::Segment;
use super::table::{Context, quality_row};
use crate::base::Result;
use crate::model::estimate::{EstimateRow, EstimateStatus};
use crate::model::judged::{Drawn, JudgeCell, JudgeColumn};
use crate::model::score::{RowState, ScoreTable};
use crate::stats::clustered::sen_cp;
use crate::stats::correction::{
    CorrectedRate, Inversion, JudgeLevel, JudgedTask, LevelScale, RectifiedTask, TaskFrame,
    TaskLabel, TaskLabelDesign, Transported, lang_reiczigel_checked, merge_levels,
    post_stratified_tasks, rectified_mean,
};
use crate::stats::sample::{Clustered, TaskScore};
use crate::stats::sum::mean;
use crate::stats::tolerance::above;
use crate::stats::units::Weights;
use crate::stats::{Level, Status};

/// Fewer tasks than this are corrected by the rectifier form (METHODS 9.2).
const FEWEST_TASKS: usize = 50;

/// More missing verdicts than this leave nothing to decide (METHODS 6.4).
const MOST_MISSING: f64 = 0.10;

/// What a judge and people said about one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedTrial {
    /// Trial number.
    pub index: u32,
    /// Level of the verdict.
    pub level: u32,
    /// What the verdict is worth, from 0 to 1.
    pub worth: f64,
    /// What people's label is worth, if there is one, and how the trial was drawn.
    pub label: Option<(f64, Option<Drawn>)>,
}

/// One arm's judged trials by task; every vector has one entry per task of the score table.
#[derive(Clone, Debug, PartialEq)]
pub struct QualityCells {
    /// Trials with a usable verdict.
    pub judged: Vec<Vec<JudgedTrial>>,
    /// Trials that were started and have none.
    pub missing: Vec<u32>,
    /// Trials that were started.
    pub started: Vec<u32>,
    /// Planned trials.
    pub planned: Vec<u32>,
}

impl QualityCells {
    /// Gathers one arm's cells of a judge.
    pub fn gather(table: &ScoreTable, arm: usize, column: &JudgeColumn) -> Self {
        let tasks = table.tasks.len();
        let mut cells = Self {
            judged: vec![vec![]; tasks],
            missing: vec![0; tasks],
            started: vec![0; tasks],
            planned: vec![0; tasks],
        };
        for row in (0..table.len()).filter(|&row| usize::from(table.arm[row]) == arm) {
            let task = table.task[row] as usize;
            cells.planned[task] += 1;
            if table.state[row] == RowState::NotStarted {
                continue;
            }
            cells.started[task] += 1;
            let usable = match (table.state[row], column.cell[row]) {
                (RowState::Valid, JudgeCell::Level(level)) => {
                    column.worth(level).map(|worth| (level, worth))
                }
                _ => None,
            };
            match usable {
                Some((level, worth)) => cells.judged[task].push(JudgedTrial {
                    index: table.index[row],
                    level,
                    worth,
                    label: column.label[row].as_ref().map(|l| (l.worth, l.drawn)),
                }),
                None => cells.missing[task] += 1,
            }
        }
        cells
    }

    /// Missing over planned trials of some tasks, those that never started left out.
    pub fn missing_rate(&self, tasks: &[usize]) -> f64 {
        let total = |of: &[u32]| tasks.iter().map(|&t| f64::from(of[t])).sum::<f64>();
        let planned = total(&self.planned);
        if planned > 0.0 {
            total(&self.missing) / planned
        } else {
            0.0
        }
    }

    /// Judged trials of some tasks.
    pub fn trials(&self, tasks: &[usize]) -> u64 {
        tasks.iter().map(|&t| self.judged[t].len() as u64).sum()
    }

    /// Mean worth of a task's verdicts.
    pub fn mean(&self, task: usize) -> Option<f64> {
        mean(
            &self.judged[task]
                .iter()
                .map(|t| t.worth)
                .collect::<Vec<f64>>(),
        )
    }

    /// Labelled trials that were drawn in a known way.
    fn drawn<'a>(&'a self, tasks: &'a [usize]) -> impl Iterator<Item = (&'a JudgedTrial, Drawn)> {
        tasks
            .iter()
            .flat_map(|&t| &self.judged[t])
            .filter_map(|t| Some((t, t.label?.1?)))
    }
}

/// All rows of quality: one per judge, arm and segment; a row without a judge says so.
pub(super) fn quality(
    table: &ScoreTable,
    context: &Context,
    segments: &[Segment],
) -> Result<Vec<EstimateRow>> {
    let whole = Segment {
        name: None,
        tasks: vec![],
    };
    let mut rows = vec![];
    for arm in 0..table.arms.len() {
        if table.judges.is_empty() {
            let why = match table.preferences.is_empty() {
                true => "no_judge",
                false => "only_pairs_judged",
            };
            rows.push(not_measured(context, arm, "quality.rate", &whole, why));
        }
        for column in &table.judges {
            let cells = QualityCells::gather(table, arm, column);
            let metric = column.metric();
            if cells.judged.iter().all(Vec::is_empty) {
                let why = if column.worth(0).is_none() {
                    "no_good_level"
                } else {
                    "no_usable_verdict"
                };
                rows.push(not_measured(context, arm, &metric, &whole, why));
                continue;
            }
            for segment in segments {
                rows.push(row(context, arm, column, &cells, segment)?);
            }
        }
    }
    Ok(rows)
}

fn not_measured(
    context: &Context,
    arm: usize,
    metric: &str,
    segment: &Segment,
    why: &str,
) -> EstimateRow {
    EstimateRow {
        status: EstimateStatus::NotMeasured,
        reason: Some(why.to_owned()),
        ..quality_row(context, arm, metric, segment)
    }
}

fn row(
    context: &Context,
    arm: usize,
    column: &JudgeColumn,
    cells: &QualityCells,
    segment: &Segment,
) -> Result<EstimateRow> {
    let found = corrected(context, arm, column, cells, &segment.tasks, context.level)?;
    let standing = &column.standing[arm];
    let mut row = quality_row(context, arm, &column.metric(), segment);
    (row.value, row.low, row.high) = (found.estimate, found.lower, found.upper);
    row.method = Some(found.method.to_owned());
    let judged = |t: &&usize| !cells.judged[**t].is_empty();
    row.tasks = segment.tasks.iter().filter(judged).count() as u64;
    row.trials = cells.trials(&segment.tasks);
    row.status = super::status(found.status);
    row.reason = found.reason.map(str::to_owned);
    row.calibration = standing.certificate.clone();
    row.notices = found.notices.iter().map(|n| n.code.clone()).collect();
    if !column.is_rate() {
        row.notices.push("rescaled_to_unit".to_owned());
    }
    // Step order of METHODS 6.4: what is missing, what is not identified, then the certificate.
    if let Some(why) = standing
        .state
        .objection()
        .filter(|_| found.status > Status::NotIdentified)
    {
        row.status = EstimateStatus::Uncalibrated;
        row.reason = Some(why.to_owned());
    }
    if above(cells.missing_rate(&segment.tasks), MOST_MISSING) {
        row.status = EstimateStatus::NotDecidable;
        row.reason = Some("missing_high".to_owned());
    }
    Ok(row)
}

/// People's rate behind the judge's, in one arm.
///
/// Labels of this run that were drawn at random: post-stratification by the judge's answer, or the
/// rectifier where there are under 50 tasks, several labels per task, or scores. Otherwise the
/// certificate's error rates, with their refusals. Otherwise the judge's own rate, which nobody checked.
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
    match &column.standing[arm].error_rates {
        Some(rates) if column.is_rate() => {
            let items = raw.n_eff.unwrap_or(0.0);
            let counts = Transported {
                judge_positive: raw.estimate.unwrap_or(0.0) * items,
                items,
                true_positive: rates.true_positive,
                positives: rates.positives,
                true_negative: rates.true_negative,
                negatives: rates.negatives,
            };
            Ok(lang_reiczigel_checked(&counts, level)?.rate)
        }
        _ => Ok(CorrectedRate {
            method: raw.method,
            estimate: raw.estimate,
            lower: raw.lower,
            upper: raw.upper,
            level: raw.level,
            status: raw.status,
            reason: raw.reason,
            notices: vec![crate::base::Notice::code("not_corrected")],
        }),
    }
}

/// The judge's own rate.
fn raw(
    context: &Context,
    cells: &QualityCells,
    tasks: &[usize],
    clusters: Option<&[u32]>,
    level: Level,
) -> Result<crate::stats::clustered::RateEstimate> {
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
        return rectified(context, cells, tasks, clusters, level);
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
    Ok(post_stratified_tasks(&judged, clusters, weights, design, inversion, level)?.rate)
}

fn is_drawn(trial: &JudgedTrial) -> bool {
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
