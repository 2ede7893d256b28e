//! Agreement by enumeration of pairs, and standard errors by numerical derivatives.

use assize::stats::agreement::{
    Measurement, Ratings, Table, Weights, cohen_kappa, fleiss_kappa, gwet, kendall_tau_b,
    krippendorff_alpha, spearman,
};
use proptest::prelude::*;

use super::{derivative, near};

const WEIGHTS: [Weights; 3] = [Weights::Nominal, Weights::Linear, Weights::Quadratic];
const LEVELS: [Measurement; 4] = [
    Measurement::Nominal,
    Measurement::Ordinal,
    Measurement::Interval,
    Measurement::Ratio,
];

fn weight(kind: Weights, i: usize, j: usize, k: usize) -> f64 {
    let apart = (i as f64 - j as f64).abs() / (k as f64 - 1.0);
    match kind {
        Weights::Nominal => f64::from(u8::from(i == j)),
        Weights::Linear => 1.0 - apart,
        Weights::Quadratic => 1.0 - apart * apart,
    }
}

/// Kappa of cell shares that need not sum to 1.
fn kappa_of(shares: &[f64], k: usize, kind: Weights) -> f64 {
    let total: f64 = shares.iter().sum();
    let p = |i: usize, j: usize| shares[i * k + j] / total;
    let (mut observed, mut expected) = (0.0, 0.0);
    for i in 0..k {
        for j in 0..k {
            observed += weight(kind, i, j, k) * p(i, j);
            // Any two items, one for each rater: chance pairs them.
            for a in 0..k {
                for b in 0..k {
                    expected += weight(kind, i, b, k) * p(i, j) * p(a, b);
                }
            }
        }
    }
    (observed - expected) / (1.0 - expected)
}

fn units() -> impl Strategy<Value = Vec<Vec<Option<f64>>>> {
    let rating = prop_oneof![1 => Just(None), 4 => (0u8..5).prop_map(|v| Some(f64::from(v)))];
    (2usize..6).prop_flat_map(move |raters| {
        prop::collection::vec(prop::collection::vec(rating.clone(), raters), 2..14)
    })
}

fn ratings(units: &[Vec<Option<f64>>], scale: &[f64]) -> Ratings {
    Ratings::on_scale(units.iter().map(Vec::as_slice), scale).unwrap()
}

/// Alpha from the coincidence matrix, with every distance as its definition writes it.
fn alpha_by_coincidences(units: &[Vec<Option<f64>>], level: Measurement) -> Option<f64> {
    let mut o = [[0.0; 5]; 5];
    for unit in units {
        let given: Vec<usize> = unit.iter().flatten().map(|v| *v as usize).collect();
        for (a, &c) in given.iter().enumerate() {
            for (b, &k) in given.iter().enumerate() {
                if a != b {
                    o[c][k] += 1.0 / (given.len() as f64 - 1.0);
                }
            }
        }
    }
    let n: Vec<f64> = o.iter().map(|row| row.iter().sum()).collect();
    let total: f64 = n.iter().sum();
    let distance = |c: usize, k: usize| -> f64 {
        let (low, high) = (c.min(k), c.max(k));
        match level {
            _ if c == k => 0.0,
            Measurement::Nominal => 1.0,
            Measurement::Ordinal => {
                (n[low..=high].iter().sum::<f64>() - (n[low] + n[high]) / 2.0).powi(2)
            }
            Measurement::Interval => (c as f64 - k as f64).powi(2),
            Measurement::Ratio => ((c as f64 - k as f64) / (c as f64 + k as f64)).powi(2),
        }
    };
    let (mut observed, mut expected) = (0.0, 0.0);
    for c in 0..5 {
        for k in 0..5 {
            observed += o[c][k] * distance(c, k);
            expected += n[c] * n[k] * distance(c, k) / (total - 1.0);
        }
    }
    (total > 0.0 && expected > 0.0).then(|| 1.0 - observed / expected)
}

/// Gwet's coefficient with a weight per unit, from pairs of ratings.
///
/// As in Gwet's own variance, the share of units with two ratings is fixed while weights move.
fn gwet_of(units: &[Vec<Option<f64>>], unit_weights: &[f64], kind: Weights) -> Option<f64> {
    let q = 5;
    let (mut agreed, mut pairable, mut rated) = (0.0, 0.0, 0.0);
    let mut shares = vec![0.0; q];
    for (unit, &w) in units.iter().zip(unit_weights) {
        let given: Vec<usize> = unit.iter().flatten().map(|v| *v as usize).collect();
        let m = given.len() as f64;
        if given.is_empty() {
            continue;
        }
        rated += w;
        given.iter().for_each(|&c| shares[c] += w / m);
        if given.len() > 1 {
            pairable += w;
            for (a, &c) in given.iter().enumerate() {
                for (b, &k) in given.iter().enumerate() {
                    if a != b {
                        agreed += w * weight(kind, c, k, q) / (m * (m - 1.0));
                    }
                }
            }
        }
    }
    let all: f64 = (0..q)
        .flat_map(|i| (0..q).map(move |j| weight(kind, i, j, q)))
        .sum();
    let spread: f64 = shares.iter().map(|s| s / rated * (1.0 - s / rated)).sum();
    let expected = all * spread / (q as f64 * (q as f64 - 1.0));
    let two = |unit: &&Vec<Option<f64>>| unit.iter().flatten().count() > 1;
    let one = |unit: &&Vec<Option<f64>>| unit.iter().flatten().count() > 0;
    let fixed = units.iter().filter(two).count() as f64 / units.iter().filter(one).count() as f64;
    let (a, b) = (agreed / (rated * fixed), pairable / (rated * fixed));
    (pairable > 0.0).then(|| (a - expected * b) / (1.0 - expected))
}

fn tau_by_pairs(x: &[f64], y: &[f64]) -> Option<f64> {
    let (mut difference, mut of_x, mut of_y) = (0.0, 0.0f64, 0.0f64);
    for i in 0..x.len() {
        for j in 0..i {
            let sign = |a: f64| if a == 0.0 { 0.0 } else { a.signum() };
            let (a, b) = (sign(x[i] - x[j]), sign(y[i] - y[j]));
            difference += a * b;
            of_x += a * a;
            of_y += b * b;
        }
    }
    (of_x > 0.0 && of_y > 0.0).then(|| difference / (of_x * of_y).sqrt())
}

fn rho_by_ranks(x: &[f64], y: &[f64]) -> Option<f64> {
    let rank = |v: &[f64]| -> Vec<f64> {
        let below = |a: f64| v.iter().filter(|b| **b < a).count() as f64;
        let same = |a: f64| v.iter().filter(|b| **b == a).count() as f64;
        v.iter()
            .map(|&a| below(a) + (same(a) + 1.0) / 2.0)
            .collect()
    };
    let (rx, ry) = (rank(x), rank(y));
    let middle = (x.len() as f64 + 1.0) / 2.0;
    let cross = |a: &[f64], b: &[f64]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - middle) * (b - middle))
            .sum()
    };
    let scale = (cross(&rx, &rx) * cross(&ry, &ry)).sqrt();
    (scale > 0.0).then(|| cross(&rx, &ry) / scale)
}

proptest! {
    #[test]
    fn kappa_and_its_error_by_enumeration(cells in prop::collection::vec(0u32..30, 9)) {
        let rows: Vec<Vec<u32>> = cells.chunks(3).map(<[u32]>::to_vec).collect();
        let shares: Vec<f64> = cells.iter().map(|&c| f64::from(c)).collect();
        let n: f64 = shares.iter().sum();
        for kind in WEIGHTS {
            let Ok(got) = cohen_kappa(&Table::new(&rows).unwrap(), kind) else { continue };
            prop_assert!(near(got.kappa, kappa_of(&shares, 3, kind), 1e-10));
            // The delta method on the cell shares of a multinomial.
            let slopes: Vec<f64> = (0..9)
                .map(|cell| derivative(|h| {
                    let mut moved: Vec<f64> = shares.iter().map(|s| s / n).collect();
                    moved[cell] += h;
                    kappa_of(&moved, 3, kind)
                }, 0.0))
                .collect();
            let mean: f64 = slopes.iter().zip(&shares).map(|(g, s)| g * s / n).sum();
            let square: f64 = slopes.iter().zip(&shares).map(|(g, s)| g * g * s / n).sum();
            let se = ((square - mean * mean).max(0.0) / n).sqrt();
            prop_assert!((got.se - se).abs() < 1e-5 * se.max(1.0), "{} {}", got.se, se);
        }
    }

    #[test]
    fn fleiss_by_pairs(rows in prop::collection::vec(prop::collection::vec(0usize..4, 5), 2..12)) {
        let counts: Vec<Vec<u32>> = rows
            .iter()
            .map(|row| (0..4).map(|c| row.iter().filter(|v| **v == c).count() as u32).collect())
            .collect();
        let all: Vec<usize> = rows.concat();
        let same = |a: &[usize], b: &[usize]| -> f64 {
            a.iter().flat_map(|x| b.iter().map(move |y| f64::from(u8::from(x == y)))).sum()
        };
        let observed: f64 =
            rows.iter().map(|r| (same(r, r) - 5.0) / 20.0).sum::<f64>() / rows.len() as f64;
        let expected = same(&all, &all) / (all.len() * all.len()) as f64;
        match fleiss_kappa(&counts) {
            Ok(kappa) => prop_assert!(near(kappa, (observed - expected) / (1.0 - expected), 1e-10)),
            Err(_) => prop_assert!(expected > 1.0 - 1e-9),
        }
    }

    #[test]
    fn alpha_by_coincidence_matrix(units in units()) {
        let ratings = ratings(&units, &[]);
        for level in LEVELS {
            let got = krippendorff_alpha(&ratings, level).ok();
            match (got, alpha_by_coincidences(&units, level)) {
                (Some(a), Some(b)) => prop_assert!(near(a, b, 1e-10), "{level:?}: {a} {b}"),
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }

    #[test]
    fn gwet_and_its_error_by_pairs(units in units()) {
        let ratings = ratings(&units, &[0.0, 1.0, 2.0, 3.0, 4.0]);
        for kind in WEIGHTS {
            let ones = vec![1.0; units.len()];
            let slow = gwet_of(&units, &ones, kind);
            let Ok(got) = gwet(&ratings, kind) else {
                prop_assert_eq!(slow, None);
                continue;
            };
            prop_assert!(near(got.coefficient, slow.unwrap(), 1e-10));
            // The influence of a unit is the slope in its weight.
            let n = got.units as f64;
            let square: f64 = (0..units.len())
                .map(|unit| n * derivative(|h| {
                    let mut moved = ones.clone();
                    moved[unit] += h;
                    gwet_of(&units, &moved, kind).unwrap()
                }, 0.0))
                .map(|influence| influence * influence)
                .sum();
            if let Some(se) = got.se {
                let slow = (square / (n * (n - 1.0))).sqrt();
                prop_assert!((se - slow).abs() < 1e-6 * slow.max(1.0), "{se} {slow}");
            }
        }
    }

    #[test]
    fn rank_correlations_by_pairs(pairs in prop::collection::vec((-3i32..4, -3i32..4), 2..40)) {
        let x: Vec<f64> = pairs.iter().map(|p| f64::from(p.0)).collect();
        let y: Vec<f64> = pairs.iter().map(|p| f64::from(p.1) / 7.0).collect();
        match (kendall_tau_b(&x, &y), tau_by_pairs(&x, &y)) {
            (Ok(a), Some(b)) => prop_assert!(near(a, b, 1e-12), "{a} {b}"),
            (a, b) => prop_assert_eq!(a.ok(), b),
        }
        match (spearman(&x, &y), rho_by_ranks(&x, &y)) {
            (Ok(a), Some(b)) => prop_assert!(near(a, b, 1e-12), "{a} {b}"),
            (a, b) => prop_assert_eq!(a.ok(), b),
        }
    }
}
