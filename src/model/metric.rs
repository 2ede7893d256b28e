//! Metrics: what is estimated of a dimension, by the names used in margins, rules and reports.

use std::fmt;

use crate::model::measure::{Dimension, Measure};

/// One metric of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetricId {
    /// Outcome: share of trials that succeed; the mean of graded values.
    SuccessRate,
    /// Outcome: at least one of k trials succeeds (Chen et al. 2021).
    PassAtK,
    /// Outcome: all of k trials succeed (Yao et al. 2024).
    PassHatK,
    /// Trajectory: share of trials that keep every trajectory contract.
    ConformanceRate,
    /// Efficiency: a summary of a measure.
    Efficiency(Measure, Summary),
    /// Permission: share of trials with a violation, among those with an opportunity.
    ViolationRate,
    /// The same among all trials.
    ViolationRateAll,
    /// Permission: violations per trial with an opportunity.
    ViolationsPerTrial,
    /// Duplicates: share of trials with a duplicate effect, among those with a non-idempotent effect.
    DuplicateRate,
    /// The same among all trials.
    DuplicateRateAll,
    /// Duplicates: duplicate effects per trial with a non-idempotent effect.
    DuplicatesPerTrial,
    /// Recovery: share of trials in which the injected fault fired.
    ReachRate,
    /// Recovery: share of those in which the agent recovered.
    RecoveryRate,
}

/// How an efficiency measure is summarised over trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Summary {
    /// Median.
    P50,
    /// Ninth decile.
    P90,
    /// 95th percentile.
    P95,
    /// Mean.
    Mean,
    /// Sum.
    Total,
}

/// Whether more of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// More is better.
    Gain,
    /// Less is better.
    Loss,
}

/// How two arms are contrasted on a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contrast {
    /// B − A, in the unit of the rate; margins lie in (0, 1].
    Difference,
    /// B / A; margins are factors above 1.
    Ratio,
}

impl Summary {
    /// All summaries in reporting order.
    pub const ALL: [Summary; 5] = [Self::P50, Self::P90, Self::P95, Self::Mean, Self::Total];

    /// The name after the dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::Mean => "mean",
            Self::Total => "total",
        }
    }

    /// The quantile, if it is one.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.9),
            Self::P95 => Some(0.95),
            Self::Mean | Self::Total => None,
        }
    }
}

impl Direction {
    /// The word used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gain => "gain",
            Self::Loss => "loss",
        }
    }
}

impl Contrast {
    /// The word used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Difference => "difference",
            Self::Ratio => "ratio",
        }
    }
}

impl MetricId {
    /// All metrics in reporting order.
    pub fn all() -> Vec<MetricId> {
        let measures = Measure::ALL.into_iter();
        let efficiency = measures
            .filter(|m| m.dimension() == Dimension::Efficiency)
            .flat_map(|m| Summary::ALL.map(|s| Self::Efficiency(m, s)));
        [
            Self::SuccessRate,
            Self::PassAtK,
            Self::PassHatK,
            Self::ConformanceRate,
        ]
        .into_iter()
        .chain(efficiency)
        .chain([
            Self::ViolationRate,
            Self::ViolationRateAll,
            Self::ViolationsPerTrial,
            Self::DuplicateRate,
            Self::DuplicateRateAll,
            Self::DuplicatesPerTrial,
            Self::ReachRate,
            Self::RecoveryRate,
        ])
        .collect()
    }

    /// The metric with this name.
    ///
    /// # Examples
    ///
    /// ```
    /// use assize::model::metric::MetricId;
    /// let mean = MetricId::from_name("tool_calls.mean").unwrap();
    /// assert_eq!(mean.to_string(), "tool_calls.mean");
    /// assert_eq!(MetricId::from_name("tool_calls"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|m| m.to_string() == name)
    }

    /// The metric that speaks for a dimension where a rule or margin names only the dimension;
    /// quality has none of its own, it has one per judge.
    pub fn main(dimension: Dimension) -> Option<Self> {
        match dimension {
            Dimension::Outcome => Some(Self::SuccessRate),
            Dimension::Trajectory => Some(Self::ConformanceRate),
            Dimension::Efficiency => Some(Self::Efficiency(Measure::ToolCalls, Summary::Mean)),
            Dimension::Permission => Some(Self::ViolationRate),
            Dimension::Duplicates => Some(Self::DuplicateRate),
            Dimension::Recovery => Some(Self::RecoveryRate),
            Dimension::Quality => None,
        }
    }

    /// The dimension it belongs to.
    pub fn dimension(self) -> Dimension {
        match self {
            Self::SuccessRate | Self::PassAtK | Self::PassHatK => Dimension::Outcome,
            Self::ConformanceRate => Dimension::Trajectory,
            Self::Efficiency(..) => Dimension::Efficiency,
            Self::ViolationRate | Self::ViolationRateAll | Self::ViolationsPerTrial => {
                Dimension::Permission
            }
            Self::DuplicateRate | Self::DuplicateRateAll | Self::DuplicatesPerTrial => {
                Dimension::Duplicates
            }
            Self::ReachRate | Self::RecoveryRate => Dimension::Recovery,
        }
    }

    /// The measure it is computed from.
    pub fn measure(self) -> Measure {
        match self {
            Self::SuccessRate | Self::PassAtK | Self::PassHatK => Measure::Success,
            Self::ConformanceRate => Measure::Conformance,
            Self::Efficiency(measure, _) => measure,
            Self::ViolationRate | Self::ViolationRateAll | Self::ViolationsPerTrial => {
                Measure::Violations
            }
            Self::DuplicateRate | Self::DuplicateRateAll | Self::DuplicatesPerTrial => {
                Measure::DuplicateEffects
            }
            Self::ReachRate => Measure::Reached,
            Self::RecoveryRate => Measure::Recovered,
        }
    }

    /// Whether more is better.
    pub fn direction(self) -> Direction {
        match self.dimension() {
            Dimension::Outcome | Dimension::Trajectory | Dimension::Quality => Direction::Gain,
            Dimension::Recovery => Direction::Gain,
            Dimension::Efficiency | Dimension::Permission | Dimension::Duplicates => {
                Direction::Loss
            }
        }
    }

    /// How two arms are contrasted on it.
    pub fn contrast(self) -> Contrast {
        if self.is_rate() {
            Contrast::Difference
        } else {
            Contrast::Ratio
        }
    }

    /// Whether its values lie in [0, 1].
    pub fn is_rate(self) -> bool {
        !matches!(
            self,
            Self::Efficiency(..) | Self::ViolationsPerTrial | Self::DuplicatesPerTrial
        )
    }
}

impl fmt::Display for MetricId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::SuccessRate => "success_rate",
            Self::PassAtK => "pass_at_k",
            Self::PassHatK => "pass_hat_k",
            Self::ConformanceRate => "conformance_rate",
            Self::Efficiency(measure, summary) => {
                return write!(f, "{measure}.{}", summary.name());
            }
            Self::ViolationRate => "violation_rate",
            Self::ViolationRateAll => "violation_rate_all",
            Self::ViolationsPerTrial => "violations_per_trial",
            Self::DuplicateRate => "duplicate_rate",
            Self::DuplicateRateAll => "duplicate_rate_all",
            Self::DuplicatesPerTrial => "duplicates_per_trial",
            Self::ReachRate => "reach_rate",
            Self::RecoveryRate => "recovery_rate",
        };
        f.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_read_back() {
        let all = MetricId::all();
        assert_eq!(all.len(), 4 + 7 * 5 + 8);
        for metric in all {
            assert_eq!(MetricId::from_name(&metric.to_string()), Some(metric));
            assert_eq!(metric.measure().dimension(), metric.dimension());
        }
    }

    #[test]
    fn the_main_metric_belongs_to_its_dimension() {
        for dimension in Dimension::ALL {
            if let Some(metric) = MetricId::main(dimension) {
                assert_eq!(metric.dimension(), dimension);
            }
        }
    }
}
