//! How several labels of an item become its truth, as declared.

use crate::base::{Error, Result};
use crate::model::label::{LabelSet, ScaleKind};
use crate::stats::panel::{Truth, TruthRule as Settling, adjudicate, soft_label};

/// The declared rule by which labels become truth; an adjudicated label outranks every rule.
///
/// The rule is part of what the certificate says: agreement with a majority, with one expert, and with
/// a rater drawn at random are three different things.
///
/// Source: METHODS 8 and 11.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TruthRule {
    /// What most raters said; a tie is no truth.
    #[default]
    Majority,
    /// What this rater said. Where the expert said nothing, what two or more raters agree on.
    Expert(String),
    /// What an adjudicated label says. Where there is none, what two or more raters agree on.
    Adjudicated,
    /// The share of raters who found it good: what a rater drawn at random would say. Binary scales.
    Soft,
}

impl TruthRule {
    /// Reads `majority`, `expert`, `expert:RATER` or `soft`.
    ///
    /// # Errors
    ///
    /// If it is none of these.
    pub fn parse(text: &str) -> Result<Self> {
        match text.split_once(':') {
            None if text == "majority" => Ok(Self::Majority),
            None if text == "expert" => Ok(Self::Adjudicated),
            None if text == "soft" => Ok(Self::Soft),
            Some(("expert", rater)) if !rater.trim().is_empty() => {
                Ok(Self::Expert(rater.trim().to_owned()))
            }
            _ => Err(
                Error::input(format!("`{text}` is no rule by which labels become truth"))
                    .hint("majority, expert (adjudicated labels), expert:RATER, or soft"),
            ),
        }
    }

    /// The rule as it is written on the command line and in certificates.
    pub fn name(&self) -> String {
        match self {
            Self::Majority => "majority".to_owned(),
            Self::Adjudicated => "expert".to_owned(),
            Self::Expert(rater) => format!("expert:{rater}"),
            Self::Soft => "soft".to_owned(),
        }
    }

    /// Whether these labels can be read by this rule.
    ///
    /// # Errors
    ///
    /// If the expert labelled nothing, nothing is adjudicated where that is the rule, or shares of
    /// labels are asked for on a scale of more than two answers.
    pub fn check(&self, labels: &LabelSet) -> Result<()> {
        match self {
            Self::Expert(expert) if !labels.labels.iter().any(|l| l.rater == *expert) => {
                let mut raters: Vec<&str> =
                    labels.labels.iter().map(|l| l.rater.as_str()).collect();
                raters.sort_unstable();
                raters.dedup();
                raters.truncate(20);
                Err(Error::input(format!("rater `{expert}` labelled nothing"))
                    .hint(format!("raters: {}", raters.join(", "))))
            }
            Self::Adjudicated if !labels.labels.iter().any(|l| l.adjudicated) => {
                Err(Error::input("no label is adjudicated").hint(
                    "mark labels in a column `adjudicated`, or name the rater who decides: `--truth expert:RATER`",
                ))
            }
            Self::Soft if labels.scale.kind != ScaleKind::Binary => Err(Error::input(format!(
                "shares of labels are a truth on a binary scale only, not on a {} one",
                labels.scale.kind.name()
            ))
            .hint("declare `--truth majority` or `--truth expert:RATER`")),
            _ => Ok(()),
        }
    }
}

/// The labels of one item.
pub(super) struct Ballot<'a> {
    /// One entry per rater; `None` is no label.
    pub votes: &'a [Option<u32>],
    /// The adjudicated label.
    pub adjudicated: Option<u32>,
    /// The label of the rater who decides.
    pub expert: Option<u32>,
    /// The code of the good answer, where shares count.
    pub good: Option<u32>,
}

/// What a rule makes of the labels of one item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settled {
    /// The truth; by shares the answer of most raters, `None` where they tie.
    pub truth: Option<u32>,
    /// By shares: the share of the labels that say good.
    pub share: Option<f64>,
    /// What settled it, or why nothing did; see [`crate::model::calibration::LabelsInfo`].
    pub by: &'static str,
}

impl Settled {
    fn on(truth: u32, by: &'static str) -> Self {
        Self {
            truth: Some(truth),
            share: None,
            by,
        }
    }

    fn open(by: &'static str) -> Self {
        Self {
            truth: None,
            share: None,
            by,
        }
    }
}

impl TruthRule {
    /// Applies the rule; nothing is settled at random.
    pub(super) fn settle(&self, ballot: &Ballot) -> Settled {
        let Ballot { votes, good, .. } = *ballot;
        if let Some(truth) = ballot.adjudicated {
            let share = (*self == Self::Soft).then(|| f64::from(good == Some(truth)));
            return Settled {
                share,
                ..Settled::on(truth, "adjudicated")
            };
        }
        match self {
            Self::Majority => majority(votes),
            Self::Expert(_) => match ballot.expert {
                Some(truth) => Settled::on(truth, "expert"),
                None => agreement(votes, "expert_absent"),
            },
            Self::Adjudicated => agreement(votes, "not_adjudicated"),
            Self::Soft => Settled {
                truth: majority(votes).truth,
                share: good.and_then(|good| soft_label(votes, good)),
                by: "shares",
            },
        }
    }
}

fn majority(votes: &[Option<u32>]) -> Settled {
    let single = votes.iter().flatten().count() == 1;
    match adjudicate(votes, Settling::Majority) {
        Truth::Label(truth) if single => Settled::on(truth, "single_label"),
        Truth::Label(truth) => Settled::on(truth, "majority"),
        Truth::Disputed | Truth::Unlabelled => Settled::open("raters_tie"),
    }
}

/// What two or more raters agree on needs no expert; one label is nobody's agreement.
fn agreement(votes: &[Option<u32>], lacking: &'static str) -> Settled {
    let several = votes.iter().flatten().count() > 1;
    match adjudicate(votes, Settling::Unanimous) {
        Truth::Label(truth) if several => Settled::on(truth, "agreement"),
        _ => Settled::open(lacking),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ballot<'a>(votes: &'a [Option<u32>], adjudicated: Option<u32>) -> Ballot<'a> {
        Ballot {
            votes,
            adjudicated,
            expert: votes.first().copied().flatten(),
            good: Some(1),
        }
    }

    #[test]
    fn an_adjudicated_label_outranks_every_rule() {
        let votes = [Some(1), Some(1), Some(1)];
        let ann = TruthRule::Expert("ann".to_owned());
        for rule in [TruthRule::Majority, ann, TruthRule::Adjudicated] {
            let settled = rule.settle(&ballot(&votes, Some(0)));
            assert_eq!((settled.truth, settled.by), (Some(0), "adjudicated"));
        }
        let soft = TruthRule::Soft.settle(&ballot(&votes, Some(0)));
        assert_eq!(soft.share, Some(0.0));
    }

    #[test]
    fn ties_and_single_labels_are_no_majority_and_no_agreement() {
        let tie = TruthRule::Majority.settle(&ballot(&[Some(1), Some(0)], None));
        assert_eq!((tie.truth, tie.by), (None, "raters_tie"));
        let one = [None, Some(1)];
        assert_eq!(
            TruthRule::Majority.settle(&ballot(&one, None)).by,
            "single_label"
        );
        let lone = TruthRule::Adjudicated.settle(&ballot(&one, None));
        assert_eq!((lone.truth, lone.by), (None, "not_adjudicated"));
        let expert = TruthRule::Expert("ann".to_owned());
        assert_eq!(expert.settle(&ballot(&one, None)).by, "expert_absent");
        let two = [None, Some(1), Some(1)];
        assert_eq!(expert.settle(&ballot(&two, None)).by, "agreement");
        let decided = expert.settle(&ballot(&[Some(0), Some(1), Some(1)], None));
        assert_eq!((decided.truth, decided.by), (Some(0), "expert"));
    }

    #[test]
    fn shares_are_kept_as_shares() {
        let soft = TruthRule::Soft.settle(&ballot(&[Some(1), Some(0)], None));
        assert_eq!((soft.truth, soft.share), (None, Some(0.5)));
    }

    #[test]
    fn rules_are_read_as_they_are_written() {
        for text in ["majority", "expert", "expert:ann", "soft"] {
            assert_eq!(TruthRule::parse(text).unwrap().name(), text);
        }
        assert!(TruthRule::parse("expert:").is_err());
        assert!(TruthRule::parse("median").is_err());
    }
}
