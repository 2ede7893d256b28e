//! Assize: may we swap this model, and what gets worse if we do?
#![deny(missing_docs)]

pub mod base;

pub mod model;
pub mod stats;

pub mod plan;
pub mod trace;

pub mod grade;

pub mod estimate;

pub mod compare;

pub mod disagree;

#[cfg(feature = "frames")]
pub mod frame;
pub mod load;
pub mod report;
pub mod store;

pub mod app;

pub mod cli;
