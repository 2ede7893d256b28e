//! Every way in which an attempt fails has its code.

use std::time::Duration;

use super::server::{Reply, Server, http};
use super::{KEY, arm, call, client, request};

const ONCE: &str = "max_retries: 0";

async fn failing(reply: Reply, lines: &str) -> (String, String) {
    let server = Server::start(vec![reply]).await;
    let failure = call(&server, lines).await.expect_err("a failure");
    assert_eq!(failure.attempts, 1, "{failure:?}");
    assert!(!failure.injected);
    // A call that is given up at once may not have been seen.
    assert!(server.requests().len() <= 1);
    (failure.code, failure.detail)
}

#[tokio::test]
async fn statuses_have_codes_and_the_providers_words() {
    for (status, body, code) in [
        (400, r#"{"error":{"message":"WORDS"}}"#, "bad_request"),
        (
            400,
            r#"{"error":{"message":"WORDS","code":"context_length_exceeded"}}"#,
            "context_length",
        ),
        (401, r#"{"error":{"message":"WORDS"}}"#, "unauthorized"),
        (403, r#"{"error":{"message":"WORDS"}}"#, "forbidden"),
        (404, r#"{"detail":"WORDS"}"#, "not_found"),
        (422, r#"{"error":"WORDS"}"#, "bad_request"),
        (429, r#"{"error":{"message":"WORDS"}}"#, "rate_limited"),
        (
            429,
            r#"{"error":{"message":"WORDS","type":"insufficient_quota"}}"#,
            "quota_exhausted",
        ),
        (500, "WORDS", "server_error"),
        (503, "WORDS", "overloaded"),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"WORDS"}}"#,
            "overloaded",
        ),
        (
            502,
            "<html><head><title>WORDS</title></head></html>",
            "server_error",
        ),
    ] {
        let (found, detail) = failing(Reply::Keep(http(status, &[], body)), ONCE).await;
        assert_eq!(found, code, "{status} {body}");
        assert!(
            detail.contains("WORDS") && detail.contains(&status.to_string()),
            "{detail}"
        );
    }
}

#[tokio::test]
async fn what_no_retry_mends_is_not_tried_again() {
    for status in [400, 401, 403, 404, 422, 307] {
        failing(Reply::Keep(http(status, &[], "{}")), "max_retries: 3").await;
    }
    let wrong =
        r#"{"model":"other","choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}"#;
    let (code, detail) = failing(Reply::Keep(http(200, &[], wrong)), "max_retries: 3").await;
    assert_eq!(code, "wrong_model");
    assert_eq!(detail, "asked for `m`, but `other` answered");
}

#[tokio::test]
async fn bodies_that_are_not_of_the_protocol() {
    for (body, code, detail) in [
        (
            "<html><title>Sign in</title></html>",
            "not_json",
            "HTML instead of JSON: \"Sign in\"",
        ),
        ("", "not_json", "an empty body"),
        ("hidden thought", "not_json", "no JSON object"),
        (
            r#"{"choices": [{"message": {"content": "hidden thought"#,
            "malformed_reply",
            "ends early",
        ),
        (
            r#"{"choices": "hidden thought"}"#,
            "malformed_reply",
            "shape",
        ),
        (r#"{"choices": []}"#, "malformed_reply", "no choices"),
        (
            r#"{"error": {"code": 429, "message": "slow"}}"#,
            "rate_limited",
            "slow",
        ),
    ] {
        let (found, text) = failing(Reply::Keep(http(200, &[], body)), ONCE).await;
        assert_eq!(found, code, "{body}");
        assert!(text.contains(detail), "{text}");
        assert!(!text.contains("hidden"), "{text}");
    }
}

#[tokio::test]
async fn connections_that_break() {
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"id\":".to_vec();
    assert_eq!(failing(Reply::Close(cut), ONCE).await.0, "stream_cut");
    assert_eq!(failing(Reply::Close(vec![]), ONCE).await.0, "stream_cut");
    let odd = b"SSH-2.0-OpenSSH_9.9\r\n\r\n".to_vec();
    assert_eq!(failing(Reply::Close(odd), ONCE).await.0, "malformed_reply");
    let not_gzip = http(200, &["content-encoding: gzip"], "{}");
    assert_eq!(
        failing(Reply::Keep(not_gzip), ONCE).await.0,
        "malformed_reply"
    );
}

#[tokio::test]
async fn first_byte_and_whole_answer_have_their_own_times() {
    let first = "max_retries: 0\ntimeouts: {first_byte_s: 0.05, total_s: 20}";
    let (code, detail) = failing(Reply::Hang(vec![]), first).await;
    assert_eq!(
        (code.as_str(), detail.as_str()),
        ("timeout_first_byte", "no first byte within 0.05 s")
    );
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{".to_vec();
    let total = "max_retries: 0\ntimeouts: {first_byte_s: 20, total_s: 0.05}";
    assert_eq!(failing(Reply::Hang(head), total).await.0, "timeout_total");
    assert_eq!(failing(Reply::Hang(vec![]), total).await.0, "timeout_total");
}

#[tokio::test]
async fn endpoints_that_are_not_there() {
    let refused = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let failure = |url: String, lines: &'static str| async move {
        let arm = arm(&url, lines);
        client(&arm)
            .complete(&request(), None)
            .await
            .expect_err("nobody there")
    };
    let found = failure(refused.clone(), ONCE).await;
    assert_eq!(found.code, "unreachable");
    assert!(
        found.detail.contains(refused.trim_start_matches("http://")),
        "{}",
        found.detail
    );
    let found = failure("http://no-such-host.invalid".into(), ONCE).await;
    assert_eq!(found.code, "unreachable");
    assert!(
        found.detail.contains("no-such-host.invalid"),
        "{}",
        found.detail
    );
}

#[tokio::test]
async fn a_server_without_tls_is_told_from_one_that_is_down() {
    let odd = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".to_vec();
    // The handshake is no HTTP request, so a listener that answers anything will do.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.read(&mut [0; 1024]).await;
        let _ = socket.write_all(&odd).await;
        let _ = socket.read(&mut [0; 1024]).await;
    });
    let found = client(&arm(&url, "max_retries: 3"))
        .complete(&request(), None)
        .await;
    let found = found.expect_err("no TLS");
    assert_eq!(
        (found.code.as_str(), found.attempts),
        ("tls", 1),
        "{}",
        found.detail
    );
    server.abort();
}

#[tokio::test]
async fn a_connection_that_never_stands_times_out() {
    // A listener whose queue is full answers no further handshake.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut filling = Vec::new();
    for _ in 0..4 {
        let connect = tokio::net::TcpStream::connect(address);
        filling.push(tokio::time::timeout(Duration::from_millis(5), connect).await);
    }
    let lines = "max_retries: 0\ntimeouts: {connect_s: 0.05}";
    let found = client(&arm(&format!("http://{address}"), lines))
        .complete(&request(), None)
        .await;
    let found = found.expect_err("never stands");
    assert_eq!(found.code, "timeout_connect", "{}", found.detail);
}

#[tokio::test]
async fn the_key_is_in_no_error() {
    let echo = format!(
        r#"{{"error":{{"message":"Incorrect API key provided: {KEY}. Authorization: Bearer {KEY}; x-api-key: {KEY}; header secret-value"}}}}"#
    );
    for protocol in ["openai", "anthropic"] {
        let lines = format!("protocol: {protocol}\nheaders: {{x-auth: secret-value}}");
        let server = Server::always(http(401, &[], &echo)).await;
        let failure = call(&server, &lines).await.expect_err("wrong key");
        let text = format!("{failure:?}");
        assert!(text.contains("Incorrect API key provided: ***"), "{text}");
        for secret in [KEY, "0123456789", "secret-value"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(server.requests()[0].contains(KEY), "the key was sent");
    }
}

#[tokio::test]
async fn the_query_of_an_address_is_in_no_error() {
    let arm = arm("http://no-such-host.invalid/v1?token=t0ken", ONCE);
    let failure = client(&arm)
        .complete(&request(), None)
        .await
        .expect_err("no host");
    let text = format!("{failure:?}");
    assert!(!text.contains("t0ken"), "{text}");
}

#[tokio::test]
async fn endless_replies_are_cut_off() {
    let server = Server::always(http(500, &[], &"x".repeat(200 << 10))).await;
    let failure = call(&server, ONCE).await.expect_err("500");
    assert_eq!(failure.code, "server_error");
    assert!(failure.detail.chars().count() <= 300);
}
