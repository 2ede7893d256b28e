//! A call of a tool: checked, struck by a fault or executed, committed, answered, and taken down.

use std::sync::Arc;

use serde_json::{Value, json};

use super::approval::{Request, decide};
use super::command::Invocation;
use super::log::{CallLog, Effect};
use super::simulated::Answer;
use super::stage::{Behaviour, Tool};
use super::template::Scope;
use super::{Broken, Clock, ToolReply, World};
use crate::model::chat::ToolCall;
use crate::model::environment::APPROVAL_TOOL;
use crate::model::suite::FaultKind;
use crate::model::trace::EventKind;
use crate::model::trial::Boundary;
use crate::trace::record::Recorder;

/// What a tool answers that did not answer in time.
const TIMEOUT: &str = "the tool did not answer in time";
/// What a tool answers that failed by an injected fault.
const FAILED: &str = "the tool failed: internal error";

impl World {
    /// Calls a tool for the model and takes down what happened: `tool_call`, `fault` when one fires,
    /// `effect` when something was committed, `tool_result` or `tool_error`; for the built-in request
    /// for approval `approval_request` and `approval_result`.
    ///
    /// What the model did wrong is answered as an error: arguments that are no JSON object or break
    /// the tool's schema, a tool that does not exist. Faults count the calls that get past that.
    ///
    /// # Errors
    ///
    /// [`Boundary::Tool`] if the tool itself broke: `tool_died`, `tool_not_found`, `tool_timeout`,
    /// `tool_not_json`, `tool_wrong_shape`, `template_failed`.
    pub async fn call(
        &mut self,
        call: &ToolCall,
        recorder: &mut Recorder,
        clock: &Clock,
    ) -> Result<ToolReply, Broken> {
        let arguments = match arguments(&call.arguments) {
            Ok(arguments) => arguments,
            Err(why) => {
                let as_text = Value::String(call.arguments.clone());
                return Ok(CallLog::begin(recorder, clock, call, as_text).error(why));
            }
        };
        if call.name == APPROVAL_TOOL && self.scene().asks_approval {
            return self.approve(call, arguments, recorder, clock);
        }
        let log = CallLog::begin(recorder, clock, call, arguments.clone());
        let stage = Arc::clone(&self.stage);
        let Some(tool) = stage.tools.get(&call.name) else {
            return Ok(log.error(format!("there is no tool `{}`", call.name)));
        };
        match tool.problem(&arguments) {
            Some(problem) => Ok(log.error(problem)),
            None => self.strike(tool, &arguments, log).await,
        }
    }

    /// Makes a sound call, with the fault that strikes it.
    async fn strike(
        &mut self,
        tool: &Tool,
        arguments: &Value,
        mut log: CallLog<'_>,
    ) -> Result<ToolReply, Broken> {
        let name = &tool.def.name;
        let count = self.calls.entry(name.clone()).or_default();
        *count += 1;
        let count = *count;
        let fault = self.tool_fault(name, count).cloned();
        let kind = fault.as_ref().map(|f| f.kind);
        if let (Some(fault), Some(FaultKind::ToolError | FaultKind::ToolTimeout)) = (&fault, kind) {
            log.fault(fault);
            let timeout = fault.kind == FaultKind::ToolTimeout;
            return Ok(log.error(if timeout { TIMEOUT } else { FAILED }));
        }
        let mut answer = self.execute(tool, arguments, count).await?;
        let committed = self.commit(tool, arguments, &mut answer, &mut log);
        if let Some(fault) = &fault {
            match kind {
                Some(FaultKind::ToolSlow) => {
                    log.fault(fault);
                    log.clock().wait(fault.delay_ms.unwrap_or(2000)).await;
                }
                Some(FaultKind::ToolWrongShape) if !answer.is_error => {
                    log.fault(fault);
                    answer.content = misshapen(&answer.content);
                }
                Some(FaultKind::CommittedReplyLost) if committed => {
                    log.fault(fault);
                    return Ok(log.error(TIMEOUT));
                }
                _ => {}
            }
        }
        Ok(match answer.is_error {
            true => log.error(answer.content),
            false => log.result(answer.content, answer.receipt),
        })
    }

    /// What the tool answers, before anything is committed.
    async fn execute(&self, tool: &Tool, arguments: &Value, call: u32) -> Result<Answer, Broken> {
        if let Some(first) = self.committed_before(tool, arguments) {
            return Ok(first);
        }
        let program = match &tool.behaviour {
            Behaviour::Simulated(simulated) => {
                let scope = self.scope(arguments, call);
                let answer = simulated.answer(&self.stage.templates, &scope);
                return answer.map_err(|e| template_failed(&tool.def.name, &e));
            }
            Behaviour::Command(program) => program,
        };
        let Some(copy) = &self.copy else {
            let detail = "the trial has no folder";
            return Err(Broken::new(Boundary::Runner, "no_folder", detail));
        };
        let invocation = Invocation {
            tool: &tool.def.name,
            arguments,
            state: self.state.as_ref(),
            call,
            folder: copy.path(),
        };
        invocation.run(program).await
    }

    fn scope<'a>(&'a self, args: &'a Value, call: u32) -> Scope<'a> {
        Scope {
            args,
            state: self.state.as_ref(),
            call,
            trial: self.key.index,
        }
    }

    /// The first answer to a call with the same key, of a simulated tool that is idempotent.
    fn committed_before(&self, tool: &Tool, arguments: &Value) -> Option<Answer> {
        let simulated = matches!(tool.behaviour, Behaviour::Simulated(_));
        if !simulated || !tool.spec.idempotent {
            return None;
        }
        let key = (tool.def.name.clone(), tool.key(arguments)?);
        let (content, receipt) = self.committed.get(&key)?.clone();
        Some(Answer {
            content,
            receipt: Some(receipt),
            commits: Some(false),
            ..Answer::default()
        })
    }

    /// Commits what an answer changes; whether that was an effect.
    fn commit(
        &mut self,
        tool: &Tool,
        arguments: &Value,
        answer: &mut Answer,
        log: &mut CallLog<'_>,
    ) -> bool {
        if let Some(state) = answer.state.take() {
            self.state = Some(state);
        }
        self.wrote.extend(std::mem::take(&mut answer.wrote));
        let by_declaration = tool.spec.writes && !answer.is_error;
        let receipted = answer.receipt.is_some();
        if !answer.commits.unwrap_or(by_declaration || receipted) {
            return false;
        }
        let name = &tool.def.name;
        let number = self.effects.entry(name.clone()).or_default();
        *number += 1;
        let receipt = answer
            .receipt
            .get_or_insert_with(|| format!("{name}:{number}"))
            .clone();
        let key = tool.key(arguments);
        log.effect(Effect {
            arguments,
            receipt: &receipt,
            idempotency_key: key.clone(),
            policy_version: self.task().expect.policy_version.clone(),
        });
        self.wrote.extend(tool.spec.resources.iter().cloned());
        if let Some(key) = key.filter(|_| tool.spec.idempotent) {
            let first = (answer.content.clone(), receipt);
            self.committed.entry((name.clone(), key)).or_insert(first);
        }
        true
    }

    /// Answers a request for approval.
    fn approve(
        &mut self,
        call: &ToolCall,
        arguments: Value,
        recorder: &mut Recorder,
        clock: &Clock,
    ) -> Result<ToolReply, Broken> {
        let request = match Request::read(&arguments) {
            Ok(request) => request,
            Err(why) => return Ok(CallLog::begin(recorder, clock, call, arguments).error(why)),
        };
        self.approvals_asked += 1;
        let stage = Arc::clone(&self.stage);
        let scope = self.scope(&request.arguments, self.approvals_asked);
        let own = &self.scene().approvals;
        let rules = own.iter().chain(&stage.approvals);
        let decision = decide(rules, &stage.templates, &request.capability, &scope);
        let decision = decision.map_err(|e| template_failed("approvals", &e))?;
        let mut answer = json!({"granted": decision.granted});
        if let Some(note) = decision.note {
            answer["note"] = note.into();
        }
        let private = recorder.is_private(&request.capability);
        let asked = recorder.push(EventKind::ApprovalRequest, clock.now_ms());
        asked.capability = Some(request.capability.clone());
        asked.call_id = Some(call.id.clone());
        asked.payload = (!private).then(|| request.payload());
        let parent = asked.sequence;
        let told = recorder.push(EventKind::ApprovalResult, clock.now_ms());
        told.capability = Some(request.capability);
        told.call_id = Some(call.id.clone());
        told.parent = Some(parent);
        told.payload = Some(answer.clone());
        Ok(ToolReply {
            content: answer.to_string(),
            is_error: false,
        })
    }
}

fn template_failed(what: &str, why: &str) -> Broken {
    let detail = format!("`{what}`: {why}");
    Broken::new(Boundary::Tool, "template_failed", detail)
}

/// The arguments that a model wrote; models write nothing at all for a tool without any.
fn arguments(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    match serde_json::from_str(text) {
        Ok(arguments @ Value::Object(_)) => Ok(arguments),
        Ok(_) => Err("the arguments must be a JSON object".to_owned()),
        Err(e) => Err(format!("the arguments are not JSON: {e}")),
    }
}

/// A value of another kind than the tool promises.
fn misshapen(content: &Value) -> Value {
    match content {
        Value::Object(_) => json!(["OK"]),
        _ => json!({"data": null}),
    }
}
