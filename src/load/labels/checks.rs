//! What is wrong with labels as a whole, and what a reader should know of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use crate::base::{Error, Notice};
use crate::model::label::{Label, Scale};

/// How many cells hold no label, and where the first of them are.
pub(super) fn blanks(lines: &[u64]) -> Option<Notice> {
    const NAMED: usize = 10;
    let named: Vec<String> = lines.iter().take(NAMED).map(u64::to_string).collect();
    let more = if lines.len() > NAMED { ", …" } else { "" };
    let detail = format!(
        "{} cells have no label yet and do not enter: line {}{more}",
        lines.len(),
        named.join(", ")
    );
    (!lines.is_empty()).then(|| Notice::with("blank_labels", detail))
}

/// Levels that are written in several cases, of a scale that was read from the labels.
pub(super) fn merged_cases<'a>(
    scale: &Scale,
    answers: impl Iterator<Item = &'a str>,
) -> Vec<Notice> {
    let mut ways: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for answer in answers {
        ways.entry(answer.to_lowercase())
            .or_default()
            .insert(answer);
    }
    let several = ways.values().filter(|w| w.len() > 1);
    let said = |ways: &BTreeSet<&str>| {
        let level = ways.first().and_then(|w| scale.code(w));
        let level = &scale.levels[level? as usize];
        let ways: Vec<String> = ways.iter().map(|w| format!("`{w}`")).collect();
        let detail = format!(
            "{} are one level, `{level}`: case does not matter",
            ways.join(", ")
        );
        Some(Notice::with("spellings_merged", detail))
    };
    several.filter_map(said).collect()
}

/// One rater labels an item once, and it is adjudicated once; a rater may adjudicate what he labelled.
pub(super) fn check_repeats(file: &Path, labels: &[Label], problems: &mut Vec<Error>) {
    let mut seen: HashMap<(&str, Option<&str>), &Label> = HashMap::new();
    for label in labels {
        let rater = (!label.adjudicated).then_some(label.rater.as_str());
        let Some(first) = seen.insert((label.item.as_str(), rater), label) else {
            continue;
        };
        let (item, line) = (&label.item, first.line);
        let message = match (rater, first.answer == label.answer) {
            (None, _) => format!("item `{item}` is adjudicated twice; first in line {line}"),
            (Some(rater), true) => {
                format!("rater `{rater}` labels item `{item}` twice; first in line {line}")
            }
            (Some(rater), false) => format!(
                "rater `{rater}` gives item `{item}` two different labels; the first in line {line}"
            ),
        };
        problems.push(Error::input(message).at(file, label.line));
    }
}

/// What is said about an item is the same in all its rows.
pub(super) fn check_items(file: &Path, labels: &[Label], problems: &mut Vec<Error>) {
    let mut firsts: HashMap<&str, &Label> = HashMap::new();
    for label in labels {
        let first = *firsts.entry(label.item.as_str()).or_insert(label);
        let mut differ = |what: &str, differs: bool| {
            if differs {
                let message = format!("item `{}` {what} as in line {}", label.item, first.line);
                problems.push(Error::input(message).at(file, label.line));
            }
        };
        differ("is not in the same split", first.split != label.split);
        differ("is not in the same group", first.group != label.group);
        differ("is not in the same stratum", first.stratum != label.stratum);
        differ(
            "has not the same probability",
            first.probability != label.probability,
        );
        let place = |l: &Label| (l.arm.clone(), l.task.clone(), l.trial);
        differ(
            "is not of the same arm, task and trial",
            place(first) != place(label),
        );
    }
}
