//! Whether what a contract expects of the state can be there at all.

use serde_json::Value;

use crate::base::Error;
use crate::load::check::At;
use crate::load::document::steps;
use crate::load::nearest;
use crate::model::expect::Expect;
use crate::model::suite::{SuiteSpec, ToolSpec};

/// Checks the pointers of `final_state` against the state at the start and what simulated tools add to it;
/// `at` is the contract. Other tools may put anything into it, so that nothing is said where there is one.
pub(crate) fn final_state(
    expect: &Expect,
    spec: &SuiteSpec,
    state: Option<&Value>,
    at: &At,
    problems: &mut Vec<Error>,
) {
    let Some(state) = state else { return };
    if spec.tools.is_empty() || spec.tools.values().any(|tool| tool.simulated.is_none()) {
        return;
    }
    for (i, assertion) in expect.final_state.iter().enumerate() {
        let pointer = assertion.pointer.as_str();
        let absent = assertion.exists == Some(false) || assertion.equals == Some(Value::Null);
        if absent
            || state.pointer(pointer).is_some()
            || spec.tools.values().any(|tool| may_add(tool, pointer))
        {
            continue;
        }
        let at = at.to("final_state").to(i).to("pointer");
        let message = format!(
            "`{}`: nothing is at `{pointer}` in the state, and no tool adds it",
            at.name()
        );
        let problem = at.problem(message);
        problems.push(match missing(state, pointer) {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    }
}

/// The step that is missing, against the keys that are there.
fn missing(state: &Value, pointer: &str) -> Option<String> {
    let mut here = state;
    for step in steps(pointer) {
        let found = match here {
            Value::Object(members) => members.get(&step),
            Value::Array(items) => step.parse::<usize>().ok().and_then(|i| items.get(i)),
            _ => return None,
        };
        match (found, here) {
            (Some(inner), _) => here = inner,
            (None, Value::Object(members)) => {
                return Some(nearest::hint(
                    &step,
                    members.keys().map(String::as_str),
                    "keys",
                ));
            }
            (None, _) => return None,
        }
    }
    None
}

/// Whether a patch of a simulated tool may put something at a pointer.
fn may_add(tool: &ToolSpec, pointer: &str) -> bool {
    let Some(simulated) = &tool.simulated else {
        return false;
    };
    let cases = simulated.cases.iter().flat_map(|case| &case.patch);
    let mut operations = simulated.patch.iter().chain(cases);
    operations.any(|operation| {
        let text = |key: &str| operation.get(key).and_then(Value::as_str);
        let path = pattern(text("path").unwrap_or_default());
        let wanted: Vec<String> = steps(pointer).collect();
        // What is replaced is there, but its new value may hold more.
        let longest = match text("op") {
            Some("replace") => wanted.len().saturating_sub(1),
            Some("remove" | "test") => return false,
            _ => wanted.len(),
        };
        let open = path.last().is_some_and(|step| step == ANY);
        let fits = |(step, wanted): (&String, &String)| step == ANY || step == wanted;
        (path.len() <= longest || open && path.len() <= wanted.len())
            && path.iter().zip(&wanted).all(fits)
    })
}

/// A step of which a template decides, or the end of a list.
const ANY: &str = "*";

/// The steps of a path that may hold templates.
fn pattern(path: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once("{{") {
        plain.push_str(before);
        plain.push('\0');
        rest = after.split_once("}}").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    let step = |step: String| match step.contains('\0') || step == "-" {
        true => ANY.to_owned(),
        false => step,
    };
    steps(&plain).map(step).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_adds_what_its_path_may_reach() {
        let adds = |op: &str, path: &str, pointer: &str| {
            let tool = json!({"simulated": {"patch": [{"op": op, "path": path, "value": 1}]}});
            may_add(&serde_json::from_value(tool).unwrap(), pointer)
        };
        assert!(adds(
            "add",
            "/orders/{{ args.id }}/status",
            "/orders/9/status"
        ));
        assert!(adds("add", "/refunds/-", "/refunds/0/amount"));
        assert!(adds("add", "", "/anything"));
        assert!(adds("replace", "/orders/7", "/orders/7/status"));
        assert!(!adds(
            "replace",
            "/orders/{{ args.id }}/status",
            "/orders/9/status"
        ));
        assert!(!adds("add", "/refunds/{{ args.a / 2 }}", "/orders/9"));
        assert!(!adds("remove", "/orders/9", "/orders/9"));
    }
}
