//! Whether the values of a judge make sense by themselves.

use crate::base::Error;
use crate::judge::exact;
use crate::load::arms::{chat, check_price};
use crate::load::check::{At, names};
use crate::load::threshold_problems;
use crate::model::judge::{Judge, JudgeSpec};
use crate::model::label::Scale;

/// Values that must make sense by themselves.
pub(super) fn plain(spec: &JudgeSpec, at: &At, problems: &mut Vec<Error>) {
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
    for (key, name) in [("id", spec.id.as_str()), ("version", &spec.version)] {
        let message = format!(
            "`{key}` holds a blank: it is part of file names and of metrics such as `ID@VERSION.rate`"
        );
        refuse(
            !name.trim().is_empty() && name.contains(char::is_whitespace),
            key,
            &message,
        );
    }
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

pub(super) fn output(spec: &JudgeSpec, at: &At, problems: &mut Vec<Error>) {
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

/// Thresholds that a certificate could hold on this scale.
pub(super) fn thresholds(spec: &JudgeSpec, scale: &Scale, at: &At, problems: &mut Vec<Error>) {
    for (name, error) in threshold_problems(&spec.thresholds, scale, None) {
        let problem = at
            .to("thresholds")
            .to(name)
            .problem(error.message().to_owned());
        problems.push(error.hints().iter().fold(problem, |p, hint| p.hint(hint)));
    }
}

pub(super) fn examples(judge: &Judge, at: &At, problems: &mut Vec<Error>) {
    let words = judge.words();
    for (i, example) in judge.spec.examples.iter().enumerate() {
        if !words.contains(&example.answer) {
            let message = format!("`{}` is none of {}", example.answer, words.join(", "));
            problems.push(at.to("examples").to(i).to("answer").problem(message));
        }
    }
}
