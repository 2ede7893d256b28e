//! Words, gates and per-task screens.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answer::{Answer, number};
use super::fields::{Fields, Problem};
use super::{Method, tasks};
use crate::compare::decision::{
    DecideInput, JudgeState, MissingState, ScheduleState, ThetaLimits, decide,
};
use crate::compare::gate::{
    CandidateRate, FinishedWord, RateMissing, Rule, RuleKind, RuleResult, gate, rule,
};
use crate::compare::orient::{Contrast, Direction};
use crate::compare::screen::{ScreenTask, task_screen};
use crate::compare::word::Word;
use crate::stats::{Limits, Status};

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "decide" => decided,
        "gate" => gated,
        "task_screen" => screened,
        _ => return None,
    })
}

/// One of a closed list of words.
pub(super) fn word<T: DeserializeOwned>(fields: &Fields, name: &str) -> Result<Option<T>, Problem> {
    let Some(text) = fields.optional_text(name)? else {
        return Ok(None);
    };
    let known = serde_json::from_value(Value::String(text.to_owned()));
    known
        .map(Some)
        .map_err(|_| fields.problem(name, format!("unknown word `{text}`")))
}

/// Two limits in a list; the lower one must not exceed the upper.
fn limits(fields: &Fields, name: &str) -> Result<Option<Limits>, Problem> {
    if fields.find(name).is_none() {
        return Ok(None);
    }
    match fields.numbers(name)?[..] {
        [lower, upper] if lower <= upper => Ok(Some(Limits { lower, upper })),
        _ => Err(fields.problem(name, "not [lower, upper] in ascending order")),
    }
}

fn alpha(params: &Fields) -> Result<f64, Problem> {
    let alpha = params.optional_number("alpha")?.unwrap_or(0.05);
    if alpha > 0.0 && alpha < 1.0 {
        return Ok(alpha);
    }
    Err(params.problem("alpha", format!("{alpha} is not between 0 and 1")))
}

fn decided(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    // The role never changes the word.
    input.optional_text("role")?;
    let margin = input.optional_number("margin")?;
    if margin.is_some_and(|m| m.is_nan() || m <= 0.0) {
        return Err(input.problem("margin", "not positive; leave it out if there is none"));
    }
    let case = DecideInput {
        interval: limits(input, "interval")?,
        undefined_reason: input.optional_text("undefined_reason")?.map(str::to_owned),
        contrast: word(input, "contrast")?.unwrap_or(Contrast::Difference),
        direction: word(input, "direction")?.unwrap_or(Direction::Gain),
        margin,
        alpha: alpha(params)?,
        in_family: input.flag("in_family", false)?,
        p_adjusted: input.optional_number("p_adjusted")?,
        status: word(input, "status")?.unwrap_or(Status::Ok),
        n_c: input.optional_number("n_c")?,
        judge: word(input, "judge")?.unwrap_or(JudgeState::NotNeeded),
        schedule: word(input, "schedule")?.unwrap_or(ScheduleState::Ok),
        missing: missing(input)?,
        censored: false,
    };
    let ratio = case.contrast == Contrast::Ratio;
    if ratio && case.interval.is_some_and(|limits| limits.lower < 0.0) {
        return Err(input.problem("interval", "a ratio is not below 0"));
    }
    let got = decide(&case);
    let notices: Vec<Value> = got.notices.iter().map(|n| n.code.as_str().into()).collect();
    Ok(Answer::new()
        .with("decision", got.word.as_str())
        .with("reason", got.reason)
        .with("notices", notices)
        .number("theta_low", got.theta.map(|t| t.low))
        .number("theta_high", got.theta.map(|t| t.high)))
}

fn missing(input: &Fields) -> Result<Option<MissingState>, Problem> {
    if input.find("missing").is_none() {
        return Ok(None);
    }
    let m = input.object("missing")?;
    let state = MissingState {
        rate_a: m.optional_number("rate_a")?.unwrap_or(0.0),
        rate_b: m.optional_number("rate_b")?.unwrap_or(0.0),
        drop: m.optional_number("drop")?.unwrap_or(0.0),
        p_missing: m.optional_number("p_missing")?,
        worst: limits(&m, "worst")?,
        best: limits(&m, "best")?,
    };
    m.all_read()?;
    Ok(Some(state))
}

fn gated(_: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let rules: Result<Vec<RuleResult>, Problem> =
        input.objects("rules")?.iter().map(one_rule).collect();
    let rules = rules?;
    let result = gate(&rules);
    Ok(Answer::new()
        .with("result", result.as_str())
        .with("exit_code", result.exit_code())
        .with(
            "rules",
            rules
                .iter()
                .map(|r| r.as_str().into())
                .collect::<Vec<Value>>(),
        ))
}

fn one_rule(fields: &Fields) -> Result<RuleResult, Problem> {
    fields.optional_text("dimension")?;
    let kind = match fields.text("rule")? {
        "non_inferior" => {
            fields.optional_number("delta")?;
            RuleKind::NonInferior(finished(fields)?)
        }
        "superior" => RuleKind::Superior(finished(fields)?),
        "equivalent" => RuleKind::Equivalent {
            decision: finished(fields)?,
            delta: fields.number("delta")?,
        },
        "max_rate" => RuleKind::MaxRate {
            rate: rate(fields)?,
            bound: fields.number("bound")?,
        },
        "min_rate" => RuleKind::MinRate {
            rate: rate(fields)?,
            bound: fields.number("bound")?,
        },
        "no_task_regression" => match word(fields, "screen")? {
            Some(screen) => RuleKind::NoTaskRegression(screen),
            None => return Err(fields.problem("screen", "missing")),
        },
        other => return Err(fields.problem("rule", format!("unknown rule `{other}`"))),
    };
    let status = word(fields, "status")?.unwrap_or(Status::Ok);
    let got = rule(&Rule {
        kind,
        status,
        locked: fields.flag("locked", true)?,
    });
    fields.all_read()?;
    Ok(got)
}

fn finished(fields: &Fields) -> Result<FinishedWord, Problem> {
    let decision: Option<Word> = word(fields, "decision")?;
    let low = fields.optional_number("theta_low")?;
    let high = fields.optional_number("theta_high")?;
    let theta = (low.is_some() || high.is_some()).then(|| ThetaLimits {
        low: low.unwrap_or(f64::NEG_INFINITY),
        high: high.unwrap_or(f64::INFINITY),
    });
    Ok(FinishedWord {
        word: decision.ok_or_else(|| fields.problem("decision", "missing"))?,
        stopped: fields.optional_text("reason")?.is_some(),
        theta,
    })
}

fn rate(fields: &Fields) -> Result<CandidateRate, Problem> {
    let (low, high) = (
        fields.optional_number("low")?,
        fields.optional_number("high")?,
    );
    Ok(CandidateRate {
        limits: low.zip(high).map(|(lower, upper)| Limits { lower, upper }),
        n_c: fields.optional_number("n_c")?,
        judge: word(fields, "judge")?.unwrap_or(JudgeState::NotNeeded),
        missing: missing(fields)?.map(|m| RateMissing {
            // The candidate alone: whichever arm's rate is given is its own.
            rate: m.rate_a.max(m.rate_b),
            drop: m.drop,
            p_missing: m.p_missing,
            worst: m.worst,
            best: m.best,
        }),
    })
}

fn screened(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let list = input.objects("tasks")?;
    tasks::distinct(&list)?;
    let each: Result<Vec<ScreenTask>, Problem> = list
        .iter()
        .enumerate()
        .map(|(i, t)| {
            Ok(ScreenTask {
                task: tasks::name(t, i)?,
                a_successes: t.count32("a_successes")?,
                a_trials: t.count32("a_trials")?,
                b_successes: t.count32("b_successes")?,
                b_trials: t.count32("b_trials")?,
            })
        })
        .collect();
    let got = task_screen(&each?, alpha(params)?)?;
    let screened: Vec<Value> = got
        .tasks
        .iter()
        .map(|t| {
            Answer::new()
                .with("task", t.task.as_str())
                .number("p", t.p)
                .number("p_min", t.p_min)
                .with("testable", t.testable)
                .with("p_holm", number(t.p_holm))
                .into_value()
        })
        .collect();
    Ok(Answer::new()
        .with("K", got.k)
        .with("tasks", screened)
        .with("regressed", got.regressed)
        .with("improved", got.improved)
        .with("untestable", got.untestable)
        .with("cannot_detect_full_break", got.cannot_detect_full_break)
        .with("result", got.result.as_str()))
}
