//! Numbers for readers: three or four digits that matter, a real minus sign, no leading zero.

/// A number: four decimals below 1, fewer above, whole from 1,000 on; whole numbers without a point.
///
/// # Examples
///
/// `.4200`, `−.0867`, `5.82`, `23.3`, `1,164`, `under .0001`.
pub(in crate::report) fn number(x: f64) -> String {
    let size = x.abs();
    if x.fract() == 0.0 || size >= 999.5 {
        return signed(x, &grouped(size));
    }
    if size < 0.000_05 {
        let bound = if x < 0.0 {
            "above\u{a0}−"
        } else {
            "under\u{a0}"
        };
        return format!("{bound}.0001");
    }
    let decimals = match size {
        _ if size < 1.0 => 4,
        _ if size < 9.995 => 2,
        _ => 1,
    };
    signed(x, &format!("{size:.decimals$}"))
}

/// A difference, with its sign.
pub(super) fn difference(x: f64) -> String {
    let text = number(x);
    if x > 0.0 && text.starts_with(['.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
        format!("+{text}")
    } else {
        text
    }
}

/// A number that somebody chose, as it was written: `.05`, `1.2`.
pub(super) fn chosen(x: f64) -> String {
    signed(x, &format!("{}", x.abs()))
}

/// `[.2984, .5481]`, with `−∞` and `∞` for what has no limit; a dash where nothing is known.
///
/// The blank is one at which no line breaks.
pub(in crate::report) fn interval(
    low: Option<f64>,
    high: Option<f64>,
    notices: &[String],
) -> String {
    let open = |code: &str| notices.iter().any(|notice| notice == code);
    let low = match low {
        Some(low) => format!("[{}", number(low)),
        None if open("low_unbounded") => "(−∞".to_owned(),
        None => return "–".to_owned(),
    };
    match high {
        Some(high) => format!("{low},\u{a0}{}]", number(high)),
        None if open("high_unbounded") => format!("{low},\u{a0}∞)"),
        None => "–".to_owned(),
    }
}

/// A level as percent: `95 %`, `99.5 %`.
pub(super) fn percent(level: f64) -> String {
    let text = format!("{:.2}", level * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

fn signed(x: f64, size: &str) -> String {
    let sign = if x < 0.0 { "−" } else { "" };
    let size = match size.strip_prefix("0.") {
        Some(decimals) => format!(".{decimals}"),
        None => size.to_owned(),
    };
    format!("{sign}{size}")
}

/// A whole number with commas between thousands.
fn grouped(size: f64) -> String {
    let digits = format!("{size:.0}");
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_or_four_digits() {
        for (x, expected) in [
            (0.42, ".4200"),
            (-0.086667, "−.0867"),
            (0.00852, ".0085"),
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (0.99996, "1.0000"),
            (5.8234, "5.82"),
            (9.996, "10.0"),
            (23.32, "23.3"),
            (999.7, "1,000"),
            (1164.0, "1,164"),
            (1_234_567.8, "1,234,568"),
            (1e-9, "under\u{a0}.0001"),
            (-1e-9, "above\u{a0}−.0001"),
        ] {
            assert_eq!(number(x), expected, "{x}");
        }
    }

    #[test]
    fn differences_have_a_sign() {
        assert_eq!(difference(0.0227), "+.0227");
        assert_eq!(difference(-0.0227), "−.0227");
        assert_eq!(difference(0.0), "0");
        assert_eq!(difference(1e-9), "under\u{a0}.0001");
    }

    #[test]
    fn limits_may_be_open_or_unknown() {
        let open = ["high_unbounded".to_owned()];
        assert_eq!(
            interval(Some(-0.218), Some(0.0501), &[]),
            "[−.2180,\u{a0}.0501]"
        );
        assert_eq!(interval(Some(3.0), None, &open), "[3,\u{a0}∞)");
        assert_eq!(interval(Some(3.0), None, &[]), "–");
        assert_eq!(interval(None, None, &open), "–");
    }

    #[test]
    fn what_somebody_chose_stays_as_written() {
        assert_eq!(chosen(0.05), ".05");
        assert_eq!(chosen(1.2), "1.2");
        assert_eq!(percent(0.95), "95 %");
        assert_eq!(percent(0.995), "99.5 %");
    }
}
