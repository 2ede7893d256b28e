//! Intraclass correlation and design effect (Donner 1986).

use serde::Serialize;

use crate::stats::sum::sum;

/// One task's trials, by their sum and their sum of squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskSpread {
    /// Sum of the trial values.
    pub sum: f64,
    /// Sum of their squares.
    pub squares: f64,
    /// Number of trials.
    pub trials: u32,
}

impl TaskSpread {
    /// Binary trials.
    pub fn binary(successes: f64, trials: u32) -> Self {
        Self {
            sum: successes,
            squares: successes,
            trials,
        }
    }

    /// Graded trials.
    pub fn of(values: &[f64]) -> Self {
        Self {
            sum: sum(values.iter().copied()),
            squares: sum(values.iter().map(|v| v * v)),
            trials: values.len() as u32,
        }
    }
}

/// One-way analysis of variance with tasks as groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DesignEffect {
    /// Mean square between tasks.
    pub ms_between: Option<f64>,
    /// Mean square within tasks.
    pub ms_within: Option<f64>,
    /// Intraclass correlation ρ; may be negative.
    pub icc: Option<f64>,
    /// Design effect 1 + (m̄−1)ρ with m̄ = Σm²/Σm.
    pub deff: Option<f64>,
    /// Why something is missing, as a snake_case code.
    pub reason: Option<&'static str>,
}

/// The ANOVA estimate of the intraclass correlation and the design effect (method
/// `icc_anova_design_effect`; Donner 1986).
///
/// `not_identifiable` without a task that has two trials (one run per task cannot separate task
/// and trial), `too_few_units` with fewer than two tasks, `no_variation` where all values agree.
pub fn icc_anova(tasks: &[TaskSpread]) -> DesignEffect {
    let used = || tasks.iter().filter(|t| t.trials > 0);
    let m = |t: &TaskSpread| f64::from(t.trials);
    let groups = used().count() as f64;
    let total = sum(used().map(m));
    let missing = |reason| DesignEffect {
        reason: Some(reason),
        ..DesignEffect::default()
    };
    if groups < 2.0 {
        return missing("too_few_units");
    }
    if total <= groups {
        return missing("not_identifiable");
    }
    let grand = sum(used().map(|t| t.sum)) / total;
    let between = sum(used().map(|t| m(t) * (t.sum / m(t) - grand).powi(2))) / (groups - 1.0);
    let inside = used().map(|t| (t.squares - t.sum * t.sum / m(t)).max(0.0));
    let within = sum(inside) / (total - groups);
    let squares = sum(used().map(|t| m(t) * m(t)));
    let m0 = (total - squares / total) / (groups - 1.0);
    let result = DesignEffect {
        ms_between: Some(between),
        ms_within: Some(within),
        ..DesignEffect::default()
    };
    let scale = between + (m0 - 1.0) * within;
    if scale <= 1e-24 {
        return DesignEffect {
            reason: Some("no_variation"),
            ..result
        };
    }
    let icc = (between - within) / scale;
    DesignEffect {
        icc: Some(icc),
        deff: Some(1.0 + (squares / total - 1.0) * icc),
        ..result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_runs_do_not_identify_a_correlation() {
        let single: Vec<_> = (0..10)
            .map(|i| TaskSpread::binary(f64::from(i % 2), 1))
            .collect();
        let got = icc_anova(&single);
        assert_eq!((got.icc, got.reason), (None, Some("not_identifiable")));
        assert_eq!(
            icc_anova(&[TaskSpread::binary(3.0, 3); 4]).reason,
            Some("no_variation")
        );
        assert_eq!(
            icc_anova(&[TaskSpread::binary(1.0, 3)]).reason,
            Some("too_few_units")
        );
    }
}
