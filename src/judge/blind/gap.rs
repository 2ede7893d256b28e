//! What may stand between two letters of one name.

use super::fold::Unit;

/// Most separators between two letters of a name of which every letter stands apart; a run of white space
/// counts as one.
const WIDEST_APART: usize = 16;
/// Longest tag of markup within a name.
const LONGEST_TAG: usize = 80;

/// What stands between two letters.
pub(super) struct Gap {
    /// One past its last unit.
    pub end: usize,
    /// Separators.
    pub width: usize,
    /// Whether it holds a blank or an apostrophe, as between words.
    pub worded: bool,
    /// A full stop with a blank after it ends a sentence, and no name goes on behind it.
    pub sentence: bool,
}

/// What stands from a unit on before the next letter; `None` for nothing, or too much.
pub(super) fn gap(units: &[Unit], from: usize) -> Option<Gap> {
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
            gap.sentence |= matches!(unit.c, '。' | '、' | '，' | '！' | '？' | '：' | '；');
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
