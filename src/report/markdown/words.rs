//! Words for codes: what a reviewer reads in place of `sen_cp` or `missing_high`.

use crate::model::estimate::{DecisionWord, EstimateStatus};

/// A code with blanks for underscores, for codes that have no words of their own.
pub(super) fn plain(code: &str) -> String {
    code.replace('_', " ")
}

fn look_up(table: &[(&str, &str)], code: &str) -> Option<String> {
    let found = table.iter().find(|(known, _)| *known == code)?;
    Some(found.1.to_owned())
}

/// A metric, for example `tool calls, mean` for `tool_calls.mean`.
pub(super) fn metric(metric: &str, k: Option<u32>) -> String {
    match (metric, k) {
        ("pass_hat_k" | "pass_at_k", Some(1)) => "one trial succeeds (k = 1)".to_owned(),
        ("pass_hat_k", Some(k)) => format!("pass^{k} (all of {k} trials succeed)"),
        ("pass_at_k", Some(k)) => format!("pass@{k} (any of {k} trials succeeds)"),
        _ => match metric
            .rsplit_once('.')
            .map(|(of, how)| (of, look_up(SUMMARIES, how)))
        {
            Some((of, Some(how))) => format!("{}, {how}", quantity(of)),
            _ => look_up(METRICS, metric).unwrap_or_else(|| plain(metric)),
        },
    }
}

/// What a metric is about, without how it is summarised: `tool calls` for `tool_calls.mean`.
pub(super) fn quantity(metric: &str) -> String {
    let of = match metric.rsplit_once('.') {
        Some((of, how)) if look_up(SUMMARIES, how).is_some() => of,
        _ => metric,
    };
    look_up(METRICS, of).unwrap_or_else(|| plain(of))
}

const SUMMARIES: &[(&str, &str)] = &[
    ("mean", "mean"),
    ("total", "in all"),
    ("p50", "median"),
    ("p90", "90th percentile"),
    ("p95", "95th percentile"),
    ("rate", "rate"),
    ("preference", "preference"),
];

const METRICS: &[(&str, &str)] = &[
    ("cost_usd", "cost in US dollars"),
    ("violation_rate_all", "violation rate of all trials"),
    ("duplicate_rate_all", "duplicate rate of all trials"),
    ("latency_ms", "time in milliseconds"),
];

/// A rule of the robustness table.
pub(super) fn reading(code: &str) -> String {
    look_up(READINGS, code).unwrap_or_else(|| plain(code))
}

const READINGS: &[(&str, &str)] = &[
    ("missing_as_failure", "what is missing counts as failure"),
    ("first_trial_only", "first trial of each task only"),
    ("pooled_trials", "trials pooled as if independent"),
    (
        "paired_t",
        "t interval on differences of tasks, or of clusters where they are declared",
    ),
    (
        "uncorrected_judge",
        "the judge is believed, its errors are not corrected",
    ),
];

/// The word of a comparison.
pub(super) fn decision(word: DecisionWord) -> String {
    match word {
        DecisionWord::NonInferior => "non-inferior".to_owned(),
        word => plain(word.name()),
    }
}

/// A status that a reader must know of; empty for `ok`.
pub(super) fn status(status: EstimateStatus) -> &'static str {
    match status {
        EstimateStatus::Ok => "",
        EstimateStatus::Conservative => "conservative",
        EstimateStatus::Exploratory => "exploratory",
        EstimateStatus::NotEstimable => "not estimable",
        EstimateStatus::NotDecidable => "not decidable",
        EstimateStatus::NotMeasured => "not measured",
        EstimateStatus::Uncalibrated => "uncalibrated judge",
        EstimateStatus::NotIdentified => "not identified",
        EstimateStatus::Selection => "the arms reached different trials",
    }
}

/// Why something was decided, or could not be.
///
/// A reason is a code, a sentence, or a chain such as `inconclusive: schedule; exploratory`. Known
/// codes become words; a word that only introduces its reason is left out, because the result
/// already says it. Sentences stay, so that a task that is named like a code keeps its name.
pub(super) fn reason(text: &str) -> String {
    let parts: Vec<String> = text.split("; ").map(chain).collect();
    parts.join("; ")
}

fn chain(text: &str) -> String {
    let mut links: Vec<&str> = text.split(": ").collect();
    if links.len() > 1 && DECISIONS.contains(&links[0]) {
        links.remove(0);
    }
    let codes_only = links.iter().all(|link| is_code(link));
    let said = links.iter().map(|link| match look_up(REASONS, link) {
        Some(words) => words,
        None if codes_only => plain(link),
        None => (*link).to_owned(),
    });
    said.collect::<Vec<_>>().join(": ")
}

fn is_code(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

const DECISIONS: [&str; 6] = [
    "better",
    "non_inferior",
    "equivalent",
    "worse",
    "inconclusive",
    "not_decidable",
];

const REASONS: &[(&str, &str)] = &[
    ("better", "the candidate is better"),
    (
        "non_inferior",
        "the candidate is not worse by more than the margin",
    ),
    (
        "equivalent",
        "the candidate is neither better nor worse by more than the margin",
    ),
    ("worse", "the candidate is worse"),
    (
        "inconclusive",
        "the interval holds both what the rule allows and what it forbids",
    ),
    (
        "not_decidable",
        "missing data or infrastructure stands in the way",
    ),
    ("missing_high", "too many trials or tasks are missing"),
    ("bounds_disagree", "the missing trials could turn the word"),
    ("no_interval", "there is no interval"),
    (
        "not_estimable",
        "too few tasks for an interval that may decide",
    ),
    (
        "not_identified",
        "the judge's calibration does not identify the rate",
    ),
    ("uncalibrated", "the judge has no valid calibration"),
    (
        "schedule",
        "the arms were not run alternately (where time of day played no part, declare it, schedule: assumed), or moved against each other during the run",
    ),
    (
        "screen_cannot_run",
        "some task has too few trials for a break to be shown",
    ),
    ("exploratory", "too few tasks to decide by"),
    (
        "detectable_above_one",
        "So few tasks would not show even the largest difference that there can be.",
    ),
    (
        "few_labels",
        "too few labels of this run to decide by (50 labelled trials, and 10 at each answer of the judge that is not rare)",
    ),
    (
        "pairs_not_labelled",
        "a difference needs labels of people on both arms' outputs of the same tasks",
    ),
    (
        "pairs_labelled_by_quota",
        "labels drawn by the judge's answer say nothing of a difference, which needs labels of people on both arms' outputs of the same tasks",
    ),
    (
        "too_few_labels",
        "fewer than 50 labels of one kind, good or bad, stand behind the judge's error rates",
    ),
    (
        "no_labels_of_this_run",
        "no error rates of a judge correct a mean of scores: it needs labels of people on trials of this run",
    ),
    (
        "no_labels_of_this_arm",
        "the certificate's labels are of other arms, and a judge's errors differ by arm",
    ),
    ("no_error_rates", "the certificate holds no error rates"),
    (
        "borderline",
        "labels like those behind the certificate would often refuse the judge",
    ),
    (
        "judge_near_chance",
        "the judge is too close to chance for its errors to be corrected",
    ),
    (
        "calibration_does_not_transport",
        "the judge's error rates, measured elsewhere, do not fit this run",
    ),
    (
        "no_certificate",
        "the judge has no certificate that holds for this run",
    ),
    (
        "certificate_expired",
        "the certificate is of another version of the judge",
    ),
    (
        "certificate_refused",
        "the judge did not pass its calibration",
    ),
    ("no_usable_verdict", "no trial has a usable verdict"),
    ("above_rate", "the whole interval lies above the bound"),
    ("below_rate", "the whole interval lies below the bound"),
    ("not_locked", "it deviates from the locked plan"),
    ("no_common_tasks", "no task has valid trials in both arms"),
    ("no_valid_trials", "no trial is valid"),
    ("no_trial_concerned", "no trial is concerned"),
    (
        "not_judged",
        "some trials were never judged (assize judge, once more, asks about these)",
    ),
    (
        "which_judge",
        "several judges spoke, and the rule names none",
    ),
    ("no_judge", "nobody judged"),
    ("no_rate", "a preference has no rate of one arm"),
    ("not_started", "no trial was started"),
    ("too_few_trials_for_k", "fewer trials per task than k"),
    ("too_few_units", "too few tasks"),
    ("few_effective_units", "too few tasks, as they are weighted"),
    (
        "zero_variance",
        "all tasks agree, so there is nothing to measure by",
    ),
    (
        "beyond_limit",
        "it lies beyond the limit at which trials were cut short",
    ),
    (
        "censored",
        "a limit cut trials of the candidate short, so that it would have taken more than was seen",
    ),
    ("no_opportunity", "no trial had an opportunity"),
    ("fewer_than_two_units", "fewer than two tasks"),
    ("graded_values", "results lie between pass and fail"),
    ("not_measured", "not measured"),
    (
        "only_pairs_judged",
        "only pairs of both arms were judged, see their preferences",
    ),
];

/// Why a certificate does not hold.
pub(super) fn certificate(code: &str) -> String {
    look_up(CERTIFICATES, code).unwrap_or_else(|| reason(code))
}

const CERTIFICATES: &[(&str, &str)] = &[
    ("canary_shift", "its answers to the labelled items shifted"),
    (
        "canary_unusable",
        "too few of the labelled items that were judged again got a usable answer",
    ),
    (
        "canary_missing",
        "no labelled item was judged again (--canary), so nobody knows whether it still is the judge that was examined",
    ),
    ("model_drift", "another model than the pinned one answered"),
    ("too_few_labels", "too few labels"),
    ("no_thresholds", "no threshold was declared"),
    (
        "not_test_split",
        "it was examined on items that prompts were tuned on",
    ),
    ("missing_high", "too many of its answers could not be used"),
    ("constant_judge", "it always answers the same"),
    (
        "judge_inverted",
        "it answers the opposite of what people say",
    ),
];

/// A warning in one sentence.
pub(super) fn notice(code: &str) -> String {
    if let Some(trials) = code.strip_prefix("censored:") {
        return format!("Trials that a limit cut short: {trials}.");
    }
    look_up(NOTICES, code).unwrap_or_else(|| format!("{}.", plain(code)))
}

const NOTICES: &[(&str, &str)] = &[
    (
        "measurably_lower",
        "The candidate is measurably worse, though the margin does not settle it.",
    ),
    (
        "drift",
        "The drift screen found that the arms moved against each other during the run.",
    ),
    (
        "blocks_as_units",
        "Blocks of the schedule, not tasks, are the independent units, so that drift of one arm is absorbed.",
    ),
    (
        "tasks_not_started",
        "Tasks of which an arm never started a trial are left out.",
    ),
    (
        "within_margin",
        "The candidate is better, by less than the margin.",
    ),
    (
        "bounds_disagree",
        "The missing trials could turn the word; they are few.",
    ),
    (
        "schedule_assumed",
        "The arms were not run alternately; the suite declares that time of day played no part.",
    ),
    ("unequal_units", "Tasks or clusters weigh unequally."),
    (
        "unadjusted",
        "Outside the primary dimensions: p is not adjusted.",
    ),
    (
        "restricted_mean",
        "A mean up to the limit: trials that a limit cut short would have taken more than they count for here.",
    ),
    (
        "low_beyond_limit",
        "The lower limit lies beyond what the trials were allowed.",
    ),
    ("low_unbounded", "The data set no lower limit."),
    ("high_unbounded", "The data set no upper limit."),
    (
        "detectable_unknown",
        "No detectable contrast is printed: what was observed exceeds what the formula gives, and the interval still holds no difference. A few tasks that all break leave room for others that do not.",
    ),
    (
        "few_labels",
        "Fewer labels of this run than a decision needs: 50 labelled trials of the arms concerned, and 10 at each answer of the judge that is not rare.",
    ),
    (
        "not_corrected",
        "The judge's own rate, which nobody corrected.",
    ),
    ("rescaled_to_unit", "Scores are rescaled to 0 to 1."),
    (
        "few_tasks",
        "Under 50 tasks, labels of several trials per task say more.",
    ),
    (
        "order_unknown",
        "Some traces do not say whether the question came before the write.",
    ),
];

/// What an interval or test is, for the list of methods; the id where there are no words.
pub(super) fn method(id: &str) -> String {
    look_up(METHODS, id).unwrap_or_else(|| plain(id))
}

const METHODS: &[(&str, &str)] = &[
    (
        "sen_cp",
        "exact binomial interval (Clopper and Pearson 1934) at an effective number of trials that treats tasks, not trials, as independent",
    ),
    (
        "sen_cp_w",
        "the same for tasks or clusters of unequal weight",
    ),
    (
        "tasks_fixed_cp",
        "exact binomial interval for exactly these tasks (Hoeffding 1956); no claim about others",
    ),
    (
        "clopper_pearson",
        "exact binomial interval (Clopper and Pearson 1934)",
    ),
    ("wilson", "score interval (Wilson 1927)"),
    (
        "quantile_clustered_inversion",
        "all values whose share of trials below is compatible with the percentile, tasks as units",
    ),
    ("sum", "a plain sum over the valid trials of this run"),
    (
        "poisson_clustered",
        "counts per trial, limits widened for events that come several to a task (Garwood 1936)",
    ),
    (
        "mean_log_jackknife",
        "interval of a mean on the logarithmic scale, one task left out at a time",
    ),
    (
        "ratio_of_means_jackknife",
        "ratio of totals over paired tasks, one task left out at a time",
    ),
    (
        "geometric_ratio_t",
        "ratio of the typical task, t interval on logarithms",
    ),
    (
        "bp_hall",
        "paired difference by task (Bonett and Price 2012) with a correction for skewness (Hall 1992)",
    ),
    (
        "ppi_paired_bp_hall",
        "paired difference of labelled tasks, sharpened by the judge as far as it agrees with people (Angelopoulos and others 2023), limits as bp_hall",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_said_in_words() {
        assert_eq!(metric("success_rate", None), "success rate");
        assert_eq!(
            metric("tool_calls.p90", None),
            "tool calls, 90th percentile"
        );
        assert_eq!(metric("cost_usd.total", None), "cost in US dollars, in all");
        assert_eq!(
            metric("pass_hat_k", Some(4)),
            "pass^4 (all of 4 trials succeed)"
        );
        assert_eq!(metric("tone.v2", None), "tone.v2");
        assert_eq!(quantity("latency_ms.mean"), "time in milliseconds");
    }

    #[test]
    fn unknown_codes_are_still_readable() {
        assert_eq!(reason("no_fault_injected"), "no fault injected");
        assert_eq!(
            reason("not_measured: no_new_code"),
            "not measured: no new code"
        );
        assert_eq!(notice("some_new_code"), "some new code.");
        assert_eq!(notice("censored:3"), "Trials that a limit cut short: 3.");
        assert_eq!(method("new_method"), "new method");
    }

    #[test]
    fn reasons_may_be_chains_or_sentences() {
        assert_eq!(
            reason("inconclusive: schedule; exploratory"),
            "the arms were not run alternately (where time of day played no part, declare it, \
             schedule: assumed), or moved against each other during the run; too few tasks to decide by"
        );
        assert_eq!(
            reason("shown to be worse: task_3"),
            "shown to be worse: task_3"
        );
        assert_eq!(reason("worse"), "the candidate is worse");
    }
}
