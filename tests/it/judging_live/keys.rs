//! A judge's key and its hidden reasoning are written nowhere.

use std::collections::BTreeMap;

use serde_json::json;

use super::{MODEL, OUTCOME, gold, judge, plain, said, talk};
use crate::common::{Done, Place};
use crate::live_common::{Raw, http};

const KEY: &str = "sk-canary-1b5e90aa77c2";

const THOUGHT: &str = "MARKEDTHOUGHT";

#[test]
fn neither_the_judges_key_nor_its_thoughts_are_kept() {
    let place = Place::new();
    talk(&place, 6, OUTCOME, |_, i| format!("{i} grade: good"));
    gold(&place, "gold", 8, plain);
    // The key comes back wherever a text can stand: in the reply, as the model's name, in an error.
    let echo = Raw::start(|request| {
        let key = request.text.lines().find_map(|l| l.split("earer ").nth(1));
        let key = key.unwrap_or("no key").trim();
        let reply = |model: &str, content: &str| {
            let message = json!({"role": "assistant", "content": content,
                "reasoning_content": THOUGHT, "reasoning": THOUGHT});
            json!({"id": key, "object": "chat.completion", "created": 0, "model": model,
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
        };
        // The first reply to each command is no error: that would end the command.
        match (request.number + 2) % 5 {
            0 => http(
                401,
                &json!({"error": {"message": format!("wrong key {key}")}}).to_string(),
            ),
            1 => http(200, &reply(key, &said("pass")).to_string()),
            2 => http(200, &reply(MODEL, &said(key)).to_string()),
            3 => {
                let tagged = format!("<think>{THOUGHT}</think>{}", said("pass"));
                http(200, &reply(MODEL, &tagged).to_string())
            }
            _ => {
                let quoting = json!({"reason": key, "answer": "pass"}).to_string();
                http(200, &reply(MODEL, &quoting).to_string())
            }
        }
    });
    place.write(
        "judge.yaml",
        judge(&echo.url(), MODEL, ", api_key_env: JUDGE_KEY"),
    );
    let missing = place.expect(2, "judge run --judge judge.yaml");
    assert!(missing.error().contains("JUDGE_KEY"), "{missing:?}");
    let mut held = BTreeMap::new();
    for arguments in [
        "judge run --judge judge.yaml --audit-blinding --concurrency 1",
        "calibrate judge.yaml --labels gold/labels.csv --concurrency 1",
    ] {
        let mut command = place.command();
        command.args(arguments.split(' ')).env("JUDGE_KEY", KEY);
        let done = Done::of(command.output().unwrap());
        held.insert(format!("stdout {arguments}"), done.stdout.into_bytes());
        held.insert(format!("stderr {arguments}"), done.stderr.into_bytes());
    }
    place.assize("compare run");
    held.extend(place.files("run"));
    held.extend(place.held("run"));
    held.extend(place.files("gold"));
    let kept = String::from_utf8_lossy(&held["judging/replies.jsonl"]).into_owned();
    assert!(
        kept.contains("pass") && kept.contains("[key removed]"),
        "{kept}"
    );
    for (name, bytes) in held {
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            !text.contains(KEY) && !text.contains(THOUGHT),
            "{name}: {text}"
        );
    }
    assert!(echo.seen.lock().unwrap().iter().all(|r| r.contains(KEY)));
}
