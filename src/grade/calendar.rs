//! Times of the RFC 3339 form as milliseconds.

/// Milliseconds since 1970 in UTC of an RFC 3339 time such as `2026-01-31T12:00:00.25Z`; `None` for
/// anything else. A time without an offset is read as UTC, because only differences are taken.
pub(crate) fn milliseconds(text: &str) -> Option<f64> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, offset) = match rest.find(['Z', 'z', '+', '-']) {
        Some(at) => rest.split_at(at),
        None => (rest, "Z"),
    };
    let [year, month, day] = numbers(date, '-')?;
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [hour, minute, second] = numbers(whole, ':')?;
    let plausible = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61;
    if !plausible || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    let minutes = hour * 60 + minute - offset_minutes(offset)?;
    let seconds = days(year, month, day) * 86_400 + minutes * 60 + second;
    Some(seconds as f64 * 1000.0 + fraction * 1000.0)
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| part.parse().ok()).flatten()
    });
    let found = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(found)
}

fn offset_minutes(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = text.split_at_checked(1)?;
    let [hours, minutes, _] = numbers(&format!("{rest}:0"), ':')?;
    let minutes = hours * 60 + minutes;
    Some(if sign == "-" { -minutes } else { minutes })
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar (H. Hinnant, `days_from_civil`, 2013).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_fraction_and_offset() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0.0)),
            ("2000-03-01T00:00:00.250Z", Some(951_868_800_250.0)),
            ("2024-02-29T23:59:59+01:00", Some(1_709_247_599_000.0)),
            ("2024-02-29 22:59:59", Some(1_709_247_599_000.0)),
            ("1969-12-31T23:59:59Z", Some(-1000.0)),
            ("2024-02-29", None),
            ("2024-13-01T00:00:00Z", None),
            ("2024-02-29T1:-1:00Z", None),
            ("é024-02-29T00:00:00Z", None),
            ("", None),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }
}
