//! Native events: one JSON object a line, chained with blake3.
//!
//! The chain of a trial: hash = blake3(hash of the event before ‖ canonical form of the event
//! without its `hash`), both as text, the first event after nothing. The canonical form is that of
//! [`canonical`]. Hashed is what stands in the line, so that a chain can be checked by a reader that
//! knows fewer keys than the writer did.

mod check;
mod wire;
mod writer;

use serde_json::{Map, Value};

use crate::base::Digest;
use crate::base::digest::canonical;

pub use check::ChainCheck;
pub(crate) use wire::WireEvent;
pub use wire::{KEYS, KINDS};
pub use writer::{ChainIds, ChainWriter, write_trial};

/// The hash of an event line: of the hash before it and of the object without its `hash`.
pub fn link(previous: &str, event: &Map<String, Value>) -> Digest {
    let mut event = event.clone();
    event.remove("hash");
    let text = format!("{previous}{}", canonical(&Value::Object(event)));
    Digest::of_bytes(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::trace::{Event, EventKind};

    fn lines() -> Vec<Map<String, Value>> {
        let mut bytes = vec![];
        let mut writer = ChainWriter::new(&mut bytes, ChainIds::default());
        for (i, kind) in [EventKind::TrialStart, EventKind::Final, EventKind::TrialEnd]
            .into_iter()
            .enumerate()
        {
            let mut event = Event::new(i as u64, kind);
            event.payload = Some(json!({"n": 1.0, "text": "é".repeat(300)}));
            writer.write(&event).unwrap();
        }
        let text = String::from_utf8(bytes).unwrap();
        text.lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect()
    }

    fn check(lines: &[Map<String, Value>]) -> Option<&'static str> {
        let mut check = ChainCheck::default();
        lines.iter().for_each(|line| check.next(line));
        check.truncated()
    }

    #[test]
    fn a_whole_chain_holds_and_every_damage_shows() {
        let whole = lines();
        assert_eq!(check(&whole), None);
        assert_eq!(check(&whole[..2]), Some("no_trial_end"));
        assert_eq!(
            check(&[whole[0].clone(), whole[2].clone()]),
            Some("sequence_gap")
        );
        assert_eq!(check(&whole[1..]), Some("sequence_gap"));
        let mut edited = whole.clone();
        edited[1].insert("capability".into(), json!("x"));
        assert_eq!(check(&edited), Some("broken_chain"));
        let mut unhashed = whole.clone();
        unhashed[1].remove("hash");
        assert_eq!(check(&unhashed), Some("broken_chain"));
        let mut first_unhashed = whole;
        first_unhashed[0].remove("hash");
        assert_eq!(check(&first_unhashed), Some("broken_chain"));
    }

    #[test]
    fn hashes_are_of_the_canonical_form() {
        // A second writer that formats numbers and orders keys differently makes the same chain.
        let a = json!({"sequence": 0, "kind": "final", "payload": 1.0});
        let b: Value =
            serde_json::from_str("{\"payload\":1,\"kind\":\"final\",\"sequence\":0.0}").unwrap();
        let object = |v: &Value| v.as_object().unwrap().clone();
        assert_eq!(link("", &object(&a)), link("", &object(&b)));
        assert_ne!(link("", &object(&a)), link("x", &object(&a)));
        let expected = blake3::hash(b"{\"kind\":\"final\",\"payload\":1,\"sequence\":0}");
        assert_eq!(link("", &object(&a)).as_str(), expected.to_hex().as_str());
    }

    #[test]
    fn long_payloads_keep_a_preview_beside_them() {
        let line = &lines()[0];
        assert!(line["payload_preview"].as_str().unwrap().ends_with('…'));
        assert_eq!(line["payload"]["n"], json!(1.0));
        let digest = Digest::of_json(&line["payload"]);
        assert_eq!(line["payload_digest"], json!(digest));
    }

    #[test]
    fn a_preview_is_the_payload_only_if_it_is_all_of_it() {
        let read = |mut line: Value| {
            line["sequence"] = json!(0);
            line["kind"] = json!("final");
            let wire: WireEvent = serde_json::from_value(line).unwrap();
            (wire.is_cut(), wire.into_event().payload)
        };
        let whole = json!({"status": "created"});
        let digest = Digest::of_json(&whole);
        for (line, payload) in [
            (json!({"payload_preview": whole}), Some(whole.clone())),
            (
                json!({"payload_preview": whole, "payload_digest": digest}),
                Some(whole.clone()),
            ),
            (
                json!({"payload_preview": "{\"status\"…", "payload": whole}),
                Some(whole.clone()),
            ),
            (json!({"payload_preview": "Done"}), Some(json!("Done"))),
            (json!({"payload_preview": null}), Some(Value::Null)),
            (json!({"payload": null}), Some(Value::Null)),
            (json!({}), None),
        ] {
            assert_eq!(read(line.clone()), (false, payload), "{line}");
        }
        for preview in [
            json!("{\"status\": \"cre…"),
            json!("{\"status\": \"cre"),
            json!("The order was..."),
            json!({"rows": ["a", "b…"]}),
        ] {
            assert_eq!(read(json!({"payload_preview": preview})), (true, None));
        }
        let other = json!({"payload_preview": {"status": "c"}, "payload_digest": digest});
        assert_eq!(read(other), (true, None));
    }

    #[test]
    fn the_lists_of_keys_and_kinds_are_complete() {
        let full = lines().remove(1);
        assert!(full.keys().all(|key| KEYS.contains(&key.as_str())));
        for kind in KINDS {
            let read: Result<EventKind, _> = serde_json::from_value(json!(kind));
            assert!(read.is_ok(), "{kind}");
        }
        assert_eq!(KINDS.len(), EventKind::TrialEnd as usize + 1);
    }
}
