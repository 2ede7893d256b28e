//! Keys behind JSON's escapes: a text may hold JSON, whose texts hold JSON, and any letter may be escaped.

use std::ops::Range;

/// How many times JSON may stand within JSON.
const DEPTH: usize = 3;

/// A text with one layer of escapes taken away, and where each of its bytes came from.
struct Layer {
    text: String,
    /// For each byte, the bytes of the first text that it stands for.
    from: Vec<Range<usize>>,
}

/// Where in a text one of these keys stands once JSON's escapes (RFC 8259, section 7) are taken away, up to
/// three times over; in order, and apart from each other.
pub(super) fn find(text: &str, keys: &[String]) -> Vec<Range<usize>> {
    let mut found = vec![];
    let mut layer = Layer {
        text: text.to_owned(),
        from: (0..text.len()).map(|at| at..at + 1).collect(),
    };
    for _ in 0..DEPTH {
        if !layer.text.contains('\\') {
            break;
        }
        layer = layer.without_escapes();
        for key in keys.iter().filter(|key| !key.is_empty()) {
            let hits = layer.text.match_indices(key.as_str());
            found.extend(hits.map(|(at, _)| layer.origin(at..at + key.len())));
        }
    }
    merged(found)
}

impl Layer {
    fn without_escapes(&self) -> Self {
        let mut next = Self {
            text: String::new(),
            from: vec![],
        };
        let mut at = 0;
        while let Some(letter) = self.text[at..].chars().next() {
            let (letter, length) = escape(&self.text[at..]).unwrap_or((letter, letter.len_utf8()));
            let from = self.origin(at..at + length);
            next.text.push(letter);
            next.from.resize(next.text.len(), from);
            at += length;
        }
        next
    }

    fn origin(&self, range: Range<usize>) -> Range<usize> {
        self.from[range.start].start..self.from[range.end - 1].end
    }
}

/// The letter that an escape at the start of a text stands for, and its length. A half of a pair of
/// surrogates stands for no letter, and keys hold none.
fn escape(text: &str) -> Option<(char, usize)> {
    let rest = text.strip_prefix('\\')?;
    let letter = match rest.chars().next()? {
        'u' => {
            let digits = rest.get(1..5)?;
            let code = u32::from_str_radix(digits, 16).ok()?;
            return Some((char::from_u32(code)?, 6));
        }
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        plain @ ('"' | '\\' | '/') => plain,
        _ => return None,
    };
    Some((letter, 2))
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut apart: Vec<Range<usize>> = vec![];
    for range in ranges {
        match apart.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        let keys = ["sk-live/1".to_owned(), String::new()];
        find(text, &keys).into_iter().map(|at| &text[at]).collect()
    }

    #[test]
    fn keys_are_found_behind_any_escape_and_any_depth() {
        assert_eq!(cut(r"a sk-live\/1 b"), [r"sk-live\/1"]);
        assert_eq!(
            cut(r#"ä {"k": "\u0073k\u002dlive/1", "l": "sk-live\u002F1"}"#),
            [r"\u0073k\u002dlive/1", r"sk-live\u002F1"]
        );
        assert_eq!(cut(r"x \\u0073k-live\\/1"), [r"\\u0073k-live\\/1"]);
        assert_eq!(cut(r"x \\\\u0073k-live/1"), [r"\\\\u0073k-live/1"]);
    }

    #[test]
    fn texts_without_the_key_are_left_however_they_are_escaped() {
        for text in [
            "",
            "\\",
            r"\u",
            r"\u00",
            r"\ud800 sk",
            r"sk-live\n1",
            "\\ü",
            r"C:\users\x",
        ] {
            assert_eq!(cut(text), Vec::<&str>::new(), "{text}");
        }
    }
}
