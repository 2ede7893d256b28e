//! Statistics on plain slices; every method is named as METHODS names it.

pub mod agreement;
pub mod alt_test;
pub mod bootstrap;
pub mod clustered;
pub mod confusion;
pub mod correction;
pub mod count;
pub mod drift;
pub mod judge_bias;
pub mod level;
pub mod mean;
pub mod missing;
pub mod multiplicity;
pub mod paired;
pub mod panel;
pub mod pass_k;
pub mod permutation;
pub mod power;
pub mod proportion;
pub mod quantile;
pub mod ratio;
pub mod recovery;
pub mod sample;
pub mod sequential;
pub mod special;
pub mod status;
pub mod sum;
pub mod survival;
pub mod tolerance;
pub mod undefined;
pub mod units;

pub use level::{Level, Limits};
pub use status::Status;
pub use undefined::{Defined, Undefined};
