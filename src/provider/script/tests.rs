//! The engine: rates, determinism, turns, errors, judges.

use std::sync::Arc;

use serde_json::{Value, json};
use statrs::distribution::{Binomial, DiscreteCDF};

use super::*;
use crate::model::chat::{ChatRequest, Finish, Message, ToolCall, ToolDef, TrialKey};
use crate::model::script::ScriptErrorKind;

fn model(behaviour: Value) -> ScriptedModel {
    script(json!({"models": {"m": {"default": behaviour}}}))
}

fn script(script: Value) -> ScriptedModel {
    let spec = serde_json::from_value(script).unwrap();
    ScriptedModel::new(Arc::new(Script::new(&spec).unwrap()), "m").unwrap()
}

fn request(task: &str, index: u32, messages: Vec<Message>) -> ChatRequest {
    ChatRequest {
        messages,
        tools: vec![ToolDef {
            name: "look".to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        }],
        trial: TrialKey {
            task: task.to_owned(),
            index,
            id: String::new(),
            seed: 0,
        },
        turn: 1,
        waits: Default::default(),
    }
}

fn user(text: &str) -> Message {
    Message::User(text.to_owned())
}

fn called(calls: Vec<ToolCall>) -> Message {
    Message::Assistant {
        text: None,
        calls,
        opaque: vec![],
    }
}

fn result(call: &ToolCall, content: &str, is_error: bool) -> Message {
    Message::Tool {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: content.to_owned(),
        is_error,
    }
}

fn text(answer: ScriptedAnswer) -> String {
    assert_eq!(answer.error, None);
    answer.completion.text.unwrap()
}

fn first(model: &ScriptedModel, task: &str, index: u32) -> String {
    text(model.answer(&request(task, index, vec![user("go")])))
}

/// Whether so many of 2,000 have a probability of more than 1 in 1,000 at this rate, on either side.
fn likely(count: u64, rate: f64) -> bool {
    let binomial = Binomial::new(rate, 2000).unwrap();
    let below = binomial.cdf(count);
    let above = 1.0
        - if count == 0 {
            0.0
        } else {
            binomial.cdf(count - 1)
        };
    2.0 * below.min(above) > 0.001
}

#[test]
fn alternatives_come_at_their_rates() {
    let two = json!([{"rate": 0.8, "turns": [{"say": "good"}]}, {"rate": 0.2, "turns": [{"say": "bad"}]}]);
    let spec = json!({"models": {"m": {"default": {"any_of": two},
        "tasks": {"hard": {"rates": [0.3, 0.7]}, "never": {"rates": [0.0, 1.0]}}}}});
    let model = script(spec);
    let good = |task: &str, trials: u32| {
        (0..trials)
            .filter(|i| first(&model, task, *i) == "good")
            .count() as u64
    };
    for (task, rate) in [("easy", 0.8), ("other", 0.8), ("hard", 0.3)] {
        let count = good(task, 2000);
        assert!(likely(count, rate), "{task}: {count} of 2000");
    }
    assert_eq!(good("never", 500), 0);
    // Over tasks as over trials: five trials of each of 400 tasks.
    let over_tasks: u64 = (0..400).map(|t| good(&format!("task-{t}"), 5)).sum();
    assert!(likely(over_tasks, 0.8), "{over_tasks} of 2000");
}

#[test]
fn an_answer_depends_on_script_and_request_only() {
    let behaviour = json!({"any_of": [{"rate": 0.5, "turns": [{"say": "a"}]}, {"rate": 0.5, "turns": [{"say": "b"}]}]});
    let of_seed =
        |seed: u64| script(json!({"seed": seed, "models": {"m": {"default": behaviour}}}));
    let drawn = |model: &ScriptedModel| (0..64).map(|i| first(model, "t", i)).collect::<String>();
    let reversed = |model: &ScriptedModel| {
        (0..64)
            .rev()
            .map(|i| first(model, "t", i))
            .collect::<String>()
    };
    assert_eq!(drawn(&of_seed(1)), drawn(&of_seed(1)));
    assert_eq!(
        drawn(&of_seed(1)),
        reversed(&of_seed(1)).chars().rev().collect::<String>()
    );
    assert_ne!(drawn(&of_seed(1)), drawn(&of_seed(2)));
}

#[test]
fn an_id_may_be_fixed_as_a_cache_would_give_it() {
    let fixed =
        model(json!({"turns": [{"say": "x", "id": "same", "headers": {"X-Cache": "HIT"}}]}));
    let answer = fixed.answer(&request("t", 5, vec![user("go")]));
    assert_eq!(answer.completion.response_id.as_deref(), Some("same"));
    assert_eq!(answer.headers, [("X-Cache".to_owned(), "HIT".to_owned())]);
}

#[test]
fn a_conversation_goes_turn_by_turn_and_reacts() {
    let model = script(json!({
        "find": "order (?P<order>[0-9]+)",
        "tasks": {"t": {"vars": {"amount": 30}}},
        "models": {"m": {"default": {"turns": [
            {"say": "Let me see.", "call": [
                {"name": "charge", "arguments": {"order": "{{ found.order }}", "amount": "{{ vars.amount }}"}},
                {"name": "{{ tools[0] }}"}]},
            {"cases": [{"when": "called[0].is_error", "call": [{"name": "look"}]}],
             "say": "charged {{ called[0].result.id }} for {{ called[0].args.order }}"},
            {"say": "after all: {{ last.result }}"}]}}}
    }));
    let mut messages = vec![user("pay order 1842 please")];
    let answer = model.answer(&request("t", 3, messages.clone())).completion;
    assert_eq!(answer.text.as_deref(), Some("Let me see."));
    assert_eq!(answer.finish, Finish::ToolCalls);
    let calls = answer.calls;
    assert_eq!(calls[0].arguments, r#"{"amount":30,"order":"1842"}"#);
    assert_eq!(
        (calls[1].name.as_str(), calls[1].arguments.as_str()),
        ("look", "{}")
    );
    assert_ne!(calls[0].id, calls[1].id);
    messages.push(called(calls.clone()));
    let after = |charge: Message| {
        let mut messages = messages.clone();
        messages.extend([charge, result(&calls[1], "fine", false)]);
        messages
    };
    let good = after(result(&calls[0], r#"{"id": "c-1"}"#, false));
    assert_eq!(
        text(model.answer(&request("t", 3, good))),
        "charged c-1 for 1842"
    );
    for bad in [
        result(&calls[0], "timed out", true),
        result(&calls[0], r#"{"error": "timed out"}"#, false),
        result(&calls[0], "Error: timed out", false),
    ] {
        let mut bad = after(bad);
        let answer = model.answer(&request("t", 3, bad.clone())).completion;
        assert_eq!(answer.calls[0].name, "look");
        bad.extend([
            called(answer.calls.clone()),
            result(&answer.calls[0], "7", false),
        ]);
        assert_eq!(
            text(model.answer(&request("t", 3, bad.clone()))),
            "after all: 7"
        );
        // A last turn that calls nothing is given again.
        bad.extend([called(vec![]), user("and?")]);
        assert_eq!(text(model.answer(&request("t", 3, bad))), "after all: ");
    }
}

#[test]
fn tasks_and_trials_override_the_default() {
    let say = |text: &str| json!({"turns": [{"say": text}]});
    let model = script(json!({"models": {"m": {"default": say("default"),
        "tasks": {"t": {"behaviour": say("task"), "trials": {"2": say("trial")}}}}}}));
    let said = [("s", 2), ("t", 1), ("t", 2)].map(|(task, index)| first(&model, task, index));
    assert_eq!(said, ["default", "task", "trial"]);
}

#[test]
fn presets_do_what_they_are_called() {
    let of = |name: &str, turns: usize| {
        let mut messages = vec![user("go")];
        messages.extend((0..turns).map(|_| called(vec![])));
        model(json!({"preset": name})).answer(&request("t", 0, messages))
    };
    assert_eq!(text(of("steady", 0)), "done");
    assert_eq!(text(of("silent", 0)), "");
    assert!(text(of("flooding", 0)).len() >= 1_000_000);
    assert_eq!(of("refusing", 0).completion.finish, Finish::Refusal);
    for turns in [0, 50] {
        assert_eq!(of("looping", turns).completion.calls[0].name, "look");
    }
    assert_eq!(of("hanging", 3).error.unwrap().kind, ScriptErrorKind::Hang);
    assert_eq!(of("down", 3).error.unwrap().status, 503);
}

#[test]
fn errors_say_their_kind_and_how_often() {
    for (kind, status) in [
        ("status", 500),
        ("html", 200),
        ("malformed", 200),
        ("cut", 200),
        ("hang", 200),
        ("reset", 200),
    ] {
        let answer = model(json!({"turns": [{"say": "x", "error": {"kind": kind, "times": 2}}]}))
            .answer(&request("t", 0, vec![user("go")]));
        let error = answer.error.unwrap();
        assert_eq!(serde_json::to_value(error.kind).unwrap(), kind);
        assert_eq!((error.status, error.times), (status, Some(2)), "{kind}");
        assert_eq!(
            answer.completion.text.as_deref(),
            Some("x"),
            "what comes after the errors"
        );
    }
    let limited =
        json!({"turns": [{"error": {"status": 429, "retry_after": 3, "message": "slow down"}}]});
    let error = model(limited)
        .answer(&request("t", 0, vec![user("go")]))
        .error
        .unwrap();
    assert_eq!(
        (error.status, error.times, error.retry_after),
        (429, None, Some(3))
    );
    assert_eq!(error.message, "slow down");
    let impossible = model(json!({"turns": [{"say": "{{ 1 / 0 }}"}]}));
    let error = impossible
        .answer(&request("t", 0, vec![user("go")]))
        .error
        .unwrap();
    assert_eq!(error.status, 500);
    assert!(
        error.message.starts_with("script of model `m`, task `t`: "),
        "{}",
        error.message
    );
}

#[test]
fn what_a_turn_declares_is_in_the_reply() {
    let model = model(
        json!({"turns": [{"say": "x", "delay_ms": 40, "model": "other", "reasoning": "hm {{ trial }}",
        "usage": {"input_tokens": 9, "output_tokens": 3, "cached_tokens": 4}, "out_of_tokens": true,
        "call": [{"name": "look", "malformed_arguments": "{\"a\": "}]}]}),
    );
    let answer = model.answer(&request("t", 5, vec![user("go")]));
    let completion = answer.completion;
    assert_eq!(completion.declared_ms, Some(40));
    assert_eq!(completion.model.as_deref(), Some("other"));
    assert_eq!(completion.usage.input_tokens, Some(9));
    assert_eq!(completion.usage.output_tokens, Some(3));
    assert_eq!(completion.usage.cached_tokens, Some(4));
    assert_eq!(completion.finish, Finish::Length);
    assert_eq!(completion.calls[0].arguments, "{\"a\": ");
    assert_eq!(answer.reasoning.as_deref(), Some("hm 5"));
    assert_eq!(completion.opaque[0]["thinking"], "hm 5");
}

#[test]
fn tasks_are_recognised_by_their_first_message() {
    let spec = json!({"tasks": {"a": {"when": "order 1$"}, "b": {"when": "order"}},
        "models": {"m": {"default": {"preset": "steady"}}}});
    let script = Script::new(&serde_json::from_value(spec).unwrap()).unwrap();
    assert_eq!(script.recognise("order 1"), "a");
    assert_eq!(script.recognise("order 12"), "b");
    let other = script.recognise("hello");
    assert!(other.starts_with("message-"));
    assert_ne!(other, script.recognise("hello you"));
}

#[test]
fn a_judge_errs_at_its_rates() {
    let judge = model(
        json!({"judge": {"label_in": "truth=(?P<truth>\\w+)", "sensitivity": 0.9, "specificity": 0.7,
        "pass": "{\"verdict\": \"pass\"}", "fail": "{\"verdict\": \"fail\"}"}}),
    );
    let says = |truth: &str, item: u32| {
        let prompt = format!("Judge item {item}.\ntruth={truth}");
        text(judge.answer(&request("t", 0, vec![user(&prompt)])))
    };
    let count = |truth: &str, verdict: &str| {
        let verdict = format!("{{\"verdict\": \"{verdict}\"}}");
        (0..2000)
            .filter(|item| says(truth, *item) == verdict)
            .count() as u64
    };
    assert!(likely(count("pass", "pass"), 0.9));
    assert!(likely(count("fail", "fail"), 0.7));
    assert_eq!(says("pass", 3), says("pass", 3));
    let blind = judge.answer(&request("t", 0, vec![user("no truth here")]));
    assert!(blind.error.unwrap().message.contains("finds no truth"));
}

#[test]
fn a_judge_of_pairs_errs_and_leans_at_its_rates() {
    let pairs = |sensitivity: f64, bias: f64| {
        model(
            json!({"judge": {"label_in": "quality=(?P<truth>[0-9]+)", "sensitivity": sensitivity,
            "pairwise": true, "position_bias": bias}}),
        )
    };
    let first_chosen = |judge: &ScriptedModel, a: u32, b: u32| {
        let prompt = |i| format!("Pair {i}: quality={a} or quality={b}");
        let ask = |i: u32| text(judge.answer(&request("t", 0, vec![user(&prompt(i))])));
        (0..2000).filter(|i| ask(*i) == "A").count() as u64
    };
    assert!(likely(first_chosen(&pairs(0.85, 0.0), 9, 10), 0.15));
    assert!(likely(first_chosen(&pairs(0.85, 0.0), 10, 9), 0.85));
    assert!(likely(first_chosen(&pairs(0.85, 0.0), 9, 9), 0.5));
    // It chooses the first at once in 20 %, and otherwise errs as before.
    assert!(likely(
        first_chosen(&pairs(0.85, 0.2), 9, 10),
        0.2 + 0.8 * 0.15
    ));
}
