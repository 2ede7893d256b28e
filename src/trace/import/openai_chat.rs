//! OpenAI chat logs with `tool_calls`: one record per trial.
//!
//! Top level: a list of records, an object with the list under `results` (or `trials`, `records`,
//! `conversations`), JSON Lines, one record, or bare lists of messages, each a trial. A record holds
//! its messages under `messages`, `traj`, `trajectory` or `conversation`; or it is a recorded
//! exchange with `request` and `response`. Keys that are not read are ignored, since these logs
//! belong to others.
//!
//! Read of a record: `task_id`, `task`, `instance_id`, `case_id` or `id`; `trial`, `trial_index` or
//! `repeat`; `arm`; `reward`; `status`; `error` and `info.error`; `usage`, `cost`, `latency_ms`,
//! `duration`; `initial_state` and `final_state`; and for the digest of the input
//! `info.task.instruction`, `input` or `instruction`.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::mem;

use serde_json::{Map, Value};

use crate::base::{ArmId, Digest, Error, Result, TaskId};
use crate::model::measure::Measure;
use crate::model::trace::{EventKind, ExternalResult, Trace};
use crate::model::trial::{Boundary, RecordedTrial, TrialStatus};
use crate::trace::import::place::Place;
use crate::trace::import::scalar::{self, kind_of, present};
use crate::trace::import::stream::{Shape, each_record};
use crate::trace::import::{ImportOptions, Sink, chat, exchange, redact, status_from_error};
use crate::trace::import::{status, wire_status};

/// Keys under which a record holds its messages.
pub(crate) const MESSAGES: [&str; 4] = ["messages", "traj", "trajectory", "conversation"];
/// Keys under which a top-level object holds its records.
pub(crate) const LISTS: [&str; 4] = ["results", "trials", "records", "conversations"];

/// Reads all trials of an OpenAI chat log.
///
/// # Errors
///
/// An input error that names source, line and record: not JSON, no messages, an unknown role,
/// arguments that are not JSON (unless they are the agent's), a reward that is no number in [0, 1].
pub fn read(input: &mut dyn BufRead, options: &ImportOptions, sink: &mut Sink<'_>) -> Result<()> {
    let sink = &mut redact::before(options, sink);
    let shape = Shape {
        source: &options.source_name,
        lists: &LISTS,
        single: true,
    };
    let mut bare = Bare::default();
    each_record(input, &shape, &mut |value, place| match value {
        Value::Object(message) if is_message(&message) => {
            if bare
                .place
                .is_some_and(|p| place.listed && p.top != place.top)
            {
                bare.flush(options, sink)?;
            }
            bare.place.get_or_insert(place).mended |= place.mended;
            bare.messages.push(Value::Object(message));
            Ok(())
        }
        Value::Object(record) => sink(trial(record, &place, options)?),
        Value::Array(messages) => sink(trial(wrapped(messages), &place, options)?),
        other => {
            let what = format!(
                "expected an object or a list of messages, found {}",
                kind_of(&other)
            );
            Err(place.error(options, what))
        }
    })?;
    bare.flush(options, sink)
}

/// Messages that stand at the top level without a record around them.
#[derive(Default)]
struct Bare {
    messages: Vec<Value>,
    place: Option<Place>,
}

impl Bare {
    fn flush(&mut self, options: &ImportOptions, sink: &mut Sink<'_>) -> Result<()> {
        let Some(place) = self.place.take() else {
            return Ok(());
        };
        // The list of messages is the record, so that its line says where the trial stands.
        let place = Place {
            listed: false,
            ..place
        };
        sink(trial(
            wrapped(mem::take(&mut self.messages)),
            &place,
            options,
        )?)
    }
}

fn is_message(object: &Map<String, Value>) -> bool {
    object.contains_key("role") && !MESSAGES.iter().any(|key| object.contains_key(*key))
}

fn wrapped(messages: Vec<Value>) -> Map<String, Value> {
    Map::from_iter([("messages".to_owned(), Value::Array(messages))])
}

/// Turns one record into a trial.
fn trial(
    mut record: Map<String, Value>,
    place: &Place,
    options: &ImportOptions,
) -> Result<RecordedTrial> {
    let wrong = |why: String| place.error(options, why);
    if exchange::is_exchange(&record) {
        record = exchange::record(record).map_err(wrong)?;
    }
    let messages = take_messages(&mut record);
    if messages.is_none() && present(&record, &["status", "error", "info"]).is_none() {
        return Err(no_messages(place, options));
    }
    let stopped = stopped(&record).map_err(wrong)?;
    let external = external(&record).map_err(wrong)?;
    let (status, trace) = match messages {
        Some(Value::Array(messages)) if !messages.is_empty() => {
            let mut read = chat::conversation(&messages, place, options)?;
            let status = read.settle(stopped);
            // The reward of a broken trial says nothing about the agent.
            let external = external.filter(|_| status.is_valid());
            (status, Some(complete(read.trace, &mut record, external)))
        }
        Some(Value::Array(_) | Value::Null) => (stopped.unwrap_or_else(empty), None),
        None if stopped.as_ref().is_some_and(|s| !s.is_valid()) => {
            (stopped.unwrap_or_else(empty), None)
        }
        None => return Err(no_messages(place, options)),
        Some(other) => return Err(wrong(format!("the messages are {}", kind_of(&other)))),
    };
    Ok(RecordedTrial {
        arm: scalar::name(&record, &["arm"])
            .map_err(wrong)?
            .map(ArmId::new),
        task: task(&record, options).map_err(wrong)?,
        index: index(&record, options).map_err(wrong)?,
        status,
        recorded: recorded(&record, trace.as_ref()).map_err(wrong)?,
        trace,
        input_digest: input(&record).map(Digest::of_json),
        task_metadata: BTreeMap::new(),
        notices: place.notices(),
        place: place.number(),
    })
}

fn take_messages(record: &mut Map<String, Value>) -> Option<Value> {
    let key = MESSAGES.iter().find(|key| record.contains_key(**key))?;
    record.remove(*key)
}

fn no_messages(place: &Place, options: &ImportOptions) -> Error {
    let what = format!("there is no `{}`", MESSAGES.join("`, `"));
    place
        .error(options, what)
        .hint("a chat log has one record per trial, with its messages under one of these keys")
}

/// A trial of which nothing was recorded says nothing about the agent.
fn empty() -> TrialStatus {
    TrialStatus::infra(
        Boundary::Trace,
        "empty_trace",
        "the record holds no messages",
    )
}

/// How the source itself says that the trial ended, if it does.
fn stopped(record: &Map<String, Value>) -> Result<Option<TrialStatus>, String> {
    let stated = wire_status::of(present(record, &["status"]))?;
    let info = record.get("info").and_then(Value::as_object);
    let error = [Some(record), info]
        .into_iter()
        .flatten()
        .find_map(error_of);
    Ok(match (stated, error) {
        (Some(stated), Some(_)) if stated != TrialStatus::Completed => Some(stated),
        (_, Some(error)) => Some(error),
        (stated, None) => stated,
    })
}

/// The status of a recorded exception (tau-bench keeps it in `info`, beside its traceback).
fn error_of(object: &Map<String, Value>) -> Option<TrialStatus> {
    let mut said = ["error", "exception"]
        .iter()
        .filter_map(|key| object.get(*key));
    let text = match said.find(|value| !scalar::is_nothing(value))? {
        Value::String(text) => text.clone(),
        Value::Object(error) => match error.get("message").and_then(Value::as_str) {
            Some(message) => message.to_owned(),
            None => Value::Object(error.clone()).to_string(),
        },
        other => other.to_string(),
    };
    let traceback = object.get("traceback").and_then(Value::as_str);
    Some(status::known_status(&text).unwrap_or_else(|| status_from_error(&text, traceback)))
}

fn external(record: &Map<String, Value>) -> Result<Option<ExternalResult>, String> {
    let info = record.get("info");
    let is_tau = info.is_some_and(|i| i.get("task").is_some() || i.get("reward_info").is_some());
    let provenance = if is_tau { "tau-bench reward" } else { "reward" };
    scalar::external(record.get("reward"), "reward", provenance)
}

/// Adds what the record holds beside its messages.
fn complete(
    mut trace: Trace,
    record: &mut Map<String, Value>,
    external: Option<ExternalResult>,
) -> Trace {
    let mut take = |key: &str| record.remove(key).filter(|value| !value.is_null());
    trace.initial_state = take("initial_state");
    trace.final_state = take("final_state");
    trace.external = external;
    trace
}

fn task(record: &Map<String, Value>, options: &ImportOptions) -> Result<TaskId, String> {
    let named = match record.get("task").and_then(Value::as_object) {
        Some(task) => scalar::name(task, &["id", "task_id"])?,
        None => scalar::name(record, &["task_id", "task", "instance_id", "case_id", "id"])?,
    };
    Ok(TaskId::new(
        named.unwrap_or_else(|| options.default_task.clone()),
    ))
}

fn index(record: &Map<String, Value>, options: &ImportOptions) -> Result<Option<u32>, String> {
    let index = scalar::index(record, &["trial", "trial_index", "repeat"])?;
    let named = present(record, &["task_id", "task", "instance_id", "case_id", "id"]).is_some();
    Ok(index.or(options.default_index.filter(|_| !named)))
}

/// What the agent, or the simulated user on its behalf, was given.
fn input(record: &Map<String, Value>) -> Option<&Value> {
    let instruction = record
        .get("info")
        .and_then(|info| info.get("task")?.get("instruction"));
    instruction
        .filter(|value| !value.is_null())
        .or_else(|| present(record, &["input", "instruction"]))
}

/// Totals of the record; tokens and cost only where the messages don't count their own.
fn recorded(
    record: &Map<String, Value>,
    trace: Option<&Trace>,
) -> Result<BTreeMap<Measure, f64>, String> {
    let mut found = BTreeMap::new();
    let counted = trace.is_some_and(|t| {
        let results = t.events.iter().filter(|e| e.kind == EventKind::ModelResult);
        results.filter_map(|e| e.usage.as_ref()).next().is_some()
    });
    if !counted {
        let usage = scalar::usage(record).unwrap_or_default();
        let tokens = |n: Option<u64>| n.map(|n| n as f64);
        let cost = scalar::amount(record, &["cost_usd", "cost", "total_cost"])?;
        let values = [
            (Measure::InputTokens, tokens(usage.input_tokens)),
            (Measure::OutputTokens, tokens(usage.output_tokens)),
            (Measure::CostUsd, cost.or(usage.cost_usd)),
        ];
        found.extend(values.into_iter().filter_map(|(m, v)| Some((m, v?))));
    }
    let seconds = scalar::amount(record, &["duration_s", "latency_s", "duration"])?;
    let latency = scalar::amount(record, &["latency_ms", "duration_ms"])?;
    if let Some(latency) = latency.or(seconds.map(|s| s * 1000.0)) {
        found.insert(Measure::LatencyMs, latency);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_all(text: &str, change: impl FnOnce(&mut ImportOptions)) -> Result<Vec<RecordedTrial>> {
        let mut options = ImportOptions::new("log.json", "stem");
        change(&mut options);
        let mut trials = vec![];
        read(&mut text.as_bytes(), &options, &mut |trial| {
            trials.push(trial);
            Ok(())
        })?;
        Ok(trials)
    }

    fn kinds(trial: &RecordedTrial) -> Vec<EventKind> {
        let trace = trial.trace.as_ref().unwrap();
        trace.events.iter().map(|e| e.kind).collect()
    }

    #[test]
    fn an_answer_before_a_user_is_a_question_and_the_last_is_final() {
        use EventKind::*;
        let messages = json!([{"role": "assistant", "content": "Hello, how can I help?"},
            {"role": "user", "content": "Refund"}, {"role": "system", "content": "s"},
            {"role": "assistant", "content": "<think>no</think>Which order?", "tool_calls": null},
            {"role": "user", "content": "7"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "x", "function": {"name": "refund", "arguments": "{\"id\": 7}"}}]},
            {"role": "tool", "tool_call_id": "x", "content": "ok"},
            {"role": "assistant", "content": "{\"status\": \"ok\"}"},
            {"role": "user", "content": "###STOP###"}]);
        let trials = read_all(&messages.to_string(), |_| ()).unwrap();
        let expected = [
            TrialStart,
            ModelResult,
            UserMessage,
            ModelResult,
            Question,
            UserMessage,
            ModelResult,
            ToolCall,
            ToolResult,
            ModelResult,
            Final,
            UserMessage,
            TrialEnd,
        ];
        assert_eq!(kinds(&trials[0]), expected);
        let events = &trials[0].trace.as_ref().unwrap().events;
        assert_eq!(events[4].payload, Some(json!("Which order?")));
        assert_eq!(events[10].payload, Some(json!({"status": "ok"})));
        assert_eq!(events[7].payload, Some(json!({"id": 7})));
        assert_eq!(events[8].parent, Some(7));
        assert_eq!(trials[0].status, TrialStatus::Completed);
        assert_eq!(trials[0].task, TaskId::from("stem"));
    }

    #[test]
    fn silence_is_neither_a_final_answer_nor_a_reply() {
        use EventKind::*;
        let user = |text: &str| json!({"role": "user", "content": text});
        let agent = |text: &str| json!({"role": "assistant", "content": text});
        let read = |messages: Value| {
            let trials = read_all(&messages.to_string(), |_| ()).unwrap();
            let shown = |k: &EventKind| matches!(k, Question | Final);
            kinds(&trials[0])
                .into_iter()
                .filter(shown)
                .collect::<Vec<_>>()
        };
        let ended = json!([user("go"), agent("{\"s\": 1}"), user("bye"), agent("")]);
        assert_eq!(read(ended), [Final]);
        let asked = json!([user("go"), agent("Shall I?"), user(" "), agent("done")]);
        assert_eq!(read(asked), [Final]);
        let replied = json!([
            user("go"),
            agent("Shall I?"),
            user(""),
            user("yes"),
            agent("done")
        ]);
        assert_eq!(read(replied), [Question, Final]);
        assert_eq!(read(json!([user("go"), agent("")])), []);
    }

    #[test]
    fn results_with_numbered_ids_answer_their_own_calls() {
        let call =
            |id: u64, name: &str| json!({"id": id, "function": {"name": name, "arguments": "{}"}});
        let result =
            |id: u64, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
        let messages = json!([{"role": "user", "content": "go"},
            {"role": "assistant", "content": null, "tool_calls": [call(1, "pay"), call(2, "look")]},
            result(2, "Error: no"), result(1, "ok"), {"role": "assistant", "content": "done"}]);
        let trials = read_all(&messages.to_string(), |_| ()).unwrap();
        let events = &trials[0].trace.as_ref().unwrap().events;
        let results = events.iter().filter(|e| e.parent.is_some());
        let found: Vec<_> = results.map(|e| (e.capability.as_deref(), e.kind)).collect();
        let expected = [
            (Some("look"), EventKind::ToolError),
            (Some("pay"), EventKind::ToolResult),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_empty_error_is_none() {
        for error in [
            "{}",
            "[]",
            "0",
            "\"\"",
            "false",
            "null",
            "{\"message\": null}",
        ] {
            let text = format!(
                "[{{\"messages\":[{{\"role\":\"assistant\",\"content\":\"x\"}}],\"error\":{error}}}]"
            );
            let trial = &read_all(&text, |_| ()).unwrap()[0];
            assert_eq!(trial.status, TrialStatus::Completed, "{error}");
        }
    }

    #[test]
    fn lists_of_messages_and_lines_of_messages_are_trials() {
        let one =
            "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]";
        let trials = read_all(&format!("{one}\n{one}\n"), |_| ()).unwrap();
        assert_eq!(trials.iter().map(|t| t.place).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(
            read_all(&format!("[{one},{one},{one}]"), |_| ())
                .unwrap()
                .len(),
            3
        );
        let lines =
            "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n";
        let trials = read_all(lines, |_| ()).unwrap();
        assert_eq!((trials.len(), kinds(&trials[0]).len()), (1, 5));
    }

    #[test]
    fn legacy_functions_and_flat_calls_are_read() {
        let record = json!({"task_id": 3, "trial": 1, "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": null,
             "function_call": {"name": "f", "arguments": "null"}},
            {"role": "function", "name": "f", "content": "Error: no"},
            {"role": "assistant", "refusal": "I can't.", "content": null}]});
        let trials = read_all(&record.to_string(), |_| ()).unwrap();
        let trace = trials[0].trace.as_ref().unwrap();
        assert_eq!(trace.events[3].payload, Some(json!({})));
        assert_eq!(trace.events[4].kind, EventKind::ToolError);
        assert_eq!(trace.events[4].parent, Some(3));
        assert_eq!(trace.events[6].payload, Some(json!("I can't.")));
        assert_eq!(trace.notices[0].code, "refusal");
        assert_eq!((trials[0].task.as_str(), trials[0].index), ("3", Some(1)));
    }

    #[test]
    fn a_pending_call_is_truncation_unless_the_source_says_why_it_ended() {
        let record = |extra: &str| {
            format!(
                "{{\"messages\": [{{\"role\":\"assistant\",\"tool_calls\":[{{\"id\":\"1\",\
                 \"function\":{{\"name\":\"f\",\"arguments\":{{}}}}}}]}}]{extra}}}"
            )
        };
        let trial = &read_all(&record(""), |_| ()).unwrap()[0];
        assert_eq!(trial.status.to_string(), "infra:trace:pending_call");
        let truncated = trial.trace.as_ref().unwrap().truncated.as_deref();
        assert_eq!(truncated, Some("pending_call"));
        for (word, status) in [("max_steps", "limit_reached:steps"), ("ok", "completed")] {
            let trial = &read_all(&record(&format!(",\"status\":\"{word}\"")), |_| ()).unwrap()[0];
            assert_eq!(trial.status.to_string(), status);
            assert_eq!(trial.trace.as_ref().unwrap().truncated, None);
        }
    }

    #[test]
    fn malformed_arguments_are_an_error_or_the_agents() {
        let text = json!([{"messages": [{"role": "user", "content": "x"}]}, {"messages": [
            {"role": "assistant", "tool_calls": [
                {"id": "1", "function": {"name": "ok", "arguments": "{}"}},
                {"id": "2", "function": {"name": "refund", "arguments": "{\"a\": NaN}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": ""},
            {"role": "tool", "tool_call_id": "2", "content": "Error: bad"}]}])
        .to_string();
        let error = read_all(&text, |_| ()).unwrap_err().to_string();
        assert!(error.starts_with(
            "log.json:1: record 2: message 1: the arguments of tool call 2 (`refund`)"
        ));
        assert!(error.contains("--malformed-arguments agent"), "{error}");
        let agent =
            |o: &mut ImportOptions| o.malformed_arguments = super::super::MalformedArguments::Agent;
        let trials = read_all(&text, agent).unwrap();
        assert_eq!(
            trials[1].status.to_string(),
            "agent_failed:malformed_arguments"
        );
        let events = &trials[1].trace.as_ref().unwrap().events;
        assert_eq!(
            (events[3].kind, &events[3].payload),
            (EventKind::ToolCall, &None)
        );
        let private = |o: &mut ImportOptions| {
            o.private_tools.insert("refund".to_owned());
        };
        assert!(read_all(&text, private).is_ok());
    }

    #[test]
    fn recorded_errors_are_infrastructure_and_their_reward_is_none() {
        let record = json!({"task_id": 1, "trial": 0, "reward": 0.0, "traj": [],
            "info": {"error": "Error code: 429 - Rate limit", "traceback": "…"}});
        let trial = &read_all(&json!([record]).to_string(), |_| ()).unwrap()[0];
        assert_eq!(trial.status.to_string(), "infra:provider:rate_limit");
        assert_eq!(trial.trace, None);
        let lost = &read_all("[{\"traj\": [], \"reward\": 0.0}]", |_| ()).unwrap()[0];
        assert_eq!(lost.status.to_string(), "infra:trace:empty_trace");
    }

    #[test]
    fn a_wrong_reward_names_its_record() {
        for reward in ["\"1\"", "2", "true", "[]"] {
            let text = format!("[{{\"messages\":[],\"reward\":{reward}}}]");
            let error = read_all(&text, |_| ()).unwrap_err().to_string();
            assert!(
                error.starts_with("log.json:1: record 1: `reward` is"),
                "{error}"
            );
        }
        let absent = read_all(
            "[{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"reward\":null}]",
            |_| (),
        );
        assert_eq!(absent.unwrap()[0].trace.as_ref().unwrap().external, None);
    }

    #[test]
    fn totals_count_only_where_messages_do_not() {
        let text = |usage: &str| {
            format!(
                "{{\"messages\":[{{\"role\":\"assistant\",\"content\":\"x\"{usage}}}],\
                \"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":4}},\"duration\":1.5}}"
            )
        };
        let total = &read_all(&text(""), |_| ()).unwrap()[0].recorded;
        assert_eq!(total[&Measure::InputTokens], 9.0);
        assert_eq!(total[&Measure::LatencyMs], 1500.0);
        let own = &read_all(&text(",\"usage\":{\"prompt_tokens\":3}"), |_| ()).unwrap()[0].recorded;
        assert!(!own.contains_key(&Measure::InputTokens));
    }
}
