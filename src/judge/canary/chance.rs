//! What chance does to labelled items that are judged again by the same judge.

use std::collections::BTreeMap;

/// One item when the judge was examined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// People's answer, as a code of the scale.
    pub label: u32,
    /// The judge's usable answers, one per repeat.
    pub answers: Vec<u32>,
}

/// A probability as the examination measured it: like this many of that many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rate {
    hits: f64,
    of: f64,
}

/// How one label's items were answered when the judge was examined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct OfLabel {
    /// Answers that agree with people.
    agree: Rate,
    /// Answers that another look at the item would change.
    changed: Rate,
}

/// What the examination lets one expect of the same judge, by label.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected(BTreeMap<u32, OfLabel>);

impl Expected {
    /// Measures a judge on all items of its examination.
    ///
    /// How often it changes an answer is counted where it answered twice or more. Elsewhere it is taken
    /// as 1 − Σ q² of the shares q of its answers to a label, for two answers 2q(1 − q): what a judge does
    /// that draws anew each time, and the most that one with these shares does by chance. Such a rate is
    /// known from half as many items at worst, by the delta method.
    pub fn of(examined: &[Examined]) -> Self {
        let mut by_label: BTreeMap<u32, Vec<&Examined>> = BTreeMap::new();
        for item in examined.iter().filter(|i| !i.answers.is_empty()) {
            by_label.entry(item.label).or_default().push(item);
        }
        let of = |(label, items): (u32, Vec<&Examined>)| (label, OfLabel::of(label, &items));
        Self(by_label.into_iter().map(of).collect())
    }

    /// Distribution of how many of these items, counted by label, get another answer.
    pub fn changed(&self, items: &BTreeMap<u32, u64>) -> Vec<f64> {
        self.sum(items, |of| of.changed)
    }

    /// Distribution of how many of these items, counted by label, agree with people.
    pub fn agree(&self, items: &BTreeMap<u32, u64>) -> Vec<f64> {
        self.sum(items, |of| of.agree)
    }

    fn sum(&self, items: &BTreeMap<u32, u64>, rate: impl Fn(&OfLabel) -> Rate) -> Vec<f64> {
        items.iter().fold(vec![1.0], |all, (label, n)| {
            let of = self.0.get(label).copied().unwrap_or_default();
            convolved(&all, &beta_binomial(*n, rate(&of)))
        })
    }
}

impl OfLabel {
    fn of(label: u32, items: &[&Examined]) -> Self {
        let n = items.len() as f64;
        let mut shares: BTreeMap<u32, f64> = BTreeMap::new();
        for item in items {
            *shares.entry(item.answers[0]).or_default() += 1.0 / n;
        }
        let drawn = 1.0 - shares.values().map(|q| q * q).sum::<f64>();
        let twice: Vec<_> = items.iter().filter(|i| i.answers.len() > 1).collect();
        let moved = twice.iter().filter(|i| i.answers[0] != i.answers[1]);
        Self {
            agree: Rate {
                hits: shares.get(&label).copied().unwrap_or(0.0) * n,
                of: n,
            },
            changed: match twice.len() {
                0 => Rate {
                    hits: drawn * n / 2.0,
                    of: n / 2.0,
                },
                of => Rate {
                    hits: moved.count() as f64,
                    of: of as f64,
                },
            },
        }
    }
}

/// The beta-binomial distribution over 0 to `n`: the exact binomial, averaged over what the rate may be
/// (Jeffreys' prior; Gelman et al. 2013, Bayesian Data Analysis, 2.4).
fn beta_binomial(n: u64, rate: Rate) -> Vec<f64> {
    let (a, b) = (rate.hits + 0.5, rate.of - rate.hits + 0.5);
    let none = (0..n).map(|i| (b + i as f64) / (a + b + i as f64));
    let mut all = vec![none.product::<f64>()];
    for k in 0..n {
        let left = (n - k) as f64;
        let k = k as f64;
        let step = left * (a + k) / ((k + 1.0) * (b + left - 1.0));
        all.push(all[all.len() - 1] * step);
    }
    all
}

fn convolved(x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; x.len() + y.len() - 1];
    for (i, x) in x.iter().enumerate() {
        for (j, y) in y.iter().enumerate() {
            sum[i + j] += x * y;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_a_beta_binomial() {
        // Jeffreys' prior and no data: the arcsine law, of two draws 3/8, 1/4, 3/8.
        let none = beta_binomial(2, Rate::default());
        for (found, right) in none.iter().zip([0.375, 0.25, 0.375]) {
            assert!((found - right).abs() < 1e-12, "{none:?}");
        }
        // A rate known from very much data: the binomial distribution.
        let known = Rate {
            hits: 2.5e9,
            of: 1e10,
        };
        let known = beta_binomial(3, known);
        for (found, right) in known.iter().zip([27.0, 27.0, 9.0, 1.0]) {
            assert!((found - right / 64.0).abs() < 1e-6, "{known:?}");
        }
    }

    #[test]
    fn repeats_say_how_often_an_answer_changes_and_else_shares_do() {
        let item = |label, answers: &[u32]| Examined {
            label,
            answers: answers.to_vec(),
        };
        let steady = [vec![item(1, &[1, 1]); 5], vec![item(1, &[0, 0]); 5]].concat();
        let changed = Expected::of(&steady).0[&1].changed;
        assert_eq!((changed.hits, changed.of), (0.0, 10.0));
        let once = [vec![item(1, &[1]); 5], vec![item(1, &[0]); 5]].concat();
        let of = Expected::of(&once).0[&1];
        assert_eq!((of.changed.hits, of.changed.of), (2.5, 5.0));
        assert_eq!((of.agree.hits, of.agree.of), (5.0, 10.0));
    }
}
