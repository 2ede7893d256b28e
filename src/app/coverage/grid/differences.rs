//! Designs for the difference of two arms.

use super::rates::{scores, some_always_fail};
use crate::app::coverage::cell::{Cell, CellWeights, Point, ScoreCell};

/// METHODS 6.2: tasks × trials × rate of A × heterogeneity × what changes in B.
pub(super) fn differences() -> Vec<Cell> {
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
pub(super) fn breaks() -> Vec<Cell> {
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
pub(super) fn difference_clusters() -> Vec<Cell> {
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
