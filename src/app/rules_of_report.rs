//! The rules by which a report counts, said in words.

use crate::model::analysis::{DecisionSpec, WeightsSpec};
use crate::model::plan::Analysis;
use crate::model::report::ReportingRule;

/// The reporting rules of an analysis.
pub(super) fn all(analysis: &Analysis, decision: Option<&DecisionSpec>) -> Vec<ReportingRule> {
    let mut rules = vec![
        rule(
            "dimensions",
            "each dimension is reported by itself; nothing is averaged, summed or weighted across dimensions",
        ),
        rule(
            "infrastructure",
            "what broke around the agent is excluded, counted by boundary, and never a failure; more than 10 % of an arm missing makes its decisions not_decidable",
        ),
        rule(
            "missing",
            "a planned trial that was started and has no valid value is missing; bounds say what the rate would be had all missing trials failed or passed, over all planned tasks",
        ),
        rule(
            "not_started",
            "planned trials of a live arm that never started, because a budget or an interruption ended the randomised schedule, are counted apart and are neither missing nor failures",
        ),
        rule(
            "cut_off",
            "trials of a live arm that were cancelled because the run was stopped are counted as cancelled, are neither missing nor failures, and run again when the run goes on; until then nothing is decided",
        ),
        rule(
            "not_applicable",
            "trials that a dimension does not concern are counted apart and are neither missing nor failures",
        ),
        rule(
            "agent_failures",
            "a limit reached, a refusal, a crash of the agent or malformed output is the agent's: the outcome fails",
        ),
        rule("unit", unit(analysis)),
        rule("weights", weights(analysis.weights)),
        rule(
            "rates",
            "sen_cp (sen_cp_w with unequal weights) for rates of one arm; bp_hall for paired differences; both with tasks as a sample",
        ),
        rule(
            "tasks_fixed",
            "tasks_fixed holds the limits for exactly these tasks (tasks_fixed_cp): what a repetition of this suite would show, never a claim about other tasks",
        ),
        rule(
            "costs",
            "quantile_clustered_inversion for quantiles, mean_log_jackknife for means, ratio_of_means_jackknife for ratios of total spend",
        ),
        rule(
            "permission_and_duplicates",
            "violation_rate counts trials with an opportunity for a violation, duplicate_rate trials with a non-idempotent effect; the _all rates count all valid trials",
        ),
        rule(
            "pairing",
            "arms pair by task id; a task counts in a comparison if both arms have a valid trial of it; trials are never paired with each other",
        ),
    ];
    if let Some(decision) = decision {
        rules.push(rule(
            "decision",
            &format!(
                "one procedure for every dimension at alpha {}; better is adjusted by Holm over the primary dimensions; the gate is a conjunction of its rules",
                decision.alpha
            ),
        ));
    }
    rules
}

fn rule(about: &str, text: &str) -> ReportingRule {
    ReportingRule {
        about: about.to_owned(),
        rule: text.to_owned(),
    }
}

fn unit(analysis: &Analysis) -> &'static str {
    match analysis.cluster {
        Some(_) => {
            "clusters of tasks are independent units; tasks of one cluster and trials of one task are not"
        }
        None => "tasks are independent units; trials of one task are not",
    }
}

fn weights(weights: WeightsSpec) -> &'static str {
    match weights {
        WeightsSpec::EqualTask => "every task counts the same, however many trials it has",
        WeightsSpec::Trials => "every trial counts the same",
        WeightsSpec::EqualCluster => "every cluster counts the same, split equally over its tasks",
    }
}

/// What a notice of a trial means, in one sentence.
pub(super) fn notice(code: &str) -> String {
    let known = [
        (
            "order_unknown",
            "the trace does not say whether the question came before the write; that it was asked at all is taken for it",
        ),
        (
            "unchained",
            "the trace has no hashes, so that a change to it cannot be noticed",
        ),
        (
            "effects_inferred",
            "the trace records no effects; results of writing tools without an error count as committed",
        ),
        (
            "payload_cut",
            "the trace holds only the beginning of a payload; rules that need all of it are ungradable",
        ),
        (
            "external_result_disagrees",
            "the source says success, but the trial failed or reached a limit",
        ),
        ("refusal", "the model refused"),
        ("unknown_keys", "the record has keys that are not read"),
        (
            "surrogates_replaced",
            "half a character was replaced in the text",
        ),
    ];
    let found = known.iter().find(|(known, _)| *known == code);
    found.map_or_else(|| code.replace('_', " "), |(_, text)| (*text).to_owned())
}
