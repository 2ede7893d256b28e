//! Requests for approval: the built-in tool, and who grants them.

use serde_json::{Value, json};

use super::template::Scope;
use crate::base::template::{Condition, Templates};
use crate::model::chat::ToolDef;
use crate::model::environment::{APPROVAL_TOOL, ApprovalSpec};

/// A compiled rule about approvals.
pub(super) struct Approval {
    capability: Option<String>,
    when: Option<Condition>,
    grant: bool,
    note: Option<String>,
}

/// What an agent asks approval for.
pub(super) struct Request {
    pub capability: String,
    pub arguments: Value,
    pub reason: Option<String>,
}

/// The answer to a request.
#[derive(Debug, PartialEq)]
pub(super) struct Decision {
    pub granted: bool,
    pub note: Option<String>,
}

impl Request {
    /// Reads the arguments of the built-in tool; an error is told to the model.
    pub fn read(arguments: &Value) -> Result<Self, &'static str> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str);
        let Some(capability) = text("capability").filter(|c| !c.is_empty()) else {
            return Err("`capability` must name the tool for which approval is asked");
        };
        let own = arguments.get("arguments").cloned();
        Ok(Self {
            capability: capability.to_owned(),
            arguments: own.unwrap_or_else(|| json!({})),
            reason: text("reason").map(str::to_owned),
        })
    }

    /// As it stands in the trace.
    pub fn payload(&self) -> Value {
        match &self.reason {
            Some(reason) => json!({"arguments": self.arguments, "reason": reason}),
            None => json!({"arguments": self.arguments}),
        }
    }
}

impl Approval {
    pub fn compile(spec: &ApprovalSpec, templates: &mut Templates) -> Result<Self, String> {
        let when = spec.when.as_ref().map(|w| templates.condition(w));
        Ok(Self {
            capability: spec.capability.clone(),
            when: when.transpose()?,
            grant: spec.grant,
            note: spec.note.clone(),
        })
    }

    fn fits(
        &self,
        templates: &Templates,
        capability: &str,
        names: &minijinja::Value,
    ) -> Result<bool, String> {
        let named = self.capability.as_deref();
        if named.is_some_and(|own| own != capability) {
            return Ok(false);
        }
        match &self.when {
            Some(when) => templates.holds(when, names),
            None => Ok(true),
        }
    }
}

/// Decides about a request: the first rule that fits, and without one the answer is no.
pub(super) fn decide<'a>(
    rules: impl IntoIterator<Item = &'a Approval>,
    templates: &Templates,
    capability: &str,
    scope: &Scope,
) -> Result<Decision, String> {
    let names = scope.names();
    for rule in rules {
        if rule.fits(templates, capability, &names)? {
            return Ok(Decision {
                granted: rule.grant,
                note: rule.note.clone(),
            });
        }
    }
    Ok(Decision {
        granted: false,
        note: None,
    })
}

/// The built-in tool, as the model sees it.
pub(super) fn tool() -> ToolDef {
    ToolDef {
        name: APPROVAL_TOOL.to_owned(),
        description:
            "Asks a person to approve a call before it is made. Answers whether it is granted."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "capability": {"type": "string", "description": "The tool that is to be called."},
                "arguments": {"type": "object", "description": "The arguments of the planned call."},
                "reason": {"type": "string", "description": "Why the call is needed."}
            },
            "required": ["capability"]
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_decides_and_silence_is_no() {
        let mut templates = Templates::new();
        let specs: Vec<ApprovalSpec> = serde_json::from_value(json!([
            {"capability": "pay", "when": "args.amount > 50", "grant": false, "note": "too much"},
            {"capability": "pay", "grant": true}]))
        .unwrap();
        let compile = |s: &ApprovalSpec| Approval::compile(s, &mut templates).unwrap();
        let rules: Vec<_> = specs.iter().map(compile).collect();
        let granted = |capability: &str, args: Value| {
            let scope = Scope {
                args: &args,
                state: None,
                call: 1,
                trial: 0,
            };
            decide(&rules, &templates, capability, &scope)
                .unwrap()
                .granted
        };
        assert!(!granted("pay", json!({"amount": 51})));
        assert!(granted("pay", json!({"amount": 50})));
        assert!(granted("pay", json!({})));
        assert!(!granted("note", json!({"amount": 1})));
    }
}
