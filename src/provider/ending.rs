//! How a reply says that it ended, and whether an empty one is the model's doing.
//!
//! What broke around the model is never counted against it: a word that says so, or that nobody knows,
//! is a failure of the provider, and so is a reply that is empty because it was not understood.
//! Source: the words of OpenAI, Anthropic, Gemini, Cohere, Mistral, vLLM and TGI (2025).

use crate::model::chat::Finish;

use super::failure::{Code, Failed};

/// Longest unknown word that is repeated in an error, in letters.
const LONGEST_WORD: usize = 40;

/// What a `finish_reason` or `stop_reason` means; the case of letters doesn't matter.
///
/// # Errors
///
/// `server_error` if the word says that the provider broke, `malformed_reply` if nobody knows it.
pub(super) fn finish(reason: Option<&str>, has_calls: bool) -> Result<Finish, Failed> {
    let Some(reason) = reason else {
        return Ok(match has_calls {
            true => Finish::ToolCalls,
            false => Finish::Other("none".to_owned()),
        });
    };
    let word = reason.to_ascii_lowercase();
    match word.as_str() {
        "content_filter" | "refusal" => Ok(Finish::Refusal),
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "model_length"
        | "model_context_window_exceeded" => Ok(Finish::Length),
        // Some servers say `stop` beside calls.
        word if has_calls && (ends(word) || calls(word)) => Ok(Finish::ToolCalls),
        word if ends(word) => Ok(Finish::Stop),
        word if calls(word) => Ok(Finish::Other(reason.to_owned())),
        "error" | "abort" | "aborted" | "cancelled" | "canceled" | "failed" | "timeout" => Err(
            Failed::new(Code::ServerError, format!("the reply ended with `{word}`")),
        ),
        _ => Err(unknown(reason)),
    }
}

fn ends(word: &str) -> bool {
    let words = [
        "stop",
        "stop_sequence",
        "end_turn",
        "eos",
        "eos_token",
        "complete",
        "completed",
        "end",
    ];
    words.contains(&word)
}

fn calls(word: &str) -> bool {
    ["tool_calls", "tool_call", "tool_use", "function_call"].contains(&word)
}

fn unknown(reason: &str) -> Failed {
    let word: String = reason.chars().take(LONGEST_WORD).collect();
    let text = format!("the reply ended with `{word}`, which is no known way to end");
    Failed::new(Code::MalformedReply, text)
}

/// Checks that a reply with neither text nor calls is complete and was understood as a whole; only then
/// is it the model's.
///
/// # Errors
///
/// `malformed_reply` if it says of itself no end, or calls that it doesn't hold, or if `understood` is
/// false.
pub(super) fn check_empty(finish: &Finish, understood: bool) -> Result<(), Failed> {
    let text = match finish {
        Finish::Refusal | Finish::Length => return Ok(()),
        Finish::Other(_) => "the reply is empty and does not say that it is complete",
        _ if !understood => "the reply holds nothing that is known",
        _ => return Ok(()),
    };
    Err(Failed::new(Code::MalformedReply, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_known_servers_is_understood() {
        for word in [
            "stop",
            "STOP",
            "eos",
            "stop_sequence",
            "end_turn",
            "COMPLETE",
        ] {
            assert_eq!(finish(Some(word), false), Ok(Finish::Stop), "{word}");
            assert_eq!(finish(Some(word), true), Ok(Finish::ToolCalls), "{word}");
        }
        for word in ["tool_calls", "tool_use", "function_call"] {
            assert_eq!(finish(Some(word), true), Ok(Finish::ToolCalls), "{word}");
        }
        for word in ["length", "max_tokens", "MAX_TOKENS"] {
            assert_eq!(finish(Some(word), true), Ok(Finish::Length), "{word}");
        }
        assert_eq!(finish(Some("content_filter"), false), Ok(Finish::Refusal));
        assert_eq!(finish(None, true), Ok(Finish::ToolCalls));
    }

    #[test]
    fn a_word_of_failure_or_an_unknown_one_is_the_providers() {
        let code = |word| finish(Some(word), true).map_err(|failed| failed.code);
        assert_eq!(code("error"), Err(Code::ServerError));
        assert_eq!(code("abort"), Err(Code::ServerError));
        assert_eq!(code("recitation"), Err(Code::MalformedReply));
        let long = finish(Some(&"x".repeat(99)), false).expect_err("unknown");
        assert!(long.detail.contains(&format!("`{}`", "x".repeat(40))));
    }

    #[test]
    fn only_a_complete_reply_that_was_understood_may_be_empty() {
        assert_eq!(check_empty(&Finish::Stop, true), Ok(()));
        assert_eq!(check_empty(&Finish::Length, false), Ok(()));
        assert!(check_empty(&Finish::Stop, false).is_err());
        assert!(check_empty(&Finish::Other("tool_calls".into()), true).is_err());
    }
}
