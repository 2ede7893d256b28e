//! Assize: may we swap this model, and what gets worse if we do?
#![deny(missing_docs)]

pub mod app;
pub mod base;
pub mod compare;
pub mod stats;
