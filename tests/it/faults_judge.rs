//! Inputs on which tools of this field went wrong about judges and resampling, each with its reason.
//!
//! The cases are in `reference/faults`; every test states the sound property that the fault broke.

use std::fs;
use std::path::Path;

use assize::base::Seed;
use assize::stats::agreement::{
    KappaOfItems, Ratings, Table, Weights, cohen_kappa, gwet, item_interval,
};
use assize::stats::bootstrap::{
    Pool, Range, Replicates, Resampling, bca_mean, paired_cluster_bootstrap, weighted_mean,
};
use assize::stats::confusion::Confusion;
use assize::stats::correction::{
    CorrectedRate, Inversion, JudgeLevel, Transported, lang_reiczigel, lang_reiczigel_checked,
    post_stratified, ppi_mean, ppi_plus_plus_mean, rogan_gladen_delta,
};
use assize::stats::judge_bias::{Winner, position_swap, self_consistency};
use assize::stats::panel::{Vote, majority_vote};
use assize::stats::{Level, Status};
use serde_json::Value;

fn case(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path
        .join("tests/reference/faults")
        .join(format!("{name}.json"));
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

fn plan() -> Resampling {
    Resampling {
        replicates: 1999,
        level: Level::p95(),
        seed: Seed(7),
    }
}

/// Counts of a judge from a labelled set and its verdicts elsewhere.
fn transported(labels: &[f64], verdicts: &[f64], elsewhere: &[f64]) -> Transported {
    let pairs = || labels.iter().zip(verdicts);
    let count = |label: f64, verdict: f64| {
        pairs()
            .filter(|(l, v)| **l == label && **v == verdict)
            .count() as f64
    };
    Transported {
        judge_positive: elsewhere.iter().sum(),
        items: elsewhere.len() as f64,
        true_positive: count(1.0, 1.0),
        positives: labels.iter().sum(),
        true_negative: count(0.0, 0.0),
        negatives: labels.iter().filter(|l| **l == 0.0).count() as f64,
    }
}

fn limits(rate: &CorrectedRate) -> (f64, f64) {
    (rate.lower.unwrap(), rate.upper.unwrap())
}

fn refused(rate: &CorrectedRate, reason: &str) {
    assert_eq!((rate.estimate, limits(rate)), (None, (0.0, 1.0)));
    assert_eq!(
        (rate.status, rate.reason),
        (Status::NotIdentified, Some(reason))
    );
}

/// A judge without an error on its labels leaves the sampling error of what it judged.
#[test]
fn a_perfect_judge_still_judged_a_sample() {
    let case = case("01-rg-ci-ignores-eval-sampling");
    let input = |name: &str| numbers(&case["input"][name]);
    let elsewhere = input("unlabeled_preds");
    let counts = transported(&input("test_labels"), &input("test_preds"), &elsewhere);
    let bare = lang_reiczigel(&counts, Level::p95()).unwrap();
    let sound = numbers(&case["sound_answer"]["lee_zeng_adjusted_wald"]);
    assert!((bare.lower.unwrap() - sound[0]).abs() < 1e-5 && bare.upper == Some(sound[1]));
    // Ten labels of each class carry no correction in the product.
    refused(
        &lang_reiczigel_checked(&counts, Level::p95()).unwrap().rate,
        "too_few_labels",
    );
    let delta = rogan_gladen_delta(&counts, Level::p95()).unwrap();
    assert!(delta.se.unwrap() > 0.1 && delta.rate.status == Status::Exploratory);
}

/// Near chance the data do not identify the rate; nothing may be dropped until they seem to.
#[test]
fn a_judge_near_chance_identifies_nothing() {
    let case = case("03-rg-near-chance-drops-replicates");
    assert_eq!(numbers(&case["sound_answer"]["interval"]), [0.0, 1.0]);
    let counts = Transported {
        judge_positive: 70.0,
        items: 100.0,
        true_positive: 30.0,
        positives: 50.0,
        true_negative: 25.0,
        negatives: 50.0,
    };
    refused(
        &lang_reiczigel_checked(&counts, Level::p95()).unwrap().rate,
        "judge_near_chance",
    );
}

/// Replicates without a value are counted, and widen instead of vanishing.
#[test]
fn replicates_without_a_value_are_not_dropped() {
    // One discordant item in thirty: every third resample lacks the second class altogether.
    let table = Table::new(&[vec![29, 0], vec![0, 1]]).unwrap();
    let kappa = KappaOfItems::new(&table, &[], Weights::Nominal);
    let pool = Pool::new(table.cells().to_vec());
    let drawn = Replicates::draw(&pool, &plan(), |counts| {
        assize::stats::agreement::Counted::at(&kappa, counts)
    });
    let drawn = drawn.unwrap();
    assert!(drawn.undefined > 500, "{}", drawn.undefined);
    // All defined replicates are 1: no interval rather than [1, 1].
    let interval = drawn.percentile(Level::p95(), Range::SIGNED_UNIT);
    assert_eq!(interval.unwrap_err().code(), "no_variation");
}

/// Two equal differences are two units: no interval of width 0, no p below what signs allow.
#[test]
fn two_pairs_do_not_bootstrap_to_certainty() {
    for name in [
        "05-paired-bootstrap-p-zero-n2",
        "67-two-items-zero-width-continuous",
    ] {
        let case = case(name);
        let input = case["input"].as_object().unwrap();
        let [first, second] = [0, 1].map(|i| numbers(input.values().nth(i).unwrap()));
        let differences: Vec<f64> = second.iter().zip(&first).map(|(b, a)| b - a).collect();
        assert!(bca_mean(&differences, &plan()).is_err());
        let drawn = Replicates::draw(&Pool::of_units(2), &plan(), |c| {
            weighted_mean(c, &differences)
        });
        let drawn = drawn.unwrap();
        assert!(drawn.p_value(0.0) >= 0.5, "{}", drawn.p_value(0.0));
        assert!(drawn.percentile(Level::p95(), Range::REAL).is_err());
    }
}

/// One cluster has no spread between clusters.
#[test]
fn one_cluster_is_not_resampled() {
    let case = case("07-cluster-bootstrap-one-cluster");
    assert!(case["sound_answer"]["p_value"].is_null());
    let one = Replicates::draw(&Pool::of_units(1), &plan(), |_| Some(0.75));
    assert_eq!(one.unwrap_err().code(), "too_few_units");
    let tasks = paired_cluster_bootstrap(1, &plan(), Range::SIGNED_UNIT, 0.0, |_| Some(0.75));
    assert_eq!(tasks.unwrap_err().code(), "too_few_tasks");
}

/// A resample cannot show the failure that was not sampled.
#[test]
fn all_passing_has_no_bootstrap_interval() {
    let scores = numbers(&case("17-bootstrap-all-pass-zero-width")["input"]["scores"]);
    assert_eq!(
        bca_mean(&scores, &plan()).unwrap_err().code(),
        "no_variation"
    );
    let drawn = Replicates::draw(&Pool::of_units(10), &plan(), |c| weighted_mean(c, &scores));
    let interval = drawn.unwrap().percentile(
        Level::p95(),
        Range {
            low: 0.0,
            high: 1.0,
        },
    );
    assert_eq!(interval.unwrap_err().code(), "no_variation");
}

/// The correction is defined for a judge better than chance only.
#[test]
fn an_inverted_judge_is_not_corrected() {
    let case = case("31-inverted-judge-is-corrected");
    let value = |name: &str| case["input"][name].as_f64().unwrap();
    for scale in [100.0, 10_000.0] {
        let counts = Transported {
            judge_positive: value("observed") * scale,
            items: scale,
            true_positive: value("tpr") * scale,
            positives: scale,
            true_negative: (1.0 - value("fpr")) * scale,
            negatives: scale,
        };
        refused(
            &rogan_gladen_delta(&counts, Level::p95()).unwrap().rate,
            "judge_near_chance",
        );
        refused(
            &lang_reiczigel(&counts, Level::p95()).unwrap(),
            "judge_near_chance",
        );
        refused(
            &lang_reiczigel_checked(&counts, Level::p95()).unwrap().rate,
            "judge_near_chance",
        );
    }
}

/// A missing verdict is missing: it votes for nothing, agrees with nothing and flips nothing.
#[test]
fn an_empty_verdict_is_not_a_failure() {
    let verdicts = &case("35-empty-judge-reply-is-fail")["sound_answer"]["verdicts"];
    assert!(verdicts.as_object().unwrap().values().all(Value::is_null));
    assert_eq!(majority_vote(&[None, Some(1)]), Vote::Majority(1));
    assert_eq!(majority_vote(&[None, None]), Vote::NoVotes);
    let pairs = [
        (Some(Winner::A), Some(Winner::A)),
        (None, None),
        (Some(Winner::A), None),
    ];
    let swap = position_swap(&pairs);
    assert_eq!((swap.pairs, swap.consistency), (1, Some(1.0)));
    let repeats = self_consistency(&[vec![Some(1), Some(1), None]]).unwrap();
    assert_eq!(repeats.pairwise_agreement, 1.0);
    let units = [
        [Some(1.0), Some(1.0)],
        [Some(0.0), None],
        [Some(0.0), Some(0.0)],
    ];
    let ratings = Ratings::new(units.iter().map(|u| u.as_slice())).unwrap();
    assert_eq!(gwet(&ratings, Weights::Nominal).unwrap().agreement, 1.0);
}

/// Two constant raters are 0/0: neither perfect nor chance, and a class nobody saw has no rate.
#[test]
fn kappa_of_one_class_is_undefined() {
    for name in [
        "43-kappa-perfect-when-undefined",
        "59-kappa-one-single-class",
        "65-kappa-single-class",
    ] {
        let case = case(name);
        assert!(case["sound_answer"]["kappa"].is_null());
        let items = case["input"]["judge"].as_array().unwrap().len();
        let table = Table::from_pairs(&vec![1; items], &vec![1; items], 2).unwrap();
        for weights in [Weights::Nominal, Weights::Linear, Weights::Quadratic] {
            let reason = cohen_kappa(&table, weights).unwrap_err();
            assert_eq!(reason.code(), "expected_agreement_is_one");
            let kappa = KappaOfItems::new(&table, &[], weights);
            assert!(item_interval(&kappa, &plan()).is_err());
        }
        let rates = Confusion::of(&vec![true; items], &vec![true; items])
            .unwrap()
            .rates(Level::p95());
        assert!(rates.specificity.is_none() && rates.negative_predictive.is_none());
        let sensitivity = rates.sensitivity.unwrap();
        assert!(sensitivity.limits.upper - sensitivity.limits.lower > 0.3);
    }
}

/// Three labels of each class without an error bound the error rates only below .71.
#[test]
fn a_perfect_small_calibration_is_not_certain() {
    let case = case("57-rg-delta-ignores-perfect-small-calibration");
    let gold = numbers(&case["input"]["gold"]);
    let mut elsewhere = vec![1.0; 37];
    elsewhere.extend([0.0; 3]);
    let counts = transported(&gold, &gold, &elsewhere);
    let sound = numbers(&case["sound_answer"]["ci"]);
    let bare = lang_reiczigel(&counts, Level::p95()).unwrap();
    assert!((bare.lower.unwrap() - sound[0]).abs() < 5e-5 && bare.upper == Some(sound[1]));
    refused(
        &lang_reiczigel_checked(&counts, Level::p95()).unwrap().rate,
        "too_few_labels",
    );
    // The delta method exists for comparison with others; it says that it ignores the labels.
    let delta = rogan_gladen_delta(&counts, Level::p95()).unwrap().rate;
    assert_eq!(
        (delta.status, delta.notices[0].code.as_str()),
        (Status::Exploratory, "perfect_class")
    );
    // With these labels from the run itself, the default is wider than the judge's raw rate.
    let passed = JudgeLevel {
        judged: 37.0,
        labelled: 3.0,
        positive: 3.0,
    };
    let failed = JudgeLevel {
        judged: 3.0,
        labelled: 3.0,
        positive: 0.0,
    };
    let own = post_stratified(&[passed, failed], Inversion::ClopperPearson, Level::p95())
        .unwrap()
        .rate;
    let wilson = numbers(&case["sound_answer"]["plain_wilson_925"]);
    assert!(own.lower.unwrap() < wilson[0], "{own:?}");
}

/// A rate stays in [0, 1], and says when labelled and other items disagree.
#[test]
fn a_powered_rate_stays_a_rate() {
    let case = case("71-ppi-leaves-unit-interval");
    let input = |name: &str| numbers(&case["input"][name]);
    let mut elsewhere = vec![1.0; 18];
    elsewhere.extend([0.0; 2]);
    let (labels, judge) = (input("y_human"), input("pred_human"));
    let got = ppi_mean(&labels, &judge, &elsewhere, Level::p95())
        .unwrap()
        .rate;
    assert_eq!(
        (got.estimate, got.upper),
        (case["sound_answer"]["point"].as_f64(), Some(1.0))
    );
    assert!(got.lower.unwrap() >= 0.0);
    assert_eq!(got.notices[0].code, "estimate_outside_scale");
    assert_eq!(got.status, Status::Exploratory);
    let tuned = ppi_plus_plus_mean(&labels, &judge, &elsewhere, Level::p95())
        .unwrap()
        .rate;
    assert!(tuned.estimate.unwrap() <= 1.0 && tuned.lower.is_none_or(|l| l >= 0.0));
}

/// Five labels without an error are no certainty.
#[test]
fn a_powered_rate_without_variance_has_no_interval() {
    let case = case("75-ppi-pp-zero-width");
    let input = |name: &str| numbers(&case["input"][name]);
    let (labels, judge) = (input("labeled_y"), input("labeled_pred"));
    let elsewhere = input("unlabeled_pred");
    for estimate in [ppi_mean, ppi_plus_plus_mean] {
        let got = estimate(&labels, &judge, &elsewhere, Level::p95())
            .unwrap()
            .rate;
        assert_eq!(
            (got.lower, got.upper, got.reason),
            (None, None, Some("zero_variance"))
        );
    }
    // The default on the same data: as wide as five labels are.
    let passed = JudgeLevel {
        judged: 25.0,
        labelled: 5.0,
        positive: 5.0,
    };
    let own = post_stratified(&[passed], Inversion::ClopperPearson, Level::p95())
        .unwrap()
        .rate;
    let sound = numbers(&case["sound_answer"]["ci"]);
    assert!((own.lower.unwrap() - sound[0]).abs() < 1e-5 && own.upper == Some(1.0));
}
