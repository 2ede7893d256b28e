//! Metrics: the numbers that estimates and comparisons are about, each made from one measure.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::measure::{Dimension, Measure};

/// A metric by its name, for example `success_rate` or `tool_calls.p90`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Measure it is made from.
    pub measure: Measure,
    /// How it is made.
    pub kind: MetricKind,
}

/// How a metric is made from its measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricKind {
    /// Share of trials with the event, among those the measure concerns: the value itself for
    /// `success`, `conformance`, `reached` and `recovered`, and "at least one" for counts.
    Rate,
    /// The same among all valid trials; those it does not concern have no event.
    RateAll,
    /// Events per trial, among all valid trials.
    PerTrial,
    /// pass@k: at least one of k trials succeeds.
    PassAtK,
    /// pass^k: all of k trials succeed.
    PassHatK,
    /// Quantile over trials.
    Quantile(f64),
    /// Mean per task, then over tasks.
    Mean,
    /// Sum over all valid trials.
    Total,
}

/// Whether more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More is better.
    Gain,
    /// Less is better.
    Loss,
}

/// How two arms are contrasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contrast {
    /// Candidate minus baseline; a margin is in the metric's unit.
    Difference,
    /// Candidate over baseline; a margin is a factor above 1.
    Ratio,
}

const COSTS: [Measure; 8] = [
    Measure::ToolCalls,
    Measure::RepeatedCalls,
    Measure::Steps,
    Measure::InputTokens,
    Measure::OutputTokens,
    Measure::Tokens,
    Measure::CostUsd,
    Measure::LatencyMs,
];

const COST_KINDS: [MetricKind; 5] = [
    MetricKind::Mean,
    MetricKind::Quantile(0.5),
    MetricKind::Quantile(0.9),
    MetricKind::Quantile(0.95),
    MetricKind::Total,
];

impl Metric {
    /// All metrics in reporting order: within a dimension its main metric comes first.
    pub fn all() -> Vec<Metric> {
        use MetricKind::{PassAtK, PassHatK, PerTrial, Rate, RateAll};
        let metric = |measure, kind| Metric { measure, kind };
        let mut all = vec![
            metric(Measure::Success, Rate),
            metric(Measure::Success, PassAtK),
            metric(Measure::Success, PassHatK),
            metric(Measure::Conformance, Rate),
        ];
        all.extend(
            COSTS
                .into_iter()
                .flat_map(|m| COST_KINDS.map(|kind| metric(m, kind))),
        );
        for measure in [Measure::Violations, Measure::DuplicateEffects] {
            all.extend([Rate, RateAll, PerTrial].map(|kind| metric(measure, kind)));
        }
        all.extend([
            metric(Measure::Recovered, Rate),
            metric(Measure::Reached, Rate),
        ]);
        all
    }

    /// The metric with this name.
    pub fn from_name(name: &str) -> Option<Metric> {
        Self::all().into_iter().find(|m| m.name() == name)
    }

    /// The main metric of a dimension: the one a margin or rule means that names only the dimension.
    /// `None` for quality, whose metrics are named after judges.
    pub fn main(dimension: Dimension) -> Option<Metric> {
        let (measure, kind) = match dimension {
            Dimension::Outcome => (Measure::Success, MetricKind::Rate),
            Dimension::Trajectory => (Measure::Conformance, MetricKind::Rate),
            Dimension::Efficiency => (Measure::ToolCalls, MetricKind::Mean),
            Dimension::Permission => (Measure::Violations, MetricKind::Rate),
            Dimension::Duplicates => (Measure::DuplicateEffects, MetricKind::Rate),
            Dimension::Recovery => (Measure::Recovered, MetricKind::Rate),
            Dimension::Quality => return None,
        };
        Some(Metric { measure, kind })
    }

    /// The metric that a margin's name means: a dimension stands for its main metric.
    pub fn of_margin(name: &str) -> Option<Metric> {
        let dimension = Dimension::ALL.into_iter().find(|d| d.name() == name);
        dimension.map_or_else(|| Self::from_name(name), Self::main)
    }

    /// Why a number is no margin of this metric; `None` if it is one.
    pub fn margin_problem(&self, margin: f64) -> Option<String> {
        match self.contrast() {
            Contrast::Difference if !(margin > 0.0 && margin <= 1.0) => Some(format!(
                "the margin of `{self}` must lie above 0 and at most at 1"
            )),
            Contrast::Ratio if margin.is_nan() || margin <= 1.0 => {
                Some(format!("the margin of `{self}` must be a factor above 1"))
            }
            _ => None,
        }
    }

    /// The dimension it belongs to.
    pub fn dimension(&self) -> Dimension {
        self.measure.dimension()
    }

    /// The name used in every file.
    pub fn name(&self) -> String {
        let stem = match self.measure {
            Measure::Success => "success",
            Measure::Conformance => "conformance",
            Measure::Violations => "violation",
            Measure::DuplicateEffects => "duplicate",
            Measure::Reached => "reach",
            Measure::Recovered => "recovery",
            cost => cost.name(),
        };
        match self.kind {
            MetricKind::Rate => format!("{stem}_rate"),
            MetricKind::RateAll => format!("{stem}_rate_all"),
            MetricKind::PerTrial => format!("{stem}s_per_trial"),
            MetricKind::PassAtK => "pass_at_k".to_owned(),
            MetricKind::PassHatK => "pass_hat_k".to_owned(),
            MetricKind::Quantile(q) => format!("{stem}.p{}", (q * 100.0).round()),
            MetricKind::Mean => format!("{stem}.mean"),
            MetricKind::Total => format!("{stem}.total"),
        }
    }

    /// Whether more is better.
    pub fn direction(&self) -> Direction {
        match self.measure {
            Measure::Success | Measure::Conformance | Measure::Reached | Measure::Recovered => {
                Direction::Gain
            }
            _ => Direction::Loss,
        }
    }

    /// How two arms are contrasted on it.
    pub fn contrast(&self) -> Contrast {
        if COSTS.contains(&self.measure) {
            Contrast::Ratio
        } else {
            Contrast::Difference
        }
    }

    /// Whether its values lie in [0, 1].
    pub fn is_rate(&self) -> bool {
        !COSTS.contains(&self.measure) && self.kind != MetricKind::PerTrial
    }

    /// Whether two arms are compared on it: the rates and the mean costs are; quantiles, totals,
    /// pass@k and counts per trial are described for each arm only.
    pub fn is_compared(&self) -> bool {
        matches!(self.kind, MetricKind::Rate | MetricKind::Mean)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl Direction {
    /// `gain` or `loss`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gain => "gain",
            Self::Loss => "loss",
        }
    }
}

impl Contrast {
    /// `difference` or `ratio`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Difference => "difference",
            Self::Ratio => "ratio",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        let all = Metric::all();
        for metric in &all {
            assert_eq!(Metric::from_name(&metric.name()), Some(*metric));
        }
        assert!(all.iter().any(|m| m.name() == "violations_per_trial"));
        assert!(all.iter().any(|m| m.name() == "latency_ms.p95"));
        assert_eq!(all.len(), 52);
    }
}
