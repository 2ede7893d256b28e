//! How the judges of the runs stood, for the report.

use std::collections::{BTreeMap, BTreeSet};

use super::Evaluation;
use crate::app::judge::why_unusable;
use crate::base::{JudgeId, Result};
use crate::model::judging::{AskedJudge, CertificateRow, JudgeRow};
use crate::model::label::ScaleKind;
use crate::model::preference::{PairAnswer, PairKey, PairLabel};
use crate::store::{RunStore, StoredJudge};

impl Evaluation<'_> {
    /// One row per judge of each run.
    pub(super) fn judges(&self) -> Result<Vec<JudgeRow>> {
        let mut rows = vec![];
        for (at, store) in self.stores.iter().enumerate() {
            let mut asked: BTreeMap<JudgeId, AskedJudge> = store.asked()?.into_iter().collect();
            for stored in store.judged()? {
                let own = asked.remove(&stored.judge);
                let row = self.judge_row(at, store, &stored, own);
                rows.push(match stored.scale.kind {
                    ScaleKind::Pairwise => self.with_pairs(at, store, &stored, row)?,
                    _ => row,
                });
            }
            // What was asked and left nothing in store.
            for (judge, own) in asked {
                rows.push(JudgeRow {
                    run: store.plan_file().run.to_string(),
                    judge: judge.to_string(),
                    pin: Some(own.pin.clone()),
                    certificate: CertificateRow {
                        standing: "none".to_owned(),
                        ..CertificateRow::default()
                    },
                    pairs: false,
                    verdicts: 0,
                    unusable: own.unusable.clone(),
                    labels: BTreeMap::new(),
                    asked: Some(self.renamed(at, own)),
                });
            }
        }
        Ok(rows)
    }

    fn judge_row(
        &self,
        at: usize,
        store: &RunStore,
        stored: &StoredJudge,
        asked: Option<AskedJudge>,
    ) -> JudgeRow {
        let unusable = match &asked {
            Some(asked) => asked.unusable.clone(),
            None => reasons(stored),
        };
        JudgeRow {
            run: store.plan_file().run.to_string(),
            judge: stored.judge.to_string(),
            pin: stored.pin.clone(),
            certificate: certificate(stored, asked.as_ref()),
            pairs: false,
            verdicts: stored.verdicts.len() as u64,
            unusable,
            labels: self.labelled(at, stored),
            asked: asked.map(|asked| self.renamed(at, asked)),
        }
    }

    /// The row of a judge of pairs, whose answers and labels are about two trials each.
    fn with_pairs(
        &self,
        at: usize,
        store: &RunStore,
        stored: &StoredJudge,
        row: JudgeRow,
    ) -> Result<JudgeRow> {
        let answers = store.pair_answers(&stored.judge)?;
        let unusable = match &row.asked {
            Some(_) => row.unusable,
            None => unusable_pairs(&answers),
        };
        Ok(JudgeRow {
            pairs: true,
            verdicts: answers.len() as u64,
            unusable,
            labels: self.labelled_pairs(at, &store.pair_labels(&stored.judge)?),
            ..row
        })
    }

    /// Labelled pairs by candidate, under the arm's name in the report.
    fn labelled_pairs(&self, at: usize, labels: &[PairLabel]) -> BTreeMap<String, u64> {
        let pairs: BTreeSet<&PairKey> = labels.iter().map(|l| &l.pair).collect();
        let mut counts = BTreeMap::new();
        for pair in pairs {
            let candidate = self.shown_name(at, pair.candidate.as_str());
            *counts.entry(candidate).or_default() += 1;
        }
        counts
    }

    /// Labelled trials by arm, under the arm's name in the report.
    fn labelled(&self, at: usize, stored: &StoredJudge) -> BTreeMap<String, u64> {
        let trials: BTreeSet<_> = stored
            .labels
            .iter()
            .map(|l| (l.trial.arm.as_str(), l.trial.task.as_str(), l.trial.index))
            .collect();
        let mut counts = BTreeMap::new();
        for (arm, _, _) in trials {
            *counts.entry(self.shown_name(at, arm)).or_default() += 1;
        }
        counts
    }

    fn renamed(&self, at: usize, mut asked: AskedJudge) -> AskedJudge {
        let hidden = std::mem::take(&mut asked.hidden).into_iter();
        asked.hidden = hidden
            .map(|(arm, n)| (self.shown_name(at, &arm), n))
            .collect();
        asked
    }

    fn shown_name(&self, at: usize, arm: &str) -> String {
        self.reported_name(at, arm).unwrap_or(arm).to_owned()
    }
}

/// Unusable recorded verdicts by reason.
fn reasons(stored: &StoredJudge) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (_, verdict) in &stored.verdicts {
        if let Some(reason) = why_unusable(verdict, &stored.scale) {
            *counts.entry(reason.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// Unusable answers on pairs by reason.
fn unusable_pairs(answers: &[PairAnswer]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for reason in answers.iter().filter_map(|a| a.preference.reason()) {
        *counts.entry(reason.to_owned()).or_default() += 1;
    }
    counts
}

fn certificate(stored: &StoredJudge, asked: Option<&AskedJudge>) -> CertificateRow {
    let Some((certificate, digest)) = &stored.certificate else {
        let withdrawn = asked.and_then(|a| a.withdrawn.clone());
        return CertificateRow {
            standing: match &withdrawn {
                Some(_) => "withdrawn".to_owned(),
                None => "none".to_owned(),
            },
            reasons: withdrawn.into_iter().collect(),
            ..CertificateRow::default()
        };
    };
    let result = &certificate.result;
    let (standing, reasons) = match () {
        () if certificate.pin != stored.pin => ("expired", vec![]),
        () if result.passed() => ("holds", vec![]),
        () => {
            let codes = result.reasons.iter().map(|r| r.code.clone()).collect();
            ("refused", codes)
        }
    };
    CertificateRow {
        standing: standing.to_owned(),
        reasons,
        digest: Some(digest.to_string()),
        labels: Some(certificate.labels.name.clone()),
        split: Some(certificate.labels.split.clone()),
        items: Some(certificate.verdicts.items),
    }
}
