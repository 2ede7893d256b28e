//! Ids and measures that a runtime writes beside an answer, and that tell runtimes apart.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// Keys whose values are measures or ids of a runtime, whatever they hold.
const KEYS: [&str; 34] = [
    "usage",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "cost",
    "cost_usd",
    "total_cost",
    "total_cost_usd",
    "latency",
    "latency_ms",
    "latency_s",
    "elapsed_ms",
    "duration_ms",
    "duration_api_ms",
    "response_id",
    "request_id",
    "completion_id",
    "system_fingerprint",
    "fingerprint",
    "trace_id",
    "span_id",
    "run_id",
    "trial_id",
    "session_id",
    "arm",
    "arm_id",
    "model_id",
    "model_name",
    "model_version",
    "provider",
];

/// Keys that hold a price in the world as often as one of a runtime: they go only beside tokens.
const ONLY_BESIDE_TOKENS: [&str; 6] = [
    "cost",
    "latency",
    "fingerprint",
    "provider",
    "session_id",
    "arm",
];

/// Ids as providers write them: completions, responses, messages, requests, calls, fingerprints.
static IDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let parts = [
        r"chatcmpl-[A-Za-z0-9-]{8,}",
        r"(?:resp|msg|req|run|gen|call|toolu|fc|rs|asst|thread|srvtoolu|cmpl)_[A-Za-z0-9]{14,}",
        r"gen-\d{8,}-[A-Za-z0-9]{8,}",
        r"fp_[0-9a-fA-F]{6,}",
    ];
    Regex::new(&format!(r"\b(?:{})\b", parts.join("|"))).ok()
});

/// Byte ranges of ids in a text: those that providers write, and `own`, ids of the trial itself.
pub(super) fn ranges(text: &str, own: &[String]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = IDS
        .as_ref()
        .into_iter()
        .flat_map(|ids| ids.find_iter(text))
        .map(|m| (m.start(), m.end()))
        .collect();
    for id in own.iter().filter(|id| id.len() >= 8) {
        let hits = text.match_indices(id.as_str());
        found.extend(hits.map(|(at, id)| (at, at + id.len())));
    }
    found
}

/// Takes usage, cost, timing, ids and fingerprints out of a payload, at every depth.
pub fn without_runtime_keys(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let tokens = map
                .keys()
                .any(|k| k.to_lowercase().ends_with("tokens") || k == "usage");
            let is_runtime = |key: &str| {
                let key = key.to_lowercase();
                KEYS.contains(&key.as_str())
                    && (tokens || !ONLY_BESIDE_TOKENS.contains(&key.as_str()))
            };
            let kept = map.iter().filter(|(key, _)| !is_runtime(key));
            let kept = kept.map(|(key, value)| (key.clone(), without_runtime_keys(value)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.iter().map(without_runtime_keys).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn measures_and_ids_go_and_prices_of_goods_stay() {
        let payload = json!({"status": "ok", "order": {"cost": 12, "model": "Pixel 8"},
            "meta": {"usage": {"input_tokens": 5}, "cost": 0.01, "system_fingerprint": "fp_1"},
            "calls": [{"latency_ms": 40, "id": 7}]});
        let kept = json!({"status": "ok", "order": {"cost": 12, "model": "Pixel 8"},
            "meta": {}, "calls": [{"id": 7}]});
        assert_eq!(without_runtime_keys(&payload), kept);
    }

    #[test]
    fn ids_of_providers_are_found() {
        let own = ["c0ffee00c0ffee00".to_owned()];
        for text in [
            "chatcmpl-9aBcD3fGhIjKl",
            "toolu_01A09q90qw90lq917835lq9",
            "fp_44709d6fcb",
            "msg_013Zva2CMHLNnXjNJJKqJ2EF",
            "c0ffee00c0ffee00",
        ] {
            assert_eq!(ranges(text, &own), [(0, text.len())], "{text}");
        }
        assert!(ranges("call_me_later, msg_1 and ticket:1842", &own).is_empty());
    }
}
