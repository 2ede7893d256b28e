//! Bad input gives its own clear error and leaves what is stored as it was.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::common::{Done, Place, airline};

const SUITE: &str = "\
id: s
version: \"1\"
tools: {look: {}, pay: {writes: true}}
decision:
  baseline: a
  candidate: b
  schedule: assumed
  margins: {outcome: 0.05}
  rules: [{dimension: outcome, rule: non_inferior}]
";

const ARMS: &str = "\
arms:
  a: {kind: recorded, path: logs/a.jsonl, trials: 2}
  b: {kind: recorded, path: logs/b.jsonl, trials: 2}
";

/// One record of a chat log.
fn record(task: &str, trial: u32) -> Value {
    json!({"task_id": task, "trial": trial, "reward": 1.0, "messages": [
        {"role": "user", "content": "please"},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function",
            "function": {"name": "look", "arguments": "{\"at\": 1}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "seen"},
        {"role": "assistant", "content": "done"}]})
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|r| format!("{r}\n")).collect()
}

/// Two trials of each of two tasks.
fn log() -> Vec<Value> {
    let all = [("t1", 0), ("t1", 1), ("t2", 0), ("t2", 1)];
    all.iter()
        .map(|(task, trial)| record(task, *trial))
        .collect()
}

/// A suite `s` with two recorded arms, and its stored run `run`.
fn stored() -> Place {
    let place = Place::new();
    place.write("s/suite.yaml", SUITE);
    place.write("s/tasks.jsonl", "{\"id\": \"t1\"}\n{\"id\": \"t2\"}\n");
    place.write("s/arms.yaml", ARMS);
    place.write("s/logs/a.jsonl", lines(&log()));
    place.write("s/logs/b.jsonl", lines(&log()));
    place.expect(3, "run s --out run");
    place
}

/// Runs a command that must fail with this code and leave the stored run as it is; returns its error.
#[track_caller]
fn refused(place: &Place, run: &str, code: i32, arguments: &str) -> String {
    let before = place.held(run);
    let done = place.expect(code, arguments);
    let after = place.held(run);
    for (name, bytes) in &before {
        assert!(
            after.get(name) == Some(bytes),
            "`assize {arguments}` changed {name} of {run}"
        );
    }
    assert_eq!(
        before.len(),
        after.len(),
        "`assize {arguments}` left something behind"
    );
    assert_eq!(done.stdout, "", "an error is talk, not data");
    done.error().to_owned()
}

#[track_caller]
fn says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}

/// Imports a broken log of a new arm into the stored run, and runs a suite that names it.
#[track_caller]
fn broken_log(log: &str, parts: &[&str]) {
    let place = stored();
    place.write("broken.jsonl", log);
    let error = refused(
        &place,
        "run",
        2,
        "import openai-chat broken.jsonl --suite s --arm c --run run",
    );
    says(&error, &["broken.jsonl"]);
    says(&error, parts);
    // In the place of an arm's recording, for a run of its own beside the stored one.
    place.write("s/logs/b.jsonl", log);
    let error = refused(&place, "run", 2, "run s --out other");
    says(&error, &["logs/b.jsonl"]);
    says(&error, parts);
    // Put right, the same command goes through: nothing stands in its way.
    place.write("s/logs/b.jsonl", lines(&self::log()));
    place.expect(3, "run s --out other");
    let (repaired, first) = (place.files("other/report"), place.files("run/report"));
    assert!(repaired == first, "what failed before left its mark");
}

#[test]
fn truncated_json_lines() {
    let whole = lines(&log());
    let cut = &whole[..whole.len() - 40];
    broken_log(cut, &[".jsonl:4: ", "record 4", "ends", "hint: "]);
}

#[test]
fn a_truncated_native_trace_is_infrastructure_and_a_cut_line_an_error() {
    let place = Place::new();
    place.copy_suite("refunds", "s");
    let whole = place.read("s/golden/address-change.jsonl");
    let cut = &whole[..whole.len() - 30];
    place.write("cut.jsonl", cut);
    place.expect(
        0,
        "import native s/recorded/incumbent.jsonl --suite s --arm incumbent --run run",
    );
    let error = refused(
        &place,
        "run",
        2,
        "import native cut.jsonl --suite s --arm c --run run",
    );
    let last = whole.lines().count();
    says(&error, &[&format!("cut.jsonl:{last}: "), "hint: "]);
}

#[test]
fn two_trials_with_one_id() {
    let mut twice = log();
    twice.push(record("t1", 1));
    broken_log(
        &lines(&twice),
        &[
            ".jsonl:5: ",
            "two trials with one id",
            "task `t1`, trial 1",
            "hint: ",
        ],
    );
}

#[test]
fn a_stored_trial_is_never_overwritten() {
    let place = stored();
    let mut other = log();
    other[2]["messages"][3]["content"] = json!("done differently");
    place.write("other.jsonl", lines(&other));
    let error = refused(
        &place,
        "run",
        2,
        "import openai-chat other.jsonl --suite s --arm a --run run",
    );
    says(
        &error,
        &[
            "other.jsonl:3: ",
            "task `t2`, trial 0",
            "already stored with other evidence",
            "hint: ",
        ],
    );
    // The same evidence again is no news.
    let before = place.held("run");
    place.expect(
        0,
        "import openai-chat s/logs/a.jsonl --suite s --arm a --run run",
    );
    assert!(place.held("run") == before);
}

#[test]
fn an_unknown_task() {
    let mut other = log();
    other[3]["task_id"] = json!("t9");
    broken_log(
        &lines(&other),
        &[".jsonl:4: ", "task `t9` is not in the suite `s`", "hint: "],
    );
}

#[test]
fn arguments_that_are_not_json() {
    let mut broken = log();
    broken[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] = json!("{\"at\": 1");
    broken_log(
        &lines(&broken),
        &[
            ".jsonl:2: ",
            "record 2",
            "arguments",
            "look",
            "hint: ",
            "--malformed-arguments agent",
        ],
    );
    // Said to be the agent's, it is the agent's failure, and no error.
    let place = stored();
    place.write("s/logs/b.jsonl", lines(&broken));
    let done = place.assize("run s --out other --malformed-arguments agent");
    assert_ne!(done.code, 2, "{done:#?}");
    let report = place.report("other");
    assert_eq!(report.accounting("b", "outcome")["valid"], 4);
    assert_eq!(report.estimate("b", "success_rate")["value"], 0.75);
}

#[test]
fn a_reward_that_is_not_a_number() {
    for (reward, said) in [
        (json!("good"), "`reward` is not a number"),
        (json!(3.5), "reward"),
        (json!([1]), "reward"),
    ] {
        let mut broken = log();
        broken[2]["reward"] = reward;
        broken_log(&lines(&broken), &[".jsonl:3: ", "record 3", said]);
    }
    let text = lines(&log()).replacen("\"reward\":1.0", "\"reward\":NaN", 1);
    broken_log(&text, &[".jsonl:1: ", "NaN"]);
}

#[test]
fn a_reward_of_a_table_that_is_not_a_number() {
    let place = Place::new();
    place.write("good.csv", "arm,task,trial,reward\na,t,0,1\nb,t,0,0\n");
    place.expect(0, "import table good.csv --run run");
    for (cell, said) in [
        ("high", "`high`"),
        ("NaN", "`NaN`"),
        ("1.5", "`1.5`"),
        ("0,5", "5 cells"),
    ] {
        place.write(
            "bad.csv",
            format!("arm,task,trial,reward\nc,t,0,1\nc,u,0,{cell}\n"),
        );
        let error = refused(&place, "run", 2, "import table bad.csv --run run");
        says(&error, &["bad.csv:3: ", said]);
    }
    place.write("twice.csv", "arm,task,trial,reward\nc,t,0,1\nc,t,0,1\n");
    let error = refused(&place, "run", 2, "import table twice.csv --run run");
    says(
        &error,
        &[
            "twice.csv:3: ",
            "two rows for one trial",
            "line 2",
            "hint: ",
        ],
    );
}

#[test]
fn two_recordings_that_were_exchanged() {
    let place = stored();
    let named = |arm: &str| -> Vec<Value> {
        let mut records = log();
        records.iter_mut().for_each(|r| r["arm"] = json!(arm));
        records
    };
    place.write("s/logs/a.jsonl", lines(&named("b")));
    let error = refused(&place, "run", 2, "run s --out other");
    says(&error, &["arm `b`", "one of arm `a`", "exchanged"]);
    // A name that no arm of the plan has is only another name.
    place.write("s/logs/a.jsonl", lines(&named("model-a")));
    place.expect(3, "run s --out third");
}

#[test]
fn an_arm_that_is_absent() {
    let place = stored();
    let error = refused(&place, "run", 2, "compare run --candidate nobody");
    says(&error, &["`nobody`", "absent", "hint: ", "`a`, `b`"]);
    let error = refused(&place, "run", 2, "run s --out run --baseline nobody");
    says(&error, &["`nobody`", "hint: ", "`a`, `b`"]);
    let error = refused(&place, "run", 2, "compare run --candidate a");
    says(&error, &["same arm"]);
    let error = refused(&place, "run", 2, "golden freeze run --arm nobody");
    says(&error, &["no such arm", "hint: "]);
    // Planned by name, but never imported.
    place.expect(
        0,
        "import openai-chat s/logs/a.jsonl --suite s --arm a --run half",
    );
    let error = refused(&place, "half", 2, "compare half");
    says(&error, &["`b`", "absent", "hint: "]);
}

#[test]
fn no_common_task() {
    let place = Place::new();
    place.write(
        "t.csv",
        "arm,task,trial,reward\na,t1,0,1\na,t2,0,1\nb,t3,0,1\nb,t4,0,1\n",
    );
    place.expect(0, "import table t.csv --run run");
    let error = refused(&place, "run", 2, "compare run --baseline a --candidate b");
    says(&error, &["no task in common", "hint: ", "pair by id"]);
    place.write("c.csv", "arm,task,trial,reward\nc,t9,0,1\n");
    place.expect(0, "import table c.csv --run second");
    let error = refused(
        &place,
        "run",
        2,
        "compare run second --baseline a --candidate c",
    );
    says(&error, &["no task in common", "hint: "]);
}

#[test]
fn a_suite_that_was_edited_since() {
    let place = stored();
    place.write(
        "s/tasks.jsonl",
        "{\"id\": \"t1\"}\n{\"id\": \"t2\", \"expect\": {\"forbidden_tools\": [\"pay\"]}}\n",
    );
    for arguments in [
        "run s --out run",
        "import openai-chat s/logs/a.jsonl --suite s --arm c --run run",
        "grade run",
        "compare run",
        "golden freeze run",
    ] {
        let error = refused(&place, "run", 2, arguments);
        says(
            &error,
            &["the suite was edited since the run was planned", "hint: "],
        );
    }
    // The report can be written again from the suite as it was, and says so.
    let report = place.files("run/report");
    let done = place.expect(0, "report run");
    says(&done.stderr, &["the suite was edited", "as it was"]);
    assert!(place.files("run/report") == report);
}

#[test]
fn a_recording_that_was_edited_since() {
    let place = stored();
    let mut other = log();
    other[0]["reward"] = json!(0.0);
    place.write("s/logs/b.jsonl", lines(&other));
    let error = refused(&place, "run", 2, "run s --out run");
    says(&error, &["the files recorded for them, changed", "hint: "]);
}

/// Every command that opens a run.
const OPENING: [&str; 7] = [
    "run s --out run",
    "import openai-chat s/logs/a.jsonl --suite s --arm c --run run",
    "grade run",
    "compare run",
    "report run",
    "verify run",
    "golden freeze run --suite s",
];

#[test]
fn a_run_of_a_newer_format() {
    let place = stored();
    let plan = place.read("run/plan.json");
    // A newer format may hold keys that this version has never heard of.
    let newer = plan.replacen(
        "\"format\": 1",
        "\"format\": 2,\n  \"invented_since\": []",
        1,
    );
    place.write("run/plan.json", &newer);
    for arguments in OPENING {
        let error = refused(&place, "run", 2, arguments);
        says(
            &error,
            &[
                "run/plan.json",
                "format 2",
                "reads up to 1",
                "hint: ",
                "newer version",
            ],
        );
    }
    place.write("run/plan.json", &plan);
    let db = rusqlite::Connection::open(place.path("run/run.sqlite")).unwrap();
    db.execute("UPDATE meta SET value = '2' WHERE key = 'format'", [])
        .unwrap();
    drop(db);
    for arguments in OPENING {
        let error = refused(&place, "run", 2, arguments);
        says(
            &error,
            &["run/run.sqlite", "format 2", "reads up to 1", "hint: "],
        );
    }
}

#[test]
fn a_plan_that_was_edited_or_cut() {
    let place = stored();
    let plan = place.read("run/plan.json");
    place.write(
        "run/plan.json",
        plan.replacen("\"outcome\": 0.05", "\"outcome\": 0.5", 1),
    );
    for arguments in OPENING {
        let error = refused(&place, "run", 1, arguments);
        says(
            &error,
            &["run/plan.json", "edited after it was locked", "hint: "],
        );
    }
    place.write("run/plan.json", &plan[..plan.len() / 2]);
    let error = refused(&place, "run", 2, "compare run");
    says(&error, &["run/plan.json:", "cannot be read"]);
}

#[test]
fn a_path_that_leaves_the_suite() {
    let place = stored();
    place.write("secret.jsonl", lines(&log()));
    for (path, said) in [
        ("../secret.jsonl", "leaves the folder of its suite"),
        ("logs/../../secret.jsonl", "leaves the folder of its suite"),
        ("/etc/hostname", "hint: write it relative"),
        ("logs/link.jsonl", "leaves the folder of its suite"),
    ] {
        let link = place.path("s/logs/link.jsonl");
        if !link.exists() {
            std::os::unix::fs::symlink(place.path("secret.jsonl"), link).unwrap();
        }
        place.write("s/arms.yaml", ARMS.replace("logs/b.jsonl", path));
        let error = refused(&place, "run", 2, "run s --out run");
        says(&error, &["s/arms.yaml:3: ", path, said]);
        let done = place.expect(2, "validate s");
        says(&done.stdout, &["s/arms.yaml:3: ", path]);
    }
}

#[test]
fn a_folder_that_is_no_run() {
    let place = stored();
    let error = refused(&place, "run", 2, "compare s");
    says(&error, &["no run here", "hint: "]);
    let error = refused(&place, "run", 2, "run s --out s");
    says(&error, &["not empty and holds no run", "hint: "]);
    assert!(!place.path("s/run.sqlite").exists());
}

/// Locks the run as another process would.
fn lock(place: &Place) -> File {
    let lock = File::options()
        .read(true)
        .write(true)
        .open(place.path("run/run.lock"))
        .unwrap();
    lock.try_lock().unwrap();
    lock
}

#[test]
fn a_second_process_is_refused_while_the_run_is_in_use() {
    let place = stored();
    let held = lock(&place);
    for arguments in OPENING {
        let error = refused(&place, "run", 4, arguments);
        says(
            &error,
            &["the run is in use by process ", "one writer", "hint: wait"],
        );
    }
    drop(held);
    place.expect(3, "compare run");
}

/// Sends a signal to one child.
fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Starts the airline run, waits until it has said a line with these words, and returns it stopped
/// there by this signal.
fn interrupted(place: &Place, words: &str, name: &str) -> Child {
    let mut command = place.command();
    command
        .args(["run", "suites/airline", "--out", "run"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let talk = BufReader::new(child.stderr.take().unwrap());
    let mut lines = talk.lines();
    assert!(
        lines.any(|line| line.unwrap().contains(words)),
        "it never said `{words}`"
    );
    signal(&child, name);
    // The pipe stays open as long as the child may write to it.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

#[test]
fn a_paused_process_keeps_its_run() {
    let place = Place::new();
    place.copy_suite("airline", "suites/airline");
    let mut child = interrupted(&place, "gpt-4o: 200 trials", "STOP");
    let second = place.assize("run suites/airline --out run");
    signal(&child, "CONT");
    let first = child.wait().unwrap();
    assert_eq!(second.code, 4, "{second:#?}");
    says(
        second.error(),
        &[&format!("in use by process {};", child.id()), "hint: "],
    );
    assert_eq!(first.code(), Some(1));
    assert!(place.files("run/report") == airline().files);
}

#[test]
fn killed_at_any_point_the_run_goes_on() {
    let place = Place::new();
    place.copy_suite("airline", "suites/airline");
    // One run is killed again and again, each time further on.
    for (words, new) in [
        ("run ", 350),
        ("gpt-4o: 200 trials", 150),
        ("graded 350", 0),
    ] {
        let mut child = interrupted(&place, words, "KILL");
        assert_eq!(child.wait().unwrap().code(), None, "it was killed");
        let db = rusqlite::Connection::open(place.path("run/run.sqlite")).unwrap();
        let stored: u64 = db
            .query_row("SELECT count(*) FROM trials", [], |r| r.get::<_, i64>(0))
            .unwrap() as u64;
        assert!(
            stored >= 350 - new,
            "what was reported as stored is stored: {stored} after `{words}`"
        );
        drop(db);
        let verified = place.expect(0, "verify run");
        says(&verified.stdout, &["0 mismatches"]);
    }
    let again = place.expect(1, "run suites/airline --out run");
    says(
        &again.stderr,
        &[
            "200 trials recorded, 0 of them new",
            "150 trials recorded, 0 of them new",
        ],
    );
    assert!(
        place.files("run/report") == airline().files,
        "the report is that of a run that was never killed"
    );
}

fn tampered(place: &Place, change: &str) -> String {
    let db = rusqlite::Connection::open(place.path("run/run.sqlite")).unwrap();
    assert_eq!(db.execute(change, []).unwrap(), 1, "{change}");
    drop(db);
    let done: Done = place.expect(1, "verify run");
    done.stdout
}

#[test]
fn verify_finds_what_was_tampered_with() {
    let changes = [
        (
            "UPDATE events SET body = replace(body, 'seen', 'gone') WHERE trial = 1 AND body LIKE '%seen%'",
            "the chain breaks at event",
        ),
        (
            "UPDATE events SET hash = 'x' WHERE trial = 2 AND sequence = 1",
            "the chain breaks at event 1",
        ),
        (
            "DELETE FROM events WHERE trial = 3 AND sequence = (SELECT max(sequence) FROM events WHERE trial = 3)",
            "its digest does not match",
        ),
        (
            "UPDATE trials SET body = replace(body, '\"completed\"', '\"completed\" ') WHERE row = 4",
            "its digest does not match",
        ),
        (
            "UPDATE trials SET status = 'infra:provider:x', boundary = 'provider' WHERE row = 4",
            "its columns do not match",
        ),
        (
            "UPDATE trials SET idx = 7 WHERE row = 1",
            "does not follow from suite, task, arm and index",
        ),
        (
            "UPDATE meta SET value = replace(value, '\"1\"', '\"2\"') WHERE key = 'suite'",
            "suite",
        ),
    ];
    for (change, said) in changes {
        let place = stored();
        let sound = place.expect(0, "verify run");
        says(&sound.stdout, &["8 trials", "0 mismatches"]);
        says(&tampered(&place, change), &["MISMATCH", said]);
    }
}

/// A small file system in memory; `None` where mounting is not allowed.
struct Small(std::path::PathBuf);

impl Small {
    fn mount(at: &Path, kilobytes: u32) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let size = format!("size={kilobytes}k");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(at)
            .output();
        mounted
            .is_ok_and(|o| o.status.success())
            .then(|| Self(at.to_path_buf()))
    }
}

impl Small {
    fn resize(&self, kilobytes: u32) {
        let size = format!("remount,size={kilobytes}k");
        let mounted = Command::new("mount")
            .args(["-o", &size])
            .arg(&self.0)
            .status();
        assert!(mounted.unwrap().success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_file_system_leaves_what_was_stored() {
    let place = stored();
    let Some(small) = Small::mount(&place.path("small"), 1024) else {
        println!("skipped: this process may not mount a tmpfs");
        return;
    };
    // A first run that does not fit says so.
    place.copy_suite("airline", "airline");
    let done = place.expect(4, "run airline --out small/big");
    says(
        done.error(),
        &["full", "hint: the file system is full", "free some space"],
    );
    // With more room the same command goes on from what was stored.
    small.resize(64 * 1024);
    place.expect(1, "run airline --out small/big");
    place.expect(0, "verify small/big");
    fs::remove_dir_all(place.path("small/big")).unwrap();
    small.resize(1024);
    // A stored run survives whatever does not fit beside it.
    place.expect(3, "run s --out small/run");
    let many: Vec<Value> = (0..2000)
        .map(|i| record(["t1", "t2"][i % 2], i as u32 / 2))
        .collect();
    place.write("many.jsonl", lines(&many));
    let error = refused(
        &place,
        "small/run",
        4,
        "import openai-chat many.jsonl --suite s --arm c --run small/run",
    );
    says(&error, &["full", "hint: the file system is full"]);
    // Grading and reporting again need room, and leave the old grades and the old report.
    fill(&place.path("small/filler"));
    let error = refused(&place, "small/run", 4, "report small/run");
    says(&error, &["hint: the file system is full"]);
    fs::remove_file(place.path("small/filler")).unwrap();
    place.expect(3, "compare small/run");
    assert!(place.files("small/run/report") == place.files("run/report"));
    place.expect(0, "verify small/run");
    drop(small);
}

/// Fills a file system to the last byte.
fn fill(path: &Path) {
    use std::io::Write;
    let mut file = File::create(path).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

/// Peak memory of a process in KiB, as the kernel counts it, until it ends.
fn peak_kib(child: &mut Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap();
        let line = text.lines().find(|l| l.starts_with("VmHWM:"));
        let kib = line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok());
        peak = peak.max(kib.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    peak
}

/// Imports a log of 30 MB and one of 300 MB; slow, so only behind `ASSIZE_SLOW=1`.
#[test]
fn memory_of_an_import_does_not_grow_with_the_file() {
    if std::env::var_os("ASSIZE_SLOW").is_none() {
        return;
    }
    let peaks = [30, 300].map(|megabytes| {
        let place = stored();
        let filler = "all work and no play ".repeat(10_000);
        let mut log = String::new();
        let mut trials = 0;
        while log.len() < megabytes << 20 {
            let mut record = record("t1", trials);
            record["messages"][2]["content"] = json!(filler);
            record["messages"][3]["content"] = json!(filler);
            log.push_str(&format!("{record}\n"));
            trials += 1;
        }
        place.write("big.jsonl", &log);
        drop(log);
        let mut command = place.command();
        command.args([
            "import",
            "openai-chat",
            "big.jsonl",
            "--suite",
            "s",
            "--arm",
            "c",
            "--run",
            "run",
        ]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let peak = peak_kib(&mut child);
        assert!(child.wait().unwrap().success());
        println!("{megabytes} MB, {trials} trials: peak {peak} KiB");
        assert!(
            peak > 8 * 1024,
            "it was not watched long enough: {peak} KiB"
        );
        peak
    });
    assert!(peaks[1] < peaks[0] + 16 * 1024, "{peaks:?} KiB");
}

#[test]
fn what_a_table_locks_is_kept_and_not_changed_in_silence() {
    let place = Place::new();
    place.write(
        "t.csv",
        "arm,task,trial,reward\na,t1,0,1\na,t2,0,1\nb,t1,0,1\nb,t2,0,0\n",
    );
    place.write("c.csv", "arm,task,trial,reward\nc,t1,0,1\n");
    let first = "import table t.csv --run run --margin outcome=0.05 --assume-schedule";
    place.expect(0, first);
    // The arms were named after the plan was locked, so its rule stays open.
    place.expect(3, "compare run --baseline a --candidate b");
    let report = place.report("run");
    assert_eq!(report.comparison("success_rate")["margin"], 0.05);
    assert_eq!(
        report.comparison("success_rate")["notices"],
        json!(["detectable_above_one", "schedule_assumed"])
    );
    for wish in [
        "--margin outcome=0.3",
        "--baseline a --candidate c",
        "--seed 8",
    ] {
        let error = refused(
            &place,
            "run",
            2,
            &format!("import table c.csv --run run {wish}"),
        );
        says(&error, &["plan is locked", "hint: ", "assize compare"]);
    }
    place.expect(0, first);
    place.expect(0, "import table c.csv --run run");
    let plan: Value = serde_json::from_str(&place.read("run/plan.json")).unwrap();
    assert_eq!(plan["plan"]["arms"].as_array().unwrap().len(), 3);
}

#[test]
fn a_table_in_which_nothing_is_measured_is_refused_before_the_plan() {
    let place = Place::new();
    place.write(
        "t.csv",
        "Model,question_id,is_correct,Status\nold,q1,1,ok\nnew,q1,0,ok\n",
    );
    let error = place.expect(2, "import table t.csv --run run");
    says(
        error.error(),
        &[
            "t.csv:1",
            "read: `Model`, `question_id`, `Status`; not read: `is_correct`",
            "--map outcome=COLUMN",
            "tool_calls",
        ],
    );
    let map = "import table t.csv --run run --map outcome=is_correct";
    let error = place.expect(2, &format!("{map} --baseline odl --candidate new"));
    says(
        error.error(),
        &[
            "the baseline `odl` is no arm of the table",
            "did you mean `old`?",
        ],
    );
    assert!(!place.path("run").exists(), "nothing was locked");
    place.expect(0, &format!("{map} --baseline old --candidate new"));
}

#[test]
fn two_columns_of_one_name_are_refused_and_words_of_infrastructure_are_named() {
    let place = Place::new();
    for header in [
        "arm,task,trial,outcome,outcome",
        "arm,task,trial,outcome,Outcome",
        "arm,task,trial,outcome, task ",
    ] {
        place.write("t.csv", format!("{header}\na,t1,0,1,0\n"));
        let error = place.expect(2, "import table t.csv --run run").stderr;
        assert!(
            error.contains("more than one column has the name"),
            "{error}"
        );
        assert!(!place.path("run").exists());
    }
    // What is not read may have any name.
    place.write("t.csv", "arm,task,trial,outcome,note,note,status\na,t1,0,1,x,y,ok\na,t2,0,0,,,timeout\na,t3,0,0,,,failed\na,t4,0,0,,,failed\n");
    let done = place.expect(0, "import table t.csv --run run");
    for said in [
        "`failed`, which is no known word, is infrastructure, not the agent's failure: 2 trials",
        "`infra:runner:timeout` is infrastructure, not the agent's failure: 1 trials",
    ] {
        assert!(done.stderr.contains(said), "{done:#?}");
    }
    assert!(!done.stderr.contains("completed"), "{done:#?}");
}
