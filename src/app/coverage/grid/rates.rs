//! Designs for the rate of one arm.

use crate::app::coverage::cell::{Cell, CellWeights, Point, ScoreCell, Types};

pub(super) const RATES: [f64; 5] = [0.5, 0.8, 0.95, 0.99, 0.999];
pub(super) const ICC: [f64; 4] = [0.1, 0.3, 0.6, 0.9];

/// METHODS 1.5: tasks × trials × rate × intraclass correlation × shape. With one trial, or a
/// correlation of 0 or 1, all shapes are one.
pub(super) fn rates(tasks: &[u32], least_trials: u32) -> Vec<Cell> {
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
pub(super) fn some_always_fail(p: f64, icc: f64) -> Vec<Point> {
    let odds = icc * (1.0 - p) / p;
    let share = odds / (1.0 + odds);
    vec![
        Point::new(0.0, share),
        Point::new(p / (1.0 - share), 1.0 - share),
    ]
}

/// Half of the tasks above and half below p, where that is possible.
pub(super) fn two_point(p: f64, icc: f64) -> Option<Vec<Point>> {
    let spread = (icc * p * (1.0 - p)).sqrt();
    (p + spread <= 1.0 && p >= spread)
        .then(|| vec![Point::new(p - spread, 0.5), Point::new(p + spread, 0.5)])
}

/// METHODS 1.5: few tasks always fail, the rest pass at .5–.97. The expected number of failing
/// tasks runs through the values at which such a task is easily not seen.
pub(super) fn always_fail() -> Vec<Cell> {
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
pub(super) fn bimodal() -> Vec<Cell> {
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

/// METHODS 1.5: graded values in steps of a quarter or a tenth; all tasks alike, or some always at 0.
pub(super) fn graded() -> Vec<Cell> {
    let mut cells = vec![];
    for g in [10u32, 30, 100, 300] {
        for m in [1u32, 5] {
            for grades in [4u32, 10] {
                for (label, failing) in [("alike", 0.0), ("some-at-0", 0.1)] {
                    let points = vec![Point::new(0.0, failing), Point::new(0.9, 1.0 - failing)];
                    let cell = ScoreCell {
                        grades,
                        ..scores(g, m, points)
                    };
                    let name = format!("G={g} m={m} steps={grades} {label}");
                    cells.push(Cell::Scores(cell).named(name));
                }
            }
        }
    }
    cells
}

/// METHODS 1.5: trials depend on difficulty, with equal task weights and with trial weights.
pub(super) fn difficulty() -> Vec<Cell> {
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

pub(super) fn scores(units: u32, trials: u32, points: Vec<Point>) -> ScoreCell {
    ScoreCell::of(units, trials, Types::Points(points))
}

/// METHODS 1.5: random clusters of equal size, of random size, and larger when harder.
pub(super) fn clusters() -> Vec<Cell> {
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
