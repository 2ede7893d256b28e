//! Keys are taken out of everything before it is stored, also where an endpoint or a tool gave one back.

use serde_json::Value;

use super::escaped;
use crate::model::trace::Trace;

/// What stands in place of a key.
const MARK: &str = "[key removed]";

/// Takes the keys out of a trace; returns whether one was found.
pub fn scrub(trace: &mut Trace, keys: &[String]) -> bool {
    if keys.is_empty() {
        return false;
    }
    let mut found = false;
    for event in &mut trace.events {
        for value in event.payload.iter_mut() {
            found |= in_value(value, keys);
        }
        let texts = [
            &mut event.capability,
            &mut event.call_id,
            &mut event.effect_receipt,
            &mut event.idempotency_key,
            &mut event.policy_version,
        ];
        for text in texts.into_iter().flatten() {
            found |= in_text(text, keys);
        }
    }
    let states = [&mut trace.initial_state, &mut trace.final_state];
    for state in states.into_iter().flatten() {
        found |= in_value(state, keys);
    }
    found
}

fn in_value(value: &mut Value, keys: &[String]) -> bool {
    match value {
        Value::String(text) => in_text(text, keys),
        Value::Array(items) => items.iter_mut().fold(false, |f, i| in_value(i, keys) | f),
        Value::Object(members) => {
            let mut found = members
                .values_mut()
                .fold(false, |f, v| in_value(v, keys) | f);
            let bad: Vec<String> = members
                .keys()
                .filter(|name| in_text(&mut (*name).clone(), keys))
                .cloned()
                .collect();
            for name in bad {
                let mut clean = name.clone();
                in_text(&mut clean, keys);
                if let Some(value) = members.remove(&name) {
                    members.insert(clean, value);
                }
                found = true;
            }
            found
        }
        _ => false,
    }
}

/// Takes the keys out of a text; returns whether one was found.
pub fn in_text(text: &mut String, keys: &[String]) -> bool {
    let mut found = false;
    for key in keys.iter().filter(|key| !key.is_empty()) {
        if text.contains(key.as_str()) {
            *text = text.replace(key.as_str(), MARK);
            found = true;
        }
    }
    for at in escaped::find(text, keys).into_iter().rev() {
        text.replace_range(at, MARK);
        found = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_taken_out_of_texts_names_and_nested_values() {
        let mut value = json!({"a": ["x k-1 y"], "k-1": {"b": "k-1k-1"}, "n": 1});
        assert!(in_value(&mut value, &["k-1".to_owned()]));
        let clean =
            json!({"a": [format!("x {MARK} y")], MARK: {"b": format!("{MARK}{MARK}")}, "n": 1});
        assert_eq!(value, clean);
        assert!(!in_value(&mut value, &["k-1".to_owned(), String::new()]));
        let mut value = json!({"arguments": r#"{"a": "\u006b-1"}"#});
        assert!(in_value(&mut value, &["k-1".to_owned()]));
        assert_eq!(value, json!({"arguments": format!(r#"{{"a": "{MARK}"}}"#)}));
    }
}
