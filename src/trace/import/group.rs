//! Groups interleaved event lines by trial, and makes a trial of each group.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::base::{ArmId, Digest, Error, Notice, Result, TaskId};
use crate::model::trace::{Event, EventKind, Trace, TraceSource};
use crate::model::trial::{Boundary, RecordedTrial, TrialStatus};
use crate::trace::chain::{ChainCheck, ChainIds, WireEvent};
use crate::trace::import::{ImportOptions, marks, place, scalar, text, wire_status};

/// One line: its object for the chain, its event, and where it stood.
pub(crate) struct Line {
    /// The object as it was read.
    pub raw: Map<String, Value>,
    /// The same, typed.
    pub wire: WireEvent,
    /// Line number from 1.
    pub number: u64,
    /// Whether a lone surrogate in it was replaced.
    pub mended: bool,
}

/// The lines of one trial read so far.
pub(crate) struct Group {
    ids: ChainIds,
    lines: Vec<Line>,
    /// Line number of every sequence.
    numbers: HashMap<u64, u64>,
    /// Sequence of its `trial_end`.
    end: Option<u64>,
}

impl Group {
    /// Begins a group with its first line.
    ///
    /// # Errors
    ///
    /// As [`Group::add`].
    pub fn new(first: Line, options: &ImportOptions) -> Result<Self> {
        let mut group = Self {
            ids: ChainIds::default(),
            lines: vec![],
            numbers: HashMap::new(),
            end: None,
        };
        group.add(first, options)?;
        Ok(group)
    }

    /// Adds a line.
    ///
    /// # Errors
    ///
    /// An input error if it names another task, arm or trial number than the trial's earlier lines.
    pub fn add(&mut self, line: Line, options: &ImportOptions) -> Result<()> {
        let (ids, wire) = (&mut self.ids, &line.wire);
        ids.run_id = ids.run_id.take().or(wire.run_id.clone());
        let filled = fill("task", &mut ids.task, &wire.task)
            .and_then(|()| fill("arm", &mut ids.arm, &wire.arm))
            .and_then(|()| fill("trial number", &mut ids.trial, &wire.trial));
        filled.map_err(|why| {
            let name = wire.trial_id.as_ref().or(wire.run_id.as_ref());
            let name = name.map_or("of this file", String::as_str);
            Error::input(format!("two trials with one id: trial `{name}` has {why}"))
                .at(&options.source_name, line.number)
                .hint("give every trial its own `trial_id`")
        })?;
        if wire.kind == EventKind::TrialEnd {
            self.end = self.end.or(Some(wire.sequence));
        }
        self.numbers.insert(wire.sequence, line.number);
        self.lines.push(line);
        Ok(())
    }

    /// Whether all events up to its `trial_end` are there.
    pub fn is_complete(&self) -> bool {
        self.end
            .is_some_and(|end| self.lines.len() as u64 == end.saturating_add(1))
    }

    /// The line on which the trial began.
    pub fn first_line(&self) -> u64 {
        self.lines.first().map_or(0, |line| line.number)
    }

    /// The line of the event with this sequence, if it was read already.
    pub fn line_of(&self, sequence: u64) -> Option<u64> {
        self.numbers.get(&sequence).copied()
    }

    /// Makes a trial of the group.
    ///
    /// # Errors
    ///
    /// An input error if `trial_end` states a status or an external result of a wrong form.
    pub fn into_trial(mut self, options: &ImportOptions) -> Result<RecordedTrial> {
        let place = self.first_line();
        // Tools that finish in parallel may be written later than numbered.
        self.lines.sort_by_key(|line| line.wire.sequence);
        let mut check = ChainCheck::default();
        self.lines.iter().for_each(|line| check.next(&line.raw));
        let last = self.lines.last().map_or(0, |line| line.number);
        let notices = notices(&self.lines, &check);
        let events = self.lines.into_iter().map(event_of).collect();
        let mut trace = trace(events, notices);
        let wrong = |why: String| Error::input(why).at(&options.source_name, last);
        let facts = lift(&mut trace).map_err(wrong)?;
        let mut status = facts.status.unwrap_or(TrialStatus::Completed);
        if let Some(code) = check.truncated() {
            trace.truncated = Some(code.to_owned());
            status = TrialStatus::infra(Boundary::Trace, code, "");
        }
        let named = self.ids.task.is_some();
        Ok(RecordedTrial {
            arm: self.ids.arm.map(ArmId::new),
            task: TaskId::new(
                self.ids
                    .task
                    .unwrap_or_else(|| options.default_task.clone()),
            ),
            index: self.ids.trial.or(options.default_index.filter(|_| !named)),
            status,
            trace: Some(trace),
            recorded: BTreeMap::new(),
            input_digest: facts.input,
            task_metadata: BTreeMap::new(),
            notices: vec![],
            place,
        })
    }
}

/// Takes over what a line says of its trial; the error says that an earlier line said otherwise.
fn fill<T: Clone + PartialEq + std::fmt::Display>(
    what: &str,
    known: &mut Option<T>,
    found: &Option<T>,
) -> std::result::Result<(), String> {
    match (&known, found) {
        (Some(known), Some(found)) if known != found => {
            Err(format!("the {what} `{known}` and the {what} `{found}`"))
        }
        (None, Some(found)) => {
            *known = Some(found.clone());
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The event of a line; a final text that is JSON as a whole counts as that JSON.
fn event_of(line: Line) -> Event {
    let mut event = line.wire.into_event();
    if let (EventKind::Final, Some(Value::String(said))) = (event.kind, &event.payload) {
        let said = marks::visible(said).unwrap_or_default();
        event.payload = Some(text::final_payload(&said));
    }
    event
}

fn notices(lines: &[Line], check: &ChainCheck) -> Vec<Notice> {
    let mut notices = vec![];
    if check.is_unchained() {
        let said = "no event carries a hash, so edits can't be seen";
        notices.push(Notice::with("unchained", said));
    }
    let cut = lines.iter().filter(|line| line.wire.is_cut()).count();
    if cut > 0 {
        let said = format!("of {cut} events only the beginning of the payload was recorded");
        notices.push(Notice::with("payload_cut", said));
    }
    if lines.iter().any(|line| line.mended) {
        notices.push(place::mended());
    }
    notices
}

fn trace(events: Vec<Event>, notices: Vec<Notice>) -> Trace {
    Trace {
        source: TraceSource::Native,
        events,
        order_known: true,
        asked: None,
        asked_before: None,
        initial_state: None,
        final_state: None,
        external: None,
        truncated: None,
        notices,
    }
}

/// What the first and last event say about the trial beside the trace.
struct Facts {
    status: Option<TrialStatus>,
    input: Option<Digest>,
}

/// Takes states, status, external result and source out of the payloads of `trial_start` and
/// `trial_end`.
fn lift(trace: &mut Trace) -> Result<Facts, String> {
    let mut start = payload_of(&mut trace.events, EventKind::TrialStart);
    let mut end = payload_of(&mut trace.events, EventKind::TrialEnd);
    trace.initial_state = start.remove("state").filter(|state| !state.is_null());
    trace.final_state = end.remove("state").filter(|state| !state.is_null());
    if let Some(source) = start.remove("source") {
        trace.source = serde_json::from_value(source)
            .map_err(|error| format!("`source` of trial_start is not a kind of trace: {error}"))?;
        trace.order_known = trace.source != TraceSource::Small;
    }
    trace.asked = scalar::flag(&start, "asked")?;
    trace.asked_before = scalar::present(&start, &["asked_before"]).and_then(Value::as_u64);
    trace.external = external(&end)?;
    Ok(Facts {
        status: wire_status::of(end.get("status"))?,
        input: scalar::present(&start, &["input"]).map(Digest::of_json),
    })
}

fn external(end: &Map<String, Value>) -> scalar::Maybe<crate::model::trace::ExternalResult> {
    let Some(external) = scalar::present(end, &["external"]) else {
        return Ok(None);
    };
    let provenance = external.get("provenance").and_then(Value::as_str);
    scalar::external(
        external.get("value"),
        "external.value",
        provenance.unwrap_or("trial_end"),
    )
}

/// The payload of the first event of a kind; its state is moved out of the event, since it can be
/// large and the trace keeps it by itself.
fn payload_of(events: &mut [Event], kind: EventKind) -> Map<String, Value> {
    let payload = events
        .iter_mut()
        .find(|e| e.kind == kind)
        .map(|e| &mut e.payload);
    let Some(Some(Value::Object(object))) = payload else {
        return Map::new();
    };
    let mut taken = Map::new();
    taken.extend(
        object
            .remove("state")
            .map(|state| ("state".to_owned(), state)),
    );
    for (key, value) in object.iter() {
        taken.insert(key.clone(), value.clone());
    }
    taken
}
