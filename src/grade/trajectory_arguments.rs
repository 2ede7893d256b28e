//! Rules for the arguments of every call of a tool.

use serde_json::Value;

use crate::grade::arguments::broken_rule;
use crate::grade::evidence::Evidence;
use crate::grade::finding::{TOOL_NAME_NOT_RECORDED, Tally, clip};
use crate::grade::grader::TaskGrader;
use crate::trace::calls::Call;

/// Every call of the tool carries the keys.
pub(crate) fn required_arg_keys(task: &TaskGrader<'_>, evidence: &Evidence<'_>) -> Tally {
    let mut tally = Tally::default();
    for call in &evidence.calls {
        if call.name.is_empty() {
            tally.unknown(TOOL_NAME_NOT_RECORDED);
        }
        let Some(required) = task.task.expect.required_arg_keys.get(call.name) else {
            continue;
        };
        check_arguments(&mut tally, evidence, call, |arguments| {
            let missing: Vec<&str> = required
                .iter()
                .map(String::as_str)
                .filter(|key| arguments.get(key).is_none())
                .collect();
            if missing.is_empty() {
                vec![]
            } else {
                vec![format!("missing keys {}", missing.join(", "))]
            }
        });
    }
    tally
}

/// Every call of the tool keeps the tool's argument rules.
pub(crate) fn args(task: &TaskGrader<'_>, evidence: &Evidence<'_>) -> Tally {
    let mut tally = Tally::default();
    for call in &evidence.calls {
        if call.name.is_empty() {
            tally.unknown(TOOL_NAME_NOT_RECORDED);
        }
        let Some(rule) = task.task.expect.args.get(call.name) else {
            continue;
        };
        let schema = task.schemas.args.get(call.name);
        check_arguments(&mut tally, evidence, call, |arguments| {
            broken_rule(rule, schema, arguments)
        });
    }
    tally
}

/// Checks the arguments of one call and records what was found.
pub(crate) fn check_arguments(
    tally: &mut Tally,
    evidence: &Evidence<'_>,
    call: &Call<'_>,
    problems: impl Fn(&Value) -> Vec<String>,
) {
    let sequence = call.event.sequence;
    let arguments = match call.arguments {
        Some(arguments) => arguments,
        None => return tally.unknown(evidence.unseen(call)),
    };
    tally.checked.push(sequence);
    let problems = problems(arguments);
    if !problems.is_empty() {
        let detail = format!("{}: {}", clip(call.name, 80), problems.join(", "));
        tally.broke(vec![sequence], detail);
    }
}
