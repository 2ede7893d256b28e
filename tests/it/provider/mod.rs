//! Model endpoints, seen through real sockets: every failure code, retries, streams, redaction.

mod failures;
mod limits;
mod protocol;
mod proxies;
mod retries;
mod server;
mod streams;

use assize::model::arm::ChatArm;
use assize::model::chat::{CallFailure, ChatRequest, Completion, Message, ToolDef, TrialKey};
use assize::provider::{Client, HttpClient, Secret, Strike};
use serde_json::json;

use server::Server;

/// A key that must not be seen anywhere.
const KEY: &str = "sk-test-0123456789abcdef";

/// The YAML of an arm against this server; tests add lines.
fn arm(url: &str, lines: &str) -> ChatArm {
    serde_saphyr::from_str(&format!("base_url: {url}\nmodel: m\n{lines}")).unwrap()
}

fn client(arm: &ChatArm) -> Client {
    Client::Http(Box::new(
        HttpClient::new(arm, Some(Secret::new(KEY))).unwrap(),
    ))
}

fn request() -> ChatRequest {
    ChatRequest {
        messages: vec![
            Message::System("Be brief.".into()),
            Message::User("Hello?".into()),
        ],
        tools: vec![ToolDef {
            name: "look".into(),
            description: "Looks.".into(),
            parameters: json!({"type": "object", "properties": {"at": {"type": "string"}}}),
        }],
        trial: TrialKey {
            task: "t-1".into(),
            index: 2,
            id: "0a1b".into(),
            seed: 7,
        },
        turn: 1,
        waits: Default::default(),
    }
}

/// One call against a server, by an arm with these further lines.
async fn call(server: &Server, lines: &str) -> Result<Completion, CallFailure> {
    struck(server, lines, None).await
}

async fn struck(
    server: &Server,
    lines: &str,
    strike: Option<Strike>,
) -> Result<Completion, CallFailure> {
    let arm = arm(&server.url, lines);
    client(&arm).complete(&request(), strike).await
}
