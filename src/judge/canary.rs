//! Whether a judge still is the one that was examined: some labelled items are judged again in each run.

mod chance;

use std::collections::{BTreeMap, BTreeSet};

pub use chance::{Examined, Expected};
use serde::Serialize;

use crate::base::{ItemId, Notice, Observation, Seed};
use crate::model::label::Scale;

/// Each of the two tests calls a shift with at most this probability where nothing shifted.
const ALPHA: f64 = 0.01;
/// More canaries than this share without a usable verdict invalidate as well.
const MOST_UNUSABLE: f64 = 0.10;

/// Code of a canary that shows nothing.
const UNUSABLE: &str = "canary_unusable";

/// Why a certificate does not hold where the judge is not the one that was examined.
pub const SHIFT: &str = "canary_shift";

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
    /// The least number of changed answers that is a shift; `None` if none is.
    pub shift_from: Option<u64>,
    /// Those whose answer agrees with people now.
    pub agree: u64,
    /// The least number of agreeing answers that is no shift.
    pub agree_least: u64,
    /// Those that are better now by the scale's order, and those that are worse; of a scale without order
    /// and good answer, none.
    pub up: u64,
    /// See `up`.
    pub down: u64,
    /// Probability of that many changed answers or more from the judge that was examined; `None` without
    /// usable items.
    pub p_changed: Option<f64>,
    /// Probability of that few agreeing answers or fewer.
    pub p_agree: Option<f64>,
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
            "{} of {} canaries changed ({} up, {} down; {}), {} agree with people (fewer than {} is a shift), \
             {} unusable: the certificate does not hold for this run",
            self.changed,
            self.items,
            self.up,
            self.down,
            match self.shift_from {
                Some(least) => format!("a shift from {least} on"),
                None => "no number of them is a shift".to_owned(),
            },
            self.agree,
            self.agree_least,
            self.unusable
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
        ..examine(&Scale::binary(), &Expected::default(), &[])
    }
}

/// Tests whether more answers changed, or fewer agree with people, than chance explains in the judge that
/// was examined; each at 1 %, one-sided.
///
/// Both are exact: sums of beta-binomial counts over the labels (see [`Expected`]). Of 40 items, a judge
/// with sensitivity .92 and specificity .88 that draws each answer anew is withdrawn in about 1 % of runs,
/// and in 99 % once it is a coin; a fall of both to .75 shows in about 40 %.
pub fn examine(scale: &Scale, expected: &Expected, items: &[Rejudged]) -> CanaryResult {
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
    let changed = count(&|i, now| i.then != now);
    let agree = count(&|i, now| i.label == now);
    let mut by_label: BTreeMap<u32, u64> = BTreeMap::new();
    for (item, _) in &usable {
        *by_label.entry(item.label).or_default() += 1;
    }
    let above = tails(expected.changed(&by_label).into_iter().rev());
    let above: Vec<f64> = above.into_iter().rev().collect();
    let below = tails(expected.agree(&by_label).into_iter());
    let p = |tail: &[f64], at: u64| {
        let p = tail.get(usize::try_from(at).ok()?).copied();
        p.filter(|_| !usable.is_empty())
    };
    let (p_changed, p_agree) = (p(&above, changed), p(&below, agree));
    let unusable = (items.len() - usable.len()) as u64;
    let shifted = [p_changed, p_agree]
        .into_iter()
        .flatten()
        .any(|p| p <= ALPHA);
    let lost = unusable as f64 > MOST_UNUSABLE * items.len() as f64;
    let invalid = match () {
        () if items.is_empty() || lost => Some(UNUSABLE),
        () if shifted => Some(SHIFT),
        () => None,
    };
    CanaryResult {
        items: items.len() as u64,
        unusable,
        changed,
        shift_from: above.iter().position(|p| *p <= ALPHA).map(|at| at as u64),
        agree,
        agree_least: below.iter().filter(|p| **p <= ALPHA).count() as u64,
        up,
        down,
        p_changed,
        p_agree,
        invalid: invalid.map(str::to_owned),
    }
}

/// Running sums of probabilities: those of the tail that ends at each place.
fn tails(all: impl Iterator<Item = f64>) -> Vec<f64> {
    let sums = all.scan(0.0, |sum, p| {
        *sum += p;
        Some(f64::min(*sum, 1.0))
    });
    sums.collect()
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

    /// A judge that agreed with people on 57 of 60 items.
    fn good() -> Expected {
        let item = |answer, n| {
            let answers = vec![answer];
            vec![Examined { label: 1, answers }; n]
        };
        Expected::of(&[item(1, 57), item(0, 3)].concat())
    }

    fn check(items: &[Vec<Rejudged>]) -> Option<String> {
        examine(&Scale::binary(), &good(), &items.concat()).invalid
    }

    /// Examines a judge on 120 items, judges 40 again at other rates, and says whether a shift was called.
    fn simulated(then: [f64; 2], now: [f64; 2], seed: Seed) -> bool {
        let mut stream = seed.stream();
        let mut answer = |label: u32, rates: [f64; 2]| {
            let right = stream.unit() < rates[label as usize];
            if right { label } else { 1 - label }
        };
        let mut examined = vec![];
        for i in 0..120 {
            let label = i % 2;
            let answers = vec![answer(label, then)];
            examined.push(Examined { label, answers });
        }
        let again = examined.iter().take(40).map(|item| Rejudged {
            label: item.label,
            then: item.answers[0],
            now: Observation::Value(answer(item.label, now)),
        });
        let again: Vec<Rejudged> = again.collect();
        examine(&Scale::binary(), &Expected::of(&examined), &again)
            .invalid
            .is_some()
    }

    /// How often a shift is called in 2,000 runs.
    fn called(then: [f64; 2], now: [f64; 2]) -> f64 {
        let runs = (0..2_000).filter(|i| simulated(then, now, Seed(7).nth("canary", *i)));
        runs.count() as f64 / 2_000.0
    }

    #[test]
    fn a_noisy_judge_stays_and_a_coin_goes() {
        let noisy = [0.88, 0.92];
        for healthy in [noisy, [0.75, 0.75], [0.97, 0.99]] {
            let withdrawn = called(healthy, healthy);
            assert!(withdrawn <= 0.02, "{healthy:?}: {withdrawn}");
        }
        let coin = called(noisy, [0.5, 0.45]);
        assert!(coin >= 0.95, "{coin}");
        // The test must be able to call at all: a judge that says the contrary is always found.
        assert_eq!(called(noisy, [0.08, 0.12]), 1.0);
    }

    #[test]
    fn the_numbers_that_are_a_shift_are_said() {
        let at = |changed: usize| {
            let items = [again(1, Some(1), 40 - changed), again(1, Some(0), changed)];
            examine(&Scale::binary(), &good(), &items.concat())
        };
        let from = at(0).shift_from.unwrap();
        let least = 40 - at(0).agree_least;
        let most = usize::try_from(from.min(least + 1)).unwrap();
        assert_eq!(at(most - 1).invalid, None);
        let shift = at(most);
        assert_eq!(shift.invalid.as_deref(), Some("canary_shift"));
        let said = shift.notice().unwrap().detail;
        assert!(said.contains(&format!("a shift from {from} on")), "{said}");
    }

    #[test]
    fn a_shift_invalidates_and_noise_does_not() {
        assert_eq!(check(&[again(1, Some(1), 20)]), None);
        assert_eq!(
            check(&[
                again(1, Some(1), 17),
                again(1, Some(0), 1),
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
        assert!(said(examine(&Scale::binary(), &good(), &[])).starts_with("no labelled item"));
        let some = [again(1, Some(1), 16), again(1, None, 4)].concat();
        assert!(said(examine(&Scale::binary(), &good(), &some)).contains("4 unusable"));
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
