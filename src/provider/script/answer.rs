//! What a scripted model answers: a function of script and request, without clock or state.

use std::cell::OnceCell;
use std::sync::Arc;

use minijinja::Value as View;
use serde_json::json;

use super::compiled::{Arguments, Call, Course, Model, Reply, Script, Share, Step};
use super::{judge, view};
use crate::base::template::{Rendered, Text};
use crate::base::{Error, Result};
use crate::model::chat::{ChatRequest, Completion, Finish, Message, ToolCall};
use crate::model::script::{ErrorSpec, ScriptErrorKind, ScriptUsage};
use crate::model::trace::Usage;

/// A refusal that does not say its own words.
const REFUSAL: &str = "I can't help with that.";

/// One model of a script.
#[derive(Clone)]
pub struct ScriptedModel {
    script: Arc<Script>,
    name: String,
}

/// What a scripted model answers.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedAnswer {
    /// The reply, given unless an error comes before it.
    pub completion: Completion,
    /// What goes wrong with the first attempts, or with all.
    pub error: Option<ScriptedError>,
    /// Headers that come with the reply.
    pub headers: Vec<(String, String)>,
    /// Hidden reasoning that the reply carries; in `completion.opaque` too.
    pub reasoning: Option<String>,
}

/// What goes wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedError {
    /// Kind.
    pub kind: ScriptErrorKind,
    /// HTTP status.
    pub status: u16,
    /// Attempts that fail before one succeeds; `None`: all.
    pub times: Option<u32>,
    /// Seconds that `Retry-After` asks for.
    pub retry_after: Option<u64>,
    /// Whether `Retry-After` is written as a date.
    pub retry_after_date: bool,
    /// What it says.
    pub message: String,
}

impl ScriptedModel {
    /// A model of a script.
    ///
    /// # Errors
    ///
    /// If the script has no model with this name.
    pub fn new(script: Arc<Script>, model: &str) -> Result<Self> {
        if !script.models.contains_key(model) {
            let known: Vec<&str> = script.models().collect();
            let error = Error::input(format!("the script has no model `{model}`"));
            return Err(error.hint(format!("it has {}", known.join(", "))));
        }
        let name = model.to_owned();
        Ok(Self { script, name })
    }

    /// Answers a request. The turn is the number of assistant messages in it.
    pub fn answer(&self, request: &ChatRequest) -> ScriptedAnswer {
        match self.script.models.get(&self.name) {
            Some(model) => answer(&self.script, &self.name, model, request),
            None => trouble(&self.name, request, "there is no such model"),
        }
    }
}

impl Script {
    /// Answers a request to one of its models; `None` if it has no model with this name.
    pub fn answer(&self, model: &str, request: &ChatRequest) -> Option<ScriptedAnswer> {
        let found = self.models.get(model)?;
        Some(answer(self, model, found, request))
    }
}

fn answer(script: &Script, name: &str, model: &Model, request: &ChatRequest) -> ScriptedAnswer {
    let asked = Asked {
        script,
        name,
        model,
        request,
        turn: view::turns(&request.messages),
        view: OnceCell::new(),
    };
    asked
        .answer()
        .unwrap_or_else(|problem| trouble(name, request, &problem))
}

/// An answer of a script that could not be worked out, as an error of the server.
fn trouble(name: &str, request: &ChatRequest, problem: &str) -> ScriptedAnswer {
    let completion = Completion {
        text: None,
        calls: vec![],
        finish: Finish::Stop,
        usage: Usage::default(),
        model: Some(name.to_owned()),
        response_id: None,
        cache_hit: None,
        opaque: vec![],
        attempts: 1,
        declared_ms: Some(0),
    };
    let task = &request.trial.task;
    let error = ScriptedError {
        kind: ScriptErrorKind::Status,
        status: 500,
        times: None,
        retry_after: None,
        retry_after_date: false,
        message: format!("script of model `{name}`, task `{task}`: {problem}"),
    };
    ScriptedAnswer {
        completion,
        error: Some(error),
        headers: vec![],
        reasoning: None,
    }
}

/// A request to one model, being answered.
pub(super) struct Asked<'a> {
    pub script: &'a Script,
    pub name: &'a str,
    model: &'a Model,
    pub request: &'a ChatRequest,
    turn: u64,
    view: OnceCell<View>,
}

impl Asked<'_> {
    /// What templates see; made only if one asks.
    fn view(&self) -> &View {
        self.view
            .get_or_init(|| view::view(self.script, self.name, self.request))
    }

    pub fn render(&self, text: &Text) -> Rendered<String> {
        match text {
            Text::Fixed(text) => Ok(text.clone()),
            Text::Template(_) => self.script.templates.render(text, self.view()),
        }
    }

    fn answer(&self) -> Rendered<ScriptedAnswer> {
        let task = self.model.tasks.get(&self.request.trial.task);
        let of_trial = task.and_then(|t| t.trials.get(&self.request.trial.index));
        let of_task = task.and_then(|t| t.course.as_ref());
        let course = of_trial.or(of_task).unwrap_or(&self.model.default);
        match course {
            Course::Turns(steps) => self.say(self.reply(steps)?),
            Course::AnyOf(shares) => {
                let rates = task.and_then(|t| t.rates.as_deref());
                self.say(self.reply(&self.draw(shares, rates).steps)?)
            }
            Course::Judge(judge) => {
                let mut answer = self.say(None)?;
                answer.completion.text = Some(self.render(judge::verdict(self, judge)?)?);
                answer.completion.usage = self.usage(None, &answer.completion);
                Ok(answer)
            }
        }
    }

    /// Which way this trial goes: the same in every turn of it.
    fn draw<'s>(&self, shares: &'s [Share], rates: Option<&[f64]>) -> &'s Share {
        let trial = &self.request.trial;
        let label = format!("script/{}/{}/{}", self.name, trial.task, trial.index);
        let mut left = self.script.seed.child(&label).stream().unit();
        for (i, share) in shares.iter().enumerate() {
            left -= rates.and_then(|r| r.get(i)).copied().unwrap_or(share.rate);
            if left < 0.0 {
                return share;
            }
        }
        // Rates add up to 1 but for rounding.
        &shares[shares.len() - 1]
    }

    /// The reply of this turn; `None` if the script has nothing left to say.
    fn reply<'s>(&self, steps: &'s [Step]) -> Rendered<Option<&'s Reply>> {
        let mut before = 0u64;
        for step in steps {
            before = before.saturating_add(step.count);
            if self.turn < before {
                return self.case(step).map(Some);
            }
        }
        let last = steps.last().map(|step| self.case(step)).transpose()?;
        Ok(last.filter(|reply| reply.calls.is_empty()))
    }

    fn case<'s>(&self, step: &'s Step) -> Rendered<&'s Reply> {
        for (when, reply) in &step.cases {
            if self.script.templates.holds(when, self.view())? {
                return Ok(reply);
            }
        }
        Ok(&step.reply)
    }

    fn say(&self, reply: Option<&Reply>) -> Rendered<ScriptedAnswer> {
        let nothing = Reply::default();
        let reply = reply.unwrap_or(&nothing);
        let mut calls = vec![];
        for (i, call) in reply.calls.iter().enumerate() {
            calls.push(self.call(i, call)?);
        }
        let mut text = reply.say.as_ref().map(|t| self.render(t)).transpose()?;
        if reply.refuse {
            text = text.or(Some(REFUSAL.to_owned()));
        } else if calls.is_empty() {
            text = text.or(Some(String::new()));
        }
        let reasoning = reply
            .reasoning
            .as_ref()
            .map(|t| self.render(t))
            .transpose()?;
        let mut completion = Completion {
            text,
            finish: finish(reply, &calls),
            calls,
            usage: Usage::default(),
            model: Some(reply.model.as_ref().unwrap_or(&self.model.echo).clone()),
            response_id: reply.id.clone(),
            cache_hit: None,
            opaque: reasoning.iter().map(|r| thinking(r)).collect(),
            attempts: 1,
            declared_ms: Some(reply.delay_ms.unwrap_or(self.model.delay_ms)),
        };
        completion.usage = self.usage(reply.usage, &completion);
        Ok(ScriptedAnswer {
            completion,
            error: reply.error.as_ref().map(error),
            headers: reply.headers.clone(),
            reasoning,
        })
    }

    fn call(&self, index: usize, call: &Call) -> Rendered<ToolCall> {
        Ok(ToolCall {
            id: format!("call_{}_{}_{index}", self.request.trial.index, self.turn),
            name: self.render(&call.name)?,
            arguments: match &call.arguments {
                Arguments::Fixed(text) => text.clone(),
                Arguments::Form(form) => self.script.templates.fill(form, self.view())?.to_string(),
            },
        })
    }

    /// Tokens as declared, or a quarter of the letters.
    fn usage(&self, declared: Option<ScriptUsage>, completion: &Completion) -> Usage {
        if let Some(usage) = declared.or(self.model.usage) {
            return Usage {
                input_tokens: Some(usage.input_tokens),
                output_tokens: Some(usage.output_tokens),
                cached_tokens: usage.cached_tokens,
                cost_usd: None,
            };
        }
        let read: usize = self.request.messages.iter().map(letters).sum();
        let calls = completion
            .calls
            .iter()
            .map(|c| c.name.len() + c.arguments.len());
        let written = completion.text.as_ref().map_or(0, String::len) + calls.sum::<usize>();
        Usage {
            input_tokens: Some(read.div_ceil(4) as u64),
            output_tokens: Some(written.div_ceil(4) as u64),
            ..Default::default()
        }
    }
}

fn letters(message: &Message) -> usize {
    match message {
        Message::System(text) | Message::User(text) => text.len(),
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|c| c.name.len() + c.arguments.len());
            text.as_ref().map_or(0, String::len) + calls.sum::<usize>()
        }
        Message::Tool { content, .. } => content.len(),
    }
}

fn finish(reply: &Reply, calls: &[ToolCall]) -> Finish {
    if reply.refuse {
        Finish::Refusal
    } else if reply.out_of_tokens {
        Finish::Length
    } else if calls.is_empty() {
        Finish::Stop
    } else {
        Finish::ToolCalls
    }
}

/// Hidden reasoning as a block that the provider wants back unread.
fn thinking(reasoning: &str) -> serde_json::Value {
    json!({"type": "thinking", "thinking": reasoning, "signature": "c2NyaXB0ZWQ="})
}

fn error(spec: &ErrorSpec) -> ScriptedError {
    let status = spec.status.unwrap_or(match spec.kind {
        ScriptErrorKind::Status => 500,
        _ => 200,
    });
    ScriptedError {
        kind: spec.kind,
        status,
        times: spec.times,
        retry_after: spec.retry_after,
        retry_after_date: spec.retry_after_date,
        message: spec
            .message
            .clone()
            .unwrap_or_else(|| format!("scripted error {status}")),
    }
}
