//! Reading a judge's reply, strictly: a level of its scale, or why not. Never a pass and never a failure by
//! default.

use std::fmt;

use regex::Regex;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::model::judge::Judge;
use crate::model::verdict::unusable;

/// What a reply said.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Position of the answer among [`Judge::words`].
    pub word: usize,
    /// The score beside it, where the judge's output has one.
    pub score: Option<f64>,
}

/// Why a reply cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// A code of [`unusable`].
    pub code: &'static str,
    /// What was wrong, for people.
    pub detail: String,
}

fn unusable(code: &'static str, detail: impl Into<String>) -> Unusable {
    Unusable {
        code,
        detail: detail.into(),
    }
}

/// Reads the reply of one model.
///
/// JSON may stand in one fenced code block and nothing else around it; where the judge declares a
/// `verdict_line`, the last matching line of free text counts instead.
///
/// # Errors
///
/// `missing` for an empty reply, `out_of_scale` for an answer that is no level, `unparsable` for anything
/// else.
pub fn read(judge: &Judge, reply: &str) -> Result<Answer, Unusable> {
    let reply = reply.trim();
    if reply.is_empty() {
        return Err(unusable(unusable::MISSING, "the reply is empty"));
    }
    match &judge.spec.output.verdict_line {
        Some(pattern) => from_line(judge, pattern, reply),
        None => from_json(judge, reply),
    }
}

fn from_line(judge: &Judge, pattern: &str, reply: &str) -> Result<Answer, Unusable> {
    let unread = |detail: String| unusable(unusable::UNPARSABLE, detail);
    let pattern = Regex::new(pattern).map_err(|e| unread(format!("no pattern: {e}")))?;
    let line = reply
        .lines()
        .rev()
        .find_map(|line| pattern.captures(line.trim()));
    let group = line
        .as_ref()
        .and_then(|c| c.name("answer").or_else(|| c.get(1)));
    let word = group.ok_or_else(|| unread("no line matches `verdict_line`".to_owned()))?;
    Ok(Answer {
        word: position(judge, word.as_str())?,
        score: None,
    })
}

fn from_json(judge: &Judge, reply: &str) -> Result<Answer, Unusable> {
    let unread = |detail: String| unusable(unusable::UNPARSABLE, detail);
    let text = unfenced(reply);
    let Keys(keys) = serde_json::from_str(text).map_err(|_| {
        unread(match text.contains('{') {
            true => "the reply is not one JSON object and nothing else".to_owned(),
            false => "the reply holds no JSON object".to_owned(),
        })
    })?;
    if let Some(twice) = keys
        .iter()
        .enumerate()
        .find(|(i, key)| keys[..*i].contains(key))
    {
        return Err(unread(format!("key `{}` is written twice", twice.1)));
    }
    let value: Value = serde_json::from_str(text).map_err(|e| unread(e.to_string()))?;
    let output = &judge.spec.output;
    let Some(answer) = value.get(&output.answer) else {
        return Err(unread(format!("the reply has no key `{}`", output.answer)));
    };
    let word = match answer {
        Value::String(text) => position(judge, text)?,
        Value::Number(number) => position(judge, &number.to_string())?,
        Value::Bool(flag) => position(judge, &flag.to_string())?,
        Value::Null => return Err(unusable(unusable::MISSING, "the answer is null")),
        _ => {
            return Err(unread(
                "the answer is neither a word nor a number".to_owned(),
            ));
        }
    };
    fits(judge, &value)?;
    let score = match &output.score {
        Some(key) => Some(
            value
                .get(key)
                .and_then(Value::as_f64)
                .ok_or_else(|| unread(format!("the reply has no number `{key}`")))?,
        ),
        None => None,
    };
    Ok(Answer { word, score })
}

/// The answer as it is written, or a number of the same value.
fn position(judge: &Judge, answer: &str) -> Result<usize, Unusable> {
    let words = judge.words();
    let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
    let same = |word: &String| number(answer).is_some() && number(word) == number(answer);
    let found = words
        .iter()
        .position(|w| w == answer)
        .or_else(|| words.iter().position(same));
    found.ok_or_else(|| {
        let shown: String = answer.chars().take(40).collect();
        let detail = format!("`{shown}` is none of {}", words.join(", "));
        unusable(unusable::OUT_OF_SCALE, detail)
    })
}

fn fits(judge: &Judge, reply: &Value) -> Result<(), Unusable> {
    let unread = |detail: String| unusable(unusable::UNPARSABLE, detail);
    let validator = jsonschema::validator_for(&judge.reply_schema())
        .map_err(|e| unread(format!("the schema of the output does not compile: {e}")))?;
    let problem = validator.iter_errors(reply).next().map(|error| {
        let place = error.instance_path().to_string();
        format!("the reply does not fit its schema at `{place}`")
    });
    problem.map_or(Ok(()), |detail| Err(unread(detail)))
}

/// The inside of a code block that is the whole reply.
fn unfenced(reply: &str) -> &str {
    let inside = reply
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"));
    let Some(inside) = inside else {
        return reply;
    };
    let (tag, body) = inside.split_once('\n').unwrap_or(("", inside));
    match tag.trim() {
        "" | "json" | "JSON" | "jsonc" => body.trim(),
        _ => reply,
    }
}

/// The keys of an object in order, those that come twice included.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct KeysVisitor;
        impl<'de> Visitor<'de> for KeysVisitor {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = vec![];
                while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    keys.push(key);
                }
                Ok(Keys(keys))
            }
        }
        from.deserialize_map(KeysVisitor)
    }
}

#[cfg(test)]
mod tests;
