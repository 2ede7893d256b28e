//! The decision for one dimension, step by step (METHODS 6.4).

use serde::{Deserialize, Serialize};

use super::orient::{Contrast, Direction, theta, theta_margin};
use super::word::{Word, word};
use crate::base::Notice;
use crate::stats::tolerance::{above, at_most, below};
use crate::stats::{Limits, Status};

/// The state of the judge's certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeState {
    /// The dimension is not judged.
    #[default]
    NotNeeded,
    /// Valid.
    Valid,
    /// There is none.
    Missing,
    /// It no longer applies.
    Expired,
    /// The judge did not pass.
    Failed,
}

impl JudgeState {
    pub(super) fn blocks(self) -> bool {
        matches!(self, Self::Missing | Self::Expired | Self::Failed)
    }
}

/// How the arms shared the time of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleState {
    /// Interleaved, without drift that block units do not absorb.
    #[default]
    Ok,
    /// Recorded arms whose locked plan declares `schedule: assumed`.
    Assumed,
    /// One arm ran after the other.
    NotInterleaved,
    /// The drift screen was positive.
    Drift,
}

/// What is missing in a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MissingState {
    /// Missing over planned trials of A.
    pub rate_a: f64,
    /// Missing over planned trials of B.
    pub rate_b: f64,
    /// Weight of the planned tasks that were not paired.
    pub drop: f64,
    /// p-value for equal missing rates, if tested.
    pub p_missing: Option<f64>,
    /// Raw limits if everything missing went against B.
    pub worst: Option<Limits>,
    /// Raw limits if everything missing went for B.
    pub best: Option<Limits>,
}

/// Everything that one dimension's decision rests on. Limits are those of the raw contrast.
#[derive(Clone, Debug, PartialEq)]
pub struct DecideInput {
    /// Limits of B − A or B/A; `None` if there are none.
    pub interval: Option<Limits>,
    /// Why there are none.
    pub undefined_reason: Option<String>,
    /// Difference or ratio.
    pub contrast: Contrast,
    /// Gain or loss.
    pub direction: Direction,
    /// δ for a difference, r for a ratio; positive.
    pub margin: Option<f64>,
    /// One minus the locked level.
    pub alpha: f64,
    /// Whether the dimension is in the primary family.
    pub in_family: bool,
    /// The p-value adjusted over that family.
    pub p_adjusted: Option<f64>,
    /// How far the interval may be used.
    pub status: Status,
    /// n_c of its units, if known.
    pub n_c: Option<f64>,
    /// The judge's certificate.
    pub judge: JudgeState,
    /// The schedule.
    pub schedule: ScheduleState,
    /// What is missing, if anything.
    pub missing: Option<MissingState>,
    /// Whether a limit cut values of the candidate short: its mean is then larger than what was seen, so
    /// nothing in its favour can be decided by it (METHODS 4.4).
    pub censored: bool,
}

impl DecideInput {
    /// A difference of gains at 95 % with nothing to object.
    pub fn plain(interval: Option<Limits>, margin: Option<f64>) -> Self {
        Self {
            interval,
            undefined_reason: None,
            contrast: Contrast::Difference,
            direction: Direction::Gain,
            margin,
            alpha: 0.05,
            in_family: false,
            p_adjusted: None,
            status: Status::Ok,
            n_c: None,
            judge: JudgeState::NotNeeded,
            schedule: ScheduleState::Ok,
            missing: None,
            censored: false,
        }
    }
}

/// The decision for one dimension.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// The word.
    pub word: Word,
    /// Why an earlier step stopped; `None` where the interval spoke.
    pub reason: Option<String>,
    /// What a reader should know beside the word.
    pub notices: Vec<Notice>,
    /// θ's limits (positive: B better); `None` where an earlier step stopped.
    pub theta: Option<ThetaLimits>,
    /// Whether "better" was protected by the primary family's adjustment.
    pub adjusted: bool,
}

/// θ's limits, positive where B is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ThetaLimits {
    /// Lower limit.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
}

/// Decides one dimension.
///
/// `not_decidable` is for missing data; too little evidence is `inconclusive`. The role of the
/// dimension (gate or report) never changes the word.
///
/// # Examples
///
/// ```
/// use assize::compare::{decision::{DecideInput, decide}, word::Word};
/// use assize::stats::Limits;
/// let tight = DecideInput::plain(Some(Limits { lower: -0.05, upper: 0.06 }), Some(0.1));
/// assert_eq!(decide(&tight).word, Word::Equivalent);
/// ```
pub fn decide(input: &DecideInput) -> Decision {
    let mut notices = vec![];
    match missing_step(input) {
        MissingStep::Stop(reason) => return stopped(input, Word::NotDecidable, reason, notices),
        MissingStep::Notice => notices.push(Notice::code("bounds_disagree")),
        MissingStep::Clear => {}
    }
    let interval = match estimable_step(input) {
        Ok(interval) => interval,
        Err(reason) => return stopped(input, Word::Inconclusive, &reason, notices),
    };
    if input.judge.blocks() {
        return stopped(input, Word::Inconclusive, "uncalibrated", notices);
    }
    match input.schedule {
        ScheduleState::NotInterleaved | ScheduleState::Drift => {
            return stopped(input, Word::Inconclusive, "schedule", notices);
        }
        ScheduleState::Assumed => notices.push(Notice::code("schedule_assumed")),
        ScheduleState::Ok => {}
    }
    // In the family a missing p-value cannot support "better".
    let may_be_better =
        !input.in_family || input.p_adjusted.is_some_and(|p| at_most(p, input.alpha));
    let limits = theta(interval, input.contrast, input.direction);
    let spoken = word(limits, delta(input), may_be_better);
    let favours = matches!(
        spoken.word,
        Word::Better | Word::Equivalent | Word::NonInferior
    );
    if input.censored && favours {
        return stopped(input, Word::Inconclusive, "censored", notices);
    }
    notices.extend(spoken.notices);
    Decision {
        word: spoken.word,
        reason: None,
        notices,
        theta: Some(ThetaLimits {
            low: limits.lower,
            high: limits.upper,
        }),
        adjusted: input.in_family,
    }
}

fn delta(input: &DecideInput) -> Option<f64> {
    input
        .margin
        .map(|margin| theta_margin(margin, input.contrast))
}

/// A step that stops keeps what earlier steps had to say.
fn stopped(input: &DecideInput, word: Word, reason: &str, notices: Vec<Notice>) -> Decision {
    let reason = Some(reason.to_owned());
    Decision {
        word,
        reason,
        notices,
        theta: None,
        adjusted: input.in_family,
    }
}

enum MissingStep {
    Stop(&'static str),
    Notice,
    Clear,
}

fn missing_step(input: &DecideInput) -> MissingStep {
    let Some(missing) = &input.missing else {
        return MissingStep::Clear;
    };
    if above(missing.rate_a, 0.10) || above(missing.rate_b, 0.10) || above(missing.drop, 0.20) {
        return MissingStep::Stop("missing_high");
    }
    let (Some(worst), Some(best)) = (missing.worst, missing.best) else {
        return MissingStep::Clear;
    };
    let class = |raw: Limits| {
        word(
            theta(raw, input.contrast, input.direction),
            delta(input),
            true,
        )
        .word
    };
    if class(worst).same_class(class(best), input.margin.is_some()) {
        return MissingStep::Clear;
    }
    let unequal = missing.p_missing.is_some_and(|p| below(p, 0.10));
    if above(missing.rate_a.max(missing.rate_b), 0.02) || unequal {
        MissingStep::Stop("bounds_disagree")
    } else {
        MissingStep::Notice
    }
}

fn estimable_step(input: &DecideInput) -> Result<Limits, String> {
    if input.status == Status::NotIdentified {
        return Err("not_identified".to_owned());
    }
    let Some(interval) = input.interval else {
        return Err(input
            .undefined_reason
            .clone()
            .unwrap_or_else(|| "no_interval".to_owned()));
    };
    if input.status == Status::NotEstimable || input.n_c.is_some_and(|n| below(n, 2.0)) {
        return Err("not_estimable".to_owned());
    }
    Ok(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_adjusted_p_in_the_family_is_not_better() {
        let interval = Some(Limits {
            lower: 0.03,
            upper: 0.15,
        });
        let input = DecideInput {
            in_family: true,
            ..DecideInput::plain(interval, Some(0.1))
        };
        assert_eq!(decide(&input).word, Word::NonInferior);
    }

    #[test]
    fn bounds_that_disagree_are_said_wherever_the_decision_stops() {
        let limits = |lower, upper| Some(Limits { lower, upper });
        let missing = MissingState {
            rate_a: 0.01,
            rate_b: 0.01,
            worst: limits(-0.15, 0.05),
            best: limits(-0.05, 0.15),
            ..MissingState::default()
        };
        let plain = DecideInput {
            missing: Some(missing),
            ..DecideInput::plain(limits(-0.08, 0.08), Some(0.1))
        };
        let reason_and_notices = |input: &DecideInput| {
            let got = decide(input);
            let codes: Vec<String> = got.notices.into_iter().map(|n| n.code).collect();
            assert_eq!(codes, ["bounds_disagree"], "{:?}", got.reason);
            got.reason
        };
        assert_eq!(reason_and_notices(&plain), None);
        let few = DecideInput {
            n_c: Some(1.0),
            ..plain.clone()
        };
        assert_eq!(reason_and_notices(&few).unwrap(), "not_estimable");
        let unjudged = DecideInput {
            judge: JudgeState::Missing,
            ..plain.clone()
        };
        assert_eq!(reason_and_notices(&unjudged).unwrap(), "uncalibrated");
        let drifted = DecideInput {
            schedule: ScheduleState::Drift,
            ..plain
        };
        assert_eq!(reason_and_notices(&drifted).unwrap(), "schedule");
    }

    #[test]
    fn exchanging_arms_mirrors_theta() {
        let raw = Limits {
            lower: 0.8,
            upper: 1.3,
        };
        let inverse = Limits {
            lower: 1.0 / 1.3,
            upper: 1.0 / 0.8,
        };
        let gain = theta(raw, Contrast::Ratio, Direction::Gain);
        let loss = theta(inverse, Contrast::Ratio, Direction::Loss);
        assert!((gain.lower - loss.lower).abs() < 1e-15 && (gain.upper - loss.upper).abs() < 1e-15);
    }
}
