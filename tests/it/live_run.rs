//! Runs whose trials are written as a live run writes them, for tests of what comes after.

use std::path::Path;

use assize::base::{ArmId, Digest, Seed};
use assize::model::plan::{Analysis, Plan, PlanBody, PlannedArm, PlannedTask, TrialSpec};
use assize::model::suite::{Suite, Task};
use assize::model::trace::{Event, EventKind, Trace, TraceSource};
use assize::model::trial::{LiveTrial, Trial, TrialStatus};
use assize::store::{RunStore, Source};
use serde_json::{Value, json};

/// A suite of tasks that pass with `{"status": "ok"}`, and the plan of two live arms.
pub struct LiveRun {
    pub suite: Suite,
    pub plan: Plan,
}

impl LiveRun {
    pub fn new(tasks: usize, trials: u32, decision: Value) -> Self {
        let task = |i| -> Task {
            let schema = json!({"type": "object", "properties": {"status": {"const": "ok"}}});
            let expect = json!({ "final_schema": schema });
            parse(json!({"id": format!("t{i:03}"), "input": {"user": "?"}, "expect": expect}))
        };
        let spec = parse(json!({"id": "live", "version": "1", "decision": decision}));
        let suite = Suite::new(spec, (0..tasks).map(task).collect());
        let plan = plan(&suite, trials);
        Self { suite, plan }
    }

    pub fn open(&self, folder: &Path) -> RunStore {
        RunStore::create(folder, &self.plan, &self.suite, Source::Table).unwrap()
    }

    pub fn schedule(&self) -> Vec<TrialSpec> {
        assize::plan::schedule(&self.plan, &self.suite)
    }

    /// Writes a run in the order of its schedule; `passes` says which trials do.
    pub fn write(&self, folder: &Path, passes: impl Fn(&TrialSpec) -> bool) {
        let mut store = self.open(folder);
        let specs = self.schedule();
        let mut writer = store.live_writer().unwrap();
        for batch in specs.chunks(64) {
            let trials: Vec<LiveTrial> = batch.iter().map(|s| live(s, passes(s))).collect();
            writer.put_batch(&trials).unwrap();
        }
    }
}

fn parse<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn plan(suite: &Suite, trials: u32) -> Plan {
    let arm = |name: &str| PlannedArm {
        id: ArmId::new(name),
        digest: Digest::of_bytes(name.as_bytes()),
        model: None,
        trials,
        stated: true,
        recorded: false,
    };
    // The plan's task digests are those that grading and verifying never look behind.
    let task = |t: &Task| PlannedTask {
        id: t.id.clone(),
        digest: Digest::of_bytes(t.id.as_str().as_bytes()),
    };
    Plan::lock(PlanBody {
        suite: suite.spec.id.clone(),
        suite_version: suite.spec.version.clone(),
        suite_digest: suite.digest.clone(),
        files: None,
        tasks: suite.tasks.iter().map(task).collect(),
        arms: vec![arm("incumbent"), arm("challenger")],
        seed: Seed(7),
        analysis: Analysis {
            decision: suite.spec.decision.clone(),
            weights: Default::default(),
            segments: vec![],
            cluster: None,
        },
    })
}

/// A trial of five events that passes or fails, with a response of its own.
pub fn live(spec: &TrialSpec, passes: bool) -> LiveTrial {
    let event = |sequence, kind, payload| Event {
        elapsed_ms: Some(sequence * 10),
        payload: Some(payload),
        ..Event::new(sequence, kind)
    };
    let answer = json!({ "status": if passes { "ok" } else { "lost" } });
    let events = vec![
        event(0, EventKind::TrialStart, json!({"state": {}})),
        event(1, EventKind::ModelCall, json!({})),
        event(2, EventKind::ModelResult, json!("done")),
        event(3, EventKind::Final, answer),
        event(4, EventKind::TrialEnd, json!({"status": "completed"})),
    ];
    LiveTrial {
        trial: Trial {
            id: spec.id.clone(),
            arm: spec.arm.clone(),
            task: spec.task.clone(),
            index: spec.index,
            status: TrialStatus::Completed,
            recorded: Default::default(),
            input_digest: None,
            notices: vec![],
            block: Some(spec.block),
            attempts: vec![],
            model_retries: 0,
        },
        trace: Some(trace(events)),
        response_ids: vec![format!("response-{}", spec.id)],
    }
}

fn trace(events: Vec<Event>) -> Trace {
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
        notices: vec![],
    }
}
