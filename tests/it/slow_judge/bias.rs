//! Bias probes by dense matrices and enumeration; panels by plain probabilities.

use assize::stats::Level;
use assize::stats::alt_test::{AltTestPlan, Scoring, alt_test};
use assize::stats::judge_bias::{
    Winner, length_bias_slope, position_swap, score_errors, self_consistency, self_preference_did,
};
use assize::stats::panel::{Given, Vote, dawid_skene, majority_vote};
use proptest::prelude::*;

use super::{integral, near, root};

type Matrix = Vec<Vec<f64>>;

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let cell = |row: &Vec<f64>, c: usize| row.iter().zip(b).map(|(x, other)| x * other[c]).sum();
    a.iter()
        .map(|row| (0..b[0].len()).map(|c| cell(row, c)).collect())
        .collect()
}

fn transpose(a: &Matrix) -> Matrix {
    (0..a[0].len())
        .map(|c| a.iter().map(|row| row[c]).collect())
        .collect()
}

fn identity(n: usize) -> Matrix {
    (0..n)
        .map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect())
        .collect()
}

/// Inverse square root of a symmetric matrix by Jacobi rotations; directions without a value are left
/// out, as a pseudo-inverse does.
fn inverse_root(matrix: &Matrix) -> Matrix {
    let n = matrix.len();
    let mut a = matrix.clone();
    let mut v = identity(n);
    for _ in 0..12 {
        for p in 0..n {
            for q in p + 1..n {
                let angle = 0.5 * (2.0 * a[p][q]).atan2(a[p][p] - a[q][q]);
                let (s, c) = angle.sin_cos();
                // The rotation in the plane of p and q, as a whole matrix.
                let mut rotation: Matrix = identity(n);
                (rotation[p][p], rotation[q][q]) = (c, c);
                (rotation[p][q], rotation[q][p]) = (-s, s);
                a = product(&product(&transpose(&rotation), &a), &rotation);
                v = product(&v, &rotation);
            }
        }
    }
    let scaled = |k: usize| {
        if a[k][k] > 1e-9 {
            1.0 / a[k][k].sqrt()
        } else {
            0.0
        }
    };
    let diagonal: Matrix = (0..n)
        .map(|i| {
            (0..n)
                .map(|j| if i == j { scaled(i) } else { 0.0 })
                .collect()
        })
        .collect();
    product(&product(&v, &diagonal), &transpose(&v))
}

/// Slope, CR2 standard error and Satterthwaite degrees of freedom with n-by-n matrices.
fn dense_cr2(error: &[f64], length: &[f64], task: &[u32]) -> (f64, f64, f64) {
    let n = error.len();
    let x: Matrix = length.iter().map(|&l| vec![1.0, l]).collect();
    let gram = product(&transpose(&x), &x);
    let det = gram[0][0] * gram[1][1] - gram[0][1] * gram[1][0];
    let inverse = vec![
        vec![gram[1][1] / det, -gram[0][1] / det],
        vec![-gram[1][0] / det, gram[0][0] / det],
    ];
    let y: Matrix = error.iter().map(|&e| vec![e]).collect();
    let beta = product(&inverse, &product(&transpose(&x), &y));
    let fitted = product(&x, &beta);
    let hat = product(&product(&x, &inverse), &transpose(&x));
    let mut names = task.to_vec();
    names.sort_unstable();
    names.dedup();
    let mut variance = 0.0;
    let mut directions: Matrix = vec![];
    for name in names {
        let members: Vec<usize> = (0..n).filter(|&i| task[i] == name).collect();
        let rest: Matrix = members
            .iter()
            .map(|&i| {
                members
                    .iter()
                    .map(|&j| f64::from(u8::from(i == j)) - hat[i][j])
                    .collect()
            })
            .collect();
        let own: Matrix = members.iter().map(|&i| x[i].clone()).collect();
        let adjusted = product(&product(&inverse_root(&rest), &own), &inverse);
        let score: f64 = members
            .iter()
            .zip(&adjusted)
            .map(|(&i, a)| a[1] * (error[i] - fitted[i][0]))
            .sum();
        variance += score * score;
        // Column of (I − H) restricted to the task, times the adjusted direction.
        let direction = (0..n).map(|row| {
            let cell =
                |(&i, a): (&usize, &Vec<f64>)| (f64::from(u8::from(row == i)) - hat[row][i]) * a[1];
            members.iter().zip(&adjusted).map(cell).sum()
        });
        directions.push(direction.collect());
    }
    let inner = product(&directions, &transpose(&directions));
    let trace: f64 = (0..inner.len()).map(|i| inner[i][i]).sum();
    let square: f64 = inner.iter().flatten().map(|v| v * v).sum();
    (beta[1][0], variance.sqrt(), trace * trace / square)
}

/// Upper tail of Student's t by integration of its density.
fn t_tail(t: f64, df: f64) -> f64 {
    let density = |x: f64| (1.0 + x * x / df).powf(-(df + 1.0) / 2.0);
    // Normalised numerically: x = tan u covers the whole line.
    let over = |from: f64| {
        integral(
            |u| density(u.tan()) / u.cos().powi(2),
            from.atan(),
            std::f64::consts::FRAC_PI_2 - 1e-9,
            4000,
        )
    };
    over(t) / (2.0 * over(0.0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn length_bias_by_dense_matrices(
        rows in prop::collection::vec((0u32..6, -10i32..10, 20u32..70), 8..24),
    ) {
        let task: Vec<u32> = rows.iter().map(|r| r.0).collect();
        let error: Vec<f64> = rows.iter().map(|r| f64::from(r.1) / 10.0).collect();
        let length: Vec<f64> = rows.iter().map(|r| f64::from(r.2) / 10.0).collect();
        let Ok(got) = length_bias_slope(&error, &length, &task) else { return Ok(()) };
        let (slope, se, df) = dense_cr2(&error, &length, &task);
        prop_assert!(near(got.slope, slope, 1e-8), "{} {}", got.slope, slope);
        prop_assert!(near(got.se, se, 1e-7), "{} {}", got.se, se);
        prop_assert!(near(got.df, df, 1e-6), "{} {}", got.df, df);
        prop_assert!((got.p - 2.0 * t_tail((slope / se).abs(), df)).abs() < 1e-4);
    }

    #[test]
    fn self_preference_from_four_scores(
        items in prop::collection::vec(((0u8..11, 0u8..11), (0u8..11, 0u8..11)), 3..20),
    ) {
        // Judge and human on the judge's own answer, and on the other's.
        let gap = |(judge, human): (u8, u8)| (f64::from(judge) - f64::from(human)) / 10.0;
        let own: Vec<f64> = items.iter().map(|i| gap(i.0)).collect();
        let other: Vec<f64> = items.iter().map(|i| gap(i.1)).collect();
        let got = self_preference_did(&own, &other, Level::p95()).unwrap();
        let n = items.len() as f64;
        let whole = |((a, b), (c, d)): ((u8, u8), (u8, u8))| i32::from(a) - i32::from(b) - i32::from(c) + i32::from(d);
        let tenths: Vec<i32> = items.iter().map(|i| whole(*i)).collect();
        let mean = f64::from(tenths.iter().sum::<i32>()) / n / 10.0;
        prop_assert!(near(got.estimate.unwrap(), mean, 1e-12));
        // Half the squared gaps over all ordered pairs, in whole numbers.
        let squares: i32 = tenths.iter().flat_map(|x| tenths.iter().map(move |y| (x - y).pow(2))).sum();
        let se = (f64::from(squares) / (2.0 * n * (n - 1.0)) / 100.0 / n).sqrt();
        prop_assert_eq!(got.lower.is_some(), squares > 0);
        if let (Some(lower), Some(upper), Some(p)) = (got.lower, got.upper, got.p) {
            let t = root(|t| 0.025 - t_tail(t, n - 1.0), 0.0, 100.0);
            prop_assert!(near(lower, mean - t * se, 1e-5) && near(upper, mean + t * se, 1e-5), "{got:?} {t} {se}");
            prop_assert!(near(p, 2.0 * t_tail((mean / se).abs(), n - 1.0), 1e-5));
        }
        let errors = score_errors(&own, &other).unwrap();
        let absolute = f64::from(tenths.iter().map(|t| t.abs()).sum::<i32>()) / n / 10.0;
        prop_assert!(near(errors.mean_signed, mean, 1e-12) && near(errors.mean_absolute, absolute, 1e-12));
    }

    #[test]
    fn flips_by_summing_the_binomial(first in 0u64..40, second in 0u64..40) {
        let mut pairs = vec![(Some(Winner::A), Some(Winner::B)); first as usize];
        pairs.extend(vec![(Some(Winner::B), Some(Winner::A)); second as usize]);
        let n = first + second;
        let mut mass = vec![1.0];
        for _ in 0..n {
            let mut next = vec![0.0; mass.len() + 1];
            for (k, p) in mass.iter().enumerate() {
                next[k] += p / 2.0;
                next[k + 1] += p / 2.0;
            }
            mass = next;
        }
        // Every outcome that is at most as probable as the observed one.
        let observed = mass[first as usize];
        let p: f64 = mass.iter().filter(|m| **m <= observed * (1.0 + 1e-9)).sum();
        match position_swap(&pairs).p {
            Some(got) => prop_assert!(near(got, p.min(1.0), 1e-10), "{got} {p}"),
            None => prop_assert_eq!(n, 0),
        }
    }

    #[test]
    fn repeats_by_pairs(repeats in prop::collection::vec(prop::collection::vec(prop::option::of(0u32..3), 0..6), 1..8)) {
        let pair_share = |item: &Vec<Option<u32>>| {
            let given: Vec<u32> = item.iter().flatten().copied().collect();
            let pairs = given.iter().enumerate().flat_map(|(i, a)| given[..i].iter().map(move |b| a == b));
            let all: Vec<bool> = pairs.collect();
            (!all.is_empty()).then(|| all.iter().filter(|same| **same).count() as f64 / all.len() as f64)
        };
        let shares: Vec<f64> = repeats.iter().filter_map(pair_share).collect();
        match self_consistency(&repeats) {
            Ok(got) => {
                let mean = shares.iter().sum::<f64>() / shares.len() as f64;
                prop_assert!(near(got.pairwise_agreement, mean, 1e-12));
            }
            Err(_) => prop_assert!(shares.is_empty()),
        }
    }

    #[test]
    fn majority_by_counting(votes in prop::collection::vec(prop::option::of(0u32..4), 0..9)) {
        let count = |class: u32| votes.iter().filter(|v| **v == Some(class)).count();
        let most = (0..4).map(count).max().unwrap();
        let winners: Vec<u32> = (0..4).filter(|c| count(*c) == most).collect();
        let expected = match (most, winners.as_slice()) {
            (0, _) => Vote::NoVotes,
            (_, [winner]) => Vote::Majority(*winner),
            _ => Vote::Tie,
        };
        prop_assert_eq!(majority_vote(&votes), expected);
    }

    #[test]
    fn dawid_skene_by_plain_probabilities(
        labels in prop::collection::vec(prop::collection::vec(0usize..2, 4), 6..20),
    ) {
        // One step of the model from the library's own answer must not move it.
        let given: Vec<Given> = labels
            .iter()
            .enumerate()
            .flat_map(|(item, row)| row.iter().enumerate().map(move |(rater, &class)| Given { item, rater, class }))
            .collect();
        let got = dawid_skene(&given, 2, 5000).unwrap();
        prop_assume!(got.converged);
        for (item, row) in labels.iter().enumerate() {
            let joint: Vec<f64> = (0..2)
                .map(|truth| {
                    let seen = row.iter().enumerate().map(|(rater, &class)| {
                        got.confusion[rater][truth].as_ref().map_or(0.0, |c| c[class])
                    });
                    got.prior[truth] * seen.product::<f64>()
                })
                .collect();
            let total: f64 = joint.iter().sum();
            let posterior = got.posterior[item].as_ref().unwrap();
            prop_assert!((joint[1] / total - posterior[1]).abs() < 1e-6);
        }
        let share = got.posterior.iter().map(|p| p.as_ref().unwrap()[1]).sum::<f64>() / labels.len() as f64;
        prop_assert!((share - got.prior[1]).abs() < 1e-6);
    }

    #[test]
    fn alt_test_by_hand(
        rows in prop::collection::vec((0u8..3, 0u8..3, 0u8..3, 0u8..3), 30..60),
        epsilon in prop_oneof![Just(0.1), Just(0.2)],
    ) {
        let column = |f: fn(&(u8, u8, u8, u8)) -> u8| -> Vec<Option<f64>> {
            rows.iter().map(|r| Some(f64::from(f(r)))).collect()
        };
        let humans = vec![column(|r| r.0), column(|r| r.1), column(|r| r.2)];
        let judge = column(|r| r.3);
        let plan = AltTestPlan { epsilon, q: 0.05, scoring: Scoring::Accuracy, fewest_items: 30 };
        let got = alt_test(&humans, &judge, &plan).unwrap();
        let n = rows.len() as f64;
        let mut p: Vec<f64> = vec![];
        for (human, answers) in humans.iter().enumerate() {
            let leads: Vec<f64> = (0..rows.len())
                .map(|i| {
                    let others = humans.iter().enumerate().filter(|(h, _)| *h != human);
                    let fits = |answer: Option<f64>| others.clone().filter(|(_, o)| o[i] == answer).count();
                    let (person, machine) = (fits(answers[i]), fits(judge[i]));
                    f64::from(u8::from(person >= machine)) - f64::from(u8::from(machine >= person))
                })
                .collect();
            let mean = leads.iter().sum::<f64>() / n;
            let variance = leads.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
            prop_assume!(variance > 0.0);
            let t = (epsilon - mean) / (variance / n).sqrt();
            p.push(if t >= 0.0 { t_tail(t, n - 1.0) } else { 1.0 - t_tail(-t, n - 1.0) });
        }
        for (human, p) in got.humans.iter().zip(&p) {
            prop_assert!((human.p - p).abs() < 1e-5, "{} {}", human.p, p);
        }
        // Benjamini and Yekutieli by their definition: the largest k with p_(k) ≤ k·q/(m·Σ1/i).
        let mut sorted = p.clone();
        sorted.sort_by(f64::total_cmp);
        let bar = |k: usize| (k + 1) as f64 * 0.05 / (3.0 * (1.0 + 0.5 + 1.0 / 3.0));
        prop_assume!((0..3).all(|k| (sorted[k] - bar(k)).abs() > 1e-4));
        let rejected = (0..3).rev().find(|&k| sorted[k] <= bar(k)).map_or(0, |k| k + 1);
        prop_assert!(near(got.winning_rate.unwrap(), rejected as f64 / 3.0, 1e-12));
    }
}
