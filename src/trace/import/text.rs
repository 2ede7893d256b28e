//! What of a message is visible: its text without hidden reasoning.

use serde_json::Value;

/// Opening and closing marks of reasoning that models write into their content.
const REASONING: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// The text of a message's content: a string, nothing, or a list of parts.
///
/// Reasoning parts are dropped; a part that holds no text (an image, a sound) leaves its type in
/// brackets, so that a message of images only is not silence.
///
/// # Errors
///
/// A sentence if the content has another form.
pub(crate) fn content_text(content: Option<&Value>) -> Result<Option<String>, String> {
    let text = match content {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts: Result<Vec<_>, _> = parts.iter().map(part_text).collect();
            texts?.into_iter().flatten().collect::<Vec<_>>().join("\n")
        }
        Some(part @ Value::Object(_)) => part_text(part)?.unwrap_or_default(),
        Some(_) => return Err("`content` is neither text nor a list of parts".to_owned()),
    };
    Ok(Some(text))
}

fn part_text(part: &Value) -> Result<Option<String>, String> {
    if let Value::String(text) = part {
        return Ok(Some(text.clone()));
    }
    let field = |key: &str| part.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
    match kind {
        "text" | "input_text" | "output_text" => field("text")
            .map(Some)
            .ok_or_else(|| "a text part of `content` has no `text`".to_owned()),
        "refusal" => Ok(field("refusal")),
        "thinking" | "reasoning" | "redacted_thinking" | "reasoning_content" => Ok(None),
        "tool_use" | "tool_result" => Err(format!(
            "`content` holds a `{kind}` part, which is the form of Anthropic's messages"
        )),
        other => Ok(Some(format!(
            "[{}]",
            other.chars().take(40).collect::<String>()
        ))),
    }
}

/// What the model said, without reasoning and surrounding white space; `None` if nothing is left.
///
/// An unclosed mark hides everything after it. A closing mark without an opening one hides
/// everything before it: several chat templates write the opening mark into the prompt.
pub(crate) fn visible(text: &str) -> Option<String> {
    let mut text = text.to_owned();
    for (open, close) in REASONING {
        text = without(&text, open, close);
    }
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn without(text: &str, open: &str, close: &str) -> String {
    // ASCII lower case keeps every byte position.
    let lower = text.to_ascii_lowercase();
    let mut kept = String::new();
    let mut at = 0;
    while at < text.len() {
        let opened = lower[at..].find(open).map(|i| at + i);
        let closed = lower[at..].find(close).map(|i| at + i);
        match (opened, closed) {
            (_, Some(c)) if opened.is_none_or(|o| c < o) => {
                kept.clear();
                at = c + close.len();
            }
            (Some(o), Some(_)) => {
                kept.push_str(&text[at..o]);
                // The first closing mark after the opening one; there is one, at `c` or later.
                at = match lower[o..].find(close) {
                    Some(i) => o + i + close.len(),
                    None => text.len(),
                };
            }
            (Some(o), None) => {
                kept.push_str(&text[at..o]);
                at = text.len();
            }
            (None, _) => {
                kept.push_str(&text[at..]);
                at = text.len();
            }
        }
    }
    kept
}

/// The final payload: the JSON object or list that the whole text (or the one fenced block that is
/// the whole text) is, else the text.
pub(crate) fn final_payload(text: &str) -> Value {
    let text = text.trim();
    let inner = fenced(text).unwrap_or(text);
    structured(inner).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// The JSON object or list that the text is, if it is one.
pub(crate) fn structured(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

fn fenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    let inner = inner
        .strip_prefix("json")
        .or(inner.strip_prefix("JSON"))
        .unwrap_or(inner);
    (!inner.contains("```")).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reasoning_never_stays() {
        for (text, left) in [
            ("<think>a</think> Hello", Some("Hello")),
            ("Hi <THINK>a\nb</Think>you", Some("Hi you")),
            ("secret plan</think>\n\nHello", Some("Hello")),
            ("Hello <think>cut off here", Some("Hello")),
            ("<think>a</think>b<think>c</think>d", Some("bd")),
            ("<thinking>x</thinking>", None),
            ("a < b", Some("a < b")),
            ("  ", None),
        ] {
            assert_eq!(visible(text).as_deref(), left, "{text}");
        }
    }

    #[test]
    fn parts_of_every_form() {
        let content = json!([{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "no"},
            {"type": "image_url", "image_url": {"url": "data:x"}}, "b"]);
        let text = content_text(Some(&content)).unwrap();
        assert_eq!(text.as_deref(), Some("a\n[image_url]\nb"));
        assert_eq!(content_text(Some(&Value::Null)), Ok(None));
        assert!(content_text(Some(&json!(7))).is_err());
        assert!(content_text(Some(&json!([{"type": "tool_use"}]))).is_err());
    }

    #[test]
    fn a_final_is_json_only_as_a_whole() {
        assert_eq!(final_payload(" {\"a\": 1} "), json!({"a": 1}));
        assert_eq!(final_payload("```json\n{\"a\": 1}\n```"), json!({"a": 1}));
        assert_eq!(final_payload("Done: {\"a\": 1}"), json!("Done: {\"a\": 1}"));
        assert_eq!(final_payload("42"), json!("42"));
        assert_eq!(final_payload("{\"a\": NaN}"), json!("{\"a\": NaN}"));
    }
}
