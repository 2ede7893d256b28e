//! What the template prints, section by section.

use serde::Serialize;

use super::comparisons::{self, Pair};
use super::decision::{self, Decision};
use super::denominators::{self, Denominators};
use super::estimates::{self, EstimateLine, Unmeasured};
use super::findings::{self, Findings};
use super::judging::{self, JudgeLines};
use super::live::{self, Live};
use super::number;
use super::preferences::{self, PreferenceLines};
use super::robustness::{self, RobustnessLine};
use crate::model::estimate::{ComparisonRow, EstimateRow, EstimateStatus};
use crate::model::measure::Dimension;
use crate::model::report::{DisagreementRow, Report};

/// Everything that the template prints.
#[derive(Serialize)]
pub(super) struct View<'a> {
    report: &'a Report,
    level: String,
    decision: Decision,
    dimensions: Vec<EstimateLine>,
    pairs: Vec<Pair>,
    judges: Vec<JudgeLines>,
    preferences: Vec<PreferenceLines>,
    unmeasured: Vec<Unmeasured>,
    findings: Findings,
    denominators: Denominators,
    robustness: Vec<RobustnessLine>,
    live: Live,
    segments: Vec<EstimateLine>,
    segments_left_out: usize,
    further: Vec<EstimateLine>,
}

impl<'a> View<'a> {
    pub(super) fn new(report: &'a Report, disagreements: &[DisagreementRow]) -> Self {
        let lookup = Lookup::new(report);
        let (segments, segments_left_out) = estimates::segments(&lookup);
        Self {
            report,
            level: number::percent(lookup.level),
            decision: decision::decision(&lookup),
            dimensions: estimates::dimensions(&lookup),
            pairs: comparisons::pairs(&lookup),
            judges: judging::judges(report),
            preferences: preferences::preferences(&lookup),
            unmeasured: estimates::unmeasured(&lookup),
            findings: findings::findings(report, disagreements),
            denominators: denominators::denominators(report),
            robustness: robustness::robustness(&lookup),
            live: live::live(report),
            segments,
            segments_left_out,
            further: estimates::further(&lookup),
        }
    }
}

/// The report, and what several sections look up in it.
pub(super) struct Lookup<'a> {
    pub(super) report: &'a Report,
    /// The level that the headings name; a row with another says so itself.
    pub(super) level: f64,
}

impl<'a> Lookup<'a> {
    fn new(report: &'a Report) -> Self {
        let levels = report.estimates.iter().map(|row| row.level);
        let mut levels = levels.chain(report.comparisons.iter().map(|row| row.level));
        Self {
            report,
            level: levels.next().unwrap_or(0.95),
        }
    }

    /// The metric by which a dimension is shown first: that of its gate rule, else of its primary
    /// comparison, else its first that was measured, else its first.
    pub(super) fn headline(&self, dimension: Dimension) -> Option<&'a str> {
        let rules = self.report.gate.rules.iter();
        let ruled = rules
            .filter(|r| r.dimension == dimension)
            .map(|r| &r.metric);
        let rows = self.report.comparisons.iter();
        let primary = rows
            .filter(|c| c.dimension == dimension && c.primary)
            .map(|c| &c.metric);
        let rows = self.report.estimates.iter();
        let estimated = rows.filter(|e| e.dimension == dimension);
        let measured = estimated
            .clone()
            .filter(|e| e.status != EstimateStatus::NotMeasured);
        let known = |metric: &&String| {
            let mut rows = self.report.estimates.iter();
            rows.any(|e| e.dimension == dimension && e.metric == **metric)
        };
        ruled
            .chain(primary)
            .filter(known)
            .chain(measured.map(|e| &e.metric))
            .chain(estimated.map(|e| &e.metric))
            .next()
            .map(String::as_str)
    }

    /// Whether this row is the headline of its dimension over all tasks.
    pub(super) fn is_headline(&self, row: &EstimateRow) -> bool {
        row.segment.is_none()
            && row.k.is_none()
            && self.headline(row.dimension) == Some(&row.metric)
    }

    /// The comparisons of one metric over all tasks.
    pub(super) fn compared(
        &self,
        dimension: Dimension,
        metric: &str,
    ) -> impl Iterator<Item = &'a ComparisonRow> {
        let rows = self.report.comparisons.iter();
        rows.filter(move |c| c.dimension == dimension && c.metric == metric && c.segment.is_none())
    }

    /// An arrow upwards if more is better, downwards if less is, nothing where no comparison says.
    pub(super) fn arrow(&self, dimension: Dimension, metric: &str) -> &'static str {
        let mut rows = self.report.comparisons.iter();
        let row = rows.find(|c| c.dimension == dimension && c.metric == metric);
        match row.map(|row| row.direction.as_str()) {
            Some("gain") => "\u{a0}↑",
            Some("loss") => "\u{a0}↓",
            _ => "",
        }
    }

    /// The limits of a row, with its level where that is not the one in the heading.
    pub(super) fn interval(
        &self,
        low: Option<f64>,
        high: Option<f64>,
        level: f64,
        notices: &[String],
    ) -> String {
        let limits = number::interval(low, high, notices);
        if (level - self.level).abs() < 1e-9 {
            return limits;
        }
        format!("{limits} ({})", number::percent(level))
    }
}
