//! What judging a run showed.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::work::compared;
use crate::app::asking::Tally;
use crate::base::{ItemId, JudgeId, Notice};
use crate::judge::Session;
use crate::judge::audit::GuessTest;
use crate::judge::canary::CanaryResult;
use crate::judge::pairwise::all_repeats;
use crate::model::plan::Plan;
use crate::model::preference::{PairAnswer, PositionEffect, Preference};

/// What judging a run showed; kept as `judging/JUDGE.json` in the run folder.
#[derive(Clone, Debug, Serialize)]
pub struct LiveJudged {
    /// Judge, as `id@version`.
    pub judge: JudgeId,
    /// Its pin.
    pub pin: String,
    /// Verdicts that were stored.
    pub verdicts: u64,
    /// What asking cost and what went wrong.
    pub asking: Tally,
    /// Names and ids that were hidden, by arm and name.
    pub hidden: BTreeMap<String, BTreeMap<String, u64>>,
    /// Texts of agents that speak to the judge.
    pub injections: Vec<Spoken>,
    /// How many there were.
    pub injections_in_all: u64,
    /// Preferences of a pairwise judge.
    pub pairs: Option<Pairs>,
    /// The canary: whether the certificate holds for this run.
    pub canary: Option<CanaryResult>,
    /// The audit of blinding.
    pub audit: Option<GuessTest>,
    /// What a reader should know.
    pub notices: Vec<Notice>,
}

/// A text of an agent that speaks to the judge.
#[derive(Clone, Debug, Serialize)]
pub struct Spoken {
    /// The item that holds it.
    pub item: ItemId,
    /// Event.
    pub event: Option<u64>,
    /// What it does.
    pub kind: String,
    /// The blinded text around it.
    pub excerpt: String,
}

/// Preferences over pairs of trials; an answer that flips with the order is a tie.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pairs {
    /// Baseline: output A.
    pub a: String,
    /// Candidate: output B.
    pub b: String,
    /// Pairs that A won.
    pub a_wins: u64,
    /// Pairs that B won.
    pub b_wins: u64,
    /// Ties.
    pub ties: u64,
    /// Pairs without a usable verdict.
    pub unusable: u64,
    /// Ties because whichever came first won.
    pub first_won: u64,
    /// Ties because whichever came second won.
    pub second_won: u64,
}

pub(super) fn begun(session: &Session) -> LiveJudged {
    LiveJudged {
        judge: session.judge().key(),
        pin: session.pin().to_string(),
        verdicts: 0,
        asking: Tally::default(),
        hidden: BTreeMap::new(),
        injections: vec![],
        injections_in_all: 0,
        pairs: None,
        canary: None,
        audit: None,
        notices: session.notices().to_vec(),
    }
}

/// Counts pairs, each once whatever its repeats.
pub(super) fn preferences(plan: &Plan, answers: &[PairAnswer]) -> Pairs {
    let mut pairs = Pairs::default();
    if let Ok([a, b]) = compared(plan) {
        (pairs.a, pairs.b) = (a.to_string(), b.to_string());
    }
    for repeats in answers.chunk_by(|a, b| a.pair == b.pair) {
        let repeats: Vec<&PairAnswer> = repeats.iter().collect();
        let (preference, effect) = all_repeats(&repeats);
        match preference.value() {
            Some(Preference::Baseline) => pairs.a_wins += 1,
            Some(Preference::Candidate) => pairs.b_wins += 1,
            Some(Preference::Tie) => pairs.ties += 1,
            None => pairs.unusable += 1,
        }
        match effect {
            Some(PositionEffect::First) => pairs.first_won += 1,
            Some(PositionEffect::Second) => pairs.second_won += 1,
            _ => {}
        }
    }
    pairs
}

pub(super) fn said(found: &LiveJudged, file: &Path) -> String {
    let asking = &found.asking;
    let unusable: u64 = asking.unusable.values().sum();
    let mut text = format!(
        "{}: {} questions, {} kept from before,{} {} calls, {unusable} unusable answers, {} texts that speak to the judge; see {}",
        found.judge,
        asking.questions,
        asking.kept,
        asking.same_in_words(),
        asking.calls,
        found.injections_in_all,
        file.display()
    );
    for notice in &found.notices {
        text.push_str(&format!("\n{}: {}", notice.code, notice.detail));
    }
    text
}
