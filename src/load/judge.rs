//! `judges/NAME.yaml`: model judges, their prompts and rubrics.

mod sense;
mod texts;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use crate::base::{Error, Result};
use crate::judge::prompt;
use crate::load::check::At;
use crate::load::document::{Document, Kind};
use crate::load::shape::Shape;
use crate::load::suite::newer_format;
use crate::load::{combined, place, schema};
use crate::model::judge::{JUDGE_FORMAT, Judge, JudgeSpec, JudgeTexts};
use crate::model::label::Scale;

/// Loads a judge with the files that it names: template, rubric, members of its panel.
///
/// # Errors
///
/// All problems at once, each with file and line.
pub fn judge(file: &Path) -> Result<Judge> {
    let mut problems = vec![];
    match read(file, Members::Read, &mut problems) {
        Some(judge) if problems.is_empty() => Ok(judge),
        _ => Err(combined(file, problems)),
    }
}

/// Lists all problems of a judge's file.
pub fn validate_judge(file: &Path) -> Vec<Error> {
    let mut problems = vec![];
    read(file, Members::Read, &mut problems);
    problems
}

/// Whether the prompt of a judge leaves open in which form it is answered: it holds neither the schema nor
/// the key of the answer.
pub(crate) fn says_no_form(judge: &Judge) -> bool {
    let key = judge.spec.output.answer.as_str();
    let named = [format!("\"{key}\""), format!("`{key}`")];
    let says = |text: &str| {
        text.contains("schema") || named.iter().any(|name| text.contains(name.as_str()))
    };
    let prompt = judge.spec.prompt.as_ref();
    let system = prompt.and_then(|prompt| prompt.system.as_deref());
    let texts = [system, Some(judge.texts.template.as_str())];
    judge.spec.panel.is_empty() && !texts.into_iter().flatten().any(says)
}

/// Whether a document defines a judge.
pub(crate) fn is_judge(document: &Document) -> bool {
    let Kind::Map(entries) = &document.root.kind else {
        return false;
    };
    let has = |key: &str| entries.iter().any(|e| e.key == key);
    let asks = ["prompt", "rubric", "rubric_file", "panel", "endpoint"];
    has("scale") && asks.iter().any(|key| has(key))
}

/// Whether a panel may stand here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Members {
    /// Its members are read.
    Read,
    /// The file is a member itself.
    Refused,
}

fn read(file: &Path, members: Members, problems: &mut Vec<Error>) -> Option<Judge> {
    let document = Document::read(file).and_then(|d| newer_format(&d, JUDGE_FORMAT).map(|()| d));
    let shape = Shape::new(schema::schema("judge").unwrap_or_default());
    let (document, shape) = match (document, shape) {
        (Ok(document), Ok(shape)) => (document, shape),
        (Err(error), _) | (_, Err(error)) => {
            problems.push(error);
            return None;
        }
    };
    let mut checked = shape.check(&document);
    let scale = json!({"kind": "nominal", "levels": ["a", "b"]});
    let fill = [
        ("id", json!("unnamed")),
        ("version", json!("unknown")),
        ("scale", scale),
    ];
    let spec = checked.typed::<JudgeSpec>(&document, &fill);
    let mut found = checked.problems;
    let judge = spec.and_then(|spec| checked_judge(spec, &document, members, &mut found));
    found.sort_by_key(|e| (e.file() != Some(file), e.line()));
    let sound = found.is_empty();
    problems.append(&mut found);
    judge.filter(|_| sound)
}

fn checked_judge(
    spec: JudgeSpec,
    document: &Document,
    members: Members,
    problems: &mut Vec<Error>,
) -> Option<Judge> {
    let at = At::root(document);
    sense::plain(&spec, &at, problems);
    sense::output(&spec, &at.to("output"), problems);
    let scale = match spec.scale.complete() {
        Ok(scale) => scale,
        Err(reason) => {
            problems.push(at.to("scale").problem(reason));
            return None;
        }
    };
    sense::thresholds(&spec, &scale, &at, problems);
    let is_panel = !spec.panel.is_empty();
    let (texts, panel) = if is_panel {
        only_panel(&spec, &at, members, problems);
        let panel = match members {
            Members::Read => panel(&spec, &scale, document, problems),
            Members::Refused => vec![],
        };
        (JudgeTexts::default(), panel)
    } else {
        (texts::one_model(&spec, document, problems), vec![])
    };
    let judge = Judge::new(spec, texts, scale, panel);
    sense::examples(&judge, &at, problems);
    let has_texts = !judge.texts.template.is_empty() && !judge.texts.rubric.is_empty();
    if !is_panel && has_texts {
        let place = at.to("prompt");
        problems.extend(prompt::problems(&judge).iter().map(|e| moved(e, &place)));
    }
    Some(judge)
}

/// A problem without a place, put where it belongs.
fn moved(error: &Error, at: &At) -> Error {
    let problem = at.problem(error.message().to_owned());
    error.hints().iter().fold(problem, |p, hint| p.hint(hint))
}

/// What only a judge of one model has.
fn only_panel(spec: &JudgeSpec, at: &At, members: Members, problems: &mut Vec<Error>) {
    if members == Members::Refused {
        problems.push(
            at.to("panel")
                .problem("the member of a panel is a panel itself"),
        );
    }
    let given = [
        ("endpoint", spec.endpoint.is_some()),
        ("prompt", spec.prompt.is_some()),
        ("rubric", spec.rubric.is_some()),
        ("rubric_file", spec.rubric_file.is_some()),
        ("examples", !spec.examples.is_empty()),
    ];
    for (key, _) in given.into_iter().filter(|(_, given)| *given) {
        let message = format!("a panel has no `{key}` of its own");
        problems.push(at.to(key).problem(message));
    }
}

fn panel(
    spec: &JudgeSpec,
    scale: &Scale,
    document: &Document,
    problems: &mut Vec<Error>,
) -> Vec<Judge> {
    let at = At::root(document).to("panel");
    let file = &document.file;
    let distinct: BTreeSet<&String> = spec.panel.iter().collect();
    if distinct.len().is_multiple_of(2) || distinct.len() < 3 || distinct.len() < spec.panel.len() {
        problems.push(at.problem("a panel is an odd number of different judges, three or more"));
    }
    let mut members: Vec<Judge> = vec![];
    for (i, path) in spec.panel.iter().enumerate() {
        let at = at.to(i);
        let path = match place::resolve(path, file, &place::root_of(file)) {
            Ok(path) => path,
            Err(error) => {
                problems.push(moved(&error, &at));
                continue;
            }
        };
        let Some(member) = read(&path, Members::Refused, problems) else {
            continue;
        };
        if member.scale != *scale {
            problems.push(at.problem("the member has another scale than the panel"));
        }
        if member.spec.repeats != spec.repeats {
            problems.push(at.problem("the member has other `repeats` than the panel"));
        }
        if members.iter().any(|m| m.key() == member.key()) {
            let message = format!("two members are called `{}`", member.key());
            problems.push(at.problem(message));
        }
        members.push(member);
    }
    members
}
