//! Efficiency: steps, calls, tokens, cost and time; measured, never judged.
//!
//! What a source does not record stays absent. A sum over model turns is given only if every turn
//! that reached the model carries the number: part of a sum would look cheap. Turns before the first
//! word of the user (a canned greeting) need none.

use std::collections::{HashMap, HashSet};

use crate::grade::calendar::milliseconds;
use crate::grade::evidence::Evidence;
use crate::grade::finding::{ARGUMENTS_NOT_RECORDED, Graded};
use crate::model::grade::Cell;
use crate::model::measure::Measure;
use crate::model::trace::{Event, EventKind, Usage};
use crate::trace::calls::Call;

type Of = fn(&Evidence<'_>) -> Cell;

/// Measures efficiency.
pub(crate) fn grade(evidence: Result<&Evidence<'_>, &'static str>) -> Graded {
    let mut found = Graded::default();
    let measures: [(Measure, Of); 8] = [
        (Measure::Steps, steps),
        (Measure::ToolCalls, |e| Cell::Value(e.calls.len() as f64)),
        (Measure::RepeatedCalls, repeated_calls),
        (Measure::InputTokens, |e| {
            usage(e, |u| u.input_tokens.map(|n| n as f64))
        }),
        (Measure::OutputTokens, |e| {
            usage(e, |u| u.output_tokens.map(|n| n as f64))
        }),
        (Measure::Tokens, |e| {
            usage(e, |u| Some((u.input_tokens? + u.output_tokens?) as f64))
        }),
        (Measure::CostUsd, |e| usage(e, |u| u.cost_usd)),
        (Measure::LatencyMs, latency),
    ];
    for (measure, of) in measures {
        let cell = match evidence {
            Ok(evidence) => of(evidence),
            Err(reason) => Cell::Ungradable(reason.to_owned()),
        };
        found.score(measure, cell);
    }
    found
}

fn absent() -> Cell {
    Cell::Ungradable("not_recorded".to_owned())
}

fn steps(evidence: &Evidence<'_>) -> Cell {
    let turns = evidence.trace.events.iter();
    match turns.filter(|e| e.kind == EventKind::ModelResult).count() {
        0 => absent(),
        turns => Cell::Value(turns as f64),
    }
}

/// Calls that are the same as an earlier one. Two calls of a tool, of which one has no recorded
/// arguments, may be the same or not.
fn repeated_calls(evidence: &Evidence<'_>) -> Cell {
    let mut seen = HashSet::new();
    let repeats = evidence.identities.iter().filter(|i| !seen.insert(*i));
    let unseen = |c: &Call<'_>| c.arguments.is_none() && !evidence.suite.is_private(c.name);
    let mut calls_of: HashMap<&str, (usize, bool)> = HashMap::new();
    for call in &evidence.calls {
        let of_tool = calls_of.entry(call.name).or_default();
        *of_tool = (of_tool.0 + 1, of_tool.1 || unseen(call));
    }
    match calls_of
        .values()
        .any(|(calls, unseen)| *calls > 1 && *unseen)
    {
        true => Cell::Ungradable(ARGUMENTS_NOT_RECORDED.to_owned()),
        false => Cell::Value(repeats.count() as f64),
    }
}

/// The sum of one number of the usage over all turns of the model.
///
/// The usage stands on the model's results, or on its calls where no result has any; both would count
/// twice.
fn usage(evidence: &Evidence<'_>, number: impl Fn(&Usage) -> Option<f64>) -> Cell {
    let events = &evidence.trace.events;
    let of = |kind: EventKind| events.iter().filter(move |e| e.kind == kind);
    let on_results = of(EventKind::ModelResult).any(|e| e.usage.is_some());
    let kind = if on_results {
        EventKind::ModelResult
    } else {
        EventKind::ModelCall
    };
    let begin = of(EventKind::UserMessage)
        .next()
        .map_or(0, |first| first.sequence);
    let mut sum = None;
    let mut lacking = false;
    for event in of(kind) {
        match event.usage.as_ref().and_then(&number) {
            Some(n) => *sum.get_or_insert(0.0) += n,
            None if event.sequence < begin => {}
            None => lacking = true,
        }
    }
    match sum {
        None => absent(),
        Some(_) if lacking => Cell::Ungradable("partly_recorded".to_owned()),
        Some(sum) if !f64::is_finite(sum) || sum < 0.0 => {
            Cell::Ungradable("out_of_range".to_owned())
        }
        Some(sum) => Cell::Value(sum),
    }
}

/// The monotonic time of the trial's end, or else the span between the first and the last time.
fn latency(evidence: &Evidence<'_>) -> Cell {
    let events = &evidence.trace.events;
    let end = events.iter().rev().find(|e| e.kind == EventKind::TrialEnd);
    // An importer makes the end itself and then knows no time for it.
    let last = events.iter().rev().find(|e| e.kind != EventKind::TrialEnd);
    let at_end = |of: &dyn Fn(&Event) -> Option<f64>| end.and_then(of).or(last.and_then(of));
    if let Some(elapsed) = at_end(&|e| e.elapsed_ms.map(|ms| ms as f64)) {
        return Cell::Value(elapsed);
    }
    let time = |e: &Event| e.time.as_deref().and_then(milliseconds);
    match (events.first().and_then(time), at_end(&time)) {
        (Some(from), Some(to)) if to >= from => Cell::Value(to - from),
        (Some(_), Some(_)) => Cell::Ungradable("clock_went_back".to_owned()),
        _ => absent(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::testing::{graded, suite, trace, ungradable, value};
    use serde_json::{Value, json};

    fn cell(measure: Measure, source: &str, events: Value) -> Cell {
        graded(&suite(json!({})), &trace(source, events)).cell(measure)
    }

    #[test]
    fn what_is_absent_is_not_zero() {
        let events = json!([{"kind": "call", "capability": "look", "payload": {}}]);
        for measure in [
            Measure::Steps,
            Measure::InputTokens,
            Measure::OutputTokens,
            Measure::CostUsd,
            Measure::LatencyMs,
        ] {
            let found = cell(measure, "small", events.clone());
            assert_eq!(found, ungradable("not_recorded"), "{measure}");
        }
        assert_eq!(cell(Measure::ToolCalls, "small", json!([])), value(0.0));
    }

    #[test]
    fn part_of_a_sum_is_not_a_sum() {
        let turn = |usage: Value| json!({"kind": "model_result", "usage": usage});
        let greeting = json!({"kind": "model_result"});
        let user = json!({"kind": "user_message"});
        let full = turn(json!({"input_tokens": 5, "cost_usd": 0.5}));
        let part = turn(json!({"input_tokens": 2}));
        let events = json!([greeting, user, full, part]);
        assert_eq!(
            cell(Measure::InputTokens, "chat", events.clone()),
            value(7.0)
        );
        assert_eq!(
            cell(Measure::CostUsd, "chat", events.clone()),
            ungradable("partly_recorded")
        );
        assert_eq!(
            cell(Measure::OutputTokens, "chat", events.clone()),
            ungradable("not_recorded")
        );
        assert_eq!(cell(Measure::Steps, "chat", events), value(3.0));
    }

    #[test]
    fn repeats_are_by_canonical_arguments_and_private_ones_by_their_mark() {
        let look = |payload: &str| -> Value {
            json!({"kind": "call", "capability": "look",
                "payload": serde_json::from_str::<Value>(payload).unwrap()})
        };
        let think = |repeats: Value| match repeats {
            Value::Null => json!({"kind": "call", "capability": "think"}),
            at => json!({"kind": "call", "capability": "think", "repeats": at}),
        };
        let events = json!([
            look("{\"a\": 1, \"b\": 2}"),
            look("{\"b\": 2.0, \"a\": 1}"),
            think(Value::Null),
            think(Value::Null),
            think(json!(2)),
            think(json!(4))
        ]);
        assert_eq!(cell(Measure::RepeatedCalls, "chat", events), value(3.0));
    }

    #[test]
    fn calls_without_recorded_arguments_may_be_repeats() {
        let result = json!({"kind": "ok", "capability": "look"});
        let call = json!({"kind": "call", "capability": "pay", "payload": {}});
        let repeats = |events: Value| cell(Measure::RepeatedCalls, "native", events);
        assert_eq!(repeats(json!([result, call])), value(0.0));
        assert_eq!(
            repeats(json!([result, result])),
            ungradable("arguments_not_recorded")
        );
    }

    #[test]
    fn latency_is_monotonic_time_or_else_the_span_of_times() {
        let latency = |events: Value| cell(Measure::LatencyMs, "native", events);
        let at = |ms: u64| json!({"kind": "model_result", "elapsed_ms": ms});
        let end = json!({"kind": "trial_end"});
        assert_eq!(latency(json!([at(0), at(9), end])), value(9.0));
        let timed = |time: &str| json!({"kind": "model_result", "time": time});
        let (a, b) = (
            timed("2026-01-01T00:00:00Z"),
            timed("2026-01-01T00:00:01.5Z"),
        );
        assert_eq!(latency(json!([a, b, end])), value(1500.0));
        assert_eq!(latency(json!([b, a])), ungradable("clock_went_back"));
        let untimed = json!({"kind": "model_result"});
        assert_eq!(
            latency(json!([at(0), untimed, end])),
            ungradable("not_recorded")
        );
    }
}
