//! Judges, arms and verdicts for tests.

use serde_json::{Value, json};

use crate::base::{ArmId, Observation};
use crate::model::arm::{Arm, ArmSpec};
use crate::model::judge::{Judge, JudgeSpec, JudgeTexts};
use crate::model::verdict::Verdict;

/// A binary judge.
pub(crate) fn judge() -> Judge {
    judge_with(json!({}))
}

/// A judge with other values at the top of its definition.
pub(crate) fn judge_with(change: Value) -> Judge {
    let pairwise = change.pointer("/scale/kind") == Some(&json!("pairwise"));
    let outputs = if pairwise {
        "{{ first }}\n{{ second }}"
    } else {
        "{{ evidence }}"
    };
    let mut spec = json!({"id": "tone", "version": "1", "rubric": "Polite.",
        "endpoint": {"base_url": "https://judge.example/v1", "model": "judge-large-2025-01-01"},
        "prompt": {"system": "You judge.",
            "template": format!("{{{{ rubric }}}}\n{{{{ task }}}}\n{outputs}\n{{{{ schema }}}}")},
        "view": ["task", "messages", "tool_calls", "tool_results", "final"],
        "scale": {"kind": "binary"}, "scrub": ["secretname"]});
    for (key, value) in change.as_object().unwrap() {
        spec[key] = value.clone();
    }
    let spec: JudgeSpec = serde_json::from_value(spec).unwrap();
    let texts = JudgeTexts {
        template: spec.prompt.as_ref().unwrap().template.clone().unwrap(),
        rubric: spec.rubric.clone().unwrap(),
    };
    let scale = spec.scale.complete().unwrap();
    Judge::new(spec, texts, scale, vec![])
}

/// Two arms with names that no list holds, and one that every list holds.
pub(crate) fn arms() -> Vec<Arm> {
    let chat = |base_url: &str, model: &str| -> ArmSpec {
        serde_json::from_value(json!({"kind": "chat", "base_url": base_url, "model": model}))
            .unwrap()
    };
    vec![
        Arm::new(
            ArmId::new("quillon-prod"),
            chat("https://api.veldtworks.dev/v1", "acme/zephyrine-7b-chat"),
            None,
        ),
        Arm::new(
            ArmId::new("challenger-b"),
            chat("http://127.0.0.1:8080/v1", "gpt-4o-mini-2024-07-18"),
            None,
        ),
    ]
}

/// A verdict on an item.
pub(crate) fn verdict(item: &str, answer: Result<&str, &str>) -> Verdict {
    Verdict {
        item: item.into(),
        judge: "tone@1".into(),
        pin: None,
        repeat: 0,
        order: None,
        answer: match answer {
            Ok(text) => Observation::Value(text.to_owned()),
            Err(reason) => Observation::Missing(reason.to_owned()),
        },
        score: None,
        arm: None,
        task: None,
        trial: None,
        group: None,
        identity: None,
        line: 0,
    }
}
