//! The betting confidence sequence.

use super::Reach;
use super::betting::{Purse, Stake, check_level, check_value};
use crate::base::{Error, Result};
use crate::stats::Limits;

/// A confidence sequence for the mean of values in \[0, 1\], method id `betting_cs`.
///
/// Every mean on a grid is kept while hedged capital against it is under 1/α; the limits are the
/// outermost kept means, one grid step further out. They hold at all looks together, so the tightest
/// limits seen so far hold as well. One value costs a pass over the grid.
///
/// # Examples
///
/// ```
/// use assize::stats::sequential::BettingCs;
/// let mut sequence = BettingCs::new(0.05, 1000).unwrap();
/// for x in [1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] {
///     sequence.observe(x).unwrap();
/// }
/// let limits = sequence.limits().unwrap();
/// assert!(limits.lower > 0.3 && limits.upper > 0.99);
/// ```
///
/// Source: Waudby-Smith & Ramdas 2024.
#[derive(Clone, Debug)]
pub struct BettingCs {
    stake: Stake,
    grid: Vec<Purse>,
    bar: f64,
    step: f64,
}

impl BettingCs {
    /// Starts a sequence of level 1 − α on a grid of `steps` + 1 means.
    ///
    /// # Errors
    ///
    /// If α is not strictly between 0 and 1, or there are fewer than 2 steps.
    pub fn new(alpha: f64, steps: usize) -> Result<Self> {
        check_level(alpha)?;
        if steps < 2 {
            return Err(Error::input(format!(
                "a grid of {steps} steps has no inside"
            )));
        }
        let step = 1.0 / steps as f64;
        let grid = (0..=steps)
            .map(|i| Purse::new(i as f64 / steps as f64))
            .collect();
        Ok(Self {
            stake: Stake::new(alpha / 2.0),
            grid,
            bar: 1.0 / alpha,
            step,
        })
    }

    /// Takes the next value.
    ///
    /// # Errors
    ///
    /// If it is outside \[0, 1\]; the sequence is then unchanged.
    pub fn observe(&mut self, x: f64) -> Result<()> {
        check_value(x)?;
        let stake = self.stake.next();
        self.grid.iter_mut().for_each(|purse| purse.bet(stake, x));
        self.stake.observe(x);
        Ok(())
    }

    /// The limits now; `None` if every mean on the grid was rejected, which happens with probability
    /// at most α for independent values with one mean.
    pub fn limits(&self) -> Option<Limits> {
        let kept = |purse: &&Purse| !purse.hedged().reaches(self.bar);
        let first = self.grid.iter().find(kept)?;
        let last = self.grid.iter().rev().find(kept)?;
        Some(Limits {
            lower: (first.m - self.step).max(0.0),
            upper: (last.m + self.step).min(1.0),
        })
    }

    /// How far the limits can still move in `remaining` further values.
    ///
    /// K⁺ falls and K⁻ rises with m, so that the lower limit rests on K⁺ alone and the upper one on K⁻. A bet
    /// on one value grows them by at most 1 + λ(1 − m) and 1 + λm, and λ can't exceed what the squares seen
    /// so far allow. Both bounds hold for every course that leaves limits at all; they are not always
    /// reached. Costs a pass over the grid per remaining value.
    ///
    /// Source: METHODS 7 (futility); own bound.
    pub fn reach(&self, remaining: u64) -> Reach {
        let mut grid = self.grid.clone();
        for ahead in 0..remaining {
            let stake = self.stake.most(ahead);
            grid.iter_mut().for_each(|purse| purse.grow(stake));
        }
        let bar = 2.0 * self.bar;
        let first = grid.iter().find(|purse| !purse.above.reaches(bar));
        let last = grid.iter().rev().find(|purse| !purse.below.reaches(bar));
        Reach {
            highest_lower: first.map_or(1.0, |purse| (purse.m - self.step).max(0.0)),
            lowest_upper: last.map_or(0.0, |purse| (purse.m + self.step).min(1.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;

    #[test]
    fn limits_close_in_on_the_mean() {
        let mut sequence = BettingCs::new(0.05, 200).unwrap();
        let mut stream = Seed(2).stream();
        let start = sequence.limits().unwrap();
        assert_eq!((start.lower, start.upper), (0.0, 1.0));
        (0..3000).for_each(|_| sequence.observe(stream.unit()).unwrap());
        let end = sequence.limits().unwrap();
        assert!(
            end.lower > 0.46 && end.lower < 0.5 && end.upper > 0.5 && end.upper < 0.54,
            "{end:?}"
        );
    }

    #[test]
    fn the_truth_is_lost_at_most_as_often_as_promised() {
        let missed = (0..400).filter(|&run| {
            let mut stream = Seed(4).nth("cs", run).stream();
            let mut sequence = BettingCs::new(0.05, 100).unwrap();
            (0..200).any(|_| {
                sequence.observe(f64::from(stream.unit() < 0.9)).unwrap();
                sequence
                    .limits()
                    .is_none_or(|l| l.lower > 0.9 || l.upper < 0.9)
            })
        });
        assert!(
            missed.count() <= 33,
            "more than .05 plus three standard errors"
        );
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(BettingCs::new(0.05, 1).is_err() && BettingCs::new(0.0, 10).is_err());
        assert!(BettingCs::new(0.05, 10).unwrap().observe(-0.1).is_err());
    }
}
