//! Gate rules, the gate and its exit code (METHODS 6.4).

use serde::{Deserialize, Serialize};

use super::decision::{JudgeState, ThetaLimits};
use super::word::Word;
use crate::stats::tolerance::{above, at_least, at_most, below};
use crate::stats::{Limits, Status};

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleResult {
    /// Met.
    Passed,
    /// Broken.
    Failed,
    /// Open.
    Inconclusive,
    /// Missing data or infrastructure.
    NotDecidable,
}

impl RuleResult {
    /// The snake_case word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
            Self::NotDecidable => "not_decidable",
        }
    }
}

/// What a rule on a finished decision knows of it.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedWord {
    /// The word.
    pub word: Word,
    /// Whether a step before the interval stopped.
    pub stopped: bool,
    /// θ's limits.
    pub theta: Option<ThetaLimits>,
}

/// What is missing in the candidate arm alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateMissing {
    /// Missing over planned trials.
    pub rate: f64,
    /// Weight of the planned tasks without a valid trial.
    pub drop: f64,
    /// p-value for equal missing rates, if tested.
    pub p_missing: Option<f64>,
    /// Limits of the rate on its worst completion.
    pub worst: Option<Limits>,
    /// Limits of the rate on its best completion.
    pub best: Option<Limits>,
}

impl RateMissing {
    /// Whether so much is missing that nothing can be decided, whatever the rest says.
    pub(super) fn is_high(&self) -> bool {
        above(self.rate, 0.10) || above(self.drop, 0.20)
    }
}

/// The candidate's rate as a rule sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateRate {
    /// Limits of the rate; `None` if there are none.
    pub limits: Option<Limits>,
    /// n_c of its units, if known.
    pub n_c: Option<f64>,
    /// The judge's certificate.
    pub judge: JudgeState,
    /// What is missing, if anything.
    pub missing: Option<RateMissing>,
}

/// The kinds of rule.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleKind {
    /// B is not worse by the margin of the decision.
    NonInferior(FinishedWord),
    /// B is better.
    Superior(FinishedWord),
    /// |θ| stays below δ: a large gain is not "equivalent".
    Equivalent {
        /// The decision.
        decision: FinishedWord,
        /// δ on θ's scale.
        delta: f64,
    },
    /// The candidate's rate stays at or below a bound.
    MaxRate {
        /// The rate.
        rate: CandidateRate,
        /// π₀.
        bound: f64,
    },
    /// The candidate's rate reaches a bound.
    MinRate {
        /// The rate.
        rate: CandidateRate,
        /// π₀.
        bound: f64,
    },
    /// No task broke: the result of the per-task screen.
    NoTaskRegression(RuleResult),
}

/// One rule of the gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What is asked, and of what.
    pub kind: RuleKind,
    /// How far the interval behind it may be used.
    pub status: Status,
    /// Whether it follows the locked plan.
    pub locked: bool,
}

/// Judges one rule.
pub fn rule(rule: &Rule) -> RuleResult {
    let usable = rule.locked && rule.status != Status::Exploratory;
    let open = RuleResult::Inconclusive;
    match &rule.kind {
        RuleKind::NonInferior(decision) => on_word(decision, usable, |word, _| match word {
            Word::Better | Word::Equivalent | Word::NonInferior => RuleResult::Passed,
            Word::Worse => RuleResult::Failed,
            _ => open,
        }),
        RuleKind::Superior(decision) => on_word(decision, usable, |word, theta| match word {
            Word::Better => RuleResult::Passed,
            Word::Worse => RuleResult::Failed,
            _ if theta.is_some_and(|t| at_most(t.high, 0.0)) => RuleResult::Failed,
            _ => open,
        }),
        RuleKind::Equivalent { decision, delta } => on_word(decision, usable, |_, theta| {
            theta.map_or(open, |t| equivalent(t, *delta))
        }),
        RuleKind::MaxRate { rate, bound } => on_rate(rate, rule.status, usable, |limits| {
            verdict(at_most(limits.upper, *bound), above(limits.lower, *bound))
        }),
        RuleKind::MinRate { rate, bound } => on_rate(rate, rule.status, usable, |limits| {
            verdict(at_least(limits.lower, *bound), below(limits.upper, *bound))
        }),
        RuleKind::NoTaskRegression(RuleResult::NotDecidable) => RuleResult::NotDecidable,
        RuleKind::NoTaskRegression(screen) => {
            if usable {
                *screen
            } else {
                open
            }
        }
    }
}

fn verdict(passed: bool, failed: bool) -> RuleResult {
    match (passed, failed) {
        (true, _) => RuleResult::Passed,
        (_, true) => RuleResult::Failed,
        _ => RuleResult::Inconclusive,
    }
}

fn equivalent(theta: ThetaLimits, delta: f64) -> RuleResult {
    verdict(
        above(theta.low, -delta) && below(theta.high, delta),
        below(theta.high, -delta) || above(theta.low, delta),
    )
}

fn on_word(
    decision: &FinishedWord,
    usable: bool,
    judge: impl Fn(Word, Option<ThetaLimits>) -> RuleResult,
) -> RuleResult {
    if decision.word == Word::NotDecidable {
        RuleResult::NotDecidable
    } else if !usable || decision.stopped {
        RuleResult::Inconclusive
    } else {
        judge(decision.word, decision.theta)
    }
}

/// Steps 1–3 of the decision for the candidate alone, then the bound.
fn on_rate(
    rate: &CandidateRate,
    status: Status,
    usable: bool,
    judge: impl Fn(Limits) -> RuleResult,
) -> RuleResult {
    if missing_blocks(rate.missing.as_ref(), &judge) {
        return RuleResult::NotDecidable;
    }
    let unfit = matches!(status, Status::NotIdentified | Status::NotEstimable)
        || rate.n_c.is_some_and(|n| below(n, 2.0))
        || rate.judge.blocks();
    match (status, rate.limits) {
        (Status::NotDecidable, _) => RuleResult::NotDecidable,
        (_, Some(limits)) if usable && !unfit => judge(limits),
        _ => RuleResult::Inconclusive,
    }
}

fn missing_blocks(missing: Option<&RateMissing>, judge: impl Fn(Limits) -> RuleResult) -> bool {
    let Some(missing) = missing else {
        return false;
    };
    if missing.is_high() {
        return true;
    }
    match (missing.worst, missing.best) {
        (Some(worst), Some(best)) if judge(worst) != judge(best) => {
            above(missing.rate, 0.02) || missing.p_missing.is_some_and(|p| below(p, 0.10))
        }
        _ => false,
    }
}

/// What became of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateResult {
    /// Every rule passed.
    Passed,
    /// A rule failed.
    Failed,
    /// A rule is open and none failed.
    Inconclusive,
    /// A rule is not decidable and none failed.
    Infrastructure,
}

impl GateResult {
    /// The snake_case word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
            Self::Infrastructure => "infrastructure",
        }
    }

    /// The exit code: passed 0, failed 1, inconclusive 3, infrastructure 4.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Inconclusive => 3,
            Self::Infrastructure => 4,
        }
    }
}

/// The gate over finished rules: an intersection–union test (Berger 1982), so no adjustment.
///
/// A gate without rules has shown nothing and is inconclusive.
pub fn gate(rules: &[RuleResult]) -> GateResult {
    if rules.contains(&RuleResult::Failed) {
        GateResult::Failed
    } else if rules.contains(&RuleResult::NotDecidable) {
        GateResult::Infrastructure
    } else if rules.is_empty() || rules.contains(&RuleResult::Inconclusive) {
        GateResult::Inconclusive
    } else {
        GateResult::Passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_without_rules_does_not_pass() {
        assert_eq!(gate(&[]), GateResult::Inconclusive);
    }

    #[test]
    fn missing_data_beat_an_unlocked_plan() {
        let decision = FinishedWord {
            word: Word::NotDecidable,
            stopped: true,
            theta: None,
        };
        let kind = RuleKind::NonInferior(decision);
        let got = rule(&Rule {
            kind,
            status: Status::Ok,
            locked: false,
        });
        assert_eq!(got, RuleResult::NotDecidable);
    }
}
