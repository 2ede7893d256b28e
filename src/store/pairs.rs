//! What pairwise judges and people said of pairs of trials: written as a whole, read by judge.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{Row, Transaction, params};

use super::judged::{CertificateInput, PutJudged, put_judge, put_notices};
use super::read::damaged;
use super::{RunStore, sql};
use crate::base::{ArmId, Error, JudgeId, Notice, Observation, Result, TaskId};
use crate::model::label::{Scale, TrialKey};
use crate::model::preference::{PairAnswer, PairKey, PairLabel, PositionEffect, Preference};

/// What is put into a run about one pairwise judge; it replaces what was there of this judge.
#[derive(Clone, Debug)]
pub struct PairsInput<'a> {
    /// Judge.
    pub judge: &'a JudgeId,
    /// The scale.
    pub scale: &'a Scale,
    /// Pin, where it is known.
    pub pin: Option<&'a str>,
    /// What becomes of its certificate.
    pub certificate: CertificateInput,
    /// What it said, each of two trials of the run.
    pub answers: &'a [PairAnswer],
    /// Labels of pairs of the run; `None` keeps what is stored.
    pub labels: Option<&'a [PairLabel]>,
    /// What a reader of the run's report should know of this judge.
    pub notices: &'a [Notice],
}

impl RunStore {
    /// Stores a pairwise judge's answers, and labels and a certificate where they are given, in one
    /// transaction.
    ///
    /// # Errors
    ///
    /// If an answer or label is of a trial that the run does not hold, or the database cannot be written;
    /// then nothing is stored.
    pub fn put_pairs(&mut self, input: &PairsInput) -> Result<PutJudged> {
        let rows = self.trial_rows()?;
        let db = self.db.transaction().map_err(sql)?;
        put_judge(&db, input.judge, input.scale, input.pin, &input.certificate)?;
        let mut put = PutJudged {
            verdicts: put_answers(&db, input, &rows)?,
            labels: 0,
        };
        if let Some(labels) = input.labels {
            put.labels = put_labels(&db, input.judge, labels, &rows)?;
        }
        put_notices(&db, input.judge, input.notices)?;
        db.commit().map_err(sql)?;
        Ok(put)
    }

    /// Every stored trial by its place in the plan.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn trial_keys(&self) -> Result<BTreeSet<TrialKey>> {
        Ok(self.trial_rows()?.into_keys().collect())
    }

    /// Everything that a judge said of pairs, by pair and repeat.
    ///
    /// # Errors
    ///
    /// If the database cannot be read or holds what no version of this tool wrote.
    pub fn pair_answers(&self, judge: &JudgeId) -> Result<Vec<PairAnswer>> {
        let select = format!(
            "SELECT {PAIR}, p.repeat, p.baseline_first, p.baseline_first_reason, p.candidate_first,
                 p.candidate_first_reason, p.preference, p.reason, p.effect
             FROM pairs p {TRIALS} WHERE p.judge = ?1 ORDER BY b.task, b.idx, c.arm, p.repeat"
        );
        let mut select = self.db.prepare(&select).map_err(sql)?;
        let mut rows = select.query([judge.as_str()]).map_err(sql)?;
        let mut found = vec![];
        while let Some(r) = rows.next().map_err(sql)? {
            let effect: Option<String> = r.get(11).map_err(sql)?;
            let unknown = || damaged("a position effect has an unknown name");
            found.push(PairAnswer {
                pair: pair(r)?,
                repeat: r.get(4).map_err(sql)?,
                baseline_first: observation(r, 5)?,
                candidate_first: observation(r, 7)?,
                preference: observation(r, 9)?,
                effect: effect
                    .map(|e| PositionEffect::from_name(&e).ok_or_else(unknown))
                    .transpose()?,
            });
        }
        Ok(found)
    }

    /// What people said of pairs for a judge, by pair and rater.
    ///
    /// # Errors
    ///
    /// If the database cannot be read or holds what no version of this tool wrote.
    pub fn pair_labels(&self, judge: &JudgeId) -> Result<Vec<PairLabel>> {
        let select = format!(
            "SELECT {PAIR}, p.rater, p.preference, p.stratum, p.probability
             FROM pair_labels p {TRIALS} WHERE p.judge = ?1 ORDER BY b.task, b.idx, c.arm, p.rater"
        );
        let mut select = self.db.prepare(&select).map_err(sql)?;
        let mut rows = select.query([judge.as_str()]).map_err(sql)?;
        let mut found = vec![];
        while let Some(r) = rows.next().map_err(sql)? {
            found.push(PairLabel {
                pair: pair(r)?,
                rater: r.get(4).map_err(sql)?,
                preference: named(&r.get::<_, String>(5).map_err(sql)?)?,
                stratum: r.get(6).map_err(sql)?,
                probability: r.get(7).map_err(sql)?,
            });
        }
        Ok(found)
    }
}

/// The columns of a pair, and how its trials are found.
const PAIR: &str = "ba.name, ca.name, k.name, b.idx";
const TRIALS: &str = "JOIN trials b ON b.row = p.baseline JOIN trials c ON c.row = p.candidate
    JOIN arms ba ON ba.arm = b.arm JOIN arms ca ON ca.arm = c.arm JOIN tasks k ON k.task = b.task";

fn pair(r: &Row) -> Result<PairKey> {
    let text = |at: usize| r.get::<_, String>(at).map_err(sql);
    Ok(PairKey {
        baseline: ArmId::new(text(0)?),
        candidate: ArmId::new(text(1)?),
        task: TaskId::new(text(2)?),
        index: r.get(3).map_err(sql)?,
    })
}

fn named(name: &str) -> Result<Preference> {
    Preference::from_name(name).ok_or_else(|| damaged("a preference has an unknown name"))
}

/// A preference in one column, or the reason in the next.
fn observation(r: &Row, at: usize) -> Result<Observation<Preference>> {
    let text = |at: usize| r.get::<_, Option<String>>(at).map_err(sql);
    Ok(match text(at)? {
        Some(name) => Observation::Value(named(&name)?),
        None => Observation::Missing(text(at + 1)?.unwrap_or_default()),
    })
}

/// The rows of both trials of a pair.
fn trials(pair: &PairKey, rows: &HashMap<TrialKey, i64>) -> Result<[i64; 2]> {
    let [baseline, candidate] = pair.trials();
    let row = |key: &TrialKey| {
        let absent = || Error::input(format!("`{key}` is no trial of this run"));
        rows.get(key).copied().ok_or_else(absent)
    };
    Ok([row(&baseline)?, row(&candidate)?])
}

fn put_answers(db: &Transaction, input: &PairsInput, rows: &HashMap<TrialKey, i64>) -> Result<u64> {
    let judge = input.judge.as_str();
    db.execute("DELETE FROM pairs WHERE judge = ?1", [judge])
        .map_err(sql)?;
    let insert = "INSERT INTO pairs (judge, baseline, candidate, repeat, baseline_first,
                      baseline_first_reason, candidate_first, candidate_first_reason, preference, reason, effect)
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let mut insert = db.prepare(insert).map_err(sql)?;
    for answer in input.answers {
        let [baseline, candidate] = trials(&answer.pair, rows)?;
        let name = |o: &Observation<Preference>| o.value().map(|p| p.name());
        let cells = params![
            judge,
            baseline,
            candidate,
            answer.repeat,
            name(&answer.baseline_first),
            answer.baseline_first.reason(),
            name(&answer.candidate_first),
            answer.candidate_first.reason(),
            name(&answer.preference),
            answer.preference.reason(),
            answer.effect.map(PositionEffect::name),
        ];
        insert.execute(cells).map_err(sql)?;
    }
    Ok(input.answers.len() as u64)
}

fn put_labels(
    db: &Transaction,
    judge: &JudgeId,
    labels: &[PairLabel],
    rows: &HashMap<TrialKey, i64>,
) -> Result<u64> {
    db.execute("DELETE FROM pair_labels WHERE judge = ?1", [judge.as_str()])
        .map_err(sql)?;
    let insert = "INSERT INTO pair_labels (judge, baseline, candidate, rater, preference, stratum, probability)
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut insert = db.prepare(insert).map_err(sql)?;
    for label in labels {
        let [baseline, candidate] = trials(&label.pair, rows)?;
        let cells = params![
            judge.as_str(),
            baseline,
            candidate,
            label.rater,
            label.preference.name(),
            label.stratum,
            label.probability
        ];
        insert.execute(cells).map_err(sql)?;
    }
    Ok(labels.len() as u64)
}
