//! A server that says exactly what a test wants, byte by byte.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What is done with one request.
#[derive(Clone)]
pub enum Reply {
    /// These bytes, and the connection stays open for the next request.
    Keep(Vec<u8>),
    /// These bytes, and the connection is closed.
    Close(Vec<u8>),
    /// These bytes, and then nothing for ever.
    Hang(Vec<u8>),
}

pub struct Server {
    pub url: String,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Answers the first request with the first reply, and so on; the last one is repeated.
    pub async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(Mutex::new(0));
        let (seen, opened) = (requests.clone(), connections.clone());
        let task = tokio::spawn(async move {
            let replies = Arc::new(replies);
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                *opened.lock().unwrap() += 1;
                tokio::spawn(serve(socket, replies.clone(), seen.clone()));
            }
        });
        Self {
            url,
            requests,
            connections,
            task,
        }
    }

    pub async fn always(reply: Vec<u8>) -> Self {
        Self::start(vec![Reply::Keep(reply)]).await
    }

    /// The requests so far, heads and bodies.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The bodies of the requests so far.
    pub fn bodies(&self) -> Vec<serde_json::Value> {
        self.requests()
            .iter()
            .map(|r| serde_json::from_str(r.split_once("\r\n\r\n").unwrap().1).unwrap())
            .collect()
    }

    /// Waits until so many requests have come.
    pub async fn seen(&self, requests: usize) {
        while self.requests.lock().unwrap().len() < requests {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    }

    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

async fn serve(mut socket: TcpStream, replies: Arc<Vec<Reply>>, seen: Arc<Mutex<Vec<String>>>) {
    let mut buffer = Vec::new();
    while let Some(request) = next_request(&mut socket, &mut buffer).await {
        let reply = {
            let mut seen = seen.lock().unwrap();
            seen.push(request);
            replies[(seen.len() - 1).min(replies.len() - 1)].clone()
        };
        match reply {
            Reply::Keep(bytes) => socket.write_all(&bytes).await.unwrap_or_default(),
            Reply::Close(bytes) => {
                let _ = socket.write_all(&bytes).await;
                let _ = socket.shutdown().await;
                return;
            }
            Reply::Hang(bytes) => {
                let _ = socket.write_all(&bytes).await;
                // Until the client gives up.
                let _ = socket.read(&mut [0; 64]).await;
                return;
            }
        }
    }
}

async fn next_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(length) = whole(buffer) {
            let request = buffer.drain(..length).collect();
            return Some(String::from_utf8(request).unwrap());
        }
        let mut piece = [0; 4096];
        match socket.read(&mut piece).await {
            Ok(read) if read > 0 => buffer.extend_from_slice(&piece[..read]),
            _ => return None,
        }
    }
}

/// The length of the first request, once it is complete.
fn whole(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|w| w == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
    assert!(
        !text.contains("transfer-encoding"),
        "some servers know lengths only"
    );
    let length = text
        .lines()
        .find_map(|l| l.strip_prefix("content-length: "));
    let length = head + length.map_or(0, |l| l.trim().parse::<usize>().unwrap());
    (buffer.len() >= length).then_some(length)
}

/// A response with a length.
pub fn http(status: u16, headers: &[&str], body: &str) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|h| h.starts_with("content-type")) {
        text.push_str("content-type: application/json\r\n");
    }
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    (text + "\r\n" + body).into_bytes()
}

/// A chunked stream of events; `end` says whether it ends as it should.
pub fn events(events: &[&str], end: bool) -> Vec<u8> {
    let mut text =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_owned();
    for event in events {
        let data = format!("data: {event}\n\n");
        text.push_str(&format!("{:x}\r\n{data}\r\n", data.len()));
    }
    if end {
        text.push_str("0\r\n\r\n");
    }
    text.into_bytes()
}

/// A good reply of OpenAI's protocol.
pub fn good() -> Vec<u8> {
    good_with(&[])
}

pub fn good_with(headers: &[&str]) -> Vec<u8> {
    http(
        200,
        headers,
        r#"{"id":"r-1","model":"m","choices":[{"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}"#,
    )
}
