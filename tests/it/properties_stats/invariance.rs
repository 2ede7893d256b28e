//! What changes nothing, what only mirrors, and what may only widen: for differences, pass^k,
//! ratios, counts, tables and bounds. Rates are in the parent.

use assize::stats::count::{UnitCount, poisson_clustered};
use assize::stats::missing::{PartialTask, manski_difference, manski_tasks};
use assize::stats::paired::{TableDifference, bonett_price, bp_hall, newcombe, tango};
use assize::stats::pass_k::{PassKind, Successes, pass_k};
use assize::stats::ratio::{
    LogEstimate, geometric_mean, geometric_mean_ratio, mean_amount, ratio_of_means,
};
use assize::stats::sample::{Paired, TaskScore};
use assize::stats::units::Weights;
use assize::stats::{Level, Limits};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{holds, level, near, near_limits, negated, score, table};

/// One task of both arms with its cluster and weight.
#[derive(Clone, Copy, Debug)]
struct Task {
    a: TaskScore,
    b: TaskScore,
    /// Missing trials of A and B.
    missing: (u32, u32),
    label: u32,
    weight: f64,
}

impl Task {
    /// The task with its arms exchanged.
    fn exchanged(self) -> Self {
        Self {
            a: self.b,
            b: self.a,
            missing: (self.missing.1, self.missing.0),
            ..self
        }
    }
}

/// How the tasks of a design are gathered and weighted.
#[derive(Clone, Copy, Debug)]
struct Design {
    clustered: bool,
    weighting: u8,
}

impl Design {
    fn labels(self, tasks: &[Task]) -> Option<Vec<u32>> {
        self.clustered
            .then(|| tasks.iter().map(|t| t.label).collect())
    }

    fn weights(self, tasks: &[Task]) -> Weights {
        match self.weighting {
            0 => Weights::EqualTask,
            1 => Weights::EqualCluster,
            2 => Weights::Trials,
            _ => Weights::Explicit(tasks.iter().map(|t| t.weight).collect()),
        }
    }
}

fn design() -> impl Strategy<Value = Design> {
    (any::<bool>(), 0u8..4).prop_map(|(clustered, weighting)| Design {
        clustered,
        weighting,
    })
}

fn task() -> impl Strategy<Value = Task> {
    (score(), score(), (0u32..3, 0u32..3), 0u32..7, 0.1..5.0f64).prop_map(
        |(a, b, missing, label, weight)| Task {
            a,
            b,
            missing,
            label,
            weight,
        },
    )
}

/// A design's tasks, and the same in another order.
fn shuffled() -> impl Strategy<Value = (Vec<Task>, Vec<Task>)> {
    vec(task(), 1..25).prop_flat_map(|tasks| (Just(tasks.clone()), Just(tasks).prop_shuffle()))
}

/// Everything that an interval must give alike: point, limits and p.
type Numbers = Vec<Option<f64>>;

fn same(a: &Numbers, b: &Numbers) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(x, y)| match (x, y) {
            (Some(x), Some(y)) => near(*x, *y),
            (x, y) => x.is_none() && y.is_none(),
        })
}

fn difference(tasks: &[Task], design: Design, level: Level, strict: bool) -> Numbers {
    let (a, b): (Vec<_>, Vec<_>) = tasks.iter().map(|t| (t.a, t.b)).unzip();
    let labels = design.labels(tasks);
    let sample = Paired::from_arms(&a, &b, labels.as_deref(), &design.weights(tasks)).unwrap();
    let got = bp_hall(&sample, level, strict);
    vec![got.estimate, got.lower, got.upper, got.p, got.skew, got.se]
}

fn partial(score: TaskScore, missing: u32) -> PartialTask {
    PartialTask {
        sum: score.sum,
        observed: score.trials,
        missing,
    }
}

fn rate_bounds(tasks: &[Task], design: Design, level: Level) -> Numbers {
    let a: Vec<PartialTask> = tasks.iter().map(|t| partial(t.a, t.missing.0)).collect();
    let labels = design.labels(tasks);
    let got = manski_tasks(&a, labels.as_deref(), &design.weights(tasks), level).unwrap();
    vec![got.lower, got.upper, got.worst, got.best, got.missing_rate]
}

fn difference_bounds(tasks: &[Task], design: Design, level: Level) -> Numbers {
    let a: Vec<PartialTask> = tasks.iter().map(|t| partial(t.a, t.missing.0)).collect();
    let b: Vec<PartialTask> = tasks.iter().map(|t| partial(t.b, t.missing.1)).collect();
    let labels = design.labels(tasks);
    let weights = design.weights(tasks);
    let got = manski_difference(&a, &b, labels.as_deref(), &weights, level, false).unwrap();
    let limits = got.limits();
    let outer = [limits.map(|l| l.lower), limits.map(|l| l.upper)];
    [outer[0], outer[1], got.worst.estimate, got.best.estimate].to_vec()
}

fn passes(tasks: &[Task], design: Design, level: Level) -> Numbers {
    let counts: Vec<Successes> = tasks
        .iter()
        .map(|t| Successes {
            trials: t.a.trials,
            successes: (t.a.sum.round() as u32).min(t.a.trials),
        })
        .collect();
    let labels = design.labels(tasks);
    let run = |kind| {
        let weights = design.weights(tasks);
        let got = pass_k(kind, &counts, 2, labels.as_deref(), &weights, level).unwrap();
        [got.rate.lower, got.rate.upper, got.rate.estimate]
    };
    [run(PassKind::Hat), run(PassKind::At)].concat()
}

fn counts(tasks: &[Task], level: Level) -> Numbers {
    let units: Vec<UnitCount> = tasks
        .iter()
        .map(|t| UnitCount {
            events: if t.a.trials > 0 { t.a.sum.round() } else { 0.0 },
            exposure: f64::from(t.a.trials),
        })
        .collect();
    let got = poisson_clustered(&units, level).unwrap();
    vec![got.lower, got.upper, got.rate, got.phi]
}

fn amounts() -> impl Strategy<Value = Vec<(f64, f64)>> {
    vec((0.01..50.0f64, 0.01..50.0f64), 1..30)
}

/// Every ratio and mean of amounts, limits first.
fn logs(pairs: &[(f64, f64)], level: Level) -> Vec<Numbers> {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let numbers = |got: LogEstimate| vec![got.lower, got.upper, got.estimate, got.log_se, got.p];
    vec![
        numbers(ratio_of_means(&a, &b, level).unwrap()),
        numbers(geometric_mean_ratio(&a, &b, level).unwrap()),
        numbers(mean_amount(&a, level).unwrap()),
        numbers(geometric_mean(&a, level).unwrap()),
    ]
}

fn limits(numbers: &[Option<f64>]) -> Option<Limits> {
    Some(Limits {
        lower: numbers[0]?,
        upper: numbers[1]?,
    })
}

/// Whether the second limits hold the first, and exist where they do.
fn widens(narrow: &[Option<f64>], wide: &[Option<f64>]) -> bool {
    match (limits(narrow), limits(wide)) {
        (Some(inner), Some(outer)) => holds(outer, inner),
        (inner, outer) => inner.is_none() && outer.is_none(),
    }
}

fn two_levels() -> impl Strategy<Value = (Level, Level)> {
    (0.5..0.98f64).prop_map(|conf| (Level::new(conf).unwrap(), Level::new(conf + 0.019).unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn order_of_tasks_changes_no_difference((tasks, other) in shuffled(), design in design(), level in level(), strict in any::<bool>()) {
        let run = |tasks: &[Task]| difference(tasks, design, level, strict);
        prop_assert!(same(&run(&tasks), &run(&other)), "{:?} {:?}", run(&tasks), run(&other));
    }

    #[test]
    fn order_of_tasks_changes_no_pass_count_or_bound((tasks, other) in shuffled(), design in design(), level in level()) {
        prop_assert!(same(&passes(&tasks, design, level), &passes(&other, design, level)));
        prop_assert!(same(&counts(&tasks, level), &counts(&other, level)));
        prop_assert!(same(&rate_bounds(&tasks, design, level), &rate_bounds(&other, design, level)));
        prop_assert!(same(&difference_bounds(&tasks, design, level), &difference_bounds(&other, design, level)));
    }

    #[test]
    fn order_of_tasks_changes_no_ratio((pairs, other) in amounts().prop_flat_map(|p| (Just(p.clone()), Just(p).prop_shuffle())), level in level()) {
        for (x, y) in logs(&pairs, level).iter().zip(&logs(&other, level)) {
            prop_assert!(same(x, y), "{x:?} {y:?}");
        }
    }

    #[test]
    fn exchanging_arms_mirrors_clustered_and_weighted_differences(tasks in vec(task(), 1..25), design in design(), level in level(), strict in any::<bool>()) {
        let exchanged: Vec<Task> = tasks.iter().map(|t| t.exchanged()).collect();
        let (ab, ba) = (difference(&tasks, design, level, strict), difference(&exchanged, design, level, strict));
        match (ab[0], ba[0]) {
            (Some(x), Some(y)) => {
                prop_assert!(near(x, -y));
                prop_assert!(near_limits(Limits { lower: ab[1].unwrap(), upper: ab[2].unwrap() },
                    negated(Limits { lower: ba[1].unwrap(), upper: ba[2].unwrap() })), "{ab:?} {ba:?}");
                prop_assert!(near(ab[3].unwrap(), ba[3].unwrap()));
            }
            (x, y) => prop_assert!(x.is_none() && y.is_none()),
        }
        let (ab, ba) = (difference_bounds(&tasks, design, level), difference_bounds(&exchanged, design, level));
        prop_assert_eq!(limits(&ab).is_some(), limits(&ba).is_some());
        if let (Some(x), Some(y)) = (limits(&ab), limits(&ba)) {
            prop_assert!(near_limits(x, negated(y)), "{x:?} {y:?}");
        }
    }

    #[test]
    fn exchanging_arms_inverts_ratios(pairs in amounts(), level in level()) {
        let exchanged: Vec<(f64, f64)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
        for (ab, ba) in logs(&pairs, level).iter().zip(&logs(&exchanged, level)).take(2) {
            match (limits(ab), limits(ba)) {
                (Some(x), Some(y)) => {
                    prop_assert!(near(x.lower * y.upper, 1.0) && near(x.upper * y.lower, 1.0), "{ab:?} {ba:?}");
                    prop_assert!(near(ab[2].unwrap() * ba[2].unwrap(), 1.0) && near(ab[4].unwrap(), ba[4].unwrap()));
                }
                (x, y) => prop_assert!(x.is_none() && y.is_none()),
            }
        }
    }

    #[test]
    fn a_higher_level_only_widens(tasks in vec(task(), 1..25), design in design(), (narrow, wide) in two_levels(), strict in any::<bool>()) {
        let (inner, outer) = (passes(&tasks, design, narrow), passes(&tasks, design, wide));
        prop_assert!(widens(&inner, &outer) && widens(&inner[3..], &outer[3..]), "{inner:?} {outer:?}");
        let (inner, outer) = (counts(&tasks, narrow), counts(&tasks, wide));
        prop_assert!(widens(&inner, &outer), "{inner:?} {outer:?}");
        let (inner, outer) = (rate_bounds(&tasks, design, narrow), rate_bounds(&tasks, design, wide));
        prop_assert!(widens(&inner, &outer), "{inner:?} {outer:?}");
        let (inner, outer) = (difference_bounds(&tasks, design, narrow), difference_bounds(&tasks, design, wide));
        prop_assert!(widens(&inner, &outer), "{inner:?} {outer:?}");
        let run = |level| difference(&tasks, design, level, strict);
        prop_assert!(widens(&run(narrow)[1..], &run(wide)[1..]));
    }

    #[test]
    fn a_higher_level_only_widens_ratios(pairs in amounts(), (narrow, wide) in two_levels()) {
        for (inner, outer) in logs(&pairs, narrow).iter().zip(&logs(&pairs, wide)) {
            prop_assert!(widens(inner, outer), "{inner:?} {outer:?}");
        }
    }

    #[test]
    fn a_higher_level_only_widens_tables(table in table(), (narrow, wide) in two_levels()) {
        prop_assume!(table.total() > 0);
        let of = |t: TableDifference| [t.lower, t.upper];
        for method in [bonett_price, newcombe, tango] {
            let (inner, outer) = (of(method(table, narrow)), of(method(table, wide)));
            prop_assert!(widens(&inner, &outer), "{inner:?} {outer:?}");
        }
    }
}
