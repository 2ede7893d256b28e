//! Scripted models: stand-ins whose behaviour is known, for demonstrations and tests.
//!
//! A script (`assize schema script`) says turn by turn what a model says and calls, at which rates it
//! does one thing or another, and what goes wrong. [`ScriptedModel`] answers from it inside the
//! process, where delays are declared and not slept; `assize endpoint` serves it over HTTP, in the
//! protocols of OpenAI and Anthropic. Either way an answer depends on nothing but the script and the
//! request, so that a run that was interrupted gets the same answers when it goes on.
//!
//! ```yaml
//! format: 1
//! seed: 7
//! find: "order (?P<order>[0-9]+)"          # named groups become {{ found.order }}
//! tasks:
//!   refund-1842: {when: "order 1842"}      # names the task when a request does not
//! models:
//!   incumbent:
//!     delay_ms: 40
//!     default:
//!       any_of:
//!         - rate: 0.8
//!           turns:
//!             - call: [{name: get_order, arguments: {order_id: "{{ found.order }}"}}]
//!             - cases:
//!                 - when: last.is_error
//!                   say: '{"status": "needs_human", "refund_id": null}'
//!               call: [{name: refund_payment, arguments: {order_id: "{{ last.result.id }}"}}]
//!             - say: '{"status": "ok", "refund_id": "{{ last.result.refund_id }}"}'
//!         - rate: 0.2
//!           turns: [{say: "I have refunded it."}]
//!     tasks:
//!       refund-1842:
//!         rates: [0.5, 0.5]                # this task is harder
//!         trials:
//!           "3": {turns: [{error: {status: 429, times: 2, retry_after: 1}}]}
//! ```
//!
//! The trial decides which alternative is drawn, so that all turns of it go the same way. A request
//! names its trial in the header `x-assize-trial: TASK/INDEX`; without it the endpoint recognises the
//! task by `when` and counts the conversations that begin alike.

// Level 3: this is where a script is served, with sockets, a clock and a recording.
#![allow(clippy::disallowed_methods)]

mod answer;
mod compiled;
mod endpoint;
mod judge;
mod view;

#[cfg(test)]
mod tests;

pub use answer::{ScriptedAnswer, ScriptedError, ScriptedModel};
pub use compiled::Script;
pub use endpoint::{EndpointOptions, serve};
