//! Proxy variables are honoured: a process of its own is given them.

use std::process::Command;

use super::server::{Server, good};
use super::{arm, client, request};

/// Runs an ignored test in a process of its own, as variables and limits are those of a process.
pub fn child(test: &str, variables: &[(&str, &str)]) {
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture"]);
    for name in names {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

fn calls_example(proxy_variables: &[(&str, &str)]) {
    child("provider::proxies::call_example", proxy_variables);
}

#[tokio::test]
#[ignore = "run in a process of its own"]
async fn call_example() {
    let reply = client(&arm("http://models.example/v1", "max_retries: 0"))
        .complete(&request(), None)
        .await;
    assert_eq!(reply.unwrap().text.as_deref(), Some("Hi."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_proxy_gets_the_request_with_the_whole_address() {
    let proxy = Server::always(good()).await;
    let url = proxy.url.clone();
    tokio::task::spawn_blocking(move || calls_example(&[("HTTP_PROXY", &url)]))
        .await
        .unwrap();
    let head = &proxy.requests()[0];
    assert!(
        head.starts_with("POST http://models.example/v1/chat/completions HTTP/1.1"),
        "{head}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_proxy_goes_past_it() {
    let (proxy, server) = (Server::always(good()).await, Server::always(good()).await);
    let (proxy_url, url) = (proxy.url.clone(), server.url.clone());
    tokio::task::spawn_blocking(move || {
        let variables = [
            ("HTTP_PROXY", &*proxy_url),
            ("NO_PROXY", "127.0.0.1"),
            ("TARGET", &*url),
        ];
        child("provider::proxies::call_target", &variables);
    })
    .await
    .unwrap();
    assert_eq!((proxy.requests().len(), server.requests().len()), (0, 1));
}

#[tokio::test]
#[ignore = "run in a process of its own"]
async fn call_target() {
    let target = std::env::var("TARGET").unwrap();
    let reply = client(&arm(&target, "max_retries: 0"))
        .complete(&request(), None)
        .await;
    assert!(reply.is_ok(), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_machine_without_certificates_can_ask_a_plain_endpoint() {
    let server = Server::always(good()).await;
    let url = server.url.clone();
    tokio::task::spawn_blocking(move || {
        let certificates = [
            ("SSL_CERT_FILE", "/dev/null"),
            ("SSL_CERT_DIR", "/dev/null"),
        ];
        let mut variables = vec![("TARGET", url.as_str())];
        variables.extend(certificates);
        child("provider::proxies::call_target", &variables);
        variables[0] = ("TARGET", "https://models.example");
        child("provider::proxies::refuse_target", &variables);
    })
    .await
    .unwrap();
    assert_eq!(server.requests().len(), 1);
}

#[test]
#[ignore = "run in a process of its own"]
fn refuse_target() {
    let target = std::env::var("TARGET").unwrap();
    let error = assize::provider::HttpClient::new(&arm(&target, ""), None)
        .err()
        .unwrap();
    assert!(error.message().contains("CA certificates"), "{error}");
}
