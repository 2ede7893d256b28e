//! Whether a judge still is the one that was examined: some labelled items are judged again in each run.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::base::{ItemId, Notice, Observation, Seed};
use crate::model::label::Scale;
use crate::stats::paired::{PairedTable, mcnemar_midp};

/// A shift is called with at most this probability where nothing shifted.
const ALPHA: f64 = 0.05;
/// More canaries than this share without a usable verdict invalidate as well.
const MOST_UNUSABLE: f64 = 0.10;

/// Code of a canary that shows nothing.
const UNUSABLE: &str = "canary_unusable";

/// Draws the labelled items that are judged again: as many of each label as there are, up to `count` in
/// all, seeded; in the order of their ids.
pub fn draw(labelled: &BTreeMap<ItemId, u32>, count: usize, seed: Seed) -> Vec<ItemId> {
    let mut by_label: BTreeMap<u32, Vec<&ItemId>> = BTreeMap::new();
    for (item, label) in labelled {
        by_label.entry(*label).or_default().push(item);
    }
    let mut stream = seed.child("canary").stream();
    for items in by_label.values_mut() {
        stream.shuffle(items);
    }
    let mut drawn = BTreeSet::new();
    while drawn.len() < count.min(labelled.len()) {
        for items in by_label.values_mut() {
            if drawn.len() < count
                && let Some(item) = items.pop()
            {
                drawn.insert(item.clone());
            }
        }
    }
    drawn.into_iter().collect()
}

/// One item that was judged twice: when the judge was examined, and now.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejudged {
    /// People's answer, as a code of the scale.
    pub label: u32,
    /// The judge's answer when it was examined.
    pub then: u32,
    /// The judge's answer now, or why there is none.
    pub now: Observation<u32>,
}

/// What judging again showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CanaryResult {
    /// Items that were judged again.
    pub items: u64,
    /// Those without a usable verdict now.
    pub unusable: u64,
    /// Those with another answer than before.
    pub changed: u64,
    /// Those that are better now by the scale's order, and those that are worse; of a scale without order
    /// and good answer, none.
    pub up: u64,
    /// See `up`.
    pub down: u64,
    /// McNemar mid-P of up against down; `None` without usable items.
    pub p_answer: Option<f64>,
    /// McNemar mid-P of items that agree with people only before against only now.
    pub p_correct: Option<f64>,
    /// Why the certificate does not hold for this run: `canary_shift`, or `canary_unusable` where too many
    /// answers, or all, are unusable or there is no item to compare; `None` if it holds.
    pub invalid: Option<String>,
}

impl CanaryResult {
    /// The notice that travels with every estimate of the run; `None` if the certificate holds.
    pub fn notice(&self) -> Option<Notice> {
        let code = self.invalid.as_deref()?;
        if self.unusable == self.items {
            let detail = match self.items {
                0 => "no labelled item has a usable verdict from when the judge was examined, so nothing can be judged again: the certificate does not hold for this run".to_owned(),
                items => format!("none of {items} canaries has a usable answer now: the certificate does not hold for this run"),
            };
            return Some(Notice::with(code, detail));
        }
        let detail = format!(
            "{} of {} canaries changed ({} up, {} down), {} unusable: the certificate does not hold \
             for this run",
            self.changed, self.items, self.up, self.down, self.unusable
        );
        Some(Notice::with(code, detail))
    }
}

/// The result where the judge answered none of the canaries.
pub fn unanswered(items: u64) -> CanaryResult {
    CanaryResult {
        items,
        unusable: items,
        invalid: Some(UNUSABLE.to_owned()),
        ..examine(&Scale::binary(), &[])
    }
}

/// Tests whether answers or their agreement with people shifted.
///
/// Two tests (Fagerland, Lydersen & Laake 2013), each at half of 5 %: whether answers moved to one side,
/// and whether they became right or wrong. Changes to and fro in equal number shift neither; they show in
/// `changed`. Few canaries find only large shifts: 20 find that about a third of the answers moved.
pub fn examine(scale: &Scale, items: &[Rejudged]) -> CanaryResult {
    let usable: Vec<(&Rejudged, u32)> = items
        .iter()
        .filter_map(|i| Some((i, *i.now.value()?)))
        .collect();
    let count = |holds: &dyn Fn(&Rejudged, u32) -> bool| {
        usable
            .iter()
            .filter(|(item, now)| holds(item, *now))
            .count() as u64
    };
    let moved = |item: &Rejudged, now: u32| {
        let worth = |code| scale.worth(code);
        worth(now)
            .zip(worth(item.then))
            .map_or(0.0, |(now, then)| now - then)
    };
    let (up, down) = (
        count(&|i, now| moved(i, now) > 0.0),
        count(&|i, now| moved(i, now) < 0.0),
    );
    let correct = (
        count(&|i, now| i.then == i.label && now != i.label),
        count(&|i, now| i.then != i.label && now == i.label),
    );
    let p = |(a_only, b_only): (u64, u64)| {
        let rest = usable.len() as u64 - a_only - b_only;
        let table = PairedTable {
            both: rest,
            a_only,
            b_only,
            neither: 0,
        };
        (!usable.is_empty()).then(|| mcnemar_midp(table))
    };
    let (p_answer, p_correct) = (p((up, down)), p(correct));
    let unusable = (items.len() - usable.len()) as u64;
    let shifted = [p_answer, p_correct]
        .into_iter()
        .flatten()
        .any(|p| p <= ALPHA / 2.0);
    let lost = unusable as f64 > MOST_UNUSABLE * items.len() as f64;
    let invalid = match () {
        () if items.is_empty() || lost => Some(UNUSABLE),
        () if shifted => Some("canary_shift"),
        () => None,
    };
    CanaryResult {
        items: items.len() as u64,
        unusable,
        changed: count(&|i, now| i.then != now),
        up,
        down,
        p_answer,
        p_correct,
        invalid: invalid.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(then: u32, now: Option<u32>, times: usize) -> Vec<Rejudged> {
        let now = now.map_or(
            Observation::Missing("unparsable".into()),
            Observation::Value,
        );
        vec![
            Rejudged {
                label: 1,
                then,
                now
            };
            times
        ]
    }

    fn check(items: &[Vec<Rejudged>]) -> Option<String> {
        examine(&Scale::binary(), &items.concat()).invalid
    }

    #[test]
    fn a_shift_invalidates_and_noise_does_not() {
        assert_eq!(check(&[again(1, Some(1), 20)]), None);
        assert_eq!(
            check(&[
                again(1, Some(1), 16),
                again(1, Some(0), 2),
                again(0, Some(1), 2)
            ]),
            None
        );
        let shift = check(&[again(1, Some(1), 12), again(1, Some(0), 8)]);
        assert_eq!(shift.as_deref(), Some("canary_shift"));
        let lost = check(&[again(1, Some(1), 16), again(1, None, 4)]);
        assert_eq!(lost.as_deref(), Some("canary_unusable"));
        assert_eq!(check(&[]).as_deref(), Some("canary_unusable"));
        assert_eq!(
            check(&[again(1, None, 20)]).as_deref(),
            Some("canary_unusable")
        );
    }

    #[test]
    fn a_canary_that_shows_nothing_says_which_way() {
        let said = |result: CanaryResult| result.notice().unwrap().detail;
        assert!(said(unanswered(20)).starts_with("none of 20 canaries"));
        assert!(said(examine(&Scale::binary(), &[])).starts_with("no labelled item"));
        let some = [again(1, Some(1), 16), again(1, None, 4)].concat();
        assert!(said(examine(&Scale::binary(), &some)).contains("4 unusable"));
    }

    #[test]
    fn canaries_cover_every_label_and_are_stable() {
        let labelled: BTreeMap<ItemId, u32> = (0..100)
            .map(|i| (ItemId::new(format!("i{i:03}")), u32::from(i >= 90)))
            .collect();
        let drawn = draw(&labelled, 10, Seed(1));
        assert_eq!(drawn.len(), 10);
        assert_eq!(drawn, draw(&labelled, 10, Seed(1)));
        assert_ne!(drawn, draw(&labelled, 10, Seed(2)));
        let rare = drawn.iter().filter(|i| labelled[*i] == 1).count();
        assert_eq!(rare, 5);
        assert_eq!(draw(&labelled, 500, Seed(1)).len(), 100);
    }
}
