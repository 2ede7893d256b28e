//! One cell of a CSV file: typed, so that text is made safe and numbers stay numbers.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::model::measure::Dimension;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Text, made safe against spreadsheet formulas when it is written.
    Text(Cow<'a, str>),
    /// A number; one that is not finite is written as an empty cell.
    Number(f64),
    /// A signed integer.
    Integer(i64),
    /// A count.
    Count(u64),
    /// `true` or `false`.
    Flag(bool),
    /// Null.
    Empty,
}

impl Cell<'_> {
    /// Appends the text of this cell, before any quoting, to `out`.
    ///
    /// Numbers have the shortest digits that read back as the same double, always with a point or
    /// an exponent (`1.0`), so that a reader that guesses the type of a column from its first rows
    /// guesses right.
    pub(super) fn write_to(&self, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Text(text) => out.write_str(&formula_safe(text)),
            // Adding 0 turns a negative zero, which no reader expects, into 0.
            Self::Number(number) if number.is_finite() => write!(out, "{:?}", number + 0.0),
            Self::Integer(integer) => write!(out, "{integer}"),
            Self::Count(count) => write!(out, "{count}"),
            Self::Flag(flag) => write!(out, "{flag}"),
            Self::Number(_) | Self::Empty => Ok(()),
        };
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<Dimension> for Cell<'_> {
    fn from(dimension: Dimension) -> Self {
        Self::from(dimension.name())
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Cell<'_> {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for Cell<'_> {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}

impl From<bool> for Cell<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

/// A text that no spreadsheet takes for a formula: one that it might take for one gets a leading
/// apostrophe, every other text stays as it is.
///
/// At risk is a text that begins with `=`, `+`, `-` or `@` (full-width and small forms included),
/// also behind white space or invisible characters that spreadsheets skip, and a text that begins
/// with a tab or a line break (OWASP, CSV Injection). A text of apostrophes followed by such a text
/// gets one more, so that the prefix can be taken off again without loss: see [`formula_unsafe`].
///
/// # Examples
///
/// ```
/// use assize::report::csv::formula_safe;
/// assert_eq!(formula_safe("=1+1"), "'=1+1");
/// assert_eq!(formula_safe("refund-7"), "refund-7");
/// ```
pub fn formula_safe(text: &str) -> Cow<'_, str> {
    if at_risk(text.trim_start_matches('\'')) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Takes off the apostrophe that [`formula_safe`] put on.
pub fn formula_unsafe(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if at_risk(rest.trim_start_matches('\'')) => rest,
        _ => cell,
    }
}

fn at_risk(text: &str) -> bool {
    const STARTS: [char; 13] = [
        '=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫', '\u{2212}',
    ];
    text.starts_with(['\t', '\r', '\n']) || text.trim_start_matches(skipped).starts_with(STARTS)
}

/// Whether a reader may skip this character before it looks for a formula.
fn skipped(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(cell: impl Into<Cell<'static>>) -> String {
        let mut out = String::new();
        cell.into().write_to(&mut out);
        out
    }

    #[test]
    fn formulas_open_as_text() {
        for text in [
            "=1+1",
            "+1",
            "-0.08",
            "@SUM(A1)",
            "\t=1",
            "\rx",
            "\nx",
            "  =1",
            "\u{a0}=1",
            "\u{feff}=1",
            "\u{200b}@x",
            "＝1",
            "\u{3000}＋1",
            "－1",
            "＠x",
            "\u{2212}1",
            "'=1",
        ] {
            let cell = written(text);
            assert_eq!(cell, format!("'{text}"), "{text:?}");
            assert_eq!(formula_unsafe(&cell), text);
        }
    }

    #[test]
    fn harmless_text_stays() {
        for text in [
            "",
            "a=b",
            "refund-7",
            "'quoted' word",
            "1-2",
            "  x",
            "it's",
            "'",
        ] {
            assert_eq!(written(text), text);
            assert_eq!(formula_unsafe(text), text);
        }
    }

    #[test]
    fn numbers_stay_numbers() {
        assert_eq!(written(-0.08), "-0.08");
        assert_eq!(written(1.0), "1.0");
        assert_eq!(written(-0.0), "0.0");
        assert_eq!(written(1e-9), "1e-9");
        assert_eq!(written(7u64), "7");
        assert_eq!(written(true), "true");
    }

    #[test]
    fn undefined_is_an_empty_cell() {
        for cell in [
            Cell::Empty,
            f64::NAN.into(),
            f64::NEG_INFINITY.into(),
            None::<f64>.into(),
        ] {
            assert_eq!(written(cell), "");
        }
    }

    proptest! {
        #[test]
        fn the_prefix_comes_off_without_loss(text in "[ '=+@\\-\\t\\r\\na＝\u{feff}]{0,6}|\\PC*") {
            let safe = formula_safe(&text);
            prop_assert_eq!(formula_unsafe(&safe), &text);
            prop_assert!(!at_risk(&safe));
        }
    }
}
