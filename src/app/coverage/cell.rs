//! Designs to simulate.

use serde::{Deserialize, Serialize};

use super::agreement::AgreementCell;
pub use super::amounts::AmountCell;
use super::counts::CountCell;
use super::judged::JudgedCell;
use super::judged_tasks::JudgedTasksCell;
use super::levels::LevelsCell;
use super::pairs::PairsCell;
use super::recovery::RecoveryCell;
pub use super::scores::{CellWeights, Point, ScoreCell, Types};
use super::sequences::SequenceCell;
use super::times::TimesCell;
use crate::base::{Error, Result};

/// What every kind of design tells about itself.
pub(super) trait Design {
    /// The name, if one was given.
    fn name(&self) -> &Option<String>;

    /// Its place, to give one.
    fn name_mut(&mut self) -> &mut Option<String>;

    /// Number of independent units.
    fn units(&self) -> u32;

    /// Trials per task and arm; the largest, where types differ.
    fn trials(&self) -> u32 {
        1
    }

    /// Tasks per unit; the most, where units differ.
    fn size(&self) -> u32 {
        1
    }

    /// Values that a trial can have besides 0.
    fn grades(&self) -> u32 {
        1
    }

    /// Says what must hold if the design cannot exist.
    fn check(&self) -> Result<(), &'static str>;
}

/// The part of [`Design`] that reads the same in every kind.
macro_rules! named_design {
    () => {
        fn name(&self) -> &Option<String> {
            &self.name
        }

        fn name_mut(&mut self) -> &mut Option<String> {
            &mut self.name
        }
    };
}
pub(super) use named_design;

/// The largest design: one replicate of it fits into memory.
const MOST_TRIALS: u128 = 10_000_000;

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
    /// Tasks with several judged trials, of which some tasks carry one human label.
    JudgedTasks(JudgedTasksCell),
    /// Times that are cut off.
    Times(TimesCell),
    /// Task differences that are looked at one after another.
    Sequence(SequenceCell),
    /// Faults that fire in some trials, and whether a trial recovers.
    Recovery(RecoveryCell),
    /// Items put into categories by two raters.
    Agreement(AgreementCell),
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

    fn design(&self) -> &dyn Design {
        match self {
            Self::Scores(cell) => cell,
            Self::Amounts(cell) => cell,
            Self::Judged(cell) => cell,
            Self::Counts(cell) => cell,
            Self::Levels(cell) => cell,
            Self::Pairs(cell) => cell,
            Self::JudgedTasks(cell) => cell,
            Self::Times(cell) => cell,
            Self::Sequence(cell) => cell,
            Self::Recovery(cell) => cell,
            Self::Agreement(cell) => cell,
        }
    }

    fn design_mut(&mut self) -> &mut dyn Design {
        match self {
            Self::Scores(cell) => cell,
            Self::Amounts(cell) => cell,
            Self::Judged(cell) => cell,
            Self::Counts(cell) => cell,
            Self::Levels(cell) => cell,
            Self::Pairs(cell) => cell,
            Self::JudgedTasks(cell) => cell,
            Self::Times(cell) => cell,
            Self::Sequence(cell) => cell,
            Self::Recovery(cell) => cell,
            Self::Agreement(cell) => cell,
        }
    }

    /// The same with a name.
    pub fn named(mut self, text: String) -> Self {
        *self.design_mut().name_mut() = Some(text);
        self
    }

    /// The name, or the design in JSON.
    pub fn name(&self) -> String {
        // A design holds numbers and words only, so it can always be written.
        self.design()
            .name()
            .clone()
            .unwrap_or_else(|| serde_json::to_string(self).unwrap_or_default())
    }

    /// Number of independent units.
    pub fn units(&self) -> u32 {
        self.design().units()
    }

    /// Trials per task and arm; the largest, where types differ.
    pub fn trials(&self) -> u32 {
        self.design().trials()
    }

    /// Checks that the design can exist.
    ///
    /// # Errors
    ///
    /// If a probability is outside \[0, 1\], masses do not sum to 1, a count is 0 or too large, or a
    /// spread is negative.
    pub fn check(&self) -> Result<()> {
        let fail = |what: &str| Err(Error::input(format!("cell `{}`: {what}", self.name())));
        if self.units() == 0 || self.trials() == 0 {
            return fail("at least one unit and one trial");
        }
        if self.trials_in_all() > MOST_TRIALS {
            return fail(&format!(
                "units times tasks per unit times trials times grades are more than {MOST_TRIALS}"
            ));
        }
        self.design().check().or_else(fail)
    }

    /// Values of one arm at the most, each grade counted as a trial.
    fn trials_in_all(&self) -> u128 {
        let design = self.design();
        let counts = [
            design.units(),
            design.size(),
            design.trials(),
            design.grades(),
        ];
        counts.into_iter().map(u128::from).product()
    }
}

/// Whether a value is a probability.
pub(super) fn is_share(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}

/// Whether shares of types are probabilities that sum to 1.
pub(super) fn are_masses(masses: impl Iterator<Item = f64>) -> bool {
    let (mut total, mut sound) = (0.0, true);
    for mass in masses {
        sound &= is_share(mass);
        total += mass;
    }
    sound && (total - 1.0f64).abs() < 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_design_that_no_memory_holds_is_refused() {
        let points = || vec![Point::new(0.5, 1.0)];
        let sizes = |units, trials| Cell::points(units, trials, points()).check();
        assert!(sizes(100_000, 100).is_ok());
        let error = sizes(4_000_000_000, 1).unwrap_err().to_string();
        assert!(error.contains("more than 10000000"), "{error}");
        assert!(sizes(1, 4_000_000_000).is_err() && sizes(u32::MAX, u32::MAX).is_err());
        let own = Point {
            size: Some([1, 4_000_000_000]),
            ..Point::new(0.5, 1.0)
        };
        assert!(Cell::points(5, 1, vec![own]).check().is_err());
        let text = r#"{"judged_tasks": {"units": 5, "size": 4000000000, "trials": 1, "labels": 3,
            "sensitivity": 0.9, "specificity": 0.9, "types": [{"mass": 1, "positive": 0.5}]}}"#;
        let cell: Cell = serde_json::from_str(text).unwrap();
        assert!(cell.check().unwrap_err().to_string().contains("more than"));
    }
}
