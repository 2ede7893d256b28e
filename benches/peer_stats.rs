//! Times resampling against nothing: prints one line of JSON per job; `peer_stats.sh` sets a peer beside it.

use std::time::Instant;

use assize::base::Seed;
use assize::stats::Level;
use assize::stats::bootstrap::{Resampling, bca_mean};

fn main() {
    let mut stream = Seed(20_26).stream();
    let plan = Resampling {
        replicates: 9_999,
        level: Level::p95(),
        seed: Seed(1),
    };
    let continuous: Vec<f64> = (0..1000).map(|_| stream.unit() - 0.4).collect();
    let discrete: Vec<f64> = (0..1000)
        .map(|_| (stream.below(7) as f64 - 3.0) / 3.0)
        .collect();
    report("bca_discrete", || bca_mean(&discrete, &plan).is_ok());
    report("bca_continuous", || bca_mean(&continuous, &plan).is_ok());
}

/// Best of five runs, in milliseconds.
fn report(name: &str, job: impl Fn() -> bool) {
    let best = (0..5)
        .map(|_| {
            let start = Instant::now();
            assert!(job(), "{name} has an answer");
            start.elapsed().as_secs_f64() * 1e3
        })
        .fold(f64::INFINITY, f64::min);
    println!("{{\"job\": \"{name}\", \"ms\": {best:.3}}}");
}
