//! What the tool loop holds: a model that answers.

use crate::model::chat::{CallFailure, ChatRequest, Completion};

use super::http::HttpClient;
use super::inject::Strike;
use super::script::ScriptedModel;
use super::scripted::ScriptedClient;

/// A model that answers; one per arm, shared by its trials.
pub enum Client {
    /// A model behind an HTTP endpoint.
    Http(Box<HttpClient>),
    /// A scripted model within the process.
    Scripted(Box<ScriptedClient>),
}

impl Client {
    /// A scripted model, of which a call that fails is retried at most so often.
    pub fn scripted(model: ScriptedModel, max_retries: u32) -> Self {
        Self::Scripted(Box::new(ScriptedClient::new(model, max_retries)))
    }

    /// Asks the model once, with retries.
    ///
    /// `strike` is an injected fault: the first attempts of this call fail with it, as if the endpoint
    /// had answered so. The future may be dropped at any time, which aborts the request.
    ///
    /// # Errors
    ///
    /// If no attempt succeeded, or one failed in a way that no retry mends.
    pub async fn complete(
        &self,
        request: &ChatRequest,
        strike: Option<Strike>,
    ) -> Result<Completion, CallFailure> {
        match self {
            Self::Http(client) => client.complete(request, strike).await,
            Self::Scripted(client) => client.complete(request, strike).await,
        }
    }
}
