//! How one name may be written.

use super::fold::Unit;
use super::lists::{VARIANTS, VARIANTS_APART};
use super::names::{Freedom, Name, Tail};

/// Most separators between two letters of one name; a run of white space counts as one.
const WIDEST_GAP: usize = 3;
/// Names of so many letters may be broken anywhere and written with digits.
const LONG: usize = 5;

/// Letters and the digits that pass for them, as one.
pub(super) fn class(c: char) -> char {
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
pub(super) fn begins(units: &[Unit], at: usize) -> bool {
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
pub(super) fn spell(name: &Name, units: &[Unit], first: usize) -> Option<usize> {
    let like = match name.freedom {
        Freedom::Exact => Likeness::Same,
        Freedom::Loose if name.letters.len() >= LONG => Likeness::Digits,
        _ => Likeness::Strokes,
    };
    // A sign such as `|` may stand for a letter or between letters.
    spelled(name, units, first, like, true).or_else(|| spelled(name, units, first, like, false))
}

fn spelled(
    name: &Name,
    units: &[Unit],
    first: usize,
    like: Likeness,
    signs: bool,
) -> Option<usize> {
    let same = |letter: char, c: char| {
        letter == c || ((signs || c.is_alphanumeric()) && same(letter, c, like))
    };
    let mut at = first;
    let mut exact = 0;
    let mut broken = 0;
    let mut breakable = 0;
    let mut sentence = false;
    for (k, &letter) in name.letters.iter().enumerate() {
        if k > 0 && !same(letter, units.get(at)?.c) {
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
        if !same(letter, unit.c) {
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

/// Versions and variants after a name; and whether one was joined to it by a sign.
pub(super) fn tail(kind: Tail, units: &[Unit], end: usize) -> (usize, bool) {
    let mut end = end;
    let mut joined = false;
    while let Some(next) = units.get(end).filter(|_| kind > Tail::None) {
        let apart = next.c.is_whitespace();
        if apart && kind == Tail::Joined {
            break;
        }
        let is_sign = |c: char| matches!(c, '-' | '_' | '.' | '/' | ':' | '@');
        let signs = units[end..].iter().take_while(|u| is_sign(u.c)).count();
        let from = match (apart, signs) {
            (true, _) => end + 1,
            (false, 0..=2) => end + signs,
            _ => break,
        };
        let word: String = units
            .get(from..)
            .unwrap_or_default()
            .iter()
            .map(|u| u.c)
            .take_while(|c| c.is_alphanumeric())
            .collect();
        if !is_version(&word, apart, signs > 0) {
            break;
        }
        joined |= !apart;
        end = from + word.chars().count();
    }
    (end, joined)
}

/// Whether a word says which model of a family: a number, `k2`, `v3`, or the name of a variant. Without a
/// sign before it only a number does: `gpt4`, and not `gptmini`.
fn is_version(word: &str, apart: bool, sign: bool) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = word.starts_with(|c: char| c.is_ascii_digit());
    let lettered = word.len() <= 4 && word.get(1..).is_some_and(digits);
    let list = if apart { VARIANTS_APART } else { VARIANTS };
    let known = number || (lettered && !apart) || list.contains(&word);
    known && word.chars().count() <= 10 && (apart || sign || number)
}
