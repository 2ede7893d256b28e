//! Bounds for what is missing.

use super::answer::{Answer, number};
use super::fields::{Fields, Problem};
use super::{Method, tasks};
use crate::stats::missing::{
    PooledArm, manski_bounds, manski_difference, manski_tasks, missing_comparison,
};
use crate::stats::paired::DifferenceEstimate;

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "manski_bounds" => pooled,
        "manski_bounds_tasks" => by_task,
        "manski_difference_tasks" => difference,
        "missing_comparison" => comparison,
        _ => return None,
    })
}

fn arm(fields: &Fields) -> Result<PooledArm, Problem> {
    let arm = PooledArm {
        successes: fields.number("successes")?,
        observed: fields.count("observed")?,
        missing: fields.count("missing")?,
    };
    if !(arm.successes >= 0.0 && arm.successes <= arm.observed as f64) {
        let message = format!("{} of {} observed", arm.successes, arm.observed);
        return Err(fields.problem("successes", message));
    }
    Ok(arm)
}

fn pooled(_: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let arm = arm(input)?;
    let got = manski_bounds(arm.successes, arm.observed, arm.missing);
    Ok(Answer::new()
        .number("complete_case", got.complete_case)
        .number("worst", got.worst)
        .number("best", got.best)
        .number("missing_rate", got.missing_rate)
        .reason(got.complete_case.is_none().then_some("no_valid_trials")))
}

fn by_task(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let list = input.objects("tasks")?;
    let (weights, clusters) = (
        tasks::weights(input, &list)?,
        tasks::clusters(input, &list)?,
    );
    let partial = tasks::partial(&list)?;
    let got = manski_tasks(&partial, clusters.as_deref(), &weights, params.level()?)?;
    Ok(Answer::new()
        .number("worst", got.worst)
        .number("best", got.best)
        .number("missing_rate", got.missing_rate)
        .why(
            "missing_rate_reason",
            got.missing_rate.is_none().then_some("no_planned_trials"),
        )
        .number("lower", got.lower)
        .number("upper", got.upper)
        .with(
            "status",
            got.worst_rate.status.min(got.best_rate.status).as_str(),
        )
        .reason(got.worst_rate.reason))
}

fn difference(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    params.only("estimand", "b-a")?;
    let (a, b) = (input.objects("a")?, input.objects("b")?);
    for (i, (x, y)) in a.iter().zip(&b).enumerate() {
        if tasks::name(x, i)? != tasks::name(y, i)? {
            return Err(input.problem("b", format!("task {i} (from 0) is another than in `a`")));
        }
    }
    let (weights, clusters) = (tasks::weights(input, &a)?, tasks::clusters(input, &a)?);
    let (level, strict) = (params.level()?, params.flag("strict", false)?);
    let (pa, pb) = (tasks::partial(&a)?, tasks::partial(&b)?);
    let got = manski_difference(&pa, &pb, clusters.as_deref(), &weights, level, strict)?;
    let interval = |d: &DifferenceEstimate| vec![number(d.lower), number(d.upper)];
    Ok(Answer::new()
        .number("worst", got.worst.estimate)
        .number("best", got.best.estimate)
        .with("worst_interval", interval(&got.worst))
        .with("best_interval", interval(&got.best))
        .with("status", got.worst.status.min(got.best.status).as_str())
        .reason(got.worst.reason))
}

fn comparison(_: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let got = missing_comparison(arm(&input.object("a")?)?, arm(&input.object("b")?)?);
    Ok(Answer::new()
        .number("diff_complete_case", got.diff_complete_case)
        .number("diff_worst", got.diff_worst)
        .number("diff_best", got.diff_best)
        .number("missing_fisher_p", got.missing_fisher_p)
        .with("sign_decidable", got.sign_decidable)
        .reason(
            got.diff_complete_case
                .is_none()
                .then_some("no_valid_trials"),
        ))
}
