//! Times resampling jobs: one line of JSON each. `peer_stats.sh` sets scipy and the krippendorff
//! package beside them on the same data.

// A bench command reads the clock and prints what it measured.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::time::Instant;

use assize::base::Seed;
use assize::stats::Level;
use assize::stats::agreement::{
    AlphaOfUnits, KappaOfItems, Measurement, Ratings, Table, Weights, item_interval,
    krippendorff_alpha, task_interval,
};
use assize::stats::bootstrap::{Resampling, bca_mean};

const UNITS: usize = 990;
const RATERS: usize = 70;

fn main() {
    let plan = |replicates| Resampling {
        replicates,
        level: Level::p95(),
        seed: Seed(1),
    };
    let continuous: Vec<f64> = (0..1000)
        .map(|i| fraction(i, 0.618_033_988_749_895) - 0.4)
        .collect();
    let discrete: Vec<f64> = (0..1000)
        .map(|i| (f64::from(i * 7919 % 7) - 3.0) / 3.0)
        .collect();
    report("bca_discrete", || {
        bca_mean(&discrete, &plan(9_999))
            .map(|r| r.interval.low)
            .ok()
    });
    report("bca_continuous", || {
        bca_mean(&continuous, &plan(9_999))
            .map(|r| r.interval.low)
            .ok()
    });

    let units: Vec<Vec<Option<f64>>> = (0..UNITS).map(unit).collect();
    let read = || Ratings::new(units.iter().map(Vec::as_slice)).ok();
    report("alpha", || {
        krippendorff_alpha(&read()?, Measurement::Ordinal).ok()
    });
    report("alpha_bootstrap_2000", || {
        let ratings = read()?;
        let alpha = AlphaOfUnits::new(&ratings, Measurement::Ordinal).ok()?;
        item_interval(&alpha, &plan(2_000))
            .map(|r| r.interval.low)
            .ok()
    });
    report("kappa_100000_by_task", || kappa_by_task(&plan(2_000)));
}

/// Kappa of 100,000 verdicts on five categories, in tasks of one to five items.
fn kappa_by_task(plan: &Resampling) -> Option<f64> {
    let step = |i: u32, s: f64| (fraction(i, s) * 5.0) as usize;
    let human: Vec<usize> = (0..100_000)
        .map(|i| step(i, 0.618_033_988_749_895))
        .collect();
    let judge: Vec<usize> = (0..100_000u32)
        .zip(&human)
        .map(|(i, &h)| {
            if i % 4 == 0 {
                step(i, std::f64::consts::SQRT_2)
            } else {
                h
            }
        })
        .collect();
    let table = Table::from_pairs(&human, &judge, 5).ok()?;
    let cells: Vec<u32> = human
        .iter()
        .zip(&judge)
        .map(|(h, j)| (5 * h + j) as u32)
        .collect();
    let mut tasks = Vec::with_capacity(100_000);
    let mut task = 0;
    while tasks.len() < 100_000 {
        tasks.extend(std::iter::repeat_n(task, 1 + task as usize % 5));
        task += 1;
    }
    tasks.truncate(100_000);
    let kappa = KappaOfItems::new(&table, &cells, Weights::Linear);
    task_interval(&kappa, &tasks, plan)
        .map(|r| r.interval.low)
        .ok()
}

/// Fractional part of a multiple; the peer computes the same.
fn fraction(i: u32, step: f64) -> f64 {
    (f64::from(i) * step).fract()
}

/// Seventy ratings from 1 to 5 of one unit, every eleventh missing.
fn unit(u: usize) -> Vec<Option<f64>> {
    let base = fraction(u as u32, 0.618_033_988_749_895);
    let rating = |r: usize| {
        let index = (u * RATERS + r) as u32;
        let noise = fraction(index, std::f64::consts::SQRT_2);
        (!index.is_multiple_of(11)).then(|| 1.0 + (4.999 * (0.6 * base + 0.4 * noise)).floor())
    };
    (0..RATERS).map(rating).collect()
}

/// Best of five runs, in milliseconds, with the answer.
fn report(name: &str, job: impl Fn() -> Option<f64>) {
    let (mut best, mut answer) = (f64::INFINITY, None);
    for _ in 0..5 {
        let start = Instant::now();
        answer = job();
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    let answer = answer.map_or("null".to_owned(), |value| value.to_string());
    println!("{{\"job\": \"{name}\", \"ms\": {best:.3}, \"answer\": {answer}}}");
}
