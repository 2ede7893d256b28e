//! Traces, pure: pairing of calls, chain and truncation checks, importers of foreign formats.

pub mod calls;

pub use calls::{Call, CallOutcome, calls};
