//! What asking a judge showed, and the certificate that a run holds of it.

use rusqlite::OptionalExtension;

use super::open::put_meta;
use super::read::parse;
use super::{RunStore, sql};
use crate::base::{Digest, Error, JudgeId, Result};
use crate::model::calibration::Calibration;
use crate::model::judging::AskedJudge;

/// Under which that is kept, before the judge's name.
const ASKED: &str = "judge_asked/";

impl RunStore {
    /// Keeps what asking a judge showed, in place of what was kept before; `None` where its verdicts were
    /// recorded elsewhere.
    ///
    /// # Errors
    ///
    /// If the database cannot be written.
    pub fn put_asked(&mut self, judge: &JudgeId, asked: Option<&AskedJudge>) -> Result<()> {
        let key = format!("{ASKED}{judge}");
        let db = self.db.transaction().map_err(sql)?;
        match asked {
            Some(asked) => {
                let text = serde_json::to_string(asked).map_err(|e| Error::io(e.to_string()))?;
                put_meta(&db, &key, &text)?;
            }
            None => {
                db.execute("DELETE FROM meta WHERE key = ?1", [&key])
                    .map_err(sql)?;
            }
        }
        put_meta(&db, "judged_hash", &super::fingerprint::of_judged(&db)?)?;
        db.commit().map_err(sql)
    }

    /// What asking each judge showed, by name; judges whose verdicts were recorded elsewhere are not in it.
    ///
    /// # Errors
    ///
    /// If the database cannot be read or holds what no version of this tool wrote.
    pub fn asked(&self) -> Result<Vec<(JudgeId, AskedJudge)>> {
        let select = "SELECT key, value FROM meta WHERE key GLOB ?1 ORDER BY key";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let mut rows = select.query([format!("{ASKED}*")]).map_err(sql)?;
        let mut found = vec![];
        while let Some(row) = rows.next().map_err(sql)? {
            let (key, text): (String, String) =
                (row.get(0).map_err(sql)?, row.get(1).map_err(sql)?);
            let judge = key.strip_prefix(ASKED).unwrap_or(&key);
            found.push((
                JudgeId::new(judge),
                parse(&text, "what asking a judge showed")?,
            ));
        }
        Ok(found)
    }

    /// The certificate that the run holds of a judge, with the digest of its text.
    ///
    /// # Errors
    ///
    /// If the database cannot be read or holds what no version of this tool wrote.
    pub fn certificate_of(&self, judge: &JudgeId) -> Result<Option<(Calibration, Digest)>> {
        let select = "SELECT certificate FROM judges WHERE judge = ?1";
        let text: Option<Option<String>> = self
            .db
            .query_row(select, [judge.as_str()], |row| row.get(0))
            .optional()
            .map_err(sql)?;
        let Some(text) = text.flatten() else {
            return Ok(None);
        };
        let digest = Digest::of_bytes(text.as_bytes());
        Ok(Some((parse(&text, "a certificate")?, digest)))
    }
}
