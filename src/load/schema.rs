//! JSON Schemas of the files that users write and of those that we write, for editors and for our
//! own checks: what an editor underlines is what `validate` reports.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::model::arm::ArmsSpec;
use crate::model::calibration::Calibration;
use crate::model::report::Report;
use crate::model::script::ScriptSpec;
use crate::model::suite::{SuiteSpec, Task};
use crate::trace::chain::WireEvent;

/// The names that [`schema`] knows, in the order in which the command line lists them.
pub const NAMES: [&str; 7] = [
    "suite",
    "task",
    "arms",
    "script",
    "trace",
    "report",
    "calibration",
];

/// The JSON Schema (draft 2020-12) of a kind of file: `suite`, `task`, `arms`, `script`, `trace` (one
/// line of a native event file) `report` or `calibration`; `None` for any other name.
///
/// # Examples
///
/// ```
/// let suite = assize::load::schema("suite").unwrap();
/// assert_eq!(suite["properties"]["trials"]["default"], 1);
/// assert!(assize::load::schema("trials").is_none());
/// ```
pub fn schema(name: &str) -> Option<Value> {
    let schema = match name {
        "suite" => of::<SuiteSpec>("Assize suite (suite.yaml)"),
        "task" => of::<Task>("Assize task"),
        "arms" => of::<ArmsSpec>("Assize arms (arms.yaml)"),
        "script" => of::<ScriptSpec>("Assize script: models whose behaviour is known"),
        "trace" => of::<WireEvent>("Assize event: one line of a native trace"),
        "report" => of::<Report>("Assize report (report.json)"),
        "calibration" => of::<Calibration>("Assize certificate of a judge (calibration.json)"),
        _ => return None,
    };
    Some(schema)
}

fn of<T: JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>();
    schema.insert("title".into(), json!(title));
    RecursiveTransform(bound_integers).transform(&mut schema);
    schema.into()
}

/// Says how large an integer may be: schemars names the type in `format`, which no validator reads.
fn bound_integers(schema: &mut Schema) {
    let largest = match schema.get("format").and_then(Value::as_str) {
        Some("uint16") => json!(u16::MAX),
        Some("uint32") => json!(u32::MAX),
        Some("uint64") => json!(u64::MAX),
        _ => return,
    };
    schema.insert("maximum".into(), largest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_compiles_and_has_a_title() {
        for name in NAMES {
            let schema = schema(name).unwrap();
            assert!(jsonschema::validator_for(&schema).is_ok(), "{name}");
            assert_eq!(
                schema["$schema"],
                "https://json-schema.org/draft/2020-12/schema"
            );
            assert!(schema["title"].as_str().unwrap().starts_with("Assize"));
            assert!(schema.get("$id").is_none());
        }
    }

    #[test]
    fn the_events_that_teams_write_fit() {
        let validator = jsonschema::validator_for(&schema("trace").unwrap()).unwrap();
        let mut event = json!({"run_id": "run-01", "sequence": 7, "kind": "tool_result",
            "capability": "create_ticket", "elapsed_ms": 142.5, "effect_receipt": "ticket:1842",
            "payload_preview": {"status": "created"}, "policy_version": "effects-v3"});
        assert!(validator.is_valid(&event));
        event["kind"] = json!("tool_reslt");
        assert!(!validator.is_valid(&event));
    }

    #[test]
    fn files_that_users_write_are_closed() {
        for name in ["suite", "task", "arms", "script", "trace"] {
            let schema = schema(name).unwrap();
            assert_eq!(schema["additionalProperties"], false, "{name}");
        }
    }
}
