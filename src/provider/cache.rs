//! Headers that say a cache answered, and not the model.

use reqwest::header::HeaderMap;

/// Headers that hold `HIT`, `hit from …` or `true`.
const FLAGS: [&str; 13] = [
    "x-cache",
    "x-cache-status",
    "x-cache-hit",
    "x-cache-lookup",
    "cf-cache-status",
    "cf-aig-cache-status",
    "x-litellm-cache-hit",
    "x-proxy-cache",
    "x-varnish-cache",
    "x-vercel-cache",
    "x-portkey-cache-status",
    "helicone-cache",
    "cache-status",
];

/// Headers that count hits, or seconds in the cache.
const COUNTS: [&str; 2] = ["age", "x-cache-hits"];

/// The first header that says so, as `name: value`.
pub(super) fn hit(headers: &HeaderMap) -> Option<String> {
    let value = |name: &str| headers.get(name)?.to_str().ok();
    let flag = FLAGS.iter().find_map(|name| {
        let text = value(name)?;
        says_hit(text).then(|| format!("{name}: {text}"))
    });
    flag.or_else(|| {
        COUNTS.iter().find_map(|name| {
            let text = value(name)?;
            (text.trim().parse::<u64>().ok()? > 0).then(|| format!("{name}: {text}"))
        })
    })
}

/// Whether one of the words is a hit; `TCP_HIT` (Squid) and `name; hit` (RFC 9211) are.
fn says_hit(text: &str) -> bool {
    text.to_ascii_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| word == "hit" || word == "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &'static str, value: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        hit(&headers)
    }

    #[test]
    fn hits_are_seen_and_misses_are_not() {
        for (name, value) in [
            ("x-cache", "HIT"),
            ("x-cache", "Hit from cloudfront"),
            ("x-cache", "TCP_HIT from squid"),
            ("cf-cache-status", "HIT"),
            ("age", "3"),
            ("x-cache-hits", "1"),
            ("x-litellm-cache-hit", "true"),
            ("x-proxy-cache", "HIT"),
            ("cache-status", "edge; hit; ttl=3"),
        ] {
            assert_eq!(found(name, value), Some(format!("{name}: {value}")));
        }
        for (name, value) in [
            ("x-cache", "MISS"),
            ("x-cache", "Miss from cloudfront"),
            ("cf-cache-status", "DYNAMIC"),
            ("age", "0"),
            ("x-litellm-cache-hit", "false"),
            ("cache-status", "edge; fwd=miss"),
            ("server", "hit"),
        ] {
            assert_eq!(found(name, value), None, "{name}: {value}");
        }
    }
}
