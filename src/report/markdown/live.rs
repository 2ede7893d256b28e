//! What only live runs have: drift over time, retries, caches.

use serde::Serialize;

use super::{number, words};
use crate::model::estimate::DriftRow;
use crate::model::report::{LiveRow, PromptCache, Report};

/// The lines of live arms; all empty where every arm was recorded elsewhere.
#[derive(Serialize)]
pub(super) struct Live {
    drift: Vec<DriftLine>,
    arms: Vec<LiveRow>,
    caches: Vec<CacheLine>,
}

/// One drift screen.
#[derive(Serialize)]
struct DriftLine {
    dimension: String,
    metric: String,
    statistic: String,
    p: String,
    blocks: u64,
    tasks: u64,
    found: String,
}

/// Trials of one arm in which the prompt cache did the same.
#[derive(Serialize)]
struct CacheLine {
    arm: String,
    cache: &'static str,
    trials: u64,
    cached_tokens: u64,
    latency: String,
    cost: String,
}

pub(super) fn live(report: &Report) -> Live {
    Live {
        drift: report.drift.iter().map(drift).collect(),
        arms: report.live.clone(),
        caches: report.live.iter().flat_map(caches).collect(),
    }
}

fn drift(row: &DriftRow) -> DriftLine {
    DriftLine {
        dimension: row.dimension.name().to_owned(),
        metric: words::metric(&row.metric, None),
        statistic: or_dash(row.statistic),
        p: or_dash(row.p),
        blocks: row.blocks,
        tasks: row.tasks,
        found: match (&row.reason, row.positive, row.absorbed) {
            (Some(_), _, true) => "not screened; blocks are the units in any case".to_owned(),
            (Some(reason), ..) => format!("not screened: {}", words::plain(reason)),
            (None, true, true) => "drift; blocks are the units".to_owned(),
            (None, true, false) => "drift; nothing can be decided".to_owned(),
            (None, false, _) => "none shown".to_owned(),
        },
    }
}

fn caches(row: &LiveRow) -> Vec<CacheLine> {
    let line = |cache, of: &PromptCache| CacheLine {
        arm: row.arm.clone(),
        cache,
        trials: of.trials,
        cached_tokens: of.cached_tokens,
        latency: or_dash(of.latency_ms_p50),
        cost: or_dash(of.cost_usd_mean),
    };
    [("cold", &row.cold), ("warm", &row.warm)]
        .into_iter()
        .filter(|(_, of)| of.trials > 0)
        .map(|(cache, of)| line(cache, of))
        .collect()
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number::number)
}
