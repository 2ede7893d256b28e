//! Counts of events in units that differ: designs, draws, and the rates of them.

use serde::{Deserialize, Serialize};

use super::cell::{Design, named_design};
use crate::base::seed::Stream;
use crate::stats::count::{UnitCount, garwood, poisson_clustered};
use crate::stats::special::chi2_quantile;
use crate::stats::sum::sum;
use crate::stats::{Level, Limits};

/// Poisson counts whose rate differs between units by a gamma factor with mean 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountCell {
    /// A name for the table; made from the fields if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of units.
    pub units: u32,
    /// Exposure of each unit.
    pub exposure: f64,
    /// Events per exposure, over all units: the truth.
    pub rate: f64,
    /// Variance of the factor; 0 for independent events.
    #[serde(default)]
    pub frailty: f64,
}

/// A mean of this size is drawn in one piece.
const PIECE: f64 = 50.0;

impl Design for CountCell {
    named_design!();

    fn units(&self) -> u32 {
        self.units
    }

    fn check(&self) -> Result<(), &'static str> {
        let positive = |v: f64| v > 0.0 && v.is_finite();
        let frailty = self.frailty >= 0.0 && self.frailty.is_finite();
        if positive(self.exposure) && positive(self.rate) && frailty {
            return Ok(());
        }
        Err("exposure and rate are positive and the frailty's variance is not negative")
    }
}

impl CountCell {
    pub(super) fn draw(&self, stream: &mut Stream) -> Vec<UnitCount> {
        let mean = self.rate * self.exposure;
        (0..self.units)
            .map(|_| UnitCount {
                events: poisson(mean * gamma_factor(self.frailty, stream), stream),
                exposure: self.exposure,
            })
            .collect()
    }
}

/// A gamma factor with mean 1 and the given variance.
pub(super) fn gamma_factor(variance: f64, stream: &mut Stream) -> f64 {
    if variance == 0.0 {
        return 1.0;
    }
    // A gamma variable of shape 1/v and scale v is v/2 times a chi-square.
    chi2_quantile(stream.unit(), 2.0 / variance) * variance / 2.0
}

/// A Poisson count, by running through the probabilities; large means in pieces.
fn poisson(mean: f64, stream: &mut Stream) -> f64 {
    let (mut rest, mut count) = (mean, 0.0);
    while rest > 0.0 {
        let piece = rest.min(PIECE);
        rest -= piece;
        let (mut term, mut u, mut k) = ((-piece).exp(), stream.unit(), 0.0);
        // Beyond ten times the largest mean only rounding is left.
        while u >= term && k < 10.0 * PIECE {
            u -= term;
            k += 1.0;
            term *= piece / k;
        }
        count += k;
    }
    count
}

/// The limits of a method by its id; `None` where it gives none.
pub(super) fn limits(id: &str, units: &[UnitCount], level: Level) -> Option<Limits> {
    if id == "poisson_garwood" {
        let events = sum(units.iter().map(|u| u.events));
        let exposure = sum(units.iter().map(|u| u.exposure));
        return Some(garwood(events, exposure, level));
    }
    let got = poisson_clustered(units, level).ok()?;
    Some(Limits {
        lower: got.lower?,
        upper: got.upper?,
    })
}

/// METHODS 3 names the frailty's variance of 4 and few units; the rest is chosen here.
pub(super) fn grid() -> Vec<CountCell> {
    let mut cells = vec![];
    for units in [5u32, 10, 30, 100, 300, 1000] {
        for exposure in [1.0, 10.0, 50.0] {
            for rate in [0.01, 0.1, 1.0] {
                for frailty in [0.0, 1.0, 4.0] {
                    let name = format!("G={units} e={exposure} rate={rate} frailty={frailty}");
                    cells.push(CountCell {
                        name: Some(name),
                        units,
                        exposure,
                        rate,
                        frailty,
                    });
                }
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::stats::sum::{mean, variance};

    #[test]
    fn counts_have_the_mean_and_variance_of_a_gamma_mixture() {
        for (exposure, frailty) in [(3.0, 0.0), (3.0, 1.0), (120.0, 0.25)] {
            let cell = CountCell {
                name: None,
                units: 20_000,
                exposure,
                rate: 1.0,
                frailty,
            };
            let drawn = cell.draw(&mut Seed(3).stream());
            let events: Vec<f64> = drawn.iter().map(|u| u.events).collect();
            let wanted = exposure + frailty * exposure * exposure;
            assert!((mean(&events).unwrap() - exposure).abs() < 5.0 * (wanted / 20_000.0).sqrt());
            assert!((variance(&events).unwrap() / wanted - 1.0).abs() < 0.1);
        }
    }
}
