//! Other rules for unusable verdicts, shown beside ours, which counts them as neither right nor wrong.

use super::effects::position;
use super::join::all_in_all;
use super::joined::JoinedItem;
use super::measure::Measuring;
use super::slice::{Pairs, agreement, confusion, rates};
use crate::base::{Error, Result};
use crate::model::calibration::CalibrationSlice;
use crate::model::label::{Scale, ScaleKind};

/// How unusable verdicts count beside our own rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherRule {
    /// As papers do: an answer of its own, always wrong, and equal to itself in the other order.
    Published,
    /// As the bad answer, which blames the agent for the judge's failure.
    Fail,
}

impl OtherRule {
    /// The name on the command line and in certificates.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Fail => "fail",
        }
    }

    /// Whether the rule fits a scale and a truth by shares of labels.
    ///
    /// # Errors
    ///
    /// If it needs a bad answer and the scale has none, or an answer of its own beside shares.
    pub fn check(self, scale: &Scale, shares: bool) -> Result<()> {
        match self {
            Self::Fail if scale.kind != ScaleKind::Binary => Err(Error::input(
                "only a binary scale has an answer that means failure",
            )
            .hint("use `--unparsable published`")),
            Self::Published if shares => Err(Error::input(
                "shares of labels have no class for a verdict that cannot be used",
            )
            .hint("use `--unparsable fail`, or another truth rule")),
            _ => Ok(()),
        }
    }
}

/// Agreement under another rule.
///
/// # Errors
///
/// If the rule needs a bad answer and the scale has none, or a level of its own where shares of labels
/// are the truth.
pub fn under(
    rule: OtherRule,
    scale: &Scale,
    items: &[&JoinedItem],
    measuring: Measuring,
) -> Result<CalibrationSlice> {
    rule.check(scale, items.iter().any(|i| i.share.is_some()))?;
    let mut scale = scale.clone();
    let counted = match rule {
        OtherRule::Published => {
            scale.levels.push("unusable".to_owned());
            scale.levels.len() as u32 - 1
        }
        OtherRule::Fail => {
            1 - scale
                .positive
                .as_deref()
                .and_then(|p| scale.code(p))
                .unwrap_or(1)
        }
    };
    let items: Vec<JoinedItem> = items.iter().map(|i| recoded(i, counted, &scale)).collect();
    let items: Vec<&JoinedItem> = items.iter().collect();
    let measuring = measuring.child(rule.name());
    let pairs = Pairs::of(&items);
    let mut rows = rates(&scale, &pairs, measuring)?;
    rows.extend(agreement(&scale, &pairs, measuring));
    if scale.kind == ScaleKind::Pairwise {
        rows.extend(position(&scale, &items, measuring)?);
    }
    let confusion = match pairs.shares {
        Some(_) => vec![],
        None => confusion(scale.levels.len(), &pairs),
    };
    let slice = format!("unparsable={}", rule.name());
    Ok(CalibrationSlice {
        slice,
        confusion,
        expected_confusion: None,
        rows,
        error_rates: None,
    })
}

/// An item whose unusable answers are the answer `counted`.
fn recoded(item: &JoinedItem, counted: u32, scale: &Scale) -> JoinedItem {
    let mut item = item.clone();
    item.answers
        .iter_mut()
        .for_each(|a| a.code = Ok(a.code.clone().unwrap_or(counted)));
    item.judge = all_in_all(&item.answers, scale);
    item
}
