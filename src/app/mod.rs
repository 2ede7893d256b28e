//! One function per command: configuration in, result out.

pub mod calculator;
pub mod coverage;
