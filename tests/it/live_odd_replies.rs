//! Replies that are legal and odd, as real servers write them: they are read.

use serde_json::json;

use crate::common::Place;
use crate::live_common::{Raw, arms, chat, http, run, suite};

/// Counts with a point, numbers as ids, and halves of letters, in every place.
fn odd() -> Raw {
    Raw::start(|request| {
        let called = request.text.contains("tool_call_id");
        // Half a letter stands in JSON and in the JSON inside of it; no parser would write it.
        let message = match called {
            true => {
                r#"{"role": "assistant", "content": "{\"status\": \"ok\", \"note\": \"cut \\ud83d\"}"}"#
            }
            false => {
                r#"{"role": "assistant", "content": "well \ud83d", "tool_calls": [{"id": 7, "type": "function",
                "function": {"name": "look", "arguments": "{\"id\": \"\\ud800\"}"}}]}"#
            }
        };
        let stop = if called { "stop" } else { "tool_calls" };
        let reply = format!(
            r#"{{"id": {}, "object": "chat.completion", "model": "odd", "choices": [{{"index": 0,
            "finish_reason": "{stop}", "message": {message}}}],
            "usage": {{"prompt_tokens": 12.0, "completion_tokens": 3.0}}}}"#,
            request.number
        );
        http(200, &reply)
    })
}

/// The same of Anthropic's protocol.
fn odd_blocks() -> Raw {
    Raw::start(|request| {
        let content = match request.text.contains("tool_result") {
            true => r#"[{"type": "text", "text": "{\"status\": \"ok\", \"note\": \"\\ud83d\"}"}]"#,
            false => {
                r#"[{"type": "tool_use", "id": 7, "name": "look", "input": {"id": "\udc00"}}]"#
            }
        };
        let reply = format!(
            r#"{{"id": {}, "type": "message", "role": "assistant", "model": "blocks", "content": {content},
            "stop_reason": "end_turn", "usage": {{"input_tokens": 12.0, "output_tokens": 3.0}}}}"#,
            1000 + request.number
        );
        http(200, &reply)
    })
}

#[test]
fn counts_with_a_point_numbers_as_ids_and_halves_of_letters_are_read() {
    let place = Place::new();
    let (plain, blocks) = (odd(), odd_blocks());
    let parameters = "{type: object, required: [id], properties: {id: {type: string}}}";
    suite(
        &place,
        1,
        2,
        &format!(
            "tools: {{look: {{parameters: {parameters}, simulated: {{result: '{{{{ args.id }}}}'}}}}}}\n"
        ),
    );
    let anthropic = ", protocol: anthropic, params: {max_tokens: 99}";
    let both = chat("odd", &plain.url(), "")
        + &chat("blocks", &blocks.url().replace("/v1", ""), anthropic);
    arms(&place, "", &both);
    let found = run(&place, "");
    for arm in ["odd", "blocks"] {
        found.all_passed(arm, 2);
        let read = &found.report.estimate(arm, "input_tokens.mean")["value"];
        assert_eq!(read, &json!(24.0), "{arm}");
        let shown = place.expect(
            0,
            &format!("show run --arm {arm} --task t0 --trial 0 --format json"),
        );
        assert!(shown.stdout.contains("\u{fffd}"), "{arm}: {}", shown.stdout);
        assert!(
            shown.stdout.contains("\"call_id\": \"7\""),
            "{arm}: {}",
            shown.stdout
        );
    }
}
