//! Comparisons: baseline and candidate, task by task.

use minijinja::Value;
use serde::Serialize;

use super::view::Lookup;
use super::{number, safe, words};
use crate::model::estimate::{ComparisonRow, DecisionWord, EstimateStatus};
use crate::model::measure::Dimension;

/// All comparisons of two arms.
#[derive(Serialize)]
pub(super) struct Pair {
    baseline: String,
    candidate: String,
    /// Headline, primary and ruled metrics over all tasks.
    main: Vec<ComparisonLine>,
    /// Sentences that these lines point to by letter; each table has its own.
    notes: Vec<Note>,
    settle: Vec<SettleLine>,
    /// Other metrics over all tasks.
    further: Vec<ComparisonLine>,
    further_notes: Vec<Note>,
    /// Headline metrics by segment.
    segments: Vec<ComparisonLine>,
    segment_notes: Vec<Note>,
}

/// One comparison.
#[derive(Serialize)]
struct ComparisonLine {
    dimension: Dimension,
    metric: String,
    segment: String,
    contrast: Value,
    limits: Value,
    margin: Value,
    mde: Value,
    p: Value,
    p_adjusted: Value,
    p_sign_flip: Value,
    tasks: u64,
    unpaired: u64,
    missing: Value,
    method: String,
    word: String,
    strong: bool,
    reason: String,
    letters: String,
}

/// A sentence below the table.
#[derive(Serialize)]
struct Note {
    letter: String,
    text: String,
    #[serde(skip)]
    code: String,
}

/// What would settle one inconclusive comparison.
#[derive(Serialize)]
struct SettleLine {
    of: String,
    text: String,
    cost: Option<Value>,
}

/// The comparisons, grouped by pair of arms in the order of the report.
pub(super) fn pairs(lookup: &Lookup<'_>) -> Vec<Pair> {
    let mut keys: Vec<(&str, &str)> = vec![];
    for row in &lookup.report.comparisons {
        let key = (row.baseline.as_str(), row.candidate.as_str());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.into_iter().map(|key| pair(lookup, key)).collect()
}

fn pair(lookup: &Lookup<'_>, (baseline, candidate): (&str, &str)) -> Pair {
    let rows = lookup.report.comparisons.iter();
    let rows = rows.filter(|row| row.baseline == baseline && row.candidate == candidate);
    let (whole, parts): (Vec<_>, Vec<_>) = rows.partition(|row| row.segment.is_none());
    let (mut main, further): (Vec<_>, Vec<_>) =
        whole.into_iter().partition(|row| is_main(lookup, row));
    main.sort_by_key(|row| row.dimension);
    let table = |rows: &[&ComparisonRow]| -> (Vec<ComparisonLine>, Vec<Note>) {
        let mut notes = vec![];
        let lines = rows.iter().map(|row| line(lookup, row, &mut notes));
        (lines.collect(), notes)
    };
    let settle = main.iter().filter_map(|row| settle(row)).collect();
    let (main, notes) = table(&main);
    let (further, further_notes) = table(&further);
    let (segments, segment_notes) = table(&parts);
    Pair {
        baseline: baseline.to_owned(),
        candidate: candidate.to_owned(),
        main,
        notes,
        settle,
        further,
        further_notes,
        segments,
        segment_notes,
    }
}

fn is_main(lookup: &Lookup<'_>, row: &ComparisonRow) -> bool {
    let mut rules = lookup.report.gate.rules.iter();
    row.primary
        || lookup.headline(row.dimension) == Some(&row.metric)
        || rules.any(|rule| rule.dimension == row.dimension && rule.metric == row.metric)
}

fn line(lookup: &Lookup<'_>, row: &ComparisonRow, notes: &mut Vec<Note>) -> ComparisonLine {
    let dash = || "–".to_owned();
    let arrow = lookup.arrow(row.dimension, &row.metric);
    ComparisonLine {
        dimension: row.dimension,
        metric: format!("{}{arrow}", words::metric(&row.metric, None)),
        segment: row.segment.clone().unwrap_or_default(),
        contrast: safe(row.value.map_or_else(dash, |value| contrast(row, value))),
        limits: safe(lookup.interval(row.low, row.high, row.level, &row.notices)),
        margin: safe(
            row.margin
                .map_or_else(dash, |margin| factor(row) + &number::chosen(margin)),
        ),
        mde: safe(row.mde.map_or_else(dash, number::number)),
        p: safe(row.p.map_or_else(dash, number::number)),
        p_adjusted: safe(row.p_adjusted.map_or_else(dash, number::number)),
        p_sign_flip: safe(row.p_sign_flip.map_or_else(dash, number::number)),
        tasks: row.tasks,
        unpaired: row.tasks_unpaired,
        missing: safe(completions(row)),
        method: row.method.clone().unwrap_or_default(),
        word: words::decision(row.decision),
        strong: matches!(row.decision, DecisionWord::Worse | DecisionWord::Better),
        reason: reason(lookup, row),
        letters: letters(row, notes),
    }
}

fn factor(row: &ComparisonRow) -> String {
    let sign = if row.contrast == "ratio" { "×" } else { "" };
    sign.to_owned()
}

fn contrast(row: &ComparisonRow, value: f64) -> String {
    match row.contrast.as_str() {
        "ratio" => format!("×{}", number::number(value)),
        _ => number::difference(value),
    }
}

/// The point estimate of a contrast with its limits, for the rules of the gate.
pub(super) fn contrast_and_limits(lookup: &Lookup<'_>, row: &ComparisonRow) -> String {
    let limits = lookup.interval(row.low, row.high, row.level, &row.notices);
    match row.value {
        Some(value) => format!("{} {limits}", contrast(row, value)),
        None => limits,
    }
}

/// The limits if every missing trial had gone worst, and best, for the candidate.
fn completions(row: &ComparisonRow) -> String {
    let limits = |pair: Option<[f64; 2]>| match pair {
        Some([low, high]) => number::interval(Some(low), Some(high), &[]),
        None => "–".to_owned(),
    };
    match (row.worst, row.best) {
        (None, None) => "–".to_owned(),
        (worst, best) => format!("{} to {}", limits(worst), limits(best)),
    }
}

/// The notice of a loss that is shown, though not beyond the margin.
const LOWER: &str = "measurably_lower";

/// What the row itself says of a loss that is shown, though not beyond the margin: a reader in a hurry
/// would take `inconclusive` for no loss.
pub(super) fn measurably_worse(row: &ComparisonRow) -> Option<String> {
    if !row.notices.iter().any(|code| code == LOWER) {
        return None;
    }
    let farthest = match row.direction.as_str() {
        "gain" => row.low,
        _ => row.high,
    };
    let most = match row.contrast.as_str() {
        "ratio" => format!("×{}", number::number(farthest?)),
        _ => number::number(farthest?.abs()),
    };
    Some(match row.decision {
        DecisionWord::Equivalent => {
            format!("measurably worse, by up to {most}, which is within the margin")
        }
        _ => format!("measurably worse, by up to {most}; not shown to be beyond the margin"),
    })
}

fn reason(lookup: &Lookup<'_>, row: &ComparisonRow) -> String {
    let status = match row.status {
        EstimateStatus::Ok | EstimateStatus::NotDecidable => "",
        status => words::status(status),
    };
    let mut parts: Vec<String> = row
        .reason
        .as_deref()
        .map(words::reason)
        .into_iter()
        .collect();
    parts.extend(measurably_worse(row));
    if !status.is_empty() {
        parts.push(status.to_owned());
    }
    if !row.locked {
        let stopped = lookup.report.stopped.is_some();
        let why = match stopped {
            true => "the run was stopped early",
            false => "deviates from the locked plan",
        };
        parts.push(why.to_owned());
    }
    parts.join("; ")
}

/// The letters of the notes of a row; a new note is appended.
fn letters(row: &ComparisonRow, notes: &mut Vec<Note>) -> String {
    let mut letters: Vec<String> = vec![];
    for code in row
        .notices
        .iter()
        .filter(|code| !code.ends_with("_unbounded") && *code != LOWER)
    {
        let place = notes.iter().position(|note| note.code == *code);
        let place = place.unwrap_or_else(|| {
            notes.push(Note {
                letter: letter(notes.len()),
                text: words::notice(code),
                code: code.clone(),
            });
            notes.len() - 1
        });
        letters.push(notes[place].letter.clone());
    }
    letters.sort();
    letters.join(", ")
}

/// a, b, … z, then a1, b1 …
fn letter(place: usize) -> String {
    let letter = char::from(b'a' + (place % 26) as u8);
    match place / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

/// What settles a difference of quality that labels would settle.
const LABELS: &str = "more labels of people on both arms' outputs of the same tasks: draw them with assize label-sample, give them back with assize judge --labels.";

/// Whether an open difference of quality lacks labels, and nothing else stands in its way.
fn wants_labels(row: &ComparisonRow, reason: Option<&str>) -> bool {
    row.dimension == Dimension::Quality
        && row.decision == DecisionWord::Inconclusive
        && reason.is_none_or(|why| why.starts_with("pairs_"))
}

fn settle(row: &ComparisonRow) -> Option<SettleLine> {
    if row.decision != DecisionWord::Inconclusive && row.decision != DecisionWord::NotDecidable {
        return None;
    }
    let cost = row.settle.as_ref().and_then(|settle| settle.cost_usd);
    let text = match (&row.settle, &row.reason) {
        (Some(settle), _) => settle.text.clone(),
        (None, reason) if wants_labels(row, reason.as_deref()) => LABELS.to_owned(),
        (None, Some(reason)) => format!("not a matter of more tasks: {}.", words::reason(reason)),
        (None, None) => "this run holds too little to say.".to_owned(),
    };
    Some(SettleLine {
        of: format!("{}, {}", row.dimension, words::metric(&row.metric, None)),
        text,
        cost: cost.map(|cost| safe(number::number(cost))),
    })
}
