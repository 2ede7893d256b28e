//! How one name may be written.

use super::fold::Unit;
use super::gap::{Gap, gap};
use super::names::{Freedom, Name};

/// Most separators between two letters of one name; a run of white space counts as one.
const WIDEST_GAP: usize = 6;
/// Names of so many letters may be broken anywhere and written with digits.
const LONG: usize = 5;
/// Most repeats of one letter within a name.
const LONGEST_REPEAT: usize = 32;

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
        if name.is_ideographic() {
            return self.widest <= WIDEST_GAP && (self.broken == 0 || !self.sentence);
        }
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
    let passes = |letter: char, at: usize| {
        let c = units[at].c;
        // A sign that masks a letter: `qu*kk`.
        let masked = || like == Likeness::Digits && matches!(c, '*' | '#' | '?');
        // In `lliixx` the second `l` passes for no `i`, where signs pass for no letter either.
        let again = || at > first && units[at - 1].c == c && c.is_alphabetic();
        letter == c
            || (c.is_alphanumeric() && same(letter, c, like) && (signs || !again()))
            || (signs && (same(letter, c, like) || masked()))
    };
    let stretch = like == Likeness::Digits;
    let mut at = first;
    let mut breaks = Breaks::default();
    for (k, &letter) in name.letters.iter().enumerate() {
        units.get(at)?;
        let own = k > 0 && name.own_gap[k];
        if own && passes(letter, at) && name.is_number() {
            // `10.0.0.5` is no order 10005.
            return None;
        }
        if k > 0 && !passes(letter, at) {
            if stretch {
                at = repeated(units, at);
            }
            units.get(at)?;
            if !passes(letter, at) {
                let gap = gap(units, at)?;
                at = gap.end;
                breaks.add(&gap, name.own_gap[k]);
            }
        }
        breaks.breakable += usize::from(k > 0 && !name.own_gap[k]);
        let unit = units.get(at)?;
        if !passes(letter, at) {
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
