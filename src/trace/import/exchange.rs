//! A recorded exchange with a chat endpoint (`request` and `response`), as one record.
//!
//! The response is a completion, or the raw text of its event stream.

use serde_json::{Map, Value, json};

use crate::trace::import::event_stream;
use crate::trace::import::scalar::{is_nothing, present};

/// Whether a record is an exchange, or a completion that keeps its request's messages.
pub(crate) fn is_exchange(record: &Map<String, Value>) -> bool {
    let asked = record
        .get("request")
        .is_some_and(|r| r.get("messages").is_some());
    asked || (record.contains_key("messages") && record.get("choices").is_some_and(Value::is_array))
}

/// Makes a chat record of it: the request's messages, then the answer.
///
/// # Errors
///
/// A sentence if the request or the response is of no known form.
pub(crate) fn record(mut exchange: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let completion = match exchange.remove("response") {
        Some(Value::String(text)) => event_stream::completion(&text),
        Some(response) => response,
        None => Value::Object(exchange.clone()),
    };
    let mut request = match exchange.remove("request") {
        Some(Value::Object(request)) => request,
        _ => exchange.clone(),
    };
    let mut messages = match request.remove("messages") {
        Some(Value::Array(messages)) => messages,
        _ => return Err("the request's `messages` is not a list".to_owned()),
    };
    let answer = completion
        .get("choices")
        .and_then(|c| c.get(0)?.get("message"));
    messages.extend(answer.map(|answer| with_usage(answer, &completion)));
    let mut record = Map::new();
    for key in ["task", "task_id", "trial", "arm", "reward"] {
        if let Some(value) = exchange.remove(key) {
            record.insert(key.to_owned(), value);
        }
    }
    match failure(&exchange, &completion, answer.is_some()) {
        Some(error) => drop(record.insert("error".to_owned(), error)),
        None if answer.is_none() => {
            let said = "the response has no `choices` with an answer: it is no chat completion";
            return Err(said.to_owned());
        }
        None => {}
    }
    record.insert("messages".to_owned(), Value::Array(messages));
    Ok(record)
}

fn with_usage(answer: &Value, completion: &Value) -> Value {
    let mut answer = answer.clone();
    if let (Some(answer), Some(usage)) = (answer.as_object_mut(), completion.get("usage")) {
        answer.entry("role").or_insert_with(|| json!("assistant"));
        answer.insert("usage".to_owned(), usage.clone());
    }
    answer
}

/// What went wrong on the way: the endpoint's error, or an HTTP status that is none of success. It
/// says that it is the endpoint's, so that it is counted as the provider's.
fn failure(exchange: &Map<String, Value>, completion: &Value, answered: bool) -> Option<Value> {
    let choice = completion.get("choices").and_then(|c| c.get(0));
    let errors = [Some(completion), choice].into_iter().flatten();
    let error = errors
        .filter_map(|of| of.get("error"))
        .find(|error| !is_nothing(error));
    let ended = choice.and_then(|c| c.get("finish_reason")?.as_str());
    let said = match (http_code(exchange), error) {
        (Some(code), _) => format!("HTTP {code}"),
        (None, Some(error)) => words(error),
        (None, None) if !answered && is_empty(completion) => {
            "the response holds no answer".to_owned()
        }
        (None, None) if ended == Some("error") => "the answer ended with an error".to_owned(),
        (None, None) => return None,
    };
    Some(json!(format!("api error: {said}")))
}

/// Whether a completion holds no answer, rather than one of another form.
fn is_empty(completion: &Value) -> bool {
    is_nothing(completion) || completion.get("choices").is_some()
}

/// The HTTP status of the response, unless it is one of success.
fn http_code(exchange: &Map<String, Value>) -> Option<u64> {
    let code = match present(exchange, &["status", "status_code"])? {
        Value::Object(status) => status.get("code")?.as_u64(),
        Value::String(text) => text.split_whitespace().next()?.parse().ok(),
        other => other.as_u64(),
    };
    code.filter(|code| !(200..300).contains(code))
}

/// The words of an endpoint's error.
fn words(error: &Value) -> String {
    let Value::Object(members) = error else {
        return error.as_str().map_or(error.to_string(), str::to_owned);
    };
    let word = |key: &&str| match members.get(*key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let found: Vec<String> = ["type", "code", "message"]
        .iter()
        .filter_map(word)
        .collect();
    match found.is_empty() {
        true => error.to_string(),
        false => found.join(": "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(exchange: Value) -> Value {
        let record = record(exchange.as_object().unwrap().clone()).unwrap();
        record.get("error").cloned().unwrap_or_default()
    }

    #[test]
    fn another_vendors_answer_is_refused_in_words() {
        for response in [
            json!("data: {\"type\":\"message_start\"}\n"),
            json!({"content": []}),
        ] {
            let exchange = json!({"request": {"messages": []}, "response": response});
            let error = record(exchange.as_object().unwrap().clone()).unwrap_err();
            assert!(error.contains("no chat completion"), "{error}");
        }
    }

    #[test]
    fn a_failed_request_is_an_error_of_the_record() {
        let asked = json!({"messages": []});
        let choices = json!([{"message": {"role": "assistant", "content": "hi"}}]);
        for (exchange, said) in [
            (
                json!({"status": {"code": 429}, "response": {"error": {"message": "slow down"}}}),
                json!("api error: HTTP 429"),
            ),
            (
                json!({"status": "502 Bad Gateway", "response": "<html>"}),
                json!("api error: HTTP 502"),
            ),
            (
                json!({"response": {"error": {"message": "x", "code": 7}}}),
                json!("api error: 7: x"),
            ),
            (
                json!({"response": "data: {\"error\": \"overloaded\"}"}),
                json!("api error: overloaded"),
            ),
            (
                json!({"response": null}),
                json!("api error: the response holds no answer"),
            ),
            (
                json!({"response": {"choices": []}}),
                json!("api error: the response holds no answer"),
            ),
            (
                json!({"response": {"choices": [{"finish_reason": "error", "message": {}}]}}),
                json!("api error: the answer ended with an error"),
            ),
            (
                json!({"status": 200, "response": {"choices": choices, "error": {}}}),
                json!(null),
            ),
        ] {
            let mut exchange = exchange;
            exchange["request"] = asked.clone();
            assert_eq!(error(exchange.clone()), said, "{exchange}");
        }
    }
}
