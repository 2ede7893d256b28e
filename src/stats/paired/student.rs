//! Student's t on task differences: named options, not defaults.

use serde::Serialize;

use crate::stats::Level;
use crate::stats::mean::{MeanEstimate, t_mean};
use crate::stats::special::t_sf;

/// The paired t interval and test on task differences (method `paired_t_tasks`).
///
/// Simulated minimum .086: where most tasks tie it cannot see the break it has not sampled. With
/// equal differences it is undefined (`zero_variance`), not a width of 0.
///
/// Source: Student 1908.
pub fn paired_t(differences: &[f64], level: Level) -> MeanEstimate {
    t_mean(differences, level)
}

/// Two one-sided t tests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tost {
    /// p for "B − A ≤ −margin": small means non-inferior.
    pub p_noninferior: Option<f64>,
    /// p for "B − A ≥ margin": small means non-superior.
    pub p_nonsuperior: Option<f64>,
    /// Why there is no value.
    pub reason: Option<&'static str>,
}

/// Two one-sided t tests against ±margin (method `tost_t`; Schuirmann 1987). For reference: a
/// decision uses one interval for all words (METHODS 6.4).
///
/// Unreliable where most tasks tie, as [`paired_t`]; undefined where all differences are equal.
pub fn tost_t(differences: &[f64], margin: f64) -> Tost {
    let mean = t_mean(differences, Level::p95());
    match (mean.estimate, mean.se, mean.df, mean.reason) {
        (Some(estimate), Some(se), Some(df), None) => Tost {
            p_noninferior: Some(t_sf((estimate + margin) / se, df)),
            p_nonsuperior: Some(t_sf((margin - estimate) / se, df)),
            reason: None,
        },
        (_, _, _, reason) => Tost {
            p_noninferior: None,
            p_nonsuperior: None,
            reason,
        },
    }
}
