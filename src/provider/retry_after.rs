//! How long a provider asks to wait.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Reads `Retry-After` as seconds or as an HTTP date (RFC 9110, 10.2.3), and `retry-after-ms`, which
/// is finer and so goes first.
///
/// A date is compared with the reply's own `Date`, where it has one: the two come from one clock.
/// A date in the past is no wait at all.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let millis = text("retry-after-ms").and_then(|t| seconds(t, 1e-3));
    millis.or_else(|| {
        let asked = text(RETRY_AFTER.as_str())?;
        seconds(asked, 1.0).or_else(|| until(asked, text(DATE.as_str())))
    })
}

fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}

fn until(asked: &str, sent: Option<&str>) -> Option<Duration> {
    let then = httpdate::parse_http_date(asked).ok()?;
    let now = sent
        .and_then(|date| httpdate::parse_http_date(date).ok())
        .unwrap_or_else(SystemTime::now);
    Some(then.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&'static str, &str)]) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        retry_after(&headers)
    }

    #[test]
    fn seconds_dates_and_milliseconds_are_read() {
        assert_eq!(asked(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(
            asked(&[("retry-after", "0.5")]),
            Some(Duration::from_millis(500))
        );
        assert_eq!(
            asked(&[("retry-after", "7"), ("retry-after-ms", "250")]),
            Some(Duration::from_millis(250))
        );
        let date = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");
        let at = |text| asked(&[("retry-after", text), date]);
        assert_eq!(
            at("Wed, 21 Oct 2026 07:28:09 GMT"),
            Some(Duration::from_secs(9))
        );
        assert_eq!(at("Wed, 21 Oct 2026 07:00:00 GMT"), Some(Duration::ZERO));
    }

    #[test]
    fn a_date_without_the_replys_own_is_compared_with_our_clock() {
        let then = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3600));
        let wait = asked(&[("retry-after", &then)]).unwrap();
        assert!(wait > Duration::from_secs(3500) && wait <= Duration::from_secs(3600));
    }

    #[test]
    fn nonsense_asks_for_nothing() {
        for text in ["soon", "-3", "NaN", ""] {
            assert_eq!(asked(&[("retry-after", text)]), None, "{text}");
        }
        assert_eq!(asked(&[]), None);
    }
}
