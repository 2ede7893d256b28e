//! Drawing one data set of a design.

use super::agreement::Ratings;
use super::cell::{AmountCell, Cell, Point, ScoreCell, Types};
use super::judged::JudgedData;
use super::judged_tasks::JudgedTasks;
use super::times::TimesData;
use crate::base::seed::Stream;
use crate::stats::correction::{JudgeLevel, PairedTask};
use crate::stats::count::UnitCount;
use crate::stats::recovery::FaultTask;
use crate::stats::sample::TaskScore;
use crate::stats::special::{beta_quantile, binomial_pmf};

/// One simulated data set.
#[derive(Default)]
pub(super) struct Data {
    /// A's scores.
    pub(super) a: Vec<TaskScore>,
    /// P(success) in A of each task; for a beta, of its cluster or the mean.
    pub(super) thetas: Vec<f64>,
    /// B's scores, on the same tasks.
    pub(super) b: Vec<TaskScore>,
    /// Cluster of each task; `None` where each is its own.
    pub(super) labels: Option<Vec<u32>>,
    /// A's amounts by task.
    pub(super) amounts_a: Vec<Vec<f64>>,
    /// B's amounts by task.
    pub(super) amounts_b: Vec<Vec<f64>>,
    /// Counts of judged items.
    pub(super) judged: JudgedData,
    /// Counts of events by unit.
    pub(super) counts: Vec<UnitCount>,
    /// Items and labels by level of the judge.
    pub(super) levels: Vec<JudgeLevel>,
    /// Judged and labelled differences by task.
    pub(super) pairs: Vec<PairedTask>,
    /// Tasks with judged trials and labels.
    pub(super) judged_tasks: JudgedTasks,
    /// Times by task.
    pub(super) times: TimesData,
    /// Differences in the order of looks.
    pub(super) sequence: Vec<f64>,
    /// Faults by task.
    pub(super) faults: Vec<FaultTask>,
    /// Ratings of items.
    pub(super) ratings: Ratings,
}

/// A design with its tables of counts.
pub(super) struct Sampler<'a> {
    cell: &'a Cell,
    types: Vec<TypeTable>,
    /// Cumulated masses of the types.
    masses: Vec<f64>,
}

/// Cumulated probabilities of a type's successes in either arm.
struct TypeTable {
    a: Vec<f64>,
    b: Vec<f64>,
    /// P(success) in A.
    theta: f64,
    trials: u32,
    size: [u32; 2],
}

impl<'a> Sampler<'a> {
    pub(super) fn new(cell: &'a Cell) -> Self {
        let Cell::Scores(scores) = cell else {
            return Self {
                cell,
                types: vec![],
                masses: vec![],
            };
        };
        match &scores.types {
            Types::Points(points) => Self {
                cell,
                types: points.iter().map(|p| table(scores, p)).collect(),
                masses: cumulated(points.iter().map(|p| p.mass)),
            },
            Types::Beta { p, icc } => {
                let a = beta_binomial(*p, *icc, scores.trials);
                let one = TypeTable {
                    b: a.clone(),
                    a,
                    theta: *p,
                    trials: scores.trials,
                    size: scores.size,
                };
                Self {
                    cell,
                    types: vec![one],
                    masses: vec![1.0],
                }
            }
        }
    }

    pub(super) fn draw(&self, stream: &mut Stream) -> Data {
        let mut data = Data::default();
        match self.cell {
            Cell::Amounts(cell) => draw_amounts(cell, stream, &mut data),
            Cell::Judged(cell) => data.judged = JudgedData::draw(cell, stream),
            Cell::Counts(cell) => data.counts = cell.draw(stream),
            Cell::Levels(cell) => data.levels = cell.draw(stream),
            Cell::Pairs(cell) => data.pairs = cell.draw(stream),
            Cell::JudgedTasks(cell) => data.judged_tasks = cell.draw(stream),
            Cell::Times(cell) => data.times = cell.draw(stream),
            Cell::Sequence(cell) => data.sequence = cell.draw(stream),
            Cell::Recovery(cell) => data.faults = cell.draw(stream),
            Cell::Agreement(cell) => data.ratings = cell.draw(stream),
            Cell::Scores(cell) if cell.single_tasks() => {
                data.a.reserve(cell.units as usize);
                data.b.reserve(cell.units as usize);
                for _ in 0..cell.units {
                    let kind = self.kind(stream);
                    self.task(cell, kind, None, stream, &mut data);
                }
            }
            Cell::Scores(cell) => self.draw_clusters(cell, stream, &mut data),
        }
        data
    }

    fn draw_clusters(&self, cell: &ScoreCell, stream: &mut Stream, data: &mut Data) {
        let mut labels = vec![];
        for cluster in 0..cell.units {
            let kind = self.kind(stream);
            let theta = beta_theta(cell, stream);
            let [least, most] = self.types[kind].size;
            let size = least + stream.below((most - least + 1) as usize) as u32;
            for _ in 0..size {
                let own = stream.unit() >= cell.shared;
                let kind = if own { self.kind(stream) } else { kind };
                let theta = if own { beta_theta(cell, stream) } else { theta };
                self.task(cell, kind, theta, stream, data);
                labels.push(cluster);
            }
        }
        data.labels = Some(labels);
    }

    fn kind(&self, stream: &mut Stream) -> usize {
        if self.types.len() == 1 {
            0
        } else {
            pick(&self.masses, stream)
        }
    }

    fn task(
        &self,
        cell: &ScoreCell,
        kind: usize,
        theta: Option<f64>,
        stream: &mut Stream,
        data: &mut Data,
    ) {
        let table = &self.types[kind];
        let grades = f64::from(cell.grades);
        let mut score = |cumulated: &[f64]| {
            let count = match theta {
                Some(theta) => (0..table.trials).filter(|_| stream.unit() < theta).count(),
                None => pick(cumulated, stream),
            };
            TaskScore {
                sum: count as f64 / grades,
                trials: table.trials,
            }
        };
        data.thetas.push(theta.unwrap_or(table.theta));
        data.a.push(score(&table.a));
        data.b.push(score(&table.b));
    }
}

/// The success probability of a cluster of beta tasks; single tasks use the mixture's counts.
fn beta_theta(cell: &ScoreCell, stream: &mut Stream) -> Option<f64> {
    match cell.types {
        Types::Beta { p, icc } => {
            let scale = (1.0 - icc) / icc;
            Some(beta_quantile(stream.unit(), p * scale, (1.0 - p) * scale).x())
        }
        Types::Points(_) => None,
    }
}

fn table(cell: &ScoreCell, point: &Point) -> TypeTable {
    let trials = point.trials.unwrap_or(cell.trials);
    let n = u64::from(trials) * u64::from(cell.grades);
    let counts = |theta: f64| cumulated((0..=n).map(|k| binomial_pmf(k, n, theta)));
    let size = point.size.unwrap_or(cell.size);
    TypeTable {
        a: counts(point.theta),
        b: counts(point.b()),
        theta: point.theta,
        trials,
        size,
    }
}

/// Cumulated beta-binomial probabilities, by the ratio of neighbours.
fn beta_binomial(p: f64, icc: f64, trials: u32) -> Vec<f64> {
    let scale = (1.0 - icc) / icc;
    let (a, b, m) = (p * scale, (1.0 - p) * scale, f64::from(trials));
    let mut ln = vec![0.0];
    for k in 0..trials {
        let k = f64::from(k);
        let ratio = (m - k) / (k + 1.0) * (k + a) / (m - k - 1.0 + b);
        ln.push(ln[ln.len() - 1] + ratio.ln());
    }
    let top = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    cumulated(ln.into_iter().map(|l| (l - top).exp()))
}

/// Running sums, scaled to end at 1.
fn cumulated(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut total = 0.0;
    let mut sums: Vec<f64> = weights
        .map(|w| {
            total += w;
            total
        })
        .collect();
    sums.iter_mut().for_each(|s| *s /= total);
    sums
}

/// An index with the probabilities that `cumulated` sums up.
fn pick(cumulated: &[f64], stream: &mut Stream) -> usize {
    let u = stream.unit();
    cumulated
        .partition_point(|c| *c <= u)
        .min(cumulated.len() - 1)
}

/// A standard normal number; Box and Muller (1958) make two at a time.
fn normal(stream: &mut Stream, spare: &mut Option<f64>) -> f64 {
    if let Some(kept) = spare.take() {
        return kept;
    }
    // One minus a number in [0, 1) is never 0.
    let radius = (-2.0 * (1.0 - stream.unit()).ln()).sqrt();
    let (sin, cos) = (2.0 * std::f64::consts::PI * stream.unit()).sin_cos();
    *spare = Some(radius * sin);
    radius * cos
}

fn draw_amounts(cell: &AmountCell, stream: &mut Stream, data: &mut Data) {
    let mut spare = None;
    let mut normal = || normal(stream, &mut spare);
    // The ratio is that of the means, so the change's own spread must not shift it.
    let shift = cell.ratio.ln() - cell.sd_change * cell.sd_change / 2.0;
    for _ in 0..cell.units {
        let task = cell.sd_task * normal();
        let change = shift + cell.sd_change * normal();
        let mut arm = |effect: f64| -> Vec<f64> {
            (0..cell.trials)
                .map(|_| (task + effect + cell.sd_trial * normal()).exp())
                .collect()
        };
        data.amounts_a.push(arm(0.0));
        data.amounts_b.push(arm(change));
    }
}
