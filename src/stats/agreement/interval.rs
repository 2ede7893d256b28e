//! Bootstrap intervals of agreement, over items or over tasks.

use std::collections::BTreeMap;

use crate::stats::bootstrap::{
    BootstrapInterval, Distinct, Pool, Range, Replicates, Resampling, bca,
};
use crate::stats::undefined::{Defined, Undefined};

/// A statistic of items that depends only on how often each distinct item value occurs.
pub trait Counted: Sync {
    /// How often each distinct value occurs among the items.
    fn multiplicity(&self) -> &[u32];

    /// The distinct value of each item.
    fn value_of_item(&self) -> &[u32];

    /// The statistic where each distinct value occurs `counts` times, or `None` where undefined.
    fn at(&self, counts: &[u32]) -> Option<f64>;

    /// The values that the statistic can take.
    fn range(&self) -> Range;
}

/// BCa interval over items, method id `bootstrap_bca`; for items that are independent.
///
/// Unreliable under 30 items (rule of thumb), and where nearly all items have the same ratings: a resample
/// cannot hold a disagreement that was not seen.
///
/// # Errors
///
/// As [`bca`].
///
/// Source: Efron 1987.
pub fn item_interval(statistic: &dyn Counted, plan: &Resampling) -> Defined<BootstrapInterval> {
    let pool = Pool::new(statistic.multiplicity().to_vec());
    bca(&pool, plan, statistic.range(), |counts| {
        statistic.at(counts)
    })
}

/// BCa interval over tasks: all items of a drawn task enter together, method id `bootstrap_bca`.
///
/// `task_of_item` holds a task number per item.
///
/// Unreliable under 30 tasks (rule of thumb), and where one task holds most of the items.
///
/// # Errors
///
/// `unequal_lengths`; else as [`bca`], where `too_few_units` counts tasks.
///
/// Source: Efron 1987; whole tasks as in Davison & Hinkley 1997.
pub fn task_interval(
    statistic: &dyn Counted,
    task_of_item: &[u32],
    plan: &Resampling,
) -> Defined<BootstrapInterval> {
    let values = statistic.value_of_item();
    if values.len() != task_of_item.len() {
        return Err(Undefined("unequal_lengths"));
    }
    let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (&task, &value) in task_of_item.iter().zip(values) {
        members.entry(task).or_default().push(value);
    }
    // Tasks that show the same are interchangeable; the jackknife then visits each kind once.
    let tasks = Distinct::of(members.into_values().map(|mut values| {
        values.sort_unstable();
        values
    }));
    let distinct = statistic.multiplicity().len();
    bca(
        &Pool::new(tasks.multiplicity),
        plan,
        statistic.range(),
        |drawn| {
            let mut counts = vec![0u32; distinct];
            for (values, &times) in tasks
                .values
                .iter()
                .zip(drawn)
                .filter(|(_, times)| **times > 0)
            {
                values
                    .iter()
                    .for_each(|&value| counts[value as usize] += times);
            }
            statistic.at(&counts)
        },
    )
}

/// Percentile interval and p of a difference `second − first` on common resamples of the same items
/// (two prompts against one set of labels), method id `bootstrap_percentile`.
///
/// Unreliable under 30 items (rule of thumb), and where the two differ on few of them: then most resamples
/// agree.
///
/// # Errors
///
/// `unequal_lengths` if the statistics are not of the same items; else as [`Replicates::draw`] and
/// [`Replicates::percentile`].
///
/// Source: Efron & Tibshirani 1993.
pub fn difference_interval(
    first: &dyn Counted,
    second: &dyn Counted,
    plan: &Resampling,
) -> Defined<BootstrapInterval> {
    let (a, b) = (first.value_of_item(), second.value_of_item());
    if a.len() != b.len() {
        return Err(Undefined("unequal_lengths"));
    }
    let pairs = Distinct::of(a.iter().copied().zip(b.iter().copied()));
    let (of_first, of_second) = (first.multiplicity().len(), second.multiplicity().len());
    let pool = Pool::new(pairs.multiplicity);
    let replicates = Replicates::draw(&pool, plan, |drawn| {
        let (mut a, mut b) = (vec![0u32; of_first], vec![0u32; of_second]);
        for (&(i, j), &times) in pairs.values.iter().zip(drawn) {
            a[i as usize] += times;
            b[j as usize] += times;
        }
        Some(second.at(&b)? - first.at(&a)?)
    })?;
    let (low, high) = (first.range(), second.range());
    let range = Range {
        low: high.low - low.high,
        high: high.high - low.low,
    };
    Ok(BootstrapInterval {
        estimate: replicates.estimate,
        interval: replicates.percentile(plan.level, range)?,
        undefined: replicates.undefined,
        p: Some(replicates.p_value(0.0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::stats::Level;
    use crate::stats::agreement::{
        AlphaOfUnits, KappaOfItems, Measurement, Ratings, Table, Weights,
    };

    fn plan() -> Resampling {
        Resampling {
            replicates: 2000,
            level: Level::p95(),
            seed: Seed(3),
        }
    }

    fn cells(items: usize, wrong_every: usize) -> (Vec<u32>, Table) {
        let truth: Vec<usize> = (0..items).map(|i| usize::from(i % 3 == 0)).collect();
        let judge: Vec<usize> = truth
            .iter()
            .enumerate()
            .map(|(i, &t)| if i % wrong_every == 1 { 1 - t } else { t })
            .collect();
        let table = Table::from_pairs(&truth, &judge, 2).unwrap();
        (
            truth
                .iter()
                .zip(&judge)
                .map(|(t, j)| (2 * t + j) as u32)
                .collect(),
            table,
        )
    }

    #[test]
    fn tasks_of_equal_items_widen_the_interval() {
        let (cells, table) = cells(120, 7);
        let kappa = KappaOfItems::new(&table, &cells, Weights::Nominal);
        let items = item_interval(&kappa, &plan()).unwrap();
        // Every item four times in one task: the same table, a quarter of the evidence.
        let fourfold: Vec<u32> = cells.iter().flat_map(|&c| [c; 4]).collect();
        let rows: Vec<Vec<u32>> = table
            .cells()
            .chunks(2)
            .map(|r| r.iter().map(|c| 4 * c).collect())
            .collect();
        let large = Table::new(&rows).unwrap();
        let kappa = KappaOfItems::new(&large, &fourfold, Weights::Nominal);
        let task_of_item: Vec<u32> = (0..480).map(|i| i / 4).collect();
        let tasks = task_interval(&kappa, &task_of_item, &plan()).unwrap();
        let naive = item_interval(&kappa, &plan()).unwrap();
        assert!((tasks.interval.width() / items.interval.width() - 1.0).abs() < 0.15);
        assert!(naive.interval.width() < 0.6 * tasks.interval.width());
    }

    #[test]
    fn a_difference_with_itself_has_no_variation() {
        let (cells, table) = cells(60, 7);
        let kappa = KappaOfItems::new(&table, &cells, Weights::Nominal);
        let same = difference_interval(&kappa, &kappa, &plan());
        assert_eq!(same.unwrap_err().code(), "no_variation");
    }

    #[test]
    fn a_better_prompt_shows() {
        let (worse_cells, worse) = cells(300, 3);
        let (better_cells, better) = cells(300, 29);
        let worse = KappaOfItems::new(&worse, &worse_cells, Weights::Nominal);
        let better = KappaOfItems::new(&better, &better_cells, Weights::Nominal);
        let gain = difference_interval(&worse, &better, &plan()).unwrap();
        assert!(
            gain.interval.low > 0.3 && gain.p.unwrap() < 0.01,
            "{gain:?}"
        );
        assert!(gain.interval.contains(gain.estimate));
    }

    #[test]
    fn order_of_items_and_tasks_changes_nothing() {
        let ratings = |reversed: bool| {
            let unit = |i: usize| [Some((i % 3) as f64), Some((i * i % 5 % 3) as f64)];
            let mut units: Vec<[Option<f64>; 2]> = (0..60).map(unit).collect();
            if reversed {
                units.reverse();
            }
            Ratings::new(units.iter().map(|u| u.as_slice())).unwrap()
        };
        let (forth, back) = (ratings(false), ratings(true));
        let alpha = |r| AlphaOfUnits::new(r, Measurement::Ordinal).unwrap();
        let (forth, back) = (alpha(&forth), alpha(&back));
        assert_eq!(
            item_interval(&forth, &plan()),
            item_interval(&back, &plan())
        );
        let tasks: Vec<u32> = (0..60).map(|i| i / 3).collect();
        let mut reversed = tasks.clone();
        reversed.reverse();
        let by_task = task_interval(&forth, &tasks, &plan());
        assert_eq!(by_task, task_interval(&back, &reversed, &plan()));
    }

    #[test]
    fn constant_raters_have_no_interval() {
        let table = Table::new(&[vec![0, 0], vec![0, 10]]).unwrap();
        let kappa = KappaOfItems::new(&table, &[], Weights::Nominal);
        assert_eq!(
            item_interval(&kappa, &plan()).unwrap_err().code(),
            "estimate_undefined"
        );
    }
}
