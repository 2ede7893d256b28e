//! What is tried again, when, and how often.

use std::time::{Duration, Instant, SystemTime};

use assize::model::suite::FaultKind;
use assize::provider::Strike;

use super::server::{Reply, Server, good, http};
use super::{call, struck};

/// Retries without a wait to speak of.
const FAST: &str = "max_retry_wait_s: 0.01";

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    let failing = [
        Reply::Keep(http(408, &[], "{}")),
        Reply::Keep(http(409, &[], "{}")),
        Reply::Keep(http(425, &[], "{}")),
        Reply::Keep(http(429, &[], "{}")),
        Reply::Keep(http(500, &[], "{}")),
        Reply::Keep(http(503, &[], "{}")),
        Reply::Keep(http(529, &[], "{}")),
        Reply::Keep(http(200, &[], "<html>")),
        Reply::Keep(http(200, &[], "{\"choices\": [")),
        Reply::Close(vec![]),
        Reply::Close(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec()),
    ];
    for reply in failing {
        let server = Server::start(vec![reply, Reply::Keep(good())]).await;
        let reply = call(&server, FAST).await.unwrap();
        assert_eq!((reply.attempts, reply.text.as_deref()), (2, Some("Hi.")));
        let requests = server.requests();
        let body = |i: usize| requests[i].split_once("\r\n\r\n").unwrap().1;
        assert_eq!(body(0), body(1), "the same request is sent again");
    }
}

#[tokio::test]
async fn retries_end_with_their_budget() {
    let server = Server::always(http(
        429,
        &["retry-after: 0"],
        r#"{"error":{"message":"slow down"}}"#,
    ))
    .await;
    let failure = call(&server, "").await.expect_err("429 for ever");
    assert_eq!(
        (failure.code.as_str(), failure.attempts),
        ("rate_limited", 5)
    );
    assert_eq!(failure.detail, "HTTP 429: slow down");
    assert_eq!(server.requests().len(), 5, "4 retries are the default");
}

#[tokio::test]
async fn no_retries_means_none() {
    let server = Server::always(http(500, &[], "{}")).await;
    let failure = call(&server, "max_retries: 0").await.expect_err("500");
    assert_eq!((failure.attempts, server.requests().len()), (1, 1));
}

#[tokio::test]
async fn retry_after_is_waited_for_in_both_forms() {
    let now = httpdate::fmt_http_date(SystemTime::now());
    let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3600));
    let (date, after) = (format!("date: {now}"), format!("retry-after: {soon}"));
    for headers in [
        &["retry-after: 0.08"][..],
        &["retry-after: 3600"],
        &[&date, &after],
    ] {
        let server = Server::start(vec![
            Reply::Keep(http(429, headers, "{}")),
            Reply::Keep(good()),
        ])
        .await;
        let start = Instant::now();
        // The cap makes an hour bearable; without `Retry-After` the wait would be up to the cap, too,
        // but not at least.
        let reply = call(&server, "max_retry_wait_s: 0.08").await.unwrap();
        assert_eq!(reply.attempts, 2);
        assert!(start.elapsed() >= Duration::from_millis(80), "{headers:?}");
    }
}

#[tokio::test]
async fn injected_faults_strike_instead_of_the_endpoint() {
    for (kind, code) in [
        (FaultKind::Provider429, "rate_limited"),
        (FaultKind::Provider500, "server_error"),
        (FaultKind::ProviderTimeout, "timeout_first_byte"),
        (FaultKind::ProviderMalformed, "malformed_reply"),
        (FaultKind::ProviderCut, "stream_cut"),
    ] {
        let server = Server::always(good()).await;
        let reply = struck(&server, FAST, Some(Strike { kind, times: 2 }))
            .await
            .unwrap();
        assert_eq!(
            (reply.attempts, server.requests().len()),
            (3, 1),
            "{kind:?}"
        );
        let always = Some(Strike { kind, times: 9 });
        let failure = struck(&server, FAST, always)
            .await
            .expect_err("struck to the end");
        assert_eq!((failure.code.as_str(), failure.attempts), (code, 5));
        assert!(failure.injected);
        assert_eq!(server.requests().len(), 1, "nothing more was sent");
    }
}

#[tokio::test]
async fn a_failure_after_an_injected_one_says_so() {
    let server = Server::always(http(401, &[], "{}")).await;
    let strike = Strike {
        kind: FaultKind::Provider500,
        times: 1,
    };
    let failure = struck(&server, FAST, Some(strike)).await.expect_err("401");
    assert_eq!(
        (failure.code.as_str(), failure.injected),
        ("unauthorized", true)
    );
    assert_eq!(failure.attempts, 2);
}

#[tokio::test]
async fn faults_of_tools_strike_no_model_call() {
    let server = Server::always(good()).await;
    let strike = Strike {
        kind: FaultKind::ToolError,
        times: 3,
    };
    assert_eq!(
        struck(&server, FAST, Some(strike)).await.unwrap().attempts,
        1
    );
}
