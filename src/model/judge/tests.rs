//! Pins and scales.

use super::*;

/// A definition in which every key is written.
fn full() -> Value {
    json!({"format": 1, "id": "tone", "version": "1", "description": "d",
        "endpoint": {"base_url": "http://h/v1", "model": "m-2025-01-01", "protocol": "openai",
            "api_key_env": "KEY", "params": {"temperature": 0.5}, "max_retries": 2,
            "timeouts": {"connect_s": 1.5, "first_byte_s": 2.5, "total_s": 3.5},
            "rate": {"requests_per_minute": 5, "tokens_per_minute": 6}, "concurrency": 3,
            "price": {"input_per_million": 1.5, "output_per_million": 2.5}},
        "prompt": {"system": "s", "template": "t", "template_file": "f"},
        "rubric": "r", "rubric_file": "g",
        "scale": {"kind": "ordinal", "levels": ["poor", "good"], "positive": "good"},
        "output": {"schema": {"type": "object"}, "answer": "a", "score": "b", "verdict_line": "v"},
        "repeats": 2, "panel": ["p.yaml"], "view": ["task", "final"], "accepts": ["internal"],
        "scrub": ["n"], "thresholds": {"kappa": 0.6},
        "examples": [{"task": "q", "output": "o", "answer": "good", "reason": "w"}]})
}

fn pin(value: &Value, template: &str, rubric: &str) -> Digest {
    let spec: JudgeSpec = serde_json::from_value(value.clone()).unwrap();
    let texts = JudgeTexts {
        template: template.to_owned(),
        rubric: rubric.to_owned(),
    };
    Judge::new(spec, texts, Scale::binary(), vec![]).pin
}

/// Pointers of all leaves.
fn leaves(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(k, v)| leaves(v, format!("{at}/{k}"), found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(i, v)| leaves(v, format!("{at}/{i}"), found)),
        _ => found.push(at),
    }
}

/// Another value that fits the same place.
fn other(leaf: &Value) -> Value {
    match leaf.as_str() {
        Some("openai") => json!("anthropic"),
        Some("ordinal") => json!("nominal"),
        Some("task") => json!("messages"),
        Some("final") => json!("effects"),
        Some("internal") => json!("customer"),
        Some(text) => json!(format!("{text} ")),
        None => match leaf.as_u64() {
            Some(n) => json!(n + 1),
            None => json!(leaf.as_f64().unwrap() + 0.25),
        },
    }
}

#[test]
fn any_change_of_any_field_changes_the_pin() {
    let base = full();
    let before = pin(&base, "t", "r");
    assert_eq!(before, pin(&full(), "t", "r"));
    let mut found = vec![];
    leaves(&base, String::new(), &mut found);
    assert!(found.len() > 40, "every key is walked: {}", found.len());
    let schema = serde_json::to_value(schemars::schema_for!(JudgeSpec)).unwrap();
    for key in schema["properties"].as_object().unwrap().keys() {
        assert!(base.get(key).is_some(), "`{key}` is not in this test");
    }
    for pointer in found {
        let mut changed = base.clone();
        let leaf = changed.pointer_mut(&pointer).unwrap();
        *leaf = other(leaf);
        assert_ne!(pin(&changed, "t", "r"), before, "{pointer}");
    }
    assert_ne!(pin(&base, "t ", "r"), before);
    assert_ne!(pin(&base, "t", "r\n"), before);
}

#[test]
fn scales_are_completed_or_refused() {
    let check = |kind: &str, levels: &[&str], positive: Option<&str>| {
        let spec = json!({"kind": kind, "levels": levels, "positive": positive});
        let spec: ScaleSpec = serde_json::from_value(spec).unwrap();
        spec.complete()
            .map(|s| (s.levels.join(","), s.positive.unwrap_or_default()))
    };
    assert_eq!(
        check("binary", &[], None),
        Ok(("fail,pass".into(), "pass".into()))
    );
    assert_eq!(
        check("pairwise", &[], None),
        Ok(("A,B,tie".into(), String::new()))
    );
    assert_eq!(
        check("ordinal", &["1", "2"], None),
        Ok(("1,2".into(), String::new()))
    );
    assert!(
        check("ordinal", &[], None)
            .unwrap_err()
            .contains("worst to the best")
    );
    assert!(check("binary", &["a"], None).is_err());
    assert!(check("nominal", &["a", "a"], None).is_err());
    assert!(check("ordinal", &["a", "b"], Some("c")).is_err());
    assert!(check("pairwise", &["1", "2"], None).is_err());
}

#[test]
fn a_member_is_part_of_the_pin() {
    let spec: JudgeSpec = serde_json::from_value(full()).unwrap();
    let texts = JudgeTexts::default;
    let alone = Judge::new(spec.clone(), texts(), Scale::binary(), vec![]);
    let panel = Judge::new(spec, texts(), Scale::binary(), vec![alone.clone()]);
    assert_ne!(alone.pin, panel.pin);
}
