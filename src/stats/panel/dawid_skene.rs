//! Dawid and Skene's model of raters with individual error rates.

use std::collections::BTreeSet;

use super::{Vote, majority_vote};
use crate::base::{Error, Result};

/// One label: who said what about which item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// Item number from 0.
    pub item: usize,
    /// Rater number from 0.
    pub rater: usize,
    /// Class from 0.
    pub class: usize,
}

/// The fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct DawidSkene {
    /// Share of each class.
    pub prior: Vec<f64>,
    /// Probability of each class per item; `None` for an item without labels.
    pub posterior: Vec<Option<Vec<f64>>>,
    /// Per rater, true class and observed class: the probability of the observed one. `None` where
    /// the rater labelled no item that could be of the true class.
    pub confusion: Vec<Vec<Option<Vec<f64>>>>,
    /// Iterations used.
    pub iterations: usize,
    /// Whether the posteriors stopped moving before the iterations ran out.
    pub converged: bool,
    /// Fewer than 50 items or 3 raters: too little to tell error rates from truth.
    pub exploratory: bool,
}

/// When to stop.
const TOLERANCE: f64 = 1e-10;

/// Maximum-likelihood classes and error rates by EM, method id `dawid_skene`.
///
/// Starts from the majority vote (a tie is shared), works in logs, and stops when no posterior moves
/// by more than 1e-10. It assumes errors that are independent given the truth, which judges of one
/// model family violate: the result then looks surer than it is. Use the panel's majority, calibrated
/// as a judge, unless raters are people with at least 50 items and 3 raters.
///
/// # Errors
///
/// If there is no label, no class, or a class outside `classes`.
///
/// Source: Dawid & Skene 1979.
pub fn dawid_skene(labels: &[Given], classes: usize, max_iterations: usize) -> Result<DawidSkene> {
    if labels.is_empty() || classes == 0 {
        return Err(Error::input(
            "the model needs at least one label and one class",
        ));
    }
    if let Some(bad) = labels.iter().find(|given| given.class >= classes) {
        let message = format!(
            "class {} of item {} is not among {classes}",
            bad.class, bad.item
        );
        return Err(Error::input(message));
    }
    let mut model = Model::new(labels, classes);
    let (mut iterations, mut converged) = (0, false);
    while iterations < max_iterations && !converged {
        model.maximise();
        converged = model.expect() <= TOLERANCE;
        iterations += 1;
    }
    model.maximise();
    let used = model.labelled.iter().filter(|labelled| **labelled).count();
    let raters: BTreeSet<usize> = labels.iter().map(|given| given.rater).collect();
    Ok(model.finish(iterations, converged, used < 50 || raters.len() < 3))
}

struct Model<'a> {
    labels: &'a [Given],
    classes: usize,
    labelled: Vec<bool>,
    /// Item-major class probabilities.
    posterior: Vec<f64>,
    prior: Vec<f64>,
    /// Rater-major, then true class, then observed class; all 0 where nothing is known.
    confusion: Vec<f64>,
}

impl<'a> Model<'a> {
    fn new(labels: &'a [Given], classes: usize) -> Self {
        let items = labels.iter().map(|g| g.item + 1).max().unwrap_or(0);
        let raters = labels.iter().map(|g| g.rater + 1).max().unwrap_or(0);
        let mut votes = vec![vec![]; items];
        labels
            .iter()
            .for_each(|g| votes[g.item].push(Some(g.class as u32)));
        let posterior = votes
            .iter()
            .flat_map(|votes| start(votes, classes))
            .collect();
        let labelled = votes.iter().map(|votes| !votes.is_empty()).collect();
        let (prior, confusion) = (vec![0.0; classes], vec![0.0; raters * classes * classes]);
        Self {
            labels,
            classes,
            labelled,
            posterior,
            prior,
            confusion,
        }
    }

    fn cell(&self, given: &Given, truth: usize) -> usize {
        (given.rater * self.classes + truth) * self.classes + given.class
    }

    /// Class shares and error rates from the posteriors.
    fn maximise(&mut self) {
        let k = self.classes;
        self.prior.fill(0.0);
        for item in self.posterior.chunks(k) {
            self.prior
                .iter_mut()
                .zip(item)
                .for_each(|(prior, p)| *prior += p);
        }
        normalise(&mut self.prior);
        self.confusion.fill(0.0);
        for given in self.labels {
            for truth in 0..k {
                let cell = self.cell(given, truth);
                self.confusion[cell] += self.posterior[given.item * k + truth];
            }
        }
        self.confusion.chunks_mut(k).for_each(normalise);
    }

    /// Posteriors from class shares and error rates; returns the largest move.
    fn expect(&mut self) -> f64 {
        let k = self.classes;
        let prior: Vec<f64> = self.prior.iter().map(|p| p.ln()).collect();
        let mut logs = prior.repeat(self.labelled.len());
        for given in self.labels {
            for truth in 0..k {
                logs[given.item * k + truth] += self.confusion[self.cell(given, truth)].ln();
            }
        }
        let mut moved: f64 = 0.0;
        for (item, logs) in logs
            .chunks(k)
            .enumerate()
            .filter(|(item, _)| self.labelled[*item])
        {
            let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if top == f64::NEG_INFINITY {
                continue; // Every class is ruled out by rounding: the item keeps what it had.
            }
            let mut next: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
            normalise(&mut next);
            let old = &mut self.posterior[item * k..(item + 1) * k];
            for (old, next) in old.iter_mut().zip(next) {
                moved = moved.max((*old - next).abs());
                *old = next;
            }
        }
        moved
    }

    fn finish(self, iterations: usize, converged: bool, exploratory: bool) -> DawidSkene {
        let k = self.classes;
        let known = |row: &[f64]| (row.iter().sum::<f64>() > 0.0).then(|| row.to_vec());
        DawidSkene {
            prior: self.prior,
            posterior: self.posterior.chunks(k).map(known).collect(),
            confusion: self
                .confusion
                .chunks(k * k)
                .map(|rater| rater.chunks(k).map(known).collect())
                .collect(),
            iterations,
            converged,
            exploratory,
        }
    }
}

/// All mass on the majority; shared among the voted classes where it ties; nothing without votes.
fn start(votes: &[Option<u32>], classes: usize) -> Vec<f64> {
    let mut mass = vec![0.0; classes];
    match majority_vote(votes) {
        Vote::Majority(class) => mass[class as usize] = 1.0,
        Vote::Tie => votes
            .iter()
            .flatten()
            .for_each(|&class| mass[class as usize] += 1.0),
        Vote::NoVotes => {}
    }
    normalise(&mut mass);
    mass
}

/// Scales to sum 1; leaves zeros alone.
fn normalise(mass: &mut [f64]) {
    let total: f64 = mass.iter().sum();
    if total > 0.0 {
        mass.iter_mut().for_each(|m| *m /= total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;

    /// Five raters, one of whom answers at random and one who inverts.
    fn simulated() -> (Vec<Given>, Vec<usize>) {
        let mut stream = Seed(12).stream();
        let truth: Vec<usize> = (0..400).map(|_| stream.below(2)).collect();
        let mut labels = vec![];
        for (item, &class) in truth.iter().enumerate() {
            for (rater, right) in [0.9, 0.85, 0.95, 0.5, 0.1].into_iter().enumerate() {
                let class = if stream.unit() < right {
                    class
                } else {
                    1 - class
                };
                labels.push(Given { item, rater, class });
            }
        }
        (labels, truth)
    }

    #[test]
    fn error_rates_of_each_rater_are_recovered() {
        let (labels, truth) = simulated();
        let model = dawid_skene(&labels, 2, 2000).unwrap();
        assert!(model.converged && !model.exploratory);
        for (rater, right) in [0.9, 0.85, 0.95, 0.5, 0.1].into_iter().enumerate() {
            for class in 0..2 {
                let found = model.confusion[rater][class].as_ref().unwrap()[class];
                assert!(
                    (found - right).abs() < 0.08,
                    "rater {rater}: {found} for {right}"
                );
            }
        }
        let right = model.posterior.iter().zip(&truth);
        let right = right
            .filter(|(p, t)| p.as_ref().unwrap()[**t] > 0.5)
            .count();
        assert!(right > 380, "{right}");
    }

    #[test]
    fn order_of_labels_changes_nothing() {
        let (mut labels, _) = simulated();
        let before = dawid_skene(&labels, 2, 500).unwrap();
        labels.reverse();
        let after = dawid_skene(&labels, 2, 500).unwrap();
        assert!((before.prior[0] - after.prior[0]).abs() < 1e-9);
    }

    #[test]
    fn gaps_stay_gaps() {
        let labels = [
            Given {
                item: 1,
                rater: 0,
                class: 0,
            },
            Given {
                item: 1,
                rater: 2,
                class: 0,
            },
        ];
        let model = dawid_skene(&labels, 2, 10).unwrap();
        assert_eq!(model.posterior[0], None);
        assert_eq!(model.posterior[1], Some(vec![1.0, 0.0]));
        assert_eq!(model.confusion[0][1], None);
        assert_eq!(model.confusion[1], [None, None]);
        assert!(model.exploratory);
        assert!(dawid_skene(&labels, 0, 10).is_err());
        assert!(
            dawid_skene(
                &[Given {
                    item: 0,
                    rater: 0,
                    class: 2
                }],
                2,
                10
            )
            .is_err()
        );
    }
}
