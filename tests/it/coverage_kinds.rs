//! Coverage of times that are cut off, looks one after another, recovery, kappa, and tasks with
//! several judged trials: the product's methods hold where simpler ones are seen failing.

use assize::app::coverage::cell::{Cell, Point};
use assize::app::coverage::grid::named;
use assize::app::coverage::method::Method;
use assize::app::coverage::{CellResult, Request, simulate};
use assize::base::Seed;
use assize::stats::Level;

fn run(method: &str, cells: Vec<Cell>, replicates: u32) -> Vec<CellResult> {
    simulate(&Request {
        method: Method::by_id(method).unwrap(),
        cells,
        replicates,
        refine: None,
        level: Level::p95(),
        seed: Seed(41),
    })
    .unwrap()
}

/// A design as a user writes it.
fn written(text: &str) -> Vec<Cell> {
    vec![serde_json::from_str(text).unwrap()]
}

fn coverage(method: &str, text: &str, replicates: u32) -> f64 {
    run(method, written(text), replicates)[0].coverage
}

#[test]
fn every_new_kind_runs_on_its_grid() {
    for (method, grid, replicates) in [
        ("kaplan_meier_survival", "times", 200),
        ("kaplan_meier_median_clustered", "times", 30),
        ("restricted_mean_clustered", "times", 30),
        ("betting_capital_hedged", "sequences", 200),
        ("recovery_given_reached", "recovery", 200),
        ("recovery_bounds", "recovery", 200),
        ("cohen_kappa_bca_items", "agreement", 30),
        ("post_stratified_cp", "judged-tasks", 200),
        ("post_stratified_cp", "judged-tasks-weighted", 200),
    ] {
        let mut cells = named(grid).unwrap();
        cells.truncate(4);
        for result in run(method, cells, replicates) {
            // Few tasks may reach no fault and few items show no disagreement: then there is no
            // interval. Of 30 replicates, few are wrong by chance.
            let held = result.coverage / (1.0 - result.undefined);
            assert!(held > 0.75, "{method} {grid} {result:?}");
            assert!(result.undefined < 0.5, "{method} {grid} {result:?}");
        }
    }
}

/// Three trials of one task are no three tasks: one curve of all trials is too sure of itself.
#[test]
fn trials_of_one_task_are_not_independent_times() {
    let design = r#"{"times": {"units": 60, "trials": 8, "frailty": 2.0, "cap": 3.0, "at": 0.8}}"#;
    let pooled = coverage("kaplan_meier_median", design, 300);
    let clustered = coverage("kaplan_meier_median_clustered", design, 60);
    assert!(pooled < 0.8, "{pooled}");
    // Four standard errors of 60 replicates below .94.
    assert!(clustered > 0.82, "{clustered}");
}

#[test]
fn log_log_limits_hold_the_survival_of_independent_times() {
    let design = r#"{"times": {"units": 100, "trials": 1, "cap": 2.0, "loss": 0.3, "at": 0.8}}"#;
    let got = &run("kaplan_meier_survival", written(design), 4000)[0];
    assert!((got.truth - (-0.8f64).exp()).abs() < 1e-12);
    // Asymptotic, so it need not be .95 to the last digit.
    assert!((got.coverage - 0.95).abs() < 0.02, "{got:?}");
}

/// METHODS 7: looking at t every ten tasks errs up to a third of the time; the sequence never pays.
#[test]
fn looking_again_and_again_breaks_t_and_not_betting() {
    let design = r#"{"sequence": {"tasks": 500, "types": [
        {"mass": 0.5, "difference": 1.0}, {"mass": 0.5, "difference": -1.0}]}}"#;
    let repeated = coverage("paired_t_every_10", design, 500);
    assert!(repeated < 0.85, "{repeated}");
    for method in [
        "betting_cs",
        "betting_capital_hedged",
        "beta_mixture_sign_e_value",
    ] {
        let held = coverage(method, design, 200);
        assert!(held > 0.95 - 4.0 * 0.0155, "{method} {held}");
    }
}

/// The sequence drops the truth only when capital against it reached the bar, so it may hold more
/// often and never less.
#[test]
fn the_sequence_holds_where_capital_against_the_truth_stays_low() {
    let design = r#"{"sequence": {"tasks": 150, "types": [
        {"mass": 0.2, "difference": -0.5}, {"mass": 0.8, "difference": 0.25}]}}"#;
    let (sequence, capital) = (
        coverage("betting_cs", design, 200),
        coverage("betting_capital_hedged", design, 200),
    );
    assert!(sequence >= capital, "{sequence} {capital}");
}

#[test]
fn claims_that_would_be_true_are_no_false_claims() {
    let check = |method: &str, text: &str| {
        let method = Method::by_id(method).unwrap();
        method.check(&written(text)[0])
    };
    let equal = r#"{"sequence": {"tasks": 50, "types": [
        {"mass": 0.5, "difference": 1.0}, {"mass": 0.5, "difference": -1.0}]}}"#;
    let worse = r#"{"sequence": {"tasks": 50, "types": [
        {"mass": 0.4, "difference": 1.0}, {"mass": 0.6, "difference": -1.0}]}}"#;
    assert!(check("beta_mixture_sign_e_value", equal).is_ok());
    assert!(check("beta_mixture_sign_e_value", worse).is_err());
    assert!(check("betting_non_inferiority", worse).is_ok());
    assert!(check("betting_non_inferiority", equal).is_err());
    assert!(check("sen_cp", equal).is_err());
}

/// Where every fault fires in one kind of task, recovery is a plain success rate.
#[test]
fn recovery_of_faults_that_always_fire_is_a_rate() {
    let faults = r#"{"recovery": {"units": 12, "trials": 1, "types": [
        {"mass": 1.0, "reach": 1.0, "recover": 0.7}]}}"#;
    let rate = vec![Cell::points(12, 1, vec![Point::new(0.7, 1.0)])];
    let plain = run("sen_cp", rate, 4000)[0].coverage;
    for method in [
        "recovery_given_reached",
        "recovery_of_reached_trials",
        "recovery_bounds",
    ] {
        let got = coverage(method, faults, 4000);
        assert!((got - plain).abs() < 0.02, "{method} {got} {plain}");
    }
}

/// Tasks that reach their fault less often count less among reached trials.
#[test]
fn each_recovery_has_its_own_truth() {
    let faults = r#"{"recovery": {"units": 20, "trials": 2, "types": [
        {"mass": 0.5, "reach": 1.0, "recover": 1.0},
        {"mass": 0.5, "reach": 0.5, "recover": 0.0}]}}"#;
    for (method, truth) in [
        ("recovery_given_reached", 1.0 / 1.75),
        ("recovery_of_reached_trials", 1.0 / 1.5),
        ("recovery_bounds", 0.5),
    ] {
        let got = run(method, written(faults), 10)[0].truth;
        assert!((got - truth).abs() < 1e-12, "{method} {got}");
    }
}

/// Four items that are rated as their task are one item, not four.
#[test]
fn kappa_over_items_of_tasks_is_too_sure() {
    let design = r#"{"agreement": {"units": 60, "items": 6, "shared": 1.0,
        "shares": [[0.35, 0.1], [0.1, 0.45]]}}"#;
    let items = coverage("cohen_kappa_bca_items", design, 60);
    let tasks = coverage("cohen_kappa_bca_tasks", design, 60);
    assert!(items < 0.75, "{items}");
    // Four standard errors of 60 replicates below .94.
    assert!(tasks > 0.82, "{tasks}");
}

#[test]
fn tasks_of_one_trial_are_items() {
    let tasks = r#"{"judged_tasks": {"units": 200, "trials": 1, "labels": 50, "sensitivity": 0.9,
        "specificity": 0.8, "types": [{"mass": 1.0, "positive": 0.8}]}}"#;
    let items = r#"{"judged": {"items": 200, "labels": 50, "rate": 0.8, "sensitivity": 0.9,
        "specificity": 0.8}}"#;
    let tasks = &run("post_stratified_cp", written(tasks), 3000)[0];
    let items = &run("post_stratified_cp", written(items), 3000)[0];
    assert!((tasks.truth - items.truth).abs() < 1e-12);
    assert!(
        (tasks.coverage - items.coverage).abs() < 0.02,
        "{tasks:?} {items:?}"
    );
    let (a, b) = (tasks.mean_width.unwrap(), items.mean_width.unwrap());
    assert!((a / b - 1.0).abs() < 0.02, "{a} {b}");
}

#[test]
fn other_corrections_have_no_form_for_tasks() {
    let cell = &named("judged-tasks").unwrap()[0];
    for method in ["ppi_mean", "lang_reiczigel", "human_only_wilson"] {
        assert!(Method::by_id(method).unwrap().check(cell).is_err());
    }
    assert!(
        Method::by_id("post_stratified_jeffreys")
            .unwrap()
            .check(cell)
            .is_ok()
    );
}

#[test]
fn designs_that_cannot_exist_are_refused() {
    for text in [
        r#"{"times": {"units": 5, "trials": 1, "cap": 1.0, "at": 2.0}}"#,
        r#"{"times": {"units": 5, "trials": 0, "cap": 1.0, "at": 0.5}}"#,
        r#"{"sequence": {"tasks": 5, "types": [{"mass": 1.0, "difference": 1.5}]}}"#,
        r#"{"sequence": {"tasks": 5, "types": []}}"#,
        r#"{"recovery": {"units": 5, "trials": 2, "types": [
            {"mass": 1.0, "reach": 0.0, "recover": 0.5}]}}"#,
        r#"{"agreement": {"units": 5, "shares": [[1.0, 0.0], [0.0, 0.0]]}}"#,
        r#"{"agreement": {"units": 5, "shares": [[0.5, 0.5]]}}"#,
        r#"{"judged_tasks": {"units": 5, "trials": 2, "labels": 6, "sensitivity": 0.9,
            "specificity": 0.8, "types": [{"mass": 1.0, "positive": 0.8}]}}"#,
        r#"{"judged_tasks": {"units": 5, "trials": 2, "labels": 2, "sensitivity": 0.9,
            "specificity": 0.8, "types": [{"mass": 1.0, "positive": 0.8, "weight": 0.0}]}}"#,
    ] {
        assert!(written(text)[0].check().is_err(), "{text}");
    }
}

/// Bootstraps inside a simulation must not depend on how many threads there are.
#[test]
fn resampling_inside_is_the_same_at_any_thread_count() {
    let design = r#"{"agreement": {"units": 40, "shares": [[0.4, 0.1], [0.1, 0.4]]}}"#;
    let plain = run("cohen_kappa_bca_items", written(design), 70);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let single = pool.install(|| run("cohen_kappa_bca_items", written(design), 70));
    assert_eq!(plain, single);
}
