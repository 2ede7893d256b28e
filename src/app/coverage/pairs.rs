//! Judged differences of two arms of which some carry a human label.

use serde::{Deserialize, Serialize};

use super::cell::{Design, named_design};
use crate::base::seed::Stream;
use crate::stats::correction::{LabelledPair, PairedTask, TaskFrame, ppi_paired_bp_hall};
use crate::stats::sum::sum;
use crate::stats::units::Weights;
use crate::stats::{Level, Limits};

/// Tasks with one trial per arm, the first of which carry a labelled pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairsCell {
    /// A name for the table; made from the fields if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of tasks.
    pub tasks: u32,
    /// How many carry a labelled pair.
    pub labels: u32,
    /// What tasks are like.
    pub types: Vec<PairType>,
}

/// One type of task: what people and the judge say, each B − A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairType {
    /// How common the type is; masses sum to 1.
    pub mass: f64,
    /// The human difference, in \[−1, 1\].
    pub human: f64,
    /// The judge's difference, in \[−1, 1\].
    pub judge: f64,
}

impl Design for PairsCell {
    named_design!();

    fn units(&self) -> u32 {
        self.tasks
    }

    fn check(&self) -> Result<(), &'static str> {
        let within = |v: f64| (-1.0..=1.0).contains(&v);
        let sound = |t: &PairType| t.mass >= 0.0 && within(t.human) && within(t.judge);
        let mass = sum(self.types.iter().map(|t| t.mass));
        let labels = self.labels >= 1 && self.labels <= self.tasks;
        if labels && self.types.iter().all(sound) && (mass - 1.0).abs() < 1e-9 {
            return Ok(());
        }
        Err("labels from 1 to tasks, differences in [-1, 1], and masses that sum to 1")
    }
}

impl PairsCell {
    /// The mean human difference.
    pub(super) fn truth(&self) -> f64 {
        sum(self.types.iter().map(|t| t.mass * t.human))
    }

    pub(super) fn draw(&self, stream: &mut Stream) -> Vec<PairedTask> {
        (0..self.tasks)
            .map(|index| {
                let PairType { human, judge, .. } = self.pick(stream.unit());
                PairedTask {
                    judge,
                    labelled: (index < self.labels).then_some(LabelledPair { human, judge }),
                }
            })
            .collect()
    }

    fn pick(&self, mut u: f64) -> PairType {
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

/// The limits of `ppi_paired_bp_hall`; `None` where it gives none.
pub(super) fn limits(tasks: &[PairedTask], level: Level) -> Option<Limits> {
    let frame = TaskFrame {
        clusters: None,
        weights: &Weights::EqualTask,
    };
    let got = ppi_paired_bp_hall(tasks, &frame, level).ok()?;
    Some(Limits {
        lower: got.lower?,
        upper: got.upper?,
    })
}

/// METHODS 9.4: a share of tasks breaks. The judge sees it, sees half of it, is kinder to B, is blind
/// to it, takes it for a gain, or says anything.
pub(super) fn grid() -> Vec<PairsCell> {
    let mut cells = vec![];
    for tasks in [50u32, 200, 1000] {
        for labels in [10, 20, 50] {
            for share in [0.0, 0.05, 0.2] {
                for (label, types) in judges(share) {
                    cells.push(PairsCell {
                        name: Some(format!("G={tasks} n={labels} breaking={share} {label}")),
                        tasks,
                        labels,
                        types,
                    });
                }
            }
        }
    }
    cells
}

fn judges(share: f64) -> Vec<(&'static str, Vec<PairType>)> {
    let whole = 1.0 - share;
    let kind = |mass: f64, human: f64, judge: f64| PairType { mass, human, judge };
    let seeing = |seen: f64, kinder: f64| {
        vec![
            kind(whole * (1.0 - kinder), 0.0, 0.0),
            kind(whole * kinder, 0.0, 1.0),
            kind(share * seen, -1.0, -1.0),
            kind(share * (1.0 - seen), -1.0, 0.0),
        ]
    };
    let noise = [(whole, 0.0), (share, -1.0)]
        .map(|(mass, human)| [-1.0, 0.0, 0.0, 1.0].map(|judge| kind(mass / 4.0, human, judge)));
    vec![
        ("sees", seeing(1.0, 0.0)),
        ("half", seeing(0.5, 0.0)),
        ("kinder", seeing(0.8, 0.1)),
        ("blind", seeing(0.0, 0.0)),
        (
            "inverted",
            vec![kind(whole, 0.0, 0.0), kind(share, -1.0, 1.0)],
        ),
        ("noise", noise.concat()),
    ]
}
