//! The store of a live run: what was reported as stored is stored, whole, once, and told apart.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use assize::base::Seed;
use assize::model::trial::{Boundary, TrialStatus};
use assize::store::{RunStore, Stored};
use rusqlite::Connection;
use serde_json::json;

use crate::common::Place;
use crate::live_run::{LiveRun, live};

const BATCH: usize = 16;
const FOLDER: &str = "ASSIZE_TEST_LIVE_RUN";

fn run() -> LiveRun {
    LiveRun::new(
        20,
        60,
        json!({"baseline": "incumbent", "candidate": "challenger"}),
    )
}

/// Not a test: the process that the next test kills. It goes on where the run stopped and says how
/// many trials are durable after each batch.
#[test]
#[ignore = "a process that another test starts and kills"]
fn writer_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let run = run();
    let mut store = run.open(folder.as_ref());
    let done = store.stored_trials().unwrap();
    let mut stored = done.len();
    let mut specs = run.schedule();
    specs.retain(|s| !done.contains(&s.arm, &s.task, s.index));
    let mut writer = store.live_writer().unwrap();
    for batch in specs.chunks(BATCH) {
        let trials: Vec<_> = batch.iter().map(|s| live(s, true)).collect();
        stored += writer.put_batch(&trials).unwrap().len();
        println!("durable {stored}");
    }
}

#[test]
fn killed_at_random_instants_nothing_is_lost_doubled_or_half_stored() {
    let place = Place::new();
    let folder = place.path("run");
    let planned = run().schedule().len();
    let mut random = Seed(11).stream();
    let (mut before, mut kills) = (0, 0);
    while before < planned {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "live_store::writer_that_is_killed",
                "--ignored",
                "--nocapture",
            ])
            .env(FOLDER, &folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut reported = before;
        let mut note = |line: std::io::Result<String>| {
            if let Some(n) = line.unwrap().strip_prefix("durable ") {
                reported = n.parse().unwrap();
            }
        };
        // The test harness says three lines of its own before the first batch.
        lines
            .by_ref()
            .take(4 + random.below(12))
            .for_each(&mut note);
        std::thread::sleep(Duration::from_micros(random.below(3_000) as u64));
        child.kill().unwrap();
        lines.for_each(&mut note);
        child.wait().unwrap();
        kills += 1;
        let store = RunStore::open(&folder).unwrap();
        let found = store.verify().unwrap();
        assert_eq!(found.mismatches, Vec::<String>::new());
        let stored = found.trials as usize;
        assert!(stored >= reported, "{stored} stored, {reported} reported");
        assert!(
            stored.is_multiple_of(BATCH) && found.events == 5 * found.trials,
            "{found:?}"
        );
        before = stored;
    }
    assert!(kills > 5, "the writer was killed {kills} times only");
    let whole = Place::new();
    run().write(&whole.path("run"), |_| true);
    let rows = |place: &Place| {
        let held = place.held("run");
        (held["table trials"].clone(), held["table events"].clone())
    };
    assert!(
        rows(&place) == rows(&whole),
        "the rows are those of an uninterrupted run"
    );
}

#[test]
fn a_response_id_that_comes_twice_is_a_warm_cache() {
    let place = Place::new();
    let run = run();
    let mut store = run.open(&place.path("run"));
    let specs = run.schedule();
    let mut trials: Vec<_> = specs[..4].iter().map(|s| live(s, true)).collect();
    trials[1].response_ids = vec!["a".into(), "b".into()];
    trials[2].response_ids = vec!["c".into(), "b".into()];
    trials[3].response_ids = vec!["d".into(), "d".into()];
    let puts = {
        let mut writer = store.live_writer().unwrap();
        let mut puts = writer.put_batch(&trials[..2]).unwrap();
        puts.extend(writer.put_batch(&trials[2..]).unwrap());
        assert_eq!(
            writer.put_batch(&trials[..2]).unwrap()[0].stored,
            Stored::Already
        );
        puts
    };
    let warm = TrialStatus::infra(Boundary::WarmCache, "reused_response_id", "");
    let statuses: Vec<_> = puts.into_iter().map(|p| p.status).collect();
    let fine = TrialStatus::Completed;
    assert_eq!(statuses, [fine.clone(), fine, warm.clone(), warm.clone()]);
    let stored = store.trial(&specs[2].arm, &specs[2].task, specs[2].index);
    assert_eq!(stored.unwrap().unwrap().trial.status, warm);
    assert!(store.verify().unwrap().mismatches.is_empty());
}

#[test]
fn amendments_are_read_everywhere_and_leave_the_evidence() {
    let place = Place::new();
    let run = LiveRun::new(
        4,
        1,
        json!({"baseline": "incumbent", "candidate": "challenger"}),
    );
    run.write(&place.path("run"), |_| true);
    let mut store = RunStore::open(&place.path("run")).unwrap();
    let spec = &run.schedule()[3];
    let conflict = TrialStatus::infra(Boundary::ResourceConflict, "shared_write", "db");
    {
        let mut writer = store.live_writer().unwrap();
        assert!(writer.amend(&spec.id, &conflict).unwrap());
        let again = TrialStatus::infra(Boundary::Tool, "other", "");
        assert!(!writer.amend(&spec.id, &again).unwrap());
        assert!(writer.amend(&spec.id, &TrialStatus::Completed).is_err());
        assert!(writer.amend(&"absent".into(), &conflict).is_err());
    }
    let stored = store
        .trial(&spec.arm, &spec.task, spec.index)
        .unwrap()
        .unwrap();
    assert_eq!(stored.trial.status, conflict);
    assert_eq!(stored.trace.unwrap().events.len(), 5);
    assert_eq!(store.infrastructure().unwrap()[0].code, "shared_write");
    drop(store);
    place.expect(0, "grade run");
    place.expect(0, "report run");
    place.expect(0, "verify run");
    let shown = format!(
        "show run --arm {} --task {} --trial {}",
        spec.arm, spec.task, spec.index
    );
    assert!(place.expect(0, &shown).stdout.contains("resource_conflict"));
    let report = place.report("run").0;
    let rows = report["accounting"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|r| r["arm"] == spec.arm.as_str() && r["dimension"] == "outcome");
    assert_eq!(row.unwrap()["excluded"], json!({"resource_conflict": 1}));
    let db = Connection::open(place.path("run/run.sqlite")).unwrap();
    db.execute("DELETE FROM amendments", []).unwrap();
    drop(db);
    let done = place.expect(1, "verify run");
    assert!(done.stdout.contains("amendments were"), "{done:?}");
}

#[test]
fn a_cancelled_trial_runs_again_and_keeps_its_first_evidence() {
    let place = Place::new();
    let run = LiveRun::new(
        2,
        1,
        json!({"baseline": "incumbent", "candidate": "challenger"}),
    );
    let specs = run.schedule();
    let mut store = run.open(&place.path("run"));
    let cancelled = TrialStatus::infra(Boundary::Cancelled, "interrupted", "");
    let mut first = live(&specs[0], true);
    first.trial.status = cancelled.clone();
    let others: Vec<_> = specs[1..].iter().map(|s| live(s, true)).collect();
    store
        .live_writer()
        .unwrap()
        .put_batch(&[vec![first], others].concat())
        .unwrap();
    let done = store.stored_trials().unwrap();
    let waiting: Vec<_> = specs
        .iter()
        .filter(|s| !done.contains(&s.arm, &s.task, s.index))
        .collect();
    assert_eq!(waiting, [&specs[0]]);
    let mut again = live(&specs[0], true);
    again.response_ids = vec!["another".into()];
    let put = store.live_writer().unwrap().put_batch(&[again]).unwrap();
    assert_eq!(
        (put[0].stored, &put[0].status),
        (Stored::Again, &TrialStatus::Completed)
    );
    let trial = store
        .trial(&specs[0].arm, &specs[0].task, 0)
        .unwrap()
        .unwrap()
        .trial;
    assert_eq!(trial.attempts, [cancelled]);
    let refused = store
        .live_writer()
        .unwrap()
        .put_batch(&[live(&specs[1], false)]);
    assert!(refused.unwrap_err().message().contains("other evidence"));
    assert_eq!(store.stored_trials().unwrap().len(), 4);
    let found = store.verify().unwrap();
    assert_eq!((found.trials, found.attempts), (4, 1), "counted apart");
    assert_eq!(found.mismatches, Vec::<String>::new());
}

#[test]
fn other_hands_are_found_out() {
    for (change, said) in [
        ("DELETE FROM trials WHERE row = 3", "trials were"),
        (
            "DELETE FROM trials WHERE row = (SELECT max(row) FROM trials)",
            "trials were",
        ),
        (
            "UPDATE trials SET digest = 'x' WHERE row = 2",
            "digest does not match",
        ),
        (
            "UPDATE events SET body = replace(body, 'ok', 'no')",
            "chain breaks",
        ),
        (
            "INSERT INTO attempts SELECT * FROM trials WHERE row = 2; DELETE FROM trials WHERE row = 2",
            "set aside",
        ),
    ] {
        let place = Place::new();
        let run = LiveRun::new(
            3,
            1,
            json!({"baseline": "incumbent", "candidate": "challenger"}),
        );
        run.write(&place.path("run"), |_| true);
        let db = Connection::open(place.path("run/run.sqlite")).unwrap();
        db.execute_batch(change).unwrap();
        drop(db);
        let found = RunStore::open(&place.path("run"))
            .unwrap()
            .verify()
            .unwrap();
        assert!(
            found.mismatches.iter().any(|m| m.contains(said)),
            "{change}: {found:?}"
        );
    }
}

#[test]
fn sessions_are_noted_in_the_plan_and_not_in_its_digest() {
    let place = Place::new();
    let run = run();
    let mut store = run.open(&place.path("run"));
    store.begin_session().unwrap();
    drop(store);
    let mut store = run.open(&place.path("run"));
    store.begin_session().unwrap();
    store.end_session(None).unwrap();
    drop(store);
    let store = RunStore::open(&place.path("run")).unwrap();
    let ended: Vec<bool> = store
        .plan_file()
        .sessions
        .iter()
        .map(|s| s.ended.is_some())
        .collect();
    assert_eq!(ended, [false, true]);
    assert_eq!(store.plan().digest, run.plan.digest);
}
