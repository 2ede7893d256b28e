//! The paired difference of two arms by a judge, corrected with labelled pairs.

use super::rectified::FEWEST_LABELLED;
use super::units_mean::{TaskFrame, UnitsMean, square_and_add};
use crate::base::{Error, Result};
use crate::stats::dual::dual_p;
use crate::stats::sum::{mean, sum, variance};
use crate::stats::{Level, Status};

/// What people and the judge said about one labelled pair of trials, each B − A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelledPair {
    /// Human difference H.
    pub human: f64,
    /// Judge difference J on the *same* pair of trials.
    pub judge: f64,
}

/// One task: the judge's difference over all trials, and a labelled pair if the task was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedTask {
    /// Task-mean judge difference B − A on all trials.
    pub judge: f64,
    /// The labelled pair.
    pub labelled: Option<LabelledPair>,
}

/// A corrected difference B − A; everything undefined is `None` with a reason.
#[derive(Clone, Debug, PartialEq)]
pub struct CorrectedDifference {
    /// Method id `ppi_paired_bp_hall`.
    pub method: &'static str,
    /// δ̂, clipped to \[−1, 1\].
    pub estimate: Option<f64>,
    /// Lower limit in \[−1, 1\].
    pub lower: Option<f64>,
    /// Upper limit in \[−1, 1\].
    pub upper: Option<f64>,
    /// Two-sided p of no difference: the smallest α whose interval excludes 0.
    pub p: Option<f64>,
    /// λ, how much of the judge enters.
    pub lambda: Option<f64>,
    /// Two-sided level.
    pub level: f64,
    /// How far it may be used.
    pub status: Status,
    /// Why there is no value, as a snake_case code.
    pub reason: Option<&'static str>,
    /// Tasks with a labelled pair.
    pub labelled: usize,
    /// Tasks in all.
    pub tasks: usize,
}

/// The default for a judged difference of two arms, method id `ppi_paired_bp_hall`.
///
/// Both arms' outputs on the same random tasks are labelled with the arm hidden.
/// λ = clip(Cov(H, J)/Var_all, 0, 1), 0 for a constant judge; δ̂ = λJ̄_all + mean(H − λJ). The limits of
/// the second part are BP-Hall's before clipping, the first adds zλSD/√N in squares. The labels are
/// paired, so a judge that is kinder to one arm does no harm; a judge that says nothing gets λ = 0.
/// Minimum simulated coverage .949 with ten or more labels; under ten labelled units it is
/// `exploratory`.
///
/// # Errors
///
/// If a difference is outside \[−1, 1\], or as [`crate::stats::units::Units::new`].
///
/// Source: METHODS 9.4, after Angelopoulos, Duchi & Zrnic 2023; Bonett & Price 2012; Hall 1992.
pub fn ppi_paired_bp_hall(
    tasks: &[PairedTask],
    frame: &TaskFrame,
    level: Level,
) -> Result<CorrectedDifference> {
    tasks
        .iter()
        .enumerate()
        .try_for_each(|(index, task)| task.check(index))?;
    let pairs: Vec<LabelledPair> = tasks.iter().filter_map(|t| t.labelled).collect();
    let mut result = CorrectedDifference {
        method: "ppi_paired_bp_hall",
        estimate: None,
        lower: None,
        upper: None,
        p: None,
        lambda: None,
        level: level.conf(),
        status: Status::NotIdentified,
        reason: Some("too_few_labels"),
        labelled: pairs.len(),
        tasks: tasks.len(),
    };
    let all: Vec<Option<f64>> = tasks.iter().map(|t| Some(t.judge)).collect();
    let lambda = tuned(tasks, &pairs);
    let rest: Vec<Option<f64>> = tasks
        .iter()
        .map(|t| t.labelled.map(|pair| pair.human - lambda * pair.judge))
        .collect();
    let (Some(all), Some(rest)) = (UnitsMean::of(&all, frame)?, UnitsMean::of(&rest, frame)?)
    else {
        return Ok(result);
    };
    let raw = lambda * all.value + rest.value;
    result.estimate = Some(raw.clamp(-1.0, 1.0));
    result.lambda = Some(lambda);
    let enough = !rest.units.too_few() && !all.units.too_few();
    let spread = lambda * all.variance().sqrt();
    let at = |level: Level| {
        let part = rest.limits(level).filter(|_| enough)?;
        let limits = square_and_add(raw, rest.value, part, level.z() * spread);
        Some(limits.clipped(-1.0, 1.0))
    };
    let Some(limits) = at(level) else {
        (result.status, result.reason) = (Status::NotEstimable, Some("too_few_units"));
        return Ok(result);
    };
    (result.lower, result.upper) = (Some(limits.lower), Some(limits.upper));
    result.p = dual_p(0.0, at);
    let few = rest.units.len() < FEWEST_LABELLED || rest.units.few_and_unequal();
    (result.status, result.reason) = (if few { Status::Exploratory } else { Status::Ok }, None);
    Ok(result)
}

/// Cov(H, J) over labelled pairs by the variance of all judge differences, between 0 and 1.
fn tuned(tasks: &[PairedTask], pairs: &[LabelledPair]) -> f64 {
    let human: Vec<f64> = pairs.iter().map(|p| p.human).collect();
    let judge: Vec<f64> = pairs.iter().map(|p| p.judge).collect();
    let all: Vec<f64> = tasks.iter().map(|t| t.judge).collect();
    let (Some(h), Some(j), Some(spread)) = (mean(&human), mean(&judge), variance(&all)) else {
        return 0.0;
    };
    if pairs.len() < 2 || spread <= 1e-24 {
        return 0.0;
    }
    let covariance = sum(pairs.iter().map(|p| (p.human - h) * (p.judge - j)));
    (covariance / (pairs.len() - 1) as f64 / spread).clamp(0.0, 1.0)
}

impl PairedTask {
    fn check(&self, index: usize) -> Result<()> {
        let pair = self.labelled.unwrap_or(LabelledPair {
            human: 0.0,
            judge: 0.0,
        });
        let fits = |d: f64| (-1.0..=1.0).contains(&d);
        if fits(self.judge) && fits(pair.human) && fits(pair.judge) {
            return Ok(());
        }
        let message = format!(
            "task {index} (from 0): differences {}, {}, {}",
            self.judge, pair.human, pair.judge
        );
        Err(Error::input(message).hint("differences of scores in [0, 1] lie in [-1, 1]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::units::Weights;

    const FRAME: TaskFrame = TaskFrame {
        clusters: None,
        weights: &Weights::EqualTask,
    };

    fn task(judge: f64, labelled: Option<(f64, f64)>) -> PairedTask {
        PairedTask {
            judge,
            labelled: labelled.map(|(human, judge)| LabelledPair { human, judge }),
        }
    }

    fn run(tasks: &[PairedTask]) -> CorrectedDifference {
        ppi_paired_bp_hall(tasks, &FRAME, Level::p95()).unwrap()
    }

    #[test]
    fn a_useless_judge_leaves_the_labels() {
        let constant: Vec<PairedTask> = (0..40)
            .map(|i| task(0.0, (i < 20).then(|| (f64::from(i % 4 == 0), 0.0))))
            .collect();
        let result = run(&constant);
        assert_eq!(result.lambda, Some(0.0));
        assert!((result.estimate.unwrap() - 0.25).abs() < 1e-12);
        let inverted: Vec<PairedTask> = (0..40)
            .map(|i| {
                task(
                    -f64::from(i % 4 == 0),
                    (i < 20).then(|| (f64::from(i % 4 == 0), -f64::from(i % 4 == 0))),
                )
            })
            .collect();
        assert_eq!(run(&inverted).lambda, Some(0.0));
    }

    #[test]
    fn swapping_arms_mirrors_the_difference() {
        let forth: Vec<PairedTask> = (0..60)
            .map(|i| {
                let d = f64::from(i % 5 == 0) - f64::from(i % 7 == 0);
                task(d / 2.0, (i % 3 == 0).then_some((d, d / 2.0)))
            })
            .collect();
        let back: Vec<PairedTask> = forth
            .iter()
            .map(|t| task(-t.judge, t.labelled.map(|p| (-p.human, -p.judge))))
            .collect();
        let (forth, back) = (run(&forth), run(&back));
        assert!((forth.lower.unwrap() + back.upper.unwrap()).abs() < 1e-12);
        assert!((forth.estimate.unwrap() + back.estimate.unwrap()).abs() < 1e-12);
        assert!(forth.lower < forth.estimate && forth.estimate < forth.upper);
        assert!((forth.p.unwrap() - back.p.unwrap()).abs() < 1e-8);
        let excludes = forth.lower > Some(0.0) || forth.upper < Some(0.0);
        assert_eq!(excludes, forth.p.unwrap() < 0.05);
    }

    #[test]
    fn too_little_is_said() {
        let none = run(&[task(0.1, None), task(0.2, None)]);
        assert_eq!((none.estimate, none.reason), (None, Some("too_few_labels")));
        let one = run(&[
            task(0.1, Some((0.0, 0.1))),
            task(0.2, None),
            task(0.0, None),
        ]);
        assert_eq!((one.lower, one.reason), (None, Some("too_few_units")));
        let five: Vec<PairedTask> = (0..20)
            .map(|i| task(0.0, (i < 5).then_some((0.0, 0.0))))
            .collect();
        assert_eq!(run(&five).status, Status::Exploratory);
        assert!(ppi_paired_bp_hall(&[task(1.5, None)], &FRAME, Level::p95()).is_err());
    }
}
