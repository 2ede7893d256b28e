//! Labels: what people said about an item, and the scale that people and judges share.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::{ArmId, Digest, ItemId, Notice, TaskId};

/// How the answers of people and of a judge are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScaleKind {
    /// Two answers, one of which is good.
    Binary,
    /// Levels from the worst to the best.
    Ordinal,
    /// Classes without an order.
    Nominal,
    /// Which of two outputs is better: the first, the second, or neither.
    Pairwise,
}

impl ScaleKind {
    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Ordinal => "ordinal",
            Self::Nominal => "nominal",
            Self::Pairwise => "pairwise",
        }
    }
}

/// The answers that count, in the order of the scale.
///
/// Binary: the negative answer, then the positive one. Ordinal: from the worst to the best. Pairwise:
/// the answer for the first output (A), the one for the second (B), then the tie if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// How answers are read.
    pub kind: ScaleKind,
    /// All answers; anything else is off the scale.
    pub levels: Vec<String>,
    /// The least level that counts as good. Binary: the positive answer. Ordinal: this level and those
    /// above. Nominal: this class alone. `None` where nothing is good or bad by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
}

impl Scale {
    /// Pass and fail.
    pub fn binary() -> Self {
        Self {
            kind: ScaleKind::Binary,
            levels: vec!["fail".to_owned(), "pass".to_owned()],
            positive: Some("pass".to_owned()),
        }
    }

    /// The code of an answer: its position among the levels; `None` if it is off the scale.
    ///
    /// Case does not matter, and a number may be written otherwise (`2.0` for `2`). On the scale of pass
    /// and fail `true`, `yes`, `good` and `1` are a pass, their opposites a failure; on a pairwise
    /// scale `tie`, `draw` and the like are the tie, whatever it is called.
    pub fn code(&self, answer: &str) -> Option<u32> {
        let answer = answer.trim();
        let position = |same: &dyn Fn(&String) -> bool| self.levels.iter().position(same);
        let number = answer.parse::<f64>().ok().filter(|n| n.is_finite());
        let equal = |l: &String| number.is_some() && l.parse::<f64>().ok() == number;
        let tie = self.kind == ScaleKind::Pairwise && is_tie_word(answer);
        let word = |l: &String| {
            (self.is_pass_fail() && binary_word(answer) == Some(l.as_str()))
                || (tie && self.levels.get(2) == Some(l))
        };
        position(&|l| l == answer)
            .or_else(|| position(&|l| l.eq_ignore_ascii_case(answer)))
            .or_else(|| {
                let lower = (!answer.is_ascii()).then(|| answer.to_lowercase())?;
                position(&|l| l.to_lowercase() == lower)
            })
            .or_else(|| position(&equal))
            .or_else(|| position(&word))
            .map(|at| at as u32)
    }

    /// Whether the levels are `fail` and `pass`.
    fn is_pass_fail(&self) -> bool {
        self.kind == ScaleKind::Binary && self.levels == ["fail", "pass"]
    }

    /// Whether a level counts as good; `None` where the scale names no good level.
    pub fn is_positive(&self, code: u32) -> Option<bool> {
        let least = self.code(self.positive.as_deref()?)?;
        Some(match self.kind {
            ScaleKind::Ordinal => code >= least,
            _ => code == least,
        })
    }

    /// A level as a number in the unit of the scale: the number it is written as, where all levels are
    /// numbers of an ordinal scale, else its position.
    pub fn number(&self, code: u32) -> f64 {
        let written = || -> Option<Vec<f64>> {
            let numbers = self.levels.iter().map(|l| l.parse::<f64>().ok());
            numbers.map(|n| n.filter(|n| n.is_finite())).collect()
        };
        let own = match self.kind {
            ScaleKind::Ordinal => written().and_then(|n| n.get(code as usize).copied()),
            _ => None,
        };
        own.unwrap_or(f64::from(code))
    }

    /// How good an answer is, from 0 to 1: binary 0 or 1, ordinal by its number between the ends of the
    /// scale, pairwise 1 for A, 0 for B and ½ for a tie; nominal 1 for the good class, else 0, and `None`
    /// without one.
    pub fn worth(&self, code: u32) -> Option<f64> {
        match self.kind {
            ScaleKind::Pairwise => Some([1.0, 0.0, 0.5][code.min(2) as usize]),
            ScaleKind::Ordinal => {
                let last = self.levels.len().saturating_sub(1) as u32;
                let (low, high) = (self.number(0), self.number(last));
                (high > low).then(|| (self.number(code) - low) / (high - low))
            }
            _ => self.is_positive(code).map(f64::from),
        }
    }
}

/// `pass` or `fail`, if a word commonly means that.
pub fn binary_word(word: &str) -> Option<&'static str> {
    match word.trim().to_ascii_lowercase().as_str() {
        "pass" | "passed" | "true" | "yes" | "good" | "correct" | "1" | "1.0" => Some("pass"),
        "fail" | "failed" | "false" | "no" | "bad" | "incorrect" | "0" | "0.0" => Some("fail"),
        _ => None,
    }
}

/// Whether a word commonly says that neither output is better.
pub fn is_tie_word(word: &str) -> bool {
    const TIES: [&str; 6] = ["tie", "draw", "equal", "both", "neither", "0"];
    TIES.iter().any(|t| word.trim().eq_ignore_ascii_case(t))
}

/// What a label is used for: prompts are tuned on one part and certified on the other.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Prompts are tuned on these.
    Dev,
    /// Judges are certified on these; every look is counted.
    Test,
}

impl Split {
    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Test => "test",
        }
    }

    /// The split with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Dev, Self::Test]
            .into_iter()
            .find(|s| s.name() == name)
    }
}

/// A trial of a run, by its place in the plan.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct TrialKey {
    /// Arm.
    pub arm: ArmId,
    /// Task.
    pub task: TaskId,
    /// Trial number, from 0.
    pub index: u32,
}

impl TrialKey {
    /// The item that stands for this trial where labels and verdicts are joined.
    pub fn item(&self) -> ItemId {
        ItemId::new(self.to_string())
    }
}

impl fmt::Display for TrialKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.arm, self.task, self.index)
    }
}

/// One person's answer to one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// What was labelled.
    pub item: ItemId,
    /// Who labelled it.
    pub rater: String,
    /// The answer as a code of the scale.
    pub answer: u32,
    /// Whether it settles the item after others disagreed; it outranks every other label of the item.
    pub adjudicated: bool,
    /// Reporting group.
    pub group: Option<String>,
    /// Tuning or certification; `None` where the file does not split.
    pub split: Option<Split>,
    /// Stratum that the item was drawn from.
    pub stratum: Option<String>,
    /// Probability with which the item was drawn for labelling, in (0, 1].
    pub probability: Option<f64>,
    /// Task that the item belongs to: items of one task are not independent.
    pub task: Option<TaskId>,
    /// Arm that produced the item, hidden from the rater.
    pub arm: Option<ArmId>,
    /// Trial number, where the item is a trial of a run.
    pub trial: Option<u32>,
    /// Length of what was judged, in any unit above 0; pairwise: of the first output over the second.
    pub length: Option<f64>,
    /// Line in its file, counted from 1.
    pub line: u64,
}

impl Label {
    /// The trial that was labelled, where arm, task and trial are given.
    pub fn trial_key(&self) -> Option<TrialKey> {
        Some(TrialKey {
            arm: self.arm.clone()?,
            task: self.task.clone()?,
            index: self.trial?,
        })
    }
}

/// The code of the notice that raters do not agree.
pub const RATERS_DISAGREE: &str = "raters_disagree";

/// How many items the raters do not agree on, as a notice; `None` where they agree on all.
pub fn raters_disagree<'a>(labels: impl Iterator<Item = &'a Label>) -> Option<Notice> {
    let mut answers: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for label in labels.filter(|l| !l.adjudicated) {
        answers
            .entry(label.item.as_str())
            .or_default()
            .push(label.answer);
    }
    let several = answers.values().filter(|a| a.len() > 1).count();
    let split = answers
        .values()
        .filter(|a| a.iter().any(|x| *x != a[0]))
        .count();
    let detail = format!("raters disagree on {split} of {several} items with several labels");
    (split > 0).then(|| Notice::with(RATERS_DISAGREE, detail))
}

/// All labels of one file, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelSet {
    /// Name: that of the file's folder, or of the file.
    pub name: String,
    /// The scale of the labels.
    pub scale: Scale,
    /// Labels in the order of the file.
    pub labels: Vec<Label>,
    /// Digest of what the labels say, whatever their order.
    pub digest: Digest,
    /// Rows that have no label yet and do not enter.
    pub blank: u64,
    /// What a reader should know, for example items that two raters contradict each other on.
    pub notices: Vec<Notice>,
}

impl LabelSet {
    /// The labels that stand: of an item that was adjudicated only the adjudicated one, else all.
    pub fn standing(&self) -> Vec<Label> {
        let settled: BTreeSet<&ItemId> = self
            .labels
            .iter()
            .filter(|l| l.adjudicated)
            .map(|l| &l.item)
            .collect();
        let stands = |l: &&Label| l.adjudicated || !settled.contains(&l.item);
        self.labels.iter().filter(stands).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_off_the_scale_have_no_code() {
        let scale = Scale::binary();
        assert_eq!(
            (scale.code("PASS "), scale.code("fail")),
            (Some(1), Some(0))
        );
        assert_eq!(scale.code("garbage"), None);
        assert_eq!(scale.is_positive(1), Some(true));
    }

    #[test]
    fn an_ordinal_scale_of_numbers_keeps_its_unit() {
        let scale = Scale {
            kind: ScaleKind::Ordinal,
            levels: ["1", "3", "5"].map(str::to_owned).to_vec(),
            positive: Some("3".to_owned()),
        };
        assert_eq!(scale.number(1), 3.0);
        assert_eq!(scale.worth(1), Some(0.5));
        assert_eq!(
            (scale.is_positive(0), scale.is_positive(2)),
            (Some(false), Some(true))
        );
    }

    #[test]
    fn a_tie_is_worth_one_half() {
        let scale = Scale {
            kind: ScaleKind::Pairwise,
            levels: ["1", "2", "tie"].map(str::to_owned).to_vec(),
            positive: None,
        };
        assert_eq!(
            [0, 1, 2].map(|c| scale.worth(c)),
            [Some(1.0), Some(0.0), Some(0.5)]
        );
        assert_eq!(scale.is_positive(0), None);
    }
}
