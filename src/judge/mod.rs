//! Judges at work: blinding, prompts, strict reading, pairs, panels, canaries and the audit of blinding.
//!
//! Pure: trials and traces in, requests out; replies in, verdicts out. Whoever has a network sends the
//! requests ([`Session`]).

mod asking;
pub mod audit;
pub mod blind;
pub mod cache;
pub mod canary;
pub mod exact;
mod fence;
pub mod injection;
pub mod own;
pub mod pairwise;
pub mod panel;
pub mod prompt;
mod reading;
mod request;
mod session;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod verdict;
pub mod view;

pub use asking::{Item, Side};
pub use reading::Reading;
pub use request::{HiddenIn, JudgeRequest};
pub use session::Session;
