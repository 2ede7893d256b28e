//! Traces, pure: pairing of calls, chain and truncation checks, importers of foreign formats.

pub mod calls;
pub mod chain;
pub mod import;
pub mod record;

pub use calls::{Call, CallOutcome, calls};
