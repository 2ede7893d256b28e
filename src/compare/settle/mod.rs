//! What would settle an inconclusive comparison: how many tasks, at the trials per task of this run.

mod repeated;

use super::contrast::{Contrasted, POWER};
use super::word::Word;
use crate::model::estimate::Settle;
use crate::model::metric::{Contrast, Direction, Metric};
use crate::stats::Level;
use crate::stats::power::{Need, least_units, tasks_needed, units_by_formula};

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
///
/// A number that rests on the observed difference is also large enough for the method itself to decide
/// if the observed differences come again in the same proportions. No number is printed that the run
/// already has: it would not have settled anything.
pub fn settle(found: &Contrasted, question: &Question) -> Option<Settle> {
    if found.unit_variance.is_none() {
        return at_least(found, question);
    }
    let observed = as_observed(found, question);
    let equal = if_equal(found, question);
    // What was seen comes first where it points beyond the margin.
    let beyond = match question.margin.map(|m| scale_margin(m, question.metric)) {
        Some(margin) => loss(found.value?, question.metric) > margin,
        None => true,
    };
    let mut clauses: Vec<Clause> = observed.into_iter().chain(equal).collect();
    if !beyond {
        clauses.reverse();
    }
    let first = clauses.first()?;
    let tasks = first.tasks;
    let said: Vec<String> = clauses
        .iter()
        .enumerate()
        .map(|(at, c)| c.said(at, clauses.iter().any(|c| c.has_power)))
        .collect();
    let power = match clauses.iter().filter(|c| c.has_power).count() {
        n if n == clauses.len() => "power .80, ",
        0 => "power not known, ",
        _ => "power .80 where not said otherwise, ",
    };
    let text = format!(
        "{} ({power}spread as seen in these {} tasks, same trials per task).",
        said.join("; "),
        found.tasks
    );
    Some(Settle {
        tasks,
        text,
        cost_usd: cost(tasks, found, question),
    })
}

/// A number of tasks with what it would show, and under which assumption.
struct Clause {
    tasks: u64,
    shows: &'static str,
    assumed: &'static str,
    /// Whether the number is that of the normal approximation for power .80, and not a floor under it:
    /// what a floor gives decides if the same differences come again, but how often is not known.
    has_power: bool,
}

impl Clause {
    /// `others_have` says whether any clause beside it has a power to be told from.
    fn said(&self, at: usize, others_have: bool) -> String {
        let Self {
            tasks,
            shows,
            assumed,
            has_power,
        } = self;
        let noun = if at == 0 { " tasks" } else { "" };
        let fewest = match !has_power && others_have {
            true => ", the fewest that can, at a power not known",
            false => "",
        };
        format!("about {tasks}{noun} would show {shows} if {assumed}{fewest}")
    }
}

/// If the observed difference is the truth.
fn as_observed(found: &Contrasted, question: &Question) -> Option<Clause> {
    let (least, word) = repeated::fewest(found, question)?;
    let loss = loss(found.value?, question.metric);
    let margin = question.margin.map(|m| scale_margin(m, question.metric));
    // How far the observed loss is from what the word needs ruled out.
    let distance = match (word, margin) {
        (Word::Worse, margin) => loss - margin.unwrap_or(0.0),
        (Word::Better, _) => -loss,
        (Word::Equivalent, Some(margin)) => margin - loss.abs(),
        (_, margin) => margin? - loss,
    };
    let with_power = tasks_for(distance, found, question)?;
    let floor = match word {
        Word::NonInferior | Word::Equivalent => margin.and_then(|m| floor_of(m, found, question)),
        _ => floor_of(distance, found, question),
    };
    let least = least.max(floor.unwrap_or(0));
    let shows = match word {
        _ if margin.is_none() => "the observed difference",
        Word::Worse => "the candidate worse",
        Word::Better => "the candidate better",
        Word::Equivalent => "equivalence",
        _ => "non-inferiority",
    };
    Some(Clause {
        tasks: least.max(with_power),
        shows,
        assumed: match margin {
            None => "it is the truth",
            Some(_) => "the observed difference is the truth",
        },
        has_power: with_power >= least,
    })
}

/// If the arms are equal in truth; only a margin can be shown then.
fn if_equal(found: &Contrasted, question: &Question) -> Option<Clause> {
    let margin = scale_margin(question.margin?, question.metric);
    let with_power = tasks_for(margin, found, question)?;
    let floor = floor_of(margin, found, question).unwrap_or(0);
    let tasks = with_power.max(floor);
    (tasks > found.tasks as u64).then_some(Clause {
        tasks,
        shows: "non-inferiority",
        assumed: "the arms are equal in truth",
        has_power: with_power >= floor,
    })
}

/// ⌈c/δ⌉ in tasks: fewer cannot show a margin of a difference whatever else is true (METHODS 6.5);
/// `None` of a ratio, which has no such floor.
fn floor_of(margin: f64, found: &Contrasted, question: &Question) -> Option<u64> {
    if question.metric.contrast() == Contrast::Ratio {
        return None;
    }
    let units = least_units(margin, question.level, question.strict)?;
    let units_per_task = found.n_c? / found.tasks as f64;
    Some((units as f64 / units_per_task).ceil() as u64)
}

/// Tasks at which a distance is shown with power .80, by the normal approximation alone.
fn tasks_for(distance: f64, found: &Contrasted, question: &Question) -> Option<u64> {
    if distance <= 0.0 {
        return None;
    }
    let units_per_task = found.n_c? / found.tasks as f64;
    let units = units_needed(distance, found.unit_variance?, found, question)?;
    Some((units as f64 / units_per_task).ceil() as u64)
}

/// Cost of the tasks that the run does not have yet.
fn cost(tasks: u64, found: &Contrasted, question: &Question) -> Option<f64> {
    let more = tasks.saturating_sub(found.tasks as u64);
    question.cost_per_task.map(|cost| cost * more as f64)
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
        "at least {tasks} tasks: fewer cannot show a margin of {margin} even if they all agree (the spread between tasks is not known from {}).",
        found.tasks
    );
    Some(Settle {
        tasks,
        text,
        cost_usd: cost(tasks, found, question),
    })
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
        Contrast::Difference => units_by_formula(distance, variance, question.level, POWER),
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

#[cfg(test)]
mod tests;
