//! Names with one letter wrong, missing, too many, or two in the wrong order.

use super::fold::Unit;
use super::names::{Freedom, Name};
use super::ordinary::is_ordinary;

/// Shorter names are other words with one letter changed.
const SHORTEST: usize = 7;

/// Whether a word with one wrong letter is taken for this name: a long one of the arms, of letters alone.
pub(super) fn may_be(name: &Name) -> bool {
    let letters = name.letters.iter().all(|c| c.is_alphabetic());
    name.given
        && name.inside
        && name.freedom == Freedom::Loose
        && letters
        && name.letters.len() >= SHORTEST
}

/// Words of letters alone, long enough to be a name, as ranges of units.
pub(super) fn words(units: &[Unit]) -> Vec<(usize, usize)> {
    let mut found = vec![];
    let mut at = 0;
    while at < units.len() {
        let run = units[at..].iter().take_while(|u| u.is_word());
        let end = at + run.count();
        if end - at + 1 >= SHORTEST {
            found.push((at, end));
        }
        at = end.max(at + 1);
    }
    found
}

/// Whether a word is a name but for one letter, and no ordinary word.
pub(super) fn is(name: &Name, word: &[Unit]) -> bool {
    let letters = &name.letters;
    if word.len().abs_diff(letters.len()) > 1 {
        return false;
    }
    let pairs = || letters.iter().zip(word);
    let start = pairs().take_while(|(c, u)| **c == u.c).count();
    let backward = letters.iter().rev().zip(word.iter().rev());
    let end = backward.take_while(|(c, u)| **c == u.c).count();
    let shorter = word.len().min(letters.len());
    let swapped = || {
        let wrong = start..start + 2;
        let (a, b) = (letters.get(wrong.clone()), word.get(wrong));
        a.zip(b)
            .is_some_and(|(a, b)| a[0] == b[1].c && a[1] == b[0].c)
    };
    let one = match word.len() == letters.len() {
        true => start + end + 1 >= shorter || (start + end + 2 == shorter && swapped()),
        false => start + end >= shorter,
    };
    one && !is_ordinary(&word.iter().map(|u| u.c).collect::<String>())
}
