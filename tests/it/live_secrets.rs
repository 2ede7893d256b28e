//! No byte of a key and no word of hidden reasoning is anywhere under the folder of a run.

use serde_json::{Value, json};

use crate::common::{Done, Place};
use crate::live_common::{Endpoint, Found, Raw, arms, chat, http, suite};

const KEY: &str = "sk-canary-7f3a91c2d4e5";
const THOUGHT: &str = "MARKEDTHOUGHT";
const SAID: &str = "{\"status\": \"ok\"}";

/// Replies that hold the key wherever a text can stand.
fn echoing() -> Raw {
    Raw::start(|request| {
        let key = request.text.lines().find_map(|l| l.split("earer ").nth(1));
        let key = key.unwrap_or("").trim();
        let id = format!("r{}", request.number);
        let message = match request.text.contains("tool_call_id") {
            false => {
                json!({"role": "assistant", "content": format!("I have {key}"), "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": json!({"id": key}).to_string()}},
                {"id": key, "type": "function", "function": {"name": key, "arguments": json!({key: [{key: key}]}).to_string()}}]})
            }
            true => {
                json!({"role": "assistant", "content": json!({"status": "ok", key: key}).to_string(),
                "reasoning_content": THOUGHT, "reasoning": THOUGHT})
            }
        };
        let stop = if message["tool_calls"].is_array() {
            "tool_calls"
        } else {
            "stop"
        };
        let reply = json!({"id": id, "object": "chat.completion", "created": 0, "model": "echo",
            "choices": [{"index": 0, "finish_reason": stop, "message": message}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
        http(200, &reply.to_string())
    })
}

/// An error that quotes the key.
fn quoting() -> Raw {
    Raw::start(|request| {
        let key = request.text.lines().find_map(|l| l.split("earer ").nth(1));
        let said = format!("incorrect key provided: {}", key.unwrap_or("").trim());
        http(401, &json!({"error": {"message": said}}).to_string())
    })
}

#[test]
fn neither_keys_nor_hidden_reasoning_are_stored_or_said() {
    let place = Place::new();
    let thinking = |name: &str, say: &str| {
        format!(
            "  {name}: {{default: {{turns: [{{call: [{{name: look, arguments: {{id: 1}}}}], reasoning: {THOUGHT}}}, {{say: '{say}', reasoning: {THOUGHT}}}]}}}}\n"
        )
    };
    let marked = format!("<think>{THOUGHT}</think>{SAID}");
    let models = ["openai", "openai-s", "claude", "claude-s"].map(|n| thinking(n, SAID));
    let models = format!("\n{}{}", models.concat(), thinking("tagged", &marked));
    let endpoint = Endpoint::with(&place, &models, &["--key", "KEY"], &[("KEY", KEY)]);
    let (echo, quote) = (echoing(), quoting());
    let with_key = ", api_key_env: KEY";
    let anthropic = ", api_key_env: KEY, protocol: anthropic, params: {max_tokens: 99}";
    let all = [
        chat("openai", &endpoint.url(), with_key),
        chat(
            "openai-s",
            &endpoint.url(),
            &format!("{with_key}, stream: true"),
        ),
        chat("claude", &endpoint.root(), anthropic),
        chat(
            "claude-s",
            &endpoint.root(),
            &format!("{anthropic}, stream: true"),
        ),
        chat("tagged", &endpoint.url(), with_key),
        chat("echo", &echo.url(), with_key),
        chat("quote", &quote.url(), with_key),
    ];
    suite(
        &place,
        2,
        2,
        "tools: {look: {simulated: {result: '{{ args.id }}'}}}\n",
    );
    arms(&place, "", &all.concat());
    let mut command = place.command();
    command.env("KEY", KEY);
    command.args([
        "run",
        "s",
        "--out",
        "run",
        "--no-preflight",
        "--format",
        "json",
    ]);
    let done = Done::of(command.output().unwrap());
    let found = Found::of(&place, "run");
    for arm in ["openai", "openai-s", "claude", "claude-s", "tagged", "echo"] {
        found.all_passed(arm, 4);
    }
    found.excluded("quote", "provider:unauthorized", 4);
    let notices = found.report.0["notices"].as_array().unwrap().clone();
    assert!(
        notices.iter().any(|n| n["code"] == "key_removed"),
        "{notices:?}"
    );

    let mut held = place.files("run");
    held.extend(place.held("run"));
    held.insert("stdout".to_owned(), done.stdout.into_bytes());
    held.insert("stderr".to_owned(), done.stderr.into_bytes());
    for arm in ["openai", "claude-s", "tagged", "echo", "quote"] {
        let shown = place.expect(0, &format!("show run --arm {arm} --task t0 --trial 0"));
        held.insert(format!("show {arm}"), shown.stdout.into_bytes());
    }
    assert!(held.len() > 12, "{:?}", held.keys());
    for (name, bytes) in &held {
        for secret in [KEY, THOUGHT] {
            let at = bytes
                .windows(secret.len())
                .position(|w| w == secret.as_bytes());
            assert_eq!(at, None, "{secret} in {name}");
        }
    }
    // The search would have found them: what was said beside them is there.
    let rows: Value = json!(held.keys().collect::<Vec<_>>());
    let events = held
        .iter()
        .find(|(name, _)| name.as_str() == "table events");
    let events = String::from_utf8_lossy(events.unwrap_or_else(|| panic!("{rows}")).1);
    assert!(
        events.contains("I have "),
        "texts can be read in the table of events"
    );
}

/// Gives the key back encoded.
fn encoding() -> Raw {
    Raw::start(|request| {
        let reversed: String = ENCODABLE.chars().rev().collect();
        let percent = ENCODABLE.replace('/', "%2F").replace('+', "%2B");
        let escaped = ENCODABLE.replace('/', "\\/");
        let said = format!(
            "{{\"status\": \"ok\", \"escaped\": \"{escaped}\", \"forms\": {}}}",
            json!([percent, reversed, ENCODED, INSIDE])
        );
        let reply = json!({"id": format!("r{}", request.number), "object": "chat.completion", "model": "enc",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
        http(200, &reply.to_string())
    })
}

const ENCODABLE: &str = "sk-live/12+34ab-cdef56";
/// `printf %s KEY | base64`
const ENCODED: &str = "c2stbGl2ZS8xMiszNGFiLWNkZWY1Ng==";
/// `printf %s "my key is KEY ." | base64`
const INSIDE: &str = "bXkga2V5IGlzIHNrLWxpdmUvMTIrMzRhYi1jZGVmNTYgLg==";

#[test]
fn a_key_that_comes_back_encoded_is_not_stored() {
    let place = Place::new();
    let server = encoding();
    suite(&place, 1, 1, "");
    arms(
        &place,
        "",
        &chat("enc", &server.url(), ", api_key_env: KEY"),
    );
    let mut command = place.command();
    command.env("KEY", ENCODABLE);
    command.args(["run", "s", "--out", "run", "--no-preflight"]);
    let done = Done::of(command.output().unwrap());
    Found::of(&place, "run").all_passed("enc", 1);
    let mut held = place.files("run");
    held.extend(place.held("run"));
    held.insert("stdout".to_owned(), done.stdout.into_bytes());
    let reversed: String = ENCODABLE.chars().rev().collect();
    let forms = [
        "sk-live%2F12%2B34",
        &reversed[..12],
        "c2stbGl2ZS8xMiszNGFi",
        "NrLWxpdmUvMTIrMzRhYi",
        "sk-live/12+34",
    ];
    for (name, bytes) in &held {
        let text = String::from_utf8_lossy(bytes);
        for form in forms {
            assert!(!text.contains(form), "{form} in {name}");
        }
    }
    let events = held
        .iter()
        .find(|(name, _)| name.as_str() == "table events")
        .unwrap();
    let events = String::from_utf8_lossy(events.1);
    assert_eq!(events.matches("[key removed]").count() % 5, 0, "{events}");
    assert!(
        events.contains("bXkga2V5IGlzI"),
        "what stands beside a key stays: {events}"
    );
}
