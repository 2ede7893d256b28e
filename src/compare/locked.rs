//! Whether what is decided is what was locked before the first trial.
//!
//! What deviates is still shown, and its rules are inconclusive (METHODS 6.4).

use super::table::{Comparing, margin_of};
use crate::model::analysis::{DecisionSpec, RuleSpec};
use crate::model::metric::Metric;

impl Comparing<'_> {
    /// Whether arms, margin, level, schedule and interval of a comparison are those that were locked.
    pub(super) fn comparison_is_locked(&self, metric: &Metric, margin: Option<f64>) -> bool {
        self.same_as_locked() && self.holds(|locked, _| margin_of(locked, metric) == margin)
    }

    /// Whether arms, level, schedule and interval are those that were locked.
    pub(super) fn same_as_locked(&self) -> bool {
        self.holds(|locked, decision| {
            locked.baseline == decision.baseline
                && locked.candidate == decision.candidate
                && locked.alpha == decision.alpha
                && locked.schedule == decision.schedule
                && locked.strict == decision.strict
        })
    }

    /// Whether a rule on the candidate's own rate, with its levels, is among those that were locked. It
    /// rests on one arm, so that baseline and schedule play no part.
    pub(super) fn rate_rule_is_locked(&self, spec: &RuleSpec) -> bool {
        self.holds(|locked, decision| {
            locked.rules.contains(spec)
                && locked.candidate == decision.candidate
                && locked.gate_alpha == decision.gate_alpha
                && locked.alpha == decision.alpha
        })
    }

    /// Nothing is locked without a locked decision.
    fn holds(&self, same: impl Fn(&DecisionSpec, &DecisionSpec) -> bool) -> bool {
        self.locked
            .filter(|_| !self.stopped_early)
            .is_some_and(|locked| same(locked, self.decision))
    }

    /// Why a rule may not decide whose comparison is not the locked one.
    pub(super) fn why_unlocked(&self) -> &'static str {
        match self.stopped_early {
            true => "the run was stopped early",
            false => "not locked in the plan",
        }
    }
}
