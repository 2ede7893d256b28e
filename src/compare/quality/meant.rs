//! What a rule or margin on quality is about: the metric that it names, or the one that is meant without a
//! name.

use crate::model::analysis::{DecisionSpec, RuleSpec};
use crate::model::judged::JudgeColumn;
use crate::model::measure::Dimension;
use crate::model::preference::PreferenceColumn;
use crate::model::score::ScoreTable;

/// What a rule on quality without a metric is about.
///
/// A rate outranks every preference: whoever declared a rule on a rate must not find it on another scale
/// because pairs were judged as well.
#[derive(Clone, Copy)]
pub(in crate::compare) enum Meant<'a> {
    /// The only judge of single outputs.
    Rate(&'a JudgeColumn),
    /// The only judge of pairs, where none saw single outputs.
    Preference(&'a PreferenceColumn),
    /// Several judges, of which none is named.
    WhichJudge,
    /// Nobody judged.
    NoJudge,
}

impl Meant<'_> {
    /// The metric, where there is exactly one.
    fn metric(self) -> Option<String> {
        match self {
            Self::Rate(column) => Some(column.metric()),
            Self::Preference(column) => Some(column.metric()),
            Self::WhichJudge | Self::NoJudge => None,
        }
    }

    /// Why there is none.
    pub(super) fn objection(self) -> &'static str {
        match self {
            Self::WhichJudge => "which_judge",
            _ => "no_judge",
        }
    }
}

/// What a rule on quality without a metric is about.
pub(in crate::compare) fn unnamed(table: &ScoreTable) -> Meant<'_> {
    match (&table.judges[..], &table.preferences[..]) {
        ([only], _) => Meant::Rate(only),
        // A judge of pairs has a column for each two arms.
        ([], [first, others @ ..]) if others.iter().all(|p| p.judge == first.judge) => {
            Meant::Preference(first)
        }
        ([], []) => Meant::NoJudge,
        _ => Meant::WhichJudge,
    }
}

fn rules(decision: &DecisionSpec) -> impl Iterator<Item = &RuleSpec> {
    let rules = decision.rules.iter();
    rules.filter(|r| r.dimension == Dimension::Quality)
}

/// The main metric of quality, which alone stands for it in the primary family: that of the rule without
/// a name, else the first that a rule names, else the one that would be meant without a name.
pub(in crate::compare) fn main_metric(
    table: &ScoreTable,
    decision: &DecisionSpec,
) -> Option<String> {
    let meant = unnamed(table).metric();
    let is_ruled = rules(decision).any(|r| r.metric.is_none());
    let named = || rules(decision).find_map(|r| r.metric.clone());
    match is_ruled {
        true => meant.or_else(named),
        false => named().or(meant),
    }
}

/// The margin of a metric of quality: its own, that of quality where it is its main metric, that of the
/// first rule that names it, or that of a rule without a name that means it.
///
/// Where no metric is the main one, the margin of quality is that of every rate.
pub(in crate::compare) fn margin_of(
    table: &ScoreTable,
    decision: &DecisionSpec,
    metric: &str,
) -> Option<f64> {
    let by_name = |name: &str| decision.margins.get(name).copied();
    let is_rate = || table.judges.iter().any(|j| j.metric() == metric);
    let of_quality = || match main_metric(table, decision) {
        Some(main) => main == metric,
        None => is_rate(),
    };
    let of_rule = |name: Option<&str>| {
        let on_it = |r: &&RuleSpec| r.metric.as_deref() == name;
        rules(decision).filter(on_it).find_map(|r| r.margin)
    };
    let is_meant = || unnamed(table).metric().is_some_and(|m| m == metric);
    by_name(metric)
        .or_else(|| by_name(Dimension::Quality.name()).filter(|_| of_quality()))
        .or_else(|| of_rule(Some(metric)))
        .or_else(|| of_rule(None).filter(|_| is_meant()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::analysis::RuleKind;
    use crate::model::judged::Standing;
    use crate::model::label::Scale;

    fn rate(name: &str) -> JudgeColumn {
        JudgeColumn {
            judge: name.into(),
            scale: Scale::binary(),
            cell: vec![],
            label: vec![],
            standing: vec![],
        }
    }

    fn pairs(name: &str, candidate: u16) -> PreferenceColumn {
        PreferenceColumn {
            judge: name.into(),
            baseline: 0,
            candidate,
            pairs: BTreeMap::new(),
            standing: Standing::default(),
        }
    }

    fn table(rates: &[&str], preferences: &[&str]) -> ScoreTable {
        ScoreTable {
            judges: rates.iter().map(|name| rate(name)).collect(),
            preferences: preferences.iter().map(|name| pairs(name, 1)).collect(),
            ..ScoreTable::default()
        }
    }

    fn rules(rules: &[(Option<&str>, f64)]) -> DecisionSpec {
        let of = |(metric, margin): &(Option<&str>, f64)| RuleSpec {
            dimension: Dimension::Quality,
            metric: metric.map(str::to_owned),
            rule: RuleKind::NonInferior,
            margin: Some(*margin),
            rate: None,
        };
        DecisionSpec {
            rules: rules.iter().map(of).collect(),
            ..DecisionSpec::default()
        }
    }

    #[test]
    fn a_rule_without_a_name_means_the_only_rate_whatever_judges_of_pairs_there_are() {
        let meant = |rates: &[&str], preferences: &[&str]| {
            let table = table(rates, preferences);
            let meant = unnamed(&table);
            meant.metric().ok_or(meant.objection())
        };
        let is = |metric: &str| Ok(metric.to_owned());
        assert_eq!(meant(&["tone@1"], &[]), is("tone@1.rate"));
        assert_eq!(meant(&["tone@1"], &["which@1"]), is("tone@1.rate"));
        assert_eq!(
            meant(&["tone@1", "tone@2"], &["which@1"]),
            Err("which_judge")
        );
        assert_eq!(meant(&[], &["which@1"]), is("which@1.preference"));
        assert_eq!(meant(&[], &["which@1", "other@1"]), Err("which_judge"));
        assert_eq!(meant(&[], &[]), Err("no_judge"));
        // One judge of pairs has a column for each two arms.
        let mut several = table(&[], &["which@1"]);
        several.preferences.push(pairs("which@1", 2));
        assert_eq!(
            unnamed(&several).metric().as_deref(),
            Some("which@1.preference")
        );
    }

    #[test]
    fn margins_of_rules_with_and_without_a_name_stay_apart() {
        let both = table(&["tone@1"], &["which@1"]);
        let (rate, preference) = ("tone@1.rate", "which@1.preference");
        for order in [
            [(None, 0.15), (Some(preference), 0.3)],
            [(Some(preference), 0.3), (None, 0.15)],
        ] {
            let decision = rules(&order);
            assert_eq!(margin_of(&both, &decision, rate), Some(0.15));
            assert_eq!(margin_of(&both, &decision, preference), Some(0.3));
            assert_eq!(main_metric(&both, &decision).as_deref(), Some(rate));
        }
        let unnamed = rules(&[(None, 0.15)]);
        assert_eq!(margin_of(&both, &unnamed, preference), None);
        let named = rules(&[(Some(preference), 0.3)]);
        assert_eq!(main_metric(&both, &named).as_deref(), Some(preference));
        assert_eq!(margin_of(&both, &named, rate), None);
        let mut of_quality = rules(&[]);
        of_quality.margins.insert("quality".to_owned(), 0.2);
        assert_eq!(margin_of(&both, &of_quality, rate), Some(0.2));
        assert_eq!(margin_of(&both, &of_quality, preference), None);
    }
}
