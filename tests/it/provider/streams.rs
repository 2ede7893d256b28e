//! Streamed replies, in both protocols.

use assize::model::chat::{CallFailure, Completion, Finish};
use serde_json::json;

use super::call;
use super::server::{Reply, Server, events, http};

async fn streamed(reply: Reply, protocol: &str) -> Result<Completion, CallFailure> {
    let server = Server::start(vec![reply]).await;
    let lines = format!("stream: true\nmax_retries: 0\nprotocol: {protocol}");
    let outcome = call(&server, &lines).await;
    assert_eq!(server.bodies()[0]["stream"], json!(true));
    outcome
}

const OPENAI: [&str; 9] = [
    r#"{"id":"s-1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hidden"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"I "}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"look."}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}},{"index":1,"function":{"arguments":"}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":" 1}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#,
];

fn openai_with(end: &[&str]) -> Vec<u8> {
    events(&[&OPENAI[..], end].concat(), true)
}

fn check_openai(reply: &Completion) {
    assert_eq!(reply.text.as_deref(), Some("I look."));
    let calls: Vec<_> = reply
        .calls
        .iter()
        .map(|c| [&*c.id, &*c.name, &*c.arguments])
        .collect();
    assert_eq!(calls, [["a", "f", "{\"x\": 1}"], ["b", "g", "{}"]]);
    assert_eq!(reply.finish, Finish::ToolCalls);
    assert_eq!(reply.usage.input_tokens, Some(9));
    assert_eq!(reply.usage.output_tokens, Some(2));
    assert_eq!(reply.response_id.as_deref(), Some("s-1"));
    assert_eq!(reply.model.as_deref(), Some("m"));
    assert!(!format!("{reply:?}").contains("hidden"));
}

#[tokio::test]
async fn openais_deltas_are_put_together() {
    check_openai(
        &streamed(Reply::Keep(openai_with(&["[DONE]"])), "openai")
            .await
            .unwrap(),
    );
    // Some servers end without saying so.
    check_openai(
        &streamed(Reply::Keep(openai_with(&[])), "openai")
            .await
            .unwrap(),
    );
}

#[tokio::test]
async fn usage_is_asked_for() {
    let server = Server::always(openai_with(&["[DONE]"])).await;
    call(&server, "stream: true").await.unwrap();
    assert_eq!(
        server.bodies()[0]["stream_options"],
        json!({"include_usage": true})
    );
}

#[tokio::test]
async fn a_stream_leaves_its_connection_for_the_next_call() {
    let server = Server::always(openai_with(&["[DONE]"])).await;
    let arm = super::arm(&server.url, "stream: true");
    let client = super::client(&arm);
    for _ in 0..3 {
        client.complete(&super::request(), None).await.unwrap();
    }
    assert_eq!((server.requests().len(), server.connections()), (3, 1));
}

#[tokio::test]
async fn calls_without_an_index_are_told_apart_by_their_ids() {
    let stream = events(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"h","arguments":"{"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ],
        true,
    );
    let reply = streamed(Reply::Keep(stream), "openai").await.unwrap();
    let calls: Vec<_> = reply
        .calls
        .iter()
        .map(|c| [&*c.id, &*c.name, &*c.arguments])
        .collect();
    assert_eq!(
        calls,
        [["a", "f", "{}"], ["b", "g", "{}"], ["c", "h", "{}"]]
    );
}

#[tokio::test]
async fn calls_without_ids_are_told_apart_and_repeated_names_are_not_glued() {
    let stream = events(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"{\"a\":"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"1}"}}]},"finish_reason":"stop"}]}"#,
            r#"{"choices":null,"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
            "[DONE]",
        ],
        true,
    );
    let reply = streamed(Reply::Keep(stream), "openai").await.unwrap();
    let calls: Vec<_> = reply
        .calls
        .iter()
        .map(|c| [&*c.name, &*c.arguments])
        .collect();
    assert_eq!(calls, [["f", "{}"], ["f", "{\"a\":1}"]]);
    assert_eq!(reply.usage.input_tokens, Some(3));
}

#[tokio::test]
async fn a_stream_that_broke_or_was_not_understood_is_the_providers() {
    for (protocol, event, code) in [
        (
            "openai",
            r#"{"choices":[{"delta":{"content":"I"},"finish_reason":"error"}]}"#,
            "server_error",
        ),
        (
            "openai",
            r#"{"choices":[{"delta":{"content":"I"},"finish_reason":"stop","error":{"code":502}}]}"#,
            "server_error",
        ),
        (
            "openai",
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            "malformed_reply",
        ),
        (
            "anthropic",
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I"}}"#,
            "malformed_reply",
        ),
    ] {
        let stream = events(&[event, "[DONE]"], true);
        let failure = streamed(Reply::Keep(stream), protocol)
            .await
            .expect_err(event);
        assert_eq!(failure.code, code, "{event}");
    }
    let whole = r#"{"choices":[{"message":{"content":"Hi."},"finish_reason":"stop"}]}"#;
    let stream = events(&[whole, "[DONE]"], true);
    let reply = streamed(Reply::Keep(stream), "openai").await.unwrap();
    assert_eq!(reply.text.as_deref(), Some("Hi."));
}

#[tokio::test]
async fn every_early_end_of_a_stream_is_a_cut() {
    for kept in [0, 1, 4, 7] {
        // The connection closes inside the chunked body, or the body ends as if nothing was amiss.
        for end in [false, true] {
            let stream = events(&OPENAI[..kept], end);
            let failure = streamed(Reply::Close(stream), "openai")
                .await
                .expect_err("a cut");
            assert_eq!(
                failure.code, "stream_cut",
                "{kept} {end}: {}",
                failure.detail
            );
        }
    }
    let half = r#"{"choices":[{"delta":{"content":"I"#;
    let mut stream = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ".to_owned();
    stream.push_str(half);
    let failure = streamed(Reply::Close(stream.into_bytes()), "openai")
        .await
        .expect_err("a cut");
    assert_eq!(failure.code, "stream_cut");
}

#[tokio::test]
async fn a_cut_stream_is_tried_again() {
    let server = Server::start(vec![
        Reply::Close(events(&OPENAI[..3], false)),
        Reply::Keep(openai_with(&["[DONE]"])),
    ])
    .await;
    let reply = call(&server, "stream: true\nmax_retry_wait_s: 0.01")
        .await
        .unwrap();
    check_openai(&reply);
    assert_eq!(reply.attempts, 2);
}

#[tokio::test]
async fn errors_inside_a_stream_have_their_codes() {
    let stream = events(
        &[OPENAI[0], r#"{"error":{"message":"busy","code":503}}"#],
        true,
    );
    let failure = streamed(Reply::Keep(stream), "openai")
        .await
        .expect_err("an error");
    assert_eq!(failure.code, "overloaded");
    let stream = events(
        &[r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#],
        true,
    );
    let failure = streamed(Reply::Keep(stream), "anthropic")
        .await
        .expect_err("an error");
    assert_eq!(failure.code, "overloaded");
    let stream = events(&["hidden words"], true);
    let failure = streamed(Reply::Keep(stream), "openai")
        .await
        .expect_err("no JSON");
    assert_eq!(failure.code, "not_json");
    assert!(!failure.detail.contains("hidden"));
}

#[tokio::test]
async fn a_stalled_stream_ends_with_the_total_time() {
    let server = Server::start(vec![Reply::Hang(events(&OPENAI[..3], false))]).await;
    let lines = "stream: true\nmax_retries: 0\ntimeouts: {total_s: 0.05}";
    assert_eq!(
        call(&server, lines).await.expect_err("stalled").code,
        "timeout_total"
    );
}

#[tokio::test]
async fn a_reply_in_one_piece_is_read_although_a_stream_was_asked_for() {
    let body = r#"{"choices":[{"message":{"content":"Hi."},"finish_reason":"stop"}]}"#;
    let reply = streamed(Reply::Keep(http(200, &[], body)), "openai")
        .await
        .unwrap();
    assert_eq!(reply.text.as_deref(), Some("Hi."));
    let page = http(200, &["content-type: text/html"], "<html><title>No</title>");
    let failure = streamed(Reply::Keep(page), "openai")
        .await
        .expect_err("a page");
    assert_eq!(failure.code, "not_json");
}

const ANTHROPIC: [&str; 16] = [
    r#"{"type":"message_start","message":{"id":"msg-1","model":"m","usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hid"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"den"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I look."}}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"u","name":"f","input":{}}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":" 1}"}}"#,
    r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"v","name":"g","input":{}}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":30}}"#,
    r#"{"type":"message_stop"}"#,
];

#[tokio::test]
async fn anthropics_blocks_are_put_together() {
    let reply = streamed(Reply::Keep(events(&ANTHROPIC, true)), "anthropic")
        .await
        .unwrap();
    assert_eq!(reply.text.as_deref(), Some("I look."));
    let calls: Vec<_> = reply
        .calls
        .iter()
        .map(|c| [&*c.id, &*c.name, &*c.arguments])
        .collect();
    assert_eq!(calls, [["u", "f", "{\"x\": 1}"], ["v", "g", "{}"]]);
    assert_eq!(
        reply.opaque,
        [json!({"type": "thinking", "thinking": "hidden", "signature": "sig"})]
    );
    assert_eq!(reply.finish, Finish::ToolCalls);
    let usage = &reply.usage;
    assert_eq!(
        (usage.input_tokens, usage.output_tokens, usage.cached_tokens),
        (Some(7), Some(30), Some(2))
    );
    assert_eq!(reply.response_id.as_deref(), Some("msg-1"));
}

#[tokio::test]
async fn an_anthropic_stream_without_its_end_is_a_cut() {
    let stream = events(&ANTHROPIC[..15], true);
    let failure = streamed(Reply::Keep(stream), "anthropic")
        .await
        .expect_err("a cut");
    assert_eq!(failure.code, "stream_cut");
}
