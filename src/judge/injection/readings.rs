//! A text as rules are tried on it: as it stands, with digits as letters, with spaced words joined.

use crate::judge::blind::{Unit, fold};

/// Invisible characters between letters, or as letters of their own, that are no accident.
const UNSEEN: usize = 3;

/// The text folded, and what else it may say; each letter with its place.
pub(super) fn readings(text: &str) -> Vec<Vec<Unit>> {
    let folded = fold(text);
    let mut all = vec![joined(&folded)];
    for one in ['l', 'i'] {
        let lettered = lettered(&folded, one);
        all.push(joined(&lettered));
        all.push(lettered);
    }
    all.retain(|reading| *reading != folded);
    all.dedup();
    all.insert(0, folded);
    all
}

/// Digits within words as the letters that they pass for; `1` passes for two.
fn lettered(units: &[Unit], one: char) -> Vec<Unit> {
    let mut out = units.to_vec();
    let word = |unit: Option<&Unit>| unit.is_some_and(|u| u.c.is_alphabetic());
    for at in 0..out.len() {
        let beside = word(at.checked_sub(1).and_then(|i| out.get(i))) || word(units.get(at + 1));
        let letter = match out[at].c {
            '0' => 'o',
            '1' => one,
            '3' => 'e',
            '4' | '@' => 'a',
            '5' | '$' => 's',
            '7' => 't',
            '8' => 'b',
            other => other,
        };
        if beside {
            out[at].c = letter;
        }
    }
    out
}

/// Four or more letters with a blank or a sign between each are one word.
fn joined(units: &[Unit]) -> Vec<Unit> {
    let letter = |at: usize| units.get(at).is_some_and(|u| u.c.is_alphabetic());
    let alone = |at: usize| letter(at) && !letter(at + 1) && (at == 0 || !letter(at - 1));
    let mut out = Vec::with_capacity(units.len());
    let mut at = 0;
    while at < units.len() {
        let mut letters = 0;
        while alone(at + 2 * letters) {
            letters += 1;
        }
        if letters >= 4 {
            out.extend((0..letters).map(|k| units[at + 2 * k]));
            at += 2 * letters - 1;
        } else {
            out.push(units[at]);
            at += 1;
        }
    }
    out
}

/// The first byte of text that people do not see and models read: letters of tags, invisible characters
/// within Latin words, controls that turn the direction of Latin text.
pub(super) fn unseen(text: &str) -> Option<usize> {
    let mut first = None;
    let (mut seen, mut flag) = (0, false);
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let tag = matches!(c as u32, 0xE0020..=0xE007E) && !flag;
        let between = matches!(c as u32, 0x200B | 0x2060..=0x2064 | 0xFEFF);
        let turned = matches!(c as u32, 0x202D | 0x202E);
        // A black flag and tags are the flag of a country.
        flag = c as u32 == 0x1F3F4 || (flag && matches!(c as u32, 0xE0020..=0xE007F));
        let counts = tag || turned || (between && before.is_ascii_alphanumeric());
        if counts {
            seen += if turned { UNSEEN } else { 1 };
            first = first.or(Some(at));
        }
        before = c;
    }
    first.filter(|_| seen >= UNSEEN)
}
