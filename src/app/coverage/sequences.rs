//! Task differences that are looked at one after another: designs, draws, and limits that hold at
//! every look.

use serde::{Deserialize, Serialize};

use super::cell::{Design, are_masses, named_design};
use crate::base::seed::Stream;
use crate::stats::paired::paired_t;
use crate::stats::sequential::{BettingCs, HedgedCapital, NonInferiority, sign_e_value};
use crate::stats::sum::sum;
use crate::stats::{Level, Limits};

/// Tasks in random order whose differences are of finitely many kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequenceCell {
    /// A name for the table; made from the fields if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of tasks at the last look; there is a look after each.
    pub tasks: u32,
    /// What differences occur.
    pub types: Vec<DifferenceType>,
}

/// One kind of task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DifferenceType {
    /// How common it is; masses sum to 1.
    pub mass: f64,
    /// The task's difference B − A, in \[−1, 1\].
    pub difference: f64,
}

impl Design for SequenceCell {
    named_design!();

    fn units(&self) -> u32 {
        self.tasks
    }

    fn check(&self) -> Result<(), &'static str> {
        let within = |t: &DifferenceType| (-1.0..=1.0).contains(&t.difference);
        if self.types.iter().all(within) && are_masses(self.types.iter().map(|t| t.mass)) {
            return Ok(());
        }
        Err("differences in [-1, 1] and masses that sum to 1")
    }
}

/// Tasks between two looks of the repeated t interval, which is here to be seen failing.
const EVERY: usize = 10;

/// Means on the grid of the confidence sequence, as `assize stats` has them.
const STEPS: usize = 1000;

impl SequenceCell {
    /// The mean difference.
    pub(super) fn truth(&self) -> f64 {
        sum(self.types.iter().map(|t| t.mass * t.difference))
    }

    /// Whether a method's claim would be false in this design, so that coverage has a meaning.
    pub(super) fn fits(&self, id: &str) -> bool {
        let single = |t: &DifferenceType| [-1.0, 0.0, 1.0].contains(&t.difference);
        match id {
            // Wins and losses of single trials are equally likely.
            "beta_mixture_sign_e_value" => {
                self.truth().abs() < 1e-12 && self.types.iter().all(single)
            }
            // The margin is the true loss, so non-inferiority does not hold.
            "betting_non_inferiority" => self.truth() < -1e-12,
            _ => true,
        }
    }

    pub(super) fn draw(&self, stream: &mut Stream) -> Vec<f64> {
        (0..self.tasks).map(|_| self.pick(stream.unit())).collect()
    }

    fn pick(&self, mut u: f64) -> f64 {
        let last = self.types.len() - 1;
        for kind in &self.types[..last] {
            if u < kind.mass {
                return kind.difference;
            }
            u -= kind.mass;
        }
        self.types[last].difference
    }

    /// The limits of a method by its id; `None` where nothing is left.
    ///
    /// A test that stops has claimed something false: its limits then lie beyond the truth, and
    /// everything is inside where it never stops.
    pub(super) fn limits(&self, id: &str, values: &[f64], level: Level) -> Option<Limits> {
        let claimed = match id {
            "betting_cs" => return confidence_sequence(values, level),
            "paired_t_every_10" => return repeated_t(values, level),
            "betting_capital_hedged" => self.hedged(values, level)?,
            "betting_non_inferiority" => {
                let mut test = NonInferiority::new(-self.truth(), level.tail()).ok()?;
                for value in values {
                    test.observe(*value).ok()?;
                }
                test.shown()
            }
            _ => sign(values, level),
        };
        let lower = if claimed {
            f64::INFINITY
        } else {
            f64::NEG_INFINITY
        };
        Some(Limits {
            lower,
            upper: f64::INFINITY,
        })
    }

    fn hedged(&self, values: &[f64], level: Level) -> Option<bool> {
        let mut capital = HedgedCapital::new((self.truth() + 1.0) / 2.0, level.alpha()).ok()?;
        let mut highest = f64::NEG_INFINITY;
        for value in values {
            highest = highest.max(capital.observe((value + 1.0) / 2.0).ok()?.ln());
        }
        Some(highest >= -level.alpha().ln())
    }
}

fn sign(values: &[f64], level: Level) -> bool {
    let (mut wins, mut losses) = (0, 0);
    values.iter().any(|value| {
        wins += u64::from(*value > 0.0);
        losses += u64::from(*value < 0.0);
        *value != 0.0 && sign_e_value(wins, losses).e_value >= 1.0 / level.alpha()
    })
}

/// The limits that are left of all looks; `None` where they contradict each other.
fn confidence_sequence(values: &[f64], level: Level) -> Option<Limits> {
    let mut sequence = BettingCs::new(level.alpha(), STEPS).ok()?;
    let mut all = Limits {
        lower: -1.0,
        upper: 1.0,
    };
    for value in values {
        sequence.observe((value + 1.0) / 2.0).ok()?;
        all = narrowed(all, sequence.limits()?, |x| 2.0 * x - 1.0)?;
    }
    Some(all)
}

fn repeated_t(values: &[f64], level: Level) -> Option<Limits> {
    let mut all = Limits {
        lower: f64::NEG_INFINITY,
        upper: f64::INFINITY,
    };
    for end in (EVERY..=values.len()).step_by(EVERY) {
        // Without variation there are no limits, and no one would stop.
        if let Some(limits) = paired_t(&values[..end], level).limits() {
            all = narrowed(all, limits, |x| x)?;
        }
    }
    Some(all)
}

fn narrowed(all: Limits, limits: Limits, scale: impl Fn(f64) -> f64) -> Option<Limits> {
    let lower = all.lower.max(scale(limits.lower));
    let upper = all.upper.min(scale(limits.upper));
    (lower <= upper).then_some(Limits { lower, upper })
}

/// METHODS 7 names runs of 200 to 1000 tasks; the differences are chosen here. Single trials of equal
/// arms: every task, a fifth or a fiftieth discordant.
pub(super) fn even_grid() -> Vec<SequenceCell> {
    cells(&[
        ("discordant=1", &[(0.5, 1.0), (0.5, -1.0)]),
        ("discordant=.2", &[(0.1, 1.0), (0.1, -1.0), (0.8, 0.0)]),
        ("discordant=.02", &[(0.01, 1.0), (0.01, -1.0), (0.98, 0.0)]),
    ])
}

/// The same, and breaks or gains that small changes elsewhere make up for.
pub(super) fn grid() -> Vec<SequenceCell> {
    let skewed = cells(&[
        ("break-small-gains", &[(0.05, -0.95), (0.95, 0.05)]),
        ("gain-small-losses", &[(0.05, 0.95), (0.95, -0.05)]),
    ]);
    [even_grid(), skewed].concat()
}

/// B is worse by a tenth.
pub(super) fn loss_grid() -> Vec<SequenceCell> {
    cells(&[
        ("loss=.1 breaks", &[(0.1, -1.0), (0.9, 0.0)]),
        ("loss=.1 everywhere", &[(0.5, -0.3), (0.5, 0.1)]),
        ("loss=.1 noisy", &[(0.45, 1.0), (0.55, -1.0)]),
    ])
}

/// A name and the kinds of differences, each with its mass.
type Kinds<'a> = (&'a str, &'a [(f64, f64)]);

fn cells(kinds: &[Kinds]) -> Vec<SequenceCell> {
    let mut cells = vec![];
    for tasks in [200u32, 500, 1000] {
        for (label, types) in kinds {
            let types = types
                .iter()
                .map(|&(mass, difference)| DifferenceType { mass, difference });
            cells.push(SequenceCell {
                name: Some(format!("T={tasks} {label}")),
                tasks,
                types: types.collect(),
            });
        }
    }
    cells
}
