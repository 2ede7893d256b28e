//! Segments and clusters: metadata keys that the suite names and its tasks carry.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::base::{Error, Notice};
use crate::load::check::At;
use crate::load::nearest;
use crate::model::suite::{Suite, SuiteSpec, Task};

/// Checks that the segment and cluster keys exist in the metadata of some task: a key that no task
/// carries is misspelt, and would silently leave a report without the segment, or intervals without
/// the clusters.
pub(crate) fn check(spec: &SuiteSpec, tasks: &[Task], at: &At, problems: &mut Vec<Error>) {
    let carried: BTreeSet<&str> = tasks
        .iter()
        .flat_map(|t| t.metadata.keys())
        .map(String::as_str)
        .collect();
    let mut key = |key: &str, what: &str, at: At| {
        if !carried.contains(key) {
            let problem = at.problem(format!(
                "no task has the {what} key `{key}` in its metadata"
            ));
            problems.push(problem.hint(nearest::hint(
                key,
                carried.iter().copied(),
                "metadata keys",
            )));
        }
    };
    for (i, segment) in spec.segments.iter().enumerate() {
        key(segment, "segment", at.to("segments").to(i));
    }
    if let Some(cluster) = &spec.cluster {
        key(cluster, "cluster", at.to("cluster"));
    }
    for (i, segment) in spec.segments.iter().enumerate() {
        if spec.segments[..i].contains(segment) {
            let here = at.to("segments").to(i);
            problems.push(here.problem(format!("segment `{segment}` is listed twice")));
        }
    }
}

/// Checks that the values of segment and cluster keys in one task can name a group.
pub(crate) fn values(spec: &SuiteSpec, task: &Task, at: &At, problems: &mut Vec<Error>) {
    for key in spec.segments.iter().chain(&spec.cluster) {
        let value = task.metadata.get(key).unwrap_or(&Value::Null);
        if !value.is_null() && !is_scalar(value) {
            let at = at.to("metadata").to(key);
            let message = format!("`{}` names a group: a text, number or boolean", at.name());
            problems.push(at.problem(message));
        }
    }
}

/// What is worth knowing of a sound suite: tasks without a segment or cluster, and clusters that
/// reach over several values of a segment.
///
/// Segments are reporting groups here, each estimated from the clusters within it, so a cluster that
/// crosses them breaks nothing; it would if they were declared strata (METHODS, Notation).
pub(crate) fn notices(suite: &Suite) -> Vec<Notice> {
    let spec = &suite.spec;
    let mut notices = vec![];
    for key in spec.segments.iter().chain(&spec.cluster) {
        let without = suite
            .tasks
            .iter()
            .filter(|t| t.metadata_text(key).is_none());
        let without: Vec<&str> = without.map(|t| t.id.as_str()).collect();
        if !without.is_empty() {
            let detail = format!(
                "{} tasks have no `{key}`: {}",
                without.len(),
                some(&without)
            );
            notices.push(Notice::with("metadata_missing", detail));
        }
    }
    for segment in &spec.segments {
        let crossing = crossing_clusters(suite, segment);
        let crossing: Vec<&str> = crossing.iter().map(String::as_str).collect();
        if !crossing.is_empty() {
            let detail = format!(
                "{} clusters have tasks in several values of segment `{segment}`: {}",
                crossing.len(),
                some(&crossing)
            );
            notices.push(Notice::with("cluster_crosses_segment", detail));
        }
    }
    notices
}

fn crossing_clusters(suite: &Suite, segment: &str) -> Vec<String> {
    let Some(cluster) = &suite.spec.cluster else {
        return vec![];
    };
    let mut values: BTreeMap<String, BTreeSet<Option<String>>> = BTreeMap::new();
    for task in &suite.tasks {
        if let Some(name) = task.metadata_text(cluster) {
            let seen = values.entry(name).or_default();
            seen.insert(task.metadata_text(segment));
        }
    }
    let crossing = values.into_iter().filter(|(_, seen)| seen.len() > 1);
    crossing.map(|(name, _)| name).collect()
}

fn some(names: &[&str]) -> String {
    match names {
        [first @ .., _] if names.len() > 5 => format!("{}, …", first[..5].join(", ")),
        all => all.join(", "),
    }
}

/// Whether a JSON value is a plain value that can name a group: text, number or boolean.
fn is_scalar(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}
