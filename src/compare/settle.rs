//! What would settle an inconclusive comparison: how many tasks, at the trials per task of this run.

use super::contrast::{Contrasted, POWER};
use crate::model::estimate::Settle;
use crate::model::metric::{Contrast, Direction, Metric};
use crate::stats::Level;
use crate::stats::power::{Need, tasks_needed};

/// What the answer depends on beside the contrast.
pub struct Question<'a> {
    /// Metric.
    pub metric: &'a Metric,
    /// Margin on the scale of the contrast: δ, or a factor.
    pub margin: Option<f64>,
    /// Level of the interval.
    pub level: Level,
    /// Whether the strict interval is used.
    pub strict: bool,
    /// Cost of one more task in both arms, where it is known.
    pub cost_per_task: Option<f64>,
}

/// The number of tasks at which the comparison would be decided with power .80, given the spread seen
/// in this run; `None` where the spread is not known or no number of tasks would do.
pub fn settle(found: &Contrasted, question: &Question) -> Option<Settle> {
    let Some(variance) = found.unit_variance else {
        return at_least(found, question);
    };
    let units_per_task = found.n_c? / found.tasks as f64;
    let loss = loss(found.value?, question.metric);
    let need = |distance: f64| -> Option<u64> {
        if distance <= 0.0 {
            return None;
        }
        let units = units_needed(distance, variance, found, question)?;
        Some((units as f64 / units_per_task).ceil() as u64)
    };
    let margin = question.margin.map(|m| scale_margin(m, question.metric));
    let (tasks, text) = match margin {
        Some(margin) => with_margin(margin, loss, need)?,
        None => {
            let tasks = need(loss.abs())?;
            (
                tasks,
                format!(
                    "about {tasks} tasks would show the observed difference if it is the truth"
                ),
            )
        }
    };
    let more = tasks.saturating_sub(found.tasks as u64);
    let seen = format!(
        "{text} (power .80, spread as seen in these {} tasks, same trials per task)",
        found.tasks
    );
    Some(Settle {
        tasks,
        text: seen,
        cost_usd: question.cost_per_task.map(|c| c * more as f64),
    })
}

/// With the spread unknown, only the number of tasks below which a margin cannot be shown at all.
fn at_least(found: &Contrasted, question: &Question) -> Option<Settle> {
    let margin = question
        .margin
        .filter(|_| question.metric.contrast() == Contrast::Difference)?;
    let need = Need {
        margin,
        assumed_loss: 0.0,
        variance: 0.0,
        power: POWER,
        strict: question.strict,
    };
    let tasks = tasks_needed(need, question.level).ok()?.tasks;
    let text = format!(
        "at least {tasks} tasks: fewer cannot show a margin of {margin} even if they all agree (the spread between tasks is not known from {})",
        found.tasks
    );
    let more = tasks.saturating_sub(found.tasks as u64);
    Some(Settle {
        tasks,
        text,
        cost_usd: question.cost_per_task.map(|c| c * more as f64),
    })
}

fn with_margin(margin: f64, loss: f64, need: impl Fn(f64) -> Option<u64>) -> Option<(u64, String)> {
    let equal = need(margin)?;
    let text =
        format!("about {equal} tasks would show non-inferiority if the arms are equal in truth");
    let observed = if loss > margin {
        need(loss - margin).map(|n| {
            format!(
                "about {n} would show the candidate worse if the observed difference is the truth"
            )
        })
    } else if loss > 0.0 {
        need(margin - loss).map(|n| {
            format!("about {n} would show non-inferiority if the observed difference is the truth")
        })
    } else {
        None
    };
    Some((
        equal,
        observed.map_or(text.clone(), |o| format!("{text}; {o}")),
    ))
}

/// How much worse the candidate looks, on the scale of θ.
fn loss(value: f64, metric: &Metric) -> f64 {
    let raw = match metric.contrast() {
        Contrast::Difference => value,
        Contrast::Ratio => value.ln(),
    };
    match metric.direction() {
        Direction::Gain => -raw,
        Direction::Loss => raw,
    }
}

fn scale_margin(margin: f64, metric: &Metric) -> f64 {
    match metric.contrast() {
        Contrast::Difference => margin,
        Contrast::Ratio => margin.ln(),
    }
}

fn units_needed(
    distance: f64,
    variance: f64,
    found: &Contrasted,
    question: &Question,
) -> Option<u64> {
    match question.metric.contrast() {
        Contrast::Difference => {
            let need = Need {
                margin: distance,
                assumed_loss: 0.0,
                variance,
                power: POWER,
                strict: question.strict,
            };
            tasks_needed(need, question.level).ok().map(|n| n.tasks)
        }
        // The standard error of a log ratio shrinks with the root of the number of units.
        Contrast::Ratio => {
            let detectable = found.mde?.ln();
            Some(
                (found.n_c? * (detectable / distance).powi(2))
                    .ceil()
                    .max(2.0) as u64,
            )
        }
    }
}
