//! How a source says that a trial ended: words and error texts turned into [`TrialStatus`].
//!
//! One rule stands above the lists below: what nobody can name is infrastructure, never the agent's
//! failure.

use crate::model::trial::{Boundary, TrialStatus};

/// Longest detail that is kept of a source's own words, in characters.
const DETAIL: usize = 300;

/// The status that a word of a source means.
///
/// Read are our own forms (`completed`, `agent_failed:REASON`, `limit_reached:WHICH`,
/// `infra:BOUNDARY:CODE`), the bare names of boundaries, and the common words of other tools. Case,
/// spaces and hyphens don't matter. An unknown word is infrastructure: boundary `runner`, code
/// `unknown_status`, the word as detail.
///
/// # Examples
///
/// ```
/// use assize::trace::import::status_from_word;
/// assert_eq!(status_from_word("OK").to_string(), "completed");
/// assert_eq!(status_from_word("max-steps").to_string(), "limit_reached:steps");
/// assert_eq!(status_from_word("429").to_string(), "infra:provider:rate_limit");
/// assert_eq!(status_from_word("gremlins").to_string(), "infra:runner:unknown_status");
/// ```
pub fn status_from_word(word: &str) -> TrialStatus {
    known_status(word).unwrap_or_else(|| {
        TrialStatus::infra(Boundary::Runner, "unknown_status", detail(word.trim()))
    })
}

/// The status that a word means, if it is a known one.
pub(crate) fn known_status(word: &str) -> Option<TrialStatus> {
    let word = normal(word);
    let (head, rest) = match word.split_once(':') {
        Some((head, rest)) => (head.trim_matches('_'), rest.trim_matches('_')),
        None => (word.as_str(), ""),
    };
    match head {
        "agent_failed" | "agent_failure" | "agent_error" | "agent_crash" | "agent_crashed" => {
            let reason = if rest.is_empty() {
                reason_of(head)
            } else {
                rest
            };
            Some(agent_failed(reason))
        }
        "limit_reached" | "limit" => {
            Some(limit(if rest.is_empty() { "unspecified" } else { rest }))
        }
        "infra" | "infrastructure" => infra(rest),
        _ if rest.is_empty() => bare(head),
        _ => None,
    }
}

fn reason_of(head: &str) -> &str {
    if head.starts_with("agent_crash") {
        "crash"
    } else {
        "unspecified"
    }
}

fn infra(rest: &str) -> Option<TrialStatus> {
    if rest.is_empty() {
        return Some(TrialStatus::infra(Boundary::Runner, "unknown_error", ""));
    }
    let (name, code) = rest.split_once(':').unwrap_or((rest, ""));
    let boundary = Boundary::from_name(name)?;
    let code = if code.is_empty() { "unspecified" } else { code };
    Some(TrialStatus::infra(boundary, code, ""))
}

fn bare(word: &str) -> Option<TrialStatus> {
    if let Some(boundary) = Boundary::from_name(word) {
        return Some(TrialStatus::infra(boundary, "unspecified", ""));
    }
    let status = match word {
        "ok" | "okay" | "completed" | "complete" | "success" | "succeeded" | "successful"
        | "done" | "finished" | "ended" | "stop" | "user_stop" | "agent_stop" => {
            TrialStatus::Completed
        }
        "refusal" | "refused" | "malformed_output" | "malformed_arguments" => agent_failed(word),
        "max_steps" | "max_turns" | "max_iterations" | "step_limit" | "turn_limit"
        | "recursion_limit" | "steps" => limit("steps"),
        "max_tool_calls" | "tool_call_limit" => limit("tool_calls"),
        "max_errors" | "too_many_errors" => limit("errors"),
        "max_tokens" | "token_limit" => limit("tokens"),
        "max_cost" | "cost_limit" | "budget_exceeded" => limit("cost_usd"),
        "agent_timeout" | "time_limit" | "wall_time" | "max_time" => limit("wall_time"),
        "cancelled" | "canceled" | "aborted" | "interrupted" | "killed" => {
            TrialStatus::infra(Boundary::Cancelled, word, "")
        }
        "truncated" | "incomplete" => TrialStatus::infra(Boundary::Trace, word, ""),
        "setup_error" | "fixture_error" => TrialStatus::infra(Boundary::Fixture, word, ""),
        "tool_timeout" | "tool_failure" => TrialStatus::infra(Boundary::Tool, word, ""),
        "grader_error" => TrialStatus::infra(Boundary::Grader, word, ""),
        "judge_error" => TrialStatus::infra(Boundary::Judge, word, ""),
        "infra_error"
        | "infrastructure_error"
        | "harness_error"
        | "runner_error"
        | "environment_error"
        | "env_error"
        | "user_error"
        | "crash"
        | "crashed"
        | "timeout"
        | "timed_out"
        | "unexpected_error"
        | "unexpected" => TrialStatus::infra(Boundary::Runner, word, ""),
        "error" | "errored" | "exception" => {
            TrialStatus::infra(Boundary::Runner, "unknown_error", "")
        }
        _ => return provider_word(word),
    };
    Some(status)
}

fn provider_word(word: &str) -> Option<TrialStatus> {
    let code = match word {
        "provider_error" | "provider_failure" | "api_error" | "apierror" | "llm_error"
        | "model_error" => "api_error",
        "rate_limit" | "rate_limited" | "ratelimit" | "rate_limit_error" | "too_many_requests"
        | "429" | "quota" | "quota_exceeded" => "rate_limit",
        "provider_timeout" | "api_timeout" | "llm_timeout" | "408" | "504" => "timeout",
        "overloaded" | "overloaded_error" | "503" | "529" => "overloaded",
        "connection_error" | "network_error" => "connection",
        "500" | "502" | "5xx" | "server_error" | "internal_server_error" => "server_error",
        _ => return None,
    };
    Some(TrialStatus::infra(Boundary::Provider, code, ""))
}

fn normal(word: &str) -> String {
    let word = word.trim().to_lowercase();
    word.chars()
        .map(|c| match c {
            ' ' | '-' => '_',
            other => other,
        })
        .collect()
}

fn agent_failed(reason: &str) -> TrialStatus {
    TrialStatus::AgentFailed {
        reason: reason.to_owned(),
    }
}

fn limit(which: &str) -> TrialStatus {
    TrialStatus::LimitReached {
        which: which.to_owned(),
    }
}

/// Parts of error texts that give a provider's failure away, most specific first.
const PROVIDER_SIGNS: [(&str, &[&str]); 6] = [
    (
        "rate_limit",
        &[
            "rate limit",
            "ratelimit",
            "rate_limit",
            "429",
            "too many requests",
            "quota",
        ],
    ),
    (
        "overloaded",
        &[
            "overloaded",
            "529",
            "503",
            "service unavailable",
            "serviceunavailable",
        ],
    ),
    (
        "timeout",
        &[
            "timeout",
            "timed out",
            "timedout",
            "504",
            "deadline exceeded",
        ],
    ),
    (
        "connection",
        &[
            "connection",
            "connecterror",
            "name resolution",
            "remoteprotocolerror",
            "ssl",
        ],
    ),
    (
        "server_error",
        &[
            "internal server error",
            "internalservererror",
            "bad gateway",
            "500",
            "502",
            "5xx",
        ],
    ),
    (
        "api_error",
        &[
            "apierror",
            "api error",
            "apistatuserror",
            "openai.",
            "anthropic.",
            "litellm.",
            "authenticationerror",
            "invalid_api_key",
            "contextwindowexceeded",
            "context_length_exceeded",
        ],
    ),
];

/// The status of a trial whose source recorded an exception: always infrastructure.
///
/// It is `provider` if the text shows one of a provider's known failures, else `runner`,
/// `unknown_error`. The text is kept as detail, shortened, without anything that looks like a key.
/// Of a traceback only the last line is looked at: the lines above name files, not causes.
pub fn status_from_error(text: &str, traceback: Option<&str>) -> TrialStatus {
    let last = traceback
        .and_then(|t| t.trim_end().lines().last())
        .unwrap_or("");
    let looked_at = format!("{text}\n{last}").to_lowercase();
    let kept = detail(if text.trim().is_empty() { last } else { text });
    for (code, signs) in PROVIDER_SIGNS {
        if signs.iter().any(|sign| shows(&looked_at, sign)) {
            return TrialStatus::infra(Boundary::Provider, code, kept);
        }
    }
    TrialStatus::infra(Boundary::Runner, "unknown_error", kept)
}

/// Whether the text holds the sign; a number must stand alone (`429`, not `14290`).
fn shows(text: &str, sign: &str) -> bool {
    let whole = sign.starts_with(|c: char| c.is_ascii_digit()) || sign == "ssl";
    text.match_indices(sign).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + sign.len()..].chars().next();
        !whole
            || [before, after]
                .iter()
                .flatten()
                .all(|c| !c.is_alphanumeric())
    })
}

/// Shortens a source's words and removes what looks like a key.
pub(crate) fn detail(text: &str) -> String {
    let mut words: Vec<&str> = vec![];
    let mut bearer = false;
    for word in text.split_whitespace() {
        let bare = word.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let secret = bearer || bare.starts_with("sk-") || bare.starts_with("key-");
        words.push(if secret { "[removed]" } else { word });
        bearer = bare.to_ascii_lowercase().starts_with("bearer");
    }
    words.join(" ").chars().take(DETAIL).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_every_kind() {
        for (word, expected) in [
            ("Success", "completed"),
            ("agent_failed:crash", "agent_failed:crash"),
            ("agent failed", "agent_failed:unspecified"),
            ("limit_reached:tokens", "limit_reached:tokens"),
            ("agent timeout", "limit_reached:wall_time"),
            ("infra:provider:http_500", "infra:provider:http_500"),
            ("infra:judge", "infra:judge:unspecified"),
            ("provider", "infra:provider:unspecified"),
            ("provider-error", "infra:provider:api_error"),
            ("Rate Limit", "infra:provider:rate_limit"),
            ("canceled", "infra:cancelled:canceled"),
            ("warm_cache", "infra:warm_cache:unspecified"),
            ("timeout", "infra:runner:timeout"),
            ("infra:moon:x", "infra:runner:unknown_status"),
            ("failed", "infra:runner:unknown_status"),
            ("completed:really", "infra:runner:unknown_status"),
            ("", "infra:runner:unknown_status"),
        ] {
            assert_eq!(status_from_word(word).to_string(), expected, "{word}");
        }
    }

    #[test]
    fn no_word_outside_the_lists_is_the_agents_failure() {
        for word in [
            "fail", "failure", "wrong", "bad", "agent", "limits", "crash?", "💥",
        ] {
            assert!(!status_from_word(word).is_agent_failure(), "{word}");
        }
    }

    #[test]
    fn errors_are_infrastructure_and_numbers_stand_alone() {
        for (text, expected) in [
            ("TimeoutError(429 rate limit)", "infra:provider:rate_limit"),
            ("Error code: 503 - try later", "infra:provider:overloaded"),
            ("Request timed out.", "infra:provider:timeout"),
            ("openai.BadRequestError: x", "infra:provider:api_error"),
            (
                "KeyError: 'reservation 14290'",
                "infra:runner:unknown_error",
            ),
            ("", "infra:runner:unknown_error"),
        ] {
            assert_eq!(
                status_from_error(text, None).to_string(),
                expected,
                "{text}"
            );
        }
        let traced = status_from_error("'choices'", Some("litellm/x.py\nKeyError: 'choices'\n"));
        assert_eq!(traced.to_string(), "infra:runner:unknown_error");
    }

    #[test]
    fn keys_are_removed_from_details() {
        let kept = detail("Incorrect key 'sk-abc123' sent with Bearer xyz to us");
        assert_eq!(
            kept,
            "Incorrect key [removed] sent with Bearer [removed] to us"
        );
        assert_eq!(detail(&"é".repeat(1000)).chars().count(), DETAIL);
    }
}
