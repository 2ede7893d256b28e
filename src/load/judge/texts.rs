//! The texts of a judge: written in its file, or in files beside it.

use super::moved;
use crate::base::Error;
use crate::load::check::At;
use crate::load::document::Document;
use crate::load::{place, text};
use crate::model::judge::{JudgeSpec, JudgeTexts};

/// The texts of a judge of one model; what is missing is among the problems.
pub(super) fn one_model(
    spec: &JudgeSpec,
    document: &Document,
    problems: &mut Vec<Error>,
) -> JudgeTexts {
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
