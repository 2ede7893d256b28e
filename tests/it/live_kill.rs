//! A run that is killed at random instants, and gone on with until it is whole, is the run that was
//! never killed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Stdio;
use std::time::Duration;

use crate::common::Place;

/// A suite that takes a while: every tool call is a process of its own.
fn suite(place: &Place) {
    place.write(
        "s/suite.yaml",
        "id: s\nversion: '1'\ntrials: 4\n\
         tools: {note: {writes: true, command: {run: [sh, -c, 'echo {\\\"result\\\": 1, \\\"receipt\\\": \\\"r\\\"}']}}}\n\
         expect: {final_schema: {type: object, required: [ok], properties: {ok: {enum: [true]}}}}\n\
         decision: {baseline: a, candidate: b, primary: [outcome], margins: {outcome: 0.1}, rules: [{dimension: outcome, rule: non_inferior}]}\n",
    );
    let mut tasks = String::new();
    for n in 0..30 {
        writeln!(
            tasks,
            "{{\"id\": \"t{n}\", \"input\": {{\"user\": \"task {n}\"}}}}"
        )
        .unwrap();
    }
    place.write("s/tasks.jsonl", tasks);
    place.write(
        "s/arms.yaml",
        "arms:\n  a: {kind: scripted, script: script.yaml, model: m}\n  b: {kind: scripted, script: script.yaml, model: n}\n",
    );
    let model = "{default: {any_of: [{rate: 0.7, turns: [{call: [{name: note}]}, {say: '{\"ok\": true}'}]}, {rate: 0.3, turns: [{say: '{\"ok\": false}'}]}]}}";
    place.write(
        "s/script.yaml",
        format!("models:\n  m: {model}\n  n: {model}\n"),
    );
}

/// The report and the rows of the database that say what was measured.
fn shown(place: &Place, run: &str) -> BTreeMap<String, Vec<u8>> {
    let mut held = place.held(run);
    // Rows are stored in the order in which trials ended, and the times of the run are its own.
    held.retain(|name, _| name.starts_with("report/"));
    held
}

/// Kills a run so often, each time a little later than the last kill allowed.
fn killed(place: &Place, kills: u32) {
    let mut left = kills;
    let mut wait = 30;
    while left > 0 {
        let mut command = place.command();
        command.args([
            "run",
            "s",
            "--out",
            "killed",
            "--concurrency",
            "4",
            "--seed",
            "5",
        ]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        left -= 1;
        // A run that was whole before its kill is still killed again: nothing of it may change.
        wait = 20 + (wait * 7 + 13) % 240;
        assert!(ended.code().is_none() || ended.code() == Some(3) || ended.code() == Some(1));
    }
}

fn check(kills: u32) {
    let place = Place::new();
    suite(&place);
    let whole = place.assize("run s --out whole --concurrency 4 --seed 5");
    assert!(whole.code == 1 || whole.code == 3, "{whole:#?}");
    killed(&place, kills);
    let done = place.assize("run s --out killed --concurrency 4 --seed 5");
    assert_eq!(done.code, whole.code, "{done:#?}");
    place.expect(0, "verify killed");
    let (killed, whole) = (shown(&place, "killed"), shown(&place, "whole"));
    assert_eq!(
        killed.keys().collect::<Vec<_>>(),
        whole.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &whole {
        let other = String::from_utf8_lossy(&killed[name]).into_owned();
        assert_eq!(other, String::from_utf8_lossy(bytes), "{name}");
    }
    let report = place.report("killed");
    for arm in ["a", "b"] {
        assert_eq!(report.accounting(arm, "outcome")["started"], 120);
        assert_eq!(report.accounting(arm, "outcome")["planned"], 120);
    }
}

#[test]
fn a_killed_run_becomes_the_run_that_was_never_killed() {
    check(8);
}

#[test]
fn slow_a_hundred_kills_lose_double_and_halve_nothing() {
    if std::env::var_os("ASSIZE_SLOW").is_none() {
        eprintln!("skipped: set ASSIZE_SLOW=1");
        return;
    }
    check(100);
}
