//! `assize label-sample RUN`: a blinded sheet for people to fill.

mod item;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use crate::base::{Digest, Error, Result, Seed};
use crate::calibrate::{Draw, Drawing, draw};
use crate::judge::blind::Blinder;
use crate::model::label::TrialKey;
use crate::model::score::ScoreTable;
use crate::model::suite::Suite;
use crate::report::csv::formula_safe;
use crate::store::{FileFolder, RunStore};
pub(super) use item::Rated;

/// How trials are drawn for people.
#[derive(Clone, Debug)]
pub struct SampleCommand {
    /// Run folder.
    pub run: PathBuf,
    /// Tasks to draw, or trials per answer of the judge.
    pub count: usize,
    /// Quotas by this judge's answers, in place of tasks at random.
    pub quota_by: Option<String>,
    /// Pairs of baseline and candidate in place of single trials, for a pairwise judge.
    pub pairs: bool,
    /// Root of all randomness; default: the run's.
    pub seed: Option<u64>,
    /// Folder of the sheet; default: `labels` in the run folder, or `pair-labels`.
    pub out: Option<PathBuf>,
}

/// What was drawn.
#[derive(Clone, Debug, Serialize)]
pub struct Sampled {
    /// Trials, or pairs, on the sheet.
    pub items: usize,
    /// Tasks on the sheet.
    pub tasks: usize,
    /// What the run could not give of what was asked for, in words.
    pub short: Option<String>,
    /// Whether they are pairs.
    pub pairs: bool,
    /// Folder that holds it.
    pub folder: PathBuf,
}

/// Draws trials and writes `sheet.csv` and `items.jsonl` for raters, and `key.csv`, which says which trial
/// each item was and how probable it was to be drawn, and stays away from raters.
///
/// # Errors
///
/// If nothing is asked for, quotas would label more than half of the tasks, the judge has no verdict in this run, a sheet is
/// there already, or files fail.
pub fn sample(command: &SampleCommand) -> Result<Sampled> {
    let named = |name: &str| {
        command
            .out
            .clone()
            .unwrap_or_else(|| command.run.join(name))
    };
    if command.count == 0 {
        return Err(Error::input("nothing was asked for: `-n 0`")
            .hint("50 labelled trials of an arm, or 25 pairs, are the fewest that decide"));
    }
    if command.pairs {
        return super::pair_sample::sample(command, &named("pair-labels"));
    }
    let store = RunStore::open(&command.run)?;
    let suite = store.suite()?;
    let mut table = store.score_table(&suite)?;
    super::judged::attach(&store, &mut table)?;
    let how = how(command, &table)?;
    let seed = Seed(command.seed.unwrap_or(store.plan().body.seed.0)).child("label-sample");
    let drawn = draw(&table, &how, seed)?;
    let folder = named("labels");
    refuse_filled(&folder)?;
    let codes: Vec<String> = drawn.iter().map(|d| code(&table, d.row, seed)).collect();
    let files = FileFolder::create(&folder)?;
    files.write("sheet.csv", |out| sheet(&codes, out))?;
    files.write("key.csv", |out| key(&table, &drawn, &codes, out))?;
    let blinder = Blinder::of_arms(&super::arms_of_run(&store)?)?;
    let lines = drawn
        .iter()
        .zip(&codes)
        .map(|(d, code)| line(&store, &suite, &table, d.row, code, &blinder))
        .collect::<Result<Vec<Value>>>()?;
    files.write("items.jsonl", |out| {
        for line in &lines {
            writeln!(out, "{line}")?;
        }
        Ok(())
    })?;
    let tasks: BTreeSet<u32> = drawn.iter().map(|d| table.task[d.row]).collect();
    Ok(Sampled {
        items: drawn.len(),
        tasks: tasks.len(),
        short: short(command, &table, &drawn, tasks.len()),
        pairs: false,
        folder,
    })
}

/// One line of `items.jsonl`.
fn line(
    store: &RunStore,
    suite: &Suite,
    table: &ScoreTable,
    row: usize,
    code: &str,
    blinder: &Blinder,
) -> Result<Value> {
    let trial = TrialKey {
        arm: table.arms[usize::from(table.arm[row])].clone(),
        task: table.tasks[table.task[row] as usize].clone(),
        index: table.index[row],
    };
    let rated = Rated::of(store, suite, &trial, blinder)?;
    Ok(json!({
        "item": code,
        "input": rated.input,
        "output": rated.output,
        "transcript": rated.transcript,
    }))
}

/// Says where the run holds less than was asked for.
fn short(
    command: &SampleCommand,
    table: &ScoreTable,
    drawn: &[Drawing],
    tasks: usize,
) -> Option<String> {
    let asked = command.count;
    if command.quota_by.is_none() {
        return (tasks < asked).then(|| {
            format!("{asked} tasks were asked for, and the run has {tasks} with a valid trial: all are on the sheet")
        });
    }
    let mut pools: BTreeMap<(u16, &str), usize> = BTreeMap::new();
    for drawing in drawn {
        *pools
            .entry((table.arm[drawing.row], &drawing.stratum))
            .or_default() += 1;
    }
    let few: Vec<String> = pools
        .iter()
        .filter(|(_, n)| **n < asked)
        .map(|((arm, stratum), n)| format!("{n} of {} {stratum}", table.arms[usize::from(*arm)]))
        .collect();
    (!few.is_empty()).then(|| {
        format!(
            "{asked} trials of each were asked for, and the run gives {}",
            few.join(", ")
        )
    })
}

fn how(command: &SampleCommand, table: &ScoreTable) -> Result<Draw> {
    let Some(judge) = &command.quota_by else {
        return Ok(Draw::Tasks(command.count));
    };
    match table.judges.iter().position(|j| j.judge.as_str() == judge) {
        Some(judge) => Ok(Draw::Quota {
            judge,
            each: command.count,
        }),
        None => {
            let known: Vec<&str> = table.judges.iter().map(|j| j.judge.as_str()).collect();
            Err(
                Error::input(format!("judge `{judge}` has no verdict in this run"))
                    .hint(format!("judges in the run: {}", known.join(", "))),
            )
        }
    }
}

/// A sheet that people have begun to fill is not written over.
pub(super) fn refuse_filled(folder: &Path) -> Result<()> {
    let sheet = folder.join("sheet.csv");
    if sheet.exists() {
        return Err(Error::input("there is a sheet already").in_file(sheet).hint(
            "people may have filled it: name another folder with `--out`, or remove it yourself",
        ));
    }
    Ok(())
}

/// A code that says nothing about arm, task or trial.
fn code(table: &ScoreTable, row: usize, seed: Seed) -> String {
    let arm = &table.arms[usize::from(table.arm[row])];
    let task = &table.tasks[table.task[row] as usize];
    let (seed, index) = (seed.0.to_string(), table.index[row].to_string());
    let digest = Digest::of_parts(&["label-sample", &seed, arm.as_str(), task.as_str(), &index]);
    format!("q{}", &digest.as_str()[..10])
}

pub(super) fn sheet(codes: &[String], out: &mut dyn Write) -> std::io::Result<()> {
    let mut csv = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(out);
    csv.write_record(["item", "rater", "label"])?;
    for code in codes {
        csv.write_record([code.as_str(), "", ""])?;
    }
    csv.flush()
}

fn key(
    table: &ScoreTable,
    drawn: &[Drawing],
    codes: &[String],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut csv = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(out);
    csv.write_record(["item", "arm", "task", "trial", "stratum", "probability"])?;
    for (drawing, code) in drawn.iter().zip(codes) {
        let row = drawing.row;
        let arm = formula_safe(table.arms[usize::from(table.arm[row])].as_str());
        let task = formula_safe(table.tasks[table.task[row] as usize].as_str());
        let index = table.index[row].to_string();
        let probability = format!("{:?}", drawing.probability);
        csv.write_record([
            code,
            arm.as_ref(),
            task.as_ref(),
            &index,
            &drawing.stratum,
            &probability,
        ])?;
    }
    csv.flush()
}
