//! Resampling against the exact bootstrap distribution, and BCa by its definition.

use assize::base::Seed;
use assize::stats::Level;
use assize::stats::agreement::{KappaOfItems, Table, Weights, cohen_kappa, item_interval};
use assize::stats::bootstrap::{Pool, Range, Replicates, Resampling, bca_mean, weighted_mean};

fn plan(replicates: u32) -> Resampling {
    Resampling {
        replicates,
        level: Level::p95(),
        seed: Seed(21),
    }
}

/// Means of all nⁿ resamples, sorted.
fn exact_means(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let mut means = vec![];
    for code in 0..n.pow(n as u32) {
        let (mut rest, mut total) = (code, 0.0);
        for _ in 0..n {
            total += values[rest % n];
            rest /= n;
        }
        means.push(total / n as f64);
    }
    means.sort_by(f64::total_cmp);
    means
}

#[test]
fn replicates_follow_the_exact_distribution() {
    let distinct = [-0.4, 0.1, 0.3, 0.35, 0.9, 2.0];
    let tied = [0.0, 0.0, 0.0, 1.0, 1.0, -1.0];
    let cases = [
        (distinct, vec![1; 6], distinct.to_vec()),
        (tied, vec![3, 2, 1], vec![0.0, 1.0, -1.0]),
    ];
    for (values, multiplicity, by_count) in cases {
        let exact = exact_means(&values);
        let b = 40_000;
        let drawn = Replicates::draw(&Pool::new(multiplicity), &plan(b), |c| {
            weighted_mean(c, &by_count)
        });
        let drawn = drawn.unwrap();
        for quantile in [0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99] {
            let at = exact[(quantile * (exact.len() - 1) as f64) as usize] + 1e-9;
            let share = |v: &[f64]| v.partition_point(|x| *x <= at) as f64 / v.len() as f64;
            let (want, got) = (share(&exact), share(drawn.sorted()));
            let error = (want * (1.0 - want) / f64::from(b)).sqrt();
            assert!(
                (want - got).abs() < 5.0 * error,
                "{quantile}: {got} for {want}"
            );
        }
    }
}

/// Phi and its inverse from a table of the integral; coarse is enough here.
fn phi(x: f64) -> f64 {
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    0.5 + super::integral(density, 0.0, x, 2000)
}

fn phi_inverse(p: f64) -> f64 {
    super::root(|x| phi(x) - p, -8.0, 8.0)
}

/// BCa by its definition with index draws and a jackknife over all units.
fn slow_bca(values: &[f64], replicates: usize) -> (f64, f64) {
    let n = values.len();
    let mut stream = Seed(99).stream();
    let mut means: Vec<f64> = (0..replicates)
        .map(|_| (0..n).map(|_| values[stream.below(n)]).sum::<f64>() / n as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    let total: f64 = values.iter().sum();
    let estimate = total / n as f64;
    let below = means.iter().filter(|m| **m < estimate).count() as f64;
    let ties = means.iter().filter(|m| **m == estimate).count() as f64;
    let bias = phi_inverse((below + ties / 2.0) / replicates as f64);
    let left_out: Vec<f64> = values
        .iter()
        .map(|v| (total - v) / (n as f64 - 1.0))
        .collect();
    let centre = left_out.iter().sum::<f64>() / n as f64;
    let power = |k: i32| left_out.iter().map(|v| (centre - v).powi(k)).sum::<f64>();
    let a = power(3) / (6.0 * power(2).powf(1.5));
    let limit = |z: f64| {
        let level = phi(bias + (bias + z) / (1.0 - a * (bias + z)));
        means[(level * (replicates - 1) as f64).round() as usize]
    };
    (limit(-1.959_964), limit(1.959_964))
}

#[test]
fn bca_agrees_with_its_definition() {
    let skewed: Vec<f64> = (0..80).map(|i| (f64::from(i) / 12.0).exp()).collect();
    let few_values: Vec<f64> = (0..200).map(|i| f64::from(i * i % 7) / 3.0 - 0.5).collect();
    for values in [skewed, few_values] {
        let got = bca_mean(&values, &plan(60_000)).unwrap();
        let (low, high) = slow_bca(&values, 60_000);
        let tolerance = 0.02 * (high - low);
        assert!(
            (got.interval.low - low).abs() < tolerance,
            "{} {low}",
            got.interval.low
        );
        assert!(
            (got.interval.high - high).abs() < tolerance,
            "{} {high}",
            got.interval.high
        );
    }
}

/// Kappa of resampled cells is kappa of resampled items.
#[test]
fn cells_stand_for_items() {
    let rows = vec![vec![40, 6], vec![9, 25]];
    let table = Table::new(&rows).unwrap();
    let items: Vec<(usize, usize)> = (0..4)
        .flat_map(|cell| vec![(cell / 2, cell % 2); rows[cell / 2][cell % 2] as usize])
        .collect();
    let mut stream = Seed(5).stream();
    let mut kappas: Vec<f64> = (0..20_000)
        .map(|_| {
            let drawn: Vec<_> = items
                .iter()
                .map(|_| items[stream.below(items.len())])
                .collect();
            let (a, b): (Vec<usize>, Vec<usize>) = drawn.into_iter().unzip();
            cohen_kappa(&Table::from_pairs(&a, &b, 2).unwrap(), Weights::Nominal)
                .unwrap()
                .kappa
        })
        .collect();
    kappas.sort_by(f64::total_cmp);
    let kappa = KappaOfItems::new(&table, &[], Weights::Nominal);
    let pool = Pool::new(table.cells().to_vec());
    let drawn = Replicates::draw(&pool, &plan(20_000), |c| {
        assize::stats::agreement::Counted::at(&kappa, c)
    });
    let got = drawn
        .unwrap()
        .percentile(Level::p95(), Range::SIGNED_UNIT)
        .unwrap();
    let width = got.width();
    assert!(
        (got.low - kappas[500]).abs() < 0.03 * width,
        "{} {}",
        got.low,
        kappas[500]
    );
    assert!(
        (got.high - kappas[19_499]).abs() < 0.03 * width,
        "{} {}",
        got.high,
        kappas[19_499]
    );
    assert!(
        item_interval(&kappa, &plan(4_000))
            .unwrap()
            .interval
            .contains(0.5)
    );
}
