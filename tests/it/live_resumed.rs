//! What may change before a run is gone on with, and what is said of it.

use serde_json::json;

use crate::common::Place;
use crate::live_common::{arms, scripted, suite};

/// A run of two scripted arms, complete.
fn ran() -> Place {
    let place = Place::new();
    suite(&place, 2, 2, "");
    arms(
        &place,
        "\n  cand: {default: {turns: [{say: '{\"status\": \"ok\"}'}]}}\n",
        &scripted("cand"),
    );
    place.expect(0, "run s --out run");
    place
}

#[test]
fn an_edited_arms_file_is_noticed_and_the_stored_arms_go_on() {
    let place = ran();
    let silent = place.expect(0, "run --resume run");
    assert!(!silent.stderr.contains("note:"), "{silent:#?}");
    let edited = place
        .read("s/arms.yaml")
        .replace("input_per_million: 1", "input_per_million: 2")
        .replace("  base:", "  other:");
    place.write("s/arms.yaml", edited);
    let done = place.expect(0, "run --resume run");
    for told in [
        "arms.yaml `price` of arm `cand` was edited since the run was planned",
        "arms.yaml arm `base` is gone since",
        "arms.yaml arm `other` is new since",
        "the run goes on with the arms that it stored",
    ] {
        assert!(done.stderr.contains(told), "{told}: {done:#?}");
    }
    let names = place.report("run").0;
    assert_eq!(names["arms"].as_array().unwrap().len(), 2);
    assert_eq!(names["arms"][0]["name"], json!("base"));
    place.write("s/arms.yaml", "arms: [");
    let done = place.expect(0, "run --resume run");
    assert!(
        done.stderr.contains("arms.yaml cannot be read any more"),
        "{done:#?}"
    );
}

#[test]
fn another_number_of_trials_is_refused_by_its_option() {
    let place = ran();
    place.expect(0, "run --resume run -k 2");
    let done = place.expect(2, "run --resume run -k 3");
    assert!(
        done.error().contains("`-k 3`") && done.error().contains("has 2"),
        "{done:#?}"
    );
    let done = place.expect(2, "run s --out run -k 3");
    assert!(
        done.error()
            .contains("planned with `-k 2` trials per task, and this is `-k 3`"),
        "{done:#?}"
    );
    place.expect(0, "verify run");
}

#[test]
fn the_suite_may_be_named_when_a_run_is_gone_on_with_but_no_other_one() {
    let place = ran();
    place.expect(0, "run s --resume run");
    place.write("t/suite.yaml", "id: t\nversion: '1'\n");
    let done = place.expect(2, "run t --resume run");
    assert!(done.error().contains("another suite folder"), "{done:#?}");
}

#[test]
fn what_a_run_does_not_hold_is_told_with_what_is_like_it() {
    let place = ran();
    for (wrong, told) in [
        ("--arm cnad --task t0 --trial 0", "did you mean `cand`?"),
        ("--arm cand --task t00 --trial 0", "did you mean `t0`?"),
        (
            "--arm cand --task t0 --trial 7",
            "nothing is stored of trial 7",
        ),
        (
            "--arm cand --task t0 --trial 0 --events 700",
            "the trial has no event 700",
        ),
    ] {
        let done = place.expect(2, &format!("show run {wrong}"));
        assert!(done.error().contains(told), "{done:#?}");
    }
    let done = place.expect(2, "show run --arm cand --task t0 --trial 0 --events 700");
    assert!(done.error().contains("numbered 0 to "), "{done:#?}");
    let done = place.expect(0, "validate s/script.yaml");
    assert!(done.stdout.contains(" 1 script,"), "{done:#?}");
}
