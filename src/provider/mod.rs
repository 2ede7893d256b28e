//! Models behind one interface: endpoints over HTTP, and scripted stand-ins.
//!
//! [`Client::complete`] asks a model once. Behind it one loop (`retry`) repeats attempts that may be
//! repeated; an attempt waits for its share of the arm's budget (`budget`), is sent (`http`), read
//! (`read`, `sse`) and understood (`openai`, `anthropic`, each with its streamed form). What goes
//! wrong gets one code of a closed set ([`Code`]), and its text loses every secret (`redact`) before
//! anybody sees it. Reasoning that a model keeps to itself is dropped while parsing, or kept unread
//! in [`Completion::opaque`](crate::model::chat::Completion::opaque) where the provider wants it back;
//! no error text quotes a successful reply, as it might hold some.

// Level 3: this is where the network and the clock are.
#![allow(clippy::disallowed_methods)]

mod anthropic;
mod anthropic_messages;
mod anthropic_stream;
mod budget;
mod cache;
mod client;
mod descriptors;
mod echoes;
mod ending;
mod endpoint;
mod failure;
mod http;
mod identity;
mod inject;
mod lenient;
mod openai;
mod openai_messages;
mod openai_stream;
mod read;
mod redact;
mod retry;
mod retry_after;
pub mod script;
mod scripted;
mod secret;
mod sse;
mod status;
mod transport;
mod waiting;
mod wire;

pub use client::Client;
pub use descriptors::descriptors;
pub use echoes::echoes;
pub use failure::Code;
pub use http::HttpClient;
pub use inject::Strike;
pub use scripted::ScriptedClient;
pub use secret::Secret;
