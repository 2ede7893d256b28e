//! How a rule's findings become a grade.

use crate::model::grade::{Cell, Finding, Grade, Score};
use crate::model::measure::{Dimension, Measure};

/// Problems shown in one detail text; more are counted.
const SHOWN: usize = 5;
/// Longest detail text in bytes.
const LONGEST_DETAIL: usize = 800;

/// Reason where there is no trace at all.
pub(crate) const NO_TRACE: &str = "no_trace";
/// Reason where a trial gave no occasion to break a rule.
pub(crate) const NO_OPPORTUNITY: &str = "no_opportunity";
/// Reason where a rule needs arguments that are dropped as private reasoning.
pub(crate) const PRIVATE_ARGUMENTS: &str = "private_arguments";
/// Reason where a rule needs arguments that the source did not record.
pub(crate) const ARGUMENTS_NOT_RECORDED: &str = "arguments_not_recorded";

/// Reason where a rule needs the name of a tool that the source did not record.
pub(crate) const TOOL_NAME_NOT_RECORDED: &str = "tool_name_not_recorded";

/// Grades and scores of one dimension.
#[derive(Default)]
pub(crate) struct Graded {
    /// One per rule.
    pub grades: Vec<Grade>,
    /// One per measure of the dimension.
    pub scores: Vec<Score>,
}

impl Graded {
    /// Adds a score.
    pub(crate) fn score(&mut self, measure: Measure, cell: Cell) {
        self.scores.push(Score { measure, cell });
    }
}

/// A grade with a finding and nothing else.
pub(crate) fn grade(dimension: Dimension, rule: &str, finding: Finding) -> Grade {
    Grade {
        dimension,
        rule: rule.to_owned(),
        finding,
        events: vec![],
        detail: String::new(),
        notices: vec![],
    }
}

/// A grade for a rule whose evidence is missing.
pub(crate) fn ungradable(dimension: Dimension, rule: &str, reason: &str) -> Grade {
    grade(dimension, rule, Finding::Ungradable(reason.to_owned()))
}

/// One break of a rule.
pub(crate) struct Break {
    /// The events that show it; the first one is where it happened.
    pub events: Vec<u64>,
    /// What is wrong, in words.
    pub detail: String,
}

/// Collects what one rule found over many calls or effects.
#[derive(Default)]
pub(crate) struct Tally {
    /// Events that were checked.
    pub checked: Vec<u64>,
    /// Whether something was checked that no event shows, such as a path without calls.
    pub executed: bool,
    /// Breaks in the order in which they happened.
    pub broken: Vec<Break>,
    /// Why something could not be checked.
    pub unknown: Option<String>,
    /// Codes of warnings.
    pub notices: Vec<String>,
}

impl Tally {
    /// Records a break.
    pub(crate) fn broke(&mut self, events: Vec<u64>, detail: impl Into<String>) {
        self.broken.push(Break {
            events,
            detail: detail.into(),
        });
    }

    /// Records that something could not be checked; the first reason is kept.
    pub(crate) fn unknown(&mut self, reason: &str) {
        self.unknown.get_or_insert_with(|| reason.to_owned());
    }

    /// The grade: a break outranks what is unknown, which outranks a pass; nothing checked is
    /// `not_applicable` for the reason given.
    pub(crate) fn into_grade(self, dimension: Dimension, rule: &str, nothing: &str) -> Grade {
        let (finding, mut events) = if !self.broken.is_empty() {
            let events = self.broken.iter().flat_map(|b| b.events.clone()).collect();
            (Finding::Fail, events)
        } else if let Some(reason) = self.unknown {
            (Finding::Ungradable(reason), vec![])
        } else if self.checked.is_empty() && !self.executed {
            (Finding::NotApplicable(nothing.to_owned()), vec![])
        } else {
            (Finding::Pass, self.checked)
        };
        events.sort_unstable();
        events.dedup();
        let details: Vec<String> = self.broken.into_iter().map(|b| b.detail).collect();
        Grade {
            events,
            detail: sentence(&details),
            notices: self.notices,
            ..grade(dimension, rule, finding)
        }
    }
}

/// Problems as one text: the first few, then how many more there are.
pub(crate) fn sentence(problems: &[String]) -> String {
    let mut text = problems
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("; ");
    if problems.len() > SHOWN {
        text.push_str(&format!("; and {} more", problems.len() - SHOWN));
    }
    clip(&text, LONGEST_DETAIL)
}

/// A text cut to a number of bytes at a character boundary, with an ellipsis if anything was cut.
pub(crate) fn clip(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = (0..=longest)
        .rev()
        .find(|&i| text.is_char_boundary(i))
        .unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_outranks_the_unknown_and_nothing_never_passes() {
        let grade = |t: Tally| {
            t.into_grade(Dimension::Permission, "r", NO_OPPORTUNITY)
                .finding
        };
        let mut tally = Tally::default();
        assert_eq!(
            grade(Tally::default()),
            Finding::NotApplicable("no_opportunity".into())
        );
        tally.checked.push(3);
        tally.unknown("first");
        tally.unknown("second");
        tally.broke(vec![9, 4], "bad");
        let found = tally.into_grade(Dimension::Permission, "r", NO_OPPORTUNITY);
        assert_eq!(
            (found.finding, found.events, found.detail.as_str()),
            (Finding::Fail, vec![4, 9], "bad")
        );
        let unknown = Tally {
            checked: vec![1],
            unknown: Some("x".into()),
            ..Tally::default()
        };
        assert_eq!(grade(unknown), Finding::Ungradable("x".into()));
    }

    #[test]
    fn clipping_keeps_characters_whole() {
        assert_eq!(clip("aé", 2), "a…");
        assert_eq!(clip("aé", 3), "aé");
    }
}
