//! Whether an ordinary word is meant as a name: by what stands around it.

use super::fold::Unit;
use super::lists::{ANNOUNCING, MAKING};

/// Spelled names that may begin at one place or within each other.
const NEIGHBOURS: usize = 4;

/// A run of units that spell a name.
#[derive(Clone, Copy)]
pub(super) struct Spelled {
    /// Its first unit.
    pub first: usize,
    /// One past the last unit.
    pub end: usize,
    /// Which name, by its place among all names.
    pub name: usize,
    /// Whether it is but an ordinary word here.
    pub ordinary: bool,
}

/// The spelled names that are meant as names: all certain ones, and ordinary words in their company.
pub(super) fn meant(spelled: &[Spelled], units: &[Unit]) -> Vec<Spelled> {
    let certain = |s: &Spelled| !s.ordinary || announced(units, s.first) || answers(units, s.end);
    let mut kept: Vec<(Spelled, bool)> = spelled.iter().map(|s| (*s, certain(s))).collect();
    kept.sort_by_key(|(s, _)| (s.first, s.end));
    // Company passes on from word to word, to the right and then to the left.
    for at in 1..kept.len() {
        kept[at].1 |= (at.saturating_sub(NEIGHBOURS)..at)
            .any(|k| kept[k].1 && beside(&kept[k].0, &kept[at].0, units));
    }
    for at in (0..kept.len()).rev() {
        let last = kept.len().min(at + 1 + NEIGHBOURS);
        kept[at].1 |= (at + 1..last).any(|k| kept[k].1 && beside(&kept[at].0, &kept[k].0, units));
    }
    kept.retain(|(_, meant)| *meant);
    kept.into_iter().map(|(s, _)| s).collect()
}

/// Whether only a sign or two stand between a name and the next.
fn beside(one: &Spelled, next: &Spelled, units: &[Unit]) -> bool {
    let between = units.get(one.end..next.first);
    between
        .is_some_and(|between| between.len() <= 2 && between.iter().all(|u| !u.c.is_alphanumeric()))
}

/// Whether somebody says before this place who he is or who made him.
fn announced(units: &[Unit], first: usize) -> bool {
    let from = first.saturating_sub(60);
    let text: String = units[from..first].iter().map(|u| u.c).collect();
    let clause = text
        .rsplit(['.', '!', '?', '\n'])
        .next()
        .unwrap_or_default();
    let articles = ["a", "an", "the", "version", "of"];
    let mut words = clause
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty() && !articles.contains(w))
        .rev();
    match words.next() {
        Some("is") => matches!(words.next(), Some("this" | "name" | "model" | "here")),
        Some("by") => words.next().is_some_and(|verb| MAKING.contains(&verb)),
        Some(word) => ANNOUNCING.contains(&word),
        None => false,
    }
}

/// Whether somebody says after this place that it is he who speaks.
fn answers(units: &[Unit], end: usize) -> bool {
    let rest = units[end..].iter().map(|u| u.c);
    let word: String = rest
        .skip_while(|c| *c == ' ')
        .take_while(|c| c.is_alphabetic())
        .collect();
    matches!(word.as_str(), "here" | "speaking")
}
