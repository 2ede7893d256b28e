//! Corrections by binomial sums, numerical derivatives and roots.

use assize::stats::Level;
use assize::stats::correction::{
    Inversion, JudgeLevel, JudgedTask, LabelDesign, LabelledPair, LevelScale, PairedTask,
    RectifiedTask, TaskFrame, TaskLabel, TaskLabelDesign, Transported, lang_reiczigel,
    post_stratified, post_stratified_levels, post_stratified_tasks, ppi_mean, ppi_paired_bp_hall,
    ppi_plus_plus_mean, rectified_mean, rogan_gladen_delta,
};
use assize::stats::units::Weights;
use proptest::prelude::*;

use super::{derivative, near, root};

const Z: f64 = 1.959_963_984_540_054;

/// Clopper–Pearson by bisection on summed binomial tails.
fn exact(x: u32, n: u32) -> (f64, f64) {
    let mass = |k: u32, p: f64| {
        let ways: f64 = (0..k)
            .map(|i| f64::from(n - i) / f64::from(i + 1))
            .product();
        ways * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
    };
    let upper_tail = |p: f64| (x..=n).map(|k| mass(k, p)).sum::<f64>();
    let lower_tail = |p: f64| (0..=x).map(|k| mass(k, p)).sum::<f64>();
    let low = if x == 0 {
        0.0
    } else {
        root(|p| upper_tail(p) - 0.025, 0.0, 1.0)
    };
    let high = if x == n {
        1.0
    } else {
        root(|p| 0.025 - lower_tail(p), 0.0, 1.0)
    };
    (low, high)
}

fn counts() -> impl Strategy<Value = (u32, u32, u32)> {
    (0u32..60).prop_flat_map(|judged| {
        (0..=judged.min(40)).prop_flat_map(move |labelled| {
            (0..=labelled).prop_map(move |positive| (judged, labelled, positive))
        })
    })
}

fn level((judged, labelled, positive): (u32, u32, u32)) -> JudgeLevel {
    JudgeLevel {
        judged: judged.into(),
        labelled: labelled.into(),
        positive: positive.into(),
    }
}

/// The formula of METHODS 9.2 term by term; (estimate, lower, upper).
fn stratified(levels: &[(u32, u32, u32)]) -> Option<(f64, f64, f64)> {
    let total: f64 = levels.iter().map(|l| f64::from(l.0)).sum();
    let used: Vec<_> = levels.iter().filter(|l| l.0 > 0).collect();
    if used.iter().all(|l| l.1 == 0) {
        return None;
    }
    let (mut p, mut square, mut down, mut up, mut h) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &&(judged, labelled, positive) in &used {
        let w = f64::from(judged) / total;
        let q = if labelled == 0 {
            0.5
        } else {
            f64::from(positive) / f64::from(labelled)
        };
        p += w * q;
        square += w * q * q;
        if labelled == 0 {
            h += w / 2.0;
        } else {
            let (low, high) = exact(positive, labelled);
            down += (w * (q - low)).powi(2);
            up += (w * (high - q)).powi(2);
        }
    }
    let v = Z * Z * ((square - p * p) / total).max(0.0);
    Some((
        p,
        (p - (down + v).sqrt() - h).max(0.0),
        (p + (up + v).sqrt() + h).min(1.0),
    ))
}

/// The merging rule by repeated scanning of the list, ordinal.
fn merged(levels: &[(u32, u32, u32)]) -> Vec<(u32, u32, u32)> {
    let mut list: Vec<_> = levels.iter().copied().filter(|l| l.0 > 0).collect();
    loop {
        let fewest = list.iter().map(|l| l.1).min().unwrap_or(5);
        if fewest >= 5 || list.len() < 2 {
            return list;
        }
        let at = list.iter().position(|l| l.1 == fewest).unwrap();
        let left = at.checked_sub(1).map(|i| list[i].1);
        let right = list.get(at + 1).map(|l| l.1);
        let first = match (left, right) {
            (Some(l), Some(r)) if l <= r => at - 1,
            (Some(_), None) => at - 1,
            _ => at,
        };
        let (a, b) = (list[first], list.remove(first + 1));
        list[first] = (a.0 + b.0, a.1 + b.1, a.2 + b.2);
    }
}

fn transported() -> impl Strategy<Value = Transported> {
    (
        1u32..400,
        5u32..150,
        5u32..150,
        0.0..1.0,
        0.6..1.0,
        0.6..1.0,
    )
        .prop_map(
            |(items, positives, negatives, a, se, sp): (u32, u32, u32, f64, f64, f64)| {
                let part = |whole: u32, share: f64| (f64::from(whole) * share).floor();
                Transported {
                    judge_positive: part(items, a),
                    items: items.into(),
                    true_positive: part(positives, se),
                    positives: positives.into(),
                    true_negative: part(negatives, sp),
                    negatives: negatives.into(),
                }
            },
        )
}

/// Standard error of (a + Sp − 1)/(Se + Sp − 1) by numerical slopes in its three shares.
fn slope_error(a: (f64, f64), se: (f64, f64), sp: (f64, f64)) -> f64 {
    let rate = |a: f64, se: f64, sp: f64| (a + sp - 1.0) / (se + sp - 1.0);
    let by_a = derivative(|x| rate(x, se.0, sp.0), a.0);
    let by_se = derivative(|x| rate(a.0, x, sp.0), se.0);
    let by_sp = derivative(|x| rate(a.0, se.0, x), sp.0);
    let term = |slope: f64, (p, n): (f64, f64)| slope * slope * p * (1.0 - p) / n;
    (term(by_a, a) + term(by_se, se) + term(by_sp, sp)).sqrt()
}

/// BP-Hall limits: pseudo-units appended, and the score inverted by bisection.
fn hall(differences: &[f64]) -> (f64, f64) {
    let mut d = differences.to_vec();
    d.extend([1.0, -1.0]);
    let n = d.len() as f64;
    let mean = d.iter().sum::<f64>() / n;
    let moment = |k: i32| d.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / n;
    let (s, gamma) = (moment(2).sqrt(), moment(3) / moment(2).powf(1.5));
    let gamma = if gamma.abs() < 1e-6 { 0.0 } else { gamma };
    let score = |theta: f64| {
        let t = (mean - theta) / s;
        n.sqrt() * (t + gamma * t * t / 3.0 + gamma * gamma * t.powi(3) / 27.0 + gamma / (6.0 * n))
    };
    (
        root(|theta| Z - score(theta), -50.0, 50.0),
        root(|theta| -Z - score(theta), -50.0, 50.0),
    )
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

fn variance(v: &[f64]) -> f64 {
    let m = mean(v);
    v.iter().map(|x| (x - m).powi(2)).sum::<f64>() / (v.len() - 1) as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn post_stratification_term_by_term(levels in prop::collection::vec(counts(), 2..5)) {
        let given: Vec<JudgeLevel> = levels.iter().copied().map(level).collect();
        let got = post_stratified(&given, Inversion::ClopperPearson, Level::p95()).unwrap().rate;
        match stratified(&levels) {
            Some((p, low, high)) => {
                prop_assert!(near(got.estimate.unwrap(), p, 1e-12));
                prop_assert!(near(got.lower.unwrap(), low, 1e-9), "{:?} {low}", got.lower);
                prop_assert!(near(got.upper.unwrap(), high, 1e-9), "{:?} {high}", got.upper);
            }
            None => prop_assert_eq!(got.estimate, None),
        }
        let got = post_stratified_levels(&given, LevelScale::Ordinal, LabelDesign::SimpleRandom, Level::p95()).unwrap();
        let (got, slow) = (got.stratified.rate, stratified(&merged(&levels)));
        prop_assert_eq!(got.estimate.is_some(), slow.is_some());
        if let Some((p, low, high)) = slow {
            prop_assert!(near(got.estimate.unwrap(), p, 1e-12));
            prop_assert!(near(got.lower.unwrap(), low, 1e-9) && near(got.upper.unwrap(), high, 1e-9));
        }
    }

    #[test]
    fn transported_rates_by_numerical_slopes(counts in transported()) {
        let share = |x: f64, n: f64| (x / n, n);
        let (a, se, sp) = (
            share(counts.judge_positive, counts.items),
            share(counts.true_positive, counts.positives),
            share(counts.true_negative, counts.negatives),
        );
        prop_assume!(se.0 + sp.0 - 1.0 > 0.1);
        let got = rogan_gladen_delta(&counts, Level::p95()).unwrap();
        prop_assert!(near(got.se.unwrap(), slope_error(a, se, sp), 1e-5));
        let z2 = Z * Z;
        let shrunk = |x: f64, n: f64, add: f64| ((x + add / 2.0) / (n + add), n + add);
        let a = shrunk(counts.judge_positive, counts.items, z2);
        let se = shrunk(counts.true_positive, counts.positives, 2.0);
        let sp = shrunk(counts.true_negative, counts.negatives, 2.0);
        prop_assume!(se.0 + sp.0 - 1.0 > 0.1);
        let p = (a.0 + sp.0 - 1.0) / (se.0 + sp.0 - 1.0);
        let shift = 2.0 * z2 * (p * se.0 * (1.0 - se.0) / se.1 - (1.0 - p) * sp.0 * (1.0 - sp.0) / sp.1);
        let half = Z * slope_error(a, se, sp);
        let got = lang_reiczigel(&counts, Level::p95()).unwrap();
        prop_assert!(near(got.lower.unwrap(), (p + shift - half).clamp(0.0, 1.0), 1e-5));
        prop_assert!(near(got.upper.unwrap(), (p + shift + half).clamp(0.0, 1.0), 1e-5));
    }

    #[test]
    fn powered_means_by_minimising(
        pairs in prop::collection::vec((0u8..5, 0u8..5), 4..40),
        elsewhere in prop::collection::vec(0u8..5, 2..60),
    ) {
        let scale = |v: u8| f64::from(v) / 4.0;
        let labels: Vec<f64> = pairs.iter().map(|p| scale(p.0)).collect();
        let judge: Vec<f64> = pairs.iter().map(|p| scale(p.1)).collect();
        let elsewhere: Vec<f64> = elsewhere.into_iter().map(scale).collect();
        let (n, big) = (labels.len() as f64, elsewhere.len() as f64);
        let spread = |v: &[f64]| v.iter().map(|x| (x - mean(v)).powi(2)).sum::<f64>() / v.len() as f64;
        let limits = |lambda: f64| {
            let errors: Vec<f64> = labels.iter().zip(&judge).map(|(h, j)| h - lambda * j).collect();
            let raw = lambda * mean(&elsewhere) + mean(&errors);
            let se = (lambda * lambda * spread(&elsewhere) / big + spread(&errors) / n).sqrt();
            (raw, raw - Z * se, raw + Z * se)
        };
        let pooled: Vec<f64> = judge.iter().chain(&elsewhere).copied().collect();
        let products: Vec<f64> = labels.iter().zip(&judge).map(|(h, j)| h * j).collect();
        let covariance = mean(&products) - mean(&labels) * mean(&judge);
        let v = variance(&pooled);
        prop_assume!(v > 0.0);
        // λ minimises the variance with one variance of the judge everywhere.
        let slope = |l: f64| 2.0 * l * v * (1.0 / n + 1.0 / big) - 2.0 * covariance / n;
        let best = root(slope, -10.0, 10.0).clamp(0.0, 1.0);
        for (got, lambda) in [
            (ppi_mean(&labels, &judge, &elsewhere, Level::p95()).unwrap(), 1.0),
            (ppi_plus_plus_mean(&labels, &judge, &elsewhere, Level::p95()).unwrap(), best),
        ] {
            let (raw, low, high) = limits(lambda);
            prop_assert!(near(got.lambda.unwrap(), lambda, 1e-9));
            prop_assert!(near(got.raw.unwrap(), raw, 1e-9));
            if let (Some(lower), Some(upper)) = (got.rate.lower, got.rate.upper) {
                prop_assert!(near(lower, low.clamp(0.0, 1.0), 1e-9));
                prop_assert!(near(upper, high.clamp(0.0, 1.0), 1e-9));
            } else {
                prop_assert!(high - low < 1e-9);
            }
        }
    }

    #[test]
    fn rectifiers_by_bisection(
        rows in prop::collection::vec((-2i8..3, prop::option::of((-2i8..3, -2i8..3))), 6..40),
    ) {
        let half = |v: i8| f64::from(v) / 2.0;
        let frame = TaskFrame { clusters: None, weights: &Weights::EqualTask };
        let all: Vec<f64> = rows.iter().map(|r| half(r.0)).collect();
        let pairs: Vec<(f64, f64)> = rows.iter().filter_map(|r| r.1).map(|(h, j)| (half(h), half(j))).collect();
        prop_assume!(pairs.len() > 2);
        let (big, n) = (all.len() as f64, pairs.len() as f64);
        let tasks: Vec<PairedTask> = rows
            .iter()
            .map(|r| PairedTask {
                judge: half(r.0),
                labelled: r.1.map(|(h, j)| LabelledPair { human: half(h), judge: half(j) }),
            })
            .collect();
        let got = ppi_paired_bp_hall(&tasks, &frame, Level::p95()).unwrap();
        let (h, j): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let covariance = pairs.iter().map(|(a, b)| (a - mean(&h)) * (b - mean(&j))).sum::<f64>() / (n - 1.0);
        let lambda = if variance(&all) > 0.0 { (covariance / variance(&all)).clamp(0.0, 1.0) } else { 0.0 };
        let rest: Vec<f64> = pairs.iter().map(|(a, b)| a - lambda * b).collect();
        let (low, high) = hall(&rest);
        let spread = Z * lambda * (variance(&all) / big).sqrt();
        let point = lambda * mean(&all) + mean(&rest);
        let down = ((mean(&rest) - low).powi(2) + spread * spread).sqrt();
        let up = ((high - mean(&rest)).powi(2) + spread * spread).sqrt();
        prop_assert!(near(got.lambda.unwrap(), lambda, 1e-10));
        prop_assert!(near(got.estimate.unwrap(), point.clamp(-1.0, 1.0), 1e-10));
        prop_assert!(near(got.lower.unwrap(), (point - down).max(-1.0), 1e-8));
        prop_assert!(near(got.upper.unwrap(), (point + up).min(1.0), 1e-8));

        // The same data as one arm's graded scores: judge in [0, 1], error human − judge.
        let graded: Vec<RectifiedTask> = rows
            .iter()
            .map(|r| RectifiedTask { judge: (half(r.0) + 1.0) / 2.0, error: r.1.map(|(h, j)| (half(h) - half(j)) / 2.0) })
            .collect();
        let got = rectified_mean(&graded, &frame, Level::p95()).unwrap();
        let scores: Vec<f64> = graded.iter().map(|t| t.judge).collect();
        let errors: Vec<f64> = graded.iter().filter_map(|t| t.error).collect();
        let (low, high) = hall(&errors);
        let spread = Z * (variance(&scores) / big).sqrt();
        let point = mean(&scores) + mean(&errors);
        let down = ((mean(&errors) - low).powi(2) + spread * spread).sqrt();
        let up = ((high - mean(&errors)).powi(2) + spread * spread).sqrt();
        prop_assert!(near(got.lower.unwrap(), (point - down).clamp(0.0, 1.0), 1e-8));
        prop_assert!(near(got.upper.unwrap(), (point + up).clamp(0.0, 1.0), 1e-8));
    }

    #[test]
    fn tasks_with_several_trials_term_by_term(
        rows in prop::collection::vec((prop::collection::vec(0u32..4, 3), prop::option::of((0usize..3, any::<bool>())), 1u8..4), 4..30),
        pool in any::<bool>(),
    ) {
        let tasks: Vec<JudgedTask> = rows
            .iter()
            .filter(|(trials, _, _)| trials.iter().sum::<u32>() > 0)
            .map(|(trials, label, _)| JudgedTask {
                trials: trials.clone(),
                label: label.filter(|(k, _)| trials[*k] > 0).map(|(level, y)| TaskLabel { level, positive: f64::from(u8::from(y)) }),
            })
            .collect();
        let raw: Vec<f64> = rows
            .iter()
            .filter(|(trials, _, _)| trials.iter().sum::<u32>() > 0)
            .map(|row| f64::from(row.2))
            .collect();
        prop_assume!(tasks.len() > 2);
        let labelled = tasks.iter().filter(|t| t.label.is_some()).count();
        prop_assume!(labelled > 0 && (!pool || 2 * labelled <= tasks.len()));
        let design = if pool { TaskLabelDesign::LevelPool } else { TaskLabelDesign::TaskThenTrial };
        let weights = Weights::Explicit(raw.clone());
        let got = post_stratified_tasks(&tasks, None, &weights, design, Inversion::ClopperPearson, Level::p95()).unwrap().rate;
        let total: f64 = raw.iter().sum();
        let w: Vec<f64> = raw.iter().map(|r| r / total).collect();
        let size = |t: &JudgedTask| f64::from(t.trials.iter().sum::<u32>());
        let (mut q, mut p, mut down, mut up, mut slack) = ([0.5; 3], 0.0, 0.0, 0.0, 0.0);
        for (k, q) in q.iter_mut().enumerate() {
            let weight: f64 = tasks.iter().zip(&w).map(|(t, w)| w * f64::from(t.trials[k]) / size(t)).sum();
            let own: Vec<(f64, f64)> = tasks
                .iter()
                .zip(&w)
                .filter_map(|(t, w)| t.label.filter(|l| l.level == k).map(|l| (if pool { w / size(t) } else { *w }, l.positive)))
                .collect();
            if own.is_empty() {
                slack += weight / 2.0;
            } else {
                let c: f64 = own.iter().map(|o| o.0).sum();
                *q = own.iter().map(|o| o.0 * o.1).sum::<f64>() / c;
                let kish = c * c / own.iter().map(|o| o.0 * o.0).sum::<f64>();
                let v = own.iter().map(|o| (o.0 * (o.1 - *q) / c).powi(2)).sum::<f64>();
                let n = if *q > 0.0 && *q < 1.0 { kish.min(*q * (1.0 - *q) / v) } else { kish };
                let limits = assize::stats::proportion::clopper_pearson(*q * n, n, Level::p95());
                down += (weight * (*q - limits.lower)).powi(2);
                up += (weight * (limits.upper - *q)).powi(2);
            }
            p += weight * *q;
        }
        let z: Vec<f64> = tasks.iter().map(|t| (0..3).map(|k| q[k] * f64::from(t.trials[k]) / size(t)).sum()).collect();
        let centre: f64 = z.iter().zip(&w).map(|(z, w)| z * w).sum();
        let g = tasks.len() as f64;
        let v = g / (g - 1.0) * z.iter().zip(&w).map(|(z, w)| (w * (z - centre)).powi(2)).sum::<f64>();
        prop_assert!(near(got.estimate.unwrap(), p, 1e-9), "{:?} {p}", got.estimate);
        if let (Some(lower), Some(upper)) = (got.lower, got.upper) {
            prop_assert!(near(lower, (p - (down + Z * Z * v).sqrt() - slack).max(0.0), 1e-7));
            prop_assert!(near(upper, (p + (up + Z * Z * v).sqrt() + slack).min(1.0), 1e-7));
        }
    }
}
