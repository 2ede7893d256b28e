//! What breaks in the world of a live trial, seen through the binary: fixture, tools, checks, and
//! resources that trials share.

use crate::common::Place;
use crate::live_common::{Found, arms, run, scripted, status, suite};

/// A model that calls `act` once and passes.
const ACT: &str = "
  act: {default: {turns: [{call: [{name: act}]}, {say: '{\"status\": \"ok\"}'}]}}
";

fn acting(more: &str, options: &str) -> Found {
    let place = Place::new();
    acting_in(&place, more, options)
}

fn acting_in(place: &Place, more: &str, options: &str) -> Found {
    suite(place, 1, 2, more);
    arms(place, ACT, &scripted("act"));
    run(place, &format!("--infra-retries 0 {options}"))
}

#[test]
fn a_fixture_that_can_t_be_made_is_the_fixture_s() {
    let tool = "tools: {act: {simulated: {result: 1}}}\n";
    for (fixture, code) in [
        (
            "environment: {prepare: {run: [sh, -c, 'echo no >&2; exit 3']}}\n",
            "prepare_failed",
        ),
        (
            "environment: {prepare: {run: [sleep, '60'], timeout_s: 0.2}}\n",
            "prepare_timeout",
        ),
        (
            "environment: {prepare: {run: [no-such-program-anywhere]}}\n",
            "prepare_failed",
        ),
    ] {
        let found = acting(&format!("{tool}{fixture}"), "");
        found.excluded("act", &format!("fixture:{code}"), 2);
        found.excluded("base", &format!("fixture:{code}"), 2);
    }
    let place = Place::new();
    place.write("s/world/file", "x");
    nix::unistd::mkfifo(&place.path("s/world/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let found = acting_in(
        &place,
        &format!("{tool}environment: {{fixture: world}}\n"),
        "",
    );
    found.excluded("act", "fixture:fixture_special_file", 2);
}

#[test]
fn a_command_that_dies_is_the_tool_s_and_one_that_says_no_is_not() {
    for (script, code) in [
        ("kill -9 $$", "tool_died"),
        ("exit 7", "tool_died"),
        ("exec sleep 60", "tool_timeout"),
        ("exec no-such-program-anywhere", "tool_not_found"),
        ("echo once upon a time", "tool_not_json"),
        ("echo '{\\\"wrote\\\": 1}'", "tool_wrong_shape"),
    ] {
        let seconds = if code == "tool_timeout" { 0.5 } else { 20.0 };
        let tool = format!(
            "tools: {{act: {{command: {{run: [sh, -c, \"{script}\"], timeout_s: {seconds}}}}}}}\n"
        );
        let found = acting(&tool, "");
        found.excluded("act", &format!("tool:{code}"), 2);
        found.all_passed("base", 2);
    }
    let no = "tools: {act: {command: {run: [sh, -c, \"echo '{\\\"error\\\": 1}'\"]}}}\n";
    acting(no, "").all_passed("act", 2);
}

#[test]
fn a_check_that_does_not_answer_is_the_grader_s_and_one_that_fails_is_the_agent_s() {
    let check = |run: &str| {
        format!(
            "tools: {{act: {{simulated: {{result: 1}}}}}}\nenvironment: {{state: {{}}}}\nCHECKS{run}"
        )
    };
    let suite_with = |run: &str| {
        let place = Place::new();
        let text = check("");
        suite(&place, 1, 2, text.trim_end_matches("CHECKS"));
        let file = place.read("s/suite.yaml");
        place.write(
            "s/suite.yaml",
            file.replace(
                "expect:\n",
                &format!("expect:\n  checks: [{{id: tests, {run}}}]\n"),
            ),
        );
        arms(&place, ACT, &scripted("act"));
        super::live_common::run(&place, "--infra-retries 0")
    };
    for (run, code) in [
        ("run: [sh, -c, 'kill -SEGV $$']", "check_crashed"),
        ("run: [sh, -c, 'exit 127']", "check_crashed"),
        ("run: [no-such-program-anywhere]", "check_crashed"),
        ("run: [sleep, '60'], timeout_s: 0.2", "check_timeout"),
        ("run: [echo, fine], answer: json", "check_wrong_shape"),
        ("run: [sh, -c, 'yes'], timeout_s: 20", "check_wrong_shape"),
    ] {
        suite_with(run).excluded("act", &format!("grader:{code}"), 2);
    }
    suite_with("run: [sh, -c, 'exit 1']").all_failed("act", 2);
    suite_with("run: ['true']").all_passed("act", 2);
}

/// A tool that ends only when two of its kind run.
const TOGETHER: &str = "echo x >> $ASSIZE_SUITE/../both; n=0; while [ $(wc -l < $ASSIZE_SUITE/../both) -lt 2 ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done; echo 1";

/// A tool that dies if two of its kind run.
const ALONE: &str =
    "mkdir $ASSIZE_SUITE/../held || exit 9; sleep 0.1; rmdir $ASSIZE_SUITE/../held; echo 1";

fn shared(lease: bool, script: &str) -> String {
    format!(
        "environment: {{resources: {{db: {{lease: {lease}}}}}}}\ntools: {{act: {{writes: true, resources: [db], command: {{run: [sh, -c, '{script}']}}}}}}\n"
    )
}

#[test]
fn two_trials_that_wrote_one_resource_are_both_left_out_and_a_lease_keeps_them_apart() {
    let found = acting(&shared(false, TOGETHER), "--concurrency 4");
    found.excluded("act", "resource_conflict:written_by_two", 2);
    found.all_passed("base", 2);
    let found = acting(&shared(true, ALONE), "--concurrency 4");
    found.all_passed("act", 2);
}

#[test]
fn a_trial_that_only_read_what_another_wrote_stays_valid() {
    // Both wait until the other one is there; then the writer writes, and the reader stays until it has.
    let both = "echo x >> $ASSIZE_SUITE/../both; n=0; while [ $(wc -l < $ASSIZE_SUITE/../both) -lt 2 ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done";
    let write =
        format!("{both}; echo new > $ASSIZE_SUITE/db/row; touch $ASSIZE_SUITE/../done; echo 1");
    let read = format!(
        "{both}; n=0; while [ ! -e $ASSIZE_SUITE/../done ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done; cat $ASSIZE_SUITE/db/row > row; echo 1"
    );
    let place = Place::new();
    let more = format!(
        "environment: {{resources: {{db: {{lease: false, path: db}}}}}}
tools:
  write: {{writes: true, resources: [db], command: {{run: [sh, -c, '{write}']}}}}
  read: {{resources: [db], command: {{run: [sh, -c, '{read}']}}}}
"
    );
    suite(&place, 1, 1, &more);
    place.write("s/db/row", "old\n");
    let act = |name: &str| {
        format!(
            "\n  {name}: {{default: {{turns: [{{call: [{{name: {name}}}]}}, {{say: '{{\"status\": \"ok\"}}'}}]}}}}"
        )
    };
    let models = format!("{}{}\n", act("write"), act("read"));
    arms(&place, &models, &(scripted("write") + &scripted("read")));
    let found = run(&place, "--concurrency 4");
    found.all_passed("write", 1);
    found.all_passed("read", 1);
    place.expect(0, "verify run");
}

/// Whether a process of this id goes on.
fn goes_on(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim()));
    stat.is_ok_and(|s| !s.contains(") Z "))
}

#[test]
fn a_process_that_left_its_group_is_killed_and_named() {
    killed_and_named("setsid sleep 987");
}

#[test]
fn a_process_that_cleared_its_environment_is_found_by_where_it_works() {
    killed_and_named("setsid env -i sleep 988");
}

fn killed_and_named(left: &str) {
    let script = format!("{left} & echo $! > $ASSIZE_SUITE/../child; sleep 0.2; echo 1");
    let more = format!("tools: {{act: {{command: {{run: [sh, -c, '{script}']}}}}}}\n");
    let place = Place::new();
    suite(&place, 1, 1, &more);
    let models =
        "\n  act: {default: {turns: [{call: [{name: act}]}, {say: '{\"status\": \"ok\"}'}]}}\n";
    arms(&place, models, &scripted("act"));
    let found = run(&place, "--infra-retries 0");
    found.excluded("act", "runner:process_left_behind", 1);
    let told = status(&place, "run", "act", "t0", 0)["detail"].clone();
    assert!(told.as_str().unwrap().contains("sleep (process "), "{told}");
    let child = place.read("child");
    let mut tries = 0;
    while goes_on(&child) && tries < 500 {
        tries += 1;
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(!goes_on(&child), "process {child}");
}

#[test]
fn tools_of_an_execution_that_was_killed_are_killed_when_the_run_goes_on() {
    let script =
        "echo $$ > $ASSIZE_SUITE/../child; [ -e $ASSIZE_SUITE/../second ] || sleep 987; echo 1";
    let more =
        format!("tools: {{act: {{command: {{run: [sh, -c, '{script}'], timeout_s: 999}}}}}}\n");
    let place = Place::new();
    suite(&place, 1, 1, &more);
    let models =
        "\n  act: {default: {turns: [{call: [{name: act}]}, {say: '{\"status\": \"ok\"}'}]}}\n";
    arms(&place, models, &scripted("act"));
    let mut command = place.command();
    command.args(["run", "s", "--out", "run", "--no-preflight"]);
    let quiet = std::process::Stdio::null;
    let mut killed = command.stdout(quiet()).stderr(quiet()).spawn().unwrap();
    while !place.path("child").exists() || place.read("child").trim().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let child = place.read("child");
    assert!(goes_on(&child), "nobody else kills it");
    place.write("second", "");
    let done = place.expect(0, "run --resume run");
    assert!(done.stderr.contains("killed sh (process "), "{done:#?}");
    assert!(!goes_on(&child), "process {child}");
    Found::of(&place, "run").all_passed("act", 1);
}

/// Not live, but the same question: a log that ends before what explains it.
#[test]
fn a_trace_cut_before_its_end_is_the_trace_s() {
    let place = Place::new();
    suite(&place, 1, 1, "tools: {act: {simulated: {result: 1}}}\n");
    let event = |trial: &str, n: u32, kind: &str, rest: &str| {
        format!(
            "{{\"arm\": \"{trial}\", \"task\": \"t0\", \"trial\": 0, \"sequence\": {n}, \"kind\": \"{kind}\"{rest}}}\n"
        )
    };
    let whole = [
        event("a", 0, "trial_start", ""),
        event(
            "a",
            1,
            "tool_call",
            ", \"capability\": \"act\", \"call_id\": \"c1\", \"payload\": {}",
        ),
        event(
            "a",
            2,
            "tool_result",
            ", \"capability\": \"act\", \"call_id\": \"c1\", \"payload\": 1",
        ),
        event("a", 3, "final", ", \"payload\": {\"status\": \"ok\"}"),
        event(
            "a",
            4,
            "trial_end",
            ", \"payload\": {\"status\": \"completed\"}",
        ),
    ];
    place.write("whole.jsonl", whole.concat());
    place.write("cut.jsonl", whole[..2].concat());
    place.write("arms.yaml", "format: 1\narms:\n  whole: {kind: recorded, path: whole.jsonl, format: native}\n  cut: {kind: recorded, path: cut.jsonl, format: native}\n");
    let done = place.assize("run s --arms arms.yaml --out run");
    assert!(place.path("run/report/report.json").exists(), "{done:#?}");
    let found = Found::of(&place, "run");
    found.excluded("cut", "trace:no_trial_end", 1);
    found.all_passed("whole", 1);
}
