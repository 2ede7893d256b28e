//! Faults that fire in some trials: designs, draws, and recovery on them.

use serde::{Deserialize, Serialize};

use super::cell::{Design, are_masses, is_share, named_design};
use crate::base::seed::Stream;
use crate::stats::bootstrap::binomial;
use crate::stats::recovery::{FaultTask, recovery};
use crate::stats::sum::sum;
use crate::stats::{Level, Limits};

/// Tasks with an injected fault that only some trials reach.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecoveryCell {
    /// A name for the table; made from the fields if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of tasks.
    pub units: u32,
    /// Trials per task, each with the fault planned.
    pub trials: u32,
    /// What tasks are like.
    pub types: Vec<FaultType>,
}

/// One type of task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultType {
    /// How common the type is; masses sum to 1.
    pub mass: f64,
    /// P(the fault fires).
    pub reach: f64,
    /// P(recovery | the fault fired).
    pub recover: f64,
}

/// The smallest chance of a fault that fires at all.
const RAREST: f64 = 1e-9;

impl Design for RecoveryCell {
    named_design!();

    fn units(&self) -> u32 {
        self.units
    }

    fn trials(&self) -> u32 {
        self.trials
    }

    fn check(&self) -> Result<(), &'static str> {
        // A rarer fault than this does not change 1 − (1 − reach)^m, hence leaves no truth.
        let fires = |t: &FaultType| t.reach == 0.0 || t.reach >= RAREST;
        let sound = |t: &FaultType| is_share(t.reach) && is_share(t.recover) && fires(t);
        let reached = self.types.iter().any(|t| t.mass * t.reach > 0.0);
        let masses = are_masses(self.types.iter().map(|t| t.mass));
        if reached && masses && self.types.iter().all(sound) {
            return Ok(());
        }
        Err(
            "reach and recover in [0, 1], reach 0 or at least 1e-9, some fault that fires, and masses that sum to 1",
        )
    }
}

impl RecoveryCell {
    /// The value that a method's interval should hold: recovery with every task that reaches its
    /// fault at least once, or every trial that does, counting the same; or, for the bounds, recovery
    /// if every fault fired.
    pub(super) fn truth(&self, id: &str) -> f64 {
        let weight = |t: &FaultType| match id {
            "recovery_given_reached" => t.mass * (1.0 - (1.0 - t.reach).powi(self.trials as i32)),
            "recovery_of_reached_trials" => t.mass * t.reach,
            _ => t.mass,
        };
        let total = sum(self.types.iter().map(weight));
        sum(self.types.iter().map(|t| weight(t) * t.recover)) / total
    }

    pub(super) fn draw(&self, stream: &mut Stream) -> Vec<FaultTask> {
        (0..self.units)
            .map(|_| {
                let kind = self.pick(stream.unit());
                let reached = binomial(stream, self.trials, kind.reach);
                FaultTask {
                    injected: self.trials,
                    reached,
                    recovered: binomial(stream, reached, kind.recover),
                }
            })
            .collect()
    }

    fn pick(&self, mut u: f64) -> FaultType {
        let last = self.types.len() - 1;
        for kind in &self.types[..last] {
            if u < kind.mass {
                return *kind;
            }
            u -= kind.mass;
        }
        self.types[last]
    }
}

/// The limits of a method by its id; `None` where it gives none.
pub(super) fn limits(id: &str, tasks: &[FaultTask], level: Level) -> Option<Limits> {
    let got = recovery(tasks, None, level).ok()?;
    match id {
        "recovery_given_reached" => got.equal_task.limits(),
        "recovery_of_reached_trials" => got.reached_weighted.limits(),
        _ => Some(Limits {
            lower: got.bounds.lower?,
            upper: got.bounds.upper?,
        }),
    }
}

/// METHODS 5 names no grid: faults that always fire, that fire in half of the trials, and that fire
/// less where recovery is worse.
pub(super) fn grid() -> Vec<RecoveryCell> {
    let shapes: [(&str, [FaultType; 2]); 4] = [
        ("always", pair(1.0, 1.0)),
        ("half", pair(0.5, 0.5)),
        ("rarer-where-worse", pair(0.9, 0.3)),
        ("rarer-where-better", pair(0.3, 0.9)),
    ];
    let mut cells = vec![];
    for units in [5u32, 10, 20, 50, 200, 1000] {
        for trials in [1u32, 5, 20] {
            for share in [0.05, 0.3] {
                for (label, [good, bad]) in shapes {
                    let types = vec![
                        FaultType {
                            mass: 1.0 - share,
                            ..good
                        },
                        FaultType { mass: share, ..bad },
                    ];
                    cells.push(RecoveryCell {
                        name: Some(format!("G={units} m={trials} bad={share} {label}")),
                        units,
                        trials,
                        types,
                    });
                }
            }
        }
    }
    cells
}

/// Tasks that mostly recover, and tasks that mostly do not, with how often each reaches its fault.
fn pair(good: f64, bad: f64) -> [FaultType; 2] {
    let kind = |reach, recover| FaultType {
        mass: 0.5,
        reach,
        recover,
    };
    [kind(good, 0.95), kind(bad, 0.2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_too_rare_to_leave_a_truth_is_refused() {
        let cell = |reach| RecoveryCell {
            name: None,
            units: 30,
            trials: 3,
            types: vec![FaultType {
                mass: 1.0,
                reach,
                recover: 0.8,
            }],
        };
        assert!(cell(1e-300).check().is_err() && cell(0.0).check().is_err());
        assert!(cell(1e-9).check().is_ok());
        assert!((cell(1e-9).truth("recovery_given_reached") - 0.8).abs() < 1e-12);
    }
}
