//! Tools whose behaviour the suite declares.

use json_patch::Patch;
use serde_json::Value;

use super::template::Scope;
use crate::base::template::{Condition, Form, Templates, Text};
use crate::model::environment::{SimulatedCase, SimulatedTool};

/// A compiled simulated tool: its cases in order, the last without a condition.
pub(super) struct Simulated {
    cases: Vec<Case>,
}

struct Case {
    when: Option<Condition>,
    result: Option<Form>,
    patch: Vec<Form>,
    receipt: Option<Text>,
    error: Option<Form>,
    commits: Option<bool>,
}

/// What a tool answered.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// The result, or the error.
    pub content: Value,
    /// Whether it is an error.
    pub is_error: bool,
    /// Whether a change was committed; `None` where it follows from the tool's declaration.
    pub commits: Option<bool>,
    /// Receipt of the change.
    pub receipt: Option<String>,
    /// The state document after the call, where it changed.
    pub state: Option<Value>,
    /// Shared resources that it wrote.
    pub wrote: Vec<String>,
}

impl Simulated {
    pub fn compile(spec: &SimulatedTool, templates: &mut Templates) -> Result<Self, String> {
        let last = spec.otherwise();
        let cases = spec.cases.iter().map(|c| (Some(c.when.as_str()), c));
        let cases = cases
            .chain([(None, &last)])
            .map(|(when, case)| Case::compile(when, case, templates));
        Ok(Self {
            cases: cases.collect::<Result<_, _>>()?,
        })
    }

    /// Answers a call.
    ///
    /// # Errors
    ///
    /// If a template can't be filled in: the suite's fault.
    pub fn answer(&self, templates: &Templates, scope: &Scope) -> Result<Answer, String> {
        let names = scope.names();
        for case in &self.cases {
            let holds = match &case.when {
                Some(when) => templates.holds(when, &names)?,
                None => true,
            };
            if holds {
                return case.answer(templates, scope, &names);
            }
        }
        Ok(Answer::default())
    }
}

impl Case {
    fn compile(
        when: Option<&str>,
        case: &SimulatedCase,
        templates: &mut Templates,
    ) -> Result<Self, String> {
        let error = case.error.as_ref().map(|e| templates.form_of_text(e));
        let error = error.transpose()?;
        let receipt = case.receipt.as_ref().map(|r| templates.text(r));
        let receipt = receipt.transpose()?;
        let patch = case.patch.iter().map(|p| templates.form(p));
        Ok(Self {
            receipt,
            error,
            patch: patch.collect::<Result<_, _>>()?,
            when: when.map(|w| templates.condition(w)).transpose()?,
            result: case
                .result
                .as_ref()
                .map(|r| templates.form(r))
                .transpose()?,
            commits: case.commits,
        })
    }

    fn answer(
        &self,
        templates: &Templates,
        scope: &Scope,
        names: &minijinja::Value,
    ) -> Result<Answer, String> {
        if let Some(error) = &self.error {
            return Ok(failed(templates.fill(error, names)?));
        }
        let patch = self.patch.iter().map(|s| templates.fill(s, names));
        let patch: Vec<Value> = patch.collect::<Result<_, _>>()?;
        let state = match patched(scope.state, patch) {
            Ok(state) => state,
            // As from a real service: what the arguments make impossible is refused, whole.
            Err(reason) => {
                return Ok(failed(
                    format!("the call can't be applied: {reason}").into(),
                ));
            }
        };
        let fill = |form: &Option<Form>| {
            let filled = form.as_ref().map(|f| templates.fill(f, names));
            filled.transpose()
        };
        let receipt = self.receipt.as_ref();
        Ok(Answer {
            content: fill(&self.result)?.unwrap_or_default(),
            commits: self.commits,
            receipt: receipt.map(|s| templates.render(s, names)).transpose()?,
            state,
            ..Answer::default()
        })
    }
}

fn failed(content: Value) -> Answer {
    Answer {
        content,
        is_error: true,
        ..Answer::default()
    }
}

/// The state document after an RFC 6902 patch, all of it or nothing; `None` if there is no patch.
pub(super) fn patched(state: Option<&Value>, patch: Vec<Value>) -> Result<Option<Value>, String> {
    if patch.is_empty() {
        return Ok(None);
    }
    let patch: Patch = serde_json::from_value(Value::Array(patch)).map_err(|e| e.to_string())?;
    let mut after = state.cloned().unwrap_or_default();
    json_patch::patch(&mut after, &patch).map_err(|e| e.to_string())?;
    Ok(Some(after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(tool: Value, args: Value) -> Result<Answer, String> {
        let mut templates = Templates::new();
        let spec: SimulatedTool = serde_json::from_value(tool).unwrap();
        let tool = Simulated::compile(&spec, &mut templates)?;
        let state = json!({"orders": {"7": {"paid": 5}}, "refunds": []});
        let scope = Scope {
            args: &args,
            state: Some(&state),
            call: 1,
            trial: 0,
        };
        tool.answer(&templates, &scope)
    }

    fn refund() -> Value {
        json!({
            "cases": [{"when": "args.id not in state.orders", "error": "no order {{ args.id }}"}],
            "result": {"refund": "r{{ call }}"},
            "receipt": "refund:{{ args.id }}",
            "patch": [
                {"op": "add", "path": "/refunds/-", "value": "{{ args.amount }}"},
                {"op": "replace", "path": "/orders/{{ args.id }}/paid", "value": 0}]})
    }

    #[test]
    fn the_first_case_that_holds_answers() {
        let found = answer(refund(), json!({"id": "8"})).unwrap();
        assert_eq!(found, failed(json!("no order 8")));
        let found = answer(refund(), json!({"id": "7", "amount": 5})).unwrap();
        assert_eq!(found.receipt.as_deref(), Some("refund:7"));
        assert_eq!(found.content, json!({"refund": "r1"}));
        let after = json!({"orders": {"7": {"paid": 0}}, "refunds": [5]});
        assert_eq!(found.state, Some(after));
    }

    #[test]
    fn a_patch_is_applied_whole_or_not_at_all() {
        let mut tool = refund();
        tool["patch"][1]["path"] = json!("/orders/none/paid");
        let found = answer(tool, json!({"id": "7", "amount": 5})).unwrap();
        assert!(found.is_error && found.state.is_none(), "{found:?}");
    }

    #[test]
    fn a_template_that_makes_no_sense_is_an_error_of_the_suite() {
        let tool = json!({"result": "{{ args.id + 1 }}"});
        assert!(answer(tool, json!({"id": "7"})).is_err());
    }
}
