//! Arguments and talk of `assize calibrate`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::ValueEnum;

use super::args::Format;
use super::{number, render, wants_json};
use crate::app::asking::Pace;
use crate::app::calibrate::{CalibrateCommand, Calibrated};
use crate::app::judge::{JudgeCommand, Judged};
use crate::app::judge_live::{LiveJudgeCommand, LiveJudged};
use crate::app::label_sample::{SampleCommand, Sampled};
use crate::base::{Error, Result};
use crate::calibrate::{OtherRule, SplitChoice, TruthRule};
use crate::load;
use crate::model::calibration::{Calibration, Measured};

/// Numbers that the summary shows, where they were measured.
const SHOWN: [&str; 9] = [
    "accuracy",
    "sensitivity",
    "specificity",
    "youden",
    "kappa",
    "weighted_kappa",
    "alpha",
    "repeat_consistency",
    "position_consistency",
];

#[derive(Debug, clap::Args)]
pub struct CalibrateArgs {
    /// Judge's file: the items beside the labels are judged now. Without one, --verdicts holds recorded verdicts
    #[arg(required_unless_present = "verdicts", conflicts_with = "verdicts")]
    pub judge_file: Option<PathBuf>,
    /// Items to judge. Default: items.jsonl beside the labels
    #[arg(long, requires = "judge_file")]
    pub items: Option<PathBuf>,
    /// Most calls at a time
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub concurrency: u32,
    /// Cost in US dollars after which nobody is asked any more; what was answered is kept
    #[arg(long, value_name = "USD", env = "ASSIZE_MAX_COST")]
    pub max_cost: Option<f64>,
    /// Labels of people: CSV or JSON Lines (item, rater, label, optional adjudicated, group, split, stratum, probability, arm, task, trial)
    #[arg(long)]
    pub labels: PathBuf,
    /// Recorded verdicts: CSV or JSON Lines (item, judge, repeat, order, verdict, score, arm, group); calls nobody
    #[arg(long)]
    pub verdicts: Option<PathBuf>,
    /// Column of the verdicts, e.g. item=id, judge=model+prompt, verdict.a_first=winner1
    #[arg(long = "map", value_name = "KEY=COLUMN")]
    pub map: Vec<String>,
    /// Column of the labels, e.g. item=id, label.ann=annotator1
    #[arg(long = "map-labels", value_name = "KEY=COLUMN")]
    pub map_labels: Vec<String>,
    /// Only this judge; names the judge where the verdicts do not
    #[arg(long)]
    pub judge: Option<String>,
    /// Examine the majority of these judges as one judge
    #[arg(long, value_delimiter = ',', value_name = "JUDGE,JUDGE,JUDGE")]
    pub panel: Vec<String>,
    /// binary, ordinal, nominal or pairwise, with levels: ordinal:poor,fair,good. Default: from the labels
    #[arg(long)]
    pub scale: Option<String>,
    /// The least level that counts as good
    #[arg(long)]
    pub positive: Option<String>,
    /// How several labels of an item become its truth: majority, expert (adjudicated labels decide), expert:RATER, or soft (shares of labels; binary scales). An adjudicated label always decides its item
    #[arg(long, default_value = "majority", value_name = "RULE")]
    pub truth: String,
    /// Part of the labels; only the test part certifies
    #[arg(long, value_enum, default_value = "test")]
    pub split: SplitArg,
    /// Least bound that must hold, e.g. sensitivity=0.8; without one nothing can pass
    #[arg(long = "threshold", value_name = "NAME=VALUE")]
    pub thresholds: Vec<String>,
    /// Show beside our rule how unusable verdicts would count elsewhere
    #[arg(long, value_enum)]
    pub unparsable: Vec<UnparsableArg>,
    /// Another version on the same items: a file of verdicts, a judge of this file, a judge's file that is asked too, or a certificate with its verdicts at hand
    #[arg(long)]
    pub against: Option<String>,
    /// The judge's prompt: its own examples must not be among the items
    #[arg(long)]
    pub prompt: Option<PathBuf>,
    /// Who labelled, for the alternative annotator test
    #[arg(long, value_enum, default_value = "crowd")]
    pub raters: RatersArg,
    /// Two-sided level
    #[arg(long, default_value_t = 0.95)]
    pub level: f64,
    /// Bootstrap replicates
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(200..=100_000))]
    pub replicates: u32,
    /// Root of all randomness
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// Folder for the certificates. Default: certificates beside the labels
    #[arg(long)]
    pub out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct JudgeArgs {
    /// Run folder
    pub run: PathBuf,
    /// Recorded verdicts with arm, task and trial, or with --scale pairwise:A,B,tie on items
    /// ARM/TASK/TRIAL|ARM/TASK/TRIAL in both orders; calls nobody
    #[arg(long)]
    pub verdicts: Option<PathBuf>,
    /// Column of the verdicts, e.g. verdict=passed
    #[arg(long = "map", value_name = "KEY=COLUMN")]
    pub map: Vec<String>,
    /// Without --verdicts: the judge's file, which is asked now. With: only this judge, or its name
    #[arg(long, required_unless_present = "verdicts")]
    pub judge: Option<String>,
    /// Labels of the set behind the certificate, of which some are judged again; items.jsonl lies beside them
    #[arg(long, value_name = "LABELS", requires = "certificate")]
    pub canary: Option<PathBuf>,
    /// Most calls at a time
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub concurrency: u32,
    /// Cost in US dollars after which nobody is asked any more; what was answered is kept
    #[arg(long, value_name = "USD", env = "ASSIZE_MAX_COST")]
    pub max_cost: Option<f64>,
    /// Let a model judge itself; the report says so
    #[arg(long)]
    pub force_own_model: bool,
    /// Let the judge guess whose trials it sees, and test the guesses against chance
    #[arg(long)]
    pub audit_blinding: bool,
    /// The judge's certificate (calibration.json)
    #[arg(long)]
    pub certificate: Option<PathBuf>,
    /// Labels of trials of this run, e.g. a filled sheet of `label-sample` with its key.csv beside it
    #[arg(long)]
    pub labels: Option<PathBuf>,
    /// Column of the labels
    #[arg(long = "map-labels", value_name = "KEY=COLUMN")]
    pub map_labels: Vec<String>,
    /// binary, ordinal, nominal or pairwise, with levels. Default: the certificate's, else from the answers
    #[arg(long)]
    pub scale: Option<String>,
    /// The least level that counts as good
    #[arg(long)]
    pub positive: Option<String>,
}

impl JudgeArgs {
    /// The command that asks a judge now; `None` where recorded verdicts are given.
    pub fn live(&self) -> Option<LiveJudgeCommand> {
        if self.verdicts.is_some() {
            return None;
        }
        Some(LiveJudgeCommand {
            run: self.run.clone(),
            judge: self.judge.clone().unwrap_or_default().into(),
            certificate: self.certificate.clone(),
            canary: self.canary.clone(),
            labels: self.labels.clone(),
            pace: Pace {
                concurrency: self.concurrency as usize,
                max_cost: self.max_cost,
            },
            force_own: self.force_own_model,
            audit: self.audit_blinding,
        })
    }

    pub fn command(&self) -> JudgeCommand {
        JudgeCommand {
            run: self.run.clone(),
            verdicts: self.verdicts.clone().unwrap_or_default(),
            map: self.map.clone(),
            judge: self.judge.clone(),
            certificate: self.certificate.clone(),
            labels: self.labels.clone(),
            map_labels: self.map_labels.clone(),
            scale: self.scale.clone(),
            positive: self.positive.clone(),
        }
    }
}

#[derive(Debug, clap::Args)]
pub struct LabelSampleArgs {
    /// Run folder
    pub run: PathBuf,
    /// Tasks to draw, each with one trial per arm; with --quota-by: trials per answer of the judge and arm
    #[arg(short = 'n', long = "count", default_value_t = 100)]
    pub count: usize,
    /// Quotas by this judge's answers, while at most half of the tasks are labelled
    #[arg(long, value_name = "JUDGE")]
    pub quota_by: Option<String>,
    /// For a pairwise judge: tasks, each with one pair of baseline and candidate in an order that is drawn
    #[arg(long, conflicts_with = "quota_by")]
    pub pairs: bool,
    /// Root of all randomness. Default: the run's
    #[arg(long)]
    pub seed: Option<u64>,
    /// Folder of the sheet. Default: RUN/labels, with --pairs RUN/pair-labels
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl LabelSampleArgs {
    pub fn command(&self) -> SampleCommand {
        SampleCommand {
            run: self.run.clone(),
            count: self.count,
            quota_by: self.quota_by.clone(),
            pairs: self.pairs,
            seed: self.seed,
            out: self.out.clone(),
        }
    }
}

/// Prints what was put into a run.
pub fn judged(done: &[Judged], format: Format) -> Result<u8> {
    if wants_json(format) {
        render::json(&done)?;
        return Ok(0);
    }
    for judge in done {
        let certificate = judge.certificate.as_deref().map_or(
            "no certificate: its verdicts are shown as uncalibrated and decide nothing".to_owned(),
            |result| format!("certificate: {result}"),
        );
        render::print(&format!(
            "{}: {} verdicts, {} labels; {certificate}",
            judge.judge, judge.verdicts, judge.labels
        ))?;
    }
    Ok(0)
}

/// Prints what asking a judge showed.
pub fn judged_live(done: &LiveJudged, format: Format) -> Result<u8> {
    if wants_json(format) {
        render::json(done)?;
        return Ok(0);
    }
    let mut text = format!("{}: {} verdicts stored", done.judge, done.verdicts);
    if let Some(pairs) = &done.pairs {
        text.push_str(&format!(
            "\npairs: {} won {}, {} won {}, {} ties ({} because the first won in both orders, {} because the second did), {} unusable",
            pairs.a, pairs.a_wins, pairs.b, pairs.b_wins, pairs.ties, pairs.first_won, pairs.second_won, pairs.unusable
        ));
    }
    for (arm, names) in &done.hidden {
        let names: Vec<String> = names.iter().map(|(n, k)| format!("{n} × {k}")).collect();
        if !names.is_empty() {
            text.push_str(&format!("\nhidden in {arm}: {}", names.join(", ")));
        }
    }
    if let Some(audit) = &done.audit {
        text.push_str(&format!(
            "\nguesses of the arm: {} of {} right{}",
            audit.right,
            audit.guesses,
            match (audit.guesses, audit.told_apart) {
                (0, _) => ": no usable guess, so nothing is known of the blinding",
                (_, true) => ": the blinding leaks",
                (_, false) => ", which chance explains",
            }
        ));
    }
    render::print(&text)?;
    Ok(0)
}

/// Prints what was drawn.
pub fn sampled(done: &Sampled, format: Format) -> Result<u8> {
    if wants_json(format) {
        render::json(done)?;
        return Ok(0);
    }
    let folder = done.folder.display();
    if let Some(short) = &done.short {
        render::talk(short);
    }
    let text = match done.pairs {
        true => format!(
            "{} pairs of {} tasks in {folder}: raters get sheet.csv and items.jsonl and answer first, second or tie; key.csv says which output is whose, keep it from them",
            done.items, done.tasks
        ),
        false => format!(
            "{} trials of {} tasks in {folder}: raters get sheet.csv and items.jsonl; key.csv says which trial each item is, keep it from them",
            done.items, done.tasks
        ),
    };
    render::print(&text)?;
    Ok(0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SplitArg {
    Test,
    Dev,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnparsableArg {
    /// An answer of its own, always wrong, as papers count
    Published,
    /// The bad answer
    Fail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RatersArg {
    Expert,
    Skilled,
    Crowd,
}

impl RatersArg {
    /// Price of people (Calderon, Reichart & Dror 2025).
    fn epsilon(self) -> f64 {
        match self {
            Self::Expert => 0.2,
            Self::Skilled => 0.15,
            Self::Crowd => 0.1,
        }
    }
}

impl CalibrateArgs {
    pub fn command(&self) -> Result<CalibrateCommand> {
        let mut thresholds = BTreeMap::new();
        for text in &self.thresholds {
            // Names may hold `=`, a value never does.
            let (name, value) = number(text).or_else(|_| split_last(text))?;
            if thresholds.insert(name.clone(), value).is_some() {
                return Err(Error::input(format!("threshold `{name}` is given twice")));
            }
        }
        Ok(CalibrateCommand {
            labels: self.labels.clone(),
            verdicts: self.verdicts.clone().unwrap_or_default(),
            map: self.map.clone(),
            map_labels: self.map_labels.clone(),
            judge: self.judge.clone(),
            panel: self.panel.clone(),
            scale: self.scale.clone(),
            positive: self.positive.clone(),
            split: match self.split {
                SplitArg::Test => SplitChoice::Test,
                SplitArg::Dev => SplitChoice::Dev,
            },
            truth: TruthRule::parse(&load::nfc(self.truth.clone()))?,
            thresholds,
            unparsable: self
                .unparsable
                .iter()
                .map(|u| match u {
                    UnparsableArg::Published => OtherRule::Published,
                    UnparsableArg::Fail => OtherRule::Fail,
                })
                .collect(),
            against: self.against.clone(),
            prompt: self.prompt.clone(),
            epsilon: self.raters.epsilon(),
            level: self.level,
            replicates: self.replicates,
            seed: self.seed,
            out: self.out.clone(),
        })
    }
}

fn split_last(text: &str) -> Result<(String, f64)> {
    let wrong = || Error::input(format!("`{text}` is not of the form NAME=NUMBER"));
    let (name, value) = text.rsplit_once('=').ok_or_else(wrong)?;
    let value: f64 = value.trim().parse().map_err(|_| wrong())?;
    Ok((name.trim().to_owned(), value))
}

/// Prints what the certificates say; exits 1 if a judge is refused.
pub fn print(done: &Calibrated, format: Format) -> Result<u8> {
    let code = u8::from(!done.passed());
    if wants_json(format) {
        let all: Vec<&Calibration> = done.certificates.iter().map(|(c, _)| c).collect();
        match all[..] {
            [one] => render::json(one)?,
            _ => render::json(&all)?,
        }
        return Ok(code);
    }
    let texts: Vec<String> = done.certificates.iter().map(|(c, _)| summary(c)).collect();
    render::print(&texts.join("\n"))?;
    Ok(code)
}

fn summary(certificate: &Calibration) -> String {
    let mut text = format!(
        "{}: {} on {} items ({}, {}, truth {})\n",
        certificate.judge,
        certificate.result.result,
        certificate.verdicts.items,
        certificate.labels.name,
        certificate.labels.split,
        certificate.truth
    );
    for reason in &certificate.result.reasons {
        text.push_str(&format!("  {}: {}\n", reason.code, reason.detail));
    }
    let refused_for = |code: &str| certificate.result.reasons.iter().any(|r| r.code == code);
    let notices = certificate.notices.iter();
    for notice in notices.filter(|n| !refused_for(&n.code)) {
        text.push_str(&format!("  notice {}: {}\n", notice.code, notice.detail));
    }
    if let Some(all) = certificate.slices.first() {
        let shown = SHOWN.iter().filter_map(|name| all.row(name));
        shown
            .filter(|r| r.value.is_some())
            .for_each(|r| text.push_str(&line("", r)));
    }
    for other in &certificate.other_rules {
        let names = [
            "accuracy",
            "kappa",
            "accuracy_of_orders",
            "position_consistency",
            "kappa_between_orders",
        ];
        let shown = names.iter().filter_map(|name| other.row(name));
        shown
            .filter(|r| r.value.is_some())
            .for_each(|r| text.push_str(&line(&other.slice, r)));
    }
    if let Some(against) = &certificate.against {
        text.push_str(&format!(
            "  against {}: {} items changed\n",
            against.judge,
            against.changed.len()
        ));
        against
            .rows
            .iter()
            .for_each(|r| text.push_str(&line("difference", r)));
    }
    text
}

fn line(before: &str, row: &Measured) -> String {
    let number = |v: Option<f64>| v.map_or("–".to_owned(), |v| format!("{v:.3}"));
    let why = row
        .reason
        .as_deref()
        .map(|r| format!("  {r}"))
        .unwrap_or_default();
    let name = if before.is_empty() {
        row.name.clone()
    } else {
        format!("{before} {}", row.name)
    };
    format!(
        "  {name:<28} {:>7} [{}, {}]{why}\n",
        number(row.value),
        number(row.low),
        number(row.high)
    )
}
