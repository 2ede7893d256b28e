//! Inputs on which tools of this field went wrong in their statistics, each with its reason.
//!
//! The cases are in `reference/faults`; every test states the sound property that the fault broke.
//! A test does not ask for the very number of another sound method.

use std::fs;
use std::path::Path;

use assize::app::calculator::calculate;
use assize::base::Seed;
use assize::compare::decision::{DecideInput, MissingState, decide};
use assize::compare::word::Word;
use assize::stats::clustered::{
    Df, RobustType, TaskSpread, cluster_robust, icc_anova, sen_cp, task_mean_t,
};
use assize::stats::missing::{PartialTask, manski_tasks};
use assize::stats::paired::{
    PairedTable, bp_hall, mcnemar_exact, mcnemar_midp, newcombe, paired_t, tango,
};
use assize::stats::permutation::sign_flip;
use assize::stats::sample::{Clustered, Paired, TaskScore};
use assize::stats::special::{Draw, fisher_two_sided};
use assize::stats::units::Weights;
use assize::stats::{Level, Limits, Status};
use serde_json::{Value, json};

fn case(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/reference/faults")
        .join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

fn near(got: f64, want: &Value, tolerance: f64) {
    let want = want.as_f64().unwrap();
    assert!((got - want).abs() <= tolerance, "{got} is not {want}");
}

/// B − A of two lists, as a paired sample.
fn paired(a: &[f64], b: &[f64]) -> Paired {
    let d: Vec<f64> = b.iter().zip(a).map(|(b, a)| b - a).collect();
    Paired::new(&d, None, &Weights::EqualTask).unwrap()
}

fn flip(d: &[f64]) -> f64 {
    sign_flip(d, Seed(1), 9999).p_two_sided
}

/// Two equal differences cannot give p = 0 nor an interval of width 0: two units allow p ≥ ½.
#[test]
fn two_pairs_do_not_give_certainty() {
    for name in [
        "05-paired-bootstrap-p-zero-n2.json",
        "67-two-items-zero-width-continuous.json",
    ] {
        let case = case(name);
        let (a, b) = match case["input"].get("A") {
            Some(a) => (numbers(a), numbers(&case["input"]["B"])),
            None => (
                numbers(&case["input"]["baseline"]),
                numbers(&case["input"]["candidate"]),
            ),
        };
        let sample = paired(&a, &b);
        assert_eq!(flip(&sample.differences), 0.5, "{name}");
        let hall = bp_hall(&sample, Level::p95(), false);
        assert!(
            hall.lower.unwrap() < 0.0 && hall.upper.unwrap() > 0.0,
            "{name}"
        );
        assert!(hall.p.unwrap() > 0.05, "{name}");
        let t = paired_t(&sample.differences, Level::p95());
        assert_eq!((t.lower, t.reason), (None, Some("zero_variance")), "{name}");
    }
}

/// With one cluster nothing is known about other clusters: printed, never decided.
#[test]
fn one_cluster_decides_nothing() {
    let case = case("07-cluster-bootstrap-one-cluster.json");
    let (a, b) = (
        numbers(&case["input"]["baseline"]),
        numbers(&case["input"]["candidate"]),
    );
    let d: Vec<f64> = b.iter().zip(&a).map(|(b, a)| b - a).collect();
    let sample = Paired::new(&d, Some(&[0; 4]), &Weights::EqualTask).unwrap();
    let hall = bp_hall(&sample, Level::p95(), false);
    assert_eq!(hall.status, Status::NotEstimable);
    assert!(hall.upper.unwrap() - hall.lower.unwrap() > 1.0);
    let input = DecideInput {
        status: hall.status,
        n_c: Some(hall.n_c),
        ..DecideInput::plain(hall.limits(), Some(0.1))
    };
    let decision = decide(&input);
    assert_eq!(
        (decision.word, decision.reason.as_deref()),
        (Word::Inconclusive, Some("not_estimable"))
    );
    let scores: Vec<TaskScore> = b.iter().map(|&v| TaskScore { sum: v, trials: 1 }).collect();
    let arm = Clustered::new(&scores, Some(&[0; 4]), &Weights::EqualTask).unwrap();
    let robust = cluster_robust(&arm, RobustType::Cr1, Df::ClustersMinusOne, Level::p95());
    assert_eq!((robust.lower, robust.reason), (None, Some("too_few_units")));
}

/// All trials enter; reading only the first of five turns +0.6 into −1.
#[test]
fn every_trial_counts() {
    let case = case("09-repeat-trials-silently-dropped.json");
    let arm = |name: &str| -> Vec<TaskScore> {
        let tasks = case["input"][name].as_array().unwrap().iter();
        tasks
            .map(|t| TaskScore {
                sum: numbers(t).iter().sum(),
                trials: 5,
            })
            .collect()
    };
    let (a, b) = (arm("trials_baseline"), arm("trials_candidate"));
    let sample = Paired::from_arms(&a, &b, None, &Weights::EqualTask).unwrap();
    near(
        bp_hall(&sample, Level::p95(), false).estimate.unwrap(),
        &case["sound_answer"]["delta"],
        1e-12,
    );
}

/// A constant loss of everything is the strongest evidence, not p = 1 because its variance is 0.
#[test]
fn a_constant_difference_is_not_no_difference() {
    let constant = case("11-constant-diff-p-one.json");
    let (a, b) = (
        numbers(&constant["input"]["A"]),
        numbers(&constant["input"]["B"]),
    );
    let sample = paired(&a, &b);
    near(
        flip(&sample.differences),
        &constant["sound_answer"]["p_value"],
        1e-6,
    );
    let table = PairedTable {
        both: 0,
        a_only: 10,
        b_only: 0,
        neither: 0,
    };
    near(
        mcnemar_exact(table),
        &constant["sound_answer"]["p_value"],
        1e-6,
    );
    let limits = tango(table, Level::p95());
    near(
        limits.lower.unwrap(),
        &constant["sound_answer"]["ci_tango"][0],
        1e-6,
    );
    // Ten tasks bound unseen gains so little that BP-Hall's upper limit is above 0; it never reads
    // the collapse as equivalence.
    let hall = bp_hall(&sample, Level::p95(), false);
    assert_eq!((hall.estimate, hall.lower), (Some(-1.0), Some(-1.0)));
    assert_eq!(
        decide(&DecideInput::plain(hall.limits(), Some(0.1))).word,
        Word::Inconclusive
    );
    assert_eq!(paired_t(&sample.differences, Level::p95()).p, None);

    let collapse = case("49-total-collapse-severity-none.json");
    assert_eq!(collapse["sound_answer"]["exact"], "sign test 2/2^30");
    let sample = paired(&[1.0; 30], &[0.0; 30]);
    let p = flip(&sample.differences);
    assert!(p > 0.0 && p <= 1e-4, "{p}");
    let exact = PairedTable {
        both: 0,
        a_only: 30,
        b_only: 0,
        neither: 0,
    };
    assert!((mcnemar_exact(exact) - 2f64.powi(-29)).abs() < 1e-20);
    let hall = bp_hall(&sample, Level::p95(), false);
    assert_eq!(
        decide(&DecideInput::plain(hall.limits(), Some(0.1))).word,
        Word::Worse
    );
}

/// Three ties do not show that there is no difference.
#[test]
fn ties_alone_leave_a_wide_interval() {
    let case = case("13-mcnemar-no-discordant-zero-ci.json");
    let table = PairedTable {
        both: 3,
        a_only: 0,
        b_only: 0,
        neither: 0,
    };
    let limits = tango(table, Level::p95());
    near(
        limits.lower.unwrap(),
        &case["sound_answer"]["ci_tango"][0],
        1e-6,
    );
    near(
        limits.upper.unwrap(),
        &case["sound_answer"]["ci_tango"][1],
        1e-6,
    );
    near(
        newcombe(table, Level::p95()).upper.unwrap(),
        &case["sound_answer"]["ci_tango"][1],
        1e-6,
    );
    let hall = bp_hall(&paired(&[1.0; 3], &[1.0; 3]), Level::p95(), false);
    assert!(hall.upper.unwrap() > 0.3 && hall.lower.unwrap() < -0.3);
}

/// Two flawless arms give p = 1 and never NaN.
#[test]
fn flawless_arms_have_a_p_value() {
    let case = case("15-two-proportion-nan-p.json");
    let p = fisher_two_sided(
        10,
        Draw {
            total: 22,
            marked: 22,
            drawn: 10,
        },
    );
    near(p, &case["sound_answer"]["p"], 0.0);
}

/// Ten of ten is not certainty: a resampling interval cannot see the failure it has not sampled.
#[test]
fn all_passing_does_not_give_width_zero() {
    let case = case("17-bootstrap-all-pass-zero-width.json");
    let scores: Vec<TaskScore> = numbers(&case["input"]["scores"])
        .iter()
        .map(|&s| TaskScore { sum: s, trials: 1 })
        .collect();
    let sample = Clustered::new(&scores, None, &Weights::EqualTask).unwrap();
    let rate = sen_cp(&sample, Level::p95());
    assert!((rate.lower.unwrap() - 0.6915).abs() < 1e-4 && rate.upper == Some(1.0));
    let robust = cluster_robust(&sample, RobustType::Cr2, Df::Satterthwaite, Level::p95());
    assert_eq!((robust.lower, robust.reason), (None, Some("zero_variance")));
}

fn screen(tasks: Value) -> Value {
    let case = json!({"id": "x", "method": "task_screen", "input": {"tasks": tasks}});
    calculate(&case)["result"].clone()
}

/// Two runs per arm cannot make a discovery: the smallest two-sided p is ⅓.
#[test]
fn two_runs_are_not_a_discovery() {
    let case = case("19-per-task-p-zero-two-runs.json");
    let p = fisher_two_sided(
        0,
        Draw {
            total: 4,
            marked: 2,
            drawn: 2,
        },
    );
    near(p, &case["sound_answer"]["t1"]["p"], 1e-6);
    let got = screen(json!([
        {"task": "t1", "a_successes": 2, "a_trials": 2, "b_successes": 0, "b_trials": 2},
        {"task": "t2", "a_successes": 2, "a_trials": 2, "b_successes": 2, "b_trials": 2},
    ]));
    assert_eq!(
        (&got["regressed"], &got["result"]),
        (&json!([]), &json!("inconclusive"))
    );
}

/// One run per task cannot separate task and trial: no ICC of 1.
#[test]
fn single_runs_have_no_correlation() {
    let case = case("21-icc-one-from-single-runs.json");
    assert!(case["sound_answer"]["icc"].is_null());
    let tasks: Vec<TaskSpread> = (0..10)
        .map(|i| TaskSpread::binary(f64::from(i % 2), 1))
        .collect();
    let got = icc_anova(&tasks);
    assert_eq!((got.icc, got.reason), (None, Some("not_identifiable")));
}

/// Three units need t with 2 degrees of freedom, and sign-flip cannot go below ¼.
#[test]
fn three_units_are_not_normal() {
    let case = case("23-normal-instead-of-t-n3.json");
    let (a, b) = (numbers(&case["input"]["A"]), numbers(&case["input"]["B"]));
    let d: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    let t = paired_t(&d, Level::p95());
    near(t.p.unwrap(), &case["sound_answer"]["p_t"], 1e-5);
    near(t.lower.unwrap(), &case["sound_answer"]["ci"][0], 1e-6);
    near(t.upper.unwrap(), &case["sound_answer"]["ci"][1], 1e-6);
    near(flip(&d), &case["sound_answer"]["sign_flip_p"], 1e-12);
    assert!(bp_hall(&paired(&b, &a), Level::p95(), false).lower.unwrap() < 0.0);
}

/// Repeats of a task are not further tasks: two tasks never show more than p = ½.
#[test]
fn rounds_are_not_tasks() {
    let case = case("25-rounds-as-independent-units.json");
    let a = [TaskScore::binary(8, 8); 2];
    let b = [TaskScore::binary(0, 8), TaskScore::binary(8, 8)];
    let sample = Paired::from_arms(&a, &b, None, &Weights::EqualTask).unwrap();
    near(
        flip(&sample.differences),
        &case["sound_answer"]["p_task"],
        0.0,
    );
    let hall = bp_hall(&sample, Level::p95(), false);
    assert!(hall.lower.unwrap() < -0.9 && hall.upper.unwrap() > 0.0);

    let pooled = self::case("55-pooled-completions-mann-whitney.json");
    let score = |pass: bool| TaskScore::binary(if pass { 5 } else { 0 }, 5);
    let a: Vec<TaskScore> = (0..12).map(|i| score(i != 11)).collect();
    let b: Vec<TaskScore> = (0..12).map(|i| score(i > 2)).collect();
    let sample = Paired::from_arms(&a, &b, None, &Weights::EqualTask).unwrap();
    near(
        flip(&sample.differences),
        &pooled["sound_answer"]["p_two_sided"],
        1e-12,
    );
    assert!(bp_hall(&sample, Level::p95(), false).p.unwrap() > 0.2);
}

/// A score that is not a number is an error that names its place, never p = 0.0001.
#[test]
fn nan_is_not_a_score() {
    let case = case("27-nan-json-score-p-1e-4.json");
    let d: Vec<Value> = case["input"]["A"].as_array().unwrap().clone();
    let asked = json!({
        "id": "nan", "method": "sign_flip_exact", "input": {"task_differences": d},
    });
    let answer = calculate(&asked);
    assert_eq!(answer["error"]["field"], "input.task_differences[4]");
    assert!(Paired::new(&[0.0, f64::NAN], None, &Weights::EqualTask).is_err());
}

/// 1100 discordant tasks do not overflow.
#[test]
fn many_discordant_tasks_have_a_p_value() {
    let table = PairedTable {
        both: 0,
        a_only: 600,
        b_only: 500,
        neither: 0,
    };
    let first = case("29-mcnemar-overflow-large-discordant.json");
    near(mcnemar_exact(table), &first["sound_answer"]["p"], 1e-5);
    let second = case("33-mcnemar-overflow.json");
    near(
        mcnemar_exact(table),
        &second["sound_answer"]["exact_p"],
        1e-5,
    );
    near(mcnemar_midp(table), &second["sound_answer"]["mid_p"], 1e-6);
}

/// Ties do not dilute ten wins of ten.
#[test]
fn ties_are_not_half_wins() {
    let case = case("37-ties-as-half-wins-binomial.json");
    let table = PairedTable {
        both: 190,
        a_only: 0,
        b_only: 10,
        neither: 0,
    };
    near(
        mcnemar_exact(table),
        &case["sound_answer"]["p_two_sided_exact"],
        1e-6,
    );
    let mut d = vec![0.0; 190];
    d.extend([1.0; 10]);
    let hall = bp_hall(&paired(&vec![0.0; 200], &d), Level::p95(), false);
    assert_eq!(
        decide(&DecideInput::plain(hall.limits(), None)).word,
        Word::Better
    );
}

/// A broken task is not hidden by a gain elsewhere.
#[test]
fn netting_hides_nothing() {
    let case = case("39-netting-hides-broken-case.json");
    let count = |arm: &str, task: &str| numbers(&case["input"][arm][task]).iter().sum::<f64>();
    let tasks: Vec<Value> = ["a", "b", "c"]
        .iter()
        .map(|t| {
            json!({"task": t, "a_successes": count("base", t), "a_trials": 5,
                   "b_successes": count("head", t), "b_trials": 5})
        })
        .collect();
    let got = screen(json!(tasks));
    assert_eq!(
        (&got["regressed"], &got["improved"]),
        (&json!(["a"]), &json!(["b"]))
    );
    assert_eq!(got["result"], "failed");
    near(
        got["tasks"][0]["p"].as_f64().unwrap(),
        &case["sound_answer"]["fisher_p_a"],
        1e-6,
    );
}

/// A case that was not measured in B blocks the decision.
#[test]
fn dropping_a_case_decides_nothing() {
    let case = case("41-dropping-failing-cases-passes.json");
    assert!(
        case["sound_answer"]["verdict"]
            .as_str()
            .unwrap()
            .starts_with("INCONCLUSIVE")
    );
    let a = [TaskScore::binary(5, 5); 2];
    let b = [TaskScore::binary(5, 5), TaskScore::binary(0, 0)];
    let sample = Paired::from_arms(&a, &b, None, &Weights::EqualTask).unwrap();
    assert_eq!(sample.units.dropped, [1]);
    let missing = MissingState {
        drop: 0.5,
        ..MissingState::default()
    };
    let flawless = DecideInput {
        missing: Some(missing),
        ..DecideInput::plain(
            Some(Limits {
                lower: 0.0,
                upper: 0.0,
            }),
            Some(0.1),
        )
    };
    assert_eq!(decide(&flawless).word, Word::NotDecidable);
}

/// More trials on two tasks do not make more tasks.
#[test]
fn pooled_trials_are_not_independent() {
    let case = case("45-pooled-wilson-over-clustered-trials.json");
    let tasks = [TaskScore::binary(50, 50), TaskScore::binary(0, 50)];
    let sample = Clustered::new(&tasks, None, &Weights::EqualTask).unwrap();
    let rate = sen_cp(&sample, Level::p95());
    near(rate.estimate.unwrap(), &case["sound_answer"]["rate"], 1e-12);
    assert!(rate.lower.unwrap() < 0.02 && rate.upper.unwrap() > 0.98);
    assert!((rate.n_eff.unwrap() - 2.0).abs() < 1e-9);
    let robust = cluster_robust(&sample, RobustType::Cr1, Df::ClustersMinusOne, Level::p95());
    near(robust.se.unwrap(), &case["sound_answer"]["cr1_se"], 1e-12);
}

/// Trials that were never observed give no rate.
#[test]
fn outages_are_not_failures() {
    let case = case("47-rate-limit-counted-as-agent-failure.json");
    assert!(case["sound_answer"]["rate"].is_null());
    let none = Clustered::new(&[TaskScore::binary(0, 0)], None, &Weights::EqualTask).unwrap();
    let rate = sen_cp(&none, Level::p95());
    assert_eq!(
        (rate.estimate, rate.lower, rate.reason),
        (None, None, Some("no_valid_trials"))
    );
}

/// Two scores on a scale of 0 to 100 bound nothing, and the limits stay on the scale.
#[test]
fn two_scores_stay_on_their_scale() {
    let case = case("51-z-interval-n2-outside-scale.json");
    let scores: Vec<TaskScore> = numbers(&case["input"]["scores"])
        .iter()
        .map(|s| TaskScore {
            sum: s / 100.0,
            trials: 1,
        })
        .collect();
    let sample = Clustered::new(&scores, None, &Weights::EqualTask).unwrap();
    let rate = sen_cp(&sample, Level::p95());
    assert!(rate.lower.unwrap() >= 0.0 && rate.upper.unwrap() <= 1.0);
    assert!(rate.upper.unwrap() - rate.lower.unwrap() > 0.95);
    let t = task_mean_t(&sample, Level::p95());
    assert!((t.upper.unwrap() - 0.5 - 6.3531).abs() < 1e-3);
}

/// Nine crashed runs of ten leave bounds from .1 to 1, not a pass rate of 100 %.
#[test]
fn crashed_runs_stay_in_the_denominator() {
    let case = case("53-crashed-runs-vanish.json");
    let task = PartialTask {
        sum: 1.0,
        observed: 1,
        missing: 9,
    };
    let got = manski_tasks(&[task], None, &Weights::EqualTask, Level::p95()).unwrap();
    near(
        got.worst.unwrap(),
        &case["sound_answer"]["worst_case_pass_rate"],
        1e-12,
    );
    assert_eq!((got.best, got.missing_rate), (Some(1.0), Some(0.9)));
    let missing = MissingState {
        rate_b: 0.9,
        ..MissingState::default()
    };
    let input = DecideInput {
        missing: Some(missing),
        ..DecideInput::plain(None, Some(0.1))
    };
    assert_eq!(decide(&input).word, Word::NotDecidable);
}

/// Eight scores are eight trials, whatever number was configured.
#[test]
fn extra_trials_enter_pass_at_k() {
    let case = case("61-pass-at-k-with-extra-trials.json");
    let scores = numbers(&case["input"]["scores"]);
    let asked = json!({"id": "x", "method": "pass_at_k", "params": {"k": 2},
        "input": {"tasks": [{"n": scores.len(), "c": scores.iter().sum::<f64>()}]}});
    near(
        calculate(&asked)["result"]["estimate"].as_f64().unwrap(),
        &case["sound_answer"]["or_value_n8"],
        1e-6,
    );
    let wrong = json!({"id": "x", "method": "pass_at_k", "params": {"k": 2},
        "input": {"tasks": [{"n": 5, "c": 6}]}});
    assert!(
        calculate(&wrong)["error"]["message"]
            .as_str()
            .unwrap()
            .contains("task 0")
    );
}

/// Design power is no evidence of absence: the interval must lie inside the margin.
#[test]
fn enough_power_is_not_equivalence() {
    let case = case("69-noise-verdict-without-equivalence.json");
    let mut d = vec![0.0; 690];
    d.extend([1.0; 170]);
    d.extend([-1.0; 140]);
    let hall = bp_hall(&paired(&vec![0.0; 1000], &d), Level::p95(), false);
    near(
        hall.estimate.unwrap(),
        &case["sound_answer"]["delta"],
        1e-12,
    );
    near(hall.upper.unwrap(), &case["sound_answer"]["ci95"][1], 2e-3);
    let margin = case["sound_answer"]["tost_margin"].as_f64();
    assert_ne!(
        decide(&DecideInput::plain(hall.limits(), margin)).word,
        Word::Equivalent
    );
}
