//! Denominators, infrastructure, methods and environment: what every number rests on.

use serde::Serialize;

use super::{clip, words};
use crate::model::estimate::AccountingRow;
use crate::model::measure::Dimension;
use crate::model::report::Report;

/// What the numbers rest on.
#[derive(Serialize)]
pub(super) struct Denominators {
    accounting: Vec<AccountingLine>,
    infrastructure: Vec<InfrastructureLine>,
    methods: Vec<MethodLine>,
    digests: Vec<DigestLine>,
}

/// The chain of one arm and dimension over all tasks.
#[derive(Serialize)]
struct AccountingLine {
    arm: String,
    dimension: Dimension,
    chain: [u64; 10],
    excluded: String,
}

/// Trials that infrastructure broke in one way.
#[derive(Serialize)]
struct InfrastructureLine {
    arm: String,
    boundary: String,
    code: String,
    trials: u64,
}

/// A method that this report used.
#[derive(Serialize)]
struct MethodLine {
    id: String,
    what: String,
}

/// The digest of something that the run rests on.
#[derive(Serialize)]
struct DigestLine {
    of: String,
    digest: String,
}

pub(super) fn denominators(report: &Report) -> Denominators {
    let rows = report.infrastructure.iter();
    let plan = ("plan", &report.run.plan_digest);
    let digests = report.environment.digests.iter();
    let digests = digests.map(|(of, digest)| (of.as_str(), digest));
    Denominators {
        accounting: report.accounting.iter().filter_map(accounting).collect(),
        infrastructure: rows
            .filter(|row| row.trials > 0)
            .map(|row| InfrastructureLine {
                arm: row.arm.clone(),
                boundary: words::plain(&row.boundary),
                code: row.code.clone(),
                trials: row.trials,
            })
            .collect(),
        methods: methods(report),
        digests: [plan]
            .into_iter()
            .chain(digests)
            .map(|(of, digest)| DigestLine {
                of: of.to_owned(),
                digest: clip(digest, 12),
            })
            .collect(),
    }
}

fn accounting(row: &AccountingRow) -> Option<AccountingLine> {
    let excluded = row.excluded.iter().filter(|(_, n)| **n > 0);
    let mut excluded: Vec<String> = excluded
        .map(|(boundary, n)| format!("{n} {}", words::plain(boundary)))
        .collect();
    if row.not_measured > 0 {
        excluded.push(format!("{} not measured", row.not_measured));
    }
    row.segment.is_none().then(|| AccountingLine {
        arm: row.arm.clone(),
        dimension: row.dimension,
        chain: [
            row.planned,
            row.not_started,
            row.started,
            row.finished,
            row.valid,
            row.not_applicable,
            row.ungradable,
            row.graded,
            row.judged,
            row.scored,
        ],
        excluded: match excluded.is_empty() {
            true => "0".to_owned(),
            false => excluded.join(", "),
        },
    })
}

/// Every method id that a row names, once, in alphabetical order.
fn methods(report: &Report) -> Vec<MethodLine> {
    let estimates = report.estimates.iter().map(|row| &row.method);
    let comparisons = report.comparisons.iter().map(|row| &row.method);
    let mut ids: Vec<&String> = estimates.chain(comparisons).flatten().collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter()
        .map(|id| MethodLine {
            id: id.clone(),
            what: words::method(id),
        })
        .collect()
}
