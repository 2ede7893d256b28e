//! Where names stand in a text, however they are written.

use std::collections::HashMap;

use super::encoded::encoded;
use super::fold::{Unit, fold, fold_decoded};
use super::lists::{ANNOUNCING, MAKING};
use super::names::{Name, Names};
use super::spelling::{begins, class, spell, tail};

/// A name in a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit {
    /// First byte in the original text.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// Which name, by its place among all names.
    pub name: usize,
}

/// Looks for names, ready to do so often.
#[derive(Clone, Debug)]
pub(super) struct Finder {
    names: Names,
    by_first: HashMap<char, Vec<usize>>,
}

/// A run of units that spell a name.
#[derive(Clone, Copy)]
struct Spelled {
    first: usize,
    /// One past the last unit.
    end: usize,
    name: usize,
    ordinary: bool,
}

impl Finder {
    /// Sorts the names by their first letter.
    pub fn new(names: Names) -> Self {
        let mut by_first: HashMap<char, Vec<usize>> = HashMap::new();
        for (at, name) in names.all.iter().enumerate() {
            by_first.entry(class(name.letters[0])).or_default().push(at);
        }
        Self { names, by_first }
    }

    /// A name by its place.
    pub fn name(&self, at: usize) -> &Name {
        &self.names.all[at]
    }

    /// Every name in a text, in order and without overlaps; names side by side are one hit.
    pub fn find(&self, text: &str) -> Vec<Hit> {
        let mut hits = self.in_units(&fold(text));
        if let Some(units) = fold_decoded(text) {
            hits.extend(self.in_units(&units));
        }
        for token in encoded(text) {
            if let Some(hit) = self.in_units(&fold(&token.decoded)).first() {
                hits.push(Hit {
                    start: token.start,
                    end: token.end,
                    name: hit.name,
                });
            }
        }
        merged(hits, text)
    }

    fn in_units(&self, units: &[Unit]) -> Vec<Hit> {
        let mut spelled: Vec<Spelled> = vec![];
        let mut at = 0;
        while at < units.len() {
            match self.spelled_at(units, at) {
                Some(found) => {
                    // A name that is only a word here must not hide one that begins within it.
                    at = if found.ordinary { at + 1 } else { found.end };
                    spelled.push(found);
                }
                None => at += 1,
            }
        }
        meant(&spelled, units)
            .into_iter()
            .map(|s| Hit {
                start: units[s.first].start,
                end: units[s.end - 1].end,
                name: s.name,
            })
            .collect()
    }

    /// The longest name that begins at a unit; a certain one before an ordinary word.
    fn spelled_at(&self, units: &[Unit], first: usize) -> Option<Spelled> {
        if !begins(units, first) {
            return None;
        }
        let candidates = self.by_first.get(&class(units[first].c))?;
        let found = candidates.iter().filter_map(|&name| {
            let known = &self.names.all[name];
            let end = spell(known, units, first)?;
            let (end, joined) = tail(known.tail, units, end);
            let ordinary = known.ordinary && !joined;
            Some(Spelled {
                first,
                end,
                name,
                ordinary,
            })
        });
        found.max_by_key(|s| (!s.ordinary, s.end, std::cmp::Reverse(s.name)))
    }
}

/// The spelled names that are meant as names: all certain ones, and ordinary words in their company.
fn meant(spelled: &[Spelled], units: &[Unit]) -> Vec<Spelled> {
    let near = |a: usize, b: usize| {
        a <= b && b - a <= 2 && units[a..b].iter().all(|u| !u.c.is_alphanumeric())
    };
    let mut kept: Vec<Spelled> = spelled.iter().filter(|s| !s.ordinary).copied().collect();
    let mut open: Vec<Spelled> = spelled.iter().filter(|s| s.ordinary).copied().collect();
    loop {
        let (found, rest): (Vec<Spelled>, Vec<Spelled>) = open.into_iter().partition(|s| {
            let beside = |k: &Spelled| near(k.end, s.first) || near(s.end, k.first);
            announced(units, s.first) || answers(units, s.end) || kept.iter().any(beside)
        });
        if found.is_empty() {
            return kept;
        }
        kept.extend(found);
        open = rest;
    }
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

/// Hits in order, overlapping and neighbouring ones joined; a joined hit bears the name of the longest.
fn merged(mut hits: Vec<Hit>, text: &str) -> Vec<Hit> {
    hits.sort();
    let mut out: Vec<Hit> = vec![];
    for hit in hits {
        let Some(last) = out.last_mut() else {
            out.push(hit);
            continue;
        };
        let between = text.get(last.end..hit.start).unwrap_or_default();
        let beside = hit.start <= last.end
            || (between.len() <= 2 && between.chars().all(|c| matches!(c, ' ' | '-' | '/' | '_')));
        if beside {
            if hit.end - hit.start > last.end - last.start {
                last.name = hit.name;
            }
            last.end = last.end.max(hit.end);
        } else {
            out.push(hit);
        }
    }
    out
}
