//! Replies that say they are errors, by their status and their words.

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::failure::{Code, Failed, html};
use super::retry_after::retry_after;

/// What an error reply says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Complaint {
    /// `error.type`.
    kind: String,
    /// `error.code`, as text.
    code: String,
    /// For people.
    pub message: String,
}

impl Complaint {
    /// Reads the body of an error reply, whatever it is.
    pub fn of_body(body: &[u8]) -> Self {
        let start = body.trim_ascii_start();
        match serde_json::from_slice::<Value>(start) {
            Ok(value) => Self::of_reply(&value),
            Err(_) if start.starts_with(b"<") => Self::only(html(start)),
            Err(_) => Self::only(String::from_utf8_lossy(start).into_owned()),
        }
    }

    fn only(message: String) -> Self {
        Self {
            message,
            ..Self::default()
        }
    }

    /// Reads `{"error": …}` and the forms of other servers: `{"message": …}`, `{"detail": …}`.
    fn of_reply(value: &Value) -> Self {
        ["error", "message", "detail"]
            .iter()
            .find_map(|key| value.get(key))
            .map_or_else(|| Self::only(value.to_string()), Self::of_error)
    }

    /// Reads the value of `error`: an object, or a text.
    pub fn of_error(error: &Value) -> Self {
        let text = |key: &str| error.get(key).map(plain).unwrap_or_default();
        match error {
            Value::Object(_) => Self {
                kind: text("type"),
                code: text("code"),
                message: text("message"),
            },
            other => Self::only(plain(other)),
        }
    }

    /// Whether a filter of the provider stopped the request, which is an answer.
    pub fn filtered(&self) -> bool {
        ["content_filter", "content_policy_violation"].contains(&self.code.as_str())
    }

    fn exhausted(&self) -> bool {
        let named = [
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
        ];
        named.iter().any(|n| self.kind == *n || self.code == *n)
            || self.message.contains("credit balance is too low")
    }

    fn too_long(&self) -> bool {
        let lower = self.message.to_ascii_lowercase();
        if only_answer_too_long(&lower) {
            return false;
        }
        let words = [
            "maximum context length",
            "prompt is too long",
            "context window",
            "context length",
            "input is too long",
            "exceed_context_size",
        ];
        self.code == "context_length_exceeded"
            || self.kind == "exceed_context_size_error"
            || words.iter().any(|w| lower.contains(w))
    }

    /// The status that an error without one would have had.
    fn status(&self) -> u16 {
        let numeric = self.code.parse().ok().filter(|c| (400..600).contains(c));
        let named = |text: &str| match text {
            "overloaded_error" => Some(529),
            "rate_limit_error" | "rate_limit_exceeded" => Some(429),
            "authentication_error" | "invalid_api_key" => Some(401),
            "permission_error" => Some(403),
            "not_found_error" | "model_not_found" => Some(404),
            "request_too_large" => Some(413),
            "invalid_request_error" => Some(400),
            _ => None,
        };
        numeric
            .or_else(|| named(&self.code))
            .or_else(|| named(&self.kind))
            .unwrap_or(500)
    }
}

/// Whether a complaint in lower case is of the room that the arm asks for the answer, as the messages alone
/// would fit: "maximum context length is 8192 tokens, however you requested 9020 tokens (20 in the messages,
/// 9000 in the completion)" (OpenAI; OpenRouter's and vLLM's forms differ a little).
fn only_answer_too_long(lower: &str) -> bool {
    let limit = after(lower, "maximum context length is");
    let asked = after(lower, "requested about").or_else(|| after(lower, "requested"));
    let answer = before(lower, "in the completion").or_else(|| before(lower, "in the output"));
    let rest = asked
        .zip(answer)
        .map(|(all, answer)| all.saturating_sub(answer));
    let read = before(lower, "input tokens").or(rest);
    match (limit, read) {
        (Some(limit), Some(read)) => read < limit,
        _ => lower.contains("max_tokens") && lower.contains("is too large"),
    }
}

/// The number right after some words.
fn after(text: &str, words: &str) -> Option<u64> {
    let rest = text[text.find(words)? + words.len()..].trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// The number right before some words.
fn before(text: &str, words: &str) -> Option<u64> {
    let rest = text[..text.find(words)?].trim_end();
    let start = rest.rfind(|c: char| !c.is_ascii_digit());
    // What is cut at is one character, of any length in bytes.
    let cut = |at: usize| at + rest[at..].chars().next().map_or(0, char::len_utf8);
    rest[start.map_or(0, cut)..].parse().ok()
}

/// The text of a value without quotes around it; nothing for null.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Classifies a reply with an error status.
pub(super) fn of_status(status: u16, headers: &HeaderMap, complaint: Complaint) -> Failed {
    let code = code_of(status, &complaint);
    let mut detail = format!("HTTP {status}");
    if let Some(target) = headers.get("location").and_then(|v| v.to_str().ok())
        && (300..400).contains(&status)
    {
        detail.push_str(&format!(
            ", redirects to {target}; set base_url to where it ends"
        ));
    }
    if !complaint.message.is_empty() {
        detail.push_str(&format!(": {}", complaint.message));
    }
    Failed {
        code,
        detail,
        retry_after: retry_after(headers),
    }
}

/// Classifies an error that came inside a reply with status 200, or inside a stream.
pub(super) fn of_error(error: &Value) -> Failed {
    let complaint = Complaint::of_error(error);
    let code = code_of(complaint.status(), &complaint);
    Failed::new(
        code,
        format!("an error instead of a reply: {}", complaint.message),
    )
}

/// Checks that a field for an error is empty.
///
/// # Errors
///
/// What the error says.
pub(super) fn no_error(error: Option<Value>) -> Result<(), Failed> {
    match error.filter(|error| !error.is_null()) {
        Some(error) => Err(of_error(&error)),
        None => Ok(()),
    }
}

fn code_of(status: u16, complaint: &Complaint) -> Code {
    match status {
        429 | 400 | 403 if complaint.exhausted() => Code::QuotaExhausted,
        402 => Code::QuotaExhausted,
        429 => Code::RateLimited,
        503 | 529 => Code::Overloaded,
        408 | 409 | 425 | 500.. => Code::ServerError,
        401 => Code::Unauthorized,
        403 => Code::Forbidden,
        300..400 | 404 | 410 => Code::NotFound,
        // A proxy has a limit of its own; only words of the model's tell of the model's.
        413 if complaint.kind == "request_too_large" => Code::ContextLength,
        _ if complaint.too_long() => Code::ContextLength,
        _ => Code::BadRequest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(status: u16, body: &str) -> Code {
        of_status(
            status,
            &HeaderMap::new(),
            Complaint::of_body(body.as_bytes()),
        )
        .code
    }

    #[test]
    fn every_status_has_its_code() {
        let cases = [
            (400, Code::BadRequest),
            (401, Code::Unauthorized),
            (402, Code::QuotaExhausted),
            (403, Code::Forbidden),
            (404, Code::NotFound),
            (301, Code::NotFound),
            (408, Code::ServerError),
            (409, Code::ServerError),
            (413, Code::BadRequest),
            (422, Code::BadRequest),
            (425, Code::ServerError),
            (429, Code::RateLimited),
            (500, Code::ServerError),
            (502, Code::ServerError),
            (503, Code::Overloaded),
            (529, Code::Overloaded),
            (599, Code::ServerError),
        ];
        for (status, expected) in cases {
            assert_eq!(code(status, "{}"), expected, "{status}");
        }
    }

    #[test]
    fn words_tell_more_than_the_status() {
        let quota =
            r#"{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        assert_eq!(code(429, quota), Code::QuotaExhausted);
        let long = r#"{"error":{"message":"m","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
        assert_eq!(code(400, long), Code::ContextLength);
        let large = r#"{"type":"error","error":{"type":"request_too_large","message":"m"}}"#;
        assert_eq!(code(413, large), Code::ContextLength);
        let anthropic = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#;
        assert_eq!(code(400, anthropic), Code::ContextLength);
        let credit = r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#;
        assert_eq!(code(400, credit), Code::QuotaExhausted);
    }

    #[test]
    fn an_arm_that_asks_for_too_long_an_answer_is_no_long_conversation() {
        let code = |message: &str| {
            let error = serde_json::json!({"error": {"message": message, "code": "context_length_exceeded"}});
            code(400, &error.to_string())
        };
        let asked = |all: u64, read: u64| {
            code(&format!(
                "This model's maximum context length is 8192 tokens. However, you requested {all} tokens ({read} in the messages, {} in the completion).",
                all - read
            ))
        };
        assert_eq!(asked(100_020, 20), Code::BadRequest);
        assert_eq!(asked(9020, 9000), Code::ContextLength);
        let router = "This endpoint's maximum context length is 8192 tokens. However, you requested about 9020 tokens (20 of text input, 9000 in the output).";
        assert_eq!(code(router), Code::BadRequest);
        let vllm = "'max_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request has 20 input tokens";
        assert_eq!(code(vllm), Code::BadRequest);
    }

    #[test]
    fn the_message_is_found_in_every_form() {
        let cases = [
            (r#"{"error":{"message":"a"}}"#, "a"),
            (r#"{"error":"b"}"#, "b"),
            (r#"{"detail":"c"}"#, "c"),
            (r#"{"message":"d"}"#, "d"),
            ("plain e", "plain e"),
            (
                "<html><title>502 Bad Gateway</title>",
                "HTML instead of JSON: \"502 Bad Gateway\"",
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(Complaint::of_body(body.as_bytes()).message, expected);
        }
    }

    #[test]
    fn an_error_without_a_status_is_known_by_its_type_or_number() {
        let code = |text: &str| of_error(&serde_json::from_str(text).unwrap()).code;
        assert_eq!(
            code(r#"{"type":"overloaded_error","message":"Overloaded"}"#),
            Code::Overloaded
        );
        assert_eq!(code(r#"{"code":429,"message":"slow"}"#), Code::RateLimited);
        assert_eq!(code(r#"{"message":"what"}"#), Code::ServerError);
        assert_eq!(code(r#""broken""#), Code::ServerError);
    }
}
