//! The command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use super::calibrate::{CalibrateArgs, JudgeArgs, LabelSampleArgs};
use super::number;
use super::run_args::RunArgs;
use crate::app;
use crate::base::{ArmId, Error, Result};

/// May we swap this model, and what gets worse if we do?
#[derive(Debug, Parser)]
#[command(name = "assize", version, max_term_width = 100)]
pub struct Args {
    /// What to print: text for people, or JSON for scripts
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "text",
        env = "ASSIZE_FORMAT"
    )]
    pub format: Format,
    /// Threads for grading and resampling (the results do not depend on it)
    #[arg(long, global = true, env = "ASSIZE_THREADS", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    #[command(subcommand)]
    pub command: Command,
}

/// What to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a suite against two arms: plan, run or import, grade, compare, report; exits with the gate's code
    Run(RunArgs),
    /// Make the four folders, with a small suite that runs offline at once
    Init {
        /// Folder
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Turn recorded traces, or a table of results, into trials of a run
    Import(ImportArgs),
    /// Grade a run again from its stored evidence
    Grade {
        /// Run folder
        run: PathBuf,
        /// Suite folder. Default: the one the run was planned from
        #[arg(long)]
        suite: Option<PathBuf>,
    },
    /// Decide from what is stored, and write the report; exits with the gate's code
    Compare(CompareArgs),
    /// Write the report of a run again from what is stored
    Report {
        /// Run folder
        run: PathBuf,
    },
    /// Print every problem of suites, arms and traces, each with file and line
    Validate {
        /// Suite folders, folders of suites, arms files, task files, traces. Default: suites
        paths: Vec<PathBuf>,
    },
    /// Print the JSON Schema of a file format: suite, task, arms, judge, script, trace, report, calibration
    Schema {
        /// Name of the format
        name: String,
    },
    /// Freeze golden traces, or check traces against a suite's contracts
    Golden(GoldenArgs),
    /// Show one trial: its status, grades, and events
    Show {
        /// Run folder
        run: PathBuf,
        /// Arm
        #[arg(long)]
        arm: String,
        /// Task
        #[arg(long)]
        task: String,
        /// Trial number
        #[arg(long)]
        trial: u32,
        /// Only these events, e.g. 60,61
        #[arg(long, value_delimiter = ',')]
        events: Vec<u64>,
    },
    /// Re-derive every digest of a run, and every grade
    Verify {
        /// Run folder
        run: PathBuf,
    },
    /// How many tasks and trials a margin needs, what they cost, and which of the two to buy
    Plan(PlanArgs),
    /// Serve a script as a model endpoint (OpenAI's and Anthropic's protocols) until Ctrl-C
    Endpoint(super::endpoint::EndpointArgs),
    /// Ask a judge about the trials of a run (--judge FILE), or put recorded verdicts into it (--verdicts FILE); with labels and a certificate, for quality in its report
    Judge(JudgeArgs),
    /// Draw trials of a run for people to label: a blinded sheet
    LabelSample(LabelSampleArgs),
    /// Examine a judge against people's labels, asked now (JUDGE.yaml) or by recorded verdicts (--verdicts), and certify it; exits 1 if it is refused
    Calibrate(Box<CalibrateArgs>),
    /// Calculate statistics: a JSON array of {id, method, params, input} in, {id, result} out
    #[command(args_conflicts_with_subcommands = true)]
    Stats(StatsArgs),
}

/// Who is compared with whom, and how.
#[derive(Debug, clap::Args)]
pub struct Roles {
    /// Arm in use now. Default: the suite's decision
    #[arg(long)]
    pub baseline: Option<String>,
    /// Arm that may replace it. Default: the suite's decision
    #[arg(long)]
    pub candidate: Option<String>,
    /// Margin of a dimension or metric, e.g. outcome=0.05 or tool_calls.mean=1.2
    #[arg(long = "margin", value_name = "NAME=VALUE")]
    pub margins: Vec<String>,
    /// Declare that time of day played no part, for arms that did not run interleaved
    #[arg(long)]
    pub assume_schedule: bool,
}

/// How recorded traces are read.
#[derive(Debug, clap::Args)]
pub struct Reading {
    /// What tool arguments that are not JSON mean: an error in the file, or the agent's failure
    #[arg(long, value_enum, default_value = "error")]
    pub malformed_arguments: Malformed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Malformed {
    Error,
    Agent,
}

#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// native, small, openai-chat, tau2, table, or auto
    pub kind: String,
    /// Files or folders
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Suite folder; a table can do without
    #[arg(long)]
    pub suite: Option<PathBuf>,
    /// Arm that the trials belong to; a table may name its own
    #[arg(long)]
    pub arm: Option<String>,
    /// Model behind the arm, for the report
    #[arg(long)]
    pub model: Option<String>,
    /// Run folder, made if it does not exist
    #[arg(long)]
    pub run: PathBuf,
    /// Trials per task that were planned; what is lacking is missing. Default: what was recorded
    #[arg(short = 'k', long = "trials", value_parser = clap::value_parser!(u32).range(1..))]
    pub trials: Option<u32>,
    /// Root of all randomness. Default: 7
    #[arg(long)]
    pub seed: Option<u64>,
    /// Column of a table, e.g. outcome=reward or segment.region=region
    #[arg(long = "map", value_name = "KEY=COLUMN")]
    pub map: Vec<String>,
    #[command(flatten)]
    pub roles: Roles,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// Run folder
    pub run: PathBuf,
    /// Second run folder, if the candidate is stored there
    pub run2: Option<PathBuf>,
    #[command(flatten)]
    pub roles: Roles,
    /// Folder for the report of two runs. Default: RUN/report-RUN2
    #[arg(long)]
    pub out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// Suite folder
    pub suite: PathBuf,
    /// Compared rate. Default: success_rate
    #[arg(long)]
    pub metric: Option<String>,
    /// Margin. Default: the suite's
    #[arg(long)]
    pub margin: Option<f64>,
    /// Loss that the candidate is assumed to have in truth
    #[arg(long, default_value_t = 0.0)]
    pub assumed_loss: f64,
    /// Power
    #[arg(long, default_value_t = app::sizing::DEFAULT_POWER)]
    pub power: f64,
    /// Trials per task. Default: the suite's
    #[arg(short = 'k', long = "trials", value_parser = clap::value_parser!(u32).range(1..))]
    pub trials: Option<u32>,
    /// Run from which variances and costs are taken
    #[arg(long, conflicts_with = "variances")]
    pub pilot: Option<PathBuf>,
    /// Arms of the pilot. Default: its plan's
    #[arg(long)]
    pub baseline: Option<String>,
    /// Arms of the pilot. Default: its plan's
    #[arg(long)]
    pub candidate: Option<String>,
    /// Variances: of the true difference over tasks, of one trial in A, and in B
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "DIFFERENCE,WITHIN_A,WITHIN_B"
    )]
    pub variances: Vec<f64>,
    /// Cost of preparing one more task, in US dollars
    #[arg(long)]
    pub task_cost: Option<f64>,
    /// Cost of one trial in both arms together, in US dollars. Default: by the prices of `--arms`, else as
    /// the pilot recorded it
    #[arg(long)]
    pub trial_cost: Option<f64>,
    /// arms.yaml whose prices turn the pilot's tokens into the cost of a trial
    #[arg(long, requires = "pilot")]
    pub arms: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct StatsArgs {
    /// JSON file; - for standard input
    pub file: Option<PathBuf>,
    /// List the ids of all methods
    #[arg(long)]
    pub list: bool,
    #[command(subcommand)]
    pub command: Option<StatsCommand>,
}

#[derive(Debug, Subcommand)]
pub enum StatsCommand {
    /// Simulate how often an interval holds the truth, and print a CSV of cells
    Coverage(CoverageArgs),
}

#[derive(Debug, clap::Args)]
pub struct CoverageArgs {
    /// Method id, e.g. sen_cp or bp_hall; an unknown one lists all
    #[arg(long)]
    pub method: String,
    /// Named grid of designs: rates, rates-small, pass-k, always-fail, bimodal, graded, difficulty,
    /// clusters, differences, breaks, difference-clusters, amounts, counts, recovery, judged,
    /// judged-levels, judged-levels-quota, judged-pairs, judged-tasks, judged-tasks-pool,
    /// judged-tasks-weighted, times, times-clustered, sequences, sequences-even, sequences-loss,
    /// agreement, agreement-tasks
    #[arg(long, conflicts_with = "cells")]
    pub grid: Option<String>,
    /// JSON file with one design, or an array of designs
    #[arg(long)]
    pub cells: Option<PathBuf>,
    /// k of pass@k and pass^k
    #[arg(short)]
    pub k: Option<u32>,
    /// Replicates per cell
    #[arg(long, default_value_t = 1500)]
    pub replicates: u32,
    /// Cells with a lower coverage are run again
    #[arg(long)]
    pub refine_below: Option<f64>,
    /// Replicates of the second run
    #[arg(long, default_value_t = 20_000)]
    pub refine_replicates: u32,
    /// Two-sided level
    #[arg(long, default_value_t = 0.95)]
    pub level: f64,
    /// Root of all randomness
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// Leave out cells with more units
    #[arg(long)]
    pub most_units: Option<u32>,
}

impl PlanArgs {
    pub fn options(&self) -> Result<app::sizing::SizingCommand> {
        let stated = match self.variances[..] {
            [] => None,
            // Scores lie between 0 and 1, so their difference varies by at most 1 and a trial by at most .25.
            [difference, within_a, within_b]
                if (0.0..=1.0).contains(&difference)
                    && [within_a, within_b]
                        .iter()
                        .all(|v| (0.0..=0.25).contains(v)) =>
            {
                let stated = app::sizing::Variances::stated(difference, within_a, within_b);
                Some(stated)
            }
            _ => {
                return Err(
                    Error::input("`--variances` takes three numbers: from 0 to 1, 0 to .25 and 0 to .25").hint(
                        "of the true difference over tasks, of one trial in A, of one trial in B; rates vary by no more",
                    ),
                );
            }
        };
        Ok(app::sizing::SizingCommand {
            suite: self.suite.clone(),
            metric: self.metric.clone(),
            margin: self.margin,
            assumed_loss: self.assumed_loss,
            power: self.power,
            trials: self.trials,
            pilot: self.pilot.clone(),
            roles: crate::plan::PlanOptions {
                baseline: self.baseline.as_deref().map(ArmId::from),
                candidate: self.candidate.as_deref().map(ArmId::from),
                ..Default::default()
            },
            stated,
            task_cost: self.task_cost,
            trial_cost: self.trial_cost,
            arms: self.arms.clone(),
        })
    }
}

impl CoverageArgs {
    pub fn options(&self) -> app::stats::CoverageCommand {
        app::stats::CoverageCommand {
            method: self.method.clone(),
            k: self.k,
            grid: self.grid.clone(),
            cells: self.cells.clone(),
            replicates: self.replicates,
            refine_below: self.refine_below,
            refine_replicates: self.refine_replicates,
            level: self.level,
            seed: self.seed,
            most_units: self.most_units,
        }
    }
}

#[derive(Debug, clap::Args)]
pub struct GoldenArgs {
    #[command(subcommand)]
    pub command: GoldenCommand,
}

#[derive(Debug, Subcommand)]
pub enum GoldenCommand {
    /// Store one trace per task of a run as golden, and draft contracts for tasks that have none
    Freeze {
        /// Run folder
        run: PathBuf,
        /// Suite folder. Default: the one the run was planned from
        #[arg(long)]
        suite: Option<PathBuf>,
        /// Arm whose traces are frozen. Default: the baseline
        #[arg(long)]
        arm: Option<String>,
    },
    /// Check traces against the contracts; exits 1 on drift, missing keys or a vanished case
    Check {
        /// Suite folder
        suite: PathBuf,
        /// Folder of traces. Default: SUITE/golden
        #[arg(long)]
        traces: Option<PathBuf>,
    },
}

impl Roles {
    fn margins(&self) -> Result<BTreeMap<String, f64>> {
        self.margins.iter().map(|m| number(m)).collect()
    }

    pub(super) fn options(
        &self,
        trials: Option<u32>,
        seed: Option<u64>,
    ) -> Result<crate::plan::PlanOptions> {
        let options = crate::plan::PlanOptions {
            baseline: self.baseline.as_deref().map(ArmId::from),
            candidate: self.candidate.as_deref().map(ArmId::from),
            trials,
            seed,
            margins: self.margins()?,
            assume_schedule: self.assume_schedule,
            files: None,
        };
        options.check_margins()?;
        Ok(options)
    }
}

impl ImportArgs {
    pub fn options(&self) -> Result<app::import::ImportCommand> {
        Ok(app::import::ImportCommand {
            kind: self.kind.clone(),
            files: self.files.clone(),
            suite: self.suite.clone(),
            arm: self.arm.as_deref().map(ArmId::from),
            model: self.model.clone(),
            run: self.run.clone(),
            map: self.map.clone(),
            plan: self.roles.options(self.trials, self.seed)?,
            malformed_is_agent: self.reading.malformed_arguments == Malformed::Agent,
        })
    }
}

impl CompareArgs {
    pub fn options(&self) -> Result<app::compare::CompareCommand> {
        Ok(app::compare::CompareCommand {
            run: self.run.clone(),
            run2: self.run2.clone(),
            out: self.out.clone(),
            roles: self.roles.options(None, None)?,
        })
    }
}

impl GoldenArgs {
    pub fn task(&self) -> app::golden::GoldenCommand {
        match &self.command {
            GoldenCommand::Freeze { run, suite, arm } => app::golden::GoldenCommand::Freeze {
                run: run.clone(),
                suite: suite.clone(),
                arm: arm.as_deref().map(ArmId::from),
            },
            GoldenCommand::Check { suite, traces } => app::golden::GoldenCommand::Check {
                suite: suite.clone(),
                traces: traces.clone(),
            },
        }
    }
}
