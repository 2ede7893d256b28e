//! Coverage of corrected rates: the default holds where others fail.

use assize::app::coverage::cell::Cell;
use assize::app::coverage::grid::named;
use assize::app::coverage::judged::JudgedCell;
use assize::app::coverage::levels::{LevelShare, LevelsCell};
use assize::app::coverage::method::Method;
use assize::app::coverage::{CellResult, Request, simulate};
use assize::base::Seed;
use assize::stats::Level;

fn run(method: &str, cells: Vec<Cell>, replicates: u32) -> Vec<CellResult> {
    let method = Method::by_id(method).unwrap();
    let (level, seed) = (Level::p95(), Seed(92));
    simulate(&Request {
        method,
        cells,
        replicates,
        refine: None,
        level,
        seed,
    })
    .unwrap()
}

fn cell(items: u32, labels: u32, rate: f64, sensitivity: f64, specificity: f64) -> Vec<Cell> {
    vec![Cell::Judged(JudgedCell {
        name: None,
        items,
        labels,
        rate,
        sensitivity,
        specificity,
    })]
}

#[test]
fn the_default_covers_on_its_grid() {
    let results = run("post_stratified_cp", named("judged").unwrap(), 200);
    let worst = results.iter().map(|r| r.coverage).fold(1.0, f64::min);
    // Four standard errors of 200 replicates below .946.
    assert!(worst > 0.88, "{worst}");
    let mean = results.iter().map(|r| r.coverage).sum::<f64>() / results.len() as f64;
    assert!(mean > 0.96, "{mean}");
}

#[test]
fn an_uncorrected_judge_does_not_cover() {
    let naive = run("judge_only_wilson", cell(1000, 200, 0.5, 0.9, 0.7), 1000)[0].coverage;
    let corrected = run("post_stratified_cp", cell(1000, 200, 0.5, 0.9, 0.7), 1000)[0].coverage;
    assert!(naive < 0.05 && corrected >= 0.94, "{naive} {corrected}");
}

#[test]
fn normal_intervals_fail_near_one() {
    let powered = &run("ppi_plus_plus_mean", cell(1000, 50, 0.99, 0.95, 0.8), 1000)[0];
    // Most samples show no variance, and then there is no interval at all.
    assert!(
        powered.coverage < 0.5 && powered.undefined > 0.4,
        "{powered:?}"
    );
    let plain = &run("ppi_mean", cell(1000, 20, 0.95, 0.95, 0.95), 1000)[0];
    assert!(plain.coverage < 0.8, "{plain:?}");
    let default = &run("post_stratified_cp", cell(1000, 50, 0.99, 0.95, 0.8), 1000)[0];
    assert!(
        default.coverage > 0.94 && default.undefined == 0.0,
        "{default:?}"
    );
}

#[test]
fn impossible_cells_are_refused() {
    let method = || Method::by_id("post_stratified_cp").unwrap();
    for bad in [
        cell(10, 20, 0.5, 0.9, 0.9),
        cell(10, 5, 1.5, 0.9, 0.9),
        cell(10, 0, 0.5, 0.9, 0.9),
    ] {
        assert!(bad[0].check().is_err());
    }
    assert!(method().check(&Cell::beta(5, 5, 0.5, 0.5)).is_err());
    assert!(
        Method::by_id("sen_cp")
            .unwrap()
            .check(&cell(10, 5, 0.5, 0.9, 0.9)[0])
            .is_err()
    );
}

/// Equal arms, and a judge that is kinder to B: how often B looks better, corrected and not.
#[test]
fn a_kinder_judge_does_not_make_an_arm_better() {
    use assize::stats::correction::{LabelledPair, PairedTask, TaskFrame, ppi_paired_bp_hall};
    use assize::stats::units::Weights;

    let frame = TaskFrame {
        clusters: None,
        weights: &Weights::EqualTask,
    };
    let (runs, tasks, labelled) = (600, 300, 100);
    let (mut corrected, mut covered, mut naive) = (0, 0, 0);
    for run in 0..runs {
        let mut stream = Seed(31).nth("kind", run).stream();
        let mut draw = |p: f64| f64::from(u8::from(stream.unit() < p));
        let mut judged = vec![];
        for task in 0..tasks {
            let human = [draw(0.5), draw(0.5)];
            // Sensitivity and specificity .90/.80 for A, .95/.65 for B.
            let said = |h: f64, se: f64, sp: f64| if h > 0.5 { se } else { 1.0 - sp };
            let judge = [
                draw(said(human[0], 0.9, 0.8)),
                draw(said(human[1], 0.95, 0.65)),
            ];
            let difference = judge[1] - judge[0];
            let pair = LabelledPair {
                human: human[1] - human[0],
                judge: difference,
            };
            judged.push(PairedTask {
                judge: difference,
                labelled: (task < labelled).then_some(pair),
            });
        }
        let got = ppi_paired_bp_hall(&judged, &frame, Level::p95()).unwrap();
        corrected += u32::from(got.lower.unwrap() > 0.0);
        covered += u32::from(got.lower.unwrap() <= 0.0 && got.upper.unwrap() >= 0.0);
        let differences: Vec<f64> = judged.iter().map(|t| t.judge).collect();
        naive += u32::from(
            assize::stats::paired::paired_t(&differences, Level::p95()).lower > Some(0.0),
        );
    }
    let share = |count: u32| f64::from(count) / runs as f64;
    assert!(
        share(corrected) < 0.05 && share(covered) > 0.93,
        "{} {}",
        share(corrected),
        share(covered)
    );
    assert!(share(naive) > 0.4, "{}", share(naive));
}

/// Of several levels, labelled at random or by quota, and of paired labels.
#[test]
fn defaults_for_levels_and_pairs_cover_on_their_grids() {
    for (method, grid) in [
        ("post_stratified_levels", "judged-levels"),
        ("ppi_paired_bp_hall", "judged-pairs"),
    ] {
        let results = run(method, named(grid).unwrap(), 200);
        let worst = results
            .iter()
            .min_by(|a, b| a.coverage.total_cmp(&b.coverage))
            .unwrap();
        // Four standard errors of 200 replicates below .946.
        assert!(worst.coverage > 0.88, "{worst:?}");
    }
}

/// With one level, the interval is Clopper and Pearson's.
#[test]
fn one_level_with_all_labels_has_the_exact_coverage() {
    let (n, p) = (30u64, 0.8);
    let holds = |x: u64| {
        let limits = assize::stats::proportion::clopper_pearson(x as f64, n as f64, Level::p95());
        limits.lower <= p && p <= limits.upper
    };
    let exact: f64 = (0..=n)
        .filter(|&x| holds(x))
        .map(|x| assize::stats::special::binomial_pmf(x, n, p))
        .sum();
    let level = LevelShare {
        mass: 1.0,
        positive: p,
    };
    for quota in [false, true] {
        let cell = Cell::Levels(LevelsCell {
            name: None,
            items: 1000,
            labels: 30,
            quota,
            levels: vec![level],
        });
        let got = &run("post_stratified_levels", vec![cell], 10_000)[0];
        assert!((got.truth - p).abs() < 1e-12);
        assert!(
            (got.coverage - exact).abs() < 4.0 * got.coverage_se,
            "{got:?} {exact}"
        );
    }
}
