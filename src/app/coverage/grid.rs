//! Named grids: the designs of METHODS 1.5 and 6.2, and their like for amounts.
//!
//! METHODS names the values of its grids, not every cell; where it leaves a choice the one made
//! here is written down beside it.

use super::cell::{AmountCell, Cell, CellWeights, Point, ScoreCell, Types};
use crate::base::{Error, Result};

/// The grids, by name.
pub const NAMES: &[&str] = &[
    "rates",
    "rates-small",
    "pass-k",
    "always-fail",
    "bimodal",
    "difficulty",
    "clusters",
    "differences",
    "breaks",
    "difference-clusters",
    "amounts",
];

/// The cells of a named grid.
///
/// # Errors
///
/// If there is no such grid; the hint lists all.
pub fn named(name: &str) -> Result<Vec<Cell>> {
    Ok(match name {
        "rates" => rates(&[5, 10, 20, 50, 100, 300, 1000], 1),
        "rates-small" => rates(&[5, 10, 20, 50], 1),
        // Tasks with fewer than k trials have no pass^k.
        "pass-k" => rates(&[5, 10, 20, 50, 100, 300], 3),
        "always-fail" => always_fail(),
        "bimodal" => bimodal(),
        "difficulty" => difficulty(),
        "clusters" => clusters(),
        "differences" => differences(),
        "breaks" => breaks(),
        "difference-clusters" => difference_clusters(),
        "amounts" => amounts(),
        _ => {
            return Err(Error::input(format!("no grid `{name}`"))
                .hint(format!("one of {}", NAMES.join(", "))));
        }
    })
}

const RATES: [f64; 5] = [0.5, 0.8, 0.95, 0.99, 0.999];
const ICC: [f64; 4] = [0.1, 0.3, 0.6, 0.9];

/// METHODS 1.5: tasks × trials × rate × intraclass correlation × shape. With one trial, or a
/// correlation of 0 or 1, all shapes are one.
fn rates(tasks: &[u32], least_trials: u32) -> Vec<Cell> {
    let mut cells = vec![];
    for &g in tasks {
        let trials: &[u32] = if g >= 300 {
            &[1, 10, 100]
        } else {
            &[1, 3, 10, 30, 100]
        };
        for &m in trials.iter().filter(|m| **m >= least_trials) {
            for p in RATES {
                let name = |shape: &str| format!("G={g} m={m} p={p} {shape}");
                cells.push(Cell::points(g, m, vec![Point::new(p, 1.0)]).named(name("icc=0")));
                if m == 1 {
                    continue;
                }
                let all_or_nothing = vec![Point::new(1.0, p), Point::new(0.0, 1.0 - p)];
                cells.push(Cell::points(g, m, all_or_nothing).named(name("icc=1")));
                for icc in ICC {
                    cells.push(Cell::beta(g, m, p, icc).named(name(&format!("icc={icc} beta"))));
                    let failing = some_always_fail(p, icc);
                    let title = name(&format!("icc={icc} always-fail"));
                    cells.push(Cell::points(g, m, failing).named(title));
                    if let Some(points) = two_point(p, icc) {
                        let title = name(&format!("icc={icc} two-point"));
                        cells.push(Cell::points(g, m, points).named(title));
                    }
                }
            }
        }
    }
    cells
}

/// A share of tasks always fails and the rest has one rate: the share follows from p and icc.
fn some_always_fail(p: f64, icc: f64) -> Vec<Point> {
    let odds = icc * (1.0 - p) / p;
    let share = odds / (1.0 + odds);
    vec![
        Point::new(0.0, share),
        Point::new(p / (1.0 - share), 1.0 - share),
    ]
}

/// Half of the tasks above and half below p, where that is possible.
fn two_point(p: f64, icc: f64) -> Option<Vec<Point>> {
    let spread = (icc * p * (1.0 - p)).sqrt();
    (p + spread <= 1.0 && p >= spread)
        .then(|| vec![Point::new(p - spread, 0.5), Point::new(p + spread, 0.5)])
}

/// METHODS 1.5: few tasks always fail, the rest pass at .5–.97. The expected number of failing
/// tasks runs through the values at which such a task is easily not seen.
fn always_fail() -> Vec<Cell> {
    let mut cells = vec![];
    for g in [10u32, 30, 100, 300] {
        for m in [5u32, 20, 200] {
            for rest in [0.5, 0.8, 0.9, 0.97] {
                for expected in [0.5, 1.0, 1.5, 2.0, 2.4, 2.8, 3.2, 4.0, 5.0] {
                    let share = (expected / f64::from(g)).min(0.5);
                    let points = vec![Point::new(0.0, share), Point::new(rest, 1.0 - share)];
                    let name = format!("G={g} m={m} rest={rest} failing={expected}/G");
                    cells.push(Cell::points(g, m, points).named(name));
                }
            }
        }
    }
    cells
}

/// METHODS 1.5: tasks pass nearly always or nearly never.
fn bimodal() -> Vec<Cell> {
    let mut cells = vec![];
    for g in [5u32, 10, 20, 50, 100, 300] {
        for m in [3u32, 10, 50] {
            for share in [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7] {
                let points = vec![Point::new(0.97, 1.0 - share), Point::new(0.05, share)];
                let name = format!("G={g} m={m} low={share}");
                cells.push(Cell::points(g, m, points).named(name));
            }
        }
    }
    cells
}

/// METHODS 1.5: trials depend on difficulty, with equal task weights and with trial weights.
fn difficulty() -> Vec<Cell> {
    let mut cells = vec![];
    for weights in [CellWeights::EqualTask, CellWeights::Trials] {
        for g in [20u32, 50, 100, 300] {
            for (easy, hard) in [(2u32, 20u32), (20, 2), (1, 30), (5, 10)] {
                for share in [0.1, 0.3] {
                    let point = |theta, mass, trials| Point {
                        trials: Some(trials),
                        ..Point::new(theta, mass)
                    };
                    let points = vec![point(0.95, 1.0 - share, easy), point(0.3, share, hard)];
                    let cell = ScoreCell {
                        weights,
                        ..scores(g, easy, points)
                    };
                    let name = format!("G={g} easy={easy} hard={hard} share={share} {weights:?}");
                    cells.push(Cell::Scores(cell).named(name));
                }
            }
        }
    }
    cells
}

fn scores(units: u32, trials: u32, points: Vec<Point>) -> ScoreCell {
    ScoreCell::of(units, trials, Types::Points(points))
}

/// METHODS 1.5: random clusters of equal size, of random size, and larger when harder.
fn clusters() -> Vec<Cell> {
    let mut cells = vec![];
    for units in [5u32, 10, 20, 30] {
        for m in [1u32, 5] {
            for p in [0.5, 0.8, 0.95] {
                for (label, easy, hard) in [
                    ("equal", [8, 8], [8, 8]),
                    ("random", [1, 60], [1, 60]),
                    ("harder", [1, 18], [1, 60]),
                ] {
                    let point = |theta, mass, size| Point {
                        size: Some(size),
                        ..Point::new(theta, mass)
                    };
                    let points = vec![point(0.98, p, easy), point(0.2, 1.0 - p, hard)];
                    let cell = Cell::Scores(scores(units, m, points));
                    cells.push(cell.named(format!("U={units} m={m} p={p} {label}")));
                }
            }
        }
    }
    cells
}

/// METHODS 6.2: tasks × trials × rate of A × heterogeneity × what changes in B.
fn differences() -> Vec<Cell> {
    let mut cells = vec![];
    for g in [5u32, 10, 20, 50, 200, 1000] {
        for m in if g >= 1000 {
            vec![1u32, 10]
        } else {
            vec![1, 3, 10, 30]
        } {
            for p in [0.5, 0.8, 0.95, 0.99] {
                for (shape, base) in bases(p) {
                    for change in CHANGES {
                        let points = base.iter().flat_map(|x| changed(*x, change)).collect();
                        let name = format!("G={g} m={m} p={p} {shape} {change}");
                        cells.push(Cell::points(g, m, points).named(name));
                    }
                }
            }
        }
    }
    cells
}

const CHANGES: [&str; 5] = [
    "none",
    "all-lower",
    "5%-break",
    "20%-break",
    "10%-break-10%-gain",
];

fn bases(p: f64) -> Vec<(&'static str, Vec<Point>)> {
    vec![
        ("equal", vec![Point::new(p, 1.0)]),
        ("spread", some_always_fail(p, 0.5)),
        (
            "all-or-nothing",
            vec![Point::new(1.0, p), Point::new(0.0, 1.0 - p)],
        ),
    ]
}

/// One type of task in A, split by what becomes of it in B.
fn changed(point: Point, change: &str) -> Vec<Point> {
    let theta = point.theta;
    let to = |theta_b: f64, share: f64| Point::pair(theta, theta_b, point.mass * share);
    match change {
        "all-lower" => vec![to(theta * 0.9, 1.0)],
        "5%-break" => vec![to(theta, 0.95), to(0.0, 0.05)],
        "20%-break" => vec![to(theta, 0.8), to(0.0, 0.2)],
        "10%-break-10%-gain" => vec![to(theta, 0.8), to(0.0, 0.1), to(1.0, 0.1)],
        _ => vec![to(theta, 1.0)],
    }
}

/// METHODS 6.2: one full break among ties or small gains, and 90 % of tasks breaking.
fn breaks() -> Vec<Cell> {
    let mut cells = vec![];
    for g in [5u32, 10, 20, 50, 100, 200] {
        for m in [1u32, 10] {
            for gain in [0.0, 0.02] {
                for expected in [0.5, 1.0, 2.0, 2.77, 3.5, 5.0] {
                    let share = (expected / f64::from(g)).min(0.9);
                    let points = vec![
                        Point::pair(1.0 - gain, 1.0, 1.0 - share),
                        Point::pair(1.0, 0.0, share),
                    ];
                    let name = format!("G={g} m={m} gain={gain} breaking={expected}/G");
                    cells.push(Cell::points(g, m, points).named(name));
                }
            }
            let points = vec![Point::pair(1.0, 1.0, 0.1), Point::pair(1.0, 0.0, 0.9)];
            cells.push(Cell::points(g, m, points).named(format!("G={g} m={m} 90%-break")));
        }
    }
    cells
}

/// METHODS 6.2: random clusters, unrelated to the difference or larger where they break, with equal
/// task and equal cluster weights.
fn difference_clusters() -> Vec<Cell> {
    let mut cells = vec![];
    for weights in [CellWeights::EqualTask, CellWeights::EqualCluster] {
        for units in [5u32, 8, 15, 30, 60, 120] {
            for share in [0.1, 0.3] {
                for (label, whole, broken) in [
                    ("equal", [8, 8], [8, 8]),
                    ("random", [1, 60], [1, 60]),
                    ("larger-where-broken", [1, 17], [1, 60]),
                ] {
                    let point = |a, b, mass, size| Point {
                        size: Some(size),
                        ..Point::pair(a, b, mass)
                    };
                    let points = vec![
                        point(0.9, 0.9, 1.0 - share, whole),
                        point(0.9, 0.1, share, broken),
                    ];
                    let cell = ScoreCell {
                        weights,
                        ..scores(units, 3, points)
                    };
                    let name = format!("U={units} breaking={share} {label} {weights:?}");
                    cells.push(Cell::Scores(cell).named(name));
                }
            }
        }
    }
    cells
}

/// METHODS 4: lognormal amounts, at three quantiles and with three spreads of the change.
fn amounts() -> Vec<Cell> {
    let mut cells = vec![];
    for units in [5u32, 10, 20, 50, 100, 200] {
        for trials in [1u32, 5] {
            for (sd_task, sd_trial) in [(0.0, 0.7), (0.7, 0.3), (1.5, 0.5)] {
                for (tau, sd_change) in [(0.5, 0.2), (0.9, 0.5), (0.95, 1.0)] {
                    let name = format!(
                        "G={units} m={trials} sd={sd_task}/{sd_trial} tau={tau} change={sd_change}"
                    );
                    cells.push(Cell::Amounts(AmountCell {
                        name: Some(name),
                        units,
                        trials,
                        sd_task,
                        sd_trial,
                        sd_change,
                        ratio: 1.2,
                        tau,
                    }));
                }
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grid_can_exist_and_has_no_name_twice() {
        for name in NAMES {
            let cells = named(name).unwrap();
            let mut seen = std::collections::BTreeSet::new();
            for cell in &cells {
                cell.check().unwrap();
                assert!(seen.insert(cell.name()), "{}", cell.name());
            }
            assert!(!cells.is_empty());
        }
        assert!(named("none").is_err());
    }

    #[test]
    fn shapes_have_the_mean_and_correlation_they_claim() {
        for p in RATES {
            for icc in ICC {
                for points in [Some(some_always_fail(p, icc)), two_point(p, icc)]
                    .into_iter()
                    .flatten()
                {
                    let mean: f64 = points.iter().map(|x| x.mass * x.theta).sum();
                    let var: f64 = points
                        .iter()
                        .map(|x| x.mass * (x.theta - mean).powi(2))
                        .sum();
                    assert!((mean - p).abs() < 1e-12);
                    assert!((var / (p * (1.0 - p)) - icc).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn types_is_closed() {
        let bad =
            r#"{"scores": {"units": 5, "trials": 5, "types": {"beta": {"p": 0.5, "rho": 1}}}}"#;
        assert!(serde_json::from_str::<Cell>(bad).is_err());
        assert!(
            matches!(Cell::beta(5, 5, 0.5, 0.5), Cell::Scores(c) if matches!(c.types, Types::Beta { .. }))
        );
    }
}
