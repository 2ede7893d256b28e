//! What one trial costs: stated, from prices and a pilot's tokens, or as the pilot recorded it.

use std::path::Path;

use serde::Serialize;

use super::SizingCommand;
use super::pilot::{Pilot, PilotArm};
use crate::base::{Error, Result};
use crate::load;
use crate::model::arm::Price;

/// The cost of one trial in US dollars, and what says so.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialCost {
    /// `stated`, `prices` (tokens of the pilot × prices of the arms file) or `recorded` (in the pilot).
    pub source: &'static str,
    /// Of the baseline.
    pub baseline: Option<f64>,
    /// Of the candidate.
    pub candidate: Option<f64>,
    /// Of both together.
    pub both: f64,
}

impl TrialCost {
    fn of(source: &'static str, [baseline, candidate]: [f64; 2]) -> Self {
        Self {
            source,
            baseline: Some(baseline),
            candidate: Some(candidate),
            both: baseline + candidate,
        }
    }
}

/// All that is known of a trial's cost; what was stated comes first, then prices, then what was recorded.
///
/// # Errors
///
/// If an arms file is named without a pilot, or an arm of the pilot has no price or no tokens.
pub(super) fn trial_costs(
    command: &SizingCommand,
    pilot: Option<&Pilot>,
) -> Result<Vec<TrialCost>> {
    let stated = command.trial_cost.map(|both| TrialCost {
        source: "stated",
        baseline: None,
        candidate: None,
        both,
    });
    let priced = match (&command.arms, pilot) {
        (None, _) => None,
        (Some(file), Some(pilot)) => Some(priced(file, pilot)?),
        (Some(file), None) => {
            return Err(
                Error::input("prices give a cost only with the tokens of a trial")
                    .in_file(file)
                    .hint("name a run that recorded tokens with `--pilot`, or state the cost with `--trial-cost`"),
            );
        }
    };
    let recorded = pilot.and_then(|pilot| {
        let [a, b] = &pilot.arms;
        Some(TrialCost::of("recorded", [a.cost_usd?, b.cost_usd?]))
    });
    Ok([stated, priced, recorded].into_iter().flatten().collect())
}

fn priced(file: &Path, pilot: &Pilot) -> Result<TrialCost> {
    let prices = load::prices(file)?;
    let cost = |arm: &PilotArm| {
        let Some((_, price)) = prices.iter().find(|(id, _)| id.as_str() == arm.name) else {
            let names: Vec<String> = prices.iter().map(|(id, _)| format!("`{id}`")).collect();
            let message = format!("arm `{}` of the pilot is not in the arms file", arm.name);
            return Err(Error::input(message)
                .in_file(file)
                .hint(format!("it holds {}", names.join(", "))));
        };
        let price = price.ok_or_else(|| {
            Error::input(format!("arm `{}` has no price", arm.name))
                .in_file(file)
                .hint("add `price: {input_per_million: …, output_per_million: …}` to it")
        })?;
        of_tokens(arm, price)
    };
    let [a, b] = &pilot.arms;
    let priced = TrialCost::of("prices", [cost(a)?, cost(b)?]);
    match priced.both.is_finite() {
        true => Ok(priced),
        false => {
            let message = "at these prices a trial costs more than any number can say";
            Err(Error::input(message)
                .in_file(file)
                .hint("prices are US dollars per million tokens"))
        }
    }
}

/// Expected tokens times their price.
fn of_tokens(arm: &PilotArm, price: Price) -> Result<f64> {
    let (Some(input), Some(output)) = (arm.input_tokens, arm.output_tokens) else {
        let message = format!(
            "the pilot did not record what arm `{}` reads and writes",
            arm.name
        );
        return Err(
            Error::input(message).hint("prices need tokens; state the cost with `--trial-cost`")
        );
    };
    Ok((input * price.input_per_million + output * price.output_per_million) / 1e6)
}
