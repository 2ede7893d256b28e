//! How well people agree among themselves, and how a judge does beside them.

use super::Weights;
use super::kappa::kappa_of_cells;
use crate::stats::bootstrap::{BootstrapInterval, Distinct, Pool, Range, Replicates, Resampling};
use crate::stats::panel::{Vote, majority_vote};
use crate::stats::undefined::{Defined, Undefined};

/// What is compared with the human ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CeilingMeasure {
    /// Share of items on which two answers are equal.
    Agreement,
    /// Cohen's kappa.
    Kappa(Weights),
}

/// A judge beside the people who labelled the same items.
#[derive(Clone, Debug, PartialEq)]
pub struct HumanCeiling {
    /// Each person against the majority of the others, averaged over people.
    pub human: f64,
    /// The judge against the same majorities on the same items, averaged alike.
    pub judge: f64,
    /// Judge minus human on common resamples of the items, with a p of no difference.
    pub difference: BootstrapInterval,
    /// People who entered.
    pub people: usize,
}

/// The human ceiling, leave-one-out: the judge replaces each person in turn.
///
/// `humans[j][i]` and `judge[i]` are category codes below `categories`; `None` is no answer. Person j
/// and the judge are both compared with the majority of the other people on the items that all three
/// have; ties among the others leave the item out. A judge may be above the ceiling: people err too.
/// Percentile limits and p over items, method id `bootstrap_percentile`; unreliable under 30 items (rule of
/// thumb).
///
/// # Errors
///
/// `unequal_lengths`; `unknown_category`; `too_few_humans` if fewer than two people can be compared;
/// else as [`Replicates::draw`] and [`Replicates::percentile`].
///
/// Source: METHODS 8, after Calderon, Reichart & Dror 2025.
pub fn human_ceiling(
    humans: &[Vec<Option<u32>>],
    judge: &[Option<u32>],
    categories: u32,
    measure: CeilingMeasure,
    plan: &Resampling,
) -> Defined<HumanCeiling> {
    let cells = Cells::of(humans, judge, categories, measure)?;
    let both = |counts: &[u32]| cells.averages(counts);
    let averages = both(&cells.patterns.multiplicity).ok_or(Undefined("estimate_undefined"))?;
    let pool = Pool::new(cells.patterns.multiplicity.clone());
    let replicates = Replicates::draw(&pool, plan, |counts| {
        both(counts).map(|[human, judge]| judge - human)
    })?;
    let range = Range {
        low: -2.0,
        high: 2.0,
    };
    Ok(HumanCeiling {
        human: averages[0],
        judge: averages[1],
        difference: BootstrapInterval {
            estimate: replicates.estimate,
            interval: replicates.percentile(plan.level, range)?,
            undefined: replicates.undefined,
            p: Some(replicates.p_value(0.0)),
        },
        people: cells.people.len(),
    })
}

/// Items grouped by what they show: per person, the person's and the judge's cell against the rest.
struct Cells {
    people: Vec<usize>,
    patterns: Distinct<Vec<Option<[u32; 2]>>>,
    categories: usize,
    measure: CeilingMeasure,
}

impl Cells {
    fn of(
        humans: &[Vec<Option<u32>>],
        judge: &[Option<u32>],
        categories: u32,
        measure: CeilingMeasure,
    ) -> Defined<Self> {
        if humans.iter().any(|answers| answers.len() != judge.len()) {
            return Err(Undefined("unequal_lengths"));
        }
        if humans
            .iter()
            .flatten()
            .chain(judge)
            .flatten()
            .any(|&code| code >= categories)
        {
            return Err(Undefined("unknown_category"));
        }
        let patterns = Distinct::of(judge.iter().enumerate().map(|(item, verdict)| {
            let answers: Vec<Option<u32>> = humans.iter().map(|answers| answers[item]).collect();
            let cells = |person| cells_of(&answers, person, *verdict, categories);
            (0..humans.len()).map(cells).collect::<Vec<_>>()
        }));
        let compared = |person: &usize| patterns.values.iter().any(|p| p[*person].is_some());
        let people: Vec<usize> = (0..humans.len()).filter(compared).collect();
        if people.len() < 2 {
            return Err(Undefined("too_few_humans"));
        }
        let categories = categories as usize;
        Ok(Self {
            people,
            patterns,
            categories,
            measure,
        })
    }

    /// The measure of people and of the judge, averaged over people.
    fn averages(&self, counts: &[u32]) -> Option<[f64; 2]> {
        let mut sums = [0.0; 2];
        for &person in &self.people {
            let mut tables = [(); 2].map(|()| vec![0u32; self.categories * self.categories]);
            for (pattern, &count) in self.patterns.values.iter().zip(counts) {
                let Some(cells) = pattern[person] else {
                    continue;
                };
                tables
                    .iter_mut()
                    .zip(cells)
                    .for_each(|(t, cell)| t[cell as usize] += count);
            }
            for (sum, table) in sums.iter_mut().zip(&tables) {
                *sum += self.measure.of(table, self.categories)?;
            }
        }
        Some(sums.map(|sum| sum / self.people.len() as f64))
    }
}

impl CeilingMeasure {
    fn of(self, cells: &[u32], categories: usize) -> Option<f64> {
        let total: u64 = cells.iter().map(|&c| u64::from(c)).sum();
        match self {
            Self::Kappa(weights) => kappa_of_cells(cells, categories, weights),
            Self::Agreement => {
                let same: u64 = (0..categories)
                    .map(|c| u64::from(cells[c * (categories + 1)]))
                    .sum();
                (total > 0).then(|| same as f64 / total as f64)
            }
        }
    }
}

/// Cells of a person and of the judge against the majority of the other people.
fn cells_of(
    answers: &[Option<u32>],
    person: usize,
    judge: Option<u32>,
    categories: u32,
) -> Option<[u32; 2]> {
    let (own, judge) = (answers[person]?, judge?);
    let mut others = answers.to_vec();
    others[person] = None;
    match majority_vote(&others) {
        Vote::Majority(rest) => Some([own, judge].map(|answer| answer * categories + rest)),
        Vote::Tie | Vote::NoVotes => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::stats::Level;

    fn plan() -> Resampling {
        Resampling {
            replicates: 2000,
            level: Level::p95(),
            seed: Seed(14),
        }
    }

    /// Three people who are right with probability .9, and a judge.
    fn answers(right: f64) -> (Vec<Vec<Option<u32>>>, Vec<Option<u32>>) {
        let mut stream = Seed(3).stream();
        let mut rows = vec![vec![]; 3];
        let mut judge = vec![];
        for i in 0..300u32 {
            let truth = i % 2;
            let mut answer = |p: f64| Some(if stream.unit() < p { truth } else { 1 - truth });
            rows.iter_mut().for_each(|row| row.push(answer(0.9)));
            judge.push(answer(right));
        }
        (rows, judge)
    }

    #[test]
    fn a_judge_as_good_as_people_reaches_the_ceiling() {
        for measure in [
            CeilingMeasure::Agreement,
            CeilingMeasure::Kappa(Weights::Nominal),
        ] {
            let (humans, judge) = answers(0.9);
            let same = human_ceiling(&humans, &judge, 2, measure, &plan()).unwrap();
            assert!(same.difference.interval.contains(0.0), "{same:?}");
            assert!((same.judge - same.human - same.difference.estimate).abs() < 1e-12);
            let (humans, judge) = answers(0.7);
            let worse = human_ceiling(&humans, &judge, 2, measure, &plan()).unwrap();
            assert!(worse.difference.interval.high < 0.0 && worse.difference.p.unwrap() < 0.01);
        }
    }

    #[test]
    fn the_judge_in_a_persons_place_is_the_person() {
        let (humans, _) = answers(0.9);
        let two = [humans[0].clone(), humans[1].clone()];
        let result =
            human_ceiling(&two, &humans[0], 2, CeilingMeasure::Agreement, &plan()).unwrap();
        // Against person 1 the judge is person 0; against person 0 it agrees with itself.
        assert!((result.judge - (1.0 + result.human) / 2.0).abs() < 1e-12);
    }

    #[test]
    fn undefined_cases_name_their_reason() {
        let code = |humans: &[Vec<Option<u32>>], judge: &[Option<u32>]| {
            human_ceiling(humans, judge, 2, CeilingMeasure::Agreement, &plan())
                .unwrap_err()
                .code()
        };
        assert_eq!(code(&[vec![Some(1)]], &[Some(1)]), "too_few_humans");
        assert_eq!(
            code(&[vec![Some(1)], vec![]], &[Some(1)]),
            "unequal_lengths"
        );
        assert_eq!(
            code(&[vec![Some(2)], vec![Some(1)]], &[Some(1)]),
            "unknown_category"
        );
    }
}
