//! Turns a JSON parser's complaint into an error that a person can act on.

use std::io;

use serde_json::error::Category;

use crate::base::Error;

/// Where the parser stood when it gave up.
pub(crate) struct Stop<'a> {
    /// Name of the source.
    pub source: &'a str,
    /// Number of the record, from 1.
    pub record: u64,
    /// Line on which the record began, from 1.
    pub start: u64,
    /// Line of the fault, from 1.
    pub line: u64,
    /// The bytes just before and at the fault.
    pub tail: &'a [u8],
}

/// Explains why a record could not be parsed.
pub(crate) fn explain(error: &serde_json::Error, stop: &Stop<'_>) -> Error {
    match error.classify() {
        Category::Io => return io_trouble(error, stop),
        Category::Eof => {
            return Error::input(format!(
                "the data ends in or after record {} (begun on line {}): it is truncated",
                stop.record, stop.start
            ))
            .at(stop.source, stop.line)
            .hint("copy the file again, or remove the cut record");
        }
        Category::Syntax | Category::Data => {}
    }
    if is_not_a_number(stop.tail) {
        return Error::input(format!(
            "record {}: NaN and Infinity are not JSON and not measurements",
            stop.record
        ))
        .at(stop.source, stop.line)
        .hint("leave out what was not measured, or write null");
    }
    let reason = reason(error);
    Error::input(format!(
        "record {} (begun on line {}) is not JSON of the expected form: {reason}, column {}",
        stop.record,
        stop.start,
        error.column()
    ))
    .at(stop.source, stop.line)
}

/// The parser's message without the position, which the error carries itself.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

fn io_trouble(error: &serde_json::Error, stop: &Stop<'_>) -> Error {
    read_trouble(
        error.io_error_kind().unwrap_or(io::ErrorKind::Other),
        &reason(error),
        stop.source,
        stop.line,
    )
}

/// Explains why bytes could not be read: damaged data is the user's, the rest is ours.
pub(crate) fn read_trouble(kind: io::ErrorKind, reason: &str, source: &str, line: u64) -> Error {
    match kind {
        io::ErrorKind::UnexpectedEof => {
            Error::input(format!("the compressed data ends early: {reason}")).at(source, line)
        }
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            Error::input(format!("the data is damaged: {reason}")).at(source, line)
        }
        _ => Error::io(format!("can't read: {reason}")).at(source, line),
    }
}

/// Whether the parser stopped at `NaN`, `nan`, `Infinity` or `-Infinity` in place of a value.
fn is_not_a_number(tail: &[u8]) -> bool {
    let text: Vec<u8> = tail
        .iter()
        .copied()
        .filter(|b| !b.is_ascii_whitespace() && *b != 0)
        .collect();
    let begin = text.iter().rposition(|b| matches!(b, b':' | b',' | b'['));
    let word = &text[begin.map_or(0, |at| at + 1)..];
    // A single `n` may begin `null`, and a lone `-` any number.
    let says = word.len() > 1 || matches!(word, b"N" | b"I");
    let words = [
        &b"NaN"[..],
        b"nan",
        b"-NaN",
        b"-nan",
        b"Infinity",
        b"-Infinity",
        b"-inf",
    ];
    says && words.iter().any(|w| w.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_value_position_is_not_a_number() {
        for tail in [
            &b"\"a\": N"[..],
            b"[N",
            b"1,\n -I",
            b"1, I",
            b"\"score\":na",
        ] {
            assert!(is_not_a_number(tail), "{:?}", String::from_utf8_lossy(tail));
        }
        for tail in [&b"\"a\": x"[..], b"fooN", b"\"I"] {
            assert!(
                !is_not_a_number(tail),
                "{:?}",
                String::from_utf8_lossy(tail)
            );
        }
    }
}
