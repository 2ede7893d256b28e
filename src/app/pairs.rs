//! Verdicts and labels on pairs of trials, read from files, for the pairs of a run.

use std::collections::BTreeMap;
use std::path::Path;

use super::Talk;
use super::judge::filled;
use super::judge_live::compared;
use crate::base::{Error, ItemId, Observation, Result};
use crate::judge::pairwise::pair_answers;
use crate::load::{self, ColumnMap, LABEL_KEYS, LabelOptions, PairPlace, ScaleChoice};
use crate::model::label::{Label, Scale, ScaleKind};
use crate::model::preference::{PairAnswer, PairKey, PairLabel, Preference};
use crate::model::verdict::Verdict;
use crate::report::csv::formula_unsafe;
use crate::store::RunStore;

/// Problems that are listed.
const LISTED: usize = 20;

/// The pairs of a run by the items that stand for them, whichever arm comes first.
pub(super) struct RunPairs {
    forth: BTreeMap<ItemId, PairKey>,
    back: BTreeMap<ItemId, PairKey>,
}

impl RunPairs {
    /// Trials of baseline and candidate with the same number, as far as they are stored.
    ///
    /// # Errors
    ///
    /// If the plan names no baseline and candidate, or the store is damaged.
    pub fn of(store: &RunStore) -> Result<Self> {
        let plan = store.plan();
        let [baseline, candidate] = compared(&plan)?;
        let stored = store.trial_keys()?;
        let mut pairs = Self {
            forth: BTreeMap::new(),
            back: BTreeMap::new(),
        };
        for key in stored.iter().filter(|key| key.arm == baseline) {
            let pair = PairKey {
                baseline: baseline.clone(),
                candidate: candidate.clone(),
                task: key.task.clone(),
                index: key.index,
            };
            let [a, b] = pair.trials();
            if stored.contains(&b) {
                let other = ItemId::new(format!("{b}|{a}"));
                pairs.forth.insert(pair.item(), pair.clone());
                pairs.back.insert(other, pair);
            }
        }
        Ok(pairs)
    }

    fn contains(&self, item: &ItemId) -> bool {
        self.forth.contains_key(item) || self.back.contains_key(item)
    }

    /// What recorded verdicts say of pairs of the run.
    ///
    /// # Errors
    ///
    /// If a verdict is of no pair of this run, or does not say which output came first; all at once.
    pub fn answers(&self, scale: &Scale, verdicts: &[Verdict]) -> Result<Vec<PairAnswer>> {
        let mut problems = vec![];
        for verdict in verdicts {
            if !self.contains(&verdict.item) {
                problems.push(self.unknown("verdict", &verdict.item, verdict.line));
            } else if verdict.order.is_none() {
                let message = format!(
                    "verdict on `{}` (line {}) does not say which output came first",
                    verdict.item, verdict.line
                );
                let hint = "name a column `order` with a_first or b_first";
                problems.push(Error::input(message).hint(hint));
            }
        }
        listed("verdicts that cannot be used", problems)?;
        let mut answers = pair_answers(scale, verdicts, &self.forth);
        let back = pair_answers(scale, verdicts, &self.back);
        answers.extend(back.into_iter().map(mirrored));
        answers.sort_by(|a, b| (&a.pair, a.repeat).cmp(&(&b.pair, b.repeat)));
        let twice = answers
            .windows(2)
            .find(|w| (&w[0].pair, w[0].repeat) == (&w[1].pair, w[1].repeat));
        if let Some(twice) = twice {
            let message = format!(
                "pair `{}` is named in both directions",
                twice[0].pair.item()
            );
            return Err(Error::input(message).hint("name every pair one way"));
        }
        Ok(answers)
    }

    /// Reads labels of pairs: a filled sheet with its `key.csv` beside it, or a file whose items are pairs.
    /// Answers are `first`, `second` or a tie, or the levels of the judge's scale, whose first is the output
    /// that the rater saw first.
    ///
    /// # Errors
    ///
    /// Those of the file, or if a label is of no pair of this run.
    pub fn labels(
        &self,
        file: &Path,
        map: &[String],
        scale: &Scale,
        talk: &mut Talk,
    ) -> Result<Vec<PairLabel>> {
        let key = load::pair_key(file)?;
        let options = LabelOptions {
            map: ColumnMap::parse(map, &LABEL_KEYS, &["label."])?,
            scale: ScaleChoice {
                kind: Some(ScaleKind::Pairwise),
                levels: scale.levels.clone(),
                positive: None,
            },
            prompt: None,
        };
        let set = filled(file, &options, talk)?;
        let (mut labels, mut problems) = (vec![], vec![]);
        for label in &set.labels {
            let place = key.as_ref().and_then(|key| key.get(&label.item));
            match self.label(label, place) {
                Some(label) => labels.push(label),
                None => problems.push(self.unknown("label", &label.item, label.line)),
            }
        }
        listed("labels that are of no pair of this run", problems)
            .map_err(|error| error.in_file(file))?;
        Ok(labels)
    }

    fn label(&self, label: &Label, place: Option<&PairPlace>) -> Option<PairLabel> {
        let item = match place {
            Some(place) => ItemId::new(formula_unsafe(&place.pair)),
            None => label.item.clone(),
        };
        let (pair, turned) = match (self.forth.get(&item), self.back.get(&item)) {
            (Some(pair), _) => (pair, false),
            (None, Some(pair)) => (pair, true),
            (None, None) => return None,
        };
        let second_first = place.is_some_and(|place| !place.baseline_first);
        let said = Preference::of_code(label.answer);
        Some(PairLabel {
            pair: pair.clone(),
            rater: label.rater.clone(),
            preference: match turned != second_first {
                true => said.mirrored(),
                false => said,
            },
            stratum: label.stratum.clone(),
            probability: label.probability,
        })
    }

    fn unknown(&self, what: &str, item: &ItemId, line: u64) -> Error {
        let example = self.forth.keys().next();
        let example = example.map_or("ARM/TASK/TRIAL|ARM/TASK/TRIAL", |item| item.as_str());
        Error::input(format!(
            "{what} `{item}` (line {line}) is of no pair of this run"
        ))
        .hint(format!("a pair is named by its trials, as in `{example}`"))
    }
}

/// What was said with the arms the other way round.
fn mirrored(answer: PairAnswer) -> PairAnswer {
    let turn = |said: Observation<Preference>| match said {
        Observation::Value(preference) => Observation::Value(preference.mirrored()),
        missing => missing,
    };
    PairAnswer {
        baseline_first: turn(answer.candidate_first),
        candidate_first: turn(answer.baseline_first),
        preference: turn(answer.preference),
        ..answer
    }
}

fn listed(what: &str, mut problems: Vec<Error>) -> Result<()> {
    match problems.len() {
        0 => Ok(()),
        1 => Err(problems.remove(0)),
        all => {
            problems.truncate(LISTED);
            Err(Error::many(format!("{all} {what}"), problems))
        }
    }
}
