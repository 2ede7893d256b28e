//! The true values of a design.

use super::cell::{AmountCell, Cell, CellWeights, Point, ScoreCell, Types};
use super::draw::Data;
use super::method::{Family, Method, weights};
use crate::stats::pass_k::PassKind;
use crate::stats::sample::Clustered;
use crate::stats::special::normal_quantile;
use crate::stats::sum::sum;

/// The value that a method's interval should hold.
pub(super) fn truth(method: &Method, cell: &Cell) -> f64 {
    match (cell, method.family()) {
        (Cell::Amounts(cell), Family::Ratio { geometric }) => ratio(cell, geometric),
        (Cell::Amounts(cell), Family::Amount { geometric }) => amount(cell, geometric),
        (Cell::Amounts(cell), _) => quantile(cell),
        (Cell::Judged(cell), _) => cell.rate,
        (Cell::Counts(cell), _) => cell.rate,
        (Cell::Levels(cell), _) => cell.truth(),
        (Cell::Pairs(cell), _) => cell.truth(),
        (Cell::JudgedTasks(cell), _) => cell.truth(),
        (Cell::Times(cell), Family::Times(question)) => cell.truth(question),
        // No other method fits times.
        (Cell::Times(_), _) => f64::NAN,
        (Cell::Sequence(cell), _) => cell.truth(),
        (Cell::Recovery(cell), _) => cell.truth(method.id()),
        (Cell::Agreement(cell), _) => cell.truth(),
        (Cell::Scores(cell), Family::PassK(kind)) => {
            let k = method.k();
            match kind {
                PassKind::Hat => average(cell, |theta, _| theta.powi(k as i32), k),
                PassKind::At => 1.0 - average_failures(cell, k),
            }
        }
        (Cell::Scores(cell), Family::Difference | Family::Table) => average(cell, |a, b| b - a, 1),
        (Cell::Scores(cell), _) => average(cell, |a, _| a, 1),
    }
}

/// The value where it differs between data sets: the mean over exactly the tasks that were drawn.
pub(super) fn drawn(method: &Method, cell: &Cell, data: &Data) -> Option<f64> {
    if method.family() != Family::FixedTasks {
        return None;
    }
    let sample = Clustered::new(&data.a, data.labels.as_deref(), &weights(cell)).ok()?;
    let units = &sample.units;
    let terms = units.kept.iter().zip(&units.weights);
    Some(sum(terms.map(|(&i, w)| w * data.thetas[i])))
}

/// The weighted mean over the population of tasks of f(θ_A, θ_B); for a beta, of θ^k.
fn average(cell: &ScoreCell, f: impl Fn(f64, f64) -> f64, k: u32) -> f64 {
    match &cell.types {
        Types::Points(points) => {
            let total = sum(points.iter().map(|p| weight(cell, p)));
            sum(points.iter().map(|p| weight(cell, p) * f(p.theta, p.b()))) / total
        }
        Types::Beta { .. } if f(0.0, 0.0) == f(1.0, 1.0) => 0.0,
        Types::Beta { p, icc } => beta_moment(*p, *icc, k),
    }
}

fn average_failures(cell: &ScoreCell, k: u32) -> f64 {
    match &cell.types {
        Types::Points(_) => average(cell, |theta, _| (1.0 - theta).powi(k as i32), k),
        Types::Beta { p, icc } => beta_moment(1.0 - p, *icc, k),
    }
}

/// E θ^k for a beta with mean p.
fn beta_moment(p: f64, icc: f64, k: u32) -> f64 {
    let scale = (1.0 - icc) / icc;
    (0..k)
        .map(|j| (p * scale + f64::from(j)) / (scale + f64::from(j)))
        .product()
}

/// The share of the estimand's weight that falls on a type.
fn weight(cell: &ScoreCell, point: &Point) -> f64 {
    let own = point.size.unwrap_or(cell.size);
    let cluster = f64::from(own[0] + own[1]) / 2.0;
    let trials = f64::from(point.trials.unwrap_or(cell.trials));
    match cell.weights {
        CellWeights::EqualCluster => point.mass,
        CellWeights::EqualTask => point.mass * cluster,
        CellWeights::Trials => point.mass * cluster * trials,
    }
}

fn quantile(cell: &AmountCell) -> f64 {
    let sd = cell.sd_task.hypot(cell.sd_trial);
    (sd * normal_quantile(cell.tau)).exp()
}

/// The mean amount, or the median task's where a task has one trial or its trials do not differ.
fn amount(cell: &AmountCell, geometric: bool) -> f64 {
    if geometric {
        return 1.0;
    }
    ((cell.sd_task.powi(2) + cell.sd_trial.powi(2)) / 2.0).exp()
}

/// The ratio of means, or the typical task's: the median of the change.
fn ratio(cell: &AmountCell, geometric: bool) -> f64 {
    let shift = if geometric {
        -cell.sd_change * cell.sd_change / 2.0
    } else {
        0.0
    };
    cell.ratio * shift.exp()
}
