//! Texts within a text: first letters of words, lines and sentences, letters called one by one, codes of letters.

use super::fold::Unit;

/// Widest gap in bytes between two letters that are called one after another.
const CALLED: usize = 40;
/// Widest gap in bytes between two numbers of one code.
const CODED: usize = 10;

/// What the Latin letters are called on the radio, in the order of the alphabet.
const RADIO: [&str; 26] = [
    "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet",
    "kilo", "lima", "mike", "november", "oscar", "papa", "quebec", "romeo", "sierra", "tango",
    "uniform", "victor", "whiskey", "xray", "yankee", "zulu",
];
/// Other spellings of these.
const RADIO_TOO: [(&str, char); 4] = [
    ("alfa", 'a'),
    ("juliett", 'j'),
    ("whisky", 'w'),
    ("quebeck", 'q'),
];
/// The Latin letters in Morse code.
const MORSE: [&str; 26] = [
    ".-", "-...", "-.-.", "-..", ".", "..-.", "--.", "....", "..", ".---", "-.-", ".-..", "--",
    "-.", "---", ".--.", "--.-", ".-.", "...", "-", "..-", "...-", ".--", "-..-", "-.--", "--..",
];

/// Letters that make a text of their own.
pub(super) struct Stream {
    /// The letters, each with the piece of the text that it stands for.
    pub units: Vec<Unit>,
    /// Shorter names are not looked for: their letters come together by accident.
    pub least: usize,
    /// Whether each piece is hidden for itself and what stands between is left.
    pub each: bool,
}

/// A piece of a text that has a letter for itself.
#[derive(Clone, Copy)]
struct Token {
    first: usize,
    /// One past its last unit.
    end: usize,
}

/// Every text within a folded text.
pub(super) fn streams(units: &[Unit]) -> Vec<Stream> {
    let tokens = tokens(units);
    let mut all = initials(units, &tokens);
    all.push(called(units, &tokens));
    all.push(coded(units, &tokens, 3, &radio));
    all.push(coded(units, &tokens, 3, &|t| letter(value(t, 10, 1..4)?)));
    all.push(coded(units, &tokens, 3, &|t| letter(value(t, 8, 3..4)?)));
    all.push(coded(units, &tokens, 3, &|t| letter(hexadecimal(t)?)));
    all.push(coded(units, &tokens, 3, &|t| letter(value(t, 2, 7..9)?)));
    all.push(coded(units, &tokens, 5, &|t| {
        let place = value(t, 10, 1..3).filter(|n| (1..=26).contains(n))?;
        letter(96 + place)
    }));
    all.push(bits(units, &tokens));
    all.push(morse(units));
    all
}

fn tokens(units: &[Unit]) -> Vec<Token> {
    let mut all = vec![];
    let mut at = 0;
    while at < units.len() {
        let run = units[at..].iter().take_while(|u| u.c.is_alphanumeric());
        let end = at + run.count();
        if end > at {
            all.push(Token { first: at, end });
        }
        at = end.max(at + 1);
    }
    all
}

fn text_of(units: &[Unit], token: Token) -> String {
    units[token.first..token.end].iter().map(|u| u.c).collect()
}

fn piece(units: &[Unit], token: Token, c: char) -> Unit {
    Unit {
        c,
        upper: false,
        start: units[token.first].start,
        end: units[token.end - 1].end,
    }
}

/// A place where a text within a text ends.
fn break_at(at: usize) -> Unit {
    Unit {
        c: ' ',
        upper: false,
        start: at,
        end: at,
    }
}

/// First letters of all words, of lines, and of sentences.
fn initials(units: &[Unit], tokens: &[Token]) -> Vec<Stream> {
    let mut words = Stream::new(6, true);
    let mut lines = Stream::new(5, true);
    let mut sentences = Stream::new(5, true);
    let mut before = 0;
    let lettered = |t: &&Token| units[t.first..t.end].iter().any(|u| u.c.is_alphabetic());
    for &token in tokens.iter().filter(lettered) {
        let initial = piece(units, token, units[token.first].c);
        words.units.push(initial);
        let between = &units[before..token.first];
        let line = before == 0 || between.iter().any(|u| u.c == '\n');
        if line {
            lines.units.push(initial);
        }
        if line || between.iter().any(|u| matches!(u.c, '.' | '!' | '?')) {
            sentences.units.push(initial);
        }
        before = token.end;
    }
    vec![words, lines, sentences]
}

/// Letters that stand alone, with a few words between: `Q as in queen, U as in umbrella`.
fn called(units: &[Unit], tokens: &[Token]) -> Stream {
    let mut stream = Stream::new(4, false);
    let alone = |t: &&Token| t.end - t.first == 1 && units[t.first].c.is_alphabetic();
    for &token in tokens.iter().filter(alone) {
        stream.push(piece(units, token, units[token.first].c), CALLED);
    }
    stream
}

/// Tokens that stand for a letter each.
fn coded(
    units: &[Unit],
    tokens: &[Token],
    least: usize,
    read: &dyn Fn(&str) -> Option<char>,
) -> Stream {
    let mut stream = Stream::new(least, false);
    for &token in tokens {
        let text = match token.end - token.first {
            1..=10 => text_of(units, token),
            _ => String::new(),
        };
        // `U+0071` and `chr(113)` have a word before each number.
        if let Some(c) = read(&text) {
            stream.push(piece(units, token, c), CODED);
        } else if !matches!(text.as_str(), "u" | "chr") {
            stream.units.push(break_at(units[token.first].start));
        }
    }
    stream
}

/// Long runs of binary digits, eight to a letter.
fn bits(units: &[Unit], tokens: &[Token]) -> Stream {
    let mut stream = Stream::new(3, false);
    let long = tokens
        .iter()
        .filter(|t| t.end - t.first > 8 && (t.end - t.first) % 8 == 0);
    for token in long {
        stream.units.push(break_at(units[token.first].start));
        for first in (token.first..token.end).step_by(8) {
            let eight = Token {
                first,
                end: first + 8,
            };
            let c = value(&text_of(units, eight), 2, 8..9).and_then(letter);
            stream.units.push(piece(units, eight, c.unwrap_or(' ')));
        }
    }
    stream
}

fn morse(units: &[Unit]) -> Stream {
    let sign = |c: char| match c {
        '.' | '·' | '•' | '∙' | '⋅' => Some('.'),
        '-' | '_' => Some('-'),
        _ => None,
    };
    let mut stream = Stream::new(3, false);
    let mut at = 0;
    while at < units.len() {
        let run = units[at..].iter().map_while(|u| sign(u.c));
        let code: String = run.take(6).collect();
        let end = at + code.len();
        if let Some(c) = MORSE.iter().position(|m| *m == code) {
            let token = Token { first: at, end };
            stream.push(piece(units, token, latin(c)), CODED);
        }
        at = end.max(at + 1);
    }
    stream
}

impl Stream {
    fn new(least: usize, each: bool) -> Self {
        Self {
            units: vec![],
            least,
            each,
        }
    }

    /// Adds a letter; one that stands too far from the last begins another text.
    fn push(&mut self, unit: Unit, widest: usize) {
        let far = |last: &Unit| unit.start > last.end + widest;
        if self.units.last().is_some_and(far) {
            self.units.push(break_at(unit.start));
        }
        self.units.push(unit);
    }
}

fn latin(at: usize) -> char {
    u8::try_from(at).map_or(' ', |at| char::from(b'a' + at % 26))
}

fn radio(text: &str) -> Option<char> {
    let known = RADIO.iter().position(|word| *word == text).map(latin);
    let other = RADIO_TOO.iter().find(|(word, _)| *word == text);
    known.or(other.map(|(_, c)| *c))
}

fn value(text: &str, radix: u32, digits: std::ops::Range<usize>) -> Option<u32> {
    let fits = digits.contains(&text.len()) && text.chars().all(|c| c.is_digit(radix));
    u32::from_str_radix(text, radix).ok().filter(|_| fits)
}

fn hexadecimal(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").or(text.strip_prefix('x'));
    let digits = digits.unwrap_or(text);
    let digits = digits.strip_prefix("00").unwrap_or(digits);
    value(digits, 16, 2..3)
}

/// The letter or digit of a code point, in lower case.
fn letter(code: u32) -> Option<char> {
    let c = char::from_u32(code)?.to_ascii_lowercase();
    (c.is_ascii_graphic() || c == ' ').then_some(c)
}

#[cfg(test)]
mod tests {
    use super::super::fold::fold;
    use super::*;

    #[test]
    fn codes_are_read() {
        for text in [
            "113 117 111 107",
            "[113,117,111,107]",
            "161 165 157 153",
            "71 75 6f 6b",
            "0x71, 0x75, 0x6F, 0x6B",
            "U+0071 U+0075 U+006F U+006B",
            "17-21-15-11",
            "chr(113) + chr(117) + chr(111) + chr(107)",
            "01110001 01110101 01101111 01101011",
            "01110001011101010110111101101011",
            "Quebec Uniform Oscar Kilo",
            "--.- ..- --- -.-",
            "Q as in queen, U as in umbrella, O as in orange and K as in key",
            "Quick\nUsers\nOften\nKnow",
        ] {
            let found = streams(&fold(text)).into_iter().any(|stream| {
                let letters: String = stream.units.iter().map(|u| u.c).collect();
                letters.contains("quok")
            });
            assert!(found, "{text}");
        }
    }
}
