//! The text of a message, and the JSON that a text is.

use serde_json::Value;

use crate::base::surrogate::mended;
use crate::trace::import::redact::is_reasoning_part;

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
    if is_reasoning_part(part) {
        return Ok(None);
    }
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
    match kind {
        "text" | "input_text" | "output_text" => field("text")
            .map(Some)
            .ok_or_else(|| "a text part of `content` has no `text`".to_owned()),
        "refusal" => Ok(field("refusal")),
        "tool_use" | "tool_result" => Err(format!(
            "`content` holds a `{kind}` part, which is the form of Anthropic's messages"
        )),
        other => Ok(Some(format!(
            "[{}]",
            other.chars().take(40).collect::<String>()
        ))),
    }
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
    parsed(text).ok()
}

/// The JSON value that the text is; a surrogate without its other half is mended first.
pub(crate) fn parsed(text: &str) -> serde_json::Result<Value> {
    let first = serde_json::from_str(text);
    match (&first, mended(text)) {
        (Err(_), Some(mended)) => serde_json::from_str(&mended),
        _ => first,
    }
}

/// The inside of a text that is one fenced block; the word after the opening fence names its language.
fn fenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || "+-_.".contains(c);
    let inner = inner.trim_start_matches(is_word);
    (!inner.contains("```")).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        for fence in [
            "```json\n",
            "```Json\r\n",
            "```javascript\n",
            "```",
            "```json5 ",
        ] {
            let text = format!("{fence}{{\"a\": 1}}\n```");
            assert_eq!(final_payload(&text), json!({"a": 1}), "{fence}");
        }
        assert_eq!(
            final_payload("{\"a\": \"\\ud83d\"}"),
            json!({"a": "\u{fffd}"})
        );
        assert_eq!(final_payload("Done: {\"a\": 1}"), json!("Done: {\"a\": 1}"));
        assert_eq!(final_payload("42"), json!("42"));
        assert_eq!(final_payload("{\"a\": NaN}"), json!("{\"a\": NaN}"));
    }
}
