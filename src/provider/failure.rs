//! How an attempt can fail: a closed set of codes.

use std::time::Duration;

use crate::model::chat::CallFailure;

/// How a model call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Too many requests or tokens (429).
    RateLimited,
    /// The provider has more to do than it can (503, 529).
    Overloaded,
    /// The provider broke, or asks to try again (5xx, 408, 409, 425).
    ServerError,
    /// No connection in time.
    TimeoutConnect,
    /// No first byte of an answer in time.
    TimeoutFirstByte,
    /// The attempt as a whole took too long.
    TimeoutTotal,
    /// No connection: refused, no such name, no route.
    Unreachable,
    /// The connection is not secure: certificate or handshake.
    Tls,
    /// The body is not JSON.
    NotJson,
    /// The body is JSON, or begins like it, but not what the protocol says.
    MalformedReply,
    /// The connection broke before the reply was complete.
    StreamCut,
    /// The key is missing or wrong (401).
    Unauthorized,
    /// The key may not do this (403).
    Forbidden,
    /// No such path or model (404).
    NotFound,
    /// The endpoint does not accept the request (400, 422).
    BadRequest,
    /// The conversation is longer than the model reads.
    ContextLength,
    /// The account is used up, which waiting does not mend.
    QuotaExhausted,
    /// Another model answered than the one that was asked.
    WrongModel,
    /// This process may open no more sockets.
    TooManyOpenFiles,
}

impl Code {
    /// The snake_case name, as in [`CallFailure::code`].
    pub fn name(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::TimeoutConnect => "timeout_connect",
            Self::TimeoutFirstByte => "timeout_first_byte",
            Self::TimeoutTotal => "timeout_total",
            Self::Unreachable => "unreachable",
            Self::Tls => "tls",
            Self::NotJson => "not_json",
            Self::MalformedReply => "malformed_reply",
            Self::StreamCut => "stream_cut",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::BadRequest => "bad_request",
            Self::ContextLength => "context_length",
            Self::QuotaExhausted => "quota_exhausted",
            Self::WrongModel => "wrong_model",
            Self::TooManyOpenFiles => "too_many_open_files",
        }
    }

    /// Whether the same request may succeed a moment later.
    pub fn retryable(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::ServerError
            | Self::TimeoutConnect
            | Self::TimeoutFirstByte
            | Self::TimeoutTotal
            | Self::Unreachable
            | Self::NotJson
            | Self::MalformedReply
            | Self::StreamCut
            | Self::TooManyOpenFiles => true,
            Self::Tls
            | Self::Unauthorized
            | Self::Forbidden
            | Self::NotFound
            | Self::BadRequest
            | Self::ContextLength
            | Self::QuotaExhausted
            | Self::WrongModel => false,
        }
    }
}

/// One attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub code: Code,
    pub detail: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

impl Failed {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            retry_after: None,
        }
    }

    /// A reply with status 200 that is not what the protocol says. The reply is not quoted: it might
    /// hold hidden reasoning.
    pub fn unreadable(body: &[u8], error: &serde_json::Error) -> Self {
        let start = body.trim_ascii_start();
        match start.first() {
            None => Self::new(Code::NotJson, "an empty body instead of JSON"),
            Some(b'<') => Self::new(Code::NotJson, html(start)),
            Some(b'{') => Self::new(Code::MalformedReply, place(error)),
            Some(_) if start.starts_with(b"data:") || start.starts_with(b"event:") => Self::new(
                Code::NotJson,
                "a stream of events instead of JSON, though none was asked for",
            ),
            Some(_) => Self::new(Code::NotJson, format!("no JSON object: {}", place(error))),
        }
    }

    /// What the caller of the whole call is told.
    pub fn after(self, attempts: u32, injected: bool) -> CallFailure {
        CallFailure {
            code: self.code.name().to_owned(),
            detail: self.detail,
            attempts,
            injected,
        }
    }
}

/// Says that a page came instead of a reply, with its title: pages hold no reasoning.
pub(super) fn html(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4096)]);
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|at| {
        let from = at + "<title>".len();
        let to = from + lower[from..].find("</title>")?;
        Some(text[from..to].trim().to_owned())
    });
    match title {
        Some(title) => format!("HTML instead of JSON: \"{title}\""),
        None => "HTML instead of JSON".to_owned(),
    }
}

/// Where the JSON went wrong; serde's own text quotes values.
fn place(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let what = match error.classify() {
        Category::Eof => "it ends early",
        Category::Syntax => "it is not JSON",
        Category::Data => "it does not have the protocol's shape",
        Category::Io => "it can't be read",
    };
    let (line, column) = (error.line(), error.column());
    format!("the reply is malformed: {what} (line {line}, column {column})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreadable(body: &str) -> Failed {
        let error = serde_json::from_str::<std::collections::BTreeMap<String, u64>>(body)
            .expect_err("not such a map");
        Failed::unreadable(body.as_bytes(), &error)
    }

    #[test]
    fn a_page_is_named_with_its_title() {
        let failed = unreadable("\n<!doctype html><html><TITLE> Sign in </TITLE></html>");
        assert_eq!(failed.code, Code::NotJson);
        assert_eq!(failed.detail, "HTML instead of JSON: \"Sign in\"");
        assert_eq!(unreadable("<p>no").detail, "HTML instead of JSON");
        assert_eq!(unreadable("  ").code, Code::NotJson);
        assert_eq!(unreadable("hello").code, Code::NotJson);
    }

    #[test]
    fn a_broken_object_is_malformed_and_is_not_quoted() {
        for body in [r#"{"a": 1"#, r#"{"a": "hidden thought"}"#, r#"{"a" 1}"#] {
            let failed = unreadable(body);
            assert_eq!(failed.code, Code::MalformedReply);
            assert!(!failed.detail.contains("hidden"), "{}", failed.detail);
        }
    }
}
