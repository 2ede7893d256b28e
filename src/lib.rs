//! Assize answers a question that teams answer by gut: may we swap this model, and what gets worse if
//! we do?
//!
//! It runs every task of a suite several times against each arm, grades the evidence with
//! deterministic graders, and reports each dimension by itself with an interval, full denominators
//! and samples of what disagrees. No output blends dimensions.
//!
//! # Flow
//!
//! ```text
//! suite + arms ─plan→ Plan (locked: seed, margins, analysis)
//! Plan ─run→ Trial + Trace (evidence, stored)       recorded traces ─import→ the same
//! Trace ─grade→ Grade, Score                    pure
//! Score ─estimate→ Estimate per arm × metric × segment
//! two arms, matched by task ─compare→ Comparison per metric, gate
//! Verdict + Label ─calibrate→ Calibration      pure
//! everything ─report→ Markdown, CSV, JSON
//! ```
//!
//! # Map
//!
//! Modules stand in reading order; imports go to lower layers only, which a test checks.
//!
//! | layer | module | holds |
//! |---|---|---|
//! | 0 | [`base`] | ids, digests, seeds, intervals, notices, errors |
//! | 1 | [`stats`] | every method of the statistics, on plain slices |
//! | 1 | [`model`] | the types that travel |
//! | 2 | [`plan`] | suite × arms × trials → a locked plan |
//! | 2 | [`trace`] | pairing of calls, chain and truncation checks, importers |
//! | 2 | [`grade`] | deterministic graders, one file per dimension |
//! | 2 | [`calibrate`] | a judge beside people: certificates |
//! | 2 | [`estimate`] | denominators and estimates |
//! | 2 | [`compare`] | contrasts, words, rules, gate |
//! | 2 | [`disagree`] | what to show a person |
//! | 3 | [`load`] | files that users write |
//! | 3 | [`store`] | runs on disk |
//! | 3 | [`world`] | the environment of a live trial |
//! | 3 | [`report`] | Markdown, CSV, JSON |
//! | 3 | `frame` | Parquet; the only home of polars (feature `frames`) |
//! | 3 | [`provider`] | model endpoints, and scripted stand-ins |
//! | 3 | [`exec`] | running trials |
//! | 4 | [`app`] | one function per command |
//! | 5 | [`cli`] | arguments, talk, exit codes |
//!
//! # Invariants
//!
//! - How a trial ended is one closed enum; what the agent did and what broke around it never share a
//!   variant ([`model::trial::TrialStatus`]).
//! - What is missing has a reason and is never zero, NaN or a failure ([`model::grade::Cell`]).
//! - Levels 0 to 2 open no file, read no clock and print nothing.
//! - All randomness comes from the plan's seed; the same run gives the same bytes at any number of
//!   threads.
//! - Stored evidence is never overwritten; grades can always be made again from it.

pub mod base;

pub mod model;
pub mod stats;

pub mod plan;
pub mod trace;

pub mod grade;

pub mod calibrate;

pub mod estimate;

pub mod compare;

pub mod disagree;

#[cfg(feature = "frames")]
pub mod frame;
pub mod load;
pub mod provider;
pub mod report;
pub mod store;
pub mod world;

pub mod exec;

pub mod app;

pub mod cli;
