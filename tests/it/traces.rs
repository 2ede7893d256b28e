//! Real logs read as they are, and damaged ones refused in words.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use assize::base::Result;
use assize::base::digest::canonical;
use assize::load::recorded::{RecordedOptions, open, read_recorded};
use assize::model::arm::TraceFormat;
use assize::model::trace::{Event, EventKind, Trace};
use assize::model::trial::{RecordedTrial, TrialStatus};
use assize::trace::chain::{ChainIds, write_trial};
use assize::trace::import::table::{self, TableMap};
use assize::trace::import::{self, ImportOptions};
use assize::trace::{CallOutcome, calls};
use proptest::prelude::*;
use serde_json::{Value, json};

fn path(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

fn gpt_4o() -> PathBuf {
    path("suites/airline/recorded/gpt-4o-airline.json.gz")
}

fn llama() -> PathBuf {
    path("suites/airline/recorded/llama-3.1-8b-airline.json.gz")
}

fn tau2() -> PathBuf {
    path("tests/reference/data/tau2-airline/airline_1trial.json.gz")
}

fn options() -> ImportOptions {
    let mut options = ImportOptions::new("", "");
    options.private_tools.insert("think".to_owned());
    options
}

fn read(path: &Path) -> Vec<RecordedTrial> {
    let mut trials = vec![];
    read_recorded(
        path,
        &RecordedOptions::default(),
        &options(),
        &mut |trial| {
            trials.push(trial);
            Ok(())
        },
    )
    .unwrap();
    trials
}

fn traces(trials: &[RecordedTrial]) -> Vec<&Trace> {
    trials.iter().map(|t| t.trace.as_ref().unwrap()).collect()
}

/// Calls that repeat an earlier one's name and canonical arguments, private ones included.
fn repeats(trace: &Trace) -> usize {
    let mut seen = HashSet::new();
    let repeated = |call: &assize::trace::Call<'_>| match call.key() {
        Some(key) => !seen.insert(key),
        None => call.event.repeats.is_some(),
    };
    calls(trace).iter().map(repeated).filter(|r| *r).count()
}

#[test]
fn tau_bench_counts_are_those_of_the_source() {
    for (file, trials, rewards, tool_calls, repeated) in [
        (gpt_4o(), 200, 84.0, 1164, 32),
        (llama(), 150, 50.0, 690, 267),
    ] {
        let read = read(&file);
        let traces = traces(&read);
        assert_eq!(read.len(), trials);
        assert!(read.iter().all(|t| t.status == TrialStatus::Completed));
        let names: BTreeSet<_> = read.iter().map(|t| (t.task.clone(), t.index)).collect();
        assert_eq!(names.len(), trials);
        let external = traces.iter().map(|t| t.external.as_ref().unwrap());
        assert!(external.clone().all(|e| e.provenance == "tau-bench reward"));
        assert_eq!(external.map(|e| e.value).sum::<f64>(), rewards);
        assert_eq!(
            traces.iter().map(|t| calls(t).len()).sum::<usize>(),
            tool_calls
        );
        assert_eq!(traces.iter().map(|t| repeats(t)).sum::<usize>(), repeated);
        let results = traces.iter().flat_map(|t| calls(t));
        assert!(
            results
                .into_iter()
                .all(|call| call.outcome() != CallOutcome::Unrecorded)
        );
        assert!(
            traces
                .iter()
                .all(|t| t.notices.is_empty() && t.truncated.is_none())
        );
    }
}

#[test]
fn recurring_ids_answer_the_nearest_earlier_call() {
    let read = read(&gpt_4o());
    let (mut recurring, mut answers) = (0, 0);
    for trace in traces(&read) {
        let mut seen = HashSet::new();
        for call in calls(trace) {
            recurring += usize::from(!seen.insert(call.event.call_id.clone()));
            // Every answer follows its own call directly in this log.
            let result = call.result.unwrap();
            assert_eq!(result.parent, Some(call.event.sequence));
            assert_eq!(result.sequence, call.event.sequence + 1);
            assert_eq!(result.call_id, call.event.call_id);
            answers += 1;
        }
    }
    assert_eq!((recurring, answers), (73, 1164));
}

#[test]
fn no_private_argument_and_no_reasoning_is_kept() {
    for file in [gpt_4o(), llama()] {
        let read = read(&file);
        let thinks = |e: &&Event| e.capability.as_deref() == Some("think");
        let kept: Vec<_> = traces(&read)
            .into_iter()
            .flat_map(|trace| trace.events.iter().filter(thinks))
            .collect();
        assert!(kept.iter().any(|e| e.kind == EventKind::ToolCall));
        assert!(kept.iter().all(|e| e.payload.is_none()));
        let stored = serde_json::to_string(&traces(&read)).unwrap();
        let (thoughts, elsewhere) = thoughts(&text_of(&file));
        let secret = |thought: &&String| !elsewhere.contains(thought.as_str());
        let secrets: Vec<_> = thoughts.iter().filter(secret).collect();
        assert!(
            !secrets.is_empty(),
            "the source does hold private arguments"
        );
        for thought in secrets {
            assert!(!stored.contains(thought.as_str()), "{thought}");
        }
    }
}

/// The JSON texts of what the source's calls of `think` carry, and of everything else in it.
fn thoughts(raw: &str) -> (BTreeSet<String>, String) {
    let mut source: Value = serde_json::from_str(raw).unwrap();
    let mut thoughts = BTreeSet::new();
    let records = match source.get_mut("results") {
        Some(results) => results.as_array_mut(),
        None => source.as_array_mut(),
    };
    for message in records
        .unwrap()
        .iter_mut()
        .flat_map(|r| r["traj"].as_array_mut().unwrap())
    {
        let Some(calls) = message.get_mut("tool_calls").and_then(Value::as_array_mut) else {
            continue;
        };
        for call in calls
            .iter_mut()
            .filter(|c| c["function"]["name"] == "think")
        {
            let arguments = call["function"]["arguments"].take();
            let arguments: Value = serde_json::from_str(arguments.as_str().unwrap()).unwrap();
            let thought = arguments["thought"].to_string();
            thoughts.insert(thought.trim_matches('"').to_owned());
        }
    }
    (thoughts, source.to_string())
}

const WRITES: [&str; 6] = [
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
];

#[test]
fn who_wrote_before_a_word_to_the_user() {
    for (file, wrote, unasked) in [(gpt_4o(), 118, 0), (llama(), 45, 42)] {
        let read = read(&file);
        let (mut writing, mut before) = (0, 0);
        for trace in traces(&read) {
            let writes = |name: &Option<String>| WRITES.contains(&name.as_deref().unwrap_or(""));
            let first = trace
                .events
                .iter()
                .find(|e| e.kind == EventKind::ToolCall && writes(&e.capability));
            let asked = trace.events.iter().find(|e| e.kind == EventKind::Question);
            if let Some(first) = first {
                writing += 1;
                before += usize::from(asked.is_none_or(|a| a.sequence > first.sequence));
            }
        }
        assert_eq!((writing, before), (wrote, unasked));
    }
}

#[test]
fn inputs_differ_between_the_arms_for_37_tasks() {
    let digests = |file| {
        let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for trial in read(file) {
            found
                .entry(trial.task)
                .or_default()
                .insert(trial.input_digest.unwrap());
        }
        found
    };
    let (a, b) = (digests(&gpt_4o()), digests(&llama()));
    assert_eq!(
        a.iter()
            .filter(|(task, digests)| b[*task] != **digests)
            .count(),
        37
    );
}

#[test]
fn tau2_simulations_are_read_with_parallel_calls_and_rewards() {
    let read = read(&tau2());
    let traces = traces(&read);
    assert_eq!(read.len(), 50);
    assert!(
        read.iter()
            .all(|t| t.status == TrialStatus::Completed && t.index == Some(0))
    );
    assert_eq!(traces.iter().map(|t| calls(t).len()).sum::<usize>(), 581);
    let passed = traces
        .iter()
        .filter(|t| t.external.as_ref().unwrap().value == 1.0)
        .count();
    assert_eq!(passed, 28);
    let outcomes: Vec<_> = traces
        .iter()
        .flat_map(|t| calls(t))
        .map(|c| c.outcome())
        .collect();
    let count = |wanted| outcomes.iter().filter(|o| **o == wanted).count();
    assert_eq!(
        (count(CallOutcome::Error), count(CallOutcome::Unrecorded)),
        (6, 0)
    );
    assert!(
        traces
            .iter()
            .all(|t| t.external.as_ref().unwrap().provenance == "tau2 reward")
    );
}

#[test]
fn tau2_action_checks_are_reproduced() {
    let source: Value = serde_json::from_str(&text_of(&tau2())).unwrap();
    let simulations = source["simulations"].as_array().unwrap();
    let read = read(&tau2());
    let (mut agreed, mut matched) = (0, 0);
    for (simulation, trace) in simulations.iter().zip(traces(&read)) {
        let checks = simulation["reward_info"]["action_checks"].as_array();
        for check in checks.into_iter().flatten() {
            let found = calls(trace)
                .iter()
                .any(|call| matches(&check["action"], call));
            agreed += usize::from(check["action_match"] == found);
            matched += usize::from(found);
        }
    }
    assert_eq!((agreed, matched), (148, 121));
}

/// tau2's rule: same name, and the same arguments or, if `compare_args` names some, those.
fn matches(action: &Value, call: &assize::trace::Call<'_>) -> bool {
    let expected = &action["arguments"];
    let (Some(arguments), true) = (call.arguments, action["name"] == call.name) else {
        return false;
    };
    match action["compare_args"].as_array() {
        None => canonical(arguments) == canonical(expected),
        Some(keys) => keys.iter().all(|key| {
            let key = key.as_str().unwrap();
            canonical(&arguments[key]) == canonical(&expected[key])
        }),
    }
}

#[test]
fn recorded_exchanges_are_read() {
    let stream = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\
        \"function\":{\"name\":\"get_current_weather\",\"arguments\":\"{\\\"location\\\"\"}}]}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":\
        {\"arguments\":\": \\\"Paris\\\"}\"}}]}}]}\n\ndata: [DONE]\n\n";
    let asked = json!({"messages": [{"role": "user", "content": "Weather?"}]});
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": "70 degrees"}}],
        "usage": {"prompt_tokens": 40, "completion_tokens": 12}});
    let exchanges = json!([{"method": "POST", "status": {"code": 200}, "request": asked, "response": answer},
        {"method": "POST", "status": {"code": 200}, "request": asked, "response": stream}]);
    let trials = read_text(TraceFormat::OpenaiChat, &exchanges.to_string()).unwrap();
    let usage = trials[0].trace.as_ref().unwrap().events[2]
        .usage
        .as_ref()
        .unwrap();
    assert_eq!(usage.input_tokens, Some(40));
    let called = trials[1].trace.as_ref().unwrap();
    assert_eq!(
        calls(called)[0].arguments,
        Some(&json!({"location": "Paris"}))
    );
    assert_eq!(trials[1].status.to_string(), "infra:trace:pending_call");
}

#[test]
fn a_real_trial_survives_the_native_form() {
    for (i, trial) in read(&gpt_4o())
        .iter()
        .chain(&read(&tau2()))
        .enumerate()
        .step_by(23)
    {
        let trace = trial.trace.as_ref().unwrap();
        let ids = ChainIds {
            trial_id: Some(format!("trial-{i}")),
            task: Some(trial.task.to_string()),
            trial: trial.index,
            ..ChainIds::default()
        };
        let mut bytes = vec![];
        write_trial(&mut bytes, ids, trace, &trial.status).unwrap();
        let back = read_text(TraceFormat::Native, std::str::from_utf8(&bytes).unwrap()).unwrap();
        let again = back[0].trace.as_ref().unwrap();
        assert_eq!(back[0].task, trial.task);
        assert_eq!(
            (&back[0].index, &back[0].status),
            (&trial.index, &trial.status)
        );
        assert_eq!(
            (again.source, &again.external),
            (trace.source, &trace.external)
        );
        let last = trace.events.len() - 1;
        assert_eq!(again.events[1..last], trace.events[1..last]);
    }
}

fn text_of(file: &Path) -> String {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut open(file).unwrap(), &mut text).unwrap();
    text
}

fn read_text(format: TraceFormat, text: &str) -> Result<Vec<RecordedTrial>> {
    read_bytes(format, text.as_bytes())
}

fn read_bytes(format: TraceFormat, mut bytes: &[u8]) -> Result<Vec<RecordedTrial>> {
    let mut trials = vec![];
    let mut options = options();
    options.source_name = "damaged".to_owned();
    import::read(format, &mut bytes, &options, &mut |trial| {
        trials.push(trial);
        Ok(())
    })?;
    Ok(trials)
}

/// Trials of each format, in its own words.
fn samples() -> &'static [(TraceFormat, Vec<u8>)] {
    static SAMPLES: OnceLock<Vec<(TraceFormat, Vec<u8>)>> = OnceLock::new();
    SAMPLES.get_or_init(make_samples)
}

fn make_samples() -> Vec<(TraceFormat, Vec<u8>)> {
    let chat: Value = serde_json::from_str(&text_of(&llama())).unwrap();
    let chat = json!({"results": &chat["results"].as_array().unwrap()[..2]}).to_string();
    let tau2: Value = serde_json::from_str(&text_of(&tau2())).unwrap();
    let tau2 = json!({"tasks": tau2["tasks"], "simulations": [tau2["simulations"][3]]}).to_string();
    let mut native = vec![];
    let trial = &read(&gpt_4o())[5];
    let (trace, status) = (trial.trace.as_ref().unwrap(), &trial.status);
    write_trial(&mut native, ChainIds::default(), trace, status).unwrap();
    let small = "{\"tools\": [{\"name\": \"get\", \"arguments\": {\"a\": [1.5, null]}, \"receipt\": \"r\"}], \
        \"asked_clarification\": true, \"asked_before\": 0, \"final\": {\"status\": \"ok\"}}\n"
        .repeat(3);
    vec![
        (TraceFormat::OpenaiChat, chat.into_bytes()),
        (TraceFormat::Tau2, tau2.into_bytes()),
        (TraceFormat::Native, native),
        (TraceFormat::Small, small.into_bytes()),
    ]
}

#[test]
fn a_cut_source_is_an_error_that_says_so() {
    for (format, bytes) in samples() {
        // Not at the very end, where only white space may be missing, and not between two lines.
        for part in 1..20 {
            let cut = bytes.len() * part / 20 - 1;
            let between = bytes[..cut].ends_with(b"\n") || bytes[cut] == b'\n';
            let Err(error) = read_bytes(*format, &bytes[..cut]) else {
                assert!(between, "{format:?} cut at {cut}");
                continue;
            };
            let text = error.to_string();
            assert!(text.starts_with("damaged:"), "{text}");
            assert!(
                text.contains("truncated") || text.contains("not JSON"),
                "{text}"
            );
        }
    }
}

#[test]
fn a_native_log_cut_between_lines_is_a_truncated_trial() {
    let (_, native) = &samples()[2];
    let text = std::str::from_utf8(native).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for end in 1..lines.len() {
        let trials = read_text(TraceFormat::Native, &lines[..end].join("\n")).unwrap();
        assert_eq!(trials[0].status.to_string(), "infra:trace:no_trial_end");
        let mut gap = lines.clone();
        gap.remove(end - 1);
        let trials = read_text(TraceFormat::Native, &gap.join("\n")).unwrap();
        assert_eq!(trials[0].status.to_string(), "infra:trace:sequence_gap");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever happens to the bytes, the answer is trials or an error, never a panic.
    #[test]
    fn damaged_bytes_never_panic(
        which in 0usize..4,
        cut in 0.0f64..1.0,
        flips in prop::collection::vec((0.0f64..1.0, any::<u8>()), 0..6),
    ) {
        let mut bytes = samples()[which].1.clone();
        for (at, byte) in flips {
            let at = (at * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        if cut < 0.5 {
            bytes.truncate((2.0 * cut * bytes.len() as f64) as usize);
        }
        let _ = import::detect(&bytes);
        for format in TraceFormat::ALL {
            let _ = read_bytes(format, &bytes);
        }
    }

    /// The same of a table.
    #[test]
    fn a_damaged_table_never_panics(
        cut in 0usize..200,
        flips in prop::collection::vec((0usize..100, any::<u8>()), 0..6),
    ) {
        let mut bytes = b"arm,task_id,trial,reward,status,latency_s\r\na,\"t\n1\",0,1.0,ok,1.5\nb,t2,,,429,\n".to_vec();
        for (at, byte) in flips {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        bytes.truncate(cut);
        let options = ImportOptions::new("damaged", "stem");
        let _ = table::read(&mut &bytes[..], &TableMap::default(), &options, &mut |_| Ok(()));
    }
}

/// Peak memory of this process in MiB, as the kernel counts it.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

/// Reads a log of 1 GiB in a process whose memory stays small; slow, so only behind `ASSIZE_SLOW=1`.
#[test]
fn memory_does_not_grow_with_the_file() {
    if std::env::var_os("ASSIZE_SLOW").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("big.json");
    let written = write_big(&file, 1 << 30);
    // The peak of a process is that of all that it ever did, also of the tests beside this one.
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "traces::a_big_log_is_read",
            "--ignored",
            "--nocapture",
        ])
        .envs([
            (BIG, file.as_os_str()),
            (WRITTEN, written.to_string().as_ref()),
        ])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && told.contains("1 passed"),
        "{done:?}"
    );
}

/// The log that is read in a process of its own, and how many trials it holds.
const BIG: &str = "ASSIZE_TEST_BIG";
const WRITTEN: &str = "ASSIZE_TEST_WRITTEN";

#[test]
#[ignore = "run in a process of its own"]
fn a_big_log_is_read() {
    let Some(file) = std::env::var_os(BIG).map(PathBuf::from) else {
        return;
    };
    let written: u64 = std::env::var(WRITTEN).unwrap().parse().unwrap();
    let before = peak_mib().unwrap();
    let mut trials = 0_u64;
    read_recorded(&file, &RecordedOptions::default(), &options(), &mut |_| {
        trials += 1;
        Ok(())
    })
    .unwrap();
    let after = peak_mib().unwrap();
    println!("{trials} trials, peak {before} MiB before, {after} MiB after");
    assert_eq!(trials, written);
    assert!(
        after - before < 64,
        "peak {before} MiB before, {after} MiB after"
    );
}

/// Writes one JSON list of real records until it has this many bytes; returns their number.
fn write_big(file: &Path, bytes: usize) -> u64 {
    let source: Vec<Value> = serde_json::from_str(&text_of(&gpt_4o())).unwrap();
    let mut out = std::io::BufWriter::new(std::fs::File::create(file).unwrap());
    let records: Vec<String> = source.iter().map(Value::to_string).collect();
    let (mut written, mut count) = (0, 0);
    for record in records.iter().cycle() {
        out.write_all(if count == 0 { b"[" } else { b",\n" })
            .unwrap();
        out.write_all(record.as_bytes()).unwrap();
        written += record.len();
        count += 1;
        if written >= bytes {
            break;
        }
    }
    out.write_all(b"]").unwrap();
    out.flush().unwrap();
    count
}
