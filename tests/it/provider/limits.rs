//! Many calls at a time, calls that are given up, and limits of the process.

use std::time::{Duration, Instant};

use assize::provider::descriptors;

use super::proxies::child;
use super::server::{Reply, Server, good};
use super::{arm, client, request};

#[tokio::test]
async fn connections_are_used_again() {
    let server = Server::always(good()).await;
    let client = client(&arm(&server.url, ""));
    for _ in 0..5 {
        client.complete(&request(), None).await.unwrap();
    }
    assert_eq!((server.requests().len(), server.connections()), (5, 1));
}

#[tokio::test]
async fn a_call_that_is_given_up_is_aborted() {
    let server = Server::start(vec![Reply::Hang(vec![]), Reply::Keep(good())]).await;
    let client = client(&arm(&server.url, ""));
    let asked = request();
    tokio::select! {
        _ = client.complete(&asked, None) => unreachable!("nobody answers"),
        () = server.seen(1) => {}
    }
    let reply = client.complete(&asked, None).await.unwrap();
    assert_eq!(reply.attempts, 1);
    assert_eq!(
        server.connections(),
        2,
        "the dead connection is not used again"
    );
}

#[tokio::test]
async fn requests_per_minute_hold_the_second_request_back() {
    let server = Server::always(good()).await;
    // At most 600 a minute: ten at once, the next one after 60 s / 590.
    let client = client(&arm(&server.url, "rate: {requests_per_minute: 600}"));
    let asked = request();
    let start = Instant::now();
    for _ in 0..11 {
        client.complete(&asked, None).await.unwrap();
    }
    assert!(
        start.elapsed() >= Duration::from_millis(60),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(server.requests().len(), 11);
}

#[tokio::test]
async fn tokens_per_minute_count_what_was_used() {
    let server = Server::always(good()).await;
    // A bucket of 600 tokens: each call reserves some hundred and gives all but 11 back, so that ten
    // calls, which would have reserved thousands, pass at once.
    let arm = arm(
        &server.url,
        "params: {max_tokens: 400}\nrate: {tokens_per_minute: 6000}",
    );
    let client = client(&arm);
    let asked = request();
    let calls = async {
        for _ in 0..10 {
            client.complete(&asked, None).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(20), calls)
        .await
        .expect("no wait");
}

#[tokio::test]
async fn a_call_can_be_spawned() {
    let server = Server::always(good()).await;
    let client = std::sync::Arc::new(client(&arm(&server.url, "")));
    let calls = (0..20).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.complete(&request(), None).await.unwrap().attempts })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap(), 1);
    }
}

#[test]
fn too_many_open_files_are_named_with_what_to_do() {
    child("provider::limits::without_files", &[]);
}

#[tokio::test]
#[ignore = "run in a process of its own"]
async fn without_files() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let server = Server::always(good()).await;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 32, hard).unwrap();
    let client = client(&arm(&server.url, "max_retries: 0"));
    let mut open = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        open.push(file);
    }
    let failure = client
        .complete(&request(), None)
        .await
        .expect_err("no files left");
    assert_eq!(failure.code, "too_many_open_files", "{}", failure.detail);
    assert!(
        failure.detail.contains("the limit is 32"),
        "{}",
        failure.detail
    );
    assert!(failure.detail.contains("ulimit -n"), "{}", failure.detail);
    // The soft limit is raised to the hard one, which makes room again.
    descriptors(64).unwrap();
    assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap(), (hard, hard));
    client.complete(&request(), None).await.unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 32, 48).unwrap();
    let error = descriptors(1000).expect_err("the hard limit is 48");
    assert!(error.to_string().contains("ulimit -n 1064"), "{error}");
}

#[tokio::test]
async fn a_thousand_calls_at_a_time_are_answered() {
    let server = Server::always(good()).await;
    descriptors(2100).unwrap();
    let client = std::sync::Arc::new(client(&arm(&server.url, "max_retries: 0")));
    let calls: Vec<_> = (0..1000)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.complete(&request(), None).await.map(|c| c.attempts) })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok(1));
    }
}
