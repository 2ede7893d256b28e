//! Assize: may we swap this model, and what gets worse if we do?
#![deny(missing_docs)]

pub mod base;
pub mod model;
pub mod stats;

pub mod disagree;
pub mod grade;
pub mod trace;

pub mod load;
pub mod report;
