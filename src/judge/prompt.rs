//! From a blinded view and a template to what the model is asked.

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde_json::{Value, json};

use super::blind::{Blinded, PROBE_TASK, probe};
use super::fence::fenced;
use super::view::View;
use crate::base::{Error, Result};
use crate::model::chat::Message;
use crate::model::judge::Judge;

/// What one request shows: the blinded outputs in the order of their slots, with their codes.
pub(super) struct Shown<'a> {
    /// One output, or two.
    pub outputs: Vec<Output<'a>>,
    /// The fence of this request.
    pub fence: &'a str,
}

/// One output.
pub(super) struct Output<'a> {
    /// The blinded view.
    pub view: &'a Blinded<View>,
    /// What it is called.
    pub code: &'a str,
}

/// Renders the messages of a request.
///
/// # Errors
///
/// If a template fails on this view.
pub(super) fn messages(judge: &Judge, shown: &Shown) -> Result<Vec<Message>> {
    let context = context(judge, shown);
    let mut messages = vec![];
    if let Some(system) = system(judge) {
        messages.push(Message::System(render(
            judge,
            "prompt.system",
            system,
            &context,
        )?));
    }
    let text = render(judge, "prompt.template", &judge.texts.template, &context)?;
    messages.push(Message::User(text));
    Ok(messages)
}

fn system(judge: &Judge) -> Option<&str> {
    judge.spec.prompt.as_ref()?.system.as_deref()
}

fn context(judge: &Judge, shown: &Shown) -> Value {
    let task = shown
        .outputs
        .first()
        .and_then(|o| o.view.get().task.as_deref());
    let schema = judge.reply_schema();
    let mut context = json!({
        "rubric": judge.texts.rubric.trim_end(),
        // A task is data as well: users write it.
        "task": task.map(|text| format!("<<<{f} begin\n{text}\n{f} end>>>", f = shown.fence)),
        "fence": shown.fence,
        "levels": judge.words(),
        "schema": schema.to_string(),
        "examples": judge.spec.examples,
    });
    let text = |output: &Output| json!(fenced(output.view.get(), shown.fence));
    match shown.outputs.as_slice() {
        [one] => {
            context["evidence"] = text(one);
            context["code"] = json!(one.code);
        }
        [first, second, ..] => {
            context["first"] = text(first);
            context["second"] = text(second);
            context["first_code"] = json!(first.code);
            context["second_code"] = json!(second.code);
        }
        [] => {}
    }
    context
}

fn render(judge: &Judge, name: &str, template: &str, context: &Value) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let context = minijinja::Value::from(Serde(context));
    environment
        .render_named_str(name, template, context)
        .map_err(|error| {
            let line = error
                .line()
                .map(|l| format!(", line {l}"))
                .unwrap_or_default();
            let detail = error.detail().map(|d| format!(": {d}")).unwrap_or_default();
            let message = format!(
                "the template of judge `{}` fails ({name}{line}): {}{detail}",
                judge.key(),
                error.kind()
            );
            Error::input(message)
        })
}

/// What is wrong with a judge's templates: they must render, and show rubric, evidence and examples.
pub fn problems(judge: &Judge) -> Vec<Error> {
    let view = probe();
    let outputs = match judge.is_pairwise() {
        false => vec![Output {
            view: &view,
            code: "C-PROBE",
        }],
        true => ["C-PROBE", "D-PROBE"]
            .map(|code| Output { view: &view, code })
            .into(),
    };
    let shown = Shown {
        outputs,
        fence: "FENCE-PROBE",
    };
    let text = match messages(judge, &shown) {
        Ok(messages) => texts(&messages),
        Err(error) => return vec![error.hint(HINT)],
    };
    let mut problems = vec![];
    let mut must_show = |what: &str, shown: bool| {
        if !shown {
            let message = format!("the prompt never shows {what}");
            problems.push(Error::input(message).hint(HINT));
        }
    };
    let evidence = text.matches("[FENCE-PROBE] nothing").count();
    if judge.is_pairwise() {
        must_show(
            "both outputs: `{{ first }}` and `{{ second }}`",
            evidence >= 2,
        );
    } else {
        must_show("the output: `{{ evidence }}`", evidence >= 1);
    }
    must_show(
        "the rubric: `{{ rubric }}`",
        text.contains(judge.texts.rubric.trim()),
    );
    let sees_task = judge
        .spec
        .view
        .contains(&crate::model::judge::ViewPart::Task);
    must_show(
        "the task: `{{ task }}`",
        !sees_task || text.contains(PROBE_TASK),
    );
    let examples = judge.spec.examples.iter();
    let unseen = examples.filter(|e| !text.contains(e.output.trim())).count();
    must_show("its examples: `{{ examples }}`", unseen == 0);
    problems
}

const HINT: &str = "templates know rubric, task, evidence (pairwise: first, second), code, fence, levels, \
                    schema and examples";

/// The texts of messages, joined.
pub(super) fn texts(messages: &[Message]) -> String {
    let texts = messages.iter().map(|message| match message {
        Message::System(text) | Message::User(text) => text.as_str(),
        Message::Assistant { .. } | Message::Tool { .. } => "",
    });
    texts.collect::<Vec<_>>().join("\n")
}
