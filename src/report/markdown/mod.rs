//! `report.md`: for a person who has two minutes to decide about a release.
//!
//! The layout is the template `reports/report.md.j2`; the modules here turn rows into its lines.
//! Every text that is not the template's own or a formatted number is escaped on its way out, so
//! that no agent, task or rule can change a table.

mod comparisons;
mod decision;
mod denominators;
mod escape;
mod estimates;
mod findings;
mod judges;
mod judging;
mod live;
mod number;
mod preferences;
mod robustness;
mod view;
mod words;

pub(super) use number::{interval, number};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Output, State, UndefinedBehavior, Value};

use crate::base::{Error, Result};
use crate::model::report::{DisagreementRow, Report};
pub use judges::judge_disagreements;
use view::View;

const TEMPLATE: &str = include_str!("../../../reports/report.md.j2");

/// Longest text that is printed in full; the CSV files hold the rest.
const LONGEST: usize = 400;

/// Renders `report.md`; of `disagreements`, the rows of `disagreements.csv`, it prints a few.
///
/// # Errors
///
/// An I/O error if the built-in template does not fit the report, which the tests rule out.
pub fn render(report: &Report, disagreements: &[DisagreementRow]) -> Result<String> {
    let view = Value::from(Serde(View::new(report, disagreements)));
    from_template("report.md", TEMPLATE, view)
}

/// Renders a page from a template and what it shows.
pub(super) fn from_template(name: &str, template: &str, view: Value) -> Result<String> {
    environment()
        .and_then(|environment| environment.render_str(template, view))
        .map(|text| squeeze(&text))
        .map_err(|error| Error::io(format!("{name} could not be rendered: {error:#}")))
}

fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    environment.set_formatter(print);
    Ok(environment)
}

/// One blank line wherever the template left several, none at the start, and one line end at the
/// end; the template can then be laid out for its own readers.
fn squeeze(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = false;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() {
            blank = true;
            continue;
        }
        if blank && !out.is_empty() {
            out.push('\n');
        }
        blank = false;
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Prints one expression of the template: numbers and what is marked safe as they are, any other
/// text escaped.
fn print(out: &mut Output, _: &mut State, value: &Value) -> Result<(), minijinja::Error> {
    match value.as_str() {
        Some(text) if !value.is_safe() => out.write_str(&escape::escape(&clip(text, LONGEST))),
        _ => out.write_str(&value.to_string()),
    }
    .map_err(minijinja::Error::from)
}

/// Cuts a text after `longest` characters.
fn clip(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Marks a text that was made here, of numbers and our own words, as printable as it is.
fn safe(text: impl Into<String>) -> Value {
    Value::from_safe_string(text.into())
}

#[cfg(test)]
mod tests;
