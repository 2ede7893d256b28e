//! The variances that sizing rests on (METHODS 6.5).

use serde::Serialize;

/// Variances of one task's difference.
///
/// A pilot with one trial per task, or more in a few tasks only, shows their total: `difference` and the arm's `within` are then
/// `None`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Variances {
    /// σ_δ²: variance over tasks of the true difference.
    pub difference: Option<f64>,
    /// σ_A²: mean variance of one trial of the baseline within its task.
    pub within_a: Option<f64>,
    /// σ_B²: the same of the candidate.
    pub within_b: Option<f64>,
    /// Var₁ at one trial per task and arm, σ_δ² + σ_A² + σ_B²: more trials can only lower it.
    pub one_trial: f64,
    /// Tasks per independent unit: 1 without random clusters and unequal weights.
    pub tasks_per_unit: f64,
}

impl Variances {
    /// Stated variances, tasks independent.
    pub fn stated(difference: f64, within_a: f64, within_b: f64) -> Self {
        Self {
            difference: Some(difference),
            within_a: Some(within_a),
            within_b: Some(within_b),
            one_trial: difference + within_a + within_b,
            tasks_per_unit: 1.0,
        }
    }

    /// Variance of one unit's true difference, and of one trial in both arms on the same scale; `None`
    /// where they can't be told apart.
    pub(super) fn components(&self) -> Option<(f64, f64)> {
        let within = (self.within_a? + self.within_b?) / self.tasks_per_unit;
        Some((self.difference?, within))
    }

    /// Whether what differs between tasks and what is luck within one are known apart.
    pub(super) fn separable(&self) -> bool {
        self.components().is_some()
    }

    /// Var₁, the variance of one unit's difference, with m trials per task and arm; where the parts are
    /// not known, that of one trial, which bounds it from above.
    pub(super) fn of_one_unit(&self, trials: u32) -> f64 {
        self.components()
            .map_or(self.one_trial, |(difference, within)| {
                difference + within / f64::from(trials.max(1))
            })
    }

    /// How many units some tasks are worth.
    pub(super) fn units(&self, tasks: u64) -> f64 {
        tasks as f64 / self.tasks_per_unit
    }

    /// What these variances can't tell, and how to learn it.
    pub(super) fn unknown(&self) -> Option<String> {
        let arms = match (self.within_a, self.within_b) {
            _ if self.separable() => return None,
            (None, Some(_)) => "the baseline has",
            (Some(_), None) => "the candidate has",
            _ => "both arms have",
        };
        Some(format!(
            "in the pilot {arms} one trial per task or too few with more, so what differs between tasks can't be told from luck within a task: \
             the total variance stands for one trial per task and is an upper bound for more; \
             a pilot with two trials in each of ten tasks or more would tell them apart"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_parts_fall_with_trials_and_an_unknown_part_does_not() {
        let known = Variances::stated(0.01, 0.2, 0.1);
        assert!((known.of_one_unit(1) - known.one_trial).abs() < 1e-15);
        assert!((known.of_one_unit(3) - 0.11).abs() < 1e-15);
        assert_eq!(known.unknown(), None);
        let total = Variances {
            difference: None,
            within_b: None,
            ..known
        };
        assert_eq!(total.of_one_unit(1), total.of_one_unit(10));
        assert!(
            total
                .unknown()
                .unwrap()
                .contains("the candidate has one trial")
        );
    }
}
