//! pass@k and pass^k.

use serde_json::Value;

use super::answer::{Answer, number};
use super::fields::{Fields, Problem};
use super::rates::rate;
use super::{Method, tasks};
use crate::stats::pass_k::{PassKind, Successes, pass_k};

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "pass_at_k" => |p, i| run(PassKind::At, p, i),
        "pass_hat_k" => |p, i| run(PassKind::Hat, p, i),
        _ => return None,
    })
}

/// Largest k, as each costs a step per task.
const MOST_TRIALS: u32 = 1_000_000;

fn run(kind: PassKind, params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let list = input.objects("tasks")?;
    let counts: Result<Vec<Successes>, Problem> = list
        .iter()
        .map(|t| {
            Ok(Successes {
                trials: t.count32("n")?,
                successes: t.count32("c")?,
            })
        })
        .collect();
    let (weights, clusters) = (
        tasks::weights(input, &list)?,
        tasks::clusters(input, &list)?,
    );
    let k = params.count32("k")?;
    if k > MOST_TRIALS {
        return Err(params.problem("k", format!("{k} is more than {MOST_TRIALS}")));
    }
    let got = pass_k(
        kind,
        &counts?,
        k,
        clusters.as_deref(),
        &weights,
        params.level()?,
    )?;
    let per_task: Value = got.per_task.iter().map(|&v| number(v)).collect();
    Ok(rate(&got.rate)
        .with("per_task", per_task)
        .number("se", got.se)
        .with("tasks_used", got.tasks_used)
        .with("tasks_excluded", got.tasks_excluded))
}
