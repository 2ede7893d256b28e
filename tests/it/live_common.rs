//! What the tests of live runs share: suites, servers, and what a run says of its trials.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::common::{Done, Place, Report};

/// Models that the tests share; a test adds its own.
pub const GOOD: &str = "format: 1
models:
  good: {default: {turns: [{say: '{\"status\": \"ok\"}'}]}}
";

/// Writes a suite `s` of so many tasks that pass with `{\"status\": \"ok\"}`, so many trials each.
pub fn suite(place: &Place, tasks: usize, trials: u32, more: &str) {
    place.write(
        "s/suite.yaml",
        format!(
            "format: 1
id: live
version: '1'
trials: {trials}
expect:
  final_schema: {{type: object, required: [status], properties: {{status: {{const: ok}}}}}}
{more}"
        ),
    );
    let task = |i| format!("{{\"id\": \"t{i}\", \"input\": {{\"user\": \"go {i}\"}}}}\n");
    place.write("s/tasks.jsonl", (0..tasks).map(task).collect::<String>());
}

/// Writes the script and the arms of suite `s`; `base` is always a model that passes.
pub fn arms(place: &Place, models: &str, arms: &str) {
    place.write("s/script.yaml", format!("{GOOD}{models}"));
    place.write(
        "s/arms.yaml",
        format!(
            "format: 1\narms:\n  base: {{kind: scripted, script: script.yaml, model: good}}\n{arms}"
        ),
    );
}

/// An arm of the same script.
pub fn scripted(name: &str) -> String {
    format!(
        "  {name}: {{kind: scripted, script: script.yaml, model: {name}, price: {{input_per_million: 1, output_per_million: 1}}}}\n"
    )
}

/// An arm behind an endpoint that is asked for the model of its own name.
pub fn chat(name: &str, url: &str, more: &str) -> String {
    format!(
        "  {name}: {{kind: chat, base_url: '{url}', model: {name}, max_retries: 0, max_retry_wait_s: 0.01{more}}}\n"
    )
}

/// What a run holds, seen from outside.
pub struct Found {
    pub report: Report,
}

impl Found {
    pub fn of(place: &Place, run: &str) -> Self {
        Self {
            report: place.report(run),
        }
    }

    /// Infrastructure errors of an arm: `boundary:code` and how many.
    pub fn infra(&self, arm: &str) -> Vec<(String, u64)> {
        let rows = self.report.0["infrastructure"].as_array().unwrap().iter();
        let row = |r: &Value| {
            let text = |key: &str| r[key].as_str().unwrap().to_owned();
            let named = format!("{}:{}", text("boundary"), text("code"));
            (named, r["trials"].as_u64().unwrap())
        };
        rows.filter(|r| r["arm"] == arm).map(row).collect()
    }

    /// Trials of an arm that broke in the broken rules.
    fn failed(&self, arm: &str) -> u64 {
        let rules = self.report.0["rules"].as_array().unwrap().iter();
        let own = rules.filter(|r| r["arm"] == arm);
        own.map(|r| r["fail"].as_u64().unwrap()).sum()
    }

    pub fn count(&self, arm: &str, key: &str) -> u64 {
        self.report.accounting(arm, "outcome")[key]
            .as_u64()
            .unwrap()
    }

    /// The trials of an arm are all excluded with this boundary and code, and none is held against it.
    #[track_caller]
    pub fn excluded(&self, arm: &str, named: &str, trials: u64) {
        assert_eq!(self.infra(arm), [(named.to_owned(), trials)], "{arm}");
        let (boundary, _) = named.split_once(':').unwrap();
        let counts = self.report.accounting(arm, "outcome");
        assert_eq!(counts["excluded"], json!({ boundary: trials }), "{arm}");
        assert_eq!(counts["started"], trials, "{arm}: {counts}");
        assert_eq!(counts["valid"], 0, "{arm}: {counts}");
        assert_eq!(counts["scored"], 0, "{arm}: {counts}");
        assert_eq!(self.failed(arm), 0, "{arm}");
    }

    /// The trials of an arm are all valid and failed, and nothing is blamed on infrastructure.
    #[track_caller]
    pub fn all_failed(&self, arm: &str, trials: u64) {
        assert_eq!(self.infra(arm), [], "{arm}");
        assert_eq!(self.count(arm, "scored"), trials, "{arm}");
        let rate = &self.report.estimate(arm, "success_rate")["value"];
        assert_eq!(rate, &json!(0.0), "{arm}");
    }

    /// The trials of an arm are all valid and passed.
    #[track_caller]
    pub fn all_passed(&self, arm: &str, trials: u64) {
        assert_eq!(self.infra(arm), [], "{arm}");
        assert_eq!(self.count(arm, "scored"), trials, "{arm}");
        let rate = &self.report.estimate(arm, "success_rate")["value"];
        assert_eq!(rate, &json!(1.0), "{arm}");
    }

    pub fn live(&self, arm: &str) -> &Value {
        let mut rows = self.report.0["live"].as_array().unwrap().iter();
        rows.find(|r| r["arm"] == arm).unwrap()
    }
}

/// Runs suite `s` into `run` without asking the arms first.
pub fn run(place: &Place, more: &str) -> Found {
    let done = place.assize(&format!("run s --out run --no-preflight {more}"));
    assert!(place.path("run/report/report.json").exists(), "{done:#?}");
    Found::of(place, "run")
}

/// The status of a trial, as `assize show` has it.
pub fn status(place: &Place, run: &str, arm: &str, task: &str, trial: u32) -> Value {
    let shown = place.expect(
        0,
        &format!("show {run} --arm {arm} --task {task} --trial {trial} --format json"),
    );
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    shown["trial"]["status"].clone()
}

/// A running `assize endpoint`; it ends with the test.
pub struct Endpoint {
    child: Child,
    pub port: u16,
}

impl Endpoint {
    /// Serves the models of a script of its own.
    pub fn start(place: &Place, models: &str) -> Self {
        Self::with(place, models, &[], &[])
    }

    pub fn with(place: &Place, models: &str, more: &[&str], env: &[(&str, &str)]) -> Self {
        place.write("endpoint.yaml", format!("{GOOD}{models}"));
        let mut child = place
            .command()
            .args(["endpoint", "--script", "endpoint.yaml", "--format", "json"])
            .args(more)
            .envs(env.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let line = first_line(child.stdout.take().unwrap());
        let line: Value = serde_json::from_str(&line).unwrap();
        let port = line["listening"].as_str().unwrap().rsplit(':').next();
        Self {
            child,
            port: port.unwrap().parse().unwrap(),
        }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The address to which Anthropic's protocol adds its own path.
    pub fn root(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn first_line(out: ChildStdout) -> String {
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line).unwrap();
    line
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request as a raw server sees it.
pub struct Request {
    pub text: String,
    /// How many came before it.
    pub number: usize,
}

/// A socket server that answers with whatever bytes a test makes, and closes the connection.
pub struct Raw {
    pub port: u16,
    pub seen: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
}

impl Raw {
    pub fn start(answer: impl Fn(&Request) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let raw = Self {
            port: listener.local_addr().unwrap().port(),
            seen: Arc::default(),
            over: Arc::default(),
        };
        let (seen, over, answer) = (raw.seen.clone(), raw.over.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let (seen, answer, mut socket) = (seen.clone(), answer.clone(), socket.unwrap());
                std::thread::spawn(move || {
                    let Some(text) = request(&mut socket) else {
                        return;
                    };
                    let number = {
                        let mut seen = seen.lock().unwrap();
                        seen.push(text.clone());
                        seen.len() - 1
                    };
                    // Who asked may be gone by now.
                    let _ = socket.write_all(&answer(&Request { text, number }));
                });
            }
        });
        raw
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn request(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1);
            let length = length.and_then(|l| l.lines().next()?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0usize) {
                return Some(text);
            }
        }
        match socket.read(&mut buffer) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
            _ => return None,
        }
    }
}

/// An HTTP reply that ends its connection.
pub fn http(status: u16, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A model that says this, in OpenAI's protocol.
pub fn says(model: &str, number: usize, text: &str) -> Vec<u8> {
    let reply = json!({
        "id": format!("r{number}"), "object": "chat.completion", "created": 0, "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    });
    http(200, &reply.to_string())
}

/// A port on which nobody listens.
pub fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A run whose events are read one by one.
pub struct Streamed {
    pub child: Child,
    out: BufReader<ChildStdout>,
    pub events: Vec<Value>,
}

impl Streamed {
    pub fn start(command: &mut Command) -> Self {
        let command = command.args(["--format", "json"]);
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            out,
            events: vec![],
        }
    }

    /// The next event; every line is one.
    pub fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        if self.out.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        let event: Value = serde_json::from_str(&line).unwrap();
        assert!(event["event"].is_string(), "{line}");
        self.events.push(event.clone());
        Some(event)
    }

    /// Reads until an event of this kind.
    pub fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next().expect("the event comes before the end");
            if event["event"] == kind {
                return event;
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Reads the rest and waits for the end.
    pub fn end(mut self) -> (Done, Vec<Value>) {
        while self.next().is_some() {}
        let output = self.child.wait_with_output().unwrap();
        (Done::of(output), self.events)
    }
}
