//! What the rules found, which tasks stand out, and pairs for a person to look at.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Serialize;

use super::{clip, number, safe, words};
use crate::model::estimate::{ScreenRow, ScreenTask};
use crate::model::measure::Dimension;
use crate::model::report::{DisagreementRow, Evidence, Report, RuleRow};

/// Examples per rule, task names per list, and disagreements that are printed; files hold the rest.
const EXAMPLES: usize = 2;
const TASKS: usize = 6;
const SAMPLES: usize = 6;
const DETAIL: usize = 160;

/// What was found in the evidence.
#[derive(Serialize)]
pub(super) struct Findings {
    broken: Vec<BrokenLine>,
    rules: Vec<RuleLine>,
    screens: Vec<ScreenLine>,
    inputs: Option<InputLine>,
    samples: Vec<SampleLine>,
    samples_left_out: usize,
}

/// How often an arm broke a rule that some arm broke.
#[derive(Serialize)]
struct BrokenLine {
    arm: String,
    /// What was found: `max_calls (trajectory) broken`, or a sentence of the rule's own.
    what: String,
    /// Which trials it concerns.
    whom: &'static str,
    broken: u64,
    concerned: u64,
    examples: Vec<Example>,
}

/// One trial in which a rule was broken.
#[derive(Serialize)]
struct Example {
    task: String,
    trial: u32,
    events: String,
    detail: String,
}

/// All that a rule found in an arm.
#[derive(Serialize)]
struct RuleLine {
    arm: String,
    dimension: Dimension,
    rule: String,
    held: u64,
    broken: u64,
    value: u64,
    not_applicable: u64,
    ungradable: String,
}

/// The per-task screen of one metric.
#[derive(Serialize)]
struct ScreenLine {
    metric: String,
    candidates: u64,
    testable: u64,
    untestable: u64,
    regressions: Vec<TaskLine>,
    improvements: Vec<TaskLine>,
    blind: usize,
    blind_tasks: String,
}

/// One task that a screen rejected.
#[derive(Serialize)]
struct TaskLine {
    task: String,
    p: Value,
}

/// Tasks whose inputs differ.
#[derive(Serialize)]
struct InputLine {
    differ: u64,
    compared: u64,
    tasks: String,
}

/// One disagreement.
#[derive(Serialize)]
struct SampleLine {
    kind: String,
    dimension: Dimension,
    task: String,
    segment: String,
    a: Side,
    b: Side,
    stratum: String,
}

/// One of two trials that disagree.
#[derive(Serialize)]
struct Side {
    arm: String,
    trial: u32,
    score: Value,
    evidence: String,
}

pub(super) fn findings(report: &Report, disagreements: &[DisagreementRow]) -> Findings {
    let inputs = report.input_differs.as_ref();
    let samples = spread(disagreements);
    Findings {
        broken: broken(&report.rules),
        rules: report.rules.iter().map(rule).collect(),
        screens: report.screens.iter().map(screen).collect(),
        inputs: inputs.map(|inputs| InputLine {
            differ: inputs.differ,
            compared: inputs.compared,
            tasks: names(&inputs.tasks),
        }),
        samples_left_out: disagreements.len() - samples.len(),
        samples: samples.into_iter().map(sample).collect(),
    }
}

/// Every rule that some arm broke, with all arms that it concerned: that another arm never broke it
/// is what makes the finding.
fn broken(rules: &[RuleRow]) -> Vec<BrokenLine> {
    let anywhere = |row: &RuleRow| {
        let same = |r: &&RuleRow| (r.dimension, &r.rule) == (row.dimension, &row.rule);
        rules.iter().filter(same).any(|r| r.fail > 0)
    };
    let lines = rules.iter().filter(|row| anywhere(row));
    lines
        .map(broken_line)
        .filter(|line| line.concerned > 0)
        .collect()
}

fn broken_line(row: &RuleRow) -> BrokenLine {
    BrokenLine {
        arm: row.arm.clone(),
        what: what(row),
        whom: match row.rule.as_str() {
            ASKING => "trials that wrote",
            _ => "trials it concerns",
        },
        broken: row.fail,
        concerned: row.pass + row.fail + row.value,
        examples: row.examples.iter().take(EXAMPLES).map(example).collect(),
    }
}

/// The rule that the user is asked before the first write.
const ASKING: &str = "must_ask_before_write";

fn what(row: &RuleRow) -> String {
    let rule = format!("{} ({})", row.rule, row.dimension);
    match row.rule.as_str() {
        ASKING => format!("{rule}: wrote before saying anything to the user"),
        _ => format!("{rule} broken"),
    }
}

fn example(evidence: &Evidence) -> Example {
    let events: Vec<String> = evidence.events.iter().map(u64::to_string).collect();
    Example {
        task: evidence.task.clone(),
        trial: evidence.trial,
        events: match events.len() {
            0 => String::new(),
            1 => format!("event {}", events[0]),
            _ => format!("events {}", events.join(", ")),
        },
        detail: clip(&evidence.detail, DETAIL),
    }
}

fn rule(row: &RuleRow) -> RuleLine {
    RuleLine {
        arm: row.arm.clone(),
        dimension: row.dimension,
        rule: row.rule.clone(),
        held: row.pass,
        broken: row.fail,
        value: row.value,
        not_applicable: row.not_applicable,
        ungradable: counts(&row.ungradable),
    }
}

/// `3 no state, 2 no trace`, or 0.
fn counts(by_reason: &BTreeMap<String, u64>) -> String {
    let parts = by_reason.iter().filter(|(_, n)| **n > 0);
    let parts: Vec<String> = parts
        .map(|(reason, n)| format!("{n} ({})", words::reason(reason)))
        .collect();
    match parts.is_empty() {
        true => "0".to_owned(),
        false => parts.join(", "),
    }
}

fn screen(row: &ScreenRow) -> ScreenLine {
    ScreenLine {
        metric: words::metric(&row.metric, None),
        candidates: row.candidates,
        testable: row.testable,
        untestable: row.untestable,
        regressions: row.regressions.iter().map(task).collect(),
        improvements: row.improvements.iter().map(task).collect(),
        blind: row.cannot_detect_full_break.len(),
        blind_tasks: names(&row.cannot_detect_full_break),
    }
}

fn task(row: &ScreenTask) -> TaskLine {
    TaskLine {
        task: row.task.clone(),
        p: safe(number::number(row.p_adjusted)),
    }
}

/// The first few names.
fn names(tasks: &[String]) -> String {
    let mut text = tasks
        .iter()
        .take(TASKS)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if tasks.len() > TASKS {
        text.push_str(" …");
    }
    text
}

/// A few rows, taken from as many dimensions and kinds as there are.
fn spread(rows: &[DisagreementRow]) -> Vec<&DisagreementRow> {
    let mut seen: BTreeMap<(Dimension, &str), usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, usize)> = vec![];
    for (place, row) in rows.iter().enumerate() {
        let rank = seen.entry((row.dimension, &row.kind)).or_default();
        ranked.push((*rank, place));
        *rank += 1;
    }
    ranked.sort_unstable();
    let mut places: Vec<usize> = ranked.iter().take(SAMPLES).map(|r| r.1).collect();
    places.sort_unstable();
    places.into_iter().map(|place| &rows[place]).collect()
}

fn sample(row: &DisagreementRow) -> SampleLine {
    let side = |arm: &str, trial, score, evidence: &str| Side {
        arm: arm.to_owned(),
        trial,
        score: safe(number::number(score)),
        evidence: clip(evidence, DETAIL),
    };
    SampleLine {
        kind: match row.kind.as_str() {
            "trial_vs_trial" => "two trials of one task".to_owned(),
            "arm_vs_arm" => "two arms on one task".to_owned(),
            other => words::plain(other),
        },
        dimension: row.dimension,
        task: row.task.clone(),
        segment: row.segment.clone().unwrap_or_default(),
        a: side(&row.arm_a, row.trial_a, row.score_a, &row.evidence_a),
        b: side(&row.arm_b, row.trial_b, row.score_b, &row.evidence_b),
        stratum: row.stratum.clone(),
    }
}
