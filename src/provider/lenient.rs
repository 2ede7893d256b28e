//! Fields that servers of one protocol write in different ways.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::model::chat::ToolCall;

/// What `content` holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// The text, if there is any.
    pub text: Option<String>,
    /// Whether there are parts of a type that nobody knows.
    pub unread: bool,
}

/// Reads `content`: a text, null, or a list of parts of which those of type `text` are joined. Parts
/// of other types are dropped unread, as some hold reasoning. `None` is left to a field that is not there.
pub(super) fn content<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Content>, D::Error> {
    input.deserialize_any(TextVisitor).map(Some)
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, null or a list of parts")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content {
            text: Some(text.to_owned()),
            unread: false,
        })
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Content {
            text: Some(text),
            unread: false,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut joined = Content::default();
        while let Some(part) = parts.next_element::<Part>()? {
            match (part.kind.as_str(), part.text) {
                ("text" | "output_text", Some(text)) => {
                    joined.text.get_or_insert_default().push_str(&text);
                }
                ("thinking" | "redacted_thinking" | "reasoning", _) => {}
                _ => joined.unread = true,
            }
        }
        Ok(joined)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Err(serde::de::Error::custom("an object as content"))
    }
}

/// Reads an id: a text, a number, which some servers write, or null. A blank one is none.
pub(super) fn id<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    let id = Option::<IdForm>::deserialize(input)?;
    Ok(id.map(|id| id.0).filter(|id| !id.trim().is_empty()))
}

struct IdForm(String);

impl<'de> Deserialize<'de> for IdForm {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct IdVisitor;
        impl Visitor<'_> for IdVisitor {
            type Value = IdForm;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_str<E>(self, id: &str) -> Result<IdForm, E> {
                Ok(IdForm(id.to_owned()))
            }

            fn visit_u64<E>(self, id: u64) -> Result<IdForm, E> {
                Ok(IdForm(id.to_string()))
            }

            fn visit_i64<E>(self, id: i64) -> Result<IdForm, E> {
                Ok(IdForm(id.to_string()))
            }

            fn visit_f64<E>(self, id: f64) -> Result<IdForm, E> {
                Ok(IdForm(id.to_string()))
            }
        }
        input.deserialize_any(IdVisitor)
    }
}

/// Reads a count of tokens: a whole number, also one written as `12.0`. Anything else, such as one that is
/// negative or has a fraction, is no count, and then it is not known.
pub(super) fn count<'de, D: Deserializer<'de>>(input: D) -> Result<Option<u64>, D::Error> {
    let raw = Box::<RawValue>::deserialize(input)?;
    let Ok(number) = serde_json::from_str::<serde_json::Number>(raw.get()) else {
        return Ok(None);
    };
    let whole = |n: &f64| *n >= 0.0 && n.fract() == 0.0 && *n < 9e15;
    let written = || number.as_f64().filter(whole).map(|n| n as u64);
    Ok(number.as_u64().or_else(written))
}

/// Reads the usage of a reply, which is an extra: in a form that is not the protocol's it is not known.
pub(super) fn usage<'de, D, T>(input: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let raw = Box::<RawValue>::deserialize(input)?;
    let object = Some(raw.get()).filter(|raw| raw.starts_with('{'));
    Ok(object.and_then(|raw| serde_json::from_str(raw).ok()))
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    text: Option<String>,
}

/// The arguments of a call as text: what a JSON text says, or a JSON value as it is written; `{}` if
/// there are none.
pub(super) fn arguments(raw: Option<&RawValue>) -> String {
    let Some(raw) = raw.map(RawValue::get) else {
        return "{}".to_owned();
    };
    if raw.starts_with('"') {
        return serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned());
    }
    raw.to_owned()
}

/// Makes the ids of a reply's calls different where they are not; the first keeps its own.
pub(super) fn tell_apart(calls: &mut [ToolCall]) {
    for i in 1..calls.len() {
        let (earlier, rest) = calls.split_at_mut(i);
        while earlier.iter().any(|call| call.id == rest[0].id) {
            rest[0].id.push_str(&format!("_{i}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Holder {
        #[serde(default, deserialize_with = "content")]
        content: Option<Content>,
    }

    #[test]
    fn content_is_read_in_every_form() {
        let read = |body: &str| serde_json::from_str::<Holder>(body).map(|h| h.content);
        let holds = |text: Option<&str>, unread| {
            let text = text.map(str::to_owned);
            Some(Content { text, unread })
        };
        let plain = read(r#"{"content":"a\n"}"#).unwrap();
        assert_eq!(plain, holds(Some("a\n"), false));
        assert_eq!(read(r#"{"content":null}"#).unwrap(), holds(None, false));
        assert_eq!(read("{}").unwrap(), None);
        let odd = read(r#"{"content":[{"type":"picture"}]}"#).unwrap();
        assert_eq!(odd, holds(None, true));
        let parts = r#"{"content":[{"type":"thinking","thinking":[{}]},{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
        assert_eq!(read(parts).unwrap(), holds(Some("ab"), false));
        assert!(read(r#"{"content":{"a":1}}"#).is_err());
        assert!(read(r#"{"content":7}"#).is_err());
    }

    #[derive(Deserialize)]
    struct Numbers {
        #[serde(default, deserialize_with = "id")]
        id: Option<String>,
        #[serde(default, deserialize_with = "count")]
        tokens: Option<u64>,
    }

    #[test]
    fn ids_may_be_numbers_and_counts_may_have_a_point() {
        let read = |body: &str| {
            let numbers: Numbers = serde_json::from_str(body).unwrap();
            (numbers.id, numbers.tokens)
        };
        let id = |id: &str| Some(id.to_owned());
        assert_eq!(read(r#"{"id": 7, "tokens": 12.0}"#), (id("7"), Some(12)));
        assert_eq!(read(r#"{"id": "a", "tokens": 12}"#), (id("a"), Some(12)));
        assert_eq!(read(r#"{"id": null, "tokens": null}"#), (None, None));
        assert_eq!(read(r#"{"id": -7, "tokens": 1.5}"#), (id("-7"), None));
        assert_eq!(read(r#"{"tokens": -1}"#), (None, None));
        assert_eq!(read(r#"{"id": " ", "tokens": "12"}"#), (None, None));
        assert_eq!(read(r#"{"tokens": true}"#), (None, None));
        assert!(serde_json::from_str::<Numbers>(r#"{"id": [1]}"#).is_err());
    }

    #[test]
    fn arguments_are_handed_on_as_text() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        assert_eq!(arguments(Some(&raw(r#""{\"a\": 1""#))), r#"{"a": 1"#);
        assert_eq!(arguments(Some(&raw(r#"{"a": 1}"#))), r#"{"a": 1}"#);
        assert_eq!(arguments(None), "{}");
    }

    #[test]
    fn calls_with_one_id_are_told_apart() {
        let call = |id: &str| ToolCall {
            id: id.into(),
            name: "f".into(),
            arguments: String::new(),
        };
        let mut calls = ["a", "a", "b", "a"].map(call);
        tell_apart(&mut calls);
        assert_eq!(calls.map(|call| call.id), ["a", "a_1", "b", "a_3"]);
    }
}
