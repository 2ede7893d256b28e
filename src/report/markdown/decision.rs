//! The top of the report: what was decided, rule by rule, and each dimension's word.

use minijinja::Value;
use serde::Serialize;

use super::comparisons;
use super::view::Lookup;
use super::{number, safe, words};
use crate::model::estimate::{DecisionWord, EstimateStatus, GateRule};
use crate::model::measure::Dimension;
use crate::model::metric::{Contrast, Metric};

/// What was decided.
#[derive(Serialize)]
pub(super) struct Decision {
    /// Baseline and candidates, if anything was compared.
    question: Option<Question>,
    /// `passed`, `failed` … or empty without rules.
    result: String,
    sentence: &'static str,
    /// How far a run came that was stopped early.
    stopped: Option<String>,
    /// Whether any trial was started.
    begun: bool,
    /// What infrastructure lost, an arm a line.
    lost: Vec<String>,
    rules: Vec<RuleLine>,
    words: Vec<WordLine>,
}

/// May `candidate` replace `baseline`?
#[derive(Serialize)]
struct Question {
    baseline: String,
    candidates: Vec<String>,
}

/// One rule of the gate.
#[derive(Serialize)]
struct RuleLine {
    rule: String,
    result: String,
    why: String,
    evidence: Value,
}

/// The dimensions with one word.
#[derive(Serialize)]
struct WordLine {
    word: String,
    of: String,
}

pub(super) fn decision(lookup: &Lookup<'_>) -> Decision {
    let gate = &lookup.report.gate;
    Decision {
        question: question(lookup),
        result: words::plain(&gate.result),
        sentence: match (gate.result.as_str(), &lookup.report.stopped) {
            ("inconclusive", Some(_)) => {
                "A run that was stopped early decides nothing until the rest of it has run."
            }
            (result, _) => sentence(result),
        },
        stopped: lookup.report.stopped.as_ref().map(|s| s.to_string()),
        begun: lookup.report.accounting.iter().any(|row| row.started > 0),
        lost: lookup.report.lost().map(|l| l.to_string()).collect(),
        rules: gate.rules.iter().map(|rule| line(lookup, rule)).collect(),
        words: word_lines(lookup),
    }
}

fn question(lookup: &Lookup<'_>) -> Option<Question> {
    let rows = &lookup.report.comparisons;
    let mut candidates: Vec<String> = vec![];
    for row in rows {
        if !candidates.contains(&row.candidate) {
            candidates.push(row.candidate.clone());
        }
    }
    Some(Question {
        baseline: rows.first()?.baseline.clone(),
        candidates,
    })
}

fn sentence(result: &str) -> &'static str {
    match result {
        "passed" => "Every rule is shown to be met.",
        "failed" => "At least one rule is shown to be broken.",
        "inconclusive" => {
            "No rule is shown to be broken, but not every rule is shown to be met: the evidence does not suffice."
        }
        "infrastructure" => {
            "No rule is shown to be broken, but for at least one too much evidence is missing or was lost to infrastructure."
        }
        _ => "",
    }
}

fn line(lookup: &Lookup<'_>, rule: &GateRule) -> RuleLine {
    RuleLine {
        rule: format!("{}: {}", rule.dimension, condition(lookup, rule)),
        result: words::plain(&rule.result),
        why: why(lookup, rule),
        evidence: safe(evidence(lookup, rule)),
    }
}

/// Why a rule has its result. A word that would meet another rule is said as what it means for this one.
fn why(lookup: &Lookup<'_>, rule: &GateRule) -> String {
    let Some(reason) = rule.reason.as_deref() else {
        return String::new();
    };
    let (word, rest) = match reason.split_once("; ") {
        Some((word, rest)) => (word, Some(rest)),
        None => (reason, None),
    };
    let unmet = unmet(&rule.rule, word).map(str::to_owned);
    let lower = || {
        let by_margin = matches!(rule.rule.as_str(), "non_inferior" | "equivalent");
        let mut rows = lookup.compared(rule.dimension, &rule.metric);
        let row = rows.find(|row| row.margin == rule.margin)?;
        comparisons::measurably_worse(row).filter(|_| by_margin && word == row.decision.name())
    };
    match unmet.or_else(lower) {
        None => words::reason(reason),
        Some(said) => match rest {
            None => said,
            Some(rest) => format!("{said}; {}", words::reason(rest)),
        },
    }
}

/// What a word lacks of what a rule asks for; `None` where the word speaks for itself.
fn unmet(rule: &str, word: &str) -> Option<&'static str> {
    let said = match (rule, word) {
        ("superior", "non_inferior") => {
            "the candidate is not shown to be better, only not to be worse by more than the margin"
        }
        ("superior", "equivalent") => {
            "the candidate is not shown to be better: the difference is smaller than the margin"
        }
        ("superior", "inconclusive") => "the candidate is not shown to be better",
        ("equivalent", "non_inferior") => {
            "the candidate is not worse by more than the margin, and may be better by more"
        }
        ("equivalent", "better") => {
            "the candidate is better, and not shown to be so by less than the margin"
        }
        _ => return None,
    };
    Some(said)
}

/// What the rule asks for, in words.
fn condition(lookup: &Lookup<'_>, rule: &GateRule) -> String {
    let metric = words::metric(&rule.metric, None);
    let margin = margin(lookup, rule);
    let rate = rule.rate.map_or("its bound".to_owned(), number::chosen);
    match rule.rule.as_str() {
        "non_inferior" => format!("{metric} not worse by more than {margin}"),
        "superior" => format!("{metric} better"),
        "equivalent" => format!("{metric} neither better nor worse by more than {margin}"),
        "max_rate" => format!("the candidate's {metric} at most {rate}"),
        "min_rate" => format!("the candidate's {metric} at least {rate}"),
        "no_task_regression" => format!("{metric} of no single task broken"),
        other => format!("{metric}: {}", words::plain(other)),
    }
}

fn margin(lookup: &Lookup<'_>, rule: &GateRule) -> String {
    let mut rows = lookup.compared(rule.dimension, &rule.metric);
    let measured = Metric::from_name(&rule.metric).map(|m| m.contrast());
    let ratio = rows.any(|row| row.contrast == "ratio") || measured == Some(Contrast::Ratio);
    match rule.margin {
        Some(margin) if ratio => format!("a factor of {}", number::chosen(margin)),
        Some(margin) => number::chosen(margin),
        None => "its margin".to_owned(),
    }
}

/// The numbers that the rule was held against: the candidate's rate, or the contrast.
fn evidence(lookup: &Lookup<'_>, rule: &GateRule) -> String {
    let lines: Vec<String> = match rule.rule.as_str() {
        "max_rate" | "min_rate" => rates(lookup, rule),
        "no_task_regression" => vec![],
        _ => lookup
            .compared(rule.dimension, &rule.metric)
            .map(|row| comparisons::contrast_and_limits(lookup, row))
            .collect(),
    };
    lines.join("; ")
}

fn rates(lookup: &Lookup<'_>, rule: &GateRule) -> Vec<String> {
    let comparisons = &lookup.report.comparisons;
    let candidate = |arm: &str| comparisons.iter().any(|c| c.candidate == arm);
    let rows = lookup.report.estimates.iter();
    rows.filter(|row| row.dimension == rule.dimension && row.metric == rule.metric)
        .filter(|row| row.segment.is_none() && row.k.is_none() && candidate(&row.arm))
        .filter_map(|row| {
            let limits = lookup.interval(row.low, row.high, row.level, &row.notices);
            Some(format!("{} {limits}", number::number(row.value?)))
        })
        .collect()
}

/// Each word with the dimensions it was given for, worst first; then what has no word.
fn word_lines(lookup: &Lookup<'_>) -> Vec<WordLine> {
    const ORDER: [DecisionWord; 6] = [
        DecisionWord::Worse,
        DecisionWord::NotDecidable,
        DecisionWord::Inconclusive,
        DecisionWord::Equivalent,
        DecisionWord::NonInferior,
        DecisionWord::Better,
    ];
    // What is not decidable for want of trials is not said to be unmeasured as well.
    let undecidable = |name: &str| {
        let of = of_word(lookup, DecisionWord::NotDecidable);
        of.iter().any(|line| line.starts_with(&format!("{name} (")))
    };
    let mut unmeasured = unmeasured(lookup);
    unmeasured.retain(|line| !undecidable(line.trim_end_matches(" in part")));
    let unmeasured = WordLine {
        word: "not measured".to_owned(),
        of: unmeasured.join("; "),
    };
    ORDER
        .into_iter()
        .map(|word| WordLine {
            word: words::decision(word),
            of: of_word(lookup, word).join("; "),
        })
        .chain([unmeasured])
        .filter(|line| !line.of.is_empty())
        .collect()
}

/// The comparisons over all tasks that were given `word`: the headline metrics, and any metric that
/// became worse (measurably, if not beyond its margin) or better, so that no loss hides behind a headline, and no gain either.
fn of_word(lookup: &Lookup<'_>, word: DecisionWord) -> Vec<String> {
    let comparisons = &lookup.report.comparisons;
    let several = comparisons
        .iter()
        .any(|row| row.candidate != comparisons[0].candidate);
    let mut found = vec![];
    for dimension in Dimension::ALL {
        let headline = lookup.headline(dimension);
        let rows = comparisons.iter().filter(|row| {
            row.dimension == dimension && row.segment.is_none() && row.decision == word
        });
        for row in rows {
            // Preferences have no estimate of one arm, so no headline stands for them.
            let is_preference = lookup
                .report
                .preferences
                .iter()
                .any(|p| p.metric == row.metric);
            let worse = comparisons::measurably_worse(row).is_some();
            let shown = worse || matches!(word, DecisionWord::Worse | DecisionWord::Better);
            if headline == Some(&row.metric) || shown || is_preference {
                let but = if worse { ", but measurably worse" } else { "" };
                let of = format!("{dimension} ({}{but})", words::metric(&row.metric, None));
                found.push(match several {
                    true => format!("{of} of {}", row.candidate),
                    false => of,
                });
            }
        }
    }
    found
}

/// The dimensions of which nothing, or not everything, was measured.
fn unmeasured(lookup: &Lookup<'_>) -> Vec<String> {
    let rows = &lookup.report.estimates;
    let count = |dimension, missing: bool| {
        let rows = rows.iter().filter(|row| row.dimension == dimension);
        let rows = rows.filter(|row| (row.status == EstimateStatus::NotMeasured) == missing);
        let preferred = match dimension == Dimension::Quality && !missing {
            true => lookup.report.preferences.len(),
            false => 0,
        };
        rows.count() + preferred
    };
    let lines = Dimension::ALL.into_iter().filter_map(|dimension| {
        match (count(dimension, true), count(dimension, false)) {
            (0, _) => None,
            (_, 0) => Some(dimension.name().to_owned()),
            _ => Some(format!("{dimension} in part")),
        }
    });
    lines.collect()
}
