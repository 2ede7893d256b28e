//! The alternative annotator test: may a judge replace people?

use crate::base::{Error, Result};
use crate::stats::multiplicity::{Adjustment, adjust};
use crate::stats::special::{positive_p, t_sf};
use crate::stats::sum::{mean, variance};
use crate::stats::tolerance::{at_least, at_most};

/// How well one answer fits the other people's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scoring {
    /// Share of the others who gave the same answer: for categories.
    Accuracy,
    /// Minus the root mean squared distance to the others: for scores.
    RootMeanSquare,
}

/// What the test needs besides the answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AltTestPlan {
    /// Price of people: .2 for experts, .15 for skilled, .1 for crowd workers.
    pub epsilon: f64,
    /// False discovery rate, usually .05.
    pub q: f64,
    /// How answers are compared.
    pub scoring: Scoring,
    /// Fewest items per person, at least 30 for the t test.
    pub fewest_items: usize,
}

/// The judge against one person, each measured against the remaining people.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgainstHuman {
    /// Position of the person.
    pub human: usize,
    /// Items that the person, the judge and at least one other person answered.
    pub items: usize,
    /// Share of items where the judge fits at least as well as the person.
    pub advantage: f64,
    /// One-sided p that the person's lead is ε or more.
    pub p: f64,
    /// Whether the judge holds against this person after Benjamini–Yekutieli.
    pub beaten: bool,
}

/// The result of the test; undefined is `None` with a reason.
#[derive(Clone, Debug, PartialEq)]
pub struct AltTest {
    /// Share of people whom the judge holds against.
    pub winning_rate: Option<f64>,
    /// Mean of the advantages.
    pub advantage_probability: Option<f64>,
    /// Whether the winning rate is at least one half.
    pub passes: Option<bool>,
    /// Per person with enough items.
    pub humans: Vec<AgainstHuman>,
    /// People with too few items, who do not enter.
    pub left_out: Vec<usize>,
    /// Why there is no result, as a snake_case code.
    pub reason: Option<&'static str>,
}

/// Fewest people for the test.
const FEWEST_HUMANS: usize = 3;

/// The alternative annotator test, method id `alt_test`.
///
/// `humans[j][i]` is person j's answer to item i, `judge[i]` the judge's; `None` is no answer. For
/// each person, d = 1\[S_person ≥ S_judge\] − 1\[S_judge ≥ S_person\] against the other people's
/// answers, and a one-sided t test of mean d < ε; Benjamini–Yekutieli over people. Where all d are
/// equal and none is positive the t test is undefined, and p = (1 − ε)^n: with a lead of ε at least a
/// share ε of items would show d = 1.
///
/// # Errors
///
/// If lengths differ, an answer is not finite, or ε or q is outside (0, 1). Fewer than three people
/// with enough items is `too_few_humans`.
///
/// Source: Calderon, Reichart & Dror 2025.
pub fn alt_test(
    humans: &[Vec<Option<f64>>],
    judge: &[Option<f64>],
    plan: &AltTestPlan,
) -> Result<AltTest> {
    check(humans, judge, plan)?;
    let mut result = AltTest {
        winning_rate: None,
        advantage_probability: None,
        passes: None,
        humans: vec![],
        left_out: vec![],
        reason: None,
    };
    for human in 0..humans.len() {
        let leads = leads(humans, judge, human, plan.scoring);
        if leads.len() < plan.fewest_items.max(2) {
            result.left_out.push(human);
            continue;
        }
        let fits = leads.iter().filter(|d| **d <= 0.0).count();
        let advantage = fits as f64 / leads.len() as f64;
        let p = p_of_lead(&leads, plan.epsilon);
        let items = leads.len();
        result.humans.push(AgainstHuman {
            human,
            items,
            advantage,
            p,
            beaten: false,
        });
    }
    if result.humans.len() < FEWEST_HUMANS {
        result.reason = Some("too_few_humans");
        return Ok(result);
    }
    let p: Vec<f64> = result.humans.iter().map(|h| h.p).collect();
    let adjusted = adjust(Adjustment::BenjaminiYekutieli, &p)?;
    for (human, p) in result.humans.iter_mut().zip(adjusted) {
        human.beaten = at_most(p, plan.q);
    }
    let n = result.humans.len() as f64;
    let rate = result.humans.iter().filter(|h| h.beaten).count() as f64 / n;
    result.winning_rate = Some(rate);
    result.advantage_probability = Some(result.humans.iter().map(|h| h.advantage).sum::<f64>() / n);
    result.passes = Some(at_least(rate, 0.5));
    Ok(result)
}

fn check(humans: &[Vec<Option<f64>>], judge: &[Option<f64>], plan: &AltTestPlan) -> Result<()> {
    if let Some(human) = humans
        .iter()
        .position(|answers| answers.len() != judge.len())
    {
        let message = format!("person {human} (from 0) has another number of items than the judge");
        return Err(Error::input(message));
    }
    let mut all = humans.iter().flatten().chain(judge).flatten();
    if let Some(bad) = all.find(|answer| !answer.is_finite()) {
        return Err(Error::input(format!("an answer is {bad}")));
    }
    let open = |value: f64| value > 0.0 && value < 1.0;
    if !open(plan.epsilon) || !open(plan.q) {
        return Err(Error::input("epsilon and q lie strictly between 0 and 1"));
    }
    Ok(())
}

/// d per item: 1 if only the person fits better, −1 if only the judge does, 0 if they tie.
fn leads(
    humans: &[Vec<Option<f64>>],
    judge: &[Option<f64>],
    human: usize,
    scoring: Scoring,
) -> Vec<f64> {
    let of_item = |(item, judge): (usize, &Option<f64>)| {
        let (own, judge) = (humans[human][item]?, (*judge)?);
        let others = humans
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != human);
        let others: Vec<f64> = others.filter_map(|(_, answers)| answers[item]).collect();
        let person = scoring.fit(own, &others)?;
        let judge = scoring.fit(judge, &others)?;
        Some(f64::from(at_least(person, judge)) - f64::from(at_least(judge, person)))
    };
    judge.iter().enumerate().filter_map(of_item).collect()
}

impl Scoring {
    /// Higher is better; `None` without other answers.
    fn fit(self, answer: f64, others: &[f64]) -> Option<f64> {
        let term = |other: &f64| match self {
            Self::Accuracy => f64::from(answer == *other),
            Self::RootMeanSquare => (answer - other).powi(2),
        };
        let average = mean(&others.iter().map(term).collect::<Vec<f64>>())?;
        Some(match self {
            Self::Accuracy => average,
            Self::RootMeanSquare => -average.sqrt(),
        })
    }
}

/// One-sided p of a mean lead of ε or more.
fn p_of_lead(leads: &[f64], epsilon: f64) -> f64 {
    let n = leads.len() as f64;
    match (mean(leads), variance(leads)) {
        (Some(lead), Some(spread)) if spread > 0.0 => {
            positive_p(1.0 - t_sf((lead - epsilon) / (spread / n).sqrt(), n - 1.0))
        }
        (Some(lead), _) if lead <= 0.0 => (1.0 - epsilon).powf(n),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: AltTestPlan = AltTestPlan {
        epsilon: 0.1,
        q: 0.05,
        scoring: Scoring::Accuracy,
        fewest_items: 30,
    };

    fn answers(shift: usize) -> Vec<Option<f64>> {
        (0..60)
            .map(|i| Some(if i % 10 == shift { 1.0 } else { 0.0 }))
            .collect()
    }

    #[test]
    fn two_people_are_too_few() {
        let result = alt_test(&[answers(1), answers(2)], &answers(0), &PLAN).unwrap();
        assert_eq!(
            (result.passes, result.reason),
            (None, Some("too_few_humans"))
        );
        let mut short = answers(3);
        short.iter_mut().skip(29).for_each(|a| *a = None);
        let result = alt_test(&[answers(1), answers(2), short], &answers(0), &PLAN).unwrap();
        assert_eq!(
            (result.left_out, result.reason),
            (vec![2], Some("too_few_humans"))
        );
    }

    #[test]
    fn full_agreement_passes_and_full_disagreement_fails() {
        let same = vec![answers(1); 3];
        let result = alt_test(
            &same,
            &answers(1),
            &AltTestPlan {
                epsilon: 0.2,
                ..PLAN
            },
        )
        .unwrap();
        assert_eq!(
            (result.passes, result.advantage_probability),
            (Some(true), Some(1.0))
        );
        let wrong: Vec<Option<f64>> = answers(1).iter().map(|a| a.map(|a| 1.0 - a)).collect();
        let result = alt_test(&same, &wrong, &PLAN).unwrap();
        assert_eq!(
            (result.passes, result.winning_rate),
            (Some(false), Some(0.0))
        );
        assert!(result.humans.iter().all(|h| h.p == 1.0));
    }

    #[test]
    fn scores_are_compared_by_distance() {
        let people: Vec<Vec<Option<f64>>> = (0..3)
            .map(|j| (0..40).map(|i| Some(f64::from(i % 5 + j))).collect())
            .collect();
        let middle: Vec<Option<f64>> = (0..40).map(|i| Some(f64::from(i % 5 + 1))).collect();
        let plan = AltTestPlan {
            scoring: Scoring::RootMeanSquare,
            ..PLAN
        };
        let result = alt_test(&people, &middle, &plan).unwrap();
        assert_eq!(result.passes, Some(true));
        assert!(alt_test(&people, &middle[1..], &plan).is_err());
    }
}
