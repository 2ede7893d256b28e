//! The word around a name, and the version after it.

use super::fold::{Unit, is_ideographic};
use super::lists::{VARIANTS, VARIANTS_APART};
use super::names::{Name, Tail};
use super::ordinary::is_ordinary;

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

/// Whether a word can begin at a unit: after a blank, a sign, a digit, or a change from small to
/// capital letters; scripts without blanks begin one anywhere.
pub(super) fn begins(units: &[Unit], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|i| units[i]) else {
        return true;
    };
    let here = units[at];
    !before.is_word()
        || is_ideographic(here.c)
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
        || is_ideographic(last.c)
        || (next.c.is_ascii_digit() && last.c.is_alphabetic())
        || (next.upper && !last.upper)
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
    // `kim1937` is nobody's model: digits pass for letters of a short name only where it stands alone.
    let lettered = || !units[first..end].iter().any(|u| u.c.is_ascii_digit());
    let glued = || lettered() && glue(&units[start..first], name) && glue(&units[end..stop], name);
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
