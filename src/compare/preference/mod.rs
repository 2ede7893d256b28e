//! Preferences of pairwise judges: what labels of the run's pairs make of them, words and rules
//! (METHODS 9.4, 6.4).
//!
//! A judge's own preference is shown and decides nothing. What decides are labels of pairs that were drawn
//! at random from this run, behind a judge whose certificate holds, as everywhere in quality. A certificate
//! alone corrects nothing: nobody knows how to carry error rates of preferences over to other pairs.

mod contrast;
mod decided;
mod report;
mod rule;

pub(super) use contrast::contrasts;
pub(super) use decided::finish;
pub(super) use report::report_row;
pub(super) use rule::{judge_rule, ruled};
