//! A plan's sizes as text for people or JSON for scripts.

use super::{json, print};
use crate::app::sizing::{Design, Sizing, TrialCost};
use crate::base::Result;
use crate::cli::args::Format;
use crate::cli::wants_json;

/// Prints how many tasks and trials a margin needs.
pub fn sizing(found: &Sizing, format: Format) -> Result<u8> {
    if wants_json(format) {
        json(found)?;
        return Ok(0);
    }
    let mut text = format!(
        "{} at margin {}, {:.0} % interval, power {}, assumed loss {}\n",
        found.metric,
        found.margin,
        100.0 * found.level,
        found.power,
        found.assumed_loss
    );
    text.push_str(&variances_line(found));
    found
        .trial_costs
        .iter()
        .for_each(|cost| text.push_str(&trial_cost_line(cost)));
    let line = |d: &Design| {
        let mde = d.mde.map_or("–".to_owned(), |m| format!("{m:.4}"));
        let cost = d.cost.map_or(String::new(), |c| format!(", cost {c:.2}"));
        let bound = if d.at_most { " (at most)" } else { "" };
        format!(
            "{} tasks × {} trials: detectable {mde}, {} trials in both arms{cost}{bound}\n",
            d.tasks, d.trials, d.trials_in_all
        )
    };
    text.push_str(&format!("the suite as it is: {}", line(&found.suite)));
    for design in &found.needed {
        text.push_str(&format!("needed: {}", line(design)));
    }
    if let Some(unknown) = &found.unknown {
        text.push_str(&format!("not known: {unknown}\n"));
    }
    text.push_str(&found.advice);
    print(&text)?;
    Ok(0)
}

fn variances_line(found: &Sizing) -> String {
    let v = &found.variances;
    let part =
        |variance: Option<f64>| variance.map_or("not known".to_owned(), |v| format!("{v:.4}"));
    format!(
        "variances ({}): of the true difference {}, of a trial {} and {}, of the difference of two trials {:.4}\n",
        found.variances_from,
        part(v.difference),
        part(v.within_a),
        part(v.within_b),
        v.one_trial
    )
}

fn trial_cost_line(cost: &TrialCost) -> String {
    let source = match cost.source {
        "prices" => "the pilot's tokens at the prices of the arms file",
        "recorded" => "as the pilot recorded it",
        other => other,
    };
    match cost.baseline.zip(cost.candidate) {
        Some((a, b)) => format!("a trial costs {a:.4} + {b:.4} ({source})\n"),
        None => format!("a trial costs {:.4} in both arms ({source})\n", cost.both),
    }
}
