//! Thresholds as users declare them, checked before anything is measured.

use std::collections::BTreeMap;

use super::nearest;
use crate::base::Error;
use crate::calibrate::{ThresholdProblem, threshold_problem};
use crate::model::label::Scale;

/// Every threshold that cannot be held on this scale, each with its name.
///
/// `raters` are those who labelled, where they are known.
pub fn threshold_problems(
    thresholds: &BTreeMap<String, f64>,
    scale: &Scale,
    raters: Option<&[String]>,
) -> Vec<(String, Error)> {
    let check = |(name, &value): (&String, &f64)| {
        let problem = threshold_problem(name, value, scale, raters).err()?;
        let message = match &problem {
            ThresholdProblem::Value { .. } => {
                format!("threshold `{name}` cannot be {value}: {problem}")
            }
            _ => format!("threshold `{name}`: {problem}"),
        };
        let error = Error::input(message);
        let error = match &problem {
            ThresholdProblem::Unknown(known) => {
                let known = known.iter().map(String::as_str);
                error.hint(nearest::hint(name, known, "thresholds"))
            }
            ThresholdProblem::NoInterval => error,
            ThresholdProblem::Value { .. } => error.hint("write shares as 0.8, not as 80"),
        };
        Some((name.clone(), error))
    };
    thresholds.iter().filter_map(check).collect()
}
