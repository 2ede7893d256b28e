//! The user who answers.

use regex::{Regex, RegexBuilder};

use crate::model::environment::DialogueSpec;

/// How often a user who has nothing particular to say goes on answering.
const PATIENCE: u32 = 20;

/// A compiled dialogue.
pub(super) struct Dialogue {
    replies: Vec<Reply>,
    otherwise: Option<String>,
}

struct Reply {
    when: Option<Regex>,
    say: String,
    times: u32,
}

/// How far a trial has come in its dialogue.
#[derive(Default)]
pub(super) struct Said {
    /// How often each reply was given.
    replies: Vec<u32>,
    /// How often the user said what is said when nothing fits.
    otherwise: u32,
}

impl Dialogue {
    pub fn compile(spec: &DialogueSpec) -> Result<Self, regex::Error> {
        let compiled = |text: &String| RegexBuilder::new(text).case_insensitive(true).build();
        let replies = spec.replies.iter().map(|reply| {
            Ok(Reply {
                when: reply.when.as_ref().map(compiled).transpose()?,
                say: reply.say.clone(),
                times: reply.times,
            })
        });
        Ok(Self {
            replies: replies.collect::<Result<_, regex::Error>>()?,
            otherwise: spec.otherwise.clone(),
        })
    }

    /// What the user says to a text; `None` if there is nothing to say, or if the text is a payload
    /// and no question.
    pub fn answer(&self, text: &str, said: &mut Said) -> Option<String> {
        if is_payload(text) {
            return None;
        }
        said.replies.resize(self.replies.len(), 0);
        for (reply, given) in self.replies.iter().zip(&mut said.replies) {
            let fits = reply.when.as_ref().is_none_or(|when| when.is_match(text));
            if fits && *given < reply.times {
                *given += 1;
                return Some(reply.say.clone());
            }
        }
        // Two who only say what they always say would talk for ever.
        if said.otherwise == PATIENCE {
            return None;
        }
        said.otherwise += 1;
        self.otherwise.clone()
    }
}

/// Whether a text is a JSON object, by itself or in a fence: that is a final payload.
fn is_payload(text: &str) -> bool {
    let text = text.trim();
    let fenced = text
        .strip_prefix("```json")
        .or_else(|| text.strip_prefix("```"))
        .and_then(|rest| rest.strip_suffix("```"));
    let inner = fenced.unwrap_or(text).trim();
    inner.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(inner).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn answers(dialogue: Value, texts: &[&str]) -> Vec<Option<String>> {
        let spec: DialogueSpec = serde_json::from_value(dialogue).unwrap();
        let dialogue = Dialogue::compile(&spec).unwrap();
        let mut said = Said::default();
        let texts = texts.iter();
        texts.map(|t| dialogue.answer(t, &mut said)).collect()
    }

    #[test]
    fn the_first_unused_reply_that_fits_is_given() {
        let dialogue = json!({"replies": [
            {"when": "\\bcard\\b|amount", "say": "yes"},
            {"when": "card", "say": "I said yes", "times": 2},
            {"say": "hm"}]});
        let texts = ["Which CARD?", "card", "who?", "card", "card", "who?"];
        let expected = ["yes", "I said yes", "hm", "I said yes"];
        let mut expected: Vec<_> = expected.iter().map(|s| Some((*s).to_owned())).collect();
        expected.extend([None, None]);
        assert_eq!(answers(dialogue, &texts), expected);
    }

    #[test]
    fn a_payload_is_no_question_and_patience_ends() {
        let dialogue = || json!({"otherwise": "go on"});
        for text in ["{\"status\": \"ok\"}", "```json\n{}\n```", " {} "] {
            assert_eq!(answers(dialogue(), &[text]), [None], "{text}");
        }
        let all = answers(dialogue(), &["{really?}"; 21]);
        assert_eq!(all.iter().flatten().count(), 20);
        assert_eq!(answers(json!({}), &["done"]), [None]);
    }
}
