//! From a request to its reply.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use futures_util::stream;
use serde_json::Value;

use super::conversations::{Conversations, Opening};
use super::failure::{self, Whole, refusal, response};
use super::link::Link;
use super::record::Recording;
use super::wire::WireRequest;
use super::{EndpointOptions, anthropic, anthropic_stream, openai, openai_stream};
use crate::base::{Digest, Result};
use crate::provider::script::{Script, ScriptedAnswer, view};

/// The header that names the trial of a request: `TASK/INDEX`.
const TRIAL: &str = "x-assize-trial";

/// What all requests share.
pub(super) struct Server {
    script: Arc<Script>,
    key: Option<String>,
    recording: Option<Recording>,
    conversations: Conversations,
    /// What all ids of replies of this process begin with.
    mark: String,
    replies: AtomicU64,
}

/// Protocols.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Openai,
    Anthropic,
}

impl Server {
    /// Opens what is needed to answer.
    ///
    /// # Errors
    ///
    /// If the recording can't be opened.
    pub fn new(script: Arc<Script>, options: &EndpointOptions) -> Result<Self> {
        Ok(Self {
            script,
            key: options.key.clone(),
            recording: options.record.as_deref().map(Recording::open).transpose()?,
            conversations: Conversations::default(),
            mark: mark(),
            replies: AtomicU64::new(0),
        })
    }

    /// An id that no other reply has, of this process or another: who finds one twice met a cache.
    fn reply_id(&self) -> String {
        let number = self.replies.fetch_add(1, Ordering::Relaxed);
        format!("scripted-{}-{number}", self.mark)
    }

    fn may_ask(&self, headers: &HeaderMap) -> bool {
        let Some(key) = &self.key else {
            return true;
        };
        let bearer = text(headers, "authorization").and_then(|h| h.strip_prefix("Bearer "));
        [bearer, text(headers, "x-api-key")].contains(&Some(key.as_str()))
    }

    /// Says to the request which trial it belongs to; the opening, if it was found by counting.
    fn identify(&self, request: &mut WireRequest, headers: &HeaderMap) -> Option<Opening> {
        let named = text(headers, TRIAL).and_then(|h| h.rsplit_once('/'));
        if let Some((task, index)) = named
            && let Ok(index) = index.parse()
        {
            request.chat.trial.task = task.to_owned();
            request.chat.trial.index = index;
            return None;
        }
        let messages = &request.chat.messages;
        let opening = Opening::of(&request.model, messages);
        request.chat.trial.index = self.conversations.number(opening, messages);
        request.chat.trial.task = self.script.recognise(view::first_message(messages));
        Some(opening)
    }

    /// Whether the error of an answer strikes this attempt.
    fn strikes(
        &self,
        request: &WireRequest,
        answer: &ScriptedAnswer,
        opening: Option<Opening>,
    ) -> bool {
        let Some(error) = &answer.error else {
            return false;
        };
        let Some(times) = error.times else {
            return true;
        };
        let trial = &request.chat.trial;
        let turn = view::turns(&request.chat.messages);
        let fails = self.conversations.fails(&request.model, trial, turn, times);
        if let Some(opening) = opening.filter(|_| fails && turn == 0) {
            self.conversations.begins_again(opening, trial.index);
        }
        fails
    }
}

impl Dialect {
    fn read(self, body: &[u8]) -> Result<WireRequest, String> {
        match self {
            Self::Openai => openai::read(body),
            Self::Anthropic => anthropic::read(body),
        }
    }

    pub fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::Openai => openai::error(status, message),
            Self::Anthropic => anthropic::error(status, message),
        }
    }

    fn reply(self, answer: &ScriptedAnswer) -> Vec<u8> {
        match self {
            Self::Openai => openai::reply(answer),
            Self::Anthropic => anthropic::reply(answer),
        }
    }

    fn frames(self, answer: &ScriptedAnswer, include_usage: bool) -> Vec<String> {
        match self {
            Self::Openai => openai_stream::frames(answer, include_usage),
            Self::Anthropic => anthropic_stream::frames(answer),
        }
    }
}

/// Tells this process from others.
fn mark() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = now.map_or(0, |n| n.as_nanos());
    let digest = Digest::of_parts(&[&nanos.to_string(), &std::process::id().to_string()]);
    digest.short().to_owned()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// `POST /v1/chat/completions`.
pub(super) async fn openai(
    State(server): State<Arc<Server>>,
    ConnectInfo(link): ConnectInfo<Link>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    answer(&server, Dialect::Openai, &link, &headers, &body).await
}

/// `POST /v1/messages`.
pub(super) async fn anthropic(
    State(server): State<Arc<Server>>,
    ConnectInfo(link): ConnectInfo<Link>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    answer(&server, Dialect::Anthropic, &link, &headers, &body).await
}

/// `GET /v1/models`; both protocols have the same path, and only one of them names its version.
pub(super) async fn models(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
) -> Response<Body> {
    let anthropic = headers.contains_key("anthropic-version");
    let dialect = if anthropic {
        Dialect::Anthropic
    } else {
        Dialect::Openai
    };
    if !server.may_ask(&headers) {
        return refusal(dialect, 401, "wrong or missing API key");
    }
    let names = server.script.models();
    let list = match dialect {
        Dialect::Openai => openai::models(names),
        Dialect::Anthropic => anthropic::models(names),
    };
    response(200, "application/json", Body::from(list.to_string()))
}

/// Any other path.
pub(super) async fn unknown() -> Response<Body> {
    refusal(Dialect::Openai, 404, "there is nothing at this path")
}

async fn answer(
    server: &Server,
    dialect: Dialect,
    link: &Link,
    headers: &HeaderMap,
    body: &[u8],
) -> Response<Body> {
    if !server.may_ask(headers) {
        return refusal(dialect, 401, "wrong or missing API key");
    }
    if let Some(recording) = &server.recording
        && let Err(problem) = recording.add(body)
    {
        return refusal(dialect, 500, &problem);
    }
    let mut request = match dialect.read(body) {
        Ok(request) => request,
        Err(problem) => return refusal(dialect, 400, &problem),
    };
    let opening = server.identify(&mut request, headers);
    let Some(mut answer) = server.script.answer(&request.model, &request.chat) else {
        let message = format!("the model `{}` does not exist", request.model);
        return refusal(dialect, 404, &message);
    };
    let id = &mut answer.completion.response_id;
    id.get_or_insert_with(|| server.reply_id());
    let strikes = server.strikes(&request, &answer, opening);
    if let Some(delay) = answer.completion.declared_ms.filter(|ms| *ms > 0) {
        tokio::time::sleep(Duration::from_millis(delay)).await;
    }
    match &answer.error {
        Some(error) if strikes => {
            let whole = whole(dialect, &request, &answer);
            failure::fail(dialect, error, &answer, link, whole).await
        }
        _ => reply(dialect, &request, &answer),
    }
}

fn reply(dialect: Dialect, request: &WireRequest, answer: &ScriptedAnswer) -> Response<Body> {
    let mut reply = if request.stream {
        let frames = dialect.frames(answer, request.include_usage);
        let frames = frames
            .into_iter()
            .map(|f| Ok::<_, std::io::Error>(Bytes::from(f)));
        let body = Body::from_stream(stream::iter(frames));
        let mut reply = response(200, "text/event-stream; charset=utf-8", body);
        let no = HeaderValue::from_static("no-cache");
        reply.headers_mut().insert(header::CACHE_CONTROL, no);
        reply
    } else {
        response(200, "application/json", Body::from(dialect.reply(answer)))
    };
    failure::headers(&answer.headers, &mut reply);
    reply
}

/// The reply that an error spoils.
fn whole(dialect: Dialect, request: &WireRequest, answer: &ScriptedAnswer) -> Whole {
    if request.stream {
        let frames = dialect.frames(answer, request.include_usage);
        return Whole {
            kind: "text/event-stream; charset=utf-8",
            bytes: frames.concat().into_bytes(),
        };
    }
    Whole {
        kind: "application/json",
        bytes: dialect.reply(answer),
    }
}
