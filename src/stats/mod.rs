//! Statistics on plain slices; every method is named as METHODS names it.

pub mod level;
pub mod special;
pub mod sum;
pub mod tolerance;

pub use level::{Level, Limits};
