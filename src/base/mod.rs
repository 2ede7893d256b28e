//! What everything else stands on: identifiers, digests, seeds, intervals, notices, errors.
//!
//! This layer imports nothing of ours.

pub mod digest;
pub mod error;
pub mod id;
pub mod interval;
pub mod notice;
pub mod observation;
pub mod seed;
pub(crate) mod surrogate;
pub mod template;

pub use digest::Digest;
pub use error::{Error, ErrorKind, Result};
pub use id::{ArmId, ItemId, JudgeId, RunId, SuiteId, TaskId, TrialId};
pub use interval::Interval;
pub use notice::Notice;
pub use observation::Observation;
pub use seed::Seed;
