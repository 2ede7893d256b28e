//! Where names stand in a text, however they are written.

use std::collections::HashMap;

use super::encoded::encoded;
use super::fold::{Unit, fold, fold_decoded};
use super::lists::{ANNOUNCING, MAKING, VARIANTS, VARIANTS_APART};
use super::names::{Freedom, Name, Names};

/// Most separators between two letters of one name; a run of white space counts as one.
const WIDEST_GAP: usize = 3;
/// Names of so many letters may be broken anywhere and written with digits.
const LONG: usize = 5;

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
            let (end, joined) = if known.tail {
                tail(units, end)
            } else {
                (end, false)
            };
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

/// Letters and the digits that pass for them, as one.
fn class(c: char) -> char {
    match c {
        '0' => 'o',
        '1' | 'l' | '|' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    }
}

/// Whether a word can begin at a unit: after a blank, a sign, a digit, or a change from small to
/// capital letters.
fn begins(units: &[Unit], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|i| units[i]) else {
        return true;
    };
    let here = units[at];
    !before.is_word()
        || (before.c.is_ascii_digit() && here.c.is_alphabetic())
        || (!before.upper && here.upper)
}

/// Whether a word can end before a unit.
fn ends(units: &[Unit], end: usize) -> bool {
    let Some(next) = units.get(end) else {
        return true;
    };
    let last = units[end - 1];
    !next.is_word()
        || (next.c.is_ascii_digit() && last.c.is_alphabetic())
        || (next.upper && !last.upper)
}

/// One past the last unit of a name that begins at `first`, its plural or possessive ending included.
fn spell(name: &Name, units: &[Unit], first: usize) -> Option<usize> {
    let like = match name.freedom {
        Freedom::Exact => Likeness::Same,
        Freedom::Loose if name.letters.len() >= LONG => Likeness::Digits,
        _ => Likeness::Strokes,
    };
    let mut at = first;
    let mut exact = 0;
    let mut broken = 0;
    let mut breakable = 0;
    let mut sentence = false;
    for (k, &letter) in name.letters.iter().enumerate() {
        if k > 0 && !same(letter, units.get(at)?.c, like) {
            let gap = gap(units, at)?;
            at = gap.end;
            if !name.own_gap[k] {
                broken += 1;
                sentence |= gap.sentence;
            }
        }
        if k > 0 && !name.own_gap[k] {
            breakable += 1;
        }
        let unit = units.get(at)?;
        if !same(letter, unit.c, like) {
            return None;
        }
        exact += usize::from(letter == unit.c);
        at += 1;
    }
    let apart = broken == breakable && name.letters.len() >= 3;
    let written = match name.freedom {
        _ if broken == 0 => true,
        Freedom::Exact => false,
        Freedom::Apart => apart,
        Freedom::Loose => apart || !sentence,
    };
    (written && exact * 2 >= name.letters.len())
        .then(|| ending(units, at))
        .flatten()
}

/// Which characters pass for a letter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Likeness {
    /// Only itself.
    Same,
    /// Strokes and rings for each other: `l`, `I`, `1`, `|`; `o`, `0`.
    Strokes,
    /// Also digits and signs that stand for letters.
    Digits,
}

fn same(letter: char, c: char, like: Likeness) -> bool {
    let strokes = || matches!((letter, c), ('o', '0') | ('l' | 'i', '1' | 'l' | 'i' | '|'));
    letter == c
        || match like {
            Likeness::Same => false,
            Likeness::Strokes => strokes(),
            Likeness::Digits => class(letter) == class(c),
        }
}

/// What stands between two letters.
struct Gap {
    end: usize,
    /// A full stop with a blank after it ends a sentence, and no name goes on behind it.
    sentence: bool,
}

fn gap(units: &[Unit], from: usize) -> Option<Gap> {
    let mut at = from;
    let mut width = 0;
    let mut sentence = false;
    while let Some(unit) = units
        .get(at)
        .filter(|u| !u.is_word() && !u.c.is_alphanumeric())
    {
        if let Some(end) = tag(units, at) {
            at = end;
        } else if unit.c.is_whitespace() {
            let run = units[at..].iter().take_while(|u| u.c.is_whitespace());
            at += run.count();
            width += 1;
        } else {
            let blank = units.get(at + 1).is_some_and(|u| u.c.is_whitespace());
            sentence |= blank && matches!(unit.c, '.' | '!' | '?' | ':' | ';');
            at += 1;
            width += 1;
        }
    }
    (at > from && width <= WIDEST_GAP).then_some(Gap { end: at, sentence })
}

/// One past a short tag of markup.
fn tag(units: &[Unit], at: usize) -> Option<usize> {
    if units[at].c != '<' {
        return None;
    }
    let close = units[at..].iter().take(12).position(|u| u.c == '>')?;
    (close > 1).then_some(at + close + 1)
}

/// The end of a word, after the ending of a plural or possessive.
fn ending(units: &[Unit], at: usize) -> Option<usize> {
    let letter = |i: usize| units.get(i).map(|u| u.c);
    let apostrophe = matches!(letter(at), Some('\'' | '’' | '`' | 'ʼ'));
    let with = match (letter(at), letter(at + 1)) {
        (Some('s'), _) => Some(at + 1),
        (Some(_), Some('s')) if apostrophe => Some(at + 2),
        (Some('e'), Some('s')) => Some(at + 2),
        _ => None,
    };
    with.filter(|&end| ends(units, end))
        .or_else(|| ends(units, at).then_some(at))
}

/// Versions and variants after the name of a family; and whether one was joined to it by a sign.
fn tail(units: &[Unit], end: usize) -> (usize, bool) {
    let mut end = end;
    let mut joined = false;
    while let Some(next) = units.get(end) {
        let apart = next.c.is_whitespace();
        let sign = matches!(next.c, '-' | '_' | '.' | '/' | ':' | '@') || apart;
        let from = if sign { end + 1 } else { end };
        let word: String = units
            .get(from..)
            .unwrap_or_default()
            .iter()
            .map(|u| u.c)
            .take_while(|c| c.is_alphanumeric())
            .collect();
        let digit = word.starts_with(|c: char| c.is_ascii_digit());
        let version = word
            .strip_prefix('v')
            .is_some_and(|v| !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit()));
        let list = if apart { VARIANTS_APART } else { VARIANTS };
        let known = digit || version || list.contains(&word.as_str());
        // Without a sign between them only digits go on: `gpt4`, and not `gptmini`.
        if !known || word.chars().count() > 10 || (!sign && !digit) {
            break;
        }
        joined |= !apart;
        end = from + word.chars().count();
    }
    (end, joined)
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
            announced(units, s.first) || kept.iter().any(beside)
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
        Some("by") => words.next().is_some_and(|verb| MAKING.contains(&verb)),
        Some(word) => ANNOUNCING.contains(&word),
        None => false,
    }
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
