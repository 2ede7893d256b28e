//! Injected faults of a provider: they strike instead of the endpoint, and nothing is sent.

use std::time::Duration;

use crate::model::suite::FaultKind;

use super::failure::{Code, Failed};

/// An injected fault: it strikes the first attempts of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strike {
    /// What the endpoint seems to do; a kind that is not a provider's strikes nothing here.
    pub kind: FaultKind,
    /// How many attempts it strikes, from the first.
    pub times: u32,
}

impl Strike {
    /// The failure of this attempt, counted from 1, if the fault strikes it.
    pub(super) fn at(self, attempt: u32) -> Option<Failed> {
        (attempt <= self.times).then(|| failed(self.kind)).flatten()
    }
}

fn failed(kind: FaultKind) -> Option<Failed> {
    let (code, detail) = match kind {
        FaultKind::Provider429 => (Code::RateLimited, "injected: HTTP 429"),
        FaultKind::Provider500 => (Code::ServerError, "injected: HTTP 500"),
        FaultKind::ProviderTimeout => (Code::TimeoutFirstByte, "injected: no answer in time"),
        FaultKind::ProviderMalformed => (Code::MalformedReply, "injected: a malformed body"),
        FaultKind::ProviderCut => (Code::StreamCut, "injected: the reply ends early"),
        FaultKind::ToolError
        | FaultKind::ToolTimeout
        | FaultKind::ToolSlow
        | FaultKind::ToolWrongShape
        | FaultKind::CommittedReplyLost => return None,
    };
    let retry_after = (kind == FaultKind::Provider429).then_some(Duration::ZERO);
    Some(Failed {
        retry_after,
        ..Failed::new(code, detail)
    })
}
