//! What a terminal obeys and does not show: colours, moves of the cursor, links, other control characters.
//!
//! Output of commands is full of it, and a model reads the names through it. After ECMA-48 (control
//! sequences) and xterm (`OSC`).

use super::fold::Unit;

/// Longest list of parameters of a control sequence.
const LONGEST_LIST: usize = 32;
/// Longest text of a command to the terminal, such as the address of a link.
const LONGEST_COMMAND: usize = 300;

/// A text as a terminal shows it: control characters gone, and with a backspace the character before it.
pub(super) fn erased(units: &[Unit]) -> Vec<Unit> {
    let mut out: Vec<Unit> = Vec::with_capacity(units.len());
    let mut struck = None;
    let mut at = 0;
    while at < units.len() {
        let unit = units[at];
        let used = control(&units[at..], true);
        if unit.c == '\u{8}' {
            struck = out.pop().map(|u| u.start).or(struck);
        } else if used == 0 {
            let start = struck.take().unwrap_or(unit.start);
            out.push(Unit { start, ..unit });
        }
        at += used.max(1);
    }
    out
}

/// A text with a blank for each control, so that a word may end there; `None` if it has none.
pub(super) fn parted(units: &[Unit]) -> Option<Vec<Unit>> {
    let mut out = Vec::with_capacity(units.len());
    let mut any = false;
    let mut at = 0;
    while at < units.len() {
        let used = control(&units[at..], false);
        let unit = units[at];
        let c = if used > 0 { ' ' } else { unit.c };
        let end = units[at + used.saturating_sub(1)].end;
        out.push(Unit { c, end, ..unit });
        any |= used > 0;
        at += used.max(1);
    }
    any.then_some(out)
}

/// How many units from the first on are a control; with `whole`, the text of a command belongs to it, and
/// the letter that ends a sequence without numbers.
fn control(rest: &[Unit], whole: bool) -> usize {
    let next = rest.get(1).map(|u| u.c);
    match (rest[0].c, next) {
        ('\u{1b}' | '␛', Some('[')) => sequence(rest, 2, whole),
        ('\u{9b}', _) => sequence(rest, 1, whole),
        ('\u{1b}' | '␛', Some(']')) => command(rest, 2, whole),
        ('\u{9d}', _) => command(rest, 1, whole),
        ('\u{1b}' | '␛', Some('(' | ')' | '#')) => rest.len().min(3),
        ('\u{1b}' | '␛', Some('7' | '8' | '=' | '>' | '\\')) => 2,
        // Some logs keep the colour and lose the escape before it.
        ('[', Some('0'..='9')) => colour(rest),
        (c, _) => usize::from(is_control(c)),
    }
}

fn is_control(c: char) -> bool {
    let picture = matches!(c, '\u{2400}'..='\u{2408}' | '\u{240e}'..='\u{241f}');
    picture || (c.is_control() && !c.is_whitespace())
}

/// `[31;1m` with what stands before it; only what begins it where no letter ends it.
fn sequence(rest: &[Unit], from: usize, whole: bool) -> usize {
    let numbers = numbers(rest, from);
    match rest.get(from + numbers).map(|u| u.c) {
        Some('@'..='~') if numbers > 0 => from + numbers + 1,
        Some('m' | 'K' | 'H' | 'J') if whole => from + 1,
        _ => from,
    }
}

fn numbers(rest: &[Unit], from: usize) -> usize {
    let list = rest.iter().skip(from).take(LONGEST_LIST);
    list.take_while(|u| matches!(u.c, '0'..='?')).count()
}

fn colour(rest: &[Unit]) -> usize {
    let numbers = numbers(rest, 1);
    match rest.get(1 + numbers).map(|u| u.c) {
        Some('m') => numbers + 2,
        _ => 0,
    }
}

/// A command to the terminal up to the sign that ends it.
fn command(rest: &[Unit], from: usize, whole: bool) -> usize {
    let text = rest.iter().skip(from).take(LONGEST_COMMAND);
    let ends = |u: &Unit| matches!(u.c, '\u{7}' | '\u{1b}' | '␛' | '\u{9c}');
    let length = text.clone().position(ends).filter(|_| whole);
    length.map_or(from, |length| from + length)
}

#[cfg(test)]
mod tests {
    use super::super::fold::plain;
    use super::*;

    fn shown(text: &str) -> String {
        erased(&plain(text)).iter().map(|u| u.c).collect()
    }

    #[test]
    fn a_terminal_shows_the_text_alone() {
        for text in [
            "a\u{1b}[31mzed\u{1b}[0m b",
            "a\u{1b}[38;5;196mzed\u{1b}[m b",
            "a\u{9b}1mzed\u{9b}0m b",
            "a[1mzed[0m b",
            "azx\u{8}e\u{8}ed b",
            "az\u{0}e\u{7}d\u{7f} b",
            "a\u{1b}]8;;https://x.example\u{7}zed\u{1b}]8;;\u{1b}\\ b",
            "a\u{1b}(Bz\u{1b}7ed b",
            "␛[1mazed␛[0m b",
        ] {
            assert_eq!(shown(text), "azed b", "{text:?}");
        }
        for text in ["see [3] and [31 m]", "a\tb\nc\r\n", "[1m"] {
            let kept = if text == "[1m" { "" } else { text };
            assert_eq!(shown(text), kept);
        }
    }

    #[test]
    fn words_end_at_a_control() {
        let of = |text: &str| {
            let units = parted(&plain(text))?;
            Some(units.iter().map(|u| u.c).collect::<String>())
        };
        assert_eq!(of("ok\u{1b}[31mzed\u{1b}[0m.").unwrap(), "ok zed .");
        assert_eq!(of("\u{1b}[mega").unwrap(), " mega");
        assert_eq!(
            of("\u{1b}]8;;http://zed.example\u{7}x").unwrap(),
            " 8;;http://zed.example x"
        );
        assert_eq!(of("plain [text] 31m"), None);
    }

    #[test]
    fn struck_letters_go_with_the_letter_over_them() {
        let units = erased(&plain("z\u{8}ze\u{8}e"));
        assert_eq!((units[0].start, units[0].end), (0, 3));
        assert_eq!((units[1].start, units[1].end), (3, 6));
    }
}
