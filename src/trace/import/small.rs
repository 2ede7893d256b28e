//! The small form: `{"tools": [{"name", "arguments"}], "asked_clarification", "final"}`.
//!
//! One object a file, a list of them, or JSON Lines. It has no positions, so a trace made of it says
//! `order_known: false`.
//!
//! Keys are closed where a slip would silently change a verdict: a key that resembles a known one
//! (`asked_clarificaton`) is an error. A key that resembles none is somebody's own and is left out,
//! with the notice `unknown_keys`. `tools` must be there: an absent list of calls is not an empty
//! one.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::{Map, Value};

use crate::base::{ArmId, Error, Result, TaskId};
use crate::model::trace::{EventKind, Trace, TraceSource};
use crate::model::trial::{RecordedTrial, TrialStatus};
use crate::trace::import::builder::{Arguments, Builder};
use crate::trace::import::keys::{self, nearest};
use crate::trace::import::place::Place;
use crate::trace::import::scalar::{self, kind_of};
use crate::trace::import::stream::{Shape, each_record};
use crate::trace::import::{
    ImportOptions, MalformedArguments, Sink, marks, redact, text, wire_status,
};

/// Keys of a trace.
pub(crate) const KEYS: [&str; 12] = [
    "id",
    "task",
    "trial",
    "arm",
    "status",
    "tools",
    "asked_clarification",
    "asked_before",
    "final",
    "state",
    "initial_state",
    "metadata",
];
/// Keys of a call.
const CALL_KEYS: [&str; 6] = ["id", "name", "arguments", "result", "error", "receipt"];

/// Reads all small traces of a source.
///
/// # Errors
///
/// An input error that names source, line and record: not JSON, no `tools`, a misspelt key, a value
/// of the wrong kind.
pub fn read(input: &mut dyn BufRead, options: &ImportOptions, sink: &mut Sink<'_>) -> Result<()> {
    let sink = &mut redact::before(options, sink);
    let shape = Shape {
        source: &options.source_name,
        lists: &[],
        single: true,
    };
    each_record(input, &shape, &mut |value, place| match value {
        Value::Object(record) => sink(trial(record, &place, options)?),
        other => Err(place.error(
            options,
            format!("expected an object, found {}", kind_of(&other)),
        )),
    })
}

fn trial(
    mut record: Map<String, Value>,
    place: &Place,
    options: &ImportOptions,
) -> Result<RecordedTrial> {
    let wrong = |why: String| place.error(options, why);
    let mut builder = Builder::new(options);
    note_unknown(&mut builder, &record, &KEYS, place, options)?;
    let tools = match record.remove("tools") {
        Some(Value::Array(tools)) => tools,
        Some(other) => return Err(wrong(format!("`tools` is not a list: {}", kind_of(&other)))),
        None => {
            return Err(wrong("there is no `tools`".to_owned())
                .hint("write an empty list if no tool was called"));
        }
    };
    let (count, mut malformed) = (tools.len() as u64, false);
    for (i, tool) in tools.into_iter().enumerate() {
        malformed |= call(&mut builder, tool, i, place, options)?;
    }
    // `null` is what the agent gave; only an absent key says that it gave nothing.
    if let Some(payload) = record.remove("final") {
        builder.push(EventKind::Final).payload = Some(final_of(payload));
    }
    let trace = complete(builder.finish(TraceSource::Small), &mut record, count).map_err(wrong)?;
    let stated = wire_status::of(record.get("status")).map_err(wrong)?;
    let named = scalar::name(&record, &["task"]).map_err(wrong)?;
    let named = named.or(scalar::name(&record, &["id"]).map_err(wrong)?);
    let index = scalar::index(&record, &["trial"]).map_err(wrong)?;
    Ok(RecordedTrial {
        arm: scalar::name(&record, &["arm"])
            .map_err(wrong)?
            .map(ArmId::new),
        index: index.or(options.default_index.filter(|_| named.is_none())),
        task: TaskId::new(named.unwrap_or_else(|| options.default_task.clone())),
        status: ended(stated, malformed),
        trace: Some(trace),
        recorded: BTreeMap::new(),
        input_digest: None,
        task_metadata: BTreeMap::new(),
        notices: place.notices(),
        place: place.number(),
    })
}

fn ended(stated: Option<TrialStatus>, malformed: bool) -> TrialStatus {
    match stated {
        Some(status) if status != TrialStatus::Completed => status,
        _ if malformed => TrialStatus::AgentFailed {
            reason: "malformed_arguments".to_owned(),
        },
        _ => TrialStatus::Completed,
    }
}

/// A final text that is JSON as a whole counts as that JSON.
fn final_of(payload: Value) -> Value {
    match payload {
        Value::String(said) => text::final_payload(&marks::visible(&said).unwrap_or_default()),
        other => other,
    }
}

fn complete(
    mut trace: Trace,
    record: &mut Map<String, Value>,
    calls: u64,
) -> Result<Trace, String> {
    trace.order_known = false;
    trace.asked = scalar::flag(record, "asked_clarification")?;
    trace.asked_before = match scalar::present(record, &["asked_before"]) {
        None => None,
        Some(value) => match value.as_u64().filter(|index| *index <= calls) {
            Some(index) => Some(index),
            None => return Err(not_an_index(value, calls)),
        },
    };
    if trace.asked == Some(false) && trace.asked_before.is_some() {
        let said = "`asked_before` says that the user was asked, `asked_clarification` that not";
        return Err(said.to_owned());
    }
    if trace.asked_before.is_some() {
        trace.asked = Some(true);
    }
    let mut take = |key: &str| record.remove(key).filter(|value| !value.is_null());
    trace.initial_state = take("initial_state");
    trace.final_state = take("state");
    Ok(trace)
}

fn not_an_index(value: &Value, calls: u64) -> String {
    format!(
        "`asked_before` is {}, but must be the index of the call that the question preceded: \
         0 to {calls}",
        kind_of(value)
    )
}

/// Adds a call with its result; returns whether its arguments are malformed.
fn call(
    builder: &mut Builder<'_>,
    tool: Value,
    number: usize,
    place: &Place,
    options: &ImportOptions,
) -> Result<bool> {
    let wrong = |why: String| place.error(options, format!("tool {}: {why}", number + 1));
    let Value::Object(mut tool) = tool else {
        return Err(wrong(format!(
            "expected an object, found {}",
            kind_of(&tool)
        )));
    };
    note_unknown(builder, &tool, &CALL_KEYS, place, options)?;
    let name = scalar::name(&tool, &["name"]).map_err(wrong)?;
    let Some(name) = name else {
        return Err(wrong("there is no `name`".to_owned()));
    };
    let id = scalar::name(&tool, &["id"]).map_err(wrong)?;
    let arguments = arguments(&mut tool, options);
    let malformed = matches!(arguments, Arguments::Malformed(_));
    if malformed && options.malformed_arguments == MalformedArguments::Error {
        return Err(wrong(format!("the `arguments` of `{name}` are not JSON"))
            .hint("if the agent itself wrote them so, set `malformed_arguments` to `agent`"));
    }
    let receipt = scalar::name(&tool, &["receipt"]).map_err(wrong)?;
    builder.turn();
    builder.call(id.clone(), Some(name.clone()), arguments);
    let mut take = |key: &str| tool.remove(key).filter(|value| !value.is_null());
    let (result, error) = (take("result"), take("error"));
    if result.is_some() || error.is_some() || receipt.is_some() {
        let failed = error.as_ref().map(|_| true);
        let event = builder.result(id, Some(name), error.or(result), failed);
        event.effect_receipt = receipt;
    }
    Ok(malformed)
}

/// Arguments are an object, or the text of one as chat APIs give it; none at all is an empty one.
fn arguments(tool: &mut Map<String, Value>, options: &ImportOptions) -> Arguments {
    let private = tool
        .get("name")
        .and_then(Value::as_str)
        .is_some_and(|name| options.is_private(name));
    let none = || Arguments::Read(Value::Object(Map::new()));
    match tool.remove("arguments") {
        None | Some(Value::Null) => none(),
        Some(Value::String(text)) => match text::parsed(&text) {
            Ok(Value::Null) => none(),
            Ok(value) => Arguments::Read(value),
            Err(_) if private => Arguments::Read(Value::String(text)),
            Err(_) => Arguments::Malformed(text),
        },
        Some(value) => Arguments::Read(value),
    }
}

/// Refuses a misspelt key, and notes keys that are nobody's slip.
fn note_unknown(
    builder: &mut Builder<'_>,
    object: &Map<String, Value>,
    known: &[&str],
    place: &Place,
    options: &ImportOptions,
) -> Result<()> {
    let strange: Vec<&str> = object
        .keys()
        .map(String::as_str)
        .filter(|key| !known.contains(key))
        .collect();
    if let Some(slip) = strange.iter().find(|key| nearest(key, known).is_some()) {
        return Err(unknown_key(slip, known, place, options));
    }
    if !strange.is_empty() {
        builder.notice("unknown_keys", format!("left out: {}", strange.join(", ")));
    }
    Ok(())
}

fn unknown_key(key: &str, known: &[&str], place: &Place, options: &ImportOptions) -> Error {
    let (what, hint) = keys::unknown("key", key, known);
    place.error(options, what).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_all(text: &str) -> Result<Vec<RecordedTrial>> {
        let mut options = ImportOptions::new("t.json", "stem");
        options.private_tools.insert("think".to_owned());
        options.default_index = Some(2);
        let mut trials = vec![];
        read(&mut text.as_bytes(), &options, &mut |trial| {
            trials.push(trial);
            Ok(())
        })?;
        Ok(trials)
    }

    #[test]
    fn calls_results_receipts_and_final() {
        let text = json!({"tools": [
            {"name": "think", "arguments": {"x": 1}, "result": "secret"},
            {"name": "get_order", "arguments": {"order_id": "1842"}},
            {"name": "refund", "arguments": null, "result": {"ok": true}, "receipt": "r:1"},
            {"name": "refund", "error": "declined"}],
            "asked_clarification": true, "asked_before": 2, "final": {"status": "ok"},
            "state": {"a": 1}, "latency": 3})
        .to_string();
        let trial = &read_all(&text).unwrap()[0];
        assert_eq!((trial.task.as_str(), trial.index), ("stem", Some(2)));
        let trace = trial.trace.as_ref().unwrap();
        let kinds: Vec<_> = trace.events.iter().map(|e| e.kind).collect();
        use EventKind::*;
        let expected = [
            TrialStart, ToolCall, ToolResult, ToolCall, ToolCall, ToolResult, ToolCall, ToolError,
            Final, TrialEnd,
        ];
        assert_eq!(kinds, expected);
        assert!(trace.events[1].payload.is_none() && trace.events[2].payload.is_none());
        assert_eq!(trace.events[4].payload, Some(json!({})));
        assert_eq!(trace.events[5].effect_receipt.as_deref(), Some("r:1"));
        assert_eq!((trace.asked, trace.asked_before), (Some(true), Some(2)));
        assert!(!trace.order_known);
        assert_eq!(trace.final_state, Some(json!({"a": 1})));
        assert_eq!(trace.notices[0].detail, "left out: latency");
    }

    #[test]
    fn what_would_change_a_verdict_is_an_error() {
        for (text, part) in [
            (
                "{\"tools\": [], \"asked_clarificaton\": true}",
                "did you mean `asked_clarification`?",
            ),
            ("{\"final\": {}}", "there is no `tools`"),
            ("{\"tools\": [{\"nmae\": \"x\"}]}", "did you mean `name`?"),
            (
                "{\"tools\": [{\"arguments\": {}}]}",
                "tool 1: there is no `name`",
            ),
            (
                "{\"tools\": [], \"asked_before\": 1}",
                "`asked_before` is 1",
            ),
            (
                "{\"tools\": [], \"asked_clarification\": \"yes\"}",
                "not true or false",
            ),
            (
                "{\"tools\": [{\"name\": \"x\", \"arguments\": \"{\"}]}",
                "are not JSON",
            ),
            (
                "{\"tools\": [], \"trial\": 1.5}",
                "`trial` is not a trial number",
            ),
        ] {
            let error = read_all(text).unwrap_err().to_string();
            assert!(error.starts_with("t.json:1: record 1: "), "{error}");
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn lists_and_lines_are_read_and_absence_stays() {
        let one = "{\"task\": \"a\", \"tools\": [], \"final\": null}";
        let trials = read_all(&format!("[{one}, {one}]")).unwrap();
        assert_eq!(
            (trials.len(), trials[1].place, trials[1].index),
            (2, 2, None)
        );
        let trials = read_all(&format!(
            "{one}\n{{\"id\": \"b\", \"tools\": [], \"status\": \"429\"}}\n"
        ))
        .unwrap();
        assert_eq!((trials[1].task.as_str(), trials[1].place), ("b", 2));
        assert_eq!(trials[1].status.to_string(), "infra:provider:rate_limit");
        let trace = trials[0].trace.as_ref().unwrap();
        assert_eq!((trace.asked, trace.events.len()), (None, 3));
        assert_eq!(trace.events[1].payload, Some(json!(null)));
        assert_eq!(trials[1].trace.as_ref().unwrap().events.len(), 2);
    }
}
