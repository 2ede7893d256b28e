//! What only live runs have: attempts that were run again, and what caches did.

use std::collections::BTreeMap;

use super::{RunStore, sql};
use crate::base::Result;

/// Retries of one arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    /// Attempts that broke on infrastructure and were run again.
    pub attempts: u64,
    /// Trials that had such attempts.
    pub trials: u64,
    /// Calls of the model that were sent again.
    pub model: u64,
    /// Trials in which a cache answered.
    pub warm_cache: u64,
}

/// A valid trial of which the provider says what its prompt cache did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachedTrial {
    /// Tokens read from the cache.
    pub tokens: u64,
    /// Its time in milliseconds, where it was measured.
    pub latency_ms: Option<f64>,
    /// Its cost in US dollars, where it is known.
    pub cost_usd: Option<f64>,
}

impl RunStore {
    /// Retries by arm.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn retries(&self) -> Result<BTreeMap<String, Retries>> {
        // Most trials have neither key, and a look for its text costs less than reading the body.
        let select = "SELECT name, total(json_array_length(attempts, '$.attempts')),
                total(json_array_length(attempts, '$.attempts') > 0),
                total(retries ->> '$.model_retries'), total(boundary = 'warm_cache')
             FROM (SELECT a.name, t.boundary,
                     CASE WHEN instr(t.body, '\"attempts\":') THEN t.body END AS attempts,
                     CASE WHEN instr(t.body, '\"model_retries\":') THEN t.body END AS retries
                 FROM current t JOIN arms a ON a.arm = t.arm) GROUP BY 1";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let rows = select
            .query_map([], |r| {
                let count = |column| r.get::<_, f64>(column).map(|n| n as u64);
                let retries = Retries {
                    attempts: count(1)?,
                    trials: count(2)?,
                    model: count(3)?,
                    warm_cache: count(4)?,
                };
                Ok((r.get(0)?, retries))
            })
            .map_err(sql)?;
        rows.map(|row| row.map_err(sql)).collect()
    }

    /// The valid trials of an arm of which the provider says what its prompt cache did.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn cached_trials(&self, arm: &str) -> Result<Vec<CachedTrial>> {
        let select = "SELECT cached, latency_ms, cost_usd FROM (
                SELECT s.latency_ms, s.cost_usd,
                    (SELECT sum(e.body ->> '$.usage.cached_tokens') FROM events e
                     WHERE e.trial = t.row AND instr(e.body, '\"cached_tokens\":')) AS cached
                FROM current t JOIN arms a ON a.arm = t.arm LEFT JOIN scores s ON s.trial = t.row
                WHERE a.name = ?1 AND t.boundary IS NULL) WHERE cached IS NOT NULL";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let rows = select
            .query_map([arm], |r| {
                Ok(CachedTrial {
                    tokens: r.get::<_, i64>(0)? as u64,
                    latency_ms: r.get(1)?,
                    cost_usd: r.get(2)?,
                })
            })
            .map_err(sql)?;
        rows.map(|row| row.map_err(sql)).collect()
    }
}
