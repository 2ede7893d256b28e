//! What goes wrong on purpose, as a client meets it.

use std::io;
use std::time::{Duration, SystemTime};

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use futures_util::stream;

use super::handle::Dialect;
use super::link::Link;
use crate::model::script::ScriptErrorKind;
use crate::provider::script::{ScriptedAnswer, ScriptedError};

/// An error of the protocol.
pub(super) fn refusal(dialect: Dialect, status: u16, message: &str) -> Response<Body> {
    let body = dialect.error(status, message).to_string();
    response(status, "application/json", Body::from(body))
}

/// A response with a status and a type.
pub(super) fn response(status: u16, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Answers with an error of the script; `whole` is what the reply would have been.
pub(super) async fn fail(
    dialect: Dialect,
    error: &ScriptedError,
    answer: &ScriptedAnswer,
    link: &Link,
    whole: Whole,
) -> Response<Body> {
    let mut response = match error.kind {
        ScriptErrorKind::Status => refusal(dialect, error.status, &error.message),
        ScriptErrorKind::Html => {
            let text = &error.message;
            let page = format!("<!DOCTYPE html><html><body><h1>{text}</h1></body></html>\n");
            response(error.status, "text/html; charset=utf-8", Body::from(page))
        }
        ScriptErrorKind::Malformed => response(error.status, whole.kind, malformed(whole.bytes)),
        ScriptErrorKind::Cut => cut(error.status, whole),
        ScriptErrorKind::Hang => std::future::pending().await,
        ScriptErrorKind::Reset => {
            link.reset();
            response(error.status, whole.kind, Body::empty())
        }
    };
    headers(&answer.headers, &mut response);
    retry_after(error, &mut response);
    response
}

/// A reply as its bytes: of a stream, all events.
pub(super) struct Whole {
    pub kind: &'static str,
    pub bytes: Vec<u8>,
}

fn malformed(mut bytes: Vec<u8>) -> Body {
    bytes.truncate(bytes.len() / 2);
    // A stream ends its last event properly, so that the event itself is what is broken.
    if bytes.starts_with(b"data:") || bytes.starts_with(b"event:") {
        bytes.extend_from_slice(b"{\n\n");
    }
    Body::from(bytes)
}

/// Half of a reply, and then the connection closes.
fn cut(status: u16, whole: Whole) -> Response<Body> {
    let length = whole.bytes.len();
    let half = Bytes::from(whole.bytes).slice(..length / 2);
    let parts = stream::unfold(Some(half), |half| async move {
        match half {
            Some(half) => Some((Ok(half), None)),
            None => {
                // The half must be on its way before the error tears the connection down.
                tokio::time::sleep(Duration::from_millis(5)).await;
                Some((Err(io::Error::from(io::ErrorKind::ConnectionAborted)), None))
            }
        }
    });
    let mut response = response(status, whole.kind, Body::from_stream(parts));
    if whole.kind == "application/json" {
        let length = HeaderValue::from(length);
        response
            .headers_mut()
            .insert(header::CONTENT_LENGTH, length);
    }
    response
}

fn retry_after(error: &ScriptedError, response: &mut Response<Body>) {
    let Some(seconds) = error.retry_after else {
        return;
    };
    let text = if error.retry_after_date {
        // Dates count whole seconds, so the next one is the first that is not too early.
        httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(seconds + 1))
    } else {
        seconds.to_string()
    };
    if let Ok(value) = HeaderValue::try_from(text) {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
}

/// Adds the headers of a script; the loader has refused what is none.
pub(super) fn headers(declared: &[(String, String)], response: &mut Response<Body>) {
    for (name, value) in declared {
        let name = HeaderName::try_from(name.as_str());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value.as_str())) {
            response.headers_mut().insert(name, value);
        }
    }
}
