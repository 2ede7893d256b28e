//! Capital of a bettor against one value of the mean.

use super::Capital;
use crate::base::{Error, Result};

/// How much to bet on the next value, from the values so far: predictable, so that capital is a
/// martingale under the null.
///
/// λ_i = √(2 log(1/α₁)/(σ̂²_{i−1} i log(i + 1))), with σ̂² started at ¼ by one imagined observation of ½.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stake {
    budget: f64,
    seen: f64,
    total: f64,
    squares: f64,
}

/// Bets stay within this share of what could be lost.
const TRUNCATION: f64 = 0.5;

impl Stake {
    /// For a one-sided level α₁.
    pub fn new(one_sided: f64) -> Self {
        Self {
            budget: 2.0 * (1.0 / one_sided).ln(),
            seen: 0.0,
            total: 0.5,
            squares: 0.25,
        }
    }

    /// λ for the next value.
    pub fn next(&self) -> f64 {
        let (i, variance) = (self.seen + 1.0, self.squares / (self.seen + 1.0));
        (self.budget / (variance * i * (i + 1.0).ln())).sqrt()
    }

    /// The largest λ that the value `ahead` of the next can get, whatever comes before it: the sum of squares
    /// never falls, so that it is at least what it is now.
    pub fn most(&self, ahead: u64) -> f64 {
        let i = self.seen + 1.0 + ahead as f64;
        (self.budget / (self.squares * (i + 1.0).ln())).sqrt()
    }

    /// Takes a value into account.
    pub fn observe(&mut self, x: f64) {
        self.seen += 1.0;
        self.total += x;
        let mean = (self.total / (self.seen + 1.0)).min(1.0);
        self.squares += (x - mean).powi(2);
    }
}

/// Capital from betting that the mean is above `m`, and from betting that it is below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purse {
    pub m: f64,
    pub above: Capital,
    pub below: Capital,
}

impl Purse {
    pub fn new(m: f64) -> Self {
        Self {
            m,
            above: Capital::START,
            below: Capital::START,
        }
    }

    /// Bets `stake` on one value, truncated so that capital stays positive.
    pub fn bet(&mut self, stake: f64, x: f64) {
        let (up, down) = self.stakes(stake);
        self.above.multiply(1.0 + up * (x - self.m));
        self.below.multiply(1.0 - down * (x - self.m));
    }

    pub fn hedged(&self) -> Capital {
        self.above.larger(self.below).halved()
    }

    /// Bounds both capitals after one more value of any size, at a stake of at most `stake`.
    pub fn grow(&mut self, stake: f64) {
        let (up, down) = self.stakes(stake);
        self.above.multiply(1.0 + up * (1.0 - self.m));
        self.below.multiply(1.0 + down * self.m);
    }

    /// What is bet above and below.
    fn stakes(&self, stake: f64) -> (f64, f64) {
        let truncated = |loss: f64| stake.min(TRUNCATION / loss);
        (truncated(self.m), truncated(1.0 - self.m))
    }
}

fn check_unit(value: f64, what: &str) -> Result<()> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::input(format!("{what} {value} is outside 0 to 1")))
}

pub(super) fn check_value(x: f64) -> Result<()> {
    check_unit(x, "value")
}

/// A level under this could not be told from 0.
const SMALLEST_LEVEL: f64 = 1e-300;

pub(super) fn check_level(alpha: f64) -> Result<()> {
    if !(alpha > 0.0 && alpha < 1.0) {
        let message = format!("level {alpha} is not strictly between 0 and 1");
        return Err(Error::input(message));
    }
    // The capital that shows something, at most 2/α, must be a double.
    match alpha < SMALLEST_LEVEL {
        true => Err(Error::input(format!("level {alpha} is under 10^-300"))),
        false => Ok(()),
    }
}

/// Hedged capital against one mean, max(K⁺, K⁻)/2, method id `betting_capital_hedged`.
///
/// Reject the mean once capital reaches 1/α, at any time. Simulated false stops .000–.018 at α = .05.
///
/// Source: Waudby-Smith & Ramdas 2024.
#[derive(Clone, Debug)]
pub struct HedgedCapital {
    stake: Stake,
    purse: Purse,
}

impl HedgedCapital {
    /// Starts against mean `m0` of values in \[0, 1\].
    ///
    /// # Errors
    ///
    /// If `alpha` is not strictly between 0 and 1 or `m0` outside \[0, 1\].
    pub fn new(m0: f64, alpha: f64) -> Result<Self> {
        check_level(alpha)?;
        check_unit(m0, "mean")?;
        Ok(Self {
            stake: Stake::new(alpha / 2.0),
            purse: Purse::new(m0),
        })
    }

    /// Bets on the next value and returns the capital.
    ///
    /// # Errors
    ///
    /// If the value is outside \[0, 1\]; the capital is then unchanged.
    pub fn observe(&mut self, x: f64) -> Result<Capital> {
        check_value(x)?;
        self.purse.bet(self.stake.next(), x);
        self.stake.observe(x);
        Ok(self.purse.hedged())
    }
}

/// One-sided capital for non-inferiority, from task differences B − A, method id `betting_noninferiority`.
///
/// Bets that the mean of (d + 1)/2 is above (1 − δ)/2. Capital of 1/α₁ or more shows that B is not worse
/// by δ, at one-sided level α₁, at any time.
///
/// Unreliable where tasks enter in the order in which they finish: fast tasks are easy ones.
///
/// Source: Waudby-Smith & Ramdas 2024; METHODS 7.
#[derive(Clone, Debug)]
pub struct NonInferiority {
    stake: Stake,
    purse: Purse,
    one_sided: f64,
    highest: Capital,
}

impl NonInferiority {
    /// Starts with a margin δ in (0, 1\] and a one-sided level.
    ///
    /// # Errors
    ///
    /// If the margin or the level is out of range.
    pub fn new(margin: f64, one_sided: f64) -> Result<Self> {
        check_level(one_sided)?;
        if !(margin > 0.0 && margin <= 1.0) {
            let message = format!("margin {margin} is not above 0 and at most 1");
            return Err(Error::input(message));
        }
        let (stake, purse) = (Stake::new(one_sided), Purse::new((1.0 - margin) / 2.0));
        Ok(Self {
            stake,
            purse,
            one_sided,
            highest: Capital::START,
        })
    }

    /// Bets on the next task difference in \[−1, 1\] and returns the capital.
    ///
    /// # Errors
    ///
    /// If the difference is outside \[−1, 1\].
    pub fn observe(&mut self, difference: f64) -> Result<Capital> {
        let x = (difference + 1.0) / 2.0;
        check_value(x)?;
        self.purse.bet(self.stake.next(), x);
        self.stake.observe(x);
        self.highest = self.highest.larger(self.purse.above);
        Ok(self.purse.above)
    }

    /// Whether non-inferiority was shown at some look.
    pub fn shown(&self) -> bool {
        self.highest.reaches(self.bar())
    }

    /// The capital that shows it, 1/α₁.
    pub(super) fn bar(&self) -> f64 {
        1.0 / self.one_sided
    }

    /// No course of `remaining` further tasks brings more capital than this.
    pub(super) fn highest_reach(&self, remaining: u64) -> Capital {
        let mut purse = self.purse;
        (0..remaining).for_each(|ahead| purse.grow(self.stake.most(ahead)));
        purse.above
    }

    /// Anytime-valid one-sided p: one over the highest capital so far; never 0.
    pub fn p(&self) -> f64 {
        (-self.highest.ln()).exp().clamp(f64::MIN_POSITIVE, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;

    #[test]
    fn capital_stays_positive_and_input_is_checked() {
        let mut capital = HedgedCapital::new(0.0, 0.05).unwrap();
        for x in [0.0, 1.0, 0.0, 0.0, 1.0] {
            assert!(capital.observe(x).unwrap().amount().unwrap() > 0.0);
        }
        assert!(capital.observe(1.5).is_err() && capital.observe(f64::NAN).is_err());
        assert!(HedgedCapital::new(0.5, 1.0).is_err() && HedgedCapital::new(-0.1, 0.05).is_err());
        assert!(NonInferiority::new(0.0, 0.025).is_err());
    }

    /// Share of simulated runs of 400 tasks that claim non-inferiority at some look.
    fn claims(loss: f64, margin: f64) -> f64 {
        let runs = 400;
        let claimed = (0..runs).filter(|&run| {
            let mut stream = Seed(8).nth("claims", run).stream();
            let mut test = NonInferiority::new(margin, 0.025).unwrap();
            (0..400).for_each(|_| {
                let difference = if stream.unit() < 0.8 { 0.0 } else { 1.0 };
                let sign = if stream.unit() < 0.5 + loss / 0.4 {
                    -1.0
                } else {
                    1.0
                };
                test.observe(sign * difference).unwrap();
            });
            test.shown()
        });
        claimed.count() as f64 / runs as f64
    }

    #[test]
    fn claims_are_rare_at_the_margin_and_common_inside() {
        assert!(claims(0.1, 0.1) < 0.025 + 3.0 * 0.0078);
        assert!(claims(0.0, 0.2) > 0.9);
    }

    #[test]
    fn p_falls_with_capital() {
        let mut test = NonInferiority::new(0.2, 0.025).unwrap();
        assert_eq!(test.p(), 1.0);
        (0..200).for_each(|_| drop(test.observe(0.0)));
        assert!(test.shown() && test.p() <= 0.025);
    }

    #[test]
    fn capital_of_long_runs_neither_overflows_nor_is_lost() {
        let run = |values: &[(f64, u32)]| {
            let mut test = NonInferiority::new(0.1, 0.025).unwrap();
            let each = values.iter().flat_map(|&(d, n)| (0..n).map(move |_| d));
            let last = each.map(|d| test.observe(d).unwrap()).last().unwrap();
            (test, last)
        };
        let (test, last) = run(&[(1.0, 3000)]);
        assert!(last.amount().is_none() && last.ln().is_finite() && last.ln() > 1000.0);
        assert!(test.shown() && test.p() > 0.0);
        let (test, last) = run(&[(-1.0, 1500), (1.0, 200_000)]);
        assert!(last.ln() > 0.0 && test.shown(), "{last:?}");
        let (test, last) = run(&[(-1.0, 5000)]);
        assert!(last.amount().is_none() && last.ln() < -700.0);
        assert!(!crate::stats::sequential::non_inferiority_is_futile(
            &test, 1_000_000
        ));
        assert!(NonInferiority::new(0.1, 1e-310).is_err());
    }
}
