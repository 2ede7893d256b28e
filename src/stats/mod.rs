//! Statistics on plain slices; every method is named as METHODS names it.

pub mod clustered;
pub mod count;
pub mod dual;
pub mod level;
pub mod mean;
pub mod missing;
pub mod mover;
pub mod multiplicity;
pub mod paired;
pub mod pass_k;
pub mod permutation;
pub mod power;
pub mod proportion;
pub mod quantile;
pub mod ratio;
pub mod recovery;
pub mod sample;
pub mod special;
pub mod status;
pub mod strata;
pub mod sum;
pub mod tolerance;
pub mod units;

pub use level::{Level, Limits};
pub use status::Status;
