//! `assize calibrate JUDGE`: the labelled items are judged now, and the verdicts examined as recorded ones
//! are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::Talk;
use super::asking::Pace;
use super::calibrate::{CalibrateCommand, check, read_labels};
use super::judge_live::{Kept, judge_items};
use super::live::Keys;
use crate::base::{Error, ItemId, Result};
use crate::load::{self, ColumnMap};
use crate::model::judge::Judge;
use crate::model::verdict::{Verdict, unusable};
use crate::store::FileFolder;

/// File of the verdicts, beside the certificate; a run's canary is compared with them.
pub const VERDICTS: &str = "verdicts.jsonl";

/// Judges those items beside the labels that are labelled in the part that is looked at, and turns the command into one on recorded verdicts.
///
/// What the judge's file says stands where the command says nothing: scale, thresholds, and the prompt
/// whose examples no label may repeat.
///
/// # Errors
///
/// If the judge's file, the labels, the command or the items are wrong (nobody is asked then), its key is not set, or files fail.
pub fn recorded(
    mut command: CalibrateCommand,
    judge: &Path,
    items: Option<&Path>,
    pace: Pace,
    keys: &Keys,
    talk: &mut Talk,
) -> Result<CalibrateCommand> {
    let file = judge;
    let judge = load::judge(file)?;
    let items = match items {
        Some(items) => items.to_path_buf(),
        None => command.labels.with_file_name("items.jsonl"),
    };
    let certificates = command.labels.with_file_name("certificates");
    let own = || certificates.join(judge.key().as_str());
    let out = command.out.clone().unwrap_or_else(own);
    // Whatever is wrong with the labels is found before anybody is asked.
    command.prompt = command.prompt.or_else(|| Some(file.to_path_buf()));
    let scale = &judge.scale;
    let levels = || format!("{}:{}", scale.kind.name(), scale.levels.join(","));
    command.scale = command.scale.or_else(|| Some(levels()));
    command.positive = command.positive.or_else(|| scale.positive.clone());
    if command.thresholds.is_empty() {
        command.thresholds = judge.spec.thresholds.clone();
    }
    let labels = read_labels(&command)?;
    check(&command, &labels)?;
    let against = command.against.as_deref();
    let old = match against.filter(|old| is_judge_file(old)) {
        Some(old) => Some(load::judge(Path::new(old))?),
        None => {
            at_hand(&command)?;
            None
        }
    };
    // The dev part is not judged where the test part certifies: it would be paid for and not used.
    let part: BTreeSet<ItemId> = command.split.of(&labels).map(|l| l.item.clone()).collect();
    let asking = Asking {
        items: &items,
        part: &part,
        out: &out,
        certificates: &certificates,
        pace,
        keys,
    };
    command.verdicts = asking.ask(&judge, VERDICTS, talk)?;
    if let Some(old) = old {
        let verdicts = asking.ask(&old, "against.jsonl", talk)?;
        command.against = Some(verdicts.to_string_lossy().into_owned());
    }
    command.judge = Some(judge.key().to_string());
    command.out = Some(out);
    Ok(command)
}

fn is_judge_file(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|e| e.to_str());
    matches!(extension, Some("yaml" | "yml"))
}

/// A recorded version to compare with must be there before anybody is asked.
fn at_hand(command: &CalibrateCommand) -> Result<()> {
    let Some(file) = command.against.as_deref().map(Path::new) else {
        return Ok(());
    };
    if file.extension().is_some_and(|e| e == "json") {
        return load::certificate(file).map(drop);
    }
    let map = ColumnMap::parse(&command.map, &load::VERDICT_KEYS, &["verdict."])?;
    load::verdicts(file, &map, None).map(drop)
}

struct Asking<'a> {
    items: &'a Path,
    /// The labelled items of the part that is looked at.
    part: &'a BTreeSet<ItemId>,
    out: &'a Path,
    /// Folder of all certificates beside the labels.
    certificates: &'a Path,
    pace: Pace,
    keys: &'a Keys<'a>,
}

impl Asking<'_> {
    fn ask(&self, judge: &Judge, name: &str, talk: &mut Talk) -> Result<PathBuf> {
        let kept = Kept {
            file: &self.out.join("replies.jsonl"),
            beside: self.certificates,
        };
        let (verdicts, tally) =
            judge_items(judge, self.items, self.part, kept, self.pace, self.keys)?;
        if tally.drift {
            let error = format!(
                "{}: a reply came from another model than the pinned one",
                judge.key()
            );
            return Err(Error::refused(error)
                .hint("a certificate is of one exact model: name the model that answers, or another endpoint"));
        }
        let unusable: u64 = tally.unusable.values().sum();
        talk(&format!(
            "{}: {} questions, {} kept from before,{} {} calls, {unusable} unusable answers",
            judge.key(),
            tally.questions,
            tally.kept,
            tally.same_in_words(),
            tally.calls
        ));
        tally.examples.iter().for_each(|example| talk(example));
        if let Some(text) = tally.unverified() {
            talk(&format!("{}: model_unverified: {text}", judge.key()));
        }
        FileFolder::create(self.out)?.write(name, |out| {
            for verdict in &verdicts {
                writeln!(out, "{}", line(verdict))?;
            }
            Ok(())
        })?;
        Ok(self.out.join(name))
    }
}

/// A verdict as a line of a file of recorded verdicts.
fn line(verdict: &Verdict) -> serde_json::Value {
    let answer = match (verdict.answer.value(), verdict.answer.reason()) {
        (Some(answer), _) => answer.clone(),
        (None, Some(unusable::MISSING)) => String::new(),
        (None, _) => "unparsable".to_owned(),
    };
    let mut line = json!({
        "item": verdict.item, "judge": verdict.judge, "repeat": verdict.repeat, "verdict": answer,
    });
    let optional = [
        ("order", verdict.order.map(|o| json!(o.name()))),
        ("score", verdict.score.map(|s| json!(s))),
        ("arm", verdict.arm.as_ref().map(|a| json!(a))),
        ("task", verdict.task.as_ref().map(|t| json!(t))),
        ("trial", verdict.trial.map(|t| json!(t))),
        ("pin", verdict.pin.as_ref().map(|p| json!(p))),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            line[key] = value;
        }
    }
    line
}
