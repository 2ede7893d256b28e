//! The intervals that can be simulated.

use super::cell::{Cell, CellWeights, Types};
use super::draw::Data;
use super::times::TimesQuestion;
use super::{counts, pairs, recovery};
use crate::base::{Error, Result};
use crate::stats::clustered::{
    Df, RobustType, cluster_robust, korn_graubard, sen_cp, sen_midp, sen_wilson, task_mean_t,
    tasks_fixed_cp,
};
use crate::stats::paired::{PairedTable, bonett_price, bp_hall, newcombe, paired_t, tango};
use crate::stats::pass_k::{PassKind, Successes, pass_k};
use crate::stats::proportion::wilson;
use crate::stats::quantile::{quantile_clustered, quantile_order_statistic};
use crate::stats::ratio::{
    LogEstimate, geometric_mean, geometric_mean_ratio, mean_amount, ratio_of_means,
};
use crate::stats::sample::{Clustered, Paired};
use crate::stats::sum::{mean, sum};
use crate::stats::units::Weights;
use crate::stats::{Level, Limits};

/// What kind of quantity a method bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Rate,
    /// A rate over exactly the tasks drawn.
    FixedTasks,
    PassK(PassKind),
    Difference,
    /// A difference from a 2×2 table: one trial per task.
    Table,
    Quantile,
    Ratio {
        geometric: bool,
    },
    /// A mean amount of one arm.
    Amount {
        geometric: bool,
    },
    /// A rate of judged items.
    Judged,
    /// Events per exposure.
    Count,
    /// A rate of items judged on several levels.
    Levels,
    /// A judged difference of two arms.
    Pairs,
    /// Of times that are cut off.
    Times(TimesQuestion),
    /// What holds at every look.
    Sequence,
    /// Recovery where a fault fired.
    Recovery,
    /// Kappa.
    Agreement,
}

/// A method by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    id: &'static str,
    family: Family,
    k: u32,
}

/// Every method that can be simulated.
const KNOWN: &[(&str, Family)] = &[
    ("sen_cp", Family::Rate),
    ("sen_wilson", Family::Rate),
    ("sen_midp", Family::Rate),
    ("korn_graubard", Family::Rate),
    ("task_mean_t", Family::Rate),
    ("cluster_robust_cr0", Family::Rate),
    ("cluster_robust_cr1", Family::Rate),
    ("cluster_robust_cr2", Family::Rate),
    ("wilson_pooled", Family::Rate),
    ("tasks_fixed_cp", Family::FixedTasks),
    ("pass_at_k", Family::PassK(PassKind::At)),
    ("pass_hat_k", Family::PassK(PassKind::Hat)),
    ("bp_hall", Family::Difference),
    ("bp_hall_strict", Family::Difference),
    ("paired_t_tasks", Family::Difference),
    ("bonett_price", Family::Table),
    ("newcombe_paired_diff", Family::Table),
    ("tango_paired_diff", Family::Table),
    ("quantile_clustered_inversion", Family::Quantile),
    ("quantile_order_statistic", Family::Quantile),
    (
        "ratio_of_means_jackknife",
        Family::Ratio { geometric: false },
    ),
    ("geometric_mean_ratio", Family::Ratio { geometric: true }),
    ("mean_log_jackknife", Family::Amount { geometric: false }),
    ("geometric_mean", Family::Amount { geometric: true }),
    ("poisson_clustered", Family::Count),
    ("poisson_garwood", Family::Count),
    ("post_stratified_levels", Family::Levels),
    ("ppi_paired_bp_hall", Family::Pairs),
    ("post_stratified_cp", Family::Judged),
    ("post_stratified_jeffreys", Family::Judged),
    ("lang_reiczigel", Family::Judged),
    ("lang_reiczigel_checked", Family::Judged),
    ("rogan_gladen_delta", Family::Judged),
    ("ppi_mean", Family::Judged),
    ("ppi_plus_plus_mean", Family::Judged),
    ("judge_only_wilson", Family::Judged),
    ("human_only_wilson", Family::Judged),
    (
        "kaplan_meier_survival",
        Family::Times(TimesQuestion::Survival),
    ),
    ("kaplan_meier_median", Family::Times(TimesQuestion::Median)),
    (
        "kaplan_meier_median_clustered",
        Family::Times(TimesQuestion::Median),
    ),
    (
        "restricted_mean_clustered",
        Family::Times(TimesQuestion::RestrictedMean),
    ),
    ("betting_cs", Family::Sequence),
    ("betting_capital_hedged", Family::Sequence),
    ("betting_non_inferiority", Family::Sequence),
    ("beta_mixture_sign_e_value", Family::Sequence),
    ("paired_t_every_10", Family::Sequence),
    ("recovery_given_reached", Family::Recovery),
    ("recovery_of_reached_trials", Family::Recovery),
    ("recovery_bounds", Family::Recovery),
    ("cohen_kappa_bca_items", Family::Agreement),
    ("cohen_kappa_bca_tasks", Family::Agreement),
    ("cohen_kappa_se", Family::Agreement),
];

impl Method {
    /// Looks a method up.
    ///
    /// # Errors
    ///
    /// If there is none of that id; the hint lists all.
    pub fn by_id(id: &str) -> Result<Self> {
        match KNOWN.iter().find(|(known, _)| *known == id) {
            Some(&(id, family)) => Ok(Self { id, family, k: 2 }),
            None => {
                let all: Vec<&str> = KNOWN.iter().map(|(id, _)| *id).collect();
                Err(Error::input(format!("no coverage simulation for `{id}`"))
                    .hint(format!("one of {}", all.join(", "))))
            }
        }
    }

    /// The same with k for pass@k and pass^k (2 otherwise).
    ///
    /// # Errors
    ///
    /// If k is 0.
    pub fn with_k(self, k: u32) -> Result<Self> {
        match k {
            0 => Err(Error::input("k is 0").hint("pass@k and pass^k take 1 trial or more")),
            _ => Ok(Self { k, ..self }),
        }
    }

    /// The method's id.
    pub fn id(&self) -> &'static str {
        self.id
    }

    pub(super) fn family(&self) -> Family {
        self.family
    }

    pub(super) fn k(&self) -> u32 {
        self.k
    }

    /// Whether the method can be used on a design.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn check(&self, cell: &Cell) -> Result<()> {
        let fits = match (self.family, cell) {
            (Family::Quantile | Family::Ratio { .. }, Cell::Amounts(_)) => true,
            (Family::Amount { geometric: false }, Cell::Amounts(_)) => true,
            // The typical mean of several lognormal trials has no closed form.
            (Family::Amount { geometric: true }, Cell::Amounts(c)) => {
                c.trials == 1 || c.sd_trial == 0.0
            }
            (Family::Judged, Cell::Judged(_)) => true,
            (Family::Count, Cell::Counts(_)) => true,
            (Family::Levels, Cell::Levels(_)) => true,
            (Family::Pairs, Cell::Pairs(_)) => true,
            // Of the corrections only post-stratification has a form for tasks with several trials.
            (Family::Judged, Cell::JudgedTasks(_)) => self.id.starts_with("post_stratified"),
            (Family::Times(_), Cell::Times(_)) => true,
            (Family::Sequence, Cell::Sequence(c)) => c.fits(self.id),
            (Family::Recovery, Cell::Recovery(_)) => true,
            (Family::Agreement, Cell::Agreement(_)) => true,
            (Family::Table, Cell::Scores(c)) => {
                cell.trials() == 1 && c.grades == 1 && c.single_tasks()
            }
            (Family::PassK(_), Cell::Scores(c)) => c.grades == 1 && least_trials(c) >= self.k,
            // Both arms of a beta are drawn apart, so it holds no paired design.
            // Only types say what the drawn tasks' true rates are.
            (Family::Difference | Family::FixedTasks, Cell::Scores(c)) => {
                matches!(c.types, Types::Points(_))
            }
            (Family::Rate, Cell::Scores(_)) => true,
            _ => false,
        };
        if fits {
            return Ok(());
        }
        Err(Error::input(format!(
            "method `{}` does not fit cell `{}`",
            self.id,
            cell.name()
        )))
    }

    /// The limits on one data set; `None` where the method gives none.
    pub(super) fn limits(&self, cell: &Cell, data: &Data, level: Level) -> Option<Limits> {
        match self.family {
            Family::Rate | Family::FixedTasks => self.rate(cell, data, level),
            Family::PassK(kind) => self.pass(kind, cell, data, level),
            Family::Difference => self.difference(cell, data, level),
            Family::Table => self.table(data, level),
            Family::Quantile => self.quantile(cell, data, level),
            Family::Ratio { geometric } => ratio(geometric, data, level),
            Family::Amount { geometric } => amount(geometric, data, level),
            Family::Judged => match cell {
                Cell::JudgedTasks(cell) => cell.limits(self.id, &data.judged_tasks, level),
                _ => data.judged.limits(self.id, level),
            },
            Family::Count => counts::limits(self.id, &data.counts, level),
            Family::Pairs => pairs::limits(&data.pairs, level),
            Family::Recovery => recovery::limits(self.id, &data.faults, level),
            _ => self.of_cell(cell, data, level),
        }
    }

    /// The limits of methods that need to know the design, such as how labels were drawn.
    fn of_cell(&self, cell: &Cell, data: &Data, level: Level) -> Option<Limits> {
        match cell {
            Cell::Levels(cell) => cell.limits(&data.levels, level),
            Cell::Times(cell) => cell.limits(self.id, &data.times, level),
            Cell::Sequence(cell) => cell.limits(self.id, &data.sequence, level),
            Cell::Agreement(cell) => cell.limits(self.id, &data.ratings, level),
            _ => None,
        }
    }

    fn rate(&self, cell: &Cell, data: &Data, level: Level) -> Option<Limits> {
        let sample = Clustered::new(&data.a, data.labels.as_deref(), &weights(cell)).ok()?;
        let robust = |kind| cluster_robust(&sample, kind, Df::ClustersMinusOne, level).limits();
        match self.id {
            "sen_cp" => sen_cp(&sample, level).limits(),
            "sen_wilson" => sen_wilson(&sample, level).limits(),
            "sen_midp" => sen_midp(&sample, level).limits(),
            "korn_graubard" => korn_graubard(&sample, level).limits(),
            "tasks_fixed_cp" => tasks_fixed_cp(&sample, level).limits(),
            "task_mean_t" => task_mean_t(&sample, level).limits(),
            "cluster_robust_cr0" => robust(RobustType::Cr0),
            "cluster_robust_cr1" => robust(RobustType::Cr1),
            "cluster_robust_cr2" => robust(RobustType::Cr2),
            "wilson_pooled" => {
                let n = sample.trial_count() as f64;
                Some(wilson(sum(data.a.iter().map(|t| t.sum)), n, level))
            }
            _ => None,
        }
    }

    fn pass(&self, kind: PassKind, cell: &Cell, data: &Data, level: Level) -> Option<Limits> {
        let tasks: Vec<Successes> = data
            .a
            .iter()
            .map(|t| Successes {
                trials: t.trials,
                successes: t.sum.round() as u32,
            })
            .collect();
        let labels = data.labels.as_deref();
        pass_k(kind, &tasks, self.k, labels, &weights(cell), level)
            .ok()?
            .rate
            .limits()
    }

    fn difference(&self, cell: &Cell, data: &Data, level: Level) -> Option<Limits> {
        let labels = data.labels.as_deref();
        let sample = Paired::from_arms(&data.a, &data.b, labels, &weights(cell)).ok()?;
        match self.id {
            "bp_hall" => bp_hall(&sample, level, false).limits(),
            "bp_hall_strict" => bp_hall(&sample, level, true).limits(),
            "paired_t_tasks" => paired_t(&sample.differences, level).limits(),
            _ => None,
        }
    }

    /// Table methods estimate A − B, so their limits are negated.
    fn table(&self, data: &Data, level: Level) -> Option<Limits> {
        let mut table = PairedTable {
            both: 0,
            a_only: 0,
            b_only: 0,
            neither: 0,
        };
        for (a, b) in data.a.iter().zip(&data.b) {
            let cell = match (a.sum > 0.5, b.sum > 0.5) {
                (true, true) => &mut table.both,
                (true, false) => &mut table.a_only,
                (false, true) => &mut table.b_only,
                (false, false) => &mut table.neither,
            };
            *cell += 1;
        }
        let got = match self.id {
            "bonett_price" => bonett_price(table, level),
            "newcombe_paired_diff" => newcombe(table, level),
            _ => tango(table, level),
        };
        Some(Limits {
            lower: -got.upper?,
            upper: -got.lower?,
        })
    }

    fn quantile(&self, cell: &Cell, data: &Data, level: Level) -> Option<Limits> {
        let Cell::Amounts(amounts) = cell else {
            return None;
        };
        let got = if self.id == "quantile_order_statistic" {
            quantile_order_statistic(&data.amounts_a.concat(), amounts.tau, level)
        } else {
            let equal = Weights::EqualTask;
            quantile_clustered(&data.amounts_a, None, &equal, amounts.tau, level)
        };
        let got = got.ok()?;
        Some(Limits {
            lower: got.lower?,
            upper: got.upper?,
        })
    }
}

fn task_means(arm: &[Vec<f64>]) -> Vec<f64> {
    arm.iter().filter_map(|t| mean(t)).collect()
}

fn log_limits(got: LogEstimate) -> Option<Limits> {
    Some(Limits {
        lower: got.lower?,
        upper: got.upper?,
    })
}

fn amount(geometric: bool, data: &Data, level: Level) -> Option<Limits> {
    let method = if geometric {
        geometric_mean
    } else {
        mean_amount
    };
    log_limits(method(&task_means(&data.amounts_a), level).ok()?)
}

fn ratio(geometric: bool, data: &Data, level: Level) -> Option<Limits> {
    let (a, b) = (task_means(&data.amounts_a), task_means(&data.amounts_b));
    let method = if geometric {
        geometric_mean_ratio
    } else {
        ratio_of_means
    };
    log_limits(method(&a, &b, level).ok()?)
}

fn least_trials(cell: &super::cell::ScoreCell) -> u32 {
    match &cell.types {
        Types::Beta { .. } => cell.trials,
        Types::Points(points) => points
            .iter()
            .map(|p| p.trials.unwrap_or(cell.trials))
            .min()
            .unwrap_or(0),
    }
}

pub(super) fn weights(cell: &Cell) -> Weights {
    match cell {
        Cell::Scores(cell) => match cell.weights {
            CellWeights::EqualTask => Weights::EqualTask,
            CellWeights::Trials => Weights::Trials,
            CellWeights::EqualCluster => Weights::EqualCluster,
        },
        _ => Weights::EqualTask,
    }
}
