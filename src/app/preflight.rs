//! Before anything is spent: what the run can show, what it may cost, and whether each arm answers.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Talk;
use super::live::Arms;
use crate::base::{ArmId, Result};
use crate::exec::LiveArm;
use crate::model::arm::Arm;
use crate::model::chat::{CallFailure, ChatRequest, Completion, Message, TrialKey};
use crate::model::plan::Plan;
use crate::model::report::PreflightRow;
use crate::model::suite::Suite;
use crate::model::trial::Boundary;
use crate::stats::Level;
use crate::stats::power::mde;

/// Power at which differences are stated.
const POWER: f64 = 0.8;
/// Success of one trial and share of its variance that lies between tasks, assumed without a pilot.
const ASSUMED_RATE: f64 = 0.7;
const ASSUMED_ICC: f64 = 0.5;
/// Variance over tasks of the true difference, assumed without a pilot.
const ASSUMED_SPREAD: f64 = 0.01;
/// Turns of a trial with tools, tokens of an answer, and letters of a token, assumed without a pilot.
const TURNS: f64 = 5.0;
const ANSWER: f64 = 200.0;
const LETTERS: f64 = 4.0;

/// Says how large the run is, what it can show, what is stored already, and what the rest may cost;
/// `to_run` has the trials that are missing, by arm.
///
/// # Errors
///
/// If the level of the analysis is not one.
pub fn size(
    suite: &Suite,
    plan: &Plan,
    arms: &[Arm],
    to_run: &BTreeMap<ArmId, u64>,
    talk: &mut Talk,
) -> Result<()> {
    let tasks = suite.tasks.len() as u64;
    let per_task: u64 = plan.body.arms.iter().map(|a| u64::from(a.trials)).sum();
    let each: Vec<String> = plan
        .body
        .arms
        .iter()
        .map(|a| format!("{} × {}", a.id, a.trials))
        .collect();
    talk(&format!(
        "{tasks} tasks, trials per task: {}; {} trials in all",
        each.join(", "),
        tasks * per_task
    ));
    if let Some(shown) = detectable(plan, tasks)? {
        talk(&format!(
            "smallest difference in success that this shows with power {POWER}: about {shown:.2}, if {:.0} % succeed and tasks differ as they often do (assumed; `assize plan --pilot RUN` uses yours)",
            100.0 * ASSUMED_RATE
        ));
    }
    let live = arms.iter().filter(|arm| to_run.contains_key(&arm.id));
    let planned: u64 = live
        .filter_map(|arm| plan.arm(&arm.id))
        .map(|arm| tasks * u64::from(arm.trials))
        .sum();
    let missing: u64 = to_run.values().sum();
    if missing < planned {
        let kept = planned - missing;
        talk(&format!(
            "{kept} of {planned} live trials are stored and kept; {missing} are left to run, and the costs below are theirs"
        ));
    }
    for arm in arms.iter().filter(|a| a.is_live()) {
        let missing = to_run.get(&arm.id).copied().unwrap_or_default();
        talk(&cost(suite, missing, arm));
    }
    Ok(())
}

fn detectable(plan: &Plan, tasks: u64) -> Result<Option<f64>> {
    let Some(decision) = &plan.body.analysis.decision else {
        return Ok(None);
    };
    let trials = plan.body.arms.iter().map(|a| a.trials).take(2);
    let within = ASSUMED_RATE * (1.0 - ASSUMED_RATE) * (1.0 - ASSUMED_ICC);
    let noise: f64 = trials.map(|m| within / f64::from(m.max(1))).sum();
    let level = Level::new(1.0 - decision.alpha)?;
    Ok(mde(tasks as f64, ASSUMED_SPREAD + noise, level, POWER))
}

fn cost(suite: &Suite, trials: u64, arm: &Arm) -> String {
    let Some(price) = arm.price() else {
        return format!("{}: cost not known, no `price` is declared", arm.id);
    };
    let letters = |value: &serde_json::Value| value.to_string().len() as f64;
    let tools = serde_json::to_value(&suite.spec.tools).unwrap_or_default();
    let has_tools = !suite.spec.tools.is_empty();
    let turns = if has_tools { TURNS } else { 1.0 };
    let per_pass: f64 = suite
        .tasks
        .iter()
        .map(|task| {
            let input = serde_json::to_value(&task.input).unwrap_or_default();
            let read = (letters(&input) + letters(&tools)) / LETTERS;
            // Every turn reads the conversation so far again.
            let again = ANSWER * (turns - 1.0) / 2.0;
            price.of_tokens(turns * (read + again), turns * ANSWER)
        })
        .sum();
    format!(
        "{}: about {:.2} US dollars, if a trial takes {turns:.0} turn{} of {ANSWER:.0} tokens (assumed; `--max-cost` caps it)",
        arm.id,
        per_pass * trials as f64 / suite.tasks.len().max(1) as f64,
        if has_tools { "s" } else { "" }
    )
}

/// Asks each arm once, and gives those that do not answer.
///
/// # Errors
///
/// If the runtime cannot be started.
pub fn check(arms: &Arms, talk: &mut Talk) -> Result<Vec<PreflightRow>> {
    let runtime = super::live::runtime()?;
    let mut unanswered = Vec::new();
    for (id, arm) in arms.live.iter().filter(|(_, arm)| !arm.virtual_time) {
        match runtime.block_on(asked(id, arm, talk)) {
            Ok(_) => talk(&format!("{id}: answers")),
            Err(CallFailure { code, detail, .. }) => {
                talk(&format!(
                    "error: arm `{id}` does not answer: {code}: {detail}"
                ));
                unanswered.push(PreflightRow {
                    arm: id.to_string(),
                    boundary: Boundary::Provider.name().to_owned(),
                    code,
                    detail,
                });
            }
        }
    }
    if !unanswered.is_empty() {
        talk(HINT);
    }
    Ok(unanswered)
}

/// How long an arm is waited for in silence.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks an arm, and says so if it takes its time.
async fn asked(id: &ArmId, arm: &LiveArm, talk: &mut Talk<'_>) -> Result<Completion, CallFailure> {
    let question = question();
    let mut answer = std::pin::pin!(arm.client.complete(&question, None));
    if let Ok(answer) = tokio::time::timeout(PATIENCE, &mut answer).await {
        return answer;
    }
    talk(&format!(
        "{id}: no answer so far; waiting for its endpoint, as long as its `timeouts` and `max_retries` in arms.yaml say"
    ));
    answer.await
}

/// What can be done about an arm that does not answer.
const HINT: &str = "hint: nothing was spent; mend the endpoint and run the same command again, or skip this check with `--no-preflight`: then each trial says what broke";

fn question() -> ChatRequest {
    ChatRequest {
        messages: vec![Message::User("Reply with the one word: ready".to_owned())],
        tools: vec![],
        trial: TrialKey {
            task: "preflight".to_owned(),
            index: 0,
            id: "preflight".to_owned(),
            seed: 0,
        },
        turn: 1,
        waits: Default::default(),
    }
}
