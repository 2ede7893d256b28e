//! The word for an interval.

use serde::{Deserialize, Serialize};

use crate::base::Notice;
use crate::stats::Limits;
use crate::stats::tolerance::{above, below};

/// The decision for one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// B is better.
    Better,
    /// B is worse: by more than the margin where there is one.
    Worse,
    /// B and A differ by less than the margin.
    Equivalent,
    /// B is not worse by the margin or more.
    NonInferior,
    /// Too little evidence, or a step before the interval stopped.
    Inconclusive,
    /// Missing data or infrastructure.
    NotDecidable,
}

impl Word {
    /// The snake_case word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::NonInferior => "non_inferior",
            Self::Inconclusive => "inconclusive",
            Self::NotDecidable => "not_decidable",
        }
    }

    /// Whether two words belong to one class: pass, fail, open. Without margin each word is its
    /// own class.
    pub(super) fn same_class(self, other: Self, has_margin: bool) -> bool {
        let class = |word: Self| match word {
            Self::Better | Self::Equivalent | Self::NonInferior => 0,
            Self::Worse => 1,
            Self::Inconclusive | Self::NotDecidable => 2,
        };
        if has_margin {
            class(self) == class(other)
        } else {
            self == other
        }
    }
}

/// A word with what a reader should know beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct WordWithNotices {
    /// The word.
    pub word: Word,
    /// `within_margin` or `measurably_lower`.
    pub notices: Vec<Notice>,
}

/// The word for θ's limits (positive: B better) and the margin δ > 0 on θ's scale, if any.
///
/// Total and ordered. Equivalence uses the same interval as everything else: a shorter one would
/// call data "equivalent" that are not non-inferior.
pub fn word(theta: Limits, margin: Option<f64>, may_be_better: bool) -> WordWithNotices {
    let Limits { lower, upper } = theta;
    let say = |word, notice: Option<&str>| WordWithNotices {
        word,
        notices: notice.map(Notice::code).into_iter().collect(),
    };
    let lower_notice = below(upper, 0.0).then_some("measurably_lower");
    if above(lower, 0.0) && may_be_better {
        let small = margin.is_some_and(|delta| below(upper, delta));
        return say(Word::Better, small.then_some("within_margin"));
    }
    let Some(delta) = margin else {
        let worse = below(upper, 0.0);
        return say(
            if worse {
                Word::Worse
            } else {
                Word::Inconclusive
            },
            None,
        );
    };
    if below(upper, -delta) {
        say(Word::Worse, None)
    } else if above(lower, -delta) && below(upper, delta) {
        say(Word::Equivalent, lower_notice)
    } else if above(lower, -delta) {
        say(Word::NonInferior, None)
    } else {
        say(Word::Inconclusive, lower_notice)
    }
}
