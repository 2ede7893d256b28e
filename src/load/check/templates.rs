//! Templates and conditions of a suite: that they are some, and that what they name is there.
//!
//! While a trial runs, a name that does not exist is empty, so that an argument which the model left out
//! breaks no tool; a misspelt one would be empty for ever and without a word.

use std::collections::BTreeSet;

use minijinja::Environment;
use serde_json::Value;

use crate::base::Error;
use crate::load::check::At;
use crate::load::nearest;

/// The names that templates and conditions of a suite see.
const SEEN: [&str; 4] = ["args", "state", "call", "trial"];

/// Checks every text in a value; `arguments` are the declared arguments of the tool, where they are known.
pub(super) fn templates(value: &Value, arguments: &[&str], at: &At, problems: &mut Vec<Error>) {
    match value {
        Value::String(text) => template(text, arguments, at, problems),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                templates(item, arguments, &at.to(i), problems);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                templates(member, arguments, &at.to(key), problems);
            }
        }
        _ => {}
    }
}

/// Checks one text.
pub(super) fn template(text: &str, arguments: &[&str], at: &At, problems: &mut Vec<Error>) {
    let environment = Environment::new();
    match environment.template_from_str(text) {
        Ok(template) => {
            let used = template.undeclared_variables(true);
            names(&environment, used, arguments, at, problems);
        }
        Err(error) => problems.push(uncompiled("template", &error, at)),
    }
}

/// Checks a condition.
pub(super) fn expression(text: &str, arguments: &[&str], at: &At, problems: &mut Vec<Error>) {
    let environment = Environment::new();
    match environment.compile_expression(text) {
        Ok(expression) => {
            let used = expression.undeclared_variables(true);
            names(&environment, used, arguments, at, problems);
        }
        Err(error) => problems.push(uncompiled("expression", &error, at)),
    }
}

fn names(
    environment: &Environment,
    used: impl IntoIterator<Item = String>,
    arguments: &[&str],
    at: &At,
    problems: &mut Vec<Error>,
) {
    let globals: BTreeSet<&str> = environment.globals().map(|(name, _)| name).collect();
    // In order, so that the same file gives the same problems.
    for used in used.into_iter().collect::<BTreeSet<String>>() {
        let mut path = used.split('.');
        let first = path.next().unwrap_or_default();
        if !SEEN.contains(&first) && !globals.contains(first) {
            let problem = at.problem(format!("`{}` names `{used}`, which is nothing", at.name()));
            problems.push(problem.hint(nearest::hint(first, SEEN, "names")));
        } else if let Some(argument) = path.next().filter(|_| first == "args")
            && let Some(near) = misspelt(argument, arguments)
        {
            let message = format!(
                "`{}` names `args.{argument}`, and the tool declares no such argument",
                at.name()
            );
            problems.push(
                at.problem(message)
                    .hint(format!("did you mean `args.{near}`?")),
            );
        }
    }
}

/// The argument that was meant. A tool may take arguments that it does not declare, so one that is like
/// none of its own is let be, and so are the methods of mappings.
fn misspelt<'a>(argument: &str, declared: &[&'a str]) -> Option<&'a str> {
    let known = ["items", "keys", "values", "get"].contains(&argument);
    match known || declared.contains(&argument) {
        true => None,
        false => nearest::nearest(argument, declared.iter().copied()),
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
