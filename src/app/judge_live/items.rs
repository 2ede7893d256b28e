//! Judging the items of a labelled set.

use std::path::Path;

use crate::app::asking::{Pace, Tally, ask, ready};
use crate::app::live::Keys;
use crate::base::{Result, Seed};
use crate::judge::{Item, JudgeRequest, Session};
use crate::load::{self, LabelledItem};
use crate::model::judge::Judge;
use crate::model::verdict::Verdict;
use crate::store::Replies;

/// Asks a judge about the items of a labelled set; the verdicts with what asking cost.
///
/// # Errors
///
/// If items and judge do not fit, or files fail.
pub fn judge_items(
    judge: &Judge,
    items: &Path,
    kept: &Path,
    pace: Pace,
    keys: &Keys,
) -> Result<(Vec<Verdict>, Tally)> {
    let session = Session::new(judge, &[], Seed(0))?;
    let asked = ready(&session, pace, keys)?;
    let items = load::items(items)?;
    let all: Vec<&LabelledItem> = items.iter().collect();
    let requests = of_items(&session, &all)?;
    let mut replies = Replies::open(kept)?;
    let mut tally = Tally::default();
    let verdicts = ask(&session, &asked, &requests, &mut replies, &mut tally)?;
    Ok((session.verdicts(&verdicts), tally))
}

pub(super) fn of_items(session: &Session, items: &[&LabelledItem]) -> Result<Vec<JudgeRequest>> {
    let mut requests = Vec::new();
    for item in items {
        let outputs: Vec<&str> = item.outputs.iter().map(String::as_str).collect();
        requests.extend(session.item_requests(&Item {
            id: &item.id,
            input: item.input.as_deref(),
            outputs: &outputs,
            arm: item.arm.as_ref(),
            task: item.task.as_ref(),
            trial: item.trial,
        })?);
    }
    Ok(requests)
}
