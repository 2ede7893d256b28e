//! Decision rules: levels, margins, metrics.

use std::path::Path;

use crate::base::{ArmId, Error};
use crate::load::check::At;
use crate::load::nearest;
use crate::model::analysis::{DecisionSpec, RuleKind, RuleSpec};
use crate::model::measure::Dimension;
use crate::model::metric::{Contrast, Metric};
use crate::model::preference::PREFERENCE;

/// Checks the decision rules of a suite.
pub(crate) fn check(decision: &DecisionSpec, at: &At, problems: &mut Vec<Error>) {
    level(Some(decision.alpha), &at.to("alpha"), problems);
    level(decision.gate_alpha, &at.to("gate_alpha"), problems);
    if decision.baseline.is_some() && decision.baseline == decision.candidate {
        let message = "`candidate` is the same arm as `baseline`";
        problems.push(at.to("candidate").problem(message));
    }
    for (i, dimension) in decision.primary.iter().enumerate() {
        let here = at.to("primary").to(i);
        if decision.primary[..i].contains(dimension) {
            problems.push(here.problem(format!("dimension `{dimension}` is listed twice")));
        }
    }
    for (name, margin) in &decision.margins {
        let here = at.to("margins").to(name);
        if is_quality(name) {
            quality_margin(*margin, &here, problems);
            continue;
        }
        match metric_of_key(name) {
            Ok(metric) => {
                compared(metric, &here, problems);
                self::margin(*margin, metric, &here, problems);
            }
            Err(hint) => {
                let message = format!("unknown dimension or metric `{name}` in `margins`");
                problems.push(here.problem(message).hint(hint));
            }
        }
    }
    for (i, rule) in decision.rules.iter().enumerate() {
        self::rule(rule, decision, &at.to("rules").to(i), problems);
    }
}

/// Checks that the arms of a decision are among those of an arms file.
pub(crate) fn arms(
    decision: &DecisionSpec,
    arms: &[ArmId],
    file: &Path,
    at: &At,
    problems: &mut Vec<Error>,
) {
    for (key, arm) in [
        ("baseline", &decision.baseline),
        ("candidate", &decision.candidate),
    ] {
        let Some(arm) = arm.as_ref().filter(|a| !arms.contains(a)) else {
            continue;
        };
        let known = arms.iter().map(ArmId::as_str);
        let message = format!(
            "`{key}` names arm `{arm}`, which is not in {}",
            file.display()
        );
        let problem = at.to(key).problem(message);
        problems.push(problem.hint(nearest::hint(arm.as_str(), known, "arms")));
    }
}

fn level(alpha: Option<f64>, at: &At, problems: &mut Vec<Error>) {
    if alpha.is_some_and(|a| !(a > 0.0 && a < 0.5)) {
        let problem = at.problem(format!("`{}` must lie between 0 and 0.5", at.name()));
        problems.push(problem.hint("0.05 gives 95 % intervals"));
    }
}

/// The metric that a key under `margins` means, or a hint.
fn metric_of_key(name: &str) -> Result<Metric, String> {
    if let Some(dimension) = dimension_named(name) {
        let none = || format!("`{name}` has no metric of its own in this version");
        return Metric::main(dimension).ok_or_else(none);
    }
    Metric::from_name(name).ok_or_else(|| {
        let metrics: Vec<String> = Metric::all().iter().map(ToString::to_string).collect();
        let dimensions = Dimension::ALL.iter().map(|d| d.name());
        let known: Vec<&str> = dimensions
            .chain(metrics.iter().map(String::as_str))
            .collect();
        nearest::hint(name, known, "dimensions and metrics")
    })
}

fn dimension_named(name: &str) -> Option<Dimension> {
    Dimension::ALL.into_iter().find(|d| d.name() == name)
}

/// Margins and contrasts need a metric on which two arms are compared at all.
fn compared(metric: Metric, at: &At, problems: &mut Vec<Error>) {
    if metric.is_compared() {
        return;
    }
    let problem = at.problem(format!("arms are not compared on `{metric}`"));
    let known: Vec<String> = Metric::all()
        .into_iter()
        .filter(|m| m.is_compared() && m.dimension() == metric.dimension())
        .map(|m| m.name())
        .collect();
    let hint = format!(
        "of dimension `{}` they are on: {}",
        metric.dimension(),
        known.join(", ")
    );
    problems.push(problem.hint(hint));
}

fn margin(margin: f64, metric: Metric, at: &At, problems: &mut Vec<Error>) {
    let Some(message) = metric.margin_problem(margin) else {
        return;
    };
    let problem = at.problem(message);
    problems.push(match metric.contrast() {
        Contrast::Difference => problem,
        Contrast::Ratio if margin > 0.0 => problem.hint(format!(
            "\"{:.0} % more\" is {}",
            margin * 100.0,
            1.0 + margin
        )),
        Contrast::Ratio => problem.hint("\"20 % more\" is 1.2"),
    });
}

/// Quality is measured by judges, whom only the run knows; its metrics are called after them.
fn is_quality(name: &str) -> bool {
    name == Dimension::Quality.name() || name.ends_with(".rate") || name.ends_with(PREFERENCE)
}

fn quality_margin(margin: f64, at: &At, problems: &mut Vec<Error>) {
    if !(margin > 0.0 && margin <= 1.0) {
        problems.push(at.problem("a margin of quality must lie above 0 and at most at 1"));
    }
}

fn quality_rule(rule: &RuleSpec, decision: &DecisionSpec, at: &At, problems: &mut Vec<Error>) {
    let kind = rule.rule.name();
    if let Some(own) = rule.margin {
        quality_margin(own, &at.to("margin"), problems);
    }
    let ends = [".rate", ".mean", PREFERENCE];
    let judged = |name: &String| ends.iter().any(|end| name.ends_with(end));
    if let Some(name) = rule.metric.as_ref().filter(|m| !judged(m)) {
        let message = format!("`{name}` is no metric of quality");
        let problem = at.to("metric").problem(message);
        problems.push(
            problem
                .hint("it is called after its judge: JUDGE.rate, JUDGE.mean or JUDGE.preference"),
        );
    }
    match rule.rule {
        RuleKind::NonInferior | RuleKind::Equivalent => {
            let of_metric = rule
                .metric
                .as_ref()
                .is_some_and(|m| decision.margins.contains_key(m));
            let of_quality = decision.margins.contains_key(Dimension::Quality.name());
            if rule.margin.is_none() && !of_metric && !of_quality {
                let problem = at.problem(format!("rule `{kind}` on `quality` has no margin"));
                problems.push(problem.hint("add `margin` to the rule, or `quality` to `margins`"));
            }
            unused(rule.rate.is_some(), "rate", rule, at, problems);
        }
        RuleKind::MaxRate | RuleKind::MinRate => {
            if rule
                .metric
                .as_ref()
                .is_some_and(|m| m.ends_with(PREFERENCE))
            {
                let message =
                    format!("rule `{kind}` needs a rate of one arm, and a preference is of two");
                let problem = at.to("metric").problem(message);
                problems.push(problem.hint("non_inferior, superior or equivalent"));
            }
            if !rule.rate.is_some_and(|r| (0.0..=1.0).contains(&r)) {
                problems.push(at.problem(format!("rule `{kind}` needs a `rate` between 0 and 1")));
            }
            unused(rule.margin.is_some(), "margin", rule, at, problems);
        }
        RuleKind::Superior => unused(rule.rate.is_some(), "rate", rule, at, problems),
        RuleKind::NoTaskRegression => {
            problems.push(at.problem("single tasks are not screened by a judge's verdicts"));
        }
    }
}

fn rule(rule: &RuleSpec, decision: &DecisionSpec, at: &At, problems: &mut Vec<Error>) {
    if rule.dimension == Dimension::Quality {
        return quality_rule(rule, decision, at, problems);
    }
    let Some(metric) = metric_of_rule(rule, at, problems) else {
        return;
    };
    if let Some(own) = rule.margin {
        margin(own, metric, &at.to("margin"), problems);
    }
    let kind = rule.rule.name();
    if matches!(
        rule.rule,
        RuleKind::NonInferior | RuleKind::Equivalent | RuleKind::Superior
    ) {
        compared(metric, at, problems);
    }
    match rule.rule {
        RuleKind::NonInferior | RuleKind::Equivalent => {
            let declared = rule.margin.is_some() || has_margin(decision, metric);
            if !declared {
                let problem = at.problem(format!("rule `{kind}` on `{metric}` has no margin"));
                problems.push(problem.hint(format!(
                    "add `margin` to the rule, or `{metric}` to `margins`"
                )));
            }
            unused(rule.rate.is_some(), "rate", rule, at, problems);
        }
        RuleKind::MaxRate | RuleKind::MinRate => {
            rate(rule, metric, at, problems);
            unused(rule.margin.is_some(), "margin", rule, at, problems);
        }
        RuleKind::Superior => unused(rule.rate.is_some(), "rate", rule, at, problems),
        RuleKind::NoTaskRegression => {
            unused(rule.margin.is_some(), "margin", rule, at, problems);
            unused(rule.rate.is_some(), "rate", rule, at, problems);
            if !metric.is_rate() {
                let message =
                    format!("rule `{kind}` needs trials that pass or fail, not `{metric}`");
                problems.push(at.problem(message));
            }
        }
    }
}

fn metric_of_rule(rule: &RuleSpec, at: &At, problems: &mut Vec<Error>) -> Option<Metric> {
    let dimension = rule.dimension;
    let Some(name) = &rule.metric else {
        let main = Metric::main(dimension);
        if main.is_none() {
            let message = format!("dimension `{dimension}` has no metric in this version");
            problems.push(at.to("dimension").problem(message));
        }
        return main;
    };
    let own = || {
        Metric::all()
            .into_iter()
            .filter(|m| m.dimension() == dimension)
    };
    let found = own().find(|m| m.to_string() == *name);
    if found.is_none() {
        let known: Vec<String> = own().map(|m| m.to_string()).collect();
        let hint = nearest::hint(name, known.iter().map(String::as_str), "metrics");
        let message = format!("unknown metric `{name}` of dimension `{dimension}`");
        problems.push(at.to("metric").problem(message).hint(hint));
    }
    found
}

fn has_margin(decision: &DecisionSpec, metric: Metric) -> bool {
    let by_name = decision.margins.contains_key(&metric.to_string());
    let dimension = metric.dimension();
    let by_dimension = decision.margins.contains_key(dimension.name());
    by_name || (by_dimension && Metric::main(dimension) == Some(metric))
}

fn rate(rule: &RuleSpec, metric: Metric, at: &At, problems: &mut Vec<Error>) {
    let kind = rule.rule.name();
    match rule.rate {
        None => problems.push(at.problem(format!("rule `{kind}` on `{metric}` has no `rate`"))),
        Some(rate) if !(0.0..=1.0).contains(&rate) => {
            problems.push(at.to("rate").problem("`rate` must lie between 0 and 1"));
        }
        Some(_) => {}
    }
    if !metric.is_rate() {
        problems.push(at.problem(format!("rule `{kind}` needs a rate, not `{metric}`")));
    }
}

fn unused(given: bool, key: &str, rule: &RuleSpec, at: &At, problems: &mut Vec<Error>) {
    if given {
        let message = format!("rule `{}` does not use `{key}`", rule.rule.name());
        problems.push(at.to(key).problem(message));
    }
}
