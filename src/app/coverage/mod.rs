//! Coverage by simulation: how often an interval holds the truth (`assize stats coverage`).
//!
//! Everything is seeded: the same request gives the same bytes at any thread count. Cells come
//! from a named grid ([`grid::named`]) or are written by the user as JSON ([`cell::Cell`]).
//!
//! # What it shows
//!
//! Every column and line comes from
//! `assize stats coverage --method METHOD --grid GRID --refine-below 0.945 --seed 2026` (with `-k 3`
//! for `pass_hat_k`), grouped by the column `units`; where another number of replicates stands beside
//! a line, with `--replicates` and without `--refine-below`.
//!
//! Nominal .95, 1500 replicates a cell, cells below .945 again with 20 000, seed 2026; minimum and
//! mean coverage over the cells of each number of units. The standard error of a cell is about
//! .0057, so minima over hundreds of cells lie a little below those of METHODS 1.5 and 6.2, which
//! used up to 8000 replicates.
//!
//! | units | `sen_cp` on `rates` | METHODS 1.5 | `pass_hat_k` (k = 3) on `pass-k` | `bp_hall` on `differences` | METHODS 6.2 | `quantile_clustered_inversion` on `amounts` |
//! |---|---|---|---|---|---|---|
//! | 5 | .975/.997 | .975/.996 | .975/.995 | 1.000/1.000 | 1.000/1.000 | .974/.993 |
//! | 10 | .966/.993 | .973/.993 | .961/.991 | .973/.999 | .981/.999 | .977/.989 |
//! | 20 | .948/.987 | .957/.987 | .948/.986 | .959/.993 | .959/.994 | .953/.982 |
//! | 50 | .952/.984 | .959/.983 | .951/.982 | .950/.982 | .952/.984 | .962/.979 |
//! | 100 | .950/.979 | .954/.978 | .947/.977 | | | .953/.968 |
//! | 200 | | | | .945/.970 | .942/.969 | .951/.964 |
//! | 300 | .946/.973 | .950/.973 | .945/.973 | | | |
//! | 1000 | .947/.967 | .945/.965 | .946/.967 | .945/.959 | .938/.960 | .947/.957 |
//!
//! METHODS 2 gives .948 for pass^k before the floor, over another choice of cells; METHODS 4.1 at
//! least .95 for quantiles. Both lie within the standard error of these minima.
//!
//! Designs that are built to break a rate, a difference or a ratio:
//!
//! | method, grid | minimum/mean | largest one-sided miss | METHODS |
//! |---|---|---|---|
//! | `sen_cp`, `always-fail` | .949/.982 | .045 | .953/.988 |
//! | `sen_cp`, `bimodal` | .947/.977 | .039 | .950/.980 |
//! | `sen_cp`, `clusters` | .955/.987 | .040 | .949/.985 and .955/.992 |
//! | `sen_cp`, `difficulty`, equal task weights | .953/.969 | .033 | .954/.980 |
//! | `sen_cp`, `difficulty`, trial weights | .876/.977 | .122 | .930/.974 |
//! | `bp_hall`, `breaks` | .918/.976 | .082 | .934/.978; .913 where 90 % break |
//! | `bp_hall`, `difference-clusters`, equal cluster weights | .964/.986 | .030 | .961/.991 |
//! | `bp_hall`, `difference-clusters`, equal task weights | .832/.973 | .168 | .891/.952 |
//! | `ratio_of_means_jackknife`, `amounts`, change of spread .2 | .946/.954 | .033 | .934–.974 (4.3) |
//! | the same, .5 | .936/.949 | .049 | |
//! | the same, 1 | .903/.923 | .090 | |
//!
//! Three of these lie below the nominal level for a reason that no interval repairs. With trial
//! weights and 20 tasks, a tenth of which are hard and have ten times the trials, no hard task is
//! drawn in .9²⁰ = .12 of the samples. Clusters that break and are three times as large are not
//! drawn at all in .9¹⁵ = .21 of the samples of 15 clusters: weight clusters equally. Ratios miss
//! where the tasks' own changes are lognormal with spread 1: the heavy tail is not in the sample.
//! METHODS' designs of these kinds are milder.
//!
//! Counts, `poisson_clustered` on `counts`, by units and by the variance of the frailty:
//!
//! | units | 0 | 1 | 4 |
//! |---|---|---|---|
//! | 5 | .999/1.000 | .977/.995 | .893/.978 |
//! | 10 | .992/.998 | .951/.986 | .879/.962 |
//! | 30 | .981/.994 | .948/.977 | .918/.964 |
//! | 100 | .964/.982 | .949/.971 | .940/.964 |
//! | 300 | .957/.971 | .947/.964 | .948/.963 |
//! | 1000 | .945/.959 | .948/.956 | .947/.956 |
//!
//! METHODS 3 says .86 for at most ten units and a variance of 4: there a unit with many events is
//! too rare to be in the sample, and the result is `exploratory`.
//!
//! Judged items:
//!
//! | method, grid | cells | minimum/mean | METHODS |
//! |---|---|---|---|
//! | `post_stratified_cp`, `judged` | 220 | .952/.979 | .946 (9.2) |
//! | `post_stratified_levels`, `judged-levels` | 66 | .933/.975 | .932 (9.2) |
//! | `post_stratified_levels`, `judged-levels-quota` | 36 | .923/.969 | |
//! | `post_stratified_cp`, `judged-tasks` | 32 | .954/.977 | .947 (9.2) |
//! | `post_stratified_cp`, `judged-tasks-weighted`, not refined | 128 | .909/.978 | |
//! | `post_stratified_cp`, `judged-tasks-pool`, not refined | 32 | .621/.954 | .955 (9.2) |
//! | `ppi_paired_bp_hall`, `judged-pairs` | 162 | .943/.995 | .949 (9.4) |
//!
//! - Levels: .933 and .923 belong to five levels of a judge that says nothing about people's .99;
//!   without it the minimum is .949 in both. Two negative labels at different levels shorten the
//!   interval as if each were alone, which square-and-add cannot see; METHODS names .932.
//! - Tasks: with weights that are unrelated to the rate, larger where it is low (3 to 1) or where it is
//!   high, and with clusters of four (.945). Only the second kind falls below .94, where tasks always
//!   or never pass: .909 with 30 labels, .932 with 50, .944 and more with 100 in this grid; a weight
//!   of 10 on 3 % of the tasks, the only negative ones, brings 100 labels to about .85. With few labels none of
//!   the heavy tasks that the judge wrongly passes may be among them. Kish's number of labels alone
//!   gave .901 with 100 labels too, so [`crate::stats::correction::post_stratified_tasks`] also takes
//!   the linearised variance of the weighted share.
//! - Pools: half of the labels from each level of the judge, one per task. Where they use up a level's
//!   tasks, tasks with many trials at it enter too seldom, and METHODS' .955 does not hold. Results
//!   with labels on more than a quarter of a level's tasks are `exploratory`; the others cover at least
//!   .925 (20 000 replicates). Choose tasks first.
//! - Pairs: .943 is 50 tasks that are all labelled and a judge who sees everything, where the limits
//!   are those of a normal mean; with fewer labels than tasks the minimum is .959.
//!
//! Times that are cut off, looks one after another, recovery and kappa, for which METHODS has few
//! figures:
//!
//! | method, grid | cells | minimum/mean | METHODS |
//! |---|---|---|---|
//! | `kaplan_meier_survival`, `times` | 18 | .943/.952 | |
//! | `kaplan_meier_median`, `times` | 18 | .948/.961 | |
//! | `restricted_mean_clustered`, `times-clustered`, 100 tasks, 500 replicates | 6 | .942/.949 | |
//! | the same, 30 tasks | 6 | .920/.935 | |
//! | `betting_cs`, `sequences`, 500 replicates | 15 | .958/.990 | .982 (7) |
//! | `betting_capital_hedged`, `sequences` | 15 | .961/.986 | .982 (7) |
//! | `betting_non_inferiority`, `sequences-loss` | 9 | .981/.988 | |
//! | `beta_mixture_sign_e_value`, `sequences-even` | 9 | .960/.974 | .971 (7) |
//! | `paired_t_every_10`, `sequences` | 15 | .624/.730 | .67–.95 (7) |
//! | `recovery_given_reached`, `recovery` | 144 | .949/.976 | |
//! | `recovery_of_reached_trials`, `recovery` | 144 | .914/.977 | |
//! | `recovery_bounds`, `recovery` | 144 | .949/.994 | |
//! | `cohen_kappa_bca_items`, `agreement`, 200 items, 500 replicates | 10 | .940/.961 | |
//! | the same, 50 items | 10 | .730/.876 | |
//! | `cohen_kappa_bca_tasks`, `agreement-tasks`, 200 tasks, 300 replicates | 10 | .933/.951 | |
//! | the same, 50 tasks | 10 | .870/.929 | |
//!
//! - Of sequences, one minus coverage is the share of false stops. METHODS has at most .018 for the
//!   betting capital and .029 for the sign e-value. Here they reach .039 (1000 tasks) and .040 (200),
//!   where every task is won or lost and most is bet; the guarantee is .05. The t interval at every
//!   tenth task stops falsely in up to .38 of such runs (METHODS: .33).
//! - Recovery: among samples with an interval. In up to .13 of the samples of five tasks no fault fires
//!   at all; the command counts these as not covered. .914 weighs trials, where 5 % of 50 tasks recover
//!   badly and reach their fault three times as often: equal task weights, which the product decides
//!   on, hold .949.
//! - `kaplan_meier_median`, `kaplan_meier_survival`: single trials. Percentile limits of tasks are the
//!   ones that are shown for several trials; the simulation takes 1000 resamples. With 30 tasks they
//!   are a little short, as percentile limits are.
//! - Kappa: with 50 items, up to .27 of the samples show no disagreement, or one rater only one
//!   category, and there is no interval, which counts as not covered; with 2 or 3 items of the rarer
//!   category .79 is covered. With 200 items neither happens.

pub mod agreement;
pub mod amounts;
pub mod cell;
pub mod counts;
mod draw;
pub mod grid;
pub mod judged;
pub mod judged_tasks;
pub mod levels;
pub mod method;
pub mod pairs;
pub mod recovery;
pub mod scores;
pub mod sequences;
pub mod times;
mod truth;

use rayon::prelude::*;
use serde::Serialize;

use crate::base::{Error, Result, Seed};
use crate::stats::Level;
use crate::stats::sum::Sum;
use crate::stats::tolerance::{above, below};
use cell::Cell;
use method::Method;

/// Cells to run again with more replicates, because their coverage looks low.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refine {
    /// Coverage below which a cell is run again.
    pub below: f64,
    /// Replicates of the second run, which replaces the first.
    pub replicates: u32,
}

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Request {
    /// The interval.
    pub method: Method,
    /// The designs.
    pub cells: Vec<Cell>,
    /// Replicates per cell.
    pub replicates: u32,
    /// Whether and how low cells are run again.
    pub refine: Option<Refine>,
    /// The level.
    pub level: Level,
    /// The root of all randomness.
    pub seed: Seed,
}

/// What became of one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellResult {
    /// Method id.
    pub method: String,
    /// The cell's name.
    pub cell: String,
    /// Number of independent units.
    pub units: u32,
    /// Trials per task and arm; the largest, where types differ.
    pub trials: u32,
    /// The true value; of `tasks_fixed_cp`, whose truth is that of the tasks drawn, its mean.
    pub truth: f64,
    /// Replicates.
    pub replicates: u32,
    /// Share of replicates whose interval holds the truth; without interval it does not.
    pub coverage: f64,
    /// Its standard error.
    pub coverage_se: f64,
    /// Share whose whole interval lies above the truth.
    pub miss_above: f64,
    /// Share whose whole interval lies below the truth.
    pub miss_below: f64,
    /// Share without interval.
    pub undefined: f64,
    /// Mean width over finite intervals; `None` without any.
    pub mean_width: Option<f64>,
}

/// Replicates that are tallied together; fixed, so that sums do not depend on the thread count.
const CHUNK: u32 = 64;

/// Simulates every cell, in order.
///
/// # Errors
///
/// If there are no replicates, or a cell does not fit the method or cannot exist.
///
/// # Examples
///
/// ```
/// use assize::app::coverage::{Request, cell::Cell, method::Method, simulate};
/// use assize::{base::Seed, stats::Level};
/// let request = Request {
///     method: Method::by_id("sen_cp").unwrap(),
///     cells: vec![Cell::beta(20, 5, 0.9, 0.3)],
///     replicates: 200,
///     refine: None,
///     level: Level::p95(),
///     seed: Seed(1),
/// };
/// assert!(simulate(&request).unwrap()[0].coverage > 0.9);
/// ```
pub fn simulate(request: &Request) -> Result<Vec<CellResult>> {
    if request.replicates == 0 {
        return Err(Error::input("no replicates").hint("at least 1; 1500 shows a grid"));
    }
    if request.cells.is_empty() {
        return Err(Error::input("no cells").hint("a grid or a file with at least one design"));
    }
    if let Some(refine) = request.refine
        && (refine.replicates == 0 || !refine.below.is_finite())
    {
        let message = format!(
            "{} replicates of cells below {}",
            refine.replicates, refine.below
        );
        return Err(Error::input(message)
            .hint("refining needs at least 1 replicate and a coverage, for example 0.945"));
    }
    for cell in &request.cells {
        cell.check()?;
        request.method.check(cell)?;
    }
    Ok(request
        .cells
        .iter()
        .map(|cell| one_cell(request, cell))
        .collect())
}

fn one_cell(request: &Request, cell: &Cell) -> CellResult {
    let first = run(request, cell, request.replicates);
    match request.refine {
        Some(refine) if first.coverage < refine.below => run(request, cell, refine.replicates),
        _ => first,
    }
}

fn run(request: &Request, cell: &Cell, replicates: u32) -> CellResult {
    let truth = truth::truth(&request.method, cell);
    // Cells of one grid must not share their randomness.
    let seed = request.seed.child(&cell.name());
    let sampler = draw::Sampler::new(cell);
    let chunks: Vec<Tally> = (0..replicates.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let mut tally = Tally::default();
            for replicate in chunk * CHUNK..(chunk * CHUNK + CHUNK).min(replicates) {
                let mut stream = seed.nth("replicate", u64::from(replicate)).stream();
                let data = sampler.draw(&mut stream);
                let truth = truth::drawn(&request.method, cell, &data).unwrap_or(truth);
                tally.add(request.method.limits(cell, &data, request.level), truth);
            }
            tally
        })
        .collect();
    summarize(request, cell, replicates, truth, &chunks)
}

#[derive(Default)]
struct Tally {
    covered: u32,
    above: u32,
    below: u32,
    undefined: u32,
    finite: u32,
    width: Sum,
}

impl Tally {
    fn add(&mut self, limits: Option<crate::stats::Limits>, truth: f64) {
        let Some(limits) = limits else {
            self.undefined += 1;
            return;
        };
        if above(limits.lower, truth) {
            self.above += 1;
        } else if below(limits.upper, truth) {
            self.below += 1;
        } else {
            self.covered += 1;
        }
        let width = limits.upper - limits.lower;
        if width.is_finite() {
            self.finite += 1;
            self.width.add(width);
        }
    }
}

fn summarize(
    request: &Request,
    cell: &Cell,
    replicates: u32,
    truth: f64,
    chunks: &[Tally],
) -> CellResult {
    let share = |count: fn(&Tally) -> u32| {
        f64::from(chunks.iter().map(count).sum::<u32>()) / f64::from(replicates)
    };
    let coverage = share(|t| t.covered);
    let finite: u32 = chunks.iter().map(|t| t.finite).sum();
    let mut width = Sum::default();
    chunks.iter().for_each(|t| width.add(t.width.value()));
    CellResult {
        method: request.method.id().to_owned(),
        cell: cell.name(),
        units: cell.units(),
        trials: cell.trials(),
        truth,
        replicates,
        coverage,
        coverage_se: (coverage * (1.0 - coverage) / f64::from(replicates)).sqrt(),
        miss_above: share(|t| t.above),
        miss_below: share(|t| t.below),
        undefined: share(|t| t.undefined),
        mean_width: (finite > 0).then(|| width.value() / f64::from(finite)),
    }
}

/// The results as CSV, one row per cell.
///
/// # Errors
///
/// Only if memory runs out while writing.
pub fn to_csv(results: &[CellResult]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(vec![]);
    for result in results {
        writer
            .serialize(result)
            .map_err(|e| Error::io(e.to_string()))?;
    }
    let bytes = writer.into_inner().map_err(|e| Error::io(e.to_string()))?;
    String::from_utf8(bytes).map_err(|e| Error::io(e.to_string()))
}

/// The extremes and means over cells, as METHODS' tables show them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of cells.
    pub cells: usize,
    /// Lowest coverage.
    pub min_coverage: f64,
    /// Mean coverage.
    pub mean_coverage: f64,
    /// Largest one-sided miss.
    pub largest_miss: f64,
    /// Largest share of replicates without interval, which count as not covered.
    pub most_undefined: f64,
}

/// Summarises results; `None` without any.
pub fn summary(results: &[CellResult]) -> Option<Summary> {
    let count = results.len();
    let largest = |of: fn(&CellResult) -> f64| results.iter().map(of).fold(0.0, f64::max);
    (count > 0).then(|| Summary {
        cells: count,
        min_coverage: results.iter().map(|r| r.coverage).fold(1.0, f64::min),
        mean_coverage: crate::stats::sum::sum(results.iter().map(|r| r.coverage)) / count as f64,
        largest_miss: largest(|r| r.miss_above.max(r.miss_below)),
        most_undefined: largest(|r| r.undefined),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulated(cells: Vec<cell::Cell>, refine: Option<Refine>) -> Result<Vec<CellResult>> {
        simulate(&Request {
            method: Method::by_id("sen_cp")?,
            cells,
            replicates: 10,
            refine,
            level: Level::p95(),
            seed: Seed(1),
        })
    }

    #[test]
    fn a_request_for_nothing_is_refused() {
        let cells = || vec![cell::Cell::beta(5, 2, 0.9, 0.3)];
        let refine = |below, replicates| Some(Refine { below, replicates });
        assert!(simulated(vec![], None).is_err());
        assert!(simulated(cells(), refine(2.0, 0)).is_err());
        assert!(simulated(cells(), refine(f64::NAN, 10)).is_err());
        assert!(simulated(cells(), refine(2.0, 10)).is_ok());
        assert!(Method::by_id("pass_hat_k").unwrap().with_k(0).is_err());
    }
}
