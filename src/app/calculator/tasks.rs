//! Reading tasks, weights and clusters.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::fields::{Fields, Problem};
use crate::stats::missing::PartialTask;
use crate::stats::sample::TaskScore;
use crate::stats::units::Weights;

/// `successes` and `trials` of every task.
pub(super) fn scores(tasks: &[Fields]) -> Result<Vec<TaskScore>, Problem> {
    tasks
        .iter()
        .map(|t| {
            Ok(TaskScore {
                sum: t.number("successes")?,
                trials: t.count32("trials")?,
            })
        })
        .collect()
}

/// `successes`, `observed` and `missing` of every task.
pub(super) fn partial(tasks: &[Fields]) -> Result<Vec<PartialTask>, Problem> {
    tasks
        .iter()
        .map(|t| {
            Ok(PartialTask {
                sum: t.number("successes")?,
                observed: t.count32("observed")?,
                missing: t.count32("missing")?,
            })
        })
        .collect()
}

/// A task's name: `task`, or its position.
pub(super) fn name(task: &Fields, index: usize) -> Result<String, Problem> {
    Ok(task
        .optional_text("task")?
        .map_or_else(|| format!("#{index}"), str::to_owned))
}

/// `weights` as a word or a list; `explicit` takes the field `weight` of every task.
pub(super) fn weights(input: &Fields, tasks: &[Fields]) -> Result<Weights, Problem> {
    let Some(given) = input.find("weights") else {
        return Ok(Weights::EqualTask);
    };
    if given.is_array() {
        return Ok(Weights::Explicit(input.numbers("weights")?));
    }
    match input.text("weights")? {
        "equal_task" => Ok(Weights::EqualTask),
        "trials" => Ok(Weights::Trials),
        "equal_cluster" => Ok(Weights::EqualCluster),
        "explicit" => {
            let each: Result<Vec<f64>, Problem> =
                tasks.iter().map(|t| t.number("weight")).collect();
            Ok(Weights::Explicit(each?))
        }
        other => Err(input.problem("weights", format!("`{other}` is not a kind of weights"))),
    }
}

/// `cluster` as the name of the tasks' label field, or as a list of labels.
///
/// # Errors
///
/// Also if two tasks have one name, unless names are the clusters: they would count as independent.
pub(super) fn clusters(input: &Fields, tasks: &[Fields]) -> Result<Option<Vec<u32>>, Problem> {
    if input.find("cluster").and_then(Value::as_str) != Some("task") {
        distinct(tasks)?;
    }
    match input.find("cluster") {
        None => Ok(None),
        Some(Value::Array(labels)) => Ok(Some(number_labels(labels.iter()))),
        Some(Value::String(field)) => {
            let labels: Option<Vec<&Value>> = tasks.iter().map(|t| t.find(field)).collect();
            let missing = || input.problem("cluster", format!("a task has no field `{field}`"));
            Ok(Some(number_labels(labels.ok_or_else(missing)?.into_iter())))
        }
        Some(_) => Err(input.problem("cluster", "neither a field name nor a list of labels")),
    }
}

pub(super) fn distinct(tasks: &[Fields]) -> Result<(), Problem> {
    let mut seen = HashSet::new();
    for task in tasks {
        if let Some(name) = task
            .find("task")
            .filter(|name| !seen.insert(name.to_string()))
        {
            return Err(task.problem("task", format!("there are two tasks {name}")));
        }
    }
    Ok(())
}

fn number_labels<'a>(labels: impl Iterator<Item = &'a Value>) -> Vec<u32> {
    let mut seen = HashMap::new();
    labels
        .map(|label| {
            let next = seen.len() as u32;
            *seen.entry(label.to_string()).or_insert(next)
        })
        .collect()
}
