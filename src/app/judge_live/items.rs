//! Judging the items of a labelled set.

use std::collections::BTreeSet;
use std::path::Path;

use crate::app::asking::{Pace, Tally, ask, ready};
use crate::app::live::Keys;
use crate::base::{Error, ItemId, Result, Seed};
use crate::judge::{Item, JudgeRequest, Session};
use crate::load::{self, LabelledItem};
use crate::model::judge::Judge;
use crate::model::verdict::Verdict;
use crate::store::Replies;

/// Where replies are kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// File of this examination.
    pub file: &'a Path,
    /// Folder of the folders of other examinations, whose replies are not paid for again.
    pub beside: &'a Path,
}

/// Asks a judge about those items of a labelled set that are in `part`; the verdicts with what asking
/// cost.
///
/// # Errors
///
/// If no item is in that part, items and judge do not fit, or files fail.
pub fn judge_items(
    judge: &Judge,
    items: &Path,
    part: &BTreeSet<ItemId>,
    kept: Kept,
    pace: Pace,
    keys: &Keys,
) -> Result<(Vec<Verdict>, Tally)> {
    let session = Session::new(judge, &[], Seed(0))?;
    let asked = ready(&session, pace, keys)?;
    let file = items;
    let items = load::items(file)?;
    let all: Vec<&LabelledItem> = items.iter().filter(|i| part.contains(&i.id)).collect();
    if all.is_empty() {
        return Err(
            Error::input("none of these items is labelled in the part that is looked at")
                .in_file(file)
                .hint("labels and items are joined by `item`; see `--split` and `--items`"),
        );
    }
    let requests = of_items(&session, &all)?;
    let mut replies = Replies::open(kept.file)?;
    replies.know_those_in(kept.beside);
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
