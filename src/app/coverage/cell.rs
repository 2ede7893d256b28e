//! Designs to simulate.

use serde::{Deserialize, Serialize};

use super::counts::CountCell;
use super::judged::JudgedCell;
use super::levels::LevelsCell;
use super::pairs::PairsCell;
use crate::base::{Error, Result};

/// One design.
///
/// # Examples
///
/// Tasks of which 5 % break fully in B, as a user writes them:
///
/// ```
/// use assize::app::coverage::cell::Cell;
/// let text = r#"{"scores": {"units": 50, "trials": 5, "types": {"points": [
///     {"theta": 0.9, "mass": 0.95}, {"theta": 0.9, "theta_b": 0.0, "mass": 0.05}]}}}"#;
/// let cell: Cell = serde_json::from_str(text).unwrap();
/// assert!(cell.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Cell {
    /// Scores in \[0, 1\] of one or two arms.
    Scores(ScoreCell),
    /// Positive amounts of one or two arms.
    Amounts(AmountCell),
    /// Judged items with a sample of human labels.
    Judged(JudgedCell),
    /// Counts of events in units that differ.
    Counts(CountCell),
    /// A judge of several levels with a sample of human labels.
    Levels(LevelsCell),
    /// Judged differences of two arms with a sample of human labels.
    Pairs(PairsCell),
}

/// Scores in \[0, 1\]: tasks of several types, possibly in clusters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreCell {
    /// A name for the table; made from the fields if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of independent units: clusters, or tasks where each cluster has one.
    pub units: u32,
    /// Trials per task and arm.
    pub trials: u32,
    /// Grades per trial: 1 is binary, s gives values 0, 1/s, …, 1.
    #[serde(default = "one")]
    pub grades: u32,
    /// What tasks are like.
    pub types: Types,
    /// Least and most tasks per cluster, uniform; a type may have its own.
    #[serde(default = "single")]
    pub size: [u32; 2],
    /// Chance that a task is of its cluster's type and not of one of its own.
    #[serde(default = "certain")]
    pub shared: f64,
    /// How tasks are weighted.
    #[serde(default)]
    pub weights: CellWeights,
}

fn one() -> u32 {
    1
}

fn single() -> [u32; 2] {
    [1, 1]
}

fn certain() -> f64 {
    1.0
}

/// How tasks are weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellWeights {
    /// Every task the same.
    #[default]
    EqualTask,
    /// Every trial the same.
    Trials,
    /// Every cluster the same.
    EqualCluster,
}

/// What tasks are like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Types {
    /// P(success | task) follows a beta distribution with mean p and intraclass correlation icc;
    /// one arm only.
    Beta {
        /// Mean.
        p: f64,
        /// Intraclass correlation, strictly between 0 and 1.
        icc: f64,
    },
    /// Finitely many types.
    Points(Vec<Point>),
}

/// One type of task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// P(success) in A (the only arm of a rate).
    pub theta: f64,
    /// P(success) in B; as in A if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theta_b: Option<f64>,
    /// How common the type is; masses sum to 1.
    pub mass: f64,
    /// Trials of its tasks, if not the cell's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials: Option<u32>,
    /// Size of its clusters, if not the cell's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<[u32; 2]>,
}

impl Point {
    /// A type that is the same in both arms.
    pub fn new(theta: f64, mass: f64) -> Self {
        Self {
            theta,
            theta_b: None,
            mass,
            trials: None,
            size: None,
        }
    }

    /// A type that differs between the arms.
    pub fn pair(theta: f64, theta_b: f64, mass: f64) -> Self {
        Self {
            theta_b: Some(theta_b),
            ..Self::new(theta, mass)
        }
    }

    /// P(success) in B.
    pub fn b(&self) -> f64 {
        self.theta_b.unwrap_or(self.theta)
    }
}

/// Lognormal amounts: exp of a task effect, a trial effect and, in B, the log ratio and a
/// task-by-arm effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountCell {
    /// A name for the table; made from the fields if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of tasks.
    pub units: u32,
    /// Trials per task and arm.
    pub trials: u32,
    /// Standard deviation of the task effect.
    pub sd_task: f64,
    /// Standard deviation of the trial effect.
    pub sd_trial: f64,
    /// Standard deviation of the task's own difference between the arms.
    #[serde(default)]
    pub sd_change: f64,
    /// The true ratio of totals B/A.
    #[serde(default = "certain")]
    pub ratio: f64,
    /// Which quantile is estimated.
    #[serde(default = "half")]
    pub tau: f64,
}

fn half() -> f64 {
    0.5
}

impl Cell {
    /// Binary tasks with beta-distributed success probabilities.
    pub fn beta(units: u32, trials: u32, p: f64, icc: f64) -> Self {
        Self::Scores(ScoreCell::of(units, trials, Types::Beta { p, icc }))
    }

    /// Binary tasks of finitely many types.
    pub fn points(units: u32, trials: u32, points: Vec<Point>) -> Self {
        Self::Scores(ScoreCell::of(units, trials, Types::Points(points)))
    }

    /// The same with a name.
    pub fn named(mut self, text: String) -> Self {
        match &mut self {
            Self::Scores(cell) => cell.name = Some(text),
            Self::Amounts(cell) => cell.name = Some(text),
            Self::Judged(cell) => cell.name = Some(text),
            Self::Counts(cell) => cell.name = Some(text),
            Self::Levels(cell) => cell.name = Some(text),
            Self::Pairs(cell) => cell.name = Some(text),
        }
        self
    }

    /// The name, or the design in JSON.
    pub fn name(&self) -> String {
        let given = match self {
            Self::Scores(cell) => &cell.name,
            Self::Amounts(cell) => &cell.name,
            Self::Judged(cell) => &cell.name,
            Self::Counts(cell) => &cell.name,
            Self::Levels(cell) => &cell.name,
            Self::Pairs(cell) => &cell.name,
        };
        // A design holds numbers and words only, so it can always be written.
        given
            .clone()
            .unwrap_or_else(|| serde_json::to_string(self).unwrap_or_default())
    }

    /// Number of independent units.
    pub fn units(&self) -> u32 {
        match self {
            Self::Scores(cell) => cell.units,
            Self::Amounts(cell) => cell.units,
            Self::Judged(cell) => cell.items,
            Self::Counts(cell) => cell.units,
            Self::Levels(cell) => cell.items,
            Self::Pairs(cell) => cell.tasks,
        }
    }

    /// Trials per task and arm; the largest, where types differ.
    pub fn trials(&self) -> u32 {
        match self {
            Self::Amounts(cell) => cell.trials,
            Self::Judged(_) | Self::Counts(_) | Self::Levels(_) | Self::Pairs(_) => 1,
            Self::Scores(cell) => match &cell.types {
                Types::Beta { .. } => cell.trials,
                Types::Points(points) => points
                    .iter()
                    .map(|p| p.trials.unwrap_or(cell.trials))
                    .max()
                    .unwrap_or(0),
            },
        }
    }

    /// Checks that the design can exist.
    ///
    /// # Errors
    ///
    /// If a probability is outside \[0, 1\], masses do not sum to 1, a count is 0, or a spread is
    /// negative.
    pub fn check(&self) -> Result<()> {
        let fail = |what: &str| Err(Error::input(format!("cell `{}`: {what}", self.name())));
        if self.units() == 0 || self.trials() == 0 {
            return fail("at least one unit and one trial");
        }
        match self {
            Self::Amounts(cell) => {
                let spreads = [cell.sd_task, cell.sd_trial, cell.sd_change];
                if spreads.iter().any(|s| !s.is_finite() || *s < 0.0) {
                    return fail("standard deviations are not negative");
                }
                let sound = cell.ratio > 0.0 && cell.tau > 0.0 && cell.tau < 1.0;
                if sound {
                    Ok(())
                } else {
                    fail("the ratio is positive and tau between 0 and 1")
                }
            }
            Self::Scores(cell) => cell.check().or_else(fail),
            Self::Judged(cell) => cell.check().or_else(fail),
            Self::Counts(cell) => cell.check().or_else(fail),
            Self::Levels(cell) => cell.check().or_else(fail),
            Self::Pairs(cell) => cell.check().or_else(fail),
        }
    }
}

impl ScoreCell {
    /// Binary single tasks with equal weights.
    pub(crate) fn of(units: u32, trials: u32, types: Types) -> Self {
        Self {
            name: None,
            units,
            trials,
            grades: 1,
            types,
            size: single(),
            shared: 1.0,
            weights: CellWeights::EqualTask,
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        let unit = |v: f64| (0.0..=1.0).contains(&v);
        let sizes = |s: [u32; 2]| s[0] >= 1 && s[0] <= s[1];
        if self.grades == 0 || !unit(self.shared) || !sizes(self.size) {
            return Err("grades from 1, shared in [0, 1], size [least, most] from 1");
        }
        match &self.types {
            Types::Beta { p, icc } => {
                let inside = |v: f64| v > 0.0 && v < 1.0;
                let plain = self.grades == 1;
                if inside(*p) && inside(*icc) && plain {
                    Ok(())
                } else {
                    Err("a beta needs p and icc between 0 and 1 and binary trials; use points")
                }
            }
            Types::Points(points) => {
                let mass: f64 = points.iter().map(|p| p.mass).sum();
                let sound = points.iter().all(|p| {
                    unit(p.theta)
                        && unit(p.b())
                        && p.mass >= 0.0
                        && p.trials != Some(0)
                        && p.size.is_none_or(sizes)
                });
                let own_sizes = points
                    .iter()
                    .any(|p| p.size.is_some_and(|s| s != self.size));
                if self.shared < 1.0 && own_sizes {
                    // Tasks of another type than their cluster's would enter with its size.
                    Err("types with sizes of their own need shared = 1")
                } else if sound && (mass - 1.0).abs() < 1e-9 {
                    Ok(())
                } else {
                    Err("probabilities in [0, 1] and masses that sum to 1")
                }
            }
        }
    }

    /// Whether every unit is one task.
    pub(super) fn single_tasks(&self) -> bool {
        let points_single = match &self.types {
            Types::Beta { .. } => true,
            Types::Points(points) => points.iter().all(|p| p.size.is_none_or(|s| s == [1, 1])),
        };
        self.size == [1, 1] && points_single
    }
}
