//! A scripted judge: the truth is hidden in the prompt, and the verdict errs at known rates.

use regex::Captures;

use super::answer::Asked;
use super::compiled::Judge;
use crate::base::template::{Rendered, Text};
use crate::base::{Digest, seed::Stream};
use crate::model::chat::Message;

/// What the judge says.
///
/// # Errors
///
/// If the prompt does not hold the truth.
pub(super) fn verdict<'j>(asked: &Asked, judge: &'j Judge) -> Rendered<&'j Text> {
    let prompt = prompt(&asked.request.messages);
    let mut chance = chance(asked, &prompt);
    let mut found = judge.label_in.captures_iter(&prompt).map(truth);
    let mut next = || {
        found
            .next()
            .flatten()
            .ok_or("`label_in` finds no truth in the prompt")
    };
    let spec = &judge.spec;
    if spec.pairwise {
        let (first, second) = (next()?, next()?);
        let at_once = chance.unit() < spec.position_bias;
        let right = chance.unit() < spec.sensitivity;
        let first_is_better = match better(first, second, &spec.positive) {
            Some(first_is_better) => first_is_better == right,
            // Equals are chosen between by chance.
            None => chance.unit() < 0.5,
        };
        let choose_first = at_once || first_is_better;
        return Ok(if choose_first {
            &judge.first
        } else {
            &judge.second
        });
    }
    let positive = next()? == spec.positive;
    let rate = match positive {
        true => spec.sensitivity,
        false => spec.specificity.unwrap_or(spec.sensitivity),
    };
    let right = chance.unit() < rate;
    Ok(if positive == right {
        &judge.pass
    } else {
        &judge.fail
    })
}

/// Chance that depends on the model and the whole prompt, and on nothing else.
fn chance(asked: &Asked, prompt: &str) -> Stream {
    let digest = Digest::of_bytes(prompt.as_bytes());
    let label = format!("judge/{}/{}", asked.name, digest.as_str());
    asked.script.seed.child(&label).stream()
}

fn truth(found: Captures<'_>) -> Option<&str> {
    found.name("truth").map(|m| m.as_str())
}

/// Whether the first is better than the second; `None` if they are alike.
fn better(first: &str, second: &str, positive: &str) -> Option<bool> {
    let rank = |truth: &str| match truth.trim().parse::<f64>() {
        Ok(number) => number,
        Err(_) if truth == positive => 1.0,
        Err(_) => 0.0,
    };
    match rank(first).partial_cmp(&rank(second))? {
        std::cmp::Ordering::Equal => None,
        order => Some(order.is_gt()),
    }
}

/// Everything that was said, line by line.
fn prompt(messages: &[Message]) -> String {
    let texts = messages.iter().filter_map(|m| match m {
        Message::System(text) | Message::User(text) => Some(text.as_str()),
        Message::Assistant { text, .. } => text.as_deref(),
        Message::Tool { content, .. } => Some(content),
    });
    texts.collect::<Vec<_>>().join("\n")
}
