//! How many small trials per second the store takes from a live run: batches of 64 to 512 trials
//! with four to five events each, on one thread, durable batch by batch.
//!
//! `cargo bench --no-default-features --bench live_store -- [TRIALS]`

// It measures time and memory, and says what it found.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::time::Instant;

use assize::base::{ArmId, Digest, Seed};
use assize::model::plan::{Analysis, Plan, PlanBody, PlannedArm, PlannedTask, TrialSpec};
use assize::model::suite::Suite;
use assize::model::trace::{Event, EventKind, Trace, TraceSource, Usage};
use assize::model::trial::{LiveTrial, Trial, TrialStatus};
use assize::store::{RunStore, Source};
use serde_json::json;

const TASKS: u32 = 100;

fn main() {
    let asked = std::env::args()
        .filter_map(|a| a.parse::<u32>().ok())
        .next();
    let trials = asked.unwrap_or(50_000);
    for batch in [64, 256, 512] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (suite, plan) = planned(trials);
        let mut store = RunStore::create(&folder.path().join("run"), &plan, &suite, Source::Table)
            .expect("a new run");
        let specs = assize::plan::schedule(&plan, &suite);
        let mut writer = store.live_writer().expect("a writer");
        let (mut made, mut spent) = (Vec::with_capacity(batch), std::time::Duration::ZERO);
        for chunk in specs.chunks(batch) {
            made.clear();
            made.extend(chunk.iter().map(live));
            let begun = Instant::now();
            writer.put_batch(&made).expect("a stored batch");
            spent += begun.elapsed();
        }
        drop(writer);
        let rate = specs.len() as f64 / spent.as_secs_f64();
        println!(
            "{} trials in batches of {batch}: {rate:.0} per second",
            specs.len()
        );
    }
    println!("peak resident memory: {}", peak());
}

fn planned(trials: u32) -> (Suite, Plan) {
    let parse = |value| serde_json::from_value(value).expect("a spec");
    let spec = parse(json!({"id": "bench", "version": "1"}));
    let task =
        |i| serde_json::from_value(json!({"id": format!("task-{i}"), "input": {"user": "?"}}));
    let tasks = (0..TASKS).map(|i| task(i).expect("a task")).collect();
    let suite = Suite::new(spec, tasks);
    let arm = |name: &str| PlannedArm {
        id: ArmId::new(name),
        digest: Digest::of_bytes(name.as_bytes()),
        model: None,
        trials: trials / TASKS / 2,
        stated: true,
        recorded: false,
    };
    let plan = Plan::lock(PlanBody {
        suite: suite.spec.id.clone(),
        suite_version: "1".to_owned(),
        suite_digest: suite.digest.clone(),
        files: None,
        tasks: suite
            .tasks
            .iter()
            .map(|t| PlannedTask {
                id: t.id.clone(),
                digest: Digest::of_bytes(t.id.as_str().as_bytes()),
            })
            .collect(),
        arms: vec![arm("incumbent"), arm("challenger")],
        seed: Seed(7),
        analysis: Analysis {
            decision: None,
            weights: Default::default(),
            segments: vec![],
            cluster: None,
        },
    });
    (suite, plan)
}

fn live(spec: &TrialSpec) -> LiveTrial {
    let event = |sequence, kind, payload| Event {
        elapsed_ms: Some(sequence * 3),
        time: Some("2026-01-01T00:00:00.000Z".to_owned()),
        payload: Some(payload),
        ..Event::new(sequence, kind)
    };
    let mut result = event(
        2,
        EventKind::ModelResult,
        json!("The order was refunded to the card."),
    );
    result.usage = Some(Usage {
        input_tokens: Some(412),
        output_tokens: Some(37),
        cached_tokens: Some(0),
        cost_usd: Some(0.0012),
    });
    let events = vec![
        event(0, EventKind::TrialStart, json!({"state": {}})),
        event(1, EventKind::ModelCall, json!({"messages": 2})),
        result,
        event(
            3,
            EventKind::Final,
            json!({"status": "ok", "refund_id": "R-1842"}),
        ),
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
            input_digest: Some(Digest::of_bytes(spec.task.as_str().as_bytes())),
            notices: vec![],
            block: Some(spec.block),
            attempts: vec![],
            model_retries: 0,
        },
        trace: Some(Trace {
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
        }),
        response_ids: vec![format!("chatcmpl-{}", spec.id)],
    }
}

fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.map_or("unknown".to_owned(), |l| l[6..].trim().to_owned())
}
