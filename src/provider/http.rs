//! The client of one arm: sends requests and reads replies.

use std::time::Duration;

use futures_util::stream;
use reqwest::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use reqwest::{Body, ClientBuilder, Method, Request, Response, Url};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::bytes::Bytes;

use super::waiting::counted;
use crate::base::{Error, Result};
use crate::model::arm::{ChatArm, Protocol};
use crate::model::chat::{CallFailure, ChatRequest, Completion, Finish, Waits};

use super::budget::Budget;
use super::endpoint::Endpoint;
use super::failure::{Code, Failed};
use super::inject::Strike;
use super::openai::Answered;
use super::retry::{Attempts, Policy, persevere};
use super::secret::Secret;
use super::status::{self, Complaint};
use super::{cache, identity, read, transport, wire};

/// How long an unused connection is kept. Common servers (Node, uvicorn) close theirs after 5 s; a
/// request on a connection that is just being closed would cost an attempt.
const IDLE: Duration = Duration::from_secs(4);

/// A model behind an HTTP endpoint; one per arm, shared by its trials.
///
/// HTTP/1.1 with kept connections, one per call that is under way, so that a broken connection breaks
/// one call only. The proxy variables (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`) are
/// honoured. Redirects are not followed, as the key would travel along.
pub struct HttpClient {
    client: reqwest::Client,
    endpoint: Endpoint,
    protocol: Protocol,
    model: String,
    params: Map<String, Value>,
    stream: bool,
    first_byte: Duration,
    total: Duration,
    policy: Policy,
    budget: Budget,
}

impl HttpClient {
    /// Builds the client of an arm; `key` is what the arm's `api_key_env` names.
    ///
    /// # Errors
    ///
    /// If the URL, the key, a header, a parameter or a timeout of the arm can't be used.
    pub fn new(arm: &ChatArm, key: Option<Secret>) -> Result<Self> {
        check_params(arm)?;
        let endpoint = Endpoint::new(arm, key.as_ref())?;
        Ok(Self {
            client: client(arm, &endpoint.url)?,
            endpoint,
            protocol: arm.protocol,
            model: arm.model.clone(),
            params: arm.params.clone(),
            stream: arm.stream,
            first_byte: seconds("timeouts.first_byte_s", arm.timeouts.first_byte_s)?,
            total: seconds("timeouts.total_s", arm.timeouts.total_s)?,
            policy: Policy {
                max_retries: arm.max_retries,
                max_wait_s: seconds("max_retry_wait_s", arm.max_retry_wait_s)?.as_secs_f64(),
            },
            budget: Budget::new(arm.rate, &arm.params),
        })
    }

    /// Asks the model once, with retries; see [`Client::complete`](super::Client::complete).
    pub(super) async fn complete(
        &self,
        request: &ChatRequest,
        strike: Option<Strike>,
    ) -> Result<Completion, CallFailure> {
        let call = self.prepare(request);
        let call = call.map_err(|failed| self.clean(failed).after(0, false))?;
        persevere(&call, self.policy, request, strike).await
    }

    /// Writes the request once for all its attempts.
    fn prepare<'a>(&'a self, request: &'a ChatRequest) -> Result<Call<'a>, Failed> {
        let body = wire::encode(
            self.protocol,
            &self.model,
            &self.params,
            self.stream,
            request,
        );
        let body = body.map_err(|e| Failed::new(Code::BadRequest, format!("not JSON: {e}")))?;
        let mut headers = self.endpoint.headers(&request.trial)?;
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        Ok(Call {
            client: self,
            body: Bytes::from(body),
            headers,
            waits: &request.waits,
        })
    }

    fn clean(&self, failed: Failed) -> Failed {
        Failed {
            detail: self.endpoint.redactor.clean(&failed.detail),
            ..failed
        }
    }
}

/// One call that is under way.
struct Call<'a> {
    client: &'a HttpClient,
    body: Bytes,
    headers: HeaderMap,
    waits: &'a Waits,
}

impl Attempts for Call<'_> {
    async fn attempt(&self) -> Result<Completion, Failed> {
        let client = self.client;
        let reserved = counted(self.waits, client.budget.take(self.body.len())).await;
        let outcome = match timeout(client.total, self.exchange()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(too_slow(Code::TimeoutTotal, "whole answer", client.total)),
        };
        let usage = outcome.as_ref().ok().map(|reply| &reply.usage);
        client.budget.settle(reserved, usage);
        outcome.map_err(|failed| client.clean(failed))
    }

    async fn pause(&self, wait: Duration) {
        counted(self.waits, tokio::time::sleep(wait)).await;
    }
}

impl Call<'_> {
    async fn exchange(&self) -> Result<Completion, Failed> {
        let mut response = self.send().await?;
        let place = &self.client.endpoint.place;
        if !response.status().is_success() {
            return rejected(response, place).await;
        }
        let cache_hit = cache::hit(response.headers());
        let protocol = self.client.protocol;
        let completion = if is_stream(&response) && self.client.stream {
            read::events(response, protocol, place).await?
        } else {
            let body = read::whole(&mut response, read::LONGEST_REPLY, place).await?;
            wire::parse(protocol, &body)?
        };
        identity::check(&self.client.model, completion.model.as_deref())?;
        Ok(Completion {
            cache_hit,
            ..completion
        })
    }

    /// Sends the request and waits for the head of the answer. The time for the first byte runs from
    /// when a connection stands and the body is taken from us.
    async fn send(&self) -> Result<Response, Failed> {
        let client = self.client;
        let (started, start) = oneshot::channel();
        let answer = client.client.execute(self.request(started));
        tokio::pin!(answer);
        let response = tokio::select! {
            biased;
            response = &mut answer => response,
            _ = start => match timeout(client.first_byte, &mut answer).await {
                Ok(response) => response,
                Err(_) => {
                    return Err(too_slow(Code::TimeoutFirstByte, "first byte", client.first_byte));
                }
            },
        };
        response.map_err(|error| transport::of_error(&error, &client.endpoint.place))
    }

    fn request(&self, started: oneshot::Sender<()>) -> Request {
        let mut request = Request::new(Method::POST, self.client.endpoint.url.clone());
        *request.headers_mut() = self.headers.clone();
        let body = self.body.clone();
        *request.body_mut() = Some(Body::wrap_stream(stream::once(async move {
            // Nobody listens any more if the answer was faster.
            let _ = started.send(());
            Ok::<Bytes, std::convert::Infallible>(body)
        })));
        request
    }
}

/// Reads a reply with an error status; one that a filter caused is a refusal.
async fn rejected(mut response: Response, place: &str) -> Result<Completion, Failed> {
    let body = read::whole(&mut response, read::LONGEST_ERROR, place).await;
    let complaint = Complaint::of_body(&body.unwrap_or_default());
    if complaint.filtered() {
        let refused = Answered {
            refusal: Some(complaint.message),
            ..Answered::default()
        };
        return Ok(Completion {
            finish: Finish::Refusal,
            ..refused.completion()?
        });
    }
    let status = response.status().as_u16();
    Err(status::of_status(status, response.headers(), complaint))
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get("content-type");
    let json = kind.is_some_and(|kind| {
        [&b"application/json"[..], b"text/html"]
            .iter()
            .any(|start| kind.as_bytes().starts_with(start))
    });
    !json
}

fn too_slow(code: Code, what: &str, limit: Duration) -> Failed {
    let text = format!("no {what} within {} s", limit.as_secs_f64());
    Failed::new(code, text)
}

/// Builds the HTTP client of an arm. A machine without certificate authorities can't build one for
/// TLS, but must be able to ask a plain endpoint.
fn client(arm: &ChatArm, url: &Url) -> Result<reqwest::Client> {
    // The first caller installs; for all later ones it is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || -> Result<ClientBuilder> {
        Ok(reqwest::Client::builder()
            .http1_only()
            .gzip(true)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(seconds("timeouts.connect_s", arm.timeouts.connect_s)?)
            .pool_max_idle_per_host(usize::MAX)
            .pool_idle_timeout(IDLE)
            .user_agent(concat!("assize/", env!("CARGO_PKG_VERSION"))))
    };
    let built = match builder()?.build() {
        Err(_) if url.scheme() == "http" => builder()?.tls_certs_only([]).build(),
        built => built,
    };
    built.map_err(|error| {
        Error::io(format!("no HTTP client: {}", transport::reason(&error)))
            .hint("install certificate authorities, or name them in SSL_CERT_FILE")
    })
}

fn check_params(arm: &ChatArm) -> Result<()> {
    let reserved = wire::reserved(arm.protocol);
    match arm
        .params
        .keys()
        .find(|key| reserved.contains(&key.as_str()))
    {
        Some(key) => Err(Error::input(format!(
            "params.{key} can't be set: the engine sets `{key}` itself"
        ))
        .hint("`model` and `stream` are keys of the arm; tools and messages come from the suite")),
        None => Ok(()),
    }
}

fn seconds(name: &str, value: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(value).map_err(|_| {
        Error::input(format!("{name}: {value} is no time in seconds"))
            .hint("write a number that is not negative")
    })
}
