//! Paired differences: BP-Hall, sign-flip, t.

use serde_json::Value;

use super::answer::{Answer, numbers};
use super::fields::{Fields, Problem};
use super::rates::mean;
use super::{Method, tasks};
use crate::base::Seed;
use crate::compare::decision::{DecideInput, decide};
use crate::stats::paired::{BpHall, DifferenceEstimate, bp_hall, paired_t, tost_t};
use crate::stats::permutation::{FEWEST_DRAWS, clustered_sign_flip};
use crate::stats::sample::{Paired, TaskScore};
use crate::stats::sum::sum;

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "bp_hall" => hall,
        "bp_hall_p" => hall_p,
        "bp_hall_from_trials" => from_trials,
        "noninferiority_decision" => noninferiority,
        "sign_flip_exact" => flip,
        "paired_t_tasks" => |p, i| {
            Ok(mean(
                &paired_t(&i.numbers("task_differences")?, p.level()?),
                "df",
            ))
        },
        "tost_t" => tost,
        _ => return None,
    })
}

/// The differences divided by the scale's `bound` (1 if absent).
fn sample(params: &Fields, input: &Fields) -> Result<(Paired, f64), Problem> {
    let bound = params.optional_number("bound")?.unwrap_or(1.0);
    if !(bound > 0.0 && bound.is_finite()) {
        return Err(params.problem("bound", format!("{bound} is not positive")));
    }
    let scaled: Vec<f64> = input
        .numbers("task_differences")?
        .iter()
        .map(|d| d / bound)
        .collect();
    let (weights, clusters) = (tasks::weights(input, &[])?, tasks::clusters(input, &[])?);
    Ok((Paired::new(&scaled, clusters.as_deref(), &weights)?, bound))
}

fn hall(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    params.only("estimand", "b-a")?;
    let (sample, bound) = sample(params, input)?;
    Ok(difference(
        &bp_hall(&sample, params.level()?, params.flag("strict", false)?),
        bound,
    ))
}

pub(super) fn difference(got: &DifferenceEstimate, bound: f64) -> Answer {
    let scaled = |v: Option<f64>| v.map(|v| v * bound);
    let notices: Vec<Value> = got.notices.iter().map(|n| n.code.as_str().into()).collect();
    Answer::new()
        .with("method", got.method)
        .with("status", got.status.as_str())
        .number("estimate", scaled(got.estimate))
        .number("lower", scaled(got.lower))
        .number("upper", scaled(got.upper))
        .number("skew", got.skew)
        .number("se", scaled(got.se))
        .number("p", got.p)
        .number("n_c", got.n_c)
        .with("units", got.units)
        .with("tasks_used", got.tasks)
        .with("notices", notices)
        .reason(got.reason)
}

fn hall_p(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let (sample, bound) = sample(params, input)?;
    let theta0 = params.optional_number("theta0")?.unwrap_or(0.0);
    if !(-bound..=bound).contains(&theta0) {
        let message = format!("{theta0:?} is not between -{bound} and {bound}, the scale's ends");
        return Err(params.problem("theta0", message));
    }
    let theta0 = theta0 / bound;
    let units = &sample.units;
    let Some(moments) = BpHall::new(&sample.unit_means, &units.unit_weights, units.n_c) else {
        let nothing = Answer::new().number("x", None).number("p", None);
        return Ok(nothing.reason(Some("no_common_tasks")));
    };
    Ok(Answer::new()
        .number("x", moments.score(theta0))
        .number("p", moments.p(theta0)))
}

fn from_trials(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    params.only("estimand", "b-a")?;
    let list = input.objects("tasks")?;
    let arm = |name: &str| -> Result<Vec<TaskScore>, Problem> {
        let each = list.iter().map(|t| {
            let values = t.numbers(name)?;
            if let Some(wrong) = values.iter().find(|v| !(0.0..=1.0).contains(*v)) {
                return Err(t.problem(name, format!("score {wrong} is outside 0 to 1")));
            }
            Ok(TaskScore {
                sum: sum(values.iter().copied()),
                trials: values.len() as u32,
            })
        });
        each.collect()
    };
    let (weights, clusters) = (
        tasks::weights(input, &list)?,
        tasks::clusters(input, &list)?,
    );
    let sample = Paired::from_arms(&arm("a")?, &arm("b")?, clusters.as_deref(), &weights)?;
    let dropped: Result<Vec<String>, Problem> = sample
        .units
        .dropped
        .iter()
        .map(|&i| tasks::name(&list[i], i))
        .collect();
    let got = bp_hall(&sample, params.level()?, params.flag("strict", false)?);
    Ok(difference(&got, 1.0)
        .with("task_differences", numbers(&sample.differences))
        .with("tasks_dropped", dropped?))
}

fn noninferiority(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    params.only("estimand", "b-a")?;
    let (sample, bound) = sample(params, input)?;
    let margin = params.number("margin")?;
    let level = params.level()?;
    let got = bp_hall(&sample, level, params.flag("strict", false)?);
    let case = DecideInput {
        alpha: level.alpha(),
        status: got.status,
        n_c: Some(got.n_c),
        undefined_reason: got.reason.map(str::to_owned),
        ..DecideInput::plain(got.limits(), Some(margin / bound))
    };
    let decision = decide(&case);
    let notices: Vec<Value> = decision
        .notices
        .iter()
        .map(|n| n.code.as_str().into())
        .collect();
    Ok(difference(&got, bound)
        .with("decision", decision.word.as_str())
        .with("decision_reason", decision.reason)
        .with("notices", notices)
        .with(
            "superior",
            got.lower
                .is_some_and(|l| crate::stats::tolerance::above(l, 0.0)),
        ))
}

fn flip(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let differences = input.numbers("task_differences")?;
    let seed = params
        .find("seed")
        .map_or(Ok(0), |_| params.count("seed"))?;
    let draws = params
        .find("draws")
        .map_or(Ok(FEWEST_DRAWS), |_| params.count32("draws").map(u64::from))?;
    if draws < FEWEST_DRAWS {
        let message = format!("{draws} draws are fewer than {FEWEST_DRAWS}");
        return Err(params.problem("draws", message));
    }
    let clusters = tasks::clusters(input, &[])?;
    let got = clustered_sign_flip(&differences, clusters.as_deref(), Seed(seed), draws)
        .map_err(|e| input.problem("task_differences", e.to_string()))?;
    Ok(Answer::new()
        .number("p_two_sided", got.p_two_sided)
        .number("p_greater", got.p_greater)
        .number("p_less", got.p_less)
        .with("exact", got.exact)
        .with("nonzero", got.nonzero)
        .with("draws", got.draws)
        .with("seed", got.seed))
}

fn tost(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let margin = params.number("margin")?;
    if !(margin > 0.0 && margin.is_finite()) {
        return Err(params.problem("margin", format!("{margin} is not positive")));
    }
    let got = tost_t(&input.numbers("task_differences")?, margin);
    Ok(Answer::new()
        .number("p_noninferior", got.p_noninferior)
        .number("p_nonsuperior", got.p_nonsuperior)
        .reason(got.reason))
}
