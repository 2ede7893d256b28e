//! `assize endpoint`, seen through its sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Place, here};

const SCRIPT: &str = r#"
format: 1
find: "order (?P<order>[0-9]+)"
tasks:
  refund: {when: "refund"}
models:
  agent:
    default:
      turns:
        - call:
            - {name: get_order, arguments: {order_id: "{{ found.order }}"}}
            - {name: get_customer, arguments: {order_id: "{{ found.order }}"}}
          usage: {input_tokens: 100, output_tokens: 20, cached_tokens: 60}
        - say: "Order {{ called[0].result.id }} of {{ called[1].result }} in {{ task }}, trial {{ trial }}: refunded in full."
  coin:
    default: {any_of: [{rate: 0.5, turns: [{say: heads}]}, {rate: 0.5, turns: [{say: tails}]}]}
  limited: {default: {turns: [{say: hi, error: {status: 429, times: 2, retry_after: 7}}]}}
  brief: {default: {turns: [{say: hi, error: {status: 429, times: 2, retry_after: 0}}]}}
  dated: {default: {turns: [{error: {status: 503, retry_after: 60, retry_after_date: true}}]}}
  html: {default: {turns: [{say: hi, error: {kind: html, message: Gateway}}]}}
  malformed: {default: {turns: [{say: hi, error: {kind: malformed}}]}}
  cut: {default: {turns: [{say: hi, error: {kind: cut}}]}}
  hang: {default: {preset: hanging}}
  reset: {default: {turns: [{error: {kind: reset}}]}}
  refusing: {default: {preset: refusing}}
  thinking: {default: {turns: [{say: "Four, I would say.", reasoning: SECRET-THOUGHT, model: other-model, id: fixed, headers: {x-cache: HIT}}]}}
"#;

/// A running endpoint; it ends with the test.
struct Endpoint {
    child: Child,
    port: u16,
}

/// What came back.
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Endpoint {
    fn start(place: &Place) -> Self {
        Self::spawn(&mut place.command(), place, &[])
    }

    fn spawn(command: &mut Command, place: &Place, more: &[&str]) -> Self {
        place.write("script.yaml", SCRIPT);
        let command = command
            .args(["endpoint", "--script", "script.yaml", "--format", "json"])
            .args(more);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        let address = line["listening"].as_str().unwrap();
        let port = address.rsplit(':').next().unwrap().parse().unwrap();
        Self { child, port }
    }

    fn connect(&self, path: &str, headers: &[&str], body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let body = body.to_string();
        let headers: String = headers.iter().map(|h| format!("{h}\r\n")).collect();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn post(&self, path: &str, headers: &[&str], body: &Value) -> Reply {
        let mut text = String::new();
        let read = self.connect(path, headers, body).read_to_string(&mut text);
        read.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        Reply {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    fn ask(&self, model: &str, headers: &[&str], text: &str) -> Reply {
        let body = json!({"model": model, "messages": [{"role": "user", "content": text}]});
        self.post("/v1/chat/completions", headers, &body)
    }

    /// The exit code after a request to stop.
    fn stop(mut self) -> Option<i32> {
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn said(&self) -> String {
        let said = &self.json()["choices"][0]["message"]["content"];
        said.as_str().unwrap().to_owned()
    }
}

#[test]
fn a_conversation_with_tools_is_found_again_by_its_calls() {
    let place = Place::new();
    let endpoint = Endpoint::start(&place);
    let mut messages = vec![json!({"role": "user", "content": "refund order 1842"})];
    let ask = |messages: &[Value], headers: &[&str]| {
        let body = json!({"model": "agent", "messages": messages});
        endpoint.post("/v1/chat/completions", headers, &body).json()
    };
    // The first conversation that begins so is trial 0, the second trial 1.
    ask(&messages, &[]);
    let first = ask(&messages, &[]);
    let choice = &first["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(first["usage"]["prompt_tokens_details"]["cached_tokens"], 60);
    let calls = choice["message"]["tool_calls"].as_array().unwrap();
    assert_eq!(calls[0]["function"]["arguments"], r#"{"order_id":"1842"}"#);
    messages.push(choice["message"].clone());
    for (call, content) in calls.iter().zip([r#"{"id": "O-1842"}"#, "\"Ada\""]) {
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": content}));
    }
    let said = |reply: Value| reply["choices"][0]["message"]["content"].clone();
    assert_eq!(
        said(ask(&messages, &[])),
        "Order O-1842 of Ada in refund, trial 1: refunded in full."
    );
    let named = ask(&messages, &["x-assize-trial: orders/refund/17"]);
    assert_eq!(
        said(named),
        "Order O-1842 of Ada in orders/refund, trial 17: refunded in full."
    );
    messages.pop();
    assert_eq!(
        ask(&messages, &[])["error"]["type"],
        "invalid_request_error",
        "a result lacks"
    );
}

#[test]
fn a_named_trial_gets_the_same_answer_whatever_came_before() {
    let place = Place::new();
    let drawn = |order: &mut dyn Iterator<Item = u32>| {
        let endpoint = Endpoint::start(&place);
        let mut said: Vec<(u32, String)> = order
            .map(|i| {
                (
                    i,
                    endpoint
                        .ask("coin", &[&format!("x-assize-trial: t/{i}")], "go")
                        .said(),
                )
            })
            .collect();
        said.sort();
        said
    };
    let forward = drawn(&mut (0..40));
    assert_eq!(forward, drawn(&mut (0..40).rev()));
    let heads = forward.iter().filter(|(_, said)| said == "heads").count();
    assert!((5..=35).contains(&heads), "{heads} of 40");
}

#[test]
fn errors_come_over_the_wire_as_declared() {
    let place = Place::new();
    let endpoint = Endpoint::start(&place);
    for _ in 0..2 {
        let limited = endpoint.ask("limited", &[], "go");
        assert_eq!(limited.status, 429);
        assert!(limited.head.contains("retry-after: 7\r\n"));
        assert_eq!(limited.json()["error"]["code"], "rate_limit_exceeded");
    }
    assert_eq!(endpoint.ask("limited", &[], "go").said(), "hi");
    let dated = endpoint.ask("dated", &[], "go");
    assert!(
        dated.head.contains("GMT\r\n") && dated.head.contains("retry-after: "),
        "{}",
        dated.head
    );
    let html = endpoint.ask("html", &[], "go");
    assert_eq!(html.status, 200);
    assert!(html.body.contains("<h1>Gateway</h1>"));
    let malformed = endpoint.ask("malformed", &[], "go");
    assert_eq!(malformed.status, 200);
    assert!(serde_json::from_str::<Value>(&malformed.body).is_err());
    let unknown = endpoint.ask("agnet", &[], "go");
    assert_eq!(
        (unknown.status, &unknown.json()["error"]["code"]),
        (404, &json!("model_not_found"))
    );
    let refusal = endpoint.ask("refusing", &[], "go").json();
    assert!(refusal["choices"][0]["message"]["refusal"].is_string());
}

#[test]
fn a_reply_that_is_cut_is_shorter_than_it_says() {
    let place = Place::new();
    let endpoint = Endpoint::start(&place);
    for stream in [false, true] {
        let body = json!({"model": "cut", "stream": stream, "messages": [{"role": "user", "content": "go"}]});
        let mut bytes = vec![];
        // The end may come as an orderly close or as a reset.
        let _ = endpoint
            .connect("/v1/chat/completions", &[], &body)
            .read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, got) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(!got.is_empty(), "half of it arrives");
        match head.split("content-length: ").nth(1) {
            Some(length) => {
                assert!(got.len() < length.split_whitespace().next().unwrap().parse().unwrap())
            }
            None => assert!(!got.ends_with("0\r\n\r\n"), "the chunks have no end: {got}"),
        }
    }
}

#[test]
fn a_reset_breaks_the_connection_before_a_byte() {
    let place = Place::new();
    let endpoint = Endpoint::start(&place);
    let body = json!({"model": "reset", "messages": [{"role": "user", "content": "go"}]});
    let mut bytes = vec![];
    let read = endpoint
        .connect("/v1/chat/completions", &[], &body)
        .read_to_end(&mut bytes);
    assert_eq!(
        read.unwrap_err().kind(),
        std::io::ErrorKind::ConnectionReset
    );
    assert!(bytes.is_empty());
}

#[test]
fn a_hanging_reply_never_comes_and_does_not_hold_the_endpoint() {
    let place = Place::new();
    let endpoint = Endpoint::start(&place);
    let body = json!({"model": "hang", "messages": [{"role": "user", "content": "go"}]});
    let mut stream = endpoint.connect("/v1/chat/completions", &[], &body);
    stream
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let silence = stream.read(&mut [0; 1]).unwrap_err().kind();
    assert!(matches!(
        silence,
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
    ));
    assert_eq!(endpoint.stop(), Some(0));
}

#[test]
fn streams_carry_the_same_reply() {
    let place = Place::new();
    let endpoint = Endpoint::start(&place);
    let body = json!({"model": "thinking", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "2 + 2?"}]});
    let reply = endpoint.post("/v1/chat/completions", &[], &body);
    assert!(reply.head.contains("content-type: text/event-stream"));
    assert!(reply.head.contains("x-cache: HIT"));
    let events: Vec<Value> = reply
        .body
        .lines()
        .filter_map(|l| serde_json::from_str(l.strip_prefix("data: ")?).ok())
        .collect();
    let joined = |key: &str| {
        let pieces = events
            .iter()
            .filter_map(|e| e["choices"][0]["delta"][key].as_str());
        pieces.collect::<String>()
    };
    assert_eq!(joined("content"), "Four, I would say.");
    assert_eq!(joined("reasoning_content"), "SECRET-THOUGHT");
    assert!(
        events
            .iter()
            .all(|e| e["model"] == "other-model" && e["id"] == "fixed")
    );
    assert!(events.last().unwrap()["usage"]["total_tokens"].is_u64());
    assert!(reply.body.contains("data: [DONE]"));
    let body = json!({"model": "thinking", "stream": true, "max_tokens": 99,
        "messages": [{"role": "user", "content": "2 + 2?"}]});
    let reply = endpoint.post("/v1/messages", &[], &body);
    for event in [
        "message_start",
        "thinking_delta",
        "text_delta",
        "message_delta",
        "message_stop",
    ] {
        assert!(reply.body.contains(event), "{event}");
    }
}

#[test]
fn the_key_is_asked_for_and_written_nowhere() {
    let place = Place::new();
    let mut command = place.command();
    command.env("THE_KEY", "sk-very-secret");
    let more = ["--key", "THE_KEY", "--record", "bodies.jsonl"];
    let endpoint = Endpoint::spawn(&mut command, &place, &more);
    for headers in [&["authorization: Bearer sk-other"][..], &[]] {
        let reply = endpoint.ask("coin", headers, "secret plan");
        assert_eq!(reply.status, 401);
        assert_eq!(reply.json()["error"]["code"], "invalid_api_key");
    }
    let body =
        json!({"model": "coin", "max_tokens": 1, "messages": [{"role": "user", "content": "go"}]});
    let refused = endpoint.post("/v1/messages", &["x-api-key: sk-other"], &body);
    assert_eq!(refused.json()["error"]["type"], "authentication_error");
    assert_eq!(
        endpoint
            .ask("coin", &["authorization: Bearer sk-very-secret"], "go")
            .status,
        200
    );
    assert_eq!(
        endpoint
            .post("/v1/messages", &["x-api-key: sk-very-secret"], &body)
            .status,
        200
    );
    assert_eq!(endpoint.stop(), Some(0));
    let bodies = place.read("bodies.jsonl");
    let lines: Vec<Value> = bodies
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(lines.len(), 2, "what was refused is not recorded");
    assert_eq!(lines[0]["messages"][0]["content"], "go");
    assert!(!bodies.contains("sk-"));
}

#[test]
fn names_that_a_script_cannot_know_are_refused_with_the_nearest() {
    let place = Place::new();
    place.write(
        "script.yaml",
        "find: 'order (?P<order>[0-9]+)'
tasks: {t: {vars: {amount: 3}}}
models:
  m:
    default:
      turns:
        - call: [{name: get, arguments: {id: '{{ fond.order }}', of: {by: '{{ found.oder }}'}}}]
        - cases:
            - {when: last.granted, say: yes}
            - {when: 'last.result.granted and called[0].name == \"get\"', say: '{{ found.order }}'}
          say: '{{ vars.amuont }} {% for tool in tools %}{{ tool.name }}{% endfor %} {{ trial }}'
",
    );
    for command in ["endpoint --script script.yaml", "validate script.yaml"] {
        let done = place.expect(2, command);
        let said = format!("{}{}", done.stdout, done.stderr);
        for problem in [
            "script.yaml:7: `models.m.default.turns[0].call[0].arguments.id` names `fond.order`, which is nothing",
            "did you mean `found`?",
            "arguments.of.by` names `found.oder`, and `find` has no such group",
            "did you mean `found.order`?",
            "script.yaml:9: `models.m.default.turns[1].cases[0].when` names `last.granted`, and the last message",
            "script.yaml:11: `models.m.default.turns[1].say` names `vars.amuont`",
            "did you mean `vars.amount`?",
        ] {
            assert!(said.contains(problem), "{problem}: {said}");
        }
        assert!(!said.contains("script.yaml:10"), "{said}");
    }
}

#[test]
fn a_bad_script_is_refused_with_every_problem_and_its_line() {
    let place = Place::new();
    place.write(
        "script.yaml",
        "format: 1\nfind: '('\nmodels:\n  m:\n    default:\n      any_of:\n        - rate: 0.8\n          turns: [{sya: hi}]\n        - rate: 0.3\n          turns: [{say: '{{ x'}]\n  n:\n    default: {}\n    tasks: {t: {rates: [1.0]}}\n",
    );
    for command in ["endpoint --script script.yaml", "validate script.yaml"] {
        let done = place.expect(2, command);
        let said = format!("{}{}", done.stdout, done.stderr);
        for problem in [
            "script.yaml:2: not a regular expression",
            "unknown key `sya`",
            "did you mean `say`?",
            "script.yaml:10: `models.m.default.any_of[1].turns[0].say` is no template",
            "script.yaml:12: a behaviour has one of",
            "script.yaml:13: 1 rates for 0 alternatives",
        ] {
            assert!(said.contains(problem), "{problem}: {said}");
        }
    }
    let done = place.expect(2, "endpoint --script script.yaml --key NOT_SET_ANYWHERE");
    assert!(
        done.stderr.contains("`NOT_SET_ANYWHERE` is not set"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_port_that_is_taken_is_said() {
    let place = Place::new();
    let endpoint = Endpoint::start(&place);
    let port = endpoint.port;
    let done = place.expect(4, &format!("endpoint --script script.yaml --port {port}"));
    assert!(
        done.stderr
            .contains(&format!("cannot listen on 127.0.0.1:{port}")),
        "{}",
        done.stderr
    );
}

/// The packages that providers publish themselves, with tools and streams.
#[test]
fn official_clients_are_served() {
    let python = std::env::var("ASSIZE_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let packages = Command::new(&python)
        .args(["-c", "import openai, anthropic"])
        .output();
    if !packages.is_ok_and(|o| o.status.success()) {
        eprintln!("skipped: `{python}` is missing, or has no packages `openai` and `anthropic`");
        return;
    }
    let place = Place::new();
    let endpoint = Endpoint::start(&place);
    let script = here("tests/reference/scripts/official_clients.py");
    let address = format!("http://127.0.0.1:{}", endpoint.port);
    let done = Command::new(&python)
        .arg(script)
        .arg(address)
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    assert!(done.status.success(), "{out}{err}");
    assert!(
        out.contains("openai: ok") && out.contains("anthropic: ok"),
        "{out}"
    );
}
