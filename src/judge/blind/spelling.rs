//! How one name may be written.

use super::fold::Unit;
use super::lists::{VARIANTS, VARIANTS_APART};
use super::names::{Freedom, Name, Tail};
use super::ordinary::is_ordinary;

/// Most separators between two letters of one name; a run of white space counts as one.
const WIDEST_GAP: usize = 6;
/// The same where every letter stands apart.
const WIDEST_APART: usize = 16;
/// Names of so many letters may be broken anywhere and written with digits.
const LONG: usize = 5;
/// Most repeats of one letter within a name.
const LONGEST_REPEAT: usize = 32;
/// Longest tag of markup within a name.
const LONGEST_TAG: usize = 80;

/// What is written before and after a name without a blank, even a short one.
const GLUED: [&str; 58] = [
    "the",
    "my",
    "our",
    "your",
    "hi",
    "hey",
    "hello",
    "im",
    "iam",
    "ima",
    "imthe",
    "iamthe",
    "thisis",
    "itis",
    "its",
    "called",
    "named",
    "aka",
    "by",
    "madeby",
    "builtby",
    "poweredby",
    "from",
    "via",
    "using",
    "use",
    "ask",
    "call",
    "mr",
    "ms",
    "dr",
    "real",
    "super",
    "not",
    "just",
    "also",
    "bot",
    "bots",
    "ai",
    "agent",
    "agents",
    "assistant",
    "model",
    "models",
    "llm",
    "lm",
    "api",
    "chat",
    "here",
    "like",
    "based",
    "powered",
    "team",
    "inc",
    "labs",
    "lab",
    "app",
    "server",
];

/// Digits and signs that pass for a letter, the letter itself not among them.
pub(super) fn stand_ins(letter: char) -> &'static [char] {
    match letter {
        'a' => &['4', '@'],
        'b' => &['8', '6'],
        'c' => &['(', '¢'],
        'e' => &['3', '€'],
        'g' => &['9', '6'],
        'i' => &['1', 'l', '|', '!'],
        'l' => &['1', 'i', '|', '!', '£'],
        'o' => &['0'],
        'q' => &['9'],
        's' => &['5', '$'],
        't' => &['7', '+'],
        'y' => &['¥'],
        'z' => &['2'],
        _ => &[],
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
pub(super) fn ends(units: &[Unit], end: usize) -> bool {
    let Some(next) = units.get(end) else {
        return true;
    };
    let last = units[end - 1];
    !next.is_word()
        || (next.c.is_ascii_digit() && last.c.is_alphabetic())
        || (next.upper && !last.upper)
}

/// One past the last unit of a name that begins at `first`; its plural or possessive ending, and what it
/// is glued to, are not included.
pub(super) fn spell(name: &Name, units: &[Unit], first: usize) -> Option<usize> {
    let like = match name.freedom {
        Freedom::Exact => Likeness::Same,
        Freedom::Loose if name.letters.len() >= LONG => Likeness::Digits,
        _ => Likeness::Strokes,
    };
    // A sign such as `|` may stand for a letter or between letters.
    spelled(name, units, first, like, true).or_else(|| {
        let signs = like != Likeness::Same;
        signs.then(|| spelled(name, units, first, like, false))?
    })
}

/// How a name was broken on its way.
#[derive(Default)]
struct Breaks {
    /// Letters that are as in the name.
    exact: usize,
    /// Breaks where the name has none.
    broken: usize,
    /// Places where the name has none.
    breakable: usize,
    /// Whether a sentence ends in one of the breaks.
    sentence: bool,
    /// Whether a break holds a blank or an apostrophe, as between words.
    worded: bool,
    /// The widest break.
    widest: usize,
}

impl Breaks {
    fn add(&mut self, gap: &Gap, own: bool) {
        self.widest = self.widest.max(gap.width);
        if !own {
            self.broken += 1;
            self.sentence |= gap.sentence;
            self.worded |= gap.worded;
        }
    }

    fn allowed(&self, name: &Name) -> bool {
        let letters = name.letters.len();
        let apart = self.broken == self.breakable && letters >= 3;
        let narrow = self.widest <= WIDEST_GAP;
        let written = match name.freedom {
            _ if self.broken == 0 => narrow,
            Freedom::Exact => false,
            _ if apart => true,
            Freedom::Apart => narrow && !self.worded,
            Freedom::Loose => narrow && !self.sentence,
        };
        written && self.exact * 2 >= letters
    }
}

fn spelled(
    name: &Name,
    units: &[Unit],
    first: usize,
    like: Likeness,
    signs: bool,
) -> Option<usize> {
    let passes = |letter: char, c: char| {
        // A sign that masks a letter: `qu*kk`.
        let masked = || like == Likeness::Digits && matches!(c, '*' | '#' | '?');
        letter == c
            || (c.is_alphanumeric() && same(letter, c, like))
            || (signs && (same(letter, c, like) || masked()))
    };
    let stretch = like == Likeness::Digits;
    let mut at = first;
    let mut breaks = Breaks::default();
    for (k, &letter) in name.letters.iter().enumerate() {
        if k > 0 && !passes(letter, units.get(at)?.c) {
            if stretch {
                at = repeated(units, at);
            }
            if !passes(letter, units.get(at)?.c) {
                let gap = gap(units, at)?;
                at = gap.end;
                breaks.add(&gap, name.own_gap[k]);
            }
        }
        breaks.breakable += usize::from(k > 0 && !name.own_gap[k]);
        let unit = units.get(at)?;
        if !passes(letter, unit.c) {
            return None;
        }
        breaks.exact += usize::from(letter == unit.c);
        at += 1;
    }
    let end = if stretch { repeated(units, at) } else { at };
    breaks.allowed(name).then_some(end)
}

/// One past the units that repeat the letter before.
fn repeated(units: &[Unit], at: usize) -> usize {
    let before = units[at - 1].c;
    let rest = units[at..].iter().take(LONGEST_REPEAT);
    let same = rest.take_while(|u| u.c == before);
    at + if before.is_alphabetic() {
        same.count()
    } else {
        0
    }
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
            Likeness::Digits => stand_ins(letter).contains(&c),
        }
}

/// The whole word around a spelled name, if the name may stand within it.
pub(super) fn word_around(
    name: &Name,
    units: &[Unit],
    first: usize,
    end: usize,
) -> Option<(usize, usize)> {
    let begun = begins(units, first);
    if let Some(end) = ending(units, end).filter(|_| begun) {
        return Some((first, end));
    }
    // Within a word no blank belongs to a name: `renew products` names no `new-prod`.
    let blank = units[first..end].iter().any(|u| u.c.is_whitespace());
    if blank || !(name.inside || name.glued) {
        return None;
    }
    let reach = if name.inside { usize::MAX } else { 12 };
    let before = units[..first].iter().rev().take_while(|u| u.is_word());
    let after = units[end..].iter().take_while(|u| u.is_word());
    let start = if begun {
        first
    } else {
        first - before.take(reach).count()
    };
    let stop = end + after.take(reach).count();
    let glued = || glue(&units[start..first], name) && glue(&units[end..stop], name);
    // No philanthropic vendor is meant by every philanthropic deed.
    let word = || is_ordinary(&units[start..stop].iter().map(|u| u.c).collect::<String>());
    match name.inside {
        true => !word(),
        false => glued(),
    }
    .then_some((start, stop))
}

/// Whether letters beside a name are what names are glued to, or the name again.
fn glue(units: &[Unit], name: &Name) -> bool {
    let text: String = units.iter().map(|u| u.c).collect();
    let again: String = name.letters.iter().collect();
    let text = text.replace(&again, "");
    let text = text.trim_matches(|c: char| c.is_ascii_digit());
    text.is_empty() || GLUED.contains(&text)
}

/// What stands between two letters.
struct Gap {
    end: usize,
    /// Separators.
    width: usize,
    /// Whether it holds a blank or an apostrophe, as between words.
    worded: bool,
    /// A full stop with a blank after it ends a sentence, and no name goes on behind it.
    sentence: bool,
}

fn gap(units: &[Unit], from: usize) -> Option<Gap> {
    let mut gap = Gap {
        end: from,
        width: 0,
        worded: false,
        sentence: false,
    };
    while let Some(unit) = units
        .get(gap.end)
        .filter(|u| !u.c.is_alphanumeric() && gap.width <= WIDEST_APART)
    {
        let at = gap.end;
        if let Some(end) = tag(units, at) {
            gap.end = end;
        } else if unit.c.is_whitespace() {
            let run = units[at..].iter().take_while(|u| u.c.is_whitespace());
            gap.end += run.count();
            gap.width += 1;
            // A hyphen at the end of a line breaks one word.
            let hyphen = at > from && units[at - 1].c == '-' && unit.c != ' ';
            gap.worded |= !hyphen;
        } else {
            let blank = units.get(at + 1).is_some_and(|u| u.c.is_whitespace());
            gap.sentence |= blank && matches!(unit.c, '.' | '!' | '?' | ':' | ';');
            gap.worded |= matches!(unit.c, '\'' | '’');
            gap.end += 1;
            gap.width += 1;
        }
    }
    (gap.end > from && gap.width <= WIDEST_APART).then_some(gap)
}

/// One past a short tag of markup.
fn tag(units: &[Unit], at: usize) -> Option<usize> {
    if units[at].c != '<' {
        return None;
    }
    let close = units[at..]
        .iter()
        .take(LONGEST_TAG)
        .position(|u| u.c == '>')?;
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
