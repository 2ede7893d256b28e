//! What a provider can do wrong, over real sockets: infrastructure with its boundary, never a failure
//! of the agent; and what looks alike but is the agent's own.

use serde_json::json;

use crate::common::Place;
use crate::live_common::{
    Endpoint, Found, Raw, arms, chat, closed_port, http, run, says, scripted, status, suite,
};

const BROKEN: &str = "
  limited: {default: {turns: [{say: hi, error: {status: 429, retry_after: 0}}]}}
  overloaded: {default: {preset: down}}
  broken: {default: {turns: [{say: hi, error: {status: 500}}]}}
  html: {default: {turns: [{say: hi, error: {kind: html}}]}}
  malformed: {default: {turns: [{say: hi, error: {kind: malformed}}]}}
  other: {default: {turns: [{say: '{\"status\": \"ok\"}', model: smaller}]}}
  cut: {default: {turns: [{call: [{name: look, arguments: {id: 1}}], error: {kind: cut}}]}}
  claude-cut: {default: {turns: [{call: [{name: look, arguments: {id: 1}}], error: {kind: cut}}]}}
  whole-cut: {default: {turns: [{say: '{\"status\": \"ok\"}', error: {kind: cut}}]}}
  hang: {default: {preset: hanging}}
  reset: {default: {turns: [{error: {kind: reset}}]}}
  cached: {default: {turns: [{say: '{\"status\": \"ok\"}', headers: {x-cache: HIT}}]}}
  long: {default: {turns: [{error: {status: 400, message: 'maximum context length is 8192 tokens'}}]}}
  refusing: {default: {preset: refusing}}
  silent: {default: {preset: silent}}
";

const LOOK: &str = "tools: {look: {simulated: {result: 1}}}\n";

#[test]
fn what_the_provider_breaks_is_never_held_against_the_agent() {
    let place = Place::new();
    let endpoint = Endpoint::start(&place, BROKEN);
    let locked = Endpoint::with(
        &place,
        BROKEN,
        &["--key", "RIGHT"],
        &[("RIGHT", "sk-right")],
    );
    let (url, stream) = (endpoint.url(), ", stream: true");
    let https = url.replace("http:", "https:");
    let anthropic = ", protocol: anthropic, stream: true, params: {max_tokens: 99}";
    let waiting = ", timeouts: {first_byte_s: 0.3}";
    let all = [
        chat("limited", &url, ""),
        chat("overloaded", &url, ""),
        chat("broken", &url, ""),
        chat("html", &url, ""),
        chat("malformed", &url, ""),
        chat("other", &url, ""),
        chat("cut", &url, stream),
        chat("claude-cut", &endpoint.root(), anthropic),
        chat("whole-cut", &url, ""),
        chat("hang", &url, waiting),
        chat("reset", &url, ""),
        chat("cached", &url, ""),
        chat("unknown", &url, ""),
        chat(
            "down",
            &format!("http://127.0.0.1:{}/v1", closed_port()),
            "",
        ),
        chat("insecure", &https, ""),
        chat("good", &locked.url(), ", api_key_env: WRONG"),
        chat("long", &url, ""),
        chat("refusing", &url, ""),
        chat("silent", &url, ""),
    ];
    suite(&place, 1, 2, LOOK);
    arms(&place, "", &all.concat());
    let mut command = place.command();
    command.env("WRONG", "sk-wrong-one");
    command.args(["run", "s", "--out", "run", "--no-preflight"]);
    command.args(["--infra-retries", "0"]);
    let output = command.output().unwrap();
    assert!(place.path("run/report/report.json").exists(), "{output:?}");
    let found = Found::of(&place, "run");
    for (arm, named) in [
        ("limited", "provider:rate_limited"),
        ("overloaded", "provider:overloaded"),
        ("broken", "provider:server_error"),
        ("html", "provider:not_json"),
        ("malformed", "provider:malformed_reply"),
        ("other", "provider:wrong_model"),
        ("cut", "provider:stream_cut"),
        ("claude-cut", "provider:stream_cut"),
        ("whole-cut", "provider:stream_cut"),
        ("hang", "provider:timeout_first_byte"),
        ("reset", "provider:stream_cut"),
        ("cached", "warm_cache:cache_header"),
        ("unknown", "provider:not_found"),
        ("down", "provider:unreachable"),
        ("insecure", "provider:tls"),
        ("good", "provider:unauthorized"),
    ] {
        found.excluded(arm, named, 2);
    }
    found.all_passed("base", 2);
    for (arm, reason) in [
        ("long", "context_length"),
        ("refusing", "refusal"),
        ("silent", "empty_reply"),
    ] {
        found.all_failed(arm, 2);
        let wanted = json!({"status": "agent_failed", "reason": reason});
        assert_eq!(status(&place, "run", arm, "t0", 0), wanted);
    }
}

#[test]
fn a_429_that_outlasts_its_retries_is_the_provider_s_and_one_that_does_not_is_nothing() {
    let place = Place::new();
    let models = "
  limited: {default: {turns: [{say: hi, error: {status: 429, retry_after: 0}}]}}
  brief: {default: {turns: [{say: '{\"status\": \"ok\"}', error: {status: 429, times: 2, retry_after: 0}}]}}
";
    let endpoint = Endpoint::start(&place, models);
    let named = ", headers: {x-assize-trial: '{task}/{trial}'}";
    let arm = |name| chat(name, &endpoint.url(), named).replace("max_retries: 0", "max_retries: 2");
    suite(
        &place,
        2,
        2,
        "decision: {baseline: base, candidate: limited, rules: [{dimension: outcome, rule: non_inferior, margin: 0.1}]}\n",
    );
    arms(&place, "", &[arm("limited"), arm("brief")].concat());
    let found = run(&place, "--infra-retries 1");
    found.excluded("limited", "provider:rate_limited", 4);
    found.all_passed("brief", 4);
    // Two attempts of each trial with two retries each; none of them is a sample.
    assert_eq!(found.live("limited")["retried"], 4);
    assert_eq!(found.live("limited")["retried_trials"], 4);
    assert_eq!(found.live("brief")["model_retries"], 8);
    assert_eq!(found.live("brief")["retried"], 0);
    assert_eq!(found.report.gate(), ("infrastructure", 4));
}

#[test]
fn attempts_that_are_run_again_are_counted_and_are_no_samples() {
    let place = Place::new();
    // Whatever trial comes first breaks; the seventh request is the first that does not.
    let flaky = Raw::start(|request| match request.number {
        0..6 => http(500, "{}"),
        n => says("flaky", n, "{\"status\": \"ok\"}"),
    });
    suite(&place, 3, 2, "");
    arms(&place, "", &chat("flaky", &flaky.url(), ""));
    let found = run(&place, "--infra-retries 6 --concurrency 1");
    found.all_passed("flaky", 6);
    assert_eq!(flaky.requests(), 12);
    assert_eq!(found.live("flaky")["retried"], 6);
    assert_eq!(found.live("flaky")["retried_trials"], 1);
    assert_eq!(found.count("flaky", "planned"), 6);
    assert_eq!(found.report.estimate("flaky", "success_rate")["trials"], 6);
}

#[test]
fn a_response_that_comes_twice_is_a_warm_cache() {
    let place = Place::new();
    let models = "\n  same: {default: {turns: [{say: '{\"status\": \"ok\"}', id: chatcmpl-1}]}}\n";
    let endpoint = Endpoint::start(&place, models);
    suite(&place, 1, 3, "");
    let same = chat("same", &endpoint.url(), "");
    arms(
        &place,
        "",
        &[same, chat("good", &endpoint.url(), "")].concat(),
    );
    let found = run(&place, "");
    assert_eq!(
        found.infra("same"),
        [("warm_cache:reused_response_id".to_owned(), 2)]
    );
    assert_eq!(found.count("same", "valid"), 1);
    assert_eq!(found.live("same")["warm_cache"], 2);
    found.all_passed("good", 3);
}

#[test]
fn both_protocols_run_with_tools_streamed_and_whole() {
    let place = Place::new();
    let turns = "{default: {turns: [{call: [{name: look, arguments: {id: 1}}, {name: look, arguments: {id: 2}}]}, {say: '{\"status\": \"{{ called[1].result }}\"}'}]}}";
    let names = ["openai", "openai-s", "claude", "claude-s"];
    let models: String = names.map(|n| format!("\n  {n}: {turns}")).concat();
    let endpoint = Endpoint::start(&place, &models);
    let anthropic = ", protocol: anthropic, params: {max_tokens: 99}";
    let all = [
        chat("openai", &endpoint.url(), ""),
        chat("openai-s", &endpoint.url(), ", stream: true"),
        chat("claude", &endpoint.root(), anthropic),
        chat(
            "claude-s",
            &endpoint.root(),
            &format!("{anthropic}, stream: true"),
        ),
    ];
    suite(
        &place,
        2,
        2,
        "tools: {look: {parameters: {type: object, properties: {id: {type: integer}}}, simulated: {cases: [{when: args.id == 2, result: ok}], result: no}}}\n",
    );
    arms(&place, "", &all.concat());
    // This time they are asked first.
    let done = place.expect(0, "run s --out run");
    let found = Found::of(&place, "run");
    for name in names {
        assert!(
            done.stderr.contains(&format!("{name}: answers")),
            "{done:#?}"
        );
        found.all_passed(name, 4);
        let calls = found.report.estimate(name, "tool_calls.mean");
        assert_eq!(calls["value"], 2.0);
        assert!(found.report.estimate(name, "tokens.mean")["value"].as_f64() > Some(0.0));
    }
}

#[test]
fn malformed_arguments_are_told_to_the_agent_and_are_its_own() {
    let place = Place::new();
    let models = "
  once: {default: {turns: [{call: [{name: look, malformed_arguments: '{\"id\": '}]}, {cases: [{when: last.is_error, say: '{\"status\": \"ok\"}'}], say: '{\"status\": \"no error came\"}'}]}}
  always: {default: {turns: [{call: [{name: look, malformed_arguments: '[['}], forever: true}]}}
";
    suite(&place, 1, 2, &format!("{LOOK}limits: {{steps: 4}}\n"));
    arms(
        &place,
        models,
        &[scripted("once"), scripted("always")].concat(),
    );
    let found = run(&place, "");
    found.all_passed("once", 2);
    found.all_failed("always", 2);
}
