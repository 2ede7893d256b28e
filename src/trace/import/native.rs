//! Assize's own events, one JSON object a line; many trials may stand interleaved in one file.
//!
//! The minimal schema (`run_id`, `sequence`, `kind`, `capability`, `elapsed_ms`, `effect_receipt`,
//! `payload_preview`, `policy_version`) is read as it is: without hashes, with the notice
//! `unchained`. A trial is named by its `trial_id`; without one by `run_id`, `arm`, `task` and
//! `trial`, and where these too are missing the file is one trial. Keys and kinds are closed.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use serde_json::{Map, Value};

use crate::base::surrogate::mended_bytes;
use crate::base::{Error, Result};
use crate::trace::chain::{KEYS, KINDS, WireEvent};
use crate::trace::import::group::{Group, Line};
use crate::trace::import::problem::{Stop, explain, read_trouble, reason};
use crate::trace::import::stream::skip_byte_order_mark;
use crate::trace::import::{ImportOptions, Sink, keys, redact};

/// Reads all trials of an event log.
///
/// A trial is passed on when all its events up to its `trial_end` are there, in whatever order their
/// lines stand, so that only unfinished ones are held in memory; at the end of the source the
/// unfinished ones follow, marked as truncated.
///
/// # Errors
///
/// An input error that names source and line: not JSON, an unknown key or kind, two trials with one
/// id, two events with one sequence, two tasks, arms or trial numbers of one trial.
pub fn read(input: &mut dyn BufRead, options: &ImportOptions, sink: &mut Sink<'_>) -> Result<()> {
    let sink = &mut redact::before(options, sink);
    let trouble = |error: std::io::Error, line: u64| {
        read_trouble(error.kind(), &error.to_string(), &options.source_name, line)
    };
    skip_byte_order_mark(input).map_err(|error| trouble(error, 1))?;
    let mut trials = Trials::default();
    let (mut bytes, mut number) = (Vec::new(), 0);
    loop {
        bytes.clear();
        let read = input.read_until(b'\n', &mut bytes);
        number += 1;
        if read.map_err(|error| trouble(error, number))? == 0 {
            break;
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let mended = mended_bytes(&bytes);
        let mut line = parse(mended.as_deref().unwrap_or(&bytes), number, options)?;
        line.mended = mended.is_some();
        if let Some(group) = trials.add(line, options)? {
            sink(group.into_trial(options)?)?;
        }
    }
    for group in trials.rest() {
        sink(group.into_trial(options)?)?;
    }
    Ok(())
}

/// Reads one line.
fn parse(bytes: &[u8], number: u64, options: &ImportOptions) -> Result<Line> {
    let source = &options.source_name;
    let raw: Map<String, Value> = serde_json::from_slice(bytes).map_err(|error| {
        let upto = error.column().min(bytes.len());
        explain(
            &error,
            &Stop {
                source,
                record: number,
                start: number,
                line: number,
                tail: &bytes[upto.saturating_sub(16)..upto],
            },
        )
    })?;
    let unknown = |what: &str, word: &str, known: &[&str]| {
        let (what, hint) = keys::unknown(what, word, known);
        Error::input(what).at(source, number).hint(hint)
    };
    if let Some(key) = raw.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(unknown("key", key, &KEYS));
    }
    for key in ["sequence", "kind"] {
        if !raw.contains_key(key) {
            return Err(Error::input(format!("there is no `{key}`")).at(source, number));
        }
    }
    if let Some(kind) = raw["kind"].as_str().filter(|kind| !KINDS.contains(kind)) {
        return Err(unknown("kind", kind, &KINDS));
    }
    let wire: WireEvent = serde_json::from_value(Value::Object(raw.clone())).map_err(|error| {
        Error::input(format!("not an event: {}", reason(&error))).at(source, number)
    })?;
    Ok(Line {
        raw,
        wire,
        number,
        mended: false,
    })
}

/// Trials that have begun, by their key in the order of beginning, and those that have ended.
#[derive(Default)]
struct Trials {
    open: BTreeMap<u64, Group>,
    keys: HashMap<String, u64>,
    /// Where a trial ended; only this much is kept of it.
    ended: HashMap<String, u64>,
    begun: u64,
}

impl Trials {
    /// Adds a line; returns the group if this was its last.
    fn add(&mut self, line: Line, options: &ImportOptions) -> Result<Option<Group>> {
        let key = key(&line.wire);
        let number = line.number;
        if let Some(ended) = self.ended.get(&key) {
            return Err(twice(&line, "ended", *ended, options));
        }
        let at = match self.keys.get(&key) {
            Some(at) => *at,
            None => {
                self.begun += 1;
                self.keys.insert(key.clone(), self.begun);
                self.begun
            }
        };
        match self.open.get_mut(&at) {
            Some(group) => {
                if let Some(earlier) = group.line_of(line.wire.sequence) {
                    return Err(twice(&line, "has this sequence already", earlier, options));
                }
                group.add(line, options)?;
            }
            None => drop(self.open.insert(at, Group::new(line, options)?)),
        }
        if !self.open.get(&at).is_some_and(Group::is_complete) {
            return Ok(None);
        }
        self.keys.remove(&key);
        self.ended.insert(key, number);
        Ok(self.open.remove(&at))
    }

    fn rest(self) -> impl Iterator<Item = Group> {
        self.open.into_values()
    }
}

/// What names the trial of an event within its file.
fn key(wire: &WireEvent) -> String {
    if let Some(id) = &wire.trial_id {
        return id.clone();
    }
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let trial = wire.trial.map(|trial| trial.to_string());
    [
        text(&wire.run_id),
        text(&wire.arm),
        text(&wire.task),
        text(&trial),
    ]
    .join("\u{0}")
}

fn twice(line: &Line, what: &str, earlier: u64, options: &ImportOptions) -> Error {
    let wire = &line.wire;
    let name = wire.trial_id.as_ref().or(wire.run_id.as_ref());
    let name = name.map_or("of this file", String::as_str);
    Error::input(format!(
        "two trials with one id: event {} belongs to trial `{name}`, which {what} on line {earlier}",
        wire.sequence
    ))
    .at(&options.source_name, line.number)
    .hint("give every trial its own `trial_id`, and every event its own `sequence`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::trace::{EventKind, TraceSource};
    use crate::model::trial::RecordedTrial;

    fn read_all(text: &str) -> Result<Vec<RecordedTrial>> {
        let mut options = ImportOptions::new("log.jsonl", "refund");
        options.default_index = Some(3);
        options.private_tools.insert("think".to_owned());
        let mut trials = vec![];
        read(&mut text.as_bytes(), &options, &mut |trial| {
            trials.push(trial);
            Ok(())
        })?;
        Ok(trials)
    }

    fn line(trial: &str, sequence: u64, kind: &str, more: &str) -> String {
        format!("{{\"trial_id\":\"{trial}\",\"sequence\":{sequence},\"kind\":\"{kind}\"{more}}}\n")
    }

    #[test]
    fn the_minimal_schema_is_read_as_it_is() {
        let text = "{\"run_id\":\"run-01\",\"sequence\":0,\"kind\":\"trial_start\"}\n\n\
            {\"run_id\":\"run-01\",\"sequence\":1,\"kind\":\"tool_result\",\"capability\":\"create_ticket\",\
             \"elapsed_ms\":142.4,\"effect_receipt\":\"ticket:1842\",\
             \"payload_preview\":{\"status\":\"created\"},\"policy_version\":\"effects-v3\"}\n\
            {\"run_id\":\"run-01\",\"sequence\":2,\"kind\":\"trial_end\"}\n";
        let trial = &read_all(text).unwrap()[0];
        assert_eq!(
            (trial.task.as_str(), trial.index, trial.place),
            ("refund", Some(3), 1)
        );
        assert_eq!(trial.status, crate::model::trial::TrialStatus::Completed);
        let trace = trial.trace.as_ref().unwrap();
        assert_eq!(trace.notices[0].code, "unchained");
        let event = &trace.events[1];
        assert_eq!(
            event.payload,
            Some(serde_json::json!({"status": "created"}))
        );
        assert_eq!(
            (event.elapsed_ms, event.effect_receipt.as_deref()),
            (Some(142), Some("ticket:1842"))
        );
    }

    #[test]
    fn trials_stand_interleaved_and_out_of_order() {
        let text = [
            line("a", 0, "trial_start", ",\"task\":\"t1\",\"trial\":1"),
            line("b", 0, "trial_start", ",\"task\":\"t2\",\"arm\":\"x\""),
            line("a", 2, "tool_result", ""),
            line("a", 1, "tool_call", ""),
            line(
                "b",
                1,
                "trial_end",
                ",\"payload\":{\"status\":\"429\",\"state\":{\"s\":1}}",
            ),
            line(
                "a",
                3,
                "trial_end",
                ",\"payload\":{\"external\":{\"value\":1,\"provenance\":\"p\"}}",
            ),
        ]
        .concat();
        let trials = read_all(&text).unwrap();
        let names: Vec<_> = trials.iter().map(|t| (t.task.as_str(), t.index)).collect();
        assert_eq!(names, [("t2", None), ("t1", Some(1))]);
        assert_eq!(trials[0].status.to_string(), "infra:provider:rate_limit");
        let trace = trials[0].trace.as_ref().unwrap();
        assert_eq!(trace.final_state, Some(serde_json::json!({"s": 1})));
        let trace = trials[1].trace.as_ref().unwrap();
        assert!(trace.events.iter().map(|e| e.sequence).eq(0..4));
        assert_eq!(trace.external.as_ref().unwrap().provenance, "p");
        assert_eq!(trace.source, TraceSource::Native);
    }

    #[test]
    fn a_trial_may_end_before_its_last_line() {
        let text = [
            line("a", 2, "trial_end", ""),
            line("a", 0, "trial_start", ""),
            line("b", 0, "trial_start", ""),
            line("a", 1, "final", ""),
            line("b", 1, "trial_end", ""),
        ]
        .concat();
        let trials = read_all(&text).unwrap();
        let events: Vec<usize> = trials
            .iter()
            .map(|t| t.trace.as_ref().unwrap().events.len())
            .collect();
        assert_eq!(events, [3, 2]);
        assert!(trials.iter().all(|t| t.status.is_valid()));
    }

    #[test]
    fn an_incomplete_trial_is_infrastructure() {
        let gap = [
            line("a", 0, "trial_start", ""),
            line("a", 2, "trial_end", ""),
        ]
        .concat();
        let trial = &read_all(&gap).unwrap()[0];
        assert_eq!(trial.status.to_string(), "infra:trace:sequence_gap");
        let open = line("a", 0, "trial_start", "");
        let trial = &read_all(&open).unwrap()[0];
        assert_eq!(trial.status.to_string(), "infra:trace:no_trial_end");
        assert_eq!(
            trial.trace.as_ref().unwrap().truncated.as_deref(),
            Some("no_trial_end")
        );
    }

    #[test]
    fn wrong_lines_are_named() {
        let start = line("a", 0, "trial_start", "");
        for (text, part) in [
            (
                line("a", 0, "tool_cal", ""),
                "unknown kind `tool_cal`\n  hint: did you mean `tool_call`?",
            ),
            (
                line("a", 0, "final", ",\"sequnce\":1"),
                "did you mean `sequence`?",
            ),
            (
                line("a", 0, "final", ",\"payload\":NaN"),
                "NaN and Infinity",
            ),
            (
                line("a", 0, "final", "")[..20].to_owned(),
                "it is truncated",
            ),
            ("[1]\n".to_owned(), "not JSON of the expected form"),
            (
                "{\"kind\":\"final\"}\n".to_owned(),
                "there is no `sequence`",
            ),
            (
                line("a", 0, "final", ",\"trial\":-1"),
                "not an event: invalid value",
            ),
            (
                line("a", 1, "final", ",\"task\":\"x\"")
                    + &line("a", 2, "final", ",\"task\":\"y\""),
                "trial `a` has the task `x` and the task `y`",
            ),
            (
                line("a", 1, "final", ",\"trial\":1") + &line("a", 2, "final", ",\"trial\":2"),
                "trial `a` has the trial number `1` and the trial number `2`",
            ),
            (
                line("b", 0, "trial_start", "").repeat(2),
                "two trials with one id",
            ),
        ] {
            let error = read_all(&format!("{start}{text}")).unwrap_err().to_string();
            assert!(
                error.starts_with("log.jsonl:2: ") || error.starts_with("log.jsonl:3: "),
                "{error}"
            );
            assert!(error.contains(part), "{error}");
        }
        let ended = [
            line("a", 0, "trial_start", ""),
            line("a", 1, "trial_end", ""),
            start,
        ]
        .concat();
        let error = read_all(&ended).unwrap_err().to_string();
        assert!(error.contains("which ended on line 2"), "{error}");
    }

    #[test]
    fn private_payloads_and_reasoning_stay_outside() {
        let text = [
            line(
                "a",
                0,
                "tool_call",
                ",\"capability\":\"think\",\"call_id\":\"1\",\"payload\":{\"t\":1}",
            ),
            line(
                "a",
                1,
                "tool_result",
                ",\"call_id\":\"1\",\"payload\":\"echo\"",
            ),
            line(
                "a",
                2,
                "tool_call",
                ",\"capability\":\"think\",\"call_id\":\"2\",\"payload\":{\"t\":1.0}",
            ),
            line(
                "a",
                3,
                "model_result",
                ",\"payload\":\"<think>x</think>hi\"",
            ),
            line("a", 4, "trial_end", ""),
        ]
        .concat();
        let trial = &read_all(&text).unwrap()[0];
        let events = &trial.trace.as_ref().unwrap().events;
        assert!(events[..3].iter().all(|e| e.payload.is_none()));
        assert_eq!(events[2].repeats, Some(0));
        assert_eq!(events[3].payload, Some("hi".into()));
        assert_eq!(events[3].kind, EventKind::ModelResult);
    }
}
