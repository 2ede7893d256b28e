//! One rater who gave most of the labels: then raters, and not items, are what is independent.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use super::joined::{Joined, JoinedItem};
use super::truth::TruthRule;
use crate::stats::panel::{Given, dominant_rater};

/// A rater who gave more than half of the labels, among two raters or more.
#[derive(Clone, Debug, PartialEq)]
pub struct Dominance {
    /// The rater.
    pub rater: String,
    /// Share of the labels, adjudicated ones aside.
    pub share: f64,
    /// Independent units that are left.
    pub units: usize,
}

impl fmt::Display for Dominance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rater, share, units) = (&self.rater, 100.0 * self.share, self.units);
        write!(
            f,
            "rater `{rater}` gave {share:.0} % of the labels, so raters are what is independent, and {units} such units say little about people: let others label until nobody gave more than half, or say that `{rater}` is the standard: `--truth expert:{rater}`"
        )
    }
}

/// Makes raters the units of all items where one rater gave more than half of the labels (METHODS 11).
///
/// Truth by majority or by shares is meant to be people's. Where one person gave most labels, that
/// person's habits are in most truths, and items that share a rater do not err independently: the
/// random draw is the rater. An item then belongs to the dominating rater if that one labelled it, else
/// to its first rater by name; items of one task stay together, and an adjudicated item is its own
/// unit. As the largest unit has more than about half of the weight, fewer than four effective units
/// remain (n_c = 1/ΣW²): intervals over raters are `exploratory` at best, those of bootstraps are not
/// given at all (`too_few_raters`), and the certificate is refused with `one_rater_dominates`. What
/// helps is to let others label so that nobody has more than half, or to say openly whose standard is
/// meant: `--truth expert:RATER` makes the truth one person's by definition, items are the units again,
/// and the certificate speaks of agreement with that person.
///
/// With a single rater for all items there are no raters to resample: the certificate is about that
/// rater (`one_rater`), the human ceiling and human agreement are undefined, and so is every threshold
/// on them.
///
/// Source: METHODS 11; effective number of units after Kish 1965.
pub(super) fn dominance(joined: &Joined, rule: &TruthRule) -> Option<(String, f64)> {
    let of_people = matches!(rule, TruthRule::Majority | TruthRule::Soft);
    if !of_people || joined.raters.len() < 2 {
        return None;
    }
    let mut given = vec![];
    for (rater, name) in joined.raters.iter().enumerate() {
        let labels = joined.labels.get(name).copied().unwrap_or(0);
        given.extend((0..labels as usize).map(|item| Given {
            item,
            rater,
            class: 0,
        }));
    }
    let found = dominant_rater(&given)?;
    Some((joined.raters[found.rater].clone(), found.share))
}

/// Gives items their unit: the rater behind them, merged with their task.
pub(super) fn by_rater(joined: &mut Joined, rater: &str) -> usize {
    let main = joined.raters.iter().position(|r| r == rater);
    let behind = |item: &JoinedItem| -> Option<usize> {
        let own = |at: &usize| item.humans[*at].is_some();
        let first = || item.humans.iter().position(Option::is_some);
        (item.by != "adjudicated").then(|| main.filter(own).or_else(first))?
    };
    let mut groups = Groups::default();
    let keys: Vec<usize> = joined
        .items
        .iter()
        .map(|item| {
            let rater = behind(item).map(|at| format!("rater {at}"));
            let task = item.task.as_ref().map(|t| format!("task {t}"));
            let own = format!("item {}", item.item);
            let key = groups.of(rater.as_ref().or(task.as_ref()).unwrap_or(&own));
            if let (Some(_), Some(task)) = (&rater, &task) {
                let other = groups.of(task);
                groups.merge(key, other);
            }
            key
        })
        .collect();
    let mut units: BTreeSet<usize> = BTreeSet::new();
    for (item, key) in joined.items.iter_mut().zip(keys) {
        let root = groups.root(key);
        units.insert(root);
        item.unit = Some(format!("unit {root}"));
    }
    units.len()
}

/// Disjoint sets of names.
#[derive(Default)]
struct Groups {
    known: HashMap<String, usize>,
    parent: Vec<usize>,
}

impl Groups {
    fn of(&mut self, name: &str) -> usize {
        if let Some(&at) = self.known.get(name) {
            return at;
        }
        self.parent.push(self.parent.len());
        self.known.insert(name.to_owned(), self.parent.len() - 1);
        self.parent.len() - 1
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            // Halving the path keeps long chains short.
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn merge(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_names_have_one_root() {
        let mut groups = Groups::default();
        let (a, b, c) = (groups.of("a"), groups.of("b"), groups.of("c"));
        groups.merge(c, b);
        assert_eq!(groups.root(c), groups.root(b));
        assert_ne!(groups.root(a), groups.root(b));
        let again = groups.of("a");
        groups.merge(again, c);
        assert_eq!(groups.root(b), groups.root(a));
    }
}
