//! What moves a judge besides quality: position, length, identity, and its own unsteadiness.
//!
//! All of these compare with human labels or with the judge itself; a raw preference gap may be true
//! quality and is no bias.

mod consistency;
mod length;
mod position;
mod preference;

pub use consistency::{SelfConsistency, self_consistency};
pub use length::{LengthBias, length_bias_slope};
pub use position::{PositionSwap, Winner, position_swap};
pub use preference::{ScoreErrors, score_errors, self_preference_did};
