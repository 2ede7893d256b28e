//! Planning: tasks needed, trials per task, variance components.

use super::Method;
use super::answer::Answer;
use super::fields::{Fields, Problem};
use super::rates::spreads;
use crate::stats::Level;
use crate::stats::power::{Need, optimal_trials, tasks_within_reach, variance_components};

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "tasks_needed_paired" => needed,
        "optimal_trials_per_task" => optimal,
        "variance_components_binary" => components,
        _ => return None,
    })
}

fn needed(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let variance = match input.optional_number("variance_per_task")? {
        Some(variance) => variance,
        None => {
            let (task, trial) = (
                input.number("sd_task_effect")?,
                input.number("sd_trial_per_arm")?,
            );
            task * task + 2.0 * trial * trial / input.number("trials_per_arm")?
        }
    };
    let need = Need {
        margin: input.number("delta")?,
        assumed_loss: input.optional_number("assumed_loss")?.unwrap_or(0.0),
        variance,
        power: params.optional_number("power")?.unwrap_or(0.8),
        strict: params.flag("strict", false)?,
    };
    let alpha = params.optional_number("alpha_two_sided")?.unwrap_or(0.05);
    let level = Level::new(1.0 - alpha)
        .map_err(|_| params.problem("alpha_two_sided", format!("{alpha} is not in (0, 1)")))?;
    let got = tasks_within_reach(need, level)?;
    Ok(Answer::new()
        .number("variance_per_task", variance)
        .with("tasks", got.map(|needed| needed.tasks))
        .number("mde_at_that_n", got.map(|needed| needed.mde))
        .reason(got.is_none().then_some("more_than_10_to_the_12")))
}

fn optimal(_: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let got = optimal_trials(
        input.number("cost_per_task")?,
        input.number("cost_per_trial")?,
        input.number("var_between")?,
        input.number("var_within")?,
    )?;
    Ok(Answer::new()
        .number("optimal_m_real", got.ok().map(|o| o.real))
        .with("optimal_m", got.ok().map(|o| o.whole))
        .reason(got.err().map(|undefined| undefined.code())))
}

fn components(_: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let got = variance_components(&spreads(input)?);
    Ok(Answer::new()
        .number("var_within", got.within)
        .number("var_between", got.between)
        .number("icc", got.icc)
        .reason(got.reason))
}
