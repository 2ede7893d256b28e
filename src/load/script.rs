//! Script files: models whose behaviour is known.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;
use serde_json::json;

use crate::base::{Error, Result};
use crate::load::check::At;
use crate::load::check::templates::{Members, Scope, expression, template, templates};
use crate::load::document::Document;
use crate::load::shape::Shape;
use crate::load::suite::newer_format;
use crate::load::{combined, nearest, schema};
use crate::model::script::{Behaviour, JudgeScript, ModelScript, ScriptSpec, Turn};

/// The newest format of scripts that this version reads.
const SCRIPT_FORMAT: u32 = 1;

/// How far the rates of alternatives may add up beside 1: they are written with few digits.
const ROUNDING: f64 = 1e-6;

/// Loads a script.
///
/// # Errors
///
/// All problems at once, each with file and line.
pub fn script(file: &Path) -> Result<ScriptSpec> {
    let mut problems = vec![];
    match read(file, &mut problems) {
        Some(spec) if problems.is_empty() => Ok(spec),
        _ => Err(combined(file, problems)),
    }
}

/// Lists all problems of a script.
pub fn validate_script(file: &Path) -> Vec<Error> {
    let mut problems = vec![];
    read(file, &mut problems);
    problems
}

fn read(file: &Path, problems: &mut Vec<Error>) -> Option<ScriptSpec> {
    let opened = Document::read(file).and_then(|document| {
        newer_format(&document, SCRIPT_FORMAT)?;
        let shape = Shape::new(schema::schema("script").unwrap_or_default())?;
        Ok((document, shape))
    });
    let (document, shape) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            problems.push(error);
            return None;
        }
    };
    let mut checked = shape.check(&document);
    let spec = checked.typed::<ScriptSpec>(&document, &[("models", json!({}))]);
    problems.append(&mut checked.problems);
    if let Some(spec) = &spec {
        check(spec, &At::root(&document), problems);
    }
    problems.sort_by_key(Error::line);
    spec
}

fn check(spec: &ScriptSpec, at: &At, problems: &mut Vec<Error>) {
    if spec.models.is_empty() && problems.is_empty() {
        problems.push(at.to("models").problem("the script has no models"));
    }
    let groups = groups(spec);
    let mut check = Check {
        spec,
        scope: scope(spec, &groups),
        problems,
    };
    if let Some(find) = &spec.find {
        check.regex(find, &at.to("find"));
    }
    for (id, mark) in &spec.tasks {
        if let Some(when) = &mark.when {
            check.regex(when, &at.to("tasks").to(id).to("when"));
        }
    }
    for (name, model) in &spec.models {
        check.model(model, &at.to("models").to(name));
    }
}

/// The names that templates see.
const NAMES: [&str; 10] = [
    "task", "trial", "turn", "model", "user", "vars", "found", "last", "called", "tools",
];

/// What a message or a call tells of itself.
const SAID: [&str; 6] = ["role", "text", "name", "args", "result", "is_error"];

/// The named groups of `find`; none if it cannot be read, which is a problem of its own.
fn groups(spec: &ScriptSpec) -> Option<Vec<String>> {
    let Some(find) = &spec.find else {
        return Some(vec![]);
    };
    let regex = Regex::new(find).ok()?;
    Some(regex.capture_names().flatten().map(str::to_owned).collect())
}

fn scope<'a>(spec: &'a ScriptSpec, groups: &'a Option<Vec<String>>) -> Scope<'a> {
    let vars: BTreeSet<&str> = spec
        .tasks
        .values()
        .flat_map(|mark| mark.vars.keys().map(String::as_str))
        .collect();
    let closed = |of, known, why| Members {
        of,
        known,
        why,
        open: false,
    };
    let mut members = vec![
        closed(
            "last",
            SAID.to_vec(),
            "the last message has no such part; what a tool answered is in `last.result`",
        ),
        closed(
            "vars",
            vars.into_iter().collect(),
            "no task has such a variable",
        ),
    ];
    if let Some(groups) = groups {
        let groups = groups.iter().map(String::as_str).collect();
        members.push(closed("found", groups, "`find` has no such group"));
    }
    Scope {
        names: &NAMES,
        members,
    }
}

/// A script being checked.
struct Check<'a> {
    spec: &'a ScriptSpec,
    scope: Scope<'a>,
    problems: &'a mut Vec<Error>,
}

impl Check<'_> {
    fn say(&mut self, at: &At, message: impl Into<String>) {
        self.problems.push(at.problem(message));
    }

    fn model(&mut self, model: &ModelScript, at: &At) {
        self.behaviour(&model.default, &at.to("default"));
        for (id, task) in &model.tasks {
            let at = at.to("tasks").to(id);
            self.known_task(id, &at);
            if let Some(behaviour) = &task.behaviour {
                self.behaviour(behaviour, &at.to("behaviour"));
            }
            if let Some(rates) = &task.rates {
                let varied = task.behaviour.as_ref().unwrap_or(&model.default);
                let at = at.to("rates");
                if rates.len() != varied.any_of.len() {
                    let alternatives = varied.any_of.len();
                    let message = format!("{} rates for {alternatives} alternatives", rates.len());
                    self.say(&at, message);
                } else {
                    self.rates(rates, &at);
                }
            }
            for (index, behaviour) in &task.trials {
                let at = at.to("trials").to(index);
                if index.parse::<u32>().is_err() {
                    self.say(
                        &at,
                        format!("`{index}` is not the index of a trial (from 0)"),
                    );
                }
                self.behaviour(behaviour, &at);
            }
        }
    }

    /// A name that is almost that of a task above is taken for it; others may come from a suite.
    fn known_task(&mut self, id: &str, at: &At) {
        if self.spec.tasks.contains_key(id) {
            return;
        }
        let known = self.spec.tasks.keys().map(String::as_str);
        let alike = nearest::nearest(id, known).filter(|near| near.eq_ignore_ascii_case(id));
        if let Some(near) = alike {
            let problem = at.problem(format!("no task `{id}` is declared above"));
            self.problems
                .push(problem.hint(format!("did you mean `{near}`?")));
        }
    }

    fn behaviour(&mut self, behaviour: &Behaviour, at: &At) {
        let Behaviour {
            turns,
            any_of,
            preset,
            judge,
        } = behaviour;
        let kinds = [
            !turns.is_empty(),
            !any_of.is_empty(),
            preset.is_some(),
            judge.is_some(),
        ];
        if kinds.iter().filter(|kind| **kind).count() != 1 {
            let message = "a behaviour has one of `turns`, `any_of`, `preset` and `judge`";
            self.say(at, message);
        }
        self.turns(turns, &at.to("turns"));
        for (i, one) in any_of.iter().enumerate() {
            let at = at.to("any_of").to(i);
            if one.turns.is_empty() == one.preset.is_none() {
                self.say(&at, "an alternative has one of `turns` and `preset`");
            }
            self.turns(&one.turns, &at.to("turns"));
        }
        if !any_of.is_empty() {
            let rates: Vec<f64> = any_of.iter().map(|one| one.rate).collect();
            self.rates(&rates, &at.to("any_of"));
        }
        if let Some(judge) = judge {
            self.judge(judge, &at.to("judge"));
        }
    }

    fn rates(&mut self, rates: &[f64], at: &At) {
        let sum: f64 = rates.iter().sum();
        if rates.iter().any(|r| !(0.0..=1.0).contains(r)) {
            self.say(at, "a rate is a number from 0 to 1");
        } else if (sum - 1.0).abs() > ROUNDING {
            self.say(at, format!("the rates add up to {sum:.4}, not to 1"));
        }
    }

    fn turns(&mut self, turns: &[Turn], at: &At) {
        for (i, turn) in turns.iter().enumerate() {
            let at = at.to(i);
            if turn.when.is_some() {
                let message = "`when` belongs to a case: put it under `cases` of this turn";
                self.say(&at.to("when"), message);
            }
            if turn.forever && i + 1 < turns.len() {
                self.say(
                    &at.to("forever"),
                    "turns after one that is repeated without end",
                );
            }
            if turn.repeat == Some(0) || (turn.repeat.is_some() && turn.forever) {
                self.say(
                    &at.to("repeat"),
                    "`repeat` is at least 1, and not beside `forever`",
                );
            }
            self.turn(turn, &at);
            for (j, case) in turn.cases.iter().enumerate() {
                let at = at.to("cases").to(j);
                self.case(case, &at);
                self.turn(case, &at);
            }
        }
    }

    fn case(&mut self, case: &Turn, at: &At) {
        match &case.when {
            None => self.say(at, "a case needs `when`"),
            Some(when) => expression(when, &self.scope, &at.to("when"), self.problems),
        }
        if !case.cases.is_empty() || case.repeat.is_some() || case.forever {
            self.say(
                at,
                "a case has no `cases`, `repeat` or `forever` of its own",
            );
        }
    }

    fn turn(&mut self, turn: &Turn, at: &At) {
        for (key, text) in [("say", &turn.say), ("reasoning", &turn.reasoning)] {
            if let Some(text) = text {
                self.template(text, &at.to(key));
            }
        }
        for (i, call) in turn.call.iter().enumerate() {
            let at = at.to("call").to(i);
            self.template(&call.name, &at.to("name"));
            for (key, value) in &call.arguments {
                templates(
                    value,
                    &self.scope,
                    &at.to("arguments").to(key),
                    self.problems,
                );
            }
        }
        if let Some(error) = &turn.error {
            let at = at.to("error");
            if error.status.is_some_and(|s| !(200..=599).contains(&s)) {
                self.say(
                    &at.to("status"),
                    "`status` is an HTTP status from 200 to 599",
                );
            }
            if error.times == Some(0) {
                self.say(&at.to("times"), "`times` must be at least 1");
            }
        }
        for (name, value) in &turn.headers {
            let plain = |text: &str| text.bytes().all(|b| (b' '..=b'~').contains(&b));
            let token = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if name.is_empty() || !name.chars().all(token) || !plain(value) {
                self.say(&at.to("headers").to(name), format!("`{name}` is no header"));
            }
        }
    }

    fn judge(&mut self, judge: &JudgeScript, at: &At) {
        self.regex(&judge.label_in, &at.to("label_in"));
        if !judge.label_in.contains("truth>") {
            let problem = at
                .to("label_in")
                .problem("`label_in` has no group named `truth`");
            self.problems
                .push(problem.hint("write it as `truth=(?P<truth>[a-z]+)`"));
        }
        let specificity = judge.specificity.unwrap_or(judge.sensitivity);
        for (key, rate) in [
            ("sensitivity", judge.sensitivity),
            ("specificity", specificity),
            ("position_bias", judge.position_bias),
        ] {
            if !(0.0..=1.0).contains(&rate) {
                self.say(&at.to(key), format!("`{key}` is a number from 0 to 1"));
            }
        }
        for (key, text) in [
            ("pass", &judge.pass),
            ("fail", &judge.fail),
            ("first", &judge.first),
            ("second", &judge.second),
        ] {
            self.template(text, &at.to(key));
        }
    }

    fn template(&mut self, text: &str, at: &At) {
        template(text, &self.scope, at, self.problems);
    }

    fn regex(&mut self, text: &str, at: &At) {
        if let Err(error) = Regex::new(text) {
            let why = error.to_string();
            let last = why.lines().last().unwrap_or_default().trim();
            let last = last.strip_prefix("error: ").unwrap_or(last).to_owned();
            self.say(at, format!("not a regular expression: {last}"));
        }
    }
}
