//! What an earlier call showed of a judge, where this one asked nobody about it.

use serde_json::{Value, json};

/// Keeps in the page of a judge what an earlier call of the same judge showed: its asking and its audit
/// where nobody was asked about the run now, and its canary where the certificate beside it stays in
/// force. Returns the page, whose `earlier` names these parts, and the names.
pub(super) fn with(mut page: Value, before: Option<&str>, stays: bool) -> (Value, Vec<String>) {
    let before: Value = before
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let same = before["pin"] == page["pin"] && page["asking"]["calls"] == 0;
    let wanted = [
        ("asking", before["asking"]["calls"] != 0),
        ("audit", page["audit"].is_null()),
        ("canary", page["canary"].is_null() && stays),
    ];
    let mut earlier = vec![];
    for (part, wanted) in wanted {
        if same && wanted && !before[part].is_null() {
            page[part] = before[part].clone();
            earlier.push(part.to_owned());
        }
    }
    page["earlier"] = json!(earlier);
    (page, earlier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_looked_at_again_stays_known() {
        let before =
            json!({"pin": "p", "asking": {"calls": 240}, "audit": null, "canary": {"items": 40}});
        let text = before.to_string();
        let idle = json!({"pin": "p", "asking": {"calls": 0}, "audit": null, "canary": null});
        let (page, earlier) = with(idle.clone(), Some(&text), true);
        assert_eq!(earlier, ["asking", "canary"]);
        assert_eq!(
            (&page["asking"]["calls"], &page["canary"]["items"]),
            (&json!(240), &json!(40))
        );
        let (page, _) = with(idle.clone(), Some(&text), false);
        assert_eq!(page["canary"], Value::Null);
        for other in [
            json!({"pin": "q", "asking": {"calls": 0}, "audit": null, "canary": null}),
            json!({"pin": "p", "asking": {"calls": 3}, "audit": null, "canary": null}),
        ] {
            assert!(with(other, Some(&text), true).1.is_empty());
        }
        assert!(with(idle, None, true).1.is_empty());
    }
}
