//! Results that a table recorded fill what no trace gives.

use std::collections::BTreeMap;

use crate::grade::finding::{NO_OPPORTUNITY, grade};
use crate::model::grade::{Cell, Finding, Score, TrialGrades};
use crate::model::measure::Measure;

/// Who says so, in the grade's detail.
pub(crate) const TABLE: &str = "recorded in a results table";

/// Puts recorded results where the trace gave neither a value nor the answer that there was no
/// opportunity. The success is left to the outcome grader, which weighs it with other rules.
pub(crate) fn fill(all: &mut TrialGrades, recorded: &BTreeMap<Measure, f64>) {
    let mut recorded = recorded.clone();
    if let (Some(input), Some(output)) = (
        recorded.get(&Measure::InputTokens),
        recorded.get(&Measure::OutputTokens),
    ) {
        let sum = input + output;
        recorded.entry(Measure::Tokens).or_insert(sum);
    }
    for (measure, value) in recorded {
        let slot = all.scores.iter_mut().find(|s| s.measure == measure);
        if measure == Measure::Success || slot.as_ref().is_some_and(|s| is_given(&s.cell)) {
            continue;
        }
        let cell = checked(measure, value);
        if let Some(finding) = finding(measure, &cell) {
            all.grades.push(crate::model::grade::Grade {
                detail: TABLE.to_owned(),
                ..grade(measure.dimension(), "external_result", finding)
            });
        }
        match slot {
            Some(slot) => slot.cell = cell,
            None => all.scores.push(Score { measure, cell }),
        }
    }
}

fn is_given(cell: &Cell) -> bool {
    match cell {
        Cell::Value(_) => true,
        Cell::NotApplicable(reason) => reason == NO_OPPORTUNITY,
        Cell::Ungradable(_) => false,
    }
}

/// A recorded number, unless it is none or lies outside its measure's range.
pub(crate) fn checked(measure: Measure, value: f64) -> Cell {
    let unit = matches!(
        measure,
        Measure::Success | Measure::Conformance | Measure::Reached | Measure::Recovered
    );
    if !value.is_finite() {
        Cell::Ungradable("not_a_number".to_owned())
    } else if value < 0.0 || (unit && value > 1.0) {
        Cell::Ungradable("out_of_range".to_owned())
    } else {
        Cell::Value(value)
    }
}

/// What a recorded value finds; efficiency is measured, not judged, and reach is no verdict.
fn finding(measure: Measure, cell: &Cell) -> Option<Finding> {
    let value = match cell {
        Cell::Value(value) => *value,
        Cell::Ungradable(reason) => return Some(Finding::Ungradable(reason.clone())),
        Cell::NotApplicable(_) => return None,
    };
    match measure {
        Measure::Success | Measure::Conformance | Measure::Recovered => Some(graded(value)),
        Measure::Violations | Measure::DuplicateEffects if value > 0.0 => Some(Finding::Fail),
        Measure::Violations | Measure::DuplicateEffects => Some(Finding::Pass),
        _ => None,
    }
}

/// A value in [0, 1] as a finding: 1 passes, 0 fails, between is a graded value.
pub(crate) fn graded(value: f64) -> Finding {
    if value == 1.0 {
        Finding::Pass
    } else if value == 0.0 {
        Finding::Fail
    } else {
        Finding::Value(value)
    }
}
