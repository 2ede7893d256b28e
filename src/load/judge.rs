//! `judges/NAME.yaml`: model judges, their prompts and rubrics.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use crate::base::{Error, Result};
use crate::judge::{exact, prompt};
use crate::load::arms::{chat, check_price};
use crate::load::check::{At, names};
use crate::load::document::{Document, Kind};
use crate::load::shape::Shape;
use crate::load::suite::newer_format;
use crate::load::{combined, place, schema, text};
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
    plain(&spec, &at, problems);
    output(&spec, &at.to("output"), problems);
    let scale = match spec.scale.complete() {
        Ok(scale) => scale,
        Err(reason) => {
            problems.push(at.to("scale").problem(reason));
            return None;
        }
    };
    let is_panel = !spec.panel.is_empty();
    let (texts, panel) = if is_panel {
        only_panel(&spec, &at, members, problems);
        let panel = match members {
            Members::Read => panel(&spec, &scale, document, problems),
            Members::Refused => vec![],
        };
        (JudgeTexts::default(), panel)
    } else {
        (one_model(&spec, document, problems), vec![])
    };
    let judge = Judge::new(spec, texts, scale, panel);
    examples(&judge, &at, problems);
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

/// Values that must make sense by themselves.
fn plain(spec: &JudgeSpec, at: &At, problems: &mut Vec<Error>) {
    names::check(spec.id.as_str(), "judge", &at.to("id"), problems);
    let mut refuse = |wrong: bool, key: &str, message: &str| {
        if wrong {
            problems.push(at.to(key).problem(message));
        }
    };
    refuse(
        spec.id.as_str().contains('@'),
        "id",
        "`@` stands between id and version, not in them",
    );
    refuse(
        spec.version.trim().is_empty(),
        "version",
        "`version` is empty",
    );
    refuse(
        spec.version.contains('@'),
        "version",
        "`@` stands between id and version, not in them",
    );
    refuse(spec.repeats == 0, "repeats", "`repeats` must be at least 1");
    refuse(
        spec.accepts.is_empty(),
        "accepts",
        "`accepts` is empty, so that the judge could be given nothing",
    );
    refuse(
        spec.view.is_empty(),
        "view",
        "`view` is empty, so that the judge would see nothing",
    );
    for (i, name) in spec.scrub.iter().enumerate() {
        if name.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
            let message = format!("`{name}` is too short to be hidden: three letters or more");
            problems.push(at.to("scrub").to(i).problem(message));
        }
    }
    if let Some(endpoint) = &spec.endpoint {
        let at = at.to("endpoint");
        chat::check(&endpoint.as_arm(&spec.accepts), &at, problems);
        check_price(endpoint.price, &at, problems);
        if let Some(reason) =
            exact::inexact(&endpoint.model).filter(|_| !endpoint.model.trim().is_empty())
        {
            let hint =
                "a judge is pinned to one model: write the full id, with its date or version";
            problems.push(at.to("model").problem(reason).hint(hint));
        }
    }
}

fn output(spec: &JudgeSpec, at: &At, problems: &mut Vec<Error>) {
    let output = &spec.output;
    if let Some(schema) = &output.schema {
        if let Err(error) = jsonschema::validator_for(schema) {
            let message = format!("the schema does not compile: {error}");
            problems.push(at.to("schema").problem(message));
        }
        let keys = [Some(&output.answer), output.score.as_ref()];
        let properties = schema.get("properties").and_then(|p| p.as_object());
        for key in keys.into_iter().flatten() {
            if properties.is_some_and(|p| !p.contains_key(key)) {
                let message = format!("the schema does not describe `{key}`");
                problems.push(at.to("schema").problem(message));
            }
        }
    } else if output.score.is_some() {
        let message = "a score needs a `schema` that describes it";
        problems.push(at.to("score").problem(message));
    }
    let Some(pattern) = &output.verdict_line else {
        return;
    };
    let at = at.to("verdict_line");
    match regex::Regex::new(pattern) {
        Err(_) => problems.push(at.problem("`verdict_line` is not a regular expression")),
        Ok(pattern) if pattern.captures_len() < 2 => {
            let hint = "put the answer into a group: `^VERDICT: (?P<answer>\\w+)$`";
            problems.push(
                at.problem("`verdict_line` has no group for the answer")
                    .hint(hint),
            );
        }
        Ok(_) => {}
    }
    if output.schema.is_some() {
        let message = "a reply is read as JSON (`schema`) or by a line (`verdict_line`), not both";
        problems.push(at.problem(message));
    }
}

fn examples(judge: &Judge, at: &At, problems: &mut Vec<Error>) {
    let words = judge.words();
    for (i, example) in judge.spec.examples.iter().enumerate() {
        if !words.contains(&example.answer) {
            let message = format!("`{}` is none of {}", example.answer, words.join(", "));
            problems.push(at.to("examples").to(i).to("answer").problem(message));
        }
    }
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

/// The texts of a judge of one model; what is missing is among the problems.
fn one_model(spec: &JudgeSpec, document: &Document, problems: &mut Vec<Error>) -> JudgeTexts {
    let at = At::root(document);
    // What was written and did not fit is gone from the typed value, and has been reported.
    let written = document.value();
    let absent = |key: &str| written.get(key).is_none();
    if absent("endpoint") {
        let problem = at.problem("key `endpoint` is missing");
        problems.push(problem.hint("name the model that judges, or the files of a `panel`"));
    }
    let Some(prompt) = &spec.prompt else {
        if absent("prompt") {
            problems.push(at.problem("key `prompt` is missing"));
        }
        return JudgeTexts::default();
    };
    let given = (&prompt.template, &prompt.template_file);
    let template = either("template", given, &at.to("prompt"), document, problems);
    let given = (&spec.rubric, &spec.rubric_file);
    let rubric = either("rubric", given, &at, document, problems);
    JudgeTexts { template, rubric }
}

/// A text that is written here or in a file beside it.
fn either(
    key: &str,
    (here, beside): (&Option<String>, &Option<String>),
    at: &At,
    document: &Document,
    problems: &mut Vec<Error>,
) -> String {
    let file = &document.file;
    let found = match (here, beside) {
        (Some(text), None) if text.trim().is_empty() => {
            Err(at.to(key).problem(format!("`{key}` is empty")))
        }
        (Some(text), None) => Ok(text.clone()),
        (None, Some(path)) => place::resolve(path, file, &place::root_of(file))
            .map_err(|error| moved(&error, &at.to(format!("{key}_file"))))
            .and_then(|path| text::read(&path)),
        (Some(_), Some(_)) => {
            let message = format!("the {key} is given twice, here and in a file");
            Err(at.to(format!("{key}_file")).problem(message))
        }
        (None, None) => {
            let problem = at.problem(format!("key `{key}` is missing"));
            Err(problem.hint(format!("write it here, or name a file with `{key}_file`")))
        }
    };
    found.unwrap_or_else(|error| {
        problems.push(error);
        String::new()
    })
}
