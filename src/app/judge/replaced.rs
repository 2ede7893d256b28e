//! What new verdicts and labels of a judge replace in a run, said before it is gone.

use std::collections::BTreeSet;

use crate::app::Talk;
use crate::base::{JudgeId, Result};
use crate::model::label::Label;
use crate::model::preference::PairLabel;
use crate::store::RunStore;

/// Labels that are given now: of trials, or of pairs.
#[derive(Clone, Copy)]
pub(in crate::app) enum Given<'a> {
    /// None: those of the run stay.
    None,
    /// Of trials.
    Trials(&'a [Label]),
    /// Of pairs.
    Pairs(&'a [PairLabel]),
}

/// Says which verdicts of another pin, and which other labels, are replaced by what is given now.
///
/// # Errors
///
/// If the store is damaged.
pub(in crate::app) fn say_replaced(
    store: &RunStore,
    judge: &JudgeId,
    pin: Option<&str>,
    given: Given,
    talk: &mut Talk,
) -> Result<()> {
    let Some(stored) = store.judged()?.into_iter().find(|s| s.judge == *judge) else {
        return Ok(());
    };
    let pairs = store.pair_answers(judge)?.len();
    let verdicts = stored.verdicts.len() + pairs;
    if verdicts > 0 && stored.pin.as_deref() != pin {
        let of = stored.pin.as_deref().map_or("no pin".to_owned(), |pin| {
            format!("pin {}", pin.chars().take(12).collect::<String>())
        });
        talk(&format!(
            "`{judge}`: {verdicts} {} of {of} are replaced by those of the judge as it is now",
            match pairs {
                0 => "verdicts",
                _ => "pairs with verdicts",
            }
        ));
    }
    let trial = |trial: String, rater: &str, answer: u32| format!("{trial}\t{rater}\t{answer}");
    let pair = |label: &PairLabel| {
        format!(
            "{}\t{}\t{:?}",
            label.pair.item(),
            label.rater,
            label.preference
        )
    };
    let before: BTreeSet<String> = match given {
        Given::None => return Ok(()),
        Given::Trials(_) => stored
            .labels
            .iter()
            .map(|l| trial(l.trial.to_string(), &l.rater, l.answer))
            .collect(),
        Given::Pairs(_) => store.pair_labels(judge)?.iter().map(pair).collect(),
    };
    let now: BTreeSet<String> = match given {
        Given::None => BTreeSet::new(),
        Given::Trials(labels) => labels
            .iter()
            .filter_map(|l| Some(trial(l.trial_key()?.to_string(), &l.rater, l.answer)))
            .collect(),
        Given::Pairs(labels) => labels.iter().map(pair).collect(),
    };
    if !before.is_empty() && before != now {
        talk(&format!(
            "`{judge}`: {} labels replaced by {}; to keep the earlier ones, give them in the same file",
            before.len(),
            now.len()
        ));
    }
    Ok(())
}
