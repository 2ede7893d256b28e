//! Templates and conditions of suites and scripts: that they are some, and that what they name is there.
//!
//! While a trial runs, a name that does not exist is empty, so that an argument which the model left out
//! breaks no tool; a misspelt one would be empty for ever and without a word.

use std::collections::BTreeSet;

use minijinja::Environment;
use serde_json::Value;

use crate::base::Error;
use crate::load::check::At;
use crate::load::nearest;

/// The names that templates and conditions see.
pub(crate) struct Scope<'a> {
    /// The names themselves.
    pub names: &'a [&'a str],
    /// What is known of their members.
    pub members: Vec<Members<'a>>,
}

/// The members of a name.
pub(crate) struct Members<'a> {
    /// The name.
    pub of: &'a str,
    /// What it has.
    pub known: Vec<&'a str>,
    /// Why a member that is not among them is a mistake: `is declared by the tool`, say.
    pub why: &'a str,
    /// Whether it may have others too, so that only what is like a known one is a mistake.
    pub open: bool,
}

/// The names in a suite, with the arguments that a tool declares. A tool may take arguments that it does
/// not declare.
pub(crate) fn of_tool<'a>(arguments: Vec<&'a str>) -> Scope<'a> {
    Scope {
        names: &["args", "state", "call", "trial"],
        members: vec![Members {
            of: "args",
            known: arguments,
            why: "the tool declares no such argument",
            open: true,
        }],
    }
}

/// Checks every text in a value.
pub(crate) fn templates(value: &Value, scope: &Scope, at: &At, problems: &mut Vec<Error>) {
    match value {
        Value::String(text) => template(text, scope, at, problems),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                templates(item, scope, &at.to(i), problems);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                templates(member, scope, &at.to(key), problems);
            }
        }
        _ => {}
    }
}

/// Checks one text.
pub(crate) fn template(text: &str, scope: &Scope, at: &At, problems: &mut Vec<Error>) {
    let environment = Environment::new();
    match environment.template_from_str(text) {
        Ok(template) => {
            let used = template.undeclared_variables(true);
            names(&environment, used, scope, at, problems);
        }
        Err(error) => problems.push(uncompiled("template", &error, at)),
    }
}

/// Checks a condition.
pub(crate) fn expression(text: &str, scope: &Scope, at: &At, problems: &mut Vec<Error>) {
    let environment = Environment::new();
    match environment.compile_expression(text) {
        Ok(expression) => {
            let used = expression.undeclared_variables(true);
            names(&environment, used, scope, at, problems);
        }
        Err(error) => problems.push(uncompiled("expression", &error, at)),
    }
}

fn names(
    environment: &Environment,
    used: impl IntoIterator<Item = String>,
    scope: &Scope,
    at: &At,
    problems: &mut Vec<Error>,
) {
    let globals: BTreeSet<&str> = environment.globals().map(|(name, _)| name).collect();
    // In order, so that the same file gives the same problems.
    for used in used.into_iter().collect::<BTreeSet<String>>() {
        let mut path = used.split('.');
        let first = path.next().unwrap_or_default();
        if !scope.names.contains(&first) && !globals.contains(first) {
            let problem = at.problem(format!("`{}` names `{used}`, which is nothing", at.name()));
            let known = scope.names.iter().copied();
            problems.push(problem.hint(nearest::hint(first, known, "names")));
        } else if let Some(member) = path.next() {
            let mut members = scope.members.iter();
            if let Some(members) = members.find(|members| members.of == first) {
                problems.extend(members.problem(member, at));
            }
        }
    }
}

impl Members<'_> {
    fn problem(&self, member: &str, at: &At) -> Option<Error> {
        let method = ["items", "keys", "values", "get"].contains(&member);
        if method || self.known.contains(&member) {
            return None;
        }
        let known = self.known.iter().copied();
        let near = nearest::nearest(member, known.clone());
        if self.open && near.is_none() {
            return None;
        }
        let (of, why) = (self.of, self.why);
        let problem = at.problem(format!("`{}` names `{of}.{member}`, and {why}", at.name()));
        Some(problem.hint(match near {
            Some(near) => format!("did you mean `{of}.{near}`?"),
            None if self.known.is_empty() => format!("`{of}` has no members here"),
            None => {
                let all: Vec<String> = known.map(|name| format!("`{of}.{name}`")).collect();
                format!("known: {}", all.join(", "))
            }
        }))
    }
}

fn uncompiled(what: &str, error: &minijinja::Error, at: &At) -> Error {
    let why = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned);
    let problem = at.problem(format!("`{}` is no {what}: {why}", at.name()));
    match what {
        "expression" => problem.hint("write it without braces, such as `args.amount > 50`"),
        _ => problem,
    }
}
