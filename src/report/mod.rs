//! Reports as CSV, Markdown and JSON: formats, never computes.
//!
//! Everything here is a function from a [`Report`](crate::model::report::Report), from its rows or
//! from columns to bytes. Nothing reads a clock, a file or a random number, so the same report
//! gives the same bytes.

pub mod calibration;
pub mod csv;
pub mod json;
pub mod markdown;

#[cfg(test)]
mod fixture;
