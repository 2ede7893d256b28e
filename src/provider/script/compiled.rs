//! A script, ready to answer: templates and expressions compiled, names resolved.

use std::collections::{BTreeMap, HashMap};

use minijinja::Value as View;
use minijinja::value::Serde;
use regex::Regex;

use crate::base::template::{Condition, Form, Rendered, Templates, Text};
use crate::base::{Digest, Error, Result, Seed};
use crate::model::script::{
    Behaviour, CallSpec, ErrorSpec, JudgeScript, ModelScript, Preset, ScriptSpec, ScriptUsage,
    TaskScript, Turn,
};

/// A script, ready to answer.
pub struct Script {
    pub(super) seed: Seed,
    pub(super) find: Option<Regex>,
    pub(super) tasks: BTreeMap<String, Mark>,
    pub(super) models: BTreeMap<String, Model>,
    pub(super) templates: Templates,
}

/// What is known of a task.
pub(super) struct Mark {
    when: Option<Regex>,
    pub vars: View,
}

/// One model.
pub(super) struct Model {
    pub echo: String,
    pub usage: Option<ScriptUsage>,
    pub delay_ms: u64,
    pub default: Course,
    pub tasks: HashMap<String, TaskCourse>,
}

/// What a model does in one task.
pub(super) struct TaskCourse {
    pub rates: Option<Vec<f64>>,
    pub course: Option<Course>,
    pub trials: HashMap<u32, Course>,
}

/// What a model does in a trial.
pub(super) enum Course {
    Turns(Vec<Step>),
    AnyOf(Vec<Share>),
    Judge(Box<Judge>),
}

/// One of several ways.
pub(super) struct Share {
    pub rate: f64,
    pub steps: Vec<Step>,
}

/// A turn, or several alike.
pub(super) struct Step {
    pub cases: Vec<(Condition, Reply)>,
    pub reply: Reply,
    /// How many turns; the largest number means without end.
    pub count: u64,
}

/// What is said in a turn.
#[derive(Default)]
pub(super) struct Reply {
    pub say: Option<Text>,
    pub calls: Vec<Call>,
    pub usage: Option<ScriptUsage>,
    pub delay_ms: Option<u64>,
    pub refuse: bool,
    pub out_of_tokens: bool,
    pub reasoning: Option<Text>,
    pub model: Option<String>,
    pub id: Option<String>,
    pub headers: Vec<(String, String)>,
    pub error: Option<ErrorSpec>,
}

/// A tool call.
pub(super) struct Call {
    pub name: Text,
    pub arguments: Arguments,
}

/// Arguments of a call.
pub(super) enum Arguments {
    /// The same in every call: as JSON text.
    Fixed(String),
    /// To be rendered.
    Form(Form),
}

/// A judge with its texts compiled.
pub(super) struct Judge {
    pub spec: JudgeScript,
    pub label_in: Regex,
    pub pass: Text,
    pub fail: Text,
    pub first: Text,
    pub second: Text,
}

impl Script {
    /// Compiles a script.
    ///
    /// # Errors
    ///
    /// If a template or a regular expression can't be compiled; `load::script` finds that first, with
    /// its line.
    pub fn new(spec: &ScriptSpec) -> Result<Self> {
        Self::compile(spec).map_err(|problem| Error::input(format!("bad script: {problem}")))
    }

    fn compile(spec: &ScriptSpec) -> Rendered<Self> {
        let mut templates = Templates::new();
        let marks = spec.tasks.iter().map(|(id, mark)| {
            let when = mark.when.as_deref().map(regex).transpose()?;
            let vars = View::from(Serde(&mark.vars));
            Ok((id.clone(), Mark { when, vars }))
        });
        let tasks = marks.collect::<Rendered<_>>()?;
        let mut models = BTreeMap::new();
        for (name, model) in &spec.models {
            models.insert(name.clone(), compile_model(name, model, &mut templates)?);
        }
        Ok(Self {
            seed: Seed(spec.seed),
            find: spec.find.as_deref().map(regex).transpose()?,
            tasks,
            models,
            templates,
        })
    }

    /// The names of its models.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    /// The task that a first user message belongs to: the first whose `when` fits; otherwise a name
    /// made of the message.
    pub fn recognise(&self, first_message: &str) -> String {
        let fits = |mark: &Mark| {
            mark.when
                .as_ref()
                .is_some_and(|w| w.is_match(first_message))
        };
        match self.tasks.iter().find(|(_, mark)| fits(mark)) {
            Some((id, _)) => id.clone(),
            None => format!(
                "message-{}",
                Digest::of_bytes(first_message.as_bytes()).short()
            ),
        }
    }
}

fn regex(source: &str) -> Rendered<Regex> {
    Regex::new(source).map_err(|e| e.to_string())
}

fn compile_model(name: &str, spec: &ModelScript, templates: &mut Templates) -> Rendered<Model> {
    let mut tasks = HashMap::new();
    for (id, task) in &spec.tasks {
        tasks.insert(id.clone(), task_course(task, templates)?);
    }
    Ok(Model {
        echo: spec.model.clone().unwrap_or_else(|| name.to_owned()),
        usage: spec.usage,
        delay_ms: spec.delay_ms,
        default: course(&spec.default, templates)?,
        tasks,
    })
}

fn task_course(spec: &TaskScript, templates: &mut Templates) -> Rendered<TaskCourse> {
    let mut trials = HashMap::new();
    for (index, behaviour) in &spec.trials {
        let index = index
            .parse()
            .map_err(|_| format!("`{index}` is not the index of a trial"))?;
        trials.insert(index, course(behaviour, templates)?);
    }
    let behaviour = spec.behaviour.as_ref();
    Ok(TaskCourse {
        rates: spec.rates.clone(),
        course: behaviour.map(|b| course(b, templates)).transpose()?,
        trials,
    })
}

fn course(spec: &Behaviour, templates: &mut Templates) -> Rendered<Course> {
    if let Some(judge) = &spec.judge {
        return compile_judge(judge, templates).map(|j| Course::Judge(Box::new(j)));
    }
    if !spec.any_of.is_empty() {
        let mut shares = vec![];
        for one in &spec.any_of {
            let steps = steps(&one.turns, one.preset, templates)?;
            let rate = one.rate;
            shares.push(Share { rate, steps });
        }
        return Ok(Course::AnyOf(shares));
    }
    steps(&spec.turns, spec.preset, templates).map(Course::Turns)
}

fn steps(turns: &[Turn], preset: Option<Preset>, templates: &mut Templates) -> Rendered<Vec<Step>> {
    let turns = match preset {
        Some(preset) => &[preset_turn(preset)],
        None => turns,
    };
    turns.iter().map(|turn| step(turn, templates)).collect()
}

/// The one turn that a preset consists of.
fn preset_turn(preset: Preset) -> Turn {
    let error = |kind, status| {
        Some(ErrorSpec {
            kind,
            status,
            ..Default::default()
        })
    };
    let mut turn = Turn {
        forever: true,
        ..Default::default()
    };
    match preset {
        Preset::Steady => turn.say = Some("done".to_owned()),
        Preset::Looping => turn.call = vec![first_tool()],
        Preset::Refusing => turn.refuse = true,
        Preset::Hanging => turn.error = error(crate::model::script::ScriptErrorKind::Hang, None),
        Preset::Flooding => turn.say = Some("flood ".repeat(1_000_000 / 6 + 1)),
        Preset::Silent => turn.say = Some(String::new()),
        Preset::Down => turn.error = error(Default::default(), Some(503)),
    }
    turn
}

fn first_tool() -> CallSpec {
    CallSpec {
        name: "{{ tools[0] }}".to_owned(),
        arguments: Default::default(),
        malformed_arguments: None,
    }
}

fn step(turn: &Turn, templates: &mut Templates) -> Rendered<Step> {
    let mut cases = vec![];
    for case in &turn.cases {
        let when = templates.condition(case.when.as_deref().unwrap_or("true"))?;
        cases.push((when, reply(case, templates)?));
    }
    Ok(Step {
        cases,
        reply: reply(turn, templates)?,
        count: match turn.forever {
            true => u64::MAX,
            false => u64::from(turn.repeat.unwrap_or(1)),
        },
    })
}

fn reply(turn: &Turn, templates: &mut Templates) -> Rendered<Reply> {
    let mut text = |t: &Option<String>| t.as_deref().map(|t| templates.text(t)).transpose();
    let (say, reasoning) = (text(&turn.say)?, text(&turn.reasoning)?);
    let calls = turn.call.iter().map(|call| compile_call(call, templates));
    Ok(Reply {
        calls: calls.collect::<Rendered<_>>()?,
        say,
        usage: turn.usage,
        delay_ms: turn.delay_ms,
        refuse: turn.refuse,
        out_of_tokens: turn.out_of_tokens,
        reasoning,
        model: turn.model.clone(),
        id: turn.id.clone(),
        headers: turn.headers.clone().into_iter().collect(),
        error: turn.error.clone(),
    })
}

fn compile_call(spec: &CallSpec, templates: &mut Templates) -> Rendered<Call> {
    let form = templates.map(&spec.arguments)?;
    let fixed = serde_json::Value::Object(spec.arguments.clone()).to_string();
    Ok(Call {
        name: templates.text(&spec.name)?,
        arguments: match &spec.malformed_arguments {
            Some(text) => Arguments::Fixed(text.clone()),
            None if form.is_fixed() => Arguments::Fixed(fixed),
            None => Arguments::Form(form),
        },
    })
}

fn compile_judge(spec: &JudgeScript, templates: &mut Templates) -> Rendered<Judge> {
    Ok(Judge {
        label_in: regex(&spec.label_in)?,
        pass: templates.text(&spec.pass)?,
        fail: templates.text(&spec.fail)?,
        first: templates.text(&spec.first)?,
        second: templates.text(&spec.second)?,
        spec: spec.clone(),
    })
}
