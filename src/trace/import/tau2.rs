//! tau2-bench result files: an object whose `simulations` are the trials.
//!
//! The long `tasks` and `info` are skipped without being kept.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::{Map, Value};

use crate::base::{Result, TaskId};
use crate::model::measure::Measure;
use crate::model::trial::{Boundary, RecordedTrial, TrialStatus};
use crate::trace::import::place::Place;
use crate::trace::import::scalar::{self, kind_of};
use crate::trace::import::stream::{Shape, each_record};
use crate::trace::import::{ImportOptions, Sink, chat, redact, status_from_word};

/// Reads all simulations of a tau2 result file.
///
/// Calls and results whose `requestor` is the user belong to the simulated user and are left out.
/// `duration` becomes the latency; a cost per simulation counts only if the messages carry none.
///
/// # Errors
///
/// An input error that names source, line and simulation.
pub fn read(input: &mut dyn BufRead, options: &ImportOptions, sink: &mut Sink<'_>) -> Result<()> {
    let sink = &mut redact::before(options, sink);
    let shape = Shape {
        source: &options.source_name,
        lists: &["simulations"],
        single: false,
    };
    each_record(input, &shape, &mut |value, place| match value {
        Value::Object(simulation) => sink(trial(simulation, &place, options)?),
        other => Err(place.error(options, format!("a simulation is {}", kind_of(&other)))),
    })
}

fn trial(
    mut simulation: Map<String, Value>,
    place: &Place,
    options: &ImportOptions,
) -> Result<RecordedTrial> {
    let wrong = |why: String| place.error(options, why);
    let Some(Value::Array(messages)) = simulation.remove("messages") else {
        return Err(wrong("there is no list `messages`".to_owned()));
    };
    let ended = match simulation.get("termination_reason") {
        None | Some(Value::Null) => None,
        Some(Value::String(reason)) => Some(termination(reason)),
        Some(other) => return Err(wrong(format!("`termination_reason` is {}", kind_of(other)))),
    };
    let mut read = chat::conversation(&messages, place, options)?;
    let status = read.settle(ended);
    let reward = simulation
        .get("reward_info")
        .and_then(|info| info.get("reward"));
    let external = scalar::external(reward, "reward_info.reward", "tau2 reward").map_err(wrong)?;
    let recorded = recorded(&simulation, &read).map_err(wrong)?;
    let task = scalar::name(&simulation, &["task_id"]).map_err(wrong)?;
    // The reward of a broken trial says nothing about the agent.
    read.trace.external = external.filter(|_| status.is_valid());
    Ok(RecordedTrial {
        arm: None,
        task: TaskId::new(task.unwrap_or_else(|| options.default_task.clone())),
        index: scalar::index(&simulation, &["trial"]).map_err(wrong)?,
        status,
        trace: Some(read.trace),
        recorded,
        input_digest: None,
        task_metadata: BTreeMap::new(),
        notices: place.notices(),
        place: place.number(),
    })
}

/// What tau2's reasons for ending mean.
fn termination(reason: &str) -> TrialStatus {
    match reason {
        "user_stop" | "agent_stop" => TrialStatus::Completed,
        "agent_error" => TrialStatus::AgentFailed {
            reason: reason.to_owned(),
        },
        "user_error" | "infrastructure_error" | "unexpected_error" => {
            TrialStatus::infra(Boundary::Runner, reason, "")
        }
        other => status_from_word(other),
    }
}

fn recorded(
    simulation: &Map<String, Value>,
    read: &chat::Read,
) -> Result<BTreeMap<Measure, f64>, String> {
    let seconds = scalar::amount(simulation, &["duration"])?;
    let cost = scalar::amount(simulation, &["agent_cost"])?;
    let usages = read.trace.events.iter().filter_map(|e| e.usage.as_ref());
    let priced = usages.filter_map(|u| u.cost_usd).next().is_some();
    let values = [
        (Measure::LatencyMs, seconds.map(|s| s * 1000.0)),
        (Measure::CostUsd, cost.filter(|_| !priced)),
    ];
    Ok(values
        .into_iter()
        .filter_map(|(m, v)| Some((m, v?)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::trace::EventKind;
    use serde_json::json;

    fn read_all(value: Value) -> Result<Vec<RecordedTrial>> {
        let options = ImportOptions::new("tau2.json", "stem");
        let mut trials = vec![];
        read(&mut value.to_string().as_bytes(), &options, &mut |trial| {
            trials.push(trial);
            Ok(())
        })?;
        Ok(trials)
    }

    fn ended(reason: &str) -> String {
        let simulation = json!({"task_id": "1", "trial": 0, "messages": [],
            "reward_info": {"reward": 0.0}, "termination_reason": reason});
        let trials = read_all(json!({"tasks": [{}], "simulations": [simulation]})).unwrap();
        trials[0].status.to_string()
    }

    #[test]
    fn reasons_for_ending() {
        for (reason, status) in [
            ("user_stop", "completed"),
            ("agent_stop", "completed"),
            ("max_steps", "limit_reached:steps"),
            ("too_many_errors", "limit_reached:errors"),
            ("agent_error", "agent_failed:agent_error"),
            ("user_error", "infra:runner:user_error"),
            ("infrastructure_error", "infra:runner:infrastructure_error"),
            ("unexpected", "infra:runner:unexpected"),
            ("moonlight", "infra:runner:unknown_status"),
        ] {
            assert_eq!(ended(reason), status);
        }
    }

    #[test]
    fn the_users_own_tools_are_left_out_and_a_null_reward_is_absent() {
        let simulation = json!({"task_id": "t", "trial": 2, "reward_info": null, "duration": 1.5,
            "termination_reason": "user_stop", "messages": [
            {"role": "user", "content": null,
             "tool_calls": [{"id": "u", "name": "toggle", "arguments": {}, "requestor": "user"}]},
            {"role": "tool", "id": "u", "content": "done", "requestor": "user"},
            {"role": "assistant", "content": null, "cost": 0.5, "usage": {"prompt_tokens": 3},
             "tool_calls": [{"id": "a", "name": "look", "arguments": {"x": 1}, "requestor": "assistant"}]},
            {"role": "tool", "id": "a", "content": "no", "requestor": "assistant", "error": true}]});
        let trials = read_all(json!({"simulations": [simulation]})).unwrap();
        let trace = trials[0].trace.as_ref().unwrap();
        let kinds: Vec<_> = trace.events.iter().map(|e| e.kind).collect();
        use EventKind::*;
        assert_eq!(
            kinds,
            [TrialStart, ModelResult, ToolCall, ToolError, TrialEnd]
        );
        assert_eq!(trace.events[2].payload, Some(json!({"x": 1})));
        assert_eq!(trace.events[3].parent, Some(2));
        assert_eq!(trace.events[1].usage.as_ref().unwrap().cost_usd, Some(0.5));
        assert_eq!(trace.external, None);
        assert_eq!(trials[0].recorded[&Measure::LatencyMs], 1500.0);
        assert_eq!(trials[0].index, Some(2));
    }

    #[test]
    fn a_file_without_simulations_is_refused() {
        let error = read_all(json!({"tasks": []})).unwrap_err().to_string();
        assert!(error.contains("no list `simulations`"), "{error}");
    }
}
