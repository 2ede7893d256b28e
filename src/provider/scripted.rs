//! A scripted model in place of an endpoint: the same retries, without waiting.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::model::chat::{CallFailure, ChatRequest, Completion};
use crate::model::script::ScriptErrorKind;

use super::cache;
use super::failure::{Code, Failed};
use super::inject::Strike;
use super::retry::{Attempts, Policy, persevere};
use super::script::{ScriptedError, ScriptedModel};
use super::status;

/// The longest wait before a retry, in seconds.
const MAX_WAIT_S: f64 = 60.0;

/// A scripted model that is asked within the process.
pub struct ScriptedClient {
    model: ScriptedModel,
    max_retries: u32,
}

impl ScriptedClient {
    /// A client that retries a call at most so often.
    pub fn new(model: ScriptedModel, max_retries: u32) -> Self {
        Self { model, max_retries }
    }

    pub(super) async fn complete(
        &self,
        request: &ChatRequest,
        strike: Option<Strike>,
    ) -> Result<Completion, CallFailure> {
        let call = Call {
            model: &self.model,
            request,
            asked: AtomicU32::new(0),
        };
        let policy = Policy {
            max_retries: self.max_retries,
            max_wait_s: MAX_WAIT_S,
        };
        persevere(&call, policy, request, strike).await
    }
}

/// One call with how often it was asked.
struct Call<'a> {
    model: &'a ScriptedModel,
    request: &'a ChatRequest,
    asked: AtomicU32,
}

impl Attempts for Call<'_> {
    async fn attempt(&self) -> Result<Completion, Failed> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        let answer = self.model.answer(self.request);
        if let Some(error) = &answer.error
            && error.times.is_none_or(|times| asked < times)
        {
            return Err(failed(error));
        }
        let mut said = answer.completion;
        said.cache_hit = cache::hit(&headers(&answer.headers));
        Ok(said)
    }

    /// Nobody sleeps here: waiting before a retry is no part of a trial's time.
    async fn pause(&self, _: Duration) {}
}

/// The failure that an endpoint's error of this kind would have been.
fn failed(error: &ScriptedError) -> Failed {
    let code = match error.kind {
        ScriptErrorKind::Status => return of_status(error),
        ScriptErrorKind::Html => Code::NotJson,
        ScriptErrorKind::Malformed => Code::MalformedReply,
        ScriptErrorKind::Cut => Code::StreamCut,
        ScriptErrorKind::Hang => Code::TimeoutFirstByte,
        ScriptErrorKind::Reset => Code::StreamCut,
    };
    Failed::new(code, error.message.as_str())
}

fn of_status(error: &ScriptedError) -> Failed {
    let complaint = status::Complaint::of_body(error.message.as_bytes());
    Failed {
        retry_after: error.retry_after.map(Duration::from_secs),
        ..status::of_status(error.status, &HeaderMap::new(), complaint)
    }
}

fn headers(pairs: &[(String, String)]) -> HeaderMap {
    let known = pairs.iter().filter_map(|(name, value)| {
        Some((
            HeaderName::try_from(name.as_str()).ok()?,
            HeaderValue::try_from(value.as_str()).ok()?,
        ))
    });
    known.collect()
}
