//! Where names stand in a text, however they are written.

use std::collections::HashMap;

use super::around::{begins, tail, word_around};
use super::encoded::encoded;
use super::fold::{Unit, fold, readings};
use super::meant::{Spelled, meant};
use super::misspelled;
use super::names::{Freedom, Name, Names};
use super::spelling::{spell, stand_ins};
use super::streams::{Stream, streams};

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
    /// Names by their first letter and what passes for it.
    by_first: HashMap<char, Vec<usize>>,
    /// Names by their first two letters and what passes for them.
    by_two: HashMap<(char, char), Vec<usize>>,
    /// Names of which a word with one wrong letter is one too.
    misspelt: Vec<usize>,
}

impl Finder {
    /// Sorts the names by their first letters.
    pub fn new(names: Names) -> Self {
        let mut by_first: HashMap<char, Vec<usize>> = HashMap::new();
        let mut by_two: HashMap<(char, char), Vec<usize>> = HashMap::new();
        let signs = |letter: char| {
            [letter]
                .into_iter()
                .chain(stand_ins(letter).iter().copied())
        };
        for (at, name) in names.all.iter().enumerate() {
            for first in signs(name.letters[0]) {
                by_first.entry(first).or_default().push(at);
                for second in name.letters.get(1).into_iter().flat_map(|c| signs(*c)) {
                    by_two.entry((first, second)).or_default().push(at);
                }
            }
        }
        let misspelt = (0..names.all.len())
            .filter(|at| misspelled::may_be(&names.all[*at]))
            .collect();
        Self {
            names,
            by_first,
            by_two,
            misspelt,
        }
    }

    /// Names that may begin with two letters; the second counts where it is one, and not the first again.
    fn candidates(&self, units: &[Unit], first: usize) -> &[usize] {
        let c = units[first].c;
        let found = match units.get(first + 1).map(|u| u.c) {
            Some(next) if next.is_alphanumeric() && next != c => self.by_two.get(&(c, next)),
            _ => self.by_first.get(&c),
        };
        found.map_or(&[], Vec::as_slice)
    }

    /// A name by its place.
    pub fn name(&self, at: usize) -> &Name {
        &self.names.all[at]
    }

    /// Every name in a text, in order and without overlaps; names side by side are one hit.
    pub fn find(&self, text: &str) -> Vec<Hit> {
        let mut hits = vec![];
        for units in readings(text) {
            hits.extend(self.in_units(&units));
            hits.extend(self.in_words(&units));
            hits.extend(self.in_streams(&units));
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

    /// Words that are a name but for one letter.
    fn in_words(&self, units: &[Unit]) -> Vec<Hit> {
        let words = misspelled::words(units);
        let hit = |(first, end): (usize, usize)| {
            let name = *self
                .misspelt
                .iter()
                .find(|at| misspelled::is(&self.names.all[**at], &units[first..end]))?;
            Some(Hit {
                start: units[first].start,
                end: units[end - 1].end,
                name,
            })
        };
        match self.misspelt.is_empty() {
            true => vec![],
            false => words.into_iter().filter_map(hit).collect(),
        }
    }

    fn in_streams(&self, units: &[Unit]) -> Vec<Hit> {
        let streams = streams(units);
        streams.iter().flat_map(|s| self.in_stream(s)).collect()
    }

    /// Names that the letters of a stream spell, one after another.
    fn in_stream(&self, stream: &Stream) -> Vec<Hit> {
        let mut hits = vec![];
        let mut at = 0;
        while at < stream.units.len() {
            let Some((name, length)) = self.streamed_at(stream, at) else {
                at += 1;
                continue;
            };
            let run = &stream.units[at..at + length];
            let hit = |piece: &[Unit]| Hit {
                start: piece[0].start,
                end: piece[piece.len() - 1].end,
                name,
            };
            match stream.each {
                true => hits.extend(run.chunks(1).map(hit)),
                false => hits.push(hit(run)),
            }
            at += length;
        }
        hits
    }

    /// The longest name that the letters from a place on spell.
    fn streamed_at(&self, stream: &Stream, at: usize) -> Option<(usize, usize)> {
        let rest = &stream.units[at..];
        let next = rest.get(1)?.c;
        let candidates = self.by_two.get(&(rest[0].c, next))?;
        let spelled = candidates.iter().filter_map(|&place| {
            let name = &self.names.all[place];
            let looked_for = !name.ordinary && name.freedom != Freedom::Exact;
            let enough = name.letters.len() >= stream.least;
            let length = (looked_for && enough).then(|| streamed(name, rest))??;
            Some((place, length))
        });
        spelled.max_by_key(|&(place, _)| self.names.all[place].letters.len())
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

    /// The longest name that begins at a unit, with the word around it; a certain one before an ordinary
    /// word.
    fn spelled_at(&self, units: &[Unit], first: usize) -> Option<Spelled> {
        let begun = begins(units, first);
        let found = self.candidates(units, first).iter().filter_map(|&name| {
            let known = &self.names.all[name];
            if !(begun || known.inside || known.glued) {
                return None;
            }
            let end = spell(known, units, first)?;
            let (first, end) = word_around(known, units, first, end)?;
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

/// How many units spell a name one after another; a sign may stand where one does in the name.
fn streamed(name: &Name, units: &[Unit]) -> Option<usize> {
    let mut at = 0;
    for (letter, own) in name.letters.iter().zip(&name.own_gap) {
        at += usize::from(*own && units.get(at).is_some_and(|u| !u.c.is_alphanumeric()));
        if units.get(at)?.c != *letter {
            return None;
        }
        at += 1;
    }
    Some(at)
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
        // Letter by letter on lines of their own, masks would tell how long the name is.
        let again = last.name == hit.name;
        let joint = |c: char| matches!(c, ' ' | '-' | '/' | '_') || (again && c.is_whitespace());
        let beside = hit.start <= last.end || (between.len() <= 2 && between.chars().all(joint));
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
