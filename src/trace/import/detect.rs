//! Finds the format of a source by its first bytes, so that arms need not name one.

use std::cell::RefCell;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::base::surrogate::mended_bytes;
use crate::model::arm::TraceFormat;
use crate::trace::import::openai_chat;

/// The format that a source seems to have, judged by its first bytes (64 KiB are plenty; they may
/// end anywhere). `None` if it looks like none of them.
///
/// # Examples
///
/// ```
/// use assize::model::arm::TraceFormat;
/// use assize::trace::import::detect;
/// assert_eq!(detect(br#"{"tools": [{"name": "get_or"#), Some(TraceFormat::Small));
/// assert_eq!(detect(b"a,b\n1,2\n"), None);
/// ```
pub fn detect(head: &[u8]) -> Option<TraceFormat> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mended = mended_bytes(head);
    let head = mended.as_deref().unwrap_or(head);
    let keys = RefCell::new(Keys::default());
    let mut json = serde_json::Deserializer::from_slice(head);
    // The head may end in the middle of a value: what was seen until then is what counts.
    let _ = (Look {
        keys: &keys,
        depth: 0,
    })
    .deserialize(&mut json);
    let keys = keys.into_inner();
    let has = |wanted: &str| keys.record.iter().any(|key| key == wanted);
    let top = |wanted: &str| keys.top.iter().any(|key| key == wanted);
    let any = |wanted: &[&str]| wanted.iter().any(|key| has(key));
    if top("simulations") || (top("info") && top("tasks")) {
        Some(TraceFormat::Tau2)
    } else if has("sequence") && has("kind") {
        Some(TraceFormat::Native)
    } else if any(&openai_chat::MESSAGES) || has("role") || (has("request") && has("response")) {
        Some(TraceFormat::OpenaiChat)
    } else if has("tools") {
        Some(TraceFormat::Small)
    } else {
        None
    }
}

/// Keys seen: of the object at the top, and of the first record.
#[derive(Default)]
struct Keys {
    top: Vec<String>,
    record: Vec<String>,
}

/// Looks at a value: an object's keys are a record's; of a list the first element is looked at.
struct Look<'a> {
    keys: &'a RefCell<Keys>,
    depth: u8,
}

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let look = Look {
            keys: self.keys,
            depth: self.depth + 1,
        };
        // A record inside two lists is a message of a bare conversation; deeper is nothing known.
        if look.depth <= 2 {
            seq.next_element_seed(look)?;
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let is_list = self.depth == 0 && openai_chat::LISTS.contains(&key.as_str());
            {
                let mut keys = self.keys.borrow_mut();
                if self.depth == 0 {
                    keys.top.push(key.clone());
                }
                keys.record.push(key);
            }
            if is_list {
                map.next_value_seed(Look {
                    keys: self.keys,
                    depth: 1,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_their_beginnings() {
        use TraceFormat::*;
        for (head, format) in [
            (
                "{\"run_id\":\"r\",\"sequence\":0,\"kind\":\"trial_start\"}\n{",
                Native,
            ),
            ("[{\"task_id\":0,\"traj\":[{\"ro", OpenaiChat),
            (
                "{\"metrics\":{\"a\":1},\"results\":[{\"task_id\":1,\"messages\":[",
                OpenaiChat,
            ),
            ("[{\"role\":\"user\",\"content\":\"x\"}]", OpenaiChat),
            ("[[{\"role\":\"user\"", OpenaiChat),
            (
                "{\"tools\":[{\"type\":\"function\"}],\"messages\":[",
                OpenaiChat,
            ),
            (
                "[{\"method\":\"POST\",\"request\":{},\"response\":{",
                OpenaiChat,
            ),
            ("{\"timestamp\":\"x\",\"info\":{},\"tasks\":[{\"id", Tau2),
            ("\u{feff}{\"tools\":[],\"asked_clarification\":true}", Small),
            ("[{\"task\":\"a\",\"tools\":[", Small),
            ("{\"task\":\"\\ud83d\",\"tools\":[", Small),
        ] {
            assert_eq!(detect(head.as_bytes()), Some(format), "{head}");
        }
        for head in ["", "[]", "7", "{\"a\":1}", "arm,task\n", "\u{0}\u{1}"] {
            assert_eq!(detect(head.as_bytes()), None, "{head}");
        }
    }
}
