//! Contracts: what a task or a suite expects.

use crate::base::Error;
use crate::load::check::tools::Tools;
use crate::load::check::{At, schemas};
use crate::model::expect::{ArgRule, ChangeOp, Expect, PathMode, StateAssertion};

/// Checks one contract as it is written, before it is merged with the suite's.
pub(crate) fn check(expect: &Expect, tools: Tools, at: &At, problems: &mut Vec<Error>) {
    paths(expect, tools, at, problems);
    per_tool(expect, tools, at, problems);
    writes(expect, tools, at, problems);
    if let Some(schema) = &expect.final_schema {
        schemas::schema(schema, &at.to("final_schema"), problems);
    }
    for (i, assertion) in expect.final_state.iter().enumerate() {
        state(assertion, &at.to("final_state").to(i), problems);
    }
    for (i, change) in expect.state_changes.iter().flatten().enumerate() {
        let at = at.to("state_changes").to(i);
        schemas::pointer(&change.path, &at.to("path"), problems);
        if change.op == ChangeOp::Remove && change.value.is_some() {
            problems.push(
                at.to("value")
                    .problem("a value that was removed has no `value`"),
            );
        }
    }
}

fn paths(expect: &Expect, tools: Tools, at: &At, problems: &mut Vec<Error>) {
    for (i, tool) in expect.tool_names.iter().flatten().enumerate() {
        tools.check(tool, &at.to("tool_names").to(i), problems);
    }
    if expect.allowed_paths.as_ref().is_some_and(Vec::is_empty) {
        let message = "`allowed_paths` is empty, so that no path would be legal";
        problems.push(at.to("allowed_paths").problem(message));
    }
    for (i, path) in expect.allowed_paths.iter().flatten().enumerate() {
        for (k, tool) in path.iter().enumerate() {
            tools.check(tool, &at.to("allowed_paths").to(i).to(k), problems);
        }
    }
    for (i, call) in expect.calls.iter().flatten().enumerate() {
        tools.check(&call.name, &at.to("calls").to(i).to("name"), problems);
    }
}

fn per_tool(expect: &Expect, tools: Tools, at: &At, problems: &mut Vec<Error>) {
    let keys = |name: &'static str, keys: Vec<&String>, problems: &mut Vec<Error>| {
        for tool in keys {
            tools.check(tool, &at.to(name).to(tool), problems);
        }
    };
    keys(
        "required_arg_keys",
        expect.required_arg_keys.keys().collect(),
        problems,
    );
    keys("args", expect.args.keys().collect(), problems);
    keys("max_calls", expect.max_calls.keys().collect(), problems);
    keys("arg_scope", expect.arg_scope.keys().collect(), problems);
    for (name, list) in [
        ("forbidden_tools", &expect.forbidden_tools),
        ("approval_required", &expect.approval_required),
    ] {
        for (i, tool) in list.iter().enumerate() {
            tools.check(tool, &at.to(name).to(i), problems);
        }
    }
    for (tool, rule) in &expect.args {
        arguments(rule, &at.to("args").to(tool), problems);
    }
    for (tool, scope) in &expect.arg_scope {
        schemas::schema(scope, &at.to("arg_scope").to(tool), problems);
    }
}

fn arguments(rule: &ArgRule, at: &At, problems: &mut Vec<Error>) {
    if let Some(schema) = &rule.schema {
        schemas::schema(schema, &at.to("schema"), problems);
    }
    for (key, value) in [("exact", &rule.exact), ("subset", &rule.subset)] {
        if value.as_ref().is_some_and(|v| !v.is_object()) {
            let at = at.to(key);
            let message = format!("`{}` must be a mapping of argument names", at.name());
            problems.push(at.problem(message));
        }
    }
    for (i, key) in rule.ignore.iter().enumerate() {
        if key.starts_with('/') {
            schemas::pointer(key, &at.to("ignore").to(i), problems);
        }
    }
    if let Some(reason) = rule.hash.as_deref().and_then(hash_fault) {
        let at = at.to("hash");
        problems.push(at.problem(format!("`{}` {reason}", at.name())));
    }
    if *rule == ArgRule::default() {
        problems.push(at.problem(format!("`{}` says nothing", at.name())));
    }
}

fn hash_fault(hash: &str) -> Option<&'static str> {
    if !hash
        .bytes()
        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    {
        Some("must be lower-case hexadecimal digits of a blake3")
    } else if !(12..=64).contains(&hash.len()) {
        Some("must have 64 hexadecimal digits, or at least the first 12")
    } else {
        None
    }
}

fn writes(expect: &Expect, tools: Tools, at: &At, problems: &mut Vec<Error>) {
    if expect.must_ask_before_write == Some(true) && !tools.any_writes() {
        let message =
            "`must_ask_before_write` needs to know which tools write, and the suite declares none";
        let problem = at.to("must_ask_before_write").problem(message);
        problems.push(problem.hint("add `tools: {NAME: {writes: true}}` to the suite file"));
    }
}

fn state(assertion: &StateAssertion, at: &At, problems: &mut Vec<Error>) {
    schemas::pointer(&assertion.pointer, &at.to("pointer"), problems);
    let tests = [
        assertion.equals.is_some(),
        assertion.exists.is_some(),
        assertion.schema.is_some(),
    ];
    match tests.into_iter().filter(|t| *t).count() {
        1 => {}
        0 => problems.push(at.problem(format!(
            "`{}` has no test: give one of `equals`, `exists`, `schema`",
            at.name()
        ))),
        _ => problems.push(at.problem(format!(
            "`{}` has several tests: give one of `equals`, `exists`, `schema`",
            at.name()
        ))),
    }
    if let Some(schema) = &assertion.schema {
        schemas::schema(schema, &at.to("schema"), problems);
    }
}

/// Checks a merged contract for calls that it both expects and forbids, so that no trial could pass.
pub(crate) fn contradictions(merged: &Expect, at: &At, problems: &mut Vec<Error>) {
    if merged.path_mode == Some(PathMode::Subset) {
        return;
    }
    let names = merged.tool_names.iter().flatten().map(String::as_str);
    let calls = merged.calls.iter().flatten().map(|c| c.name.as_str());
    let expected: Vec<&str> = names.chain(calls).collect();
    for tool in &merged.forbidden_tools {
        if expected.contains(&tool.as_str()) {
            let message = format!("tool `{tool}` is both expected and forbidden");
            problems.push(at.problem(message));
        }
    }
    for (tool, most) in &merged.max_calls {
        let named = merged
            .tool_names
            .iter()
            .flatten()
            .filter(|t| *t == tool)
            .count();
        let called = merged
            .calls
            .iter()
            .flatten()
            .filter(|c| &c.name == tool)
            .count();
        let needed = named.max(called);
        if needed > *most as usize {
            let message =
                format!("`max_calls` allows {most} of the {needed} expected calls of `{tool}`");
            problems.push(at.problem(message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_hexadecimal_and_long_enough() {
        assert_eq!(hash_fault(&"0a".repeat(32)), None);
        assert_eq!(hash_fault("0123456789ab"), None);
        for bad in [
            "",
            "0123456789a",
            "0123456789aG",
            "0123456789AB",
            &"0".repeat(65),
        ] {
            assert!(hash_fault(bad).is_some(), "{bad}");
        }
    }
}
