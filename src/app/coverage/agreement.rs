//! Items put into categories by two raters: designs, draws, and kappa on them.

use serde::{Deserialize, Serialize};

use super::cell::{Design, are_masses, named_design};
use crate::base::Seed;
use crate::base::seed::Stream;
use crate::stats::agreement::{
    KappaOfItems, Table, Weights, cohen_kappa, item_interval, task_interval,
};
use crate::stats::bootstrap::Resampling;
use crate::stats::sum::sum;
use crate::stats::{Level, Limits};

/// Tasks with items that two raters put into the same categories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgreementCell {
    /// A name for the table; made from the fields if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of tasks.
    pub units: u32,
    /// Items per task.
    #[serde(default = "one")]
    pub items: u32,
    /// Chance that an item is rated as its task and not on its own.
    #[serde(default)]
    pub shared: f64,
    /// P(first rater's category, second's): a square of probabilities that sum to 1.
    pub shares: Vec<Vec<f64>>,
    /// How much categories disagree.
    #[serde(default)]
    pub weights: KappaWeights,
}

fn one() -> u32 {
    1
}

/// How much a pair of categories disagrees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KappaWeights {
    /// Any difference is full disagreement.
    #[default]
    Nominal,
    /// By steps apart.
    Linear,
    /// By squared steps apart.
    Quadratic,
}

impl From<KappaWeights> for Weights {
    fn from(weights: KappaWeights) -> Self {
        match weights {
            KappaWeights::Nominal => Self::Nominal,
            KappaWeights::Linear => Self::Linear,
            KappaWeights::Quadratic => Self::Quadratic,
        }
    }
}

/// One simulated set of ratings: each item's cell of the table and its task, and a seed.
#[derive(Default)]
pub(super) struct Ratings {
    cells: Vec<u32>,
    tasks: Vec<u32>,
    seed: u64,
}

/// Resamples of the simulated bootstrap, as many as are shown.
const RESAMPLES: u32 = 2000;

impl Design for AgreementCell {
    named_design!();

    fn units(&self) -> u32 {
        self.units
    }

    fn trials(&self) -> u32 {
        self.items
    }

    fn check(&self) -> Result<(), &'static str> {
        let size = self.shares.len();
        let square = size > 1 && self.shares.iter().all(|row| row.len() == size);
        let masses = are_masses(self.shares.iter().flatten().copied());
        if !square || !masses || !(0.0..=1.0).contains(&self.shared) {
            return Err("a square of at least two categories that sums to 1, shared in [0, 1]");
        }
        if self.truth().is_finite() {
            return Ok(());
        }
        Err("both raters use one category only, and kappa is undefined")
    }
}

impl AgreementCell {
    /// Kappa of the probabilities themselves.
    pub(super) fn truth(&self) -> f64 {
        let size = self.shares.len();
        let weights = Weights::from(self.weights);
        let row = |i: usize| sum(self.shares[i].iter().copied());
        let column = |j: usize| sum(self.shares.iter().map(|row| row[j]));
        let over = |f: &dyn Fn(usize, usize) -> f64| {
            let pairs = (0..size).flat_map(|i| (0..size).map(move |j| (i, j)));
            sum(pairs.map(|(i, j)| weights.agreement(i, j, size) * f(i, j)))
        };
        let observed = over(&|i, j| self.shares[i][j]);
        let expected = over(&|i, j| row(i) * column(j));
        (observed - expected) / (1.0 - expected)
    }

    pub(super) fn draw(&self, stream: &mut Stream) -> Ratings {
        let mut ratings = Ratings {
            seed: stream.bits(),
            ..Ratings::default()
        };
        for task in 0..self.units {
            let common = self.pick(stream.unit());
            for _ in 0..self.items {
                let own = stream.unit() >= self.shared;
                let cell = if own {
                    self.pick(stream.unit())
                } else {
                    common
                };
                ratings.cells.push(cell);
                ratings.tasks.push(task);
            }
        }
        ratings
    }

    fn pick(&self, mut u: f64) -> u32 {
        let cells = self.shares.iter().flatten();
        let last = (self.shares.len() * self.shares.len() - 1) as u32;
        for (cell, share) in (0..last).zip(cells) {
            if u < *share {
                return cell;
            }
            u -= share;
        }
        last
    }

    /// The limits of a method by its id; `None` where it gives none.
    pub(super) fn limits(&self, id: &str, ratings: &Ratings, level: Level) -> Option<Limits> {
        let size = self.shares.len();
        let mut rows = vec![vec![0u32; size]; size];
        for &cell in &ratings.cells {
            rows[cell as usize / size][cell as usize % size] += 1;
        }
        let (table, weights) = (Table::new(&rows).ok()?, self.weights.into());
        if id == "cohen_kappa_se" {
            return normal(&table, weights, level);
        }
        let kappa = KappaOfItems::new(&table, &ratings.cells, weights);
        let plan = Resampling {
            replicates: RESAMPLES,
            level,
            seed: Seed(ratings.seed),
        };
        let interval = if id == "cohen_kappa_bca_tasks" {
            task_interval(&kappa, &ratings.tasks, &plan)
        } else {
            item_interval(&kappa, &plan)
        };
        let interval = interval.ok()?.interval;
        Some(Limits {
            lower: interval.low,
            upper: interval.high,
        })
    }
}

/// What the large-sample standard error would give, which is not shown as an interval.
fn normal(table: &Table, weights: Weights, level: Level) -> Option<Limits> {
    let got = cohen_kappa(table, weights).ok()?;
    let half = level.z() * got.se;
    (got.se > 0.0).then_some(Limits {
        lower: got.kappa - half,
        upper: got.kappa + half,
    })
}

/// METHODS 8 names no grid: independent items in two categories at three rates of agreement and three
/// prevalences, and in three ordered categories.
pub(super) fn grid() -> Vec<AgreementCell> {
    cells(&[50, 200, 1000], 1, 0.0)
}

/// The same in tasks of four items that are mostly rated as their task.
pub(super) fn task_grid() -> Vec<AgreementCell> {
    cells(&[50, 200], 4, 0.7)
}

fn cells(tasks: &[u32], items: u32, shared: f64) -> Vec<AgreementCell> {
    let mut cells = vec![];
    for &units in tasks {
        for (label, shares, weights) in raters() {
            cells.push(AgreementCell {
                name: Some(format!("G={units} items={items} shared={shared} {label}")),
                units,
                items,
                shared,
                shares,
                weights,
            });
        }
    }
    cells
}

fn raters() -> Vec<(String, Vec<Vec<f64>>, KappaWeights)> {
    let two = |rate: f64, right: f64| {
        let (hit, miss) = (rate * right, rate * (1.0 - right));
        let (wrong, correct) = ((1.0 - rate) * (1.0 - right), (1.0 - rate) * right);
        vec![vec![hit, miss], vec![wrong, correct]]
    };
    let mut raters = vec![];
    for rate in [0.5, 0.8, 0.95] {
        for right in [0.7, 0.9, 0.97] {
            let label = format!("prevalence={rate} right={right}");
            raters.push((label, two(rate, right), KappaWeights::Nominal));
        }
    }
    let three = vec![
        vec![0.2, 0.05, 0.01],
        vec![0.05, 0.3, 0.05],
        vec![0.01, 0.08, 0.25],
    ];
    raters.push(("three ordered".to_owned(), three, KappaWeights::Quadratic));
    raters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kappa_of_shares_is_that_of_counts() {
        for weights in [
            KappaWeights::Nominal,
            KappaWeights::Linear,
            KappaWeights::Quadratic,
        ] {
            let counts = [vec![20u32, 5, 3], vec![10, 30, 2], vec![1, 4, 25]];
            let cell = AgreementCell {
                name: None,
                units: 10,
                items: 1,
                shared: 0.0,
                shares: counts
                    .iter()
                    .map(|row| row.iter().map(|c| f64::from(*c) / 100.0).collect())
                    .collect(),
                weights,
            };
            let table = Table::new(&counts).unwrap();
            let wanted = cohen_kappa(&table, weights.into()).unwrap().kappa;
            assert!((cell.truth() - wanted).abs() < 1e-12);
        }
    }
}
