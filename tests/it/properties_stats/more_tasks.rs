//! Twice the tasks never widen an interval: ratios, means, counts, pass^k.

use super::*;

/// Every value twice, in the order of a second sample after the first.
fn twice<T: Clone>(values: &[T]) -> Vec<T> {
    [values, values].concat()
}

/// Whether the second interval is no wider; an interval that was not there counts as endless, and one
/// that was there must stay.
fn shrinks(one: [Option<f64>; 2], two: [Option<f64>; 2]) -> bool {
    let width = |[low, high]: [Option<f64>; 2]| Some(high? - low?);
    match (width(one), width(two)) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(one), Some(two)) => two <= one + 1e-9 * one.abs().max(1.0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ratios_and_means_shrink(pairs in vec((0.01..50.0f64, 0.01..50.0f64), 2..25), level in level()) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        for method in [ratio_of_means, geometric_mean_ratio] {
            let one = method(&a, &b, level).unwrap();
            let two = method(&twice(&a), &twice(&b), level).unwrap();
            let log = |l: Option<f64>| l.map(f64::ln);
            prop_assert!(shrinks([log(one.lower), log(one.upper)], [log(two.lower), log(two.upper)]), "{one:?} {two:?}");
        }
        let (one, two) = (mean_amount(&a, level).unwrap(), mean_amount(&twice(&a), level).unwrap());
        prop_assert!(shrinks([one.lower, one.upper], [two.lower, two.upper]), "{one:?} {two:?}");
    }

    #[test]
    fn counts_shrink(units in vec((0u32..5, 1u32..9), 2..40), level in level()) {
        let unit = |(events, exposure): &(u32, u32)| UnitCount {
            events: f64::from(*events),
            exposure: f64::from(*exposure),
        };
        let units: Vec<UnitCount> = units.iter().map(unit).collect();
        let one = poisson_clustered(&units, level).unwrap();
        let two = poisson_clustered(&twice(&units), level).unwrap();
        prop_assert!(shrinks([one.lower, one.upper], [two.lower, two.upper]), "{one:?} {two:?}");
    }

    #[test]
    fn pass_k_shrinks(counts in vec((0u32..9, 0u32..9), 1..25), k in 1u32..6, level in level()) {
        let task = |&(c, rest): &(u32, u32)| Successes { successes: c, trials: c + rest };
        let tasks: Vec<Successes> = counts.iter().map(task).collect();
        for kind in [PassKind::At, PassKind::Hat] {
            let pass = |tasks: &[Successes]| pass_k(kind, tasks, k, None, &Weights::EqualTask, level).unwrap().rate;
            let (one, two) = (pass(&tasks), pass(&twice(&tasks)));
            prop_assert!(shrinks([one.lower, one.upper], [two.lower, two.upper]), "{one:?} {two:?}");
        }
    }
}
