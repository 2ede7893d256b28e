//! What is sent and what is understood, in both protocols.

use assize::model::chat::{Finish, Message, ToolCall};
use serde_json::{Value, json};

use super::server::{Server, good, good_with, http};
use super::{KEY, arm, call, client, request};

async fn openai(body: Value) -> assize::model::chat::Completion {
    let server = Server::always(http(200, &[], &body.to_string())).await;
    call(&server, "").await.unwrap()
}

async fn anthropic(body: Value) -> assize::model::chat::Completion {
    let server = Server::always(http(200, &[], &body.to_string())).await;
    call(&server, "protocol: anthropic").await.unwrap()
}

/// A conversation with everything that a conversation can hold.
fn long_request() -> assize::model::chat::ChatRequest {
    let mut request = request();
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: "look".into(),
        arguments: arguments.into(),
    };
    let answer = |id: &str, content: &str, is_error| Message::Tool {
        call_id: id.into(),
        name: "look".into(),
        content: content.into(),
        is_error,
    };
    request.messages.extend([
        Message::Assistant {
            text: None,
            calls: vec![call("c1", r#"{"at": "x"}"#), call("c2", "{broken")],
            opaque: vec![json!({"type": "thinking", "thinking": "hm", "signature": "s"})],
        },
        answer("c1", "{\"seen\":1}", false),
        answer("c2", "no JSON", true),
        Message::User("Go on.".into()),
        Message::Assistant {
            text: Some("Done.".into()),
            calls: vec![],
            opaque: vec![],
        },
    ]);
    request
}

#[tokio::test]
async fn a_conversation_in_openais_protocol() {
    let server = Server::always(good()).await;
    let arm = arm(
        &server.url,
        "params: {temperature: 0.5}\nheaders: {x-trial: '{task}#{trial}'}",
    );
    client(&arm).complete(&long_request(), None).await.unwrap();
    let function = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}});
    assert_eq!(
        server.bodies()[0],
        json!({
            "model": "m",
            "temperature": 0.5,
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hello?"},
                {"role": "assistant", "content": null, "tool_calls": [function("c1", "{\"at\": \"x\"}"), function("c2", "{broken")]},
                {"role": "tool", "tool_call_id": "c1", "content": "{\"seen\":1}"},
                {"role": "tool", "tool_call_id": "c2", "content": "no JSON"},
                {"role": "user", "content": "Go on."},
                {"role": "assistant", "content": "Done."},
            ],
            "tools": [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}}],
        })
    );
    let head = server.requests()[0].to_ascii_lowercase();
    assert!(
        head.starts_with("post /chat/completions http/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains(&format!("authorization: bearer {KEY}")),
        "{head}"
    );
    assert!(head.contains("x-trial: t-1#2"), "{head}");
}

#[tokio::test]
async fn a_conversation_in_anthropics_protocol() {
    let reply = json!({"id": "msg", "model": "m", "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"});
    let server = Server::always(http(200, &[], &reply.to_string())).await;
    let arm = arm(&server.url, "protocol: anthropic");
    client(&arm).complete(&long_request(), None).await.unwrap();
    assert_eq!(
        server.bodies()[0],
        json!({
            "model": "m",
            "max_tokens": 4096,
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Hello?"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "x"}},
                    {"type": "tool_use", "id": "c2", "name": "look", "input": {"invalid_json": "{broken"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "{\"seen\":1}"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "no JSON", "is_error": true},
                    {"type": "text", "text": "Go on."},
                ]},
                {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
            ],
            "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}}}],
        })
    );
    let head = server.requests()[0].to_ascii_lowercase();
    assert!(head.starts_with("post /v1/messages http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("x-api-key: {KEY}")), "{head}");
    assert!(head.contains("anthropic-version: 2023-06-01"), "{head}");
    assert!(!head.contains("authorization:"), "{head}");
}

#[tokio::test]
async fn tool_calls_usage_and_ids_are_read_and_reasoning_is_dropped() {
    let reply = openai(json!({
        "id": "r-9", "model": "m-2024-08-06",
        "choices": [{"finish_reason": "tool_calls", "message": {
            "content": null, "reasoning": "hidden", "reasoning_content": "hidden",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}},
                {"id": "b", "type": "function", "function": {"name": "g", "arguments": "not json"}},
                {"function": {"name": "h", "arguments": {"x": 2}}},
            ]}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
    }))
    .await;
    let names: Vec<_> = reply
        .calls
        .iter()
        .map(|c| [&*c.id, &*c.name, &*c.arguments])
        .collect();
    assert_eq!(
        names,
        [
            ["a", "f", "{\"x\": 1}"],
            ["b", "g", "not json"],
            ["call_2", "h", "{\"x\":2}"]
        ]
    );
    assert_eq!(reply.finish, Finish::ToolCalls);
    let usage = &reply.usage;
    assert_eq!(
        (usage.input_tokens, usage.output_tokens, usage.cached_tokens),
        (Some(9), Some(2), Some(4))
    );
    assert_eq!(reply.model.as_deref(), Some("m-2024-08-06"));
    assert_eq!(reply.response_id.as_deref(), Some("r-9"));
    assert!(!format!("{reply:?}").contains("hidden"));
}

#[tokio::test]
async fn openais_reasons_to_stop() {
    let with = |message: Value, reason: Value| json!({"choices": [{"message": message, "finish_reason": reason}]});
    let call = json!({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": ""}}]});
    let said = json!({"content": "x"});
    for (message, reason, finish) in [
        (&said, json!("stop"), Finish::Stop),
        (&call, json!("stop"), Finish::ToolCalls),
        (&call, json!(null), Finish::ToolCalls),
        (&said, json!("length"), Finish::Length),
        (&said, json!("content_filter"), Finish::Refusal),
        (&said, json!(null), Finish::Other("none".into())),
    ] {
        assert_eq!(openai(with(message.clone(), reason)).await.finish, finish);
    }
    let refused = openai(with(
        json!({"content": null, "refusal": "I won't."}),
        json!("stop"),
    ))
    .await;
    assert_eq!(
        (refused.finish, refused.text.as_deref()),
        (Finish::Refusal, Some("I won't."))
    );
}

#[tokio::test]
async fn a_filter_that_rejects_the_request_is_a_refusal() {
    let body = r#"{"error":{"code":"content_filter","message":"The prompt was filtered."}}"#;
    let server = Server::always(http(400, &[], body)).await;
    let reply = call(&server, "").await.unwrap();
    assert_eq!(reply.finish, Finish::Refusal);
    assert_eq!(reply.text.as_deref(), Some("The prompt was filtered."));
}

#[tokio::test]
async fn anthropics_blocks_are_read_and_reasoning_is_kept_unread() {
    let thinking = json!({"type": "thinking", "thinking": "hidden", "signature": "s"});
    let redacted = json!({"type": "redacted_thinking", "data": "hidden"});
    let reply = anthropic(json!({
        "id": "msg-1", "model": "m",
        "content": [thinking, redacted, {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "u", "name": "f", "input": {"x": 1}}, {"type": "new_kind", "z": 1}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 7},
    }))
    .await;
    assert_eq!(reply.opaque, [thinking, redacted]);
    assert_eq!(reply.text.as_deref(), Some("I look."));
    let call = &reply.calls[0];
    assert_eq!(
        [&*call.id, &*call.name, &*call.arguments],
        ["u", "f", "{\"x\":1}"]
    );
    assert_eq!(reply.finish, Finish::ToolCalls);
    let usage = &reply.usage;
    assert_eq!(
        (usage.input_tokens, usage.output_tokens, usage.cached_tokens),
        (Some(10), Some(7), Some(2))
    );
    assert_eq!(reply.response_id.as_deref(), Some("msg-1"));
}

#[tokio::test]
async fn anthropics_reasons_to_stop() {
    for (reason, finish) in [
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("refusal", Finish::Refusal),
    ] {
        let reply =
            anthropic(json!({"content": [{"type": "text", "text": "x"}], "stop_reason": reason}))
                .await;
        assert_eq!(reply.finish, finish);
    }
}

#[tokio::test]
async fn what_was_not_understood_is_no_empty_reply() {
    let choice = |choice: Value| json!({"choices": [choice]});
    let said = json!({"role": "assistant", "content": "{\"sta"});
    for (reply, code) in [
        (
            choice(json!({"message": said, "finish_reason": "error"})),
            "server_error",
        ),
        (
            choice(json!({"message": said, "finish_reason": "odd"})),
            "malformed_reply",
        ),
        (
            choice(
                json!({"message": said, "finish_reason": "stop", "error": {"code": 502, "message": "idle"}}),
            ),
            "server_error",
        ),
        (
            choice(json!({"message": {}, "finish_reason": "stop"})),
            "malformed_reply",
        ),
        (
            choice(json!({"message": {"content": ""}})),
            "malformed_reply",
        ),
        (
            choice(json!({"message": {"content": [{"type": "new"}]}, "finish_reason": "stop"})),
            "malformed_reply",
        ),
    ] {
        let server = Server::always(http(200, &[], &reply.to_string())).await;
        let failure = call(&server, "max_retries: 0").await.expect_err(code);
        assert_eq!(failure.code, code, "{reply}");
    }
    let blocks = json!({"content": [{"type": "new"}], "stop_reason": "end_turn"});
    let server = Server::always(http(200, &[], &blocks.to_string())).await;
    let failure = call(&server, "protocol: anthropic\nmax_retries: 0").await;
    assert_eq!(failure.expect_err("unknown").code, "malformed_reply");
}

#[tokio::test]
async fn an_empty_reply_that_is_complete_is_the_models() {
    let empty = json!({"choices": [{"message": {"content": null}, "finish_reason": "stop"}]});
    assert_eq!(openai(empty).await.text, None);
    let empty = json!({"content": [], "stop_reason": "end_turn"});
    assert_eq!(anthropic(empty).await.text, None);
}

#[tokio::test]
async fn harmless_oddities_are_read() {
    let call = json!({"content": null, "function_call": {"name": "f", "arguments": "{}"}});
    let reply = openai(json!({
        "id": " ", "usage": {"prompt_tokens": "1"},
        "choices": [{"message": call, "finish_reason": "function_call"}],
    }))
    .await;
    assert_eq!(
        (reply.calls[0].name.as_str(), reply.response_id),
        ("f", None)
    );
    for usage in [json!("x"), json!(true), json!([1, 2])] {
        let message = json!({"content": [{"type": "output_text", "text": "Hi."}]});
        let reply = openai(
            json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}),
        );
        let reply = reply.await;
        assert_eq!(reply.usage, Default::default());
        assert_eq!(reply.text.as_deref(), Some("Hi."));
    }
    let body =
        "\u{feff}{\"choices\":[{\"message\":{\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}]}";
    let server = Server::always(http(200, &[], body)).await;
    let reply = super::call(&server, "").await.unwrap();
    assert_eq!(reply.text.as_deref(), Some("Hi."));
}

#[tokio::test]
async fn a_cache_that_answers_is_named() {
    let server = Server::always(good_with(&["X-Cache: HIT"])).await;
    let reply = call(&server, "").await.unwrap();
    assert_eq!(reply.cache_hit.as_deref(), Some("x-cache: HIT"));
    let server = Server::always(good()).await;
    assert_eq!(call(&server, "").await.unwrap().cache_hit, None);
}

#[tokio::test]
async fn compressed_replies_are_read() {
    use std::io::Write;
    let body = br#"{"choices":[{"message":{"content":"Hi."},"finish_reason":"stop"}]}"#;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(body).unwrap();
    let packed = packer.finish().unwrap();
    let mut reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        packed.len()
    )
    .into_bytes();
    reply.extend(packed);
    let server = Server::always(reply).await;
    assert_eq!(
        call(&server, "").await.unwrap().text.as_deref(),
        Some("Hi.")
    );
}

#[test]
fn an_arm_that_cannot_be_used_is_refused() {
    use assize::provider::HttpClient;
    for (lines, part) in [
        ("params: {messages: []}", "params.messages"),
        ("timeouts: {total_s: -1}", "timeouts.total_s"),
        ("max_retry_wait_s: -1", "max_retry_wait_s"),
    ] {
        let error = HttpClient::new(&arm("http://h", lines), None)
            .err()
            .unwrap();
        assert!(error.message().contains(part), "{error}");
        assert!(!error.hints().is_empty());
    }
}
