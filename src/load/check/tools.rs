//! Names of tools in contracts, against the tools that the suite declares.

use std::collections::BTreeMap;

use crate::base::Error;
use crate::load::check::At;
use crate::load::nearest;
use crate::model::environment::APPROVAL_TOOL;
use crate::model::suite::ToolSpec;

/// The tools that a suite declares; with none declared every name is allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tools<'a>(pub &'a BTreeMap<String, ToolSpec>);

impl Tools<'_> {
    /// Checks that a tool is one of the declared ones.
    pub fn check(&self, tool: &str, at: &At, problems: &mut Vec<Error>) {
        if tool.is_empty() {
            problems.push(at.problem("the name of a tool is empty"));
        } else if tool == APPROVAL_TOOL {
            let message = format!(
                "`{APPROVAL_TOOL}` in `{}`: the built-in tool is no part of a path or contract, its calls are recorded as requests of approval",
                at.name()
            );
            problems.push(at.problem(message).hint(
                "write `approval_required: [TOOL]` for a tool that must not be called without a granted request",
            ));
        } else if !self.0.is_empty() && !self.0.contains_key(tool) {
            let known = self.0.keys().map(String::as_str);
            let problem = at.problem(format!("unknown tool `{tool}` in `{}`", at.name()));
            problems.push(problem.hint(nearest::hint(tool, known, "tools")));
        }
    }

    /// Whether any declared tool writes.
    pub fn any_writes(&self) -> bool {
        self.0.values().any(|t| t.writes)
    }
}
