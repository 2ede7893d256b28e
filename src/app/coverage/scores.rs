//! Designs with scores in \[0, 1\]: tasks of several types, possibly in clusters.

use serde::{Deserialize, Serialize};

use super::cell::{Design, named_design};

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

    /// Whether every unit is one task.
    pub(super) fn single_tasks(&self) -> bool {
        let points_single = match &self.types {
            Types::Beta { .. } => true,
            Types::Points(points) => points.iter().all(|p| p.size.is_none_or(|s| s == [1, 1])),
        };
        self.size == [1, 1] && points_single
    }
}

impl Design for ScoreCell {
    named_design!();

    fn units(&self) -> u32 {
        self.units
    }

    fn trials(&self) -> u32 {
        match &self.types {
            Types::Beta { .. } => self.trials,
            Types::Points(points) => points
                .iter()
                .map(|p| p.trials.unwrap_or(self.trials))
                .max()
                .unwrap_or(0),
        }
    }

    fn size(&self) -> u32 {
        let Types::Points(points) = &self.types else {
            return self.size[1];
        };
        let own = points.iter().filter_map(|p| p.size);
        own.map(|size| size[1]).fold(self.size[1], u32::max)
    }

    fn grades(&self) -> u32 {
        self.grades
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
}
