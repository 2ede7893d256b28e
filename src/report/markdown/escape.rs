//! Text of agents and users as text in Markdown, whatever it holds.

/// A text as one line of Markdown that shows the text itself, in a table cell, a list item or a
/// paragraph.
///
/// Line breaks and runs of white space become one blank. What would start a cell, a link, an
/// emphasis, HTML, mathematics, a heading or a list is escaped; a pipe becomes an entity, so that no
/// dialect of tables can see it. Control characters and direction overrides, which could hide or
/// reorder what stands beside them, become U+FFFD, and a text written from right to left is isolated
/// (Unicode Standard Annex 9), so that it does not move the numbers in the next cell.
///
/// Plain identifiers such as `must_ask_before_write` stay as they are and can be searched for.
pub(super) fn escape(text: &str) -> String {
    let line = text.split(breaks).filter(|word| !word.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    let chars: Vec<char> = line.chars().collect();
    let mut out = String::with_capacity(line.len());
    let marker = list_marker(&chars);
    for (i, &c) in chars.iter().enumerate() {
        if Some(i) == marker {
            out.push('\\');
        }
        push(&mut out, &chars, i, c);
    }
    if chars.iter().any(|&c| is_right_to_left(c)) {
        out = format!("\u{2068}{out}\u{2069}");
    }
    out
}

fn push(out: &mut String, chars: &[char], i: usize, c: char) {
    match c {
        '|' => out.push_str("&#124;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '&' => out.push_str("&amp;"),
        '`' => out.push_str("&#96;"),
        '\\' => out.push_str("&#92;"),
        '$' => out.push_str("&#36;"),
        '*' | '[' | ']' | '~' | '{' | '}' => out.extend(['\\', c]),
        '_' if !inside_word(chars, i) => out.push_str("\\_"),
        _ if links(chars, i) => out.push_str(&format!("&#{};", u32::from(c))),
        _ if hides(c) => out.push('\u{fffd}'),
        _ => out.push(c),
    }
}

/// White space at which a line may break; line ends of any kind are among it, and a blank that
/// holds its neighbours together is not.
fn breaks(c: char) -> bool {
    c.is_whitespace() && c != '\u{a0}'
}

/// The place of the character that would make a heading, a list or an underline of this line.
fn list_marker(chars: &[char]) -> Option<usize> {
    let digits = chars.iter().take_while(|c| c.is_ascii_digit()).count();
    match chars.get(digits)? {
        '#' | '-' | '+' | '=' if digits == 0 => Some(0),
        '.' | ')' if digits > 0 && matches!(chars.get(digits + 1), None | Some(' ')) => {
            Some(digits)
        }
        _ => None,
    }
}

/// An underscore between letters or digits never starts an emphasis.
fn inside_word(chars: &[char], i: usize) -> bool {
    let word = |place: Option<usize>| {
        place
            .and_then(|place| chars.get(place))
            .is_some_and(|c| c.is_alphanumeric())
    };
    word(i.checked_sub(1)) && word(Some(i + 1))
}

/// Whether this character would make a link of a bare address or a mention of a name.
fn links(chars: &[char], i: usize) -> bool {
    match chars[i] {
        ':' => chars[i + 1..].starts_with(&['/', '/']),
        '.' => i >= 3 && chars[i - 3..i].iter().all(|c| c.eq_ignore_ascii_case(&'w')),
        '@' => !chars.get(i + 1).is_some_and(char::is_ascii_digit),
        _ => false,
    }
}

fn hides(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}')
        || matches!(c, '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_names_stay() {
        for text in [
            "must_ask_before_write",
            "gpt-4o",
            "tool_calls.p90",
            "1.0.0",
            "pass@4",
            "über",
        ] {
            assert_eq!(escape(text), text);
        }
    }

    #[test]
    fn markup_shows_as_text() {
        for (text, expected) in [
            ("a | b", "a &#124; b"),
            ("<b>x</b> & `y`", "&lt;b&gt;x&lt;/b&gt; &amp; &#96;y&#96;"),
            ("**x** [y](z)", "\\*\\*x\\*\\* \\[y\\](z)"),
            ("_x_ a_b", "\\_x\\_ a_b"),
            ("# x", "\\# x"),
            ("- x", "\\- x"),
            ("12. x", "12\\. x"),
            ("\\|", "&#92;&#124;"),
            ("http://a www.b c@d", "http&#58;//a www&#46;b c&#64;d"),
            ("$x$ ~~y~~", "&#36;x&#36; \\~\\~y\\~\\~"),
        ] {
            assert_eq!(escape(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_become_one() {
        assert_eq!(
            escape("  a\r\n\r\nb\u{2028}c\u{2029}d\u{85}e\tf\u{c}g\u{a0}h "),
            "a b c d e f g\u{a0}h"
        );
    }

    #[test]
    fn nothing_hides_or_reorders() {
        assert_eq!(
            escape("a\u{202e}b\0c\u{1b}[1m"),
            "a\u{fffd}b\u{fffd}c\u{fffd}\\[1m"
        );
        assert_eq!(escape("\u{5d0}1"), "\u{2068}\u{5d0}1\u{2069}");
    }

    proptest! {
        #[test]
        fn one_line_without_structure(text in crate::report::csv::tests::hostile()) {
            let escaped = escape(&text);
            let forbidden = ['|', '<', '>', '`', '\n', '\r', '\u{2028}', '$'];
            prop_assert!(!escaped.contains(forbidden));
            let mut before = ' ';
            for c in escaped.chars() {
                prop_assert!(!"*[]{}~".contains(c) || before == '\\', "{escaped}");
                prop_assert!(!c.is_control());
                before = c;
            }
            prop_assert!(!escaped.starts_with(['#', '-', '+', '=', ' ']));
        }
    }
}
