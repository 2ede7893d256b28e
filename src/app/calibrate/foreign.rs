//! Answers of a judge that are no level of a scale that was read from labels.

use std::collections::BTreeMap;
use std::path::Path;

use super::CalibrateCommand;
use crate::base::{Error, Result};
use crate::load::ScaleChoice;
use crate::model::label::{Scale, ScaleKind};
use crate::model::verdict::Verdict;

/// Foreign answers that are named, and up to which a scale that holds them is proposed.
const NAMED: usize = 8;

/// Refuses answers that no label gives, where nobody declared the levels.
///
/// Off a declared scale an answer is unusable. Where the levels were read from the labels it is as likely a
/// level that people never chose, and then a wrong answer: dropping it would leave the judge's right answers
/// alone. Words that say that an answer could not be read are missing already, and none of these.
///
/// # Errors
///
/// If there are such answers: with their counts and a scale to declare.
pub(super) fn refuse_foreign(
    command: &CalibrateCommand,
    scale: &Scale,
    verdicts: &[Verdict],
    file: &Path,
) -> Result<()> {
    let choice = ScaleChoice::parse(command.scale.as_deref(), command.positive.as_deref())?;
    let mut foreign: BTreeMap<&str, u64> = BTreeMap::new();
    let words = verdicts.iter().filter_map(|v| v.answer.value());
    for word in words.filter(|word| scale.code(word).is_none()) {
        *foreign.entry(word.trim()).or_default() += 1;
    }
    if !choice.levels.is_empty() || foreign.is_empty() {
        return Ok(());
    }
    let counts = foreign.iter().take(NAMED);
    let counts: Vec<String> = counts.map(|(word, n)| format!("`{word}` ({n})")).collect();
    let more = match foreign.len() > NAMED {
        true => format!(" and {} more", foreign.len() - NAMED),
        false => String::new(),
    };
    let message = format!(
        "the judge answers {}{more}, which no label does, and the scale was read from the labels ({})",
        counts.join(", "),
        scale.levels.join(", ")
    );
    Err(Error::input(message).in_file(file).hint(format!(
        "declare the scale, so that such an answer counts as wrong or as unusable: {}; write `unparsable` where the judge gave no answer at all",
        proposed(scale, &foreign)
    )))
}

/// The option that would take all answers as levels, as far as it can be written down.
fn proposed(scale: &Scale, foreign: &BTreeMap<&str, u64>) -> String {
    let own = scale.levels.iter().map(String::as_str);
    let levels: Vec<&str> = own.chain(foreign.keys().copied()).collect();
    if foreign.len() > NAMED || levels.iter().any(|l| l.contains([',', '\''])) {
        return "--scale KIND:LEVEL,LEVEL".to_owned();
    }
    let kind = match scale.kind {
        ScaleKind::Ordinal => ScaleKind::Ordinal,
        _ => ScaleKind::Nominal,
    };
    format!("--scale '{}:{}'", kind.name(), levels.join(","))
}
