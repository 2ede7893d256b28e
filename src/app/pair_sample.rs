//! `assize label-sample RUN --pairs`: a blinded sheet of pairs for people to fill.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::judge_live::compared;
use super::label_sample::{Rated, SampleCommand, Sampled, refuse_filled, sheet};
use crate::base::{Digest, Error, Result, Seed};
use crate::calibrate::{PairDrawing, draw_pairs};
use crate::judge::blind::Blinder;
use crate::model::preference::PairKey;
use crate::model::suite::Suite;
use crate::report::csv::formula_safe;
use crate::store::{FileFolder, RunStore};

/// Draws pairs of baseline and candidate and writes `sheet.csv` and `items.jsonl` for raters, who answer
/// `first`, `second` or `tie`, and `key.csv`, which stays away from raters: which pair each item was, which
/// output came first, and how probable it was to be drawn.
///
/// # Errors
///
/// If the plan names no baseline and candidate, no task has a trial of both, a sheet is there already, or
/// files fail.
pub(super) fn sample(command: &SampleCommand, folder: &Path) -> Result<Sampled> {
    let store = RunStore::open(&command.run)?;
    let suite = store.suite()?;
    let table = store.score_table(&suite)?;
    let plan = store.plan();
    let arms = compared(&plan)?;
    let at = |arm| table.arms.iter().position(|known| known == arm);
    let [Some(baseline), Some(candidate)] = [at(&arms[0]), at(&arms[1])] else {
        return Err(Error::input("the run lacks its baseline or candidate"));
    };
    let seed = Seed(command.seed.unwrap_or(plan.body.seed.0)).child("label-sample/pairs");
    let drawn = draw_pairs(&table, [baseline, candidate], command.count, seed)?;
    refuse_filled(folder)?;
    let key = |drawing: &PairDrawing| PairKey {
        baseline: arms[0].clone(),
        candidate: arms[1].clone(),
        task: table.tasks[drawing.task].clone(),
        index: drawing.index,
    };
    let drawn: Vec<Drawn> = drawn
        .iter()
        .map(|drawing| Drawn::of(key(drawing), drawing, seed))
        .collect();
    let files = FileFolder::create(folder)?;
    let codes: Vec<String> = drawn.iter().map(|d| d.code.clone()).collect();
    files.write("sheet.csv", |out| sheet(&codes, out))?;
    files.write("key.csv", |out| write_key(&drawn, out))?;
    let blinder = Blinder::of_arms(&super::arms_of_run(&store)?)?;
    let lines = drawn
        .iter()
        .map(|drawn| drawn.shown(&store, &suite, &blinder))
        .collect::<Result<Vec<Value>>>()?;
    files.write("items.jsonl", |out| {
        for line in &lines {
            writeln!(out, "{line}")?;
        }
        Ok(())
    })?;
    Ok(Sampled {
        items: drawn.len(),
        // A task gives one pair.
        tasks: drawn.len(),
        short: (drawn.len() < command.count).then(|| {
            format!(
                "{} tasks were asked for, and the run has {} with a pair: all are on the sheet",
                command.count,
                drawn.len()
            )
        }),
        pairs: true,
        folder: folder.to_path_buf(),
    })
}

/// A drawn pair under its code.
struct Drawn {
    code: String,
    pair: PairKey,
    baseline_first: bool,
    stratum: String,
    probability: f64,
}

impl Drawn {
    fn of(pair: PairKey, drawing: &PairDrawing, seed: Seed) -> Self {
        let item = pair.item();
        let digest = Digest::of_parts(&["label-sample", &seed.0.to_string(), item.as_str()]);
        Self {
            code: format!("p{}", &digest.as_str()[..10]),
            pair,
            baseline_first: drawing.baseline_first,
            stratum: drawing.stratum.clone(),
            probability: drawing.probability,
        }
    }

    /// What a rater sees: what was asked, and both outputs in the order that was drawn.
    fn shown(&self, store: &RunStore, suite: &Suite, blinder: &Blinder) -> Result<Value> {
        let mut sides = vec![];
        for trial in self.pair.trials() {
            sides.push(Rated::of(store, suite, &trial, blinder)?);
        }
        if !self.baseline_first {
            sides.reverse();
        }
        let [first, second] = &sides[..] else {
            return Err(Error::io("a pair has two sides"));
        };
        Ok(json!({
            "item": self.code,
            "input": first.input,
            "output_1": first.output,
            "output_2": second.output,
            "transcript_1": first.transcript,
            "transcript_2": second.transcript,
        }))
    }
}

fn write_key(drawn: &[Drawn], out: &mut dyn Write) -> std::io::Result<()> {
    let mut csv = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(out);
    csv.write_record(["item", "pair", "first", "task", "stratum", "probability"])?;
    for drawn in drawn {
        let item = drawn.pair.item();
        csv.write_record([
            drawn.code.as_str(),
            formula_safe(item.as_str()).as_ref(),
            if drawn.baseline_first {
                "baseline"
            } else {
                "candidate"
            },
            formula_safe(drawn.pair.task.as_str()).as_ref(),
            &drawn.stratum,
            &format!("{:?}", drawn.probability),
        ])?;
    }
    csv.flush()
}
