//! The protocols behind one face.

use std::borrow::Cow;

use reqwest::Url;
use serde_json::{Map, Value};

use crate::base::surrogate;
use crate::model::arm::Protocol;
use crate::model::chat::{ChatRequest, Completion};

use super::failure::Failed;
use super::{anthropic, anthropic_stream, openai, openai_stream};

/// The body of a request.
pub(super) fn encode(
    protocol: Protocol,
    model: &str,
    params: &Map<String, Value>,
    stream: bool,
    request: &ChatRequest,
) -> serde_json::Result<Vec<u8>> {
    match protocol {
        Protocol::Openai => openai::encode(model, params, stream, request),
        Protocol::Anthropic => anthropic::encode(model, params, stream, request),
    }
}

/// Reads a reply in one piece.
pub(super) fn parse(protocol: Protocol, body: &[u8]) -> Result<Completion, Failed> {
    // Some servers begin with a byte order mark, which JSON doesn't allow.
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let body = whole_letters(body);
    let completion = match protocol {
        Protocol::Openai => openai::parse(&body),
        Protocol::Anthropic => anthropic::parse(&body),
    };
    completion.map(whole_arguments)
}

/// JSON without halves of letters, which servers leave where they cut a text and which no parser takes.
fn whole_letters(json: &[u8]) -> Cow<'_, [u8]> {
    // Most replies have no escape of the kind, and looking for one is quick.
    let text = std::str::from_utf8(json).unwrap_or_default();
    let may_have = text.contains("\\ud") || text.contains("\\uD");
    match may_have.then(|| surrogate::mended_bytes(json)).flatten() {
        Some(mended) => Cow::Owned(mended),
        None => Cow::Borrowed(json),
    }
}

/// The same inside the arguments of calls, which are JSON inside of JSON.
fn whole_arguments(mut completion: Completion) -> Completion {
    for call in &mut completion.calls {
        if let Some(mended) = surrogate::mended(&call.arguments) {
            call.arguments = mended;
        }
    }
    completion
}

/// Keys of a request that are not the arm's to set.
pub(super) fn reserved(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::Openai => &openai::RESERVED,
        Protocol::Anthropic => &anthropic::RESERVED,
    }
}

/// Where requests go: the path of the protocol after that of the base, whose query stays.
pub(super) fn target(protocol: Protocol, base: &Url) -> Url {
    let path = base.path().trim_end_matches('/');
    let ends = |end: &str| path.ends_with(end);
    let added = match protocol {
        Protocol::Openai if ends("/chat/completions") => "",
        Protocol::Openai => "/chat/completions",
        Protocol::Anthropic if ends("/v1/messages") => "",
        Protocol::Anthropic if ends("/v1") => "/messages",
        Protocol::Anthropic => "/v1/messages",
    };
    let mut url = base.clone();
    url.set_path(&format!("{path}{added}"));
    url
}

/// A streamed reply that is being put together.
pub(super) enum Assembly {
    Openai(openai_stream::Assembly),
    Anthropic(anthropic_stream::Assembly),
}

impl Assembly {
    pub fn new(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Openai => Self::Openai(Default::default()),
            Protocol::Anthropic => Self::Anthropic(Default::default()),
        }
    }

    /// Takes one event; true if it was the last.
    pub fn take(&mut self, data: &[u8]) -> Result<bool, Failed> {
        let data = whole_letters(data);
        match self {
            Self::Openai(assembly) => assembly.take(&data),
            Self::Anthropic(assembly) => assembly.take(&data),
        }
    }

    /// The whole reply.
    pub fn finish(self) -> Result<Completion, Failed> {
        let completion = match self {
            Self::Openai(assembly) => assembly.finish(),
            Self::Anthropic(assembly) => assembly.finish(),
        };
        completion.map(whole_arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_added_once_and_the_query_stays() {
        let to = |protocol, base: &str| target(protocol, &base.parse().unwrap()).to_string();
        let openai = |base| to(Protocol::Openai, base);
        assert_eq!(openai("https://h/v1"), "https://h/v1/chat/completions");
        assert_eq!(openai("https://h/v1/"), "https://h/v1/chat/completions");
        assert_eq!(
            openai("https://h/d?api-version=1"),
            "https://h/d/chat/completions?api-version=1"
        );
        assert_eq!(
            openai("https://h/v1/chat/completions"),
            "https://h/v1/chat/completions"
        );
        let anthropic = |base| to(Protocol::Anthropic, base);
        assert_eq!(anthropic("https://h"), "https://h/v1/messages");
        assert_eq!(anthropic("https://h/v1"), "https://h/v1/messages");
        assert_eq!(anthropic("https://h/v1/messages"), "https://h/v1/messages");
    }
}
