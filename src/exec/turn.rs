//! The built-in tool loop: model, tools and user in turn until the model has said its last word.

use serde_json::Value;

use super::limits::Used;
use super::trial::LiveArm;
use crate::base::Notice;
use crate::model::arm::Price;
use crate::model::chat::{CallFailure, ChatRequest, Completion, Finish, Message, TrialKey};
use crate::model::suite::{FaultSpec, Limits};
use crate::model::trace::{EventKind, Usage};
use crate::model::trial::Boundary;
use crate::provider::Strike;
use crate::trace::import::{final_payload, visible};
use crate::trace::record::Recorder;
use crate::world::{Broken, Clock, World};

/// How a conversation ended.
pub(super) enum Ended {
    /// The model said its last word.
    Completed,
    /// The agent failed, for this reason.
    Agent(&'static str),
    /// A limit was reached.
    Limit(&'static str),
    /// Something around the agent broke.
    Broken(Broken),
}

/// What was learned beside the events.
#[derive(Default)]
pub(super) struct Heard {
    pub used: Used,
    pub response_ids: Vec<String>,
    pub retries: u32,
    pub notices: Vec<Notice>,
}

/// One conversation of a trial.
pub(super) struct Talk<'a> {
    arm: &'a LiveArm,
    limits: &'a Limits,
    recorder: &'a mut Recorder,
    clock: &'a Clock,
    request: ChatRequest,
    heard: Heard,
}

impl<'a> Talk<'a> {
    pub fn new(
        arm: &'a LiveArm,
        key: &TrialKey,
        limits: &'a Limits,
        recorder: &'a mut Recorder,
        clock: &'a Clock,
    ) -> Self {
        Self {
            arm,
            limits,
            recorder,
            clock,
            request: ChatRequest {
                messages: vec![],
                tools: vec![],
                trial: key.clone(),
                turn: 0,
                waits: clock.waits(),
            },
            heard: Heard::default(),
        }
    }

    /// What was learned, also of a conversation that was broken off.
    pub fn heard(self) -> Heard {
        let mut heard = self.heard;
        heard.used.elapsed_ms = self.clock.now_ms();
        heard
    }

    /// Plays the conversation to its end.
    pub async fn play(&mut self, world: &mut World) -> Ended {
        self.open(world);
        loop {
            self.heard.used.elapsed_ms = self.clock.now_ms();
            if let Some(which) = self.heard.used.before_turn(self.limits) {
                return Ended::Limit(which);
            }
            let said = match self.ask(world).await {
                Ok(said) => said,
                Err(ended) => return ended,
            };
            let ended = match said.calls.is_empty() {
                true => self.listen(world, said),
                false => self.act(world, said).await,
            };
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    fn open(&mut self, world: &World) {
        let instructions = [world.system(), self.arm.system.clone()];
        let system: Vec<String> = instructions.into_iter().flatten().collect();
        if !system.is_empty() {
            self.request
                .messages
                .push(Message::System(system.join("\n\n")));
        }
        for text in world.opening() {
            self.user_says(text);
        }
        self.request.tools = world.tools();
    }

    fn user_says(&mut self, text: String) {
        let event = self
            .recorder
            .push(EventKind::UserMessage, self.clock.now_ms());
        event.payload = Some(text.clone().into());
        self.request.messages.push(Message::User(text));
    }

    /// One turn of the model.
    async fn ask(&mut self, world: &mut World) -> Result<Completion, Ended> {
        self.request.turn += 1;
        let call = self
            .recorder
            .push(EventKind::ModelCall, self.clock.now_ms());
        let parent = call.sequence;
        let strike = world.provider_fault().map(|fault| {
            fired(self.recorder, fault, self.clock.now_ms());
            Strike {
                kind: fault.kind,
                times: fault.times,
            }
        });
        let answer = self.arm.client.complete(&self.request, strike).await;
        let said = match answer {
            Ok(said) => said,
            Err(failure) => {
                self.heard.retries += failure.attempts.saturating_sub(1);
                return Err(self.failed(failure));
            }
        };
        self.heard.retries += said.attempts.saturating_sub(1);
        if let Some(ms) = said.declared_ms {
            self.clock.wait(ms).await;
        }
        self.take_down(&said, parent);
        if let Some(header) = said.cache_hit {
            return Err(Ended::Broken(Broken {
                boundary: Boundary::WarmCache,
                code: "cache_header",
                detail: header,
            }));
        }
        if said.finish == Finish::Refusal {
            return Err(Ended::Agent("refusal"));
        }
        Ok(said)
    }

    fn failed(&mut self, failure: CallFailure) -> Ended {
        if failure.injected {
            // The fault was declared, and the arm, its retries included, did not get past it.
            return Ended::Agent("provider_fault_not_survived");
        }
        if failure.code == "context_length" {
            return Ended::Agent("context_length");
        }
        Ended::Broken(Broken {
            boundary: Boundary::Provider,
            code: code(&failure.code),
            detail: failure.detail,
        })
    }

    /// Takes down what the model said; hidden reasoning is no part of it.
    fn take_down(&mut self, said: &Completion, parent: u64) {
        let usage = priced(&said.usage, self.arm.price);
        let used = &mut self.heard.used;
        used.steps += 1;
        for tokens in [usage.input_tokens, usage.output_tokens] {
            // A provider may say any number; one that no counter holds is a limit reached, not a crash.
            used.tokens = used.tokens.saturating_add(tokens.unwrap_or(0));
        }
        used.add_cost(usage.cost_usd);
        let event = self
            .recorder
            .push(EventKind::ModelResult, self.clock.now_ms());
        event.parent = Some(parent);
        event.payload = said.text.as_deref().and_then(shown).map(Value::String);
        event.usage = Some(usage).filter(|u| *u != Usage::default());
        let id = said.response_id.clone().filter(|id| !id.is_empty());
        self.heard.response_ids.extend(id);
        if said.finish == Finish::Length {
            let notice = "the model reached its own limit of output tokens";
            self.heard.notices.push(Notice::with("output_cut", notice));
        }
    }

    /// The model said something and asked for no tool: a question if the user answers, else its end.
    fn listen(&mut self, world: &mut World, said: Completion) -> Option<Ended> {
        let text = said.text.as_deref().and_then(shown);
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            return Some(Ended::Agent("empty_reply"));
        };
        let now = self.clock.now_ms();
        match world.answer(&text) {
            Some(reply) => {
                let question = self.recorder.push(EventKind::Question, now);
                question.payload = Some(text.into());
                self.request.messages.push(Message::Assistant {
                    text: said.text,
                    calls: vec![],
                    opaque: said.opaque,
                });
                self.user_says(reply);
                None
            }
            None => {
                self.recorder.push(EventKind::Final, now).payload = Some(final_payload(&text));
                Some(Ended::Completed)
            }
        }
    }

    /// The tools that the model called, in its order.
    async fn act(&mut self, world: &mut World, said: Completion) -> Option<Ended> {
        let calls = said.calls.clone();
        self.request.messages.push(Message::Assistant {
            text: said.text,
            calls: said.calls,
            opaque: said.opaque,
        });
        for call in calls {
            self.heard.used.elapsed_ms = self.clock.now_ms();
            if let Some(which) = self.heard.used.before_call(self.limits) {
                return Some(Ended::Limit(which));
            }
            self.heard.used.tool_calls += 1;
            let reply = match world.call(&call, self.recorder, self.clock).await {
                Ok(reply) => reply,
                Err(broken) => return Some(Ended::Broken(broken)),
            };
            self.request.messages.push(Message::Tool {
                call_id: call.id,
                name: call.name,
                content: reply.content,
                is_error: reply.is_error,
            });
        }
        None
    }
}

/// What the model said for others to see. An answer that is JSON as a whole is left as it is: marks of
/// reasoning within it are what it is about.
fn shown(text: &str) -> Option<String> {
    match final_payload(text) {
        Value::Object(_) | Value::Array(_) => Some(text.trim().to_owned()),
        _ => visible(text),
    }
}

/// Takes down that an injected fault fired.
fn fired(recorder: &mut Recorder, fault: &FaultSpec, now: u64) {
    recorder.push(EventKind::Fault, now).payload = Some(serde_json::json!({
        "id": fault.id,
        "kind": fault.kind,
    }));
}

/// Tokens with their cost, if both kinds of tokens and the price are known.
fn priced(usage: &Usage, price: Option<Price>) -> Usage {
    let mut usage = usage.clone();
    if usage.cost_usd.is_none() {
        usage.cost_usd = price.and_then(|price| price.of(&usage));
    }
    usage
}

/// The codes of failures are a closed list; what is not in it nobody can name.
fn code(found: &str) -> &'static str {
    const KNOWN: [&str; 19] = [
        "rate_limited",
        "overloaded",
        "server_error",
        "timeout_connect",
        "timeout_first_byte",
        "timeout_total",
        "unreachable",
        "tls",
        "not_json",
        "malformed_reply",
        "stream_cut",
        "unauthorized",
        "forbidden",
        "not_found",
        "bad_request",
        "quota_exhausted",
        "wrong_model",
        "too_many_open_files",
        "connection_lost",
    ];
    KNOWN
        .into_iter()
        .find(|known| *known == found)
        .unwrap_or("unknown")
}
