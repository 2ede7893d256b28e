//! The coverage simulation: known answers, and the same bytes at any thread count.

use assize::app::coverage::cell::{AmountCell, Cell, Point};
use assize::app::coverage::counts::CountCell;
use assize::app::coverage::grid::named;
use assize::app::coverage::method::Method;
use assize::app::coverage::{Refine, Request, simulate, summary, to_csv};
use assize::base::Seed;
use assize::stats::Level;

fn request(method: &str, cells: Vec<Cell>, replicates: u32) -> Request {
    Request {
        method: Method::by_id(method).unwrap(),
        cells,
        replicates,
        refine: None,
        level: Level::p95(),
        seed: Seed(20),
    }
}

/// One trial per task makes SEN-CP Clopper–Pearson, whose coverage is a sum of binomials.
#[test]
fn simulated_coverage_is_the_exact_one() {
    let (n, p) = (12u64, 0.7);
    let exact: f64 = (0..=n)
        .filter(|&x| {
            let limits =
                assize::stats::proportion::clopper_pearson(x as f64, n as f64, Level::p95());
            limits.lower <= p && p <= limits.upper
        })
        .map(|x| assize::stats::special::binomial_pmf(x, n, p))
        .sum();
    let cell = Cell::points(12, 1, vec![Point::new(p, 1.0)]);
    let got = &simulate(&request("sen_cp", vec![cell], 20_000)).unwrap()[0];
    assert!(
        (got.coverage - exact).abs() < 4.0 * got.coverage_se,
        "{got:?} {exact}"
    );
    assert!((got.coverage + got.miss_above + got.miss_below + got.undefined - 1.0).abs() < 1e-12);
}

#[test]
fn pooled_wilson_shows_its_fault_and_sen_cp_does_not() {
    let cell = || vec![Cell::beta(20, 30, 0.9, 0.6)];
    let pooled = simulate(&request("wilson_pooled", cell(), 1000)).unwrap()[0].coverage;
    let sen = simulate(&request("sen_cp", cell(), 1000)).unwrap()[0].coverage;
    assert!(pooled < 0.5 && sen > 0.94, "{pooled} {sen}");
}

#[test]
fn thread_count_does_not_matter() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let cells = vec![Cell::beta(10, 5, 0.8, 0.3), Cell::beta(20, 5, 0.8, 0.3)];
        pool.install(|| to_csv(&simulate(&request("sen_cp", cells, 300)).unwrap()).unwrap())
    };
    let once = run(1);
    assert_eq!(once, run(3));
    assert!(
        once.starts_with("method,cell,units,trials,truth,replicates,coverage,"),
        "{once}"
    );
    assert_eq!(once.lines().count(), 3);
}

#[test]
fn low_cells_are_run_again() {
    let cells = vec![Cell::beta(20, 30, 0.9, 0.6)];
    let refine = Some(Refine {
        below: 0.945,
        replicates: 500,
    });
    let again = simulate(&Request {
        refine,
        ..request("wilson_pooled", cells, 100)
    })
    .unwrap();
    assert_eq!(again[0].replicates, 500);
}

#[test]
fn every_family_runs_on_its_grid() {
    for (method, grid) in [
        ("pass_hat_k", "pass-k"),
        ("bp_hall", "difference-clusters"),
        ("bp_hall", "breaks"),
        ("quantile_clustered_inversion", "amounts"),
        ("ratio_of_means_jackknife", "amounts"),
        ("tasks_fixed_cp", "difficulty"),
        ("poisson_clustered", "counts"),
        ("sen_cp", "clusters"),
        ("sen_cp", "difficulty"),
    ] {
        let mut cells = named(grid).unwrap();
        cells.truncate(6);
        let results = simulate(&request(method, cells, 200)).unwrap();
        let seen = summary(&results).unwrap();
        assert!(seen.min_coverage > 0.85, "{method} {grid} {seen:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let amounts = named("amounts").unwrap();
    assert!(simulate(&request("sen_cp", amounts, 10)).is_err());
    let paired_beta = vec![Cell::beta(5, 5, 0.5, 0.5)];
    assert!(simulate(&request("bp_hall", paired_beta.clone(), 10)).is_err());
    assert!(simulate(&request("sen_cp", paired_beta, 0)).is_err());
    assert!(Method::by_id("bootstrap").is_err());
    let impossible = vec![Cell::points(5, 5, vec![Point::new(0.5, 0.7)])];
    assert!(simulate(&request("sen_cp", impossible, 10)).is_err());
}

#[test]
fn grids_of_pass_k_and_amounts_reach_a_thousand_tasks() {
    for grid in ["pass-k", "amounts", "rates", "differences", "counts"] {
        let most = named(grid).unwrap().iter().map(Cell::units).max();
        assert_eq!(most, Some(1000), "{grid}");
    }
}

/// Tasks that always or never pass: a re-run of exactly them always gives their own mean, which an
/// interval for other tasks must not be mistaken for.
#[test]
fn exactly_these_tasks_have_a_truth_of_their_own() {
    let cells = || {
        let points = vec![Point::new(1.0, 0.5), Point::new(0.0, 0.5)];
        vec![Cell::points(20, 30, points)]
    };
    let fixed = &simulate(&request("tasks_fixed_cp", cells(), 500)).unwrap()[0];
    assert_eq!((fixed.coverage, fixed.truth), (1.0, 0.5));
    let pooled = simulate(&request("wilson_pooled", cells(), 500)).unwrap()[0].coverage;
    assert!(pooled < 0.5, "{pooled}");
    // One type only: both truths are one, and coverage is that of Clopper and Pearson.
    let one = vec![Cell::points(12, 1, vec![Point::new(0.7, 1.0)])];
    let fixed = simulate(&request("tasks_fixed_cp", one.clone(), 2000)).unwrap()[0].coverage;
    let sen = simulate(&request("sen_cp", one, 2000)).unwrap()[0].coverage;
    assert!((fixed - sen).abs() < 1e-12, "{fixed} {sen}");
    assert!(
        simulate(&request(
            "tasks_fixed_cp",
            vec![Cell::beta(5, 5, 0.5, 0.5)],
            10
        ))
        .is_err()
    );
}

fn counts(units: u32, exposure: f64, rate: f64, frailty: f64) -> Vec<Cell> {
    let name = None;
    vec![Cell::Counts(CountCell {
        name,
        units,
        exposure,
        rate,
        frailty,
    })]
}

#[test]
fn independent_counts_have_the_exact_coverage_of_garwood() {
    let (mean, exposure) = (6.0f64, 20.0);
    let mut term = (-mean).exp();
    let mut exact = 0.0;
    for x in 0..60 {
        let limits = assize::stats::count::garwood(f64::from(x), exposure, Level::p95());
        if (limits.lower..=limits.upper).contains(&(mean / exposure)) {
            exact += term;
        }
        term *= mean / f64::from(x + 1);
    }
    let cells = counts(10, exposure / 10.0, mean / exposure, 0.0);
    let got = &simulate(&request("poisson_garwood", cells, 10_000)).unwrap()[0];
    assert!(
        (got.coverage - exact).abs() < 4.0 * got.coverage_se,
        "{got:?} {exact}"
    );
}

/// METHODS 3: ten units with frailty variance 4 leave .86, and plain Garwood as little as .23.
#[test]
fn frailty_breaks_garwood_and_hardly_the_clustered_rate() {
    let run = |method: &str| {
        simulate(&request(method, counts(10, 50.0, 1.0, 4.0), 1000)).unwrap()[0].coverage
    };
    let (plain, clustered) = (run("poisson_garwood"), run("poisson_clustered"));
    assert!(plain < 0.3 && clustered > 0.8, "{plain} {clustered}");
}

fn lognormal(units: u32, trials: u32, sd_task: f64, sd_trial: f64) -> Vec<Cell> {
    vec![Cell::Amounts(AmountCell {
        name: None,
        units,
        trials,
        sd_task,
        sd_trial,
        sd_change: 0.0,
        ratio: 1.0,
        tau: 0.5,
    })]
}

/// Logarithms of single lognormal trials are normal, so Student's interval is exact.
#[test]
fn geometric_means_of_single_trials_are_exact() {
    let got = &simulate(&request(
        "geometric_mean",
        lognormal(8, 1, 0.6, 0.8),
        10_000,
    ))
    .unwrap()[0];
    assert!(
        (got.coverage - 0.95).abs() < 4.0 * got.coverage_se,
        "{got:?}"
    );
    assert!(simulate(&request("geometric_mean", lognormal(8, 5, 0.6, 0.8), 10)).is_err());
}

#[test]
fn mean_amounts_hold_the_lognormal_mean() {
    let got = &simulate(&request(
        "mean_log_jackknife",
        lognormal(100, 3, 0.5, 0.3),
        2000,
    ))
    .unwrap()[0];
    assert!((got.truth - (0.34f64 / 2.0).exp()).abs() < 1e-12);
    assert!(got.coverage > 0.92 && got.coverage < 0.975, "{got:?}");
}
