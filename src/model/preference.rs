//! Preferences of a pairwise judge on a run: pairs of trials, what was said of them in both orders, and
//! what the report says of all of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::{ArmId, ItemId, JudgeId, Observation, TaskId};
use crate::model::estimate::EstimateStatus;
use crate::model::judged::Standing;
use crate::model::label::TrialKey;
use crate::model::verdict::Order;

/// Two trials of one task with the same number, one of each compared arm.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairKey {
    /// Baseline: output A.
    pub baseline: ArmId,
    /// Candidate: output B.
    pub candidate: ArmId,
    /// Task.
    pub task: TaskId,
    /// Trial number, from 0.
    pub index: u32,
}

impl PairKey {
    /// The trials: the baseline's, then the candidate's.
    pub fn trials(&self) -> [TrialKey; 2] {
        [&self.baseline, &self.candidate].map(|arm| TrialKey {
            arm: arm.clone(),
            task: self.task.clone(),
            index: self.index,
        })
    }

    /// The item that stands for this pair where labels and verdicts are joined: `A|B`, each as
    /// `ARM/TASK/TRIAL`.
    pub fn item(&self) -> ItemId {
        let [a, b] = self.trials();
        ItemId::new(format!("{a}|{b}"))
    }
}

/// Which of two outputs somebody prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// The baseline's.
    Baseline,
    /// The candidate's.
    Candidate,
    /// Neither.
    Tie,
}

impl Preference {
    /// All of them, by their codes on a pairwise scale.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::Candidate, Self::Tie];

    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Candidate => "candidate",
            Self::Tie => "tie",
        }
    }

    /// The preference with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }

    /// The preference with this code of a pairwise scale: A, B, tie.
    pub fn of_code(code: u32) -> Self {
        match code {
            0 => Self::Baseline,
            1 => Self::Candidate,
            _ => Self::Tie,
        }
    }

    /// Its code on a pairwise scale.
    pub fn code(self) -> u32 {
        self as u32
    }

    /// Candidate minus baseline: 1, −1, or 0 for a tie.
    pub fn value(self) -> f64 {
        match self {
            Self::Baseline => -1.0,
            Self::Candidate => 1.0,
            Self::Tie => 0.0,
        }
    }

    /// The same with the outputs exchanged.
    pub fn mirrored(self) -> Self {
        match self {
            Self::Baseline => Self::Candidate,
            Self::Candidate => Self::Baseline,
            Self::Tie => Self::Tie,
        }
    }
}

/// What changing places did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PositionEffect {
    /// The same output won both times, or neither.
    None,
    /// Whichever came first won.
    First,
    /// Whichever came second won.
    Second,
    /// One order was a tie and the other was not.
    HalfTie,
}

impl PositionEffect {
    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::First => "first",
            Self::Second => "second",
            Self::HalfTie => "half_tie",
        }
    }

    /// The effect with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::First, Self::Second, Self::HalfTie]
            .into_iter()
            .find(|e| e.name() == name)
    }
}

/// One repeat of one question about a pair: what was said in both orders, and both together.
#[derive(Clone, Debug, PartialEq)]
pub struct PairAnswer {
    /// The pair.
    pub pair: PairKey,
    /// Repeat, from 0.
    pub repeat: u32,
    /// The choice with the baseline's output first, or why it cannot be used.
    pub baseline_first: Observation<Preference>,
    /// The choice with the candidate's output first, or why it cannot be used.
    pub candidate_first: Observation<Preference>,
    /// Both orders together: a tie where they disagree, missing where one of them is.
    pub preference: Observation<Preference>,
    /// What changing places did; `None` where an order has no usable choice.
    pub effect: Option<PositionEffect>,
}

impl PairAnswer {
    /// The choice in an order.
    pub fn in_order(&self, order: Order) -> &Observation<Preference> {
        match order {
            Order::AFirst => &self.baseline_first,
            Order::BFirst => &self.candidate_first,
        }
    }
}

/// One person's preference between the outputs of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct PairLabel {
    /// The pair.
    pub pair: PairKey,
    /// Who labelled it.
    pub rater: String,
    /// The answer.
    pub preference: Preference,
    /// Stratum that the pair was drawn from.
    pub stratum: Option<String>,
    /// Probability with which it was drawn for labelling, in (0, 1].
    pub probability: Option<f64>,
}

/// One judge's preferences between two arms, by pair.
#[derive(Clone, Debug, PartialEq)]
pub struct PreferenceColumn {
    /// Judge.
    pub judge: JudgeId,
    /// Position of the baseline among the arms of the score table.
    pub baseline: u16,
    /// Position of the candidate.
    pub candidate: u16,
    /// Judged pairs, by task and trial number.
    pub pairs: BTreeMap<(u32, u32), JudgedPair>,
    /// What its certificate says.
    pub standing: Standing,
}

impl PreferenceColumn {
    /// The name of its metric.
    pub fn metric(&self) -> String {
        format!("{}{PREFERENCE}", self.judge)
    }

    /// Whether an arm is one of the two that were compared.
    pub fn concerns(&self, arm: u16) -> bool {
        [self.baseline, self.candidate].contains(&arm)
    }

    /// Whether a trial of one of its arms is in a pair with a usable answer.
    pub fn is_judged(&self, task: u32, index: u32) -> bool {
        let pair = self.pairs.get(&(task, index));
        let preference = pair.and_then(|p| p.preference.as_ref());
        preference.is_some_and(|p| p.value().is_some())
    }
}

/// How the metric of a pairwise judge ends, after the judge's name.
pub const PREFERENCE: &str = ".preference";

/// What is known of one pair.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedPair {
    /// The judge's preference, all repeats together, or why there is none; `None` if it was not asked.
    pub preference: Option<Observation<Preference>>,
    /// What changing places did in the first repeat.
    pub effect: Option<PositionEffect>,
    /// What people prefer: candidate minus baseline, in \[−1, 1\].
    pub label: Option<f64>,
    /// Whether the pair was drawn for labelling at random with a known probability.
    pub drawn: bool,
}

/// What a pairwise judge said of two arms: counts, its own preference, and what the order did.
///
/// The preference of this row is the judge's own, which nobody checked, and decides nothing; the
/// comparison of the same metric holds what labels of the run make of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreferenceRow {
    /// Judge.
    pub judge: String,
    /// Metric: `JUDGE.preference`.
    pub metric: String,
    /// Baseline arm A.
    pub baseline: String,
    /// Candidate arm B.
    pub candidate: String,
    /// Denominators and outcomes of pairs.
    pub counts: PreferenceCounts,
    /// Mean over tasks of candidate (1) minus baseline (−1), ties and flips 0: the judge's own.
    pub value: Option<f64>,
    /// Lower limit in \[−1, 1\].
    pub low: Option<f64>,
    /// Upper limit in \[−1, 1\].
    pub high: Option<f64>,
    /// Two-sided level of all limits of this row.
    pub level: f64,
    /// Method id.
    pub method: String,
    /// Two-sided p of no preference of the judge by flipping the signs of the tasks; ties carry no
    /// information. It never decides.
    pub p_sign_flip: Option<f64>,
    /// Value with its limits if every missing pair had gone to the baseline.
    pub worst: Option<[f64; 2]>,
    /// The same, to the candidate.
    pub best: Option<[f64; 2]>,
    /// Tasks with a usable pair.
    pub tasks: u64,
    /// Whether what people's labels make of it may be used.
    pub status: EstimateStatus,
    /// Why, where the status is not `ok`.
    pub reason: Option<String>,
    /// Digest of the certificate behind the judge.
    pub calibration: Option<String>,
    /// Pairs of this run that people labelled, drawn at random.
    pub labelled: u64,
    /// How often both orders gave the same answer.
    pub consistency: ShareRow,
    /// Of strict flips, how often the output in the first place won.
    pub first_place: ShareRow,
    /// Two-sided exact binomial p of first against second place; null without strict flips.
    pub p_first_place: Option<f64>,
}

/// One repeat of one pair as `pairs.csv` holds it: every count of a preference can be traced to these.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairRow {
    /// Judge.
    pub judge: String,
    /// Baseline arm.
    pub baseline: String,
    /// Candidate arm.
    pub candidate: String,
    /// Task.
    pub task: String,
    /// Trial number in both arms.
    pub trial: u32,
    /// Repeat of the question, from 0.
    pub repeat: u32,
    /// The choice with the baseline's output first: `baseline`, `candidate` or `tie`.
    pub baseline_first: Option<String>,
    /// Why there is none.
    pub baseline_first_reason: Option<String>,
    /// The choice with the candidate's output first.
    pub candidate_first: Option<String>,
    /// Why there is none.
    pub candidate_first_reason: Option<String>,
    /// Both orders together.
    pub preference: Option<String>,
    /// Why there is none.
    pub reason: Option<String>,
    /// What changing places did: `none`, `first`, `second` or `half_tie`.
    pub effect: Option<String>,
    /// What people prefer, candidate minus baseline, where they labelled the pair.
    pub people: Option<f64>,
}

/// Pairs by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreferenceCounts {
    /// Pairs that the plan holds: trials of both arms with the same number.
    pub planned: u64,
    /// Pairs of which a trial never started; not missing.
    pub not_started: u64,
    /// Pairs of which a trial was lost to infrastructure.
    pub trial_lost: u64,
    /// Pairs of which the judge was not asked.
    pub not_judged: u64,
    /// Pairs without a usable answer in both orders, by reason.
    pub unusable: BTreeMap<String, u64>,
    /// Pairs with a usable answer.
    pub judged: u64,
    /// Pairs that the candidate won in both orders.
    pub wins: u64,
    /// Pairs that the baseline won in both orders.
    pub losses: u64,
    /// Ties in both orders.
    pub ties: u64,
    /// Answers that changed with the order: they count as ties.
    pub flips: u64,
    /// Flips in which whichever came first won.
    pub flips_first: u64,
    /// Flips in which whichever came second won.
    pub flips_second: u64,
    /// Flips between a tie and a winner.
    pub flips_half_tie: u64,
}

/// A share with its limits; undefined with a reason where there is nothing to count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShareRow {
    /// How many.
    pub count: u64,
    /// Of how many.
    pub of: u64,
    /// The share.
    pub value: Option<f64>,
    /// Lower limit.
    pub low: Option<f64>,
    /// Upper limit.
    pub high: Option<f64>,
    /// Method id of the limits.
    pub method: String,
    /// Why there is no share.
    pub reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_names_and_mirrors_fit() {
        for preference in Preference::ALL {
            assert_eq!(Preference::of_code(preference.code()), preference);
            assert_eq!(Preference::from_name(preference.name()), Some(preference));
            assert_eq!(preference.mirrored().value(), -preference.value());
        }
    }

    #[test]
    fn the_item_names_both_trials() {
        let pair = PairKey {
            baseline: "a".into(),
            candidate: "b".into(),
            task: "t".into(),
            index: 2,
        };
        assert_eq!(pair.item().as_str(), "a/t/2|b/t/2");
    }
}
