//! Whether a certificate holds for this run: the canary.

use std::collections::BTreeMap;
use std::path::Path;

use super::LiveJudgeCommand;
use super::items::of_items;
use super::work::Work;
use crate::app::asking::{Tally, ask};
use crate::base::{Error, ErrorKind, ItemId, Observation, Result, Seed};
use crate::judge::canary::{self, CanaryResult, Examined, Expected, Rejudged};
use crate::judge::pairwise::both_orders;
use crate::load::{self, ColumnMap, LABEL_KEYS, LabelOptions, LabelledItem, ScaleChoice};
use crate::model::calibration::Calibration;
use crate::model::judge::Judge;
use crate::model::label::LabelSet;
use crate::model::verdict::Verdict;
use crate::store::{CertificateInput, Replies};

/// Labelled items that are judged again in a run.
const CANARIES: usize = 40;

/// What another model's reply means.
const DRIFTED: &str =
    "a reply came from another model than the pinned one: no certificate holds for this run";

impl Work<'_> {
    /// What becomes of the run's certificate, of which `held` says whether there was one before: it holds while the model that answers is the pinned one and
    /// the canary shows no shift.
    pub(super) fn certificate(
        &mut self,
        command: &LiveJudgeCommand,
        examined: Option<&Calibration>,
        held: bool,
    ) -> Result<CertificateInput> {
        if self.found.asking.drift {
            self.say("model_drift", DRIFTED);
            return Ok(CertificateInput::Withdraw);
        }
        let (Some(file), Some(certificate)) = (&command.certificate, examined) else {
            return Ok(self.kept(held));
        };
        match &command.canary {
            None => {
                self.say(
                    "canary_missing",
                    "no labelled items were judged again, so nobody knows whether the judge still is the one that was examined: the certificate does not hold for this run; judge again with `--judge FILE --certificate FILE --canary LABELS`, LABELS being those of the certificate",
                );
                return Ok(CertificateInput::Withdraw);
            }
            Some(labels) => {
                self.same_labels(labels, certificate)?;
                let result = self.canary(labels, &file.with_file_name("verdicts.jsonl"))?;
                let notice = result.notice();
                let invalid = result.invalid.is_some();
                self.found.canary = Some(result);
                self.found.notices.extend(notice);
                if self.found.asking.drift {
                    self.say("model_drift", DRIFTED);
                }
                if invalid || self.found.asking.drift {
                    return Ok(CertificateInput::Withdraw);
                }
            }
        }
        let text = serde_json::to_string(certificate).map_err(|e| Error::io(e.to_string()))?;
        Ok(CertificateInput::Set(text))
    }

    /// What becomes of a certificate that the run held before, where none was given now.
    ///
    /// Answers that were kept are those beside which its canary was judged. New answers have no canary: a
    /// run that went on next week would else be judged under last week's.
    fn kept(&mut self, held: bool) -> CertificateInput {
        if !held || self.found.asking.calls == 0 {
            return CertificateInput::Keep;
        }
        self.say(
            "canary_missing",
            "the run held a certificate, and the judge was asked anew without a canary: the certificate does not hold for this run; judge again with `--judge FILE --certificate FILE --canary LABELS`, LABELS being those of the certificate",
        );
        CertificateInput::Withdraw
    }

    /// A canary of other labels than those behind the certificate says nothing about it.
    fn same_labels(&self, labels: &Path, certificate: &Calibration) -> Result<()> {
        let set = read_labels(labels, self.session.judge())?;
        if set.digest.as_str() == certificate.labels.digest {
            return Ok(());
        }
        Err(
            Error::input("these are not the labels on which the judge was certified")
                .in_file(labels)
                .hint("give `--canary` the labels of the certificate, unchanged"),
        )
    }

    /// Judges some of the labelled items again.
    fn canary(&mut self, labels: &Path, then: &Path) -> Result<CanaryResult> {
        let judge = self.session.judge();
        let set = read_labels(labels, judge)?;
        let map = ColumnMap::parse(&[], &load::VERDICT_KEYS, &["verdict."])?;
        let before = whole(judge, load::verdicts(then, &map, None)?.verdicts);
        let code = |answer: &Observation<String>| {
            let level = answer.value()?;
            let at = judge.scale.levels.iter().position(|l| l == level)?;
            u32::try_from(at).ok()
        };
        let first = |v: &&Verdict| v.repeat == 0;
        let mut answers: BTreeMap<ItemId, BTreeMap<u32, u32>> = BTreeMap::new();
        for verdict in &before {
            if let Some(answer) = code(&verdict.answer) {
                let of = answers.entry(verdict.item.clone()).or_default();
                of.insert(verdict.repeat, answer);
            }
        }
        answers.retain(|_, repeats| repeats.contains_key(&0));
        let before: BTreeMap<ItemId, u32> = answers
            .iter()
            .filter_map(|(item, repeats)| Some((item.clone(), *repeats.get(&0)?)))
            .collect();
        let truth: BTreeMap<ItemId, u32> = set
            .labels
            .iter()
            .filter(|l| before.contains_key(&l.item))
            .map(|l| (l.item.clone(), l.answer))
            .collect();
        let examined = truth.iter().filter_map(|(item, label)| {
            let answers = answers.get(item)?.values().copied().collect();
            let label = *label;
            Some(Examined { label, answers })
        });
        let expected = Expected::of(&examined.collect::<Vec<_>>());
        let drawn = canary::draw(&truth, CANARIES, Seed(0));
        let items = load::items(&labels.with_file_name("items.jsonl"))?;
        let chosen: Vec<&LabelledItem> = items.iter().filter(|i| drawn.contains(&i.id)).collect();
        // What is judged again must not come out of what was kept.
        let mut fresh = Replies::default();
        let mut tally = Tally::default();
        let requests = of_items(self.session, &chosen)?;
        let asked = ask(self.session, self.asked, &requests, &mut fresh, &mut tally);
        if tally.drift {
            self.found.asking.drift = true;
            self.say("model_drift", "a canary was answered by another model than the pinned one: no certificate holds for this run");
        }
        let verdicts = match asked {
            // A judge that answers no canary is none of which anybody knows that it is still the same.
            Err(error) if error.kind() == ErrorKind::Io => {
                self.say(
                    "canary_unanswered",
                    &format!("the canary was not answered: {error}"),
                );
                return Ok(canary::unanswered(drawn.len() as u64));
            }
            asked => asked?,
        };
        let now = whole(judge, self.session.verdicts(&verdicts));
        let rejudged: Vec<Rejudged> = now
            .iter()
            .filter(first)
            .filter_map(|v| {
                Some(Rejudged {
                    label: *truth.get(&v.item)?,
                    then: *before.get(&v.item)?,
                    now: match code(&v.answer) {
                        Some(code) => Observation::Value(code),
                        None => {
                            Observation::Missing(v.answer.reason().unwrap_or("missing").to_owned())
                        }
                    },
                })
            })
            .collect();
        Ok(canary::examine(&judge.scale, &expected, &rejudged))
    }
}

/// Verdicts that can be held against labels: of a pairwise judge both orders together.
fn whole(judge: &Judge, verdicts: Vec<Verdict>) -> Vec<Verdict> {
    if !judge.is_pairwise() {
        return verdicts;
    }
    let pairs = both_orders(&judge.scale, &verdicts).into_iter();
    pairs.map(|pair| pair.verdict).collect()
}

fn read_labels(labels: &Path, judge: &Judge) -> Result<LabelSet> {
    let mut set = load::labels(labels, &label_options(judge)?)?;
    set.labels = set.standing();
    Ok(set)
}

/// How labels on a judge's scale are read.
pub(super) fn label_options(judge: &Judge) -> Result<LabelOptions> {
    Ok(LabelOptions {
        map: ColumnMap::parse(&[], &LABEL_KEYS, &["label."])?,
        scale: ScaleChoice {
            kind: Some(judge.scale.kind),
            levels: judge.scale.levels.clone(),
            positive: judge.scale.positive.clone(),
        },
        prompt: None,
    })
}
