//! Verdicts, labels and certificates of a run: written as a whole, read as columns.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::read::{damaged, parse};
use super::{RunStore, sql};
use crate::base::{Digest, Error, JudgeId, Notice, Observation, Result};
use crate::model::calibration::Calibration;
use crate::model::label::{Label, Scale, TrialKey};
use crate::model::verdict::{Identity, Order, Verdict};

/// What is stored of one judge.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredJudge {
    /// Judge.
    pub judge: JudgeId,
    /// The scale of its verdicts.
    pub scale: Scale,
    /// Its pin, where it is known.
    pub pin: Option<String>,
    /// Its certificate with the digest of its text.
    pub certificate: Option<(Calibration, Digest)>,
    /// Its verdicts on trials of this run.
    pub verdicts: Vec<(TrialKey, Verdict)>,
    /// Labels of people on trials of this run: trial, answer, stratum, probability.
    pub labels: Vec<StoredLabel>,
}

/// A label of a trial as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredLabel {
    /// Trial.
    pub trial: TrialKey,
    /// Rater.
    pub rater: String,
    /// The answer as a code of the judge's scale.
    pub answer: u32,
    /// Stratum that the trial was drawn from.
    pub stratum: Option<String>,
    /// Probability with which it was drawn.
    pub probability: Option<f64>,
}

/// What is put into a run about one judge; it replaces what was there of this judge.
#[derive(Clone, Debug)]
pub struct JudgeInput<'a> {
    /// Judge.
    pub judge: &'a JudgeId,
    /// The scale.
    pub scale: &'a Scale,
    /// Pin, where it is known.
    pub pin: Option<String>,
    /// What becomes of its certificate.
    pub certificate: CertificateInput,
    /// Verdicts, each on a trial of the run; `None` keeps what is stored.
    pub verdicts: Option<&'a [Verdict]>,
    /// Labels, each of a trial of the run; `None` keeps what is stored.
    pub labels: Option<&'a [Label]>,
    /// What a reader of the run's report should know of this judge.
    pub notices: &'a [Notice],
}

/// What becomes of the certificate that a run holds of a judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateInput {
    /// It stays, if there is one.
    Keep,
    /// It does not hold for this run, and goes.
    Withdraw,
    /// This one takes its place: its file's text.
    Set(String),
}

/// Under which the notices of a judge are kept, before its name.
const NOTICES: &str = "judge_notices/";

/// What was put into a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct PutJudged {
    /// Verdicts stored.
    pub verdicts: u64,
    /// Labels stored.
    pub labels: u64,
}

impl RunStore {
    /// Stores a judge's verdicts, and labels and a certificate where they are given, in one transaction.
    ///
    /// # Errors
    ///
    /// If a verdict or label names a trial that the run does not hold (all at once), or the database
    /// cannot be written; then nothing is stored.
    pub fn put_judged(&mut self, input: &JudgeInput) -> Result<PutJudged> {
        let keys = self.trial_rows()?;
        let db = self.db.transaction().map_err(sql)?;
        put_judge(
            &db,
            input.judge,
            input.scale,
            input.pin.as_deref(),
            &input.certificate,
        )?;
        let mut put = PutJudged::default();
        if let Some(verdicts) = input.verdicts {
            put.verdicts = put_verdicts(&db, input.judge, verdicts, &keys)?;
        }
        if let Some(labels) = input.labels {
            put.labels = put_labels(&db, input, labels, &keys)?;
        }
        put_notices(&db, input.judge, input.notices)?;
        db.commit().map_err(sql)?;
        Ok(put)
    }

    /// What a reader of the report should know of judges, by judge.
    ///
    /// # Errors
    ///
    /// If the database cannot be read or holds what no version of this tool wrote.
    pub fn judge_notices(&self) -> Result<Vec<(JudgeId, Vec<Notice>)>> {
        let select = "SELECT key, value FROM meta WHERE key GLOB ?1 ORDER BY key";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let mut rows = select.query([format!("{NOTICES}*")]).map_err(sql)?;
        let mut found = vec![];
        while let Some(r) = rows.next().map_err(sql)? {
            let (key, text): (String, String) = (r.get(0).map_err(sql)?, r.get(1).map_err(sql)?);
            let judge = key.strip_prefix(NOTICES).unwrap_or(&key);
            found.push((JudgeId::new(judge), parse(&text, "notices of a judge")?));
        }
        Ok(found)
    }

    /// Everything that is stored of judges, by name.
    ///
    /// # Errors
    ///
    /// If the database cannot be read or holds what no version of this tool wrote.
    pub fn judged(&self) -> Result<Vec<StoredJudge>> {
        let mut select = self
            .db
            .prepare("SELECT judge, scale, pin, certificate FROM judges ORDER BY judge")
            .map_err(sql)?;
        let rows = select
            .query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))
            .map_err(sql)?;
        let mut judges = vec![];
        for row in rows {
            let (judge, scale, pin, certificate): (String, String, Option<String>, Option<String>) =
                row.map_err(sql)?;
            let scale: Scale = parse(&scale, "the scale of a judge")?;
            let certificate = certificate
                .map(|text| {
                    let digest = Digest::of_bytes(text.as_bytes());
                    Ok::<_, Error>((parse(&text, "a certificate")?, digest))
                })
                .transpose()?;
            let judge = JudgeId::new(judge);
            judges.push(StoredJudge {
                verdicts: self.verdicts_of(&judge)?,
                labels: self.labels_of(&judge, &scale)?,
                judge,
                scale,
                pin,
                certificate,
            });
        }
        Ok(judges)
    }

    fn verdicts_of(&self, judge: &JudgeId) -> Result<Vec<(TrialKey, Verdict)>> {
        let select =
            "SELECT a.name, k.name, t.idx, v.repeat, v.ord, v.identity, v.answer, v.reason, v.score
                      FROM verdicts v JOIN trials t ON t.row = v.trial JOIN arms a ON a.arm = t.arm
                      JOIN tasks k ON k.task = t.task WHERE v.judge = ?1
                      ORDER BY t.arm, t.task, t.idx, v.identity, v.ord, v.repeat";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let mut rows = select.query([judge.as_str()]).map_err(sql)?;
        let mut verdicts = vec![];
        while let Some(r) = rows.next().map_err(sql)? {
            let text = |at: usize| r.get::<_, Option<String>>(at).map_err(sql);
            let key = trial_key(r)?;
            let answer = match text(6)? {
                Some(answer) => Observation::Value(answer),
                None => Observation::Missing(text(7)?.unwrap_or_default()),
            };
            let verdict = Verdict {
                item: key.item(),
                judge: judge.clone(),
                pin: None,
                repeat: r.get(3).map_err(sql)?,
                order: Order::from_name(&text(4)?.unwrap_or_default()),
                answer,
                score: r.get(8).map_err(sql)?,
                arm: Some(key.arm.clone()),
                task: Some(key.task.clone()),
                trial: Some(key.index),
                group: None,
                identity: Identity::from_name(&text(5)?.unwrap_or_default()),
                line: 0,
            };
            verdicts.push((key, verdict));
        }
        Ok(verdicts)
    }

    fn labels_of(&self, judge: &JudgeId, scale: &Scale) -> Result<Vec<StoredLabel>> {
        let select = "SELECT a.name, k.name, t.idx, l.rater, l.answer, l.stratum, l.probability
                      FROM labels l JOIN trials t ON t.row = l.trial JOIN arms a ON a.arm = t.arm
                      JOIN tasks k ON k.task = t.task WHERE l.judge = ?1
                      ORDER BY t.arm, t.task, t.idx, l.rater";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let mut rows = select.query([judge.as_str()]).map_err(sql)?;
        let mut labels = vec![];
        while let Some(r) = rows.next().map_err(sql)? {
            let answer: String = r.get(4).map_err(sql)?;
            let off = || damaged("a label is not on its judge's scale");
            labels.push(StoredLabel {
                trial: trial_key(r)?,
                rater: r.get(3).map_err(sql)?,
                answer: scale.code(&answer).ok_or_else(off)?,
                stratum: r.get(5).map_err(sql)?,
                probability: r.get(6).map_err(sql)?,
            });
        }
        Ok(labels)
    }

    /// The internal key of every stored trial.
    pub(super) fn trial_rows(&self) -> Result<HashMap<TrialKey, i64>> {
        let select = "SELECT a.name, k.name, t.idx, t.row FROM trials t
                      JOIN arms a ON a.arm = t.arm JOIN tasks k ON k.task = t.task";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let mut rows = select.query([]).map_err(sql)?;
        let mut keys = HashMap::new();
        while let Some(r) = rows.next().map_err(sql)? {
            keys.insert(trial_key(r)?, r.get(3).map_err(sql)?);
        }
        Ok(keys)
    }
}

/// The judge's own row: its scale, and what becomes of pin and certificate.
pub(super) fn put_judge(
    db: &Transaction,
    judge: &JudgeId,
    scale: &Scale,
    pin: Option<&str>,
    certificate: &CertificateInput,
) -> Result<()> {
    let scale = serde_json::to_string(scale).map_err(|e| Error::io(e.to_string()))?;
    let certificate: Option<String> = match certificate {
        CertificateInput::Set(text) => Some(text.clone()),
        CertificateInput::Keep => kept_certificate(db, judge)?,
        CertificateInput::Withdraw => None,
    };
    db.execute(
        "INSERT INTO judges (judge, scale, pin, certificate) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (judge) DO UPDATE SET scale = ?2, pin = ?3, certificate = ?4",
        params![judge.as_str(), scale, pin, certificate],
    )
    .map_err(sql)?;
    Ok(())
}

/// Notices in place of those that were there, under the fingerprint of all that is stored of judges.
pub(super) fn put_notices(db: &Connection, judge: &JudgeId, notices: &[Notice]) -> Result<()> {
    let key = format!("{NOTICES}{judge}");
    if notices.is_empty() {
        let delete = "DELETE FROM meta WHERE key = ?1";
        db.execute(delete, [&key]).map_err(sql)?;
    } else {
        let text = serde_json::to_string(notices).map_err(|e| Error::io(e.to_string()))?;
        super::open::put_meta(db, &key, &text)?;
    }
    super::open::put_meta(db, "judged_hash", &super::fingerprint::of_judged(db)?)
}

fn trial_key(r: &rusqlite::Row) -> Result<TrialKey> {
    let (arm, task): (String, String) = (r.get(0).map_err(sql)?, r.get(1).map_err(sql)?);
    Ok(TrialKey {
        arm: arm.as_str().into(),
        task: task.as_str().into(),
        index: r.get(2).map_err(sql)?,
    })
}

fn kept_certificate(db: &Transaction, judge: &JudgeId) -> Result<Option<String>> {
    let select = "SELECT certificate FROM judges WHERE judge = ?1";
    let found: Option<Option<String>> = db
        .query_row(select, [judge.as_str()], |r| r.get(0))
        .optional()
        .map_err(sql)?;
    Ok(found.flatten())
}

/// Looks up trials, and gathers what the run does not hold.
struct LookUp<'a> {
    keys: &'a HashMap<TrialKey, i64>,
    missing: BTreeMap<String, u64>,
}

impl LookUp<'_> {
    fn row(&mut self, key: Option<TrialKey>, line: u64, item: &str) -> Option<i64> {
        let found = key.as_ref().and_then(|k| self.keys.get(k)).copied();
        if found.is_none() {
            self.missing.entry(item.to_owned()).or_insert(line);
        }
        found
    }

    fn finish(self, what: &str) -> Result<()> {
        if self.missing.is_empty() {
            return Ok(());
        }
        let one = |(item, line): (&String, &u64)| {
            let message = format!("{what} `{item}` (line {line}) is of no trial of this run");
            Error::input(message).hint("name arm, task and trial in columns of these names")
        };
        let mut problems: Vec<Error> = self.missing.iter().take(20).map(one).collect();
        if problems.len() == 1 {
            return Err(problems.remove(0));
        }
        let message = format!("{} {what}s are of no trial of this run", self.missing.len());
        Err(Error::many(message, problems))
    }
}

fn put_verdicts(
    db: &Transaction,
    judge: &JudgeId,
    verdicts: &[Verdict],
    keys: &HashMap<TrialKey, i64>,
) -> Result<u64> {
    db.execute("DELETE FROM verdicts WHERE judge = ?1", [judge.as_str()])
        .map_err(sql)?;
    let insert = "INSERT INTO verdicts (trial, judge, repeat, ord, identity, answer, reason, score)
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mut insert = db.prepare(insert).map_err(sql)?;
    let mut look = LookUp {
        keys,
        missing: BTreeMap::new(),
    };
    for verdict in verdicts {
        let Some(row) = look.row(verdict.trial_key(), verdict.line, verdict.item.as_str()) else {
            continue;
        };
        let order = verdict.order.map_or("", Order::name);
        let identity = verdict.identity.map_or("", Identity::name);
        let (answer, reason) = (verdict.answer.value(), verdict.answer.reason());
        let cells = params![
            row,
            judge.as_str(),
            verdict.repeat,
            order,
            identity,
            answer,
            reason,
            verdict.score
        ];
        insert.execute(cells).map_err(sql)?;
    }
    look.finish("verdict")?;
    Ok(verdicts.len() as u64)
}

fn put_labels(
    db: &Transaction,
    input: &JudgeInput,
    labels: &[Label],
    keys: &HashMap<TrialKey, i64>,
) -> Result<u64> {
    let judge = input.judge.as_str();
    db.execute("DELETE FROM labels WHERE judge = ?1", [judge])
        .map_err(sql)?;
    let insert = "INSERT INTO labels (trial, judge, rater, answer, stratum, probability)
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut insert = db.prepare(insert).map_err(sql)?;
    let mut look = LookUp {
        keys,
        missing: BTreeMap::new(),
    };
    for label in labels {
        let Some(row) = look.row(label.trial_key(), label.line, label.item.as_str()) else {
            continue;
        };
        let answer = &input.scale.levels[label.answer as usize];
        let cells = params![
            row,
            judge,
            label.rater,
            answer,
            label.stratum,
            label.probability
        ];
        insert.execute(cells).map_err(sql)?;
    }
    look.finish("label")?;
    Ok(labels.len() as u64)
}
