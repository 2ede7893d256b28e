//! A recorded exchange with a chat endpoint (`request` and `response`), as one record.
//!
//! The response is a completion, or the raw text of its event stream.

use serde_json::{Map, Value, json};

use crate::trace::import::scalar::present;

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
/// A sentence if the response is of no known form.
pub(crate) fn record(mut exchange: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let completion = match exchange.remove("response") {
        Some(Value::String(stream)) => assembled(&stream)?,
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
    match failure(&exchange, &completion) {
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

/// What went wrong on the way: the endpoint's error, or an HTTP status that is none of success.
fn failure(exchange: &Map<String, Value>, completion: &Value) -> Option<Value> {
    let error = completion.get("error").filter(|error| !error.is_null());
    let code = match present(exchange, &["status", "status_code"]) {
        Some(Value::Object(status)) => status.get("code").and_then(Value::as_u64),
        other => other.and_then(Value::as_u64),
    };
    let code = code.filter(|code| !(200..300).contains(code));
    match (error, code) {
        (_, Some(code)) => Some(json!(format!("api error: HTTP {code}"))),
        (Some(error), None) => Some(error.clone()),
        (None, None) => None,
    }
}

/// Puts a streamed answer together from its server-sent events.
fn assembled(stream: &str) -> Result<Value, String> {
    let (mut content, mut calls, mut usage) = (String::new(), Vec::new(), Value::Null);
    let (mut answered, mut error) = (false, Value::Null);
    for line in stream.lines() {
        let Some(data) = line.strip_prefix("data:").map(str::trim) else {
            continue;
        };
        if data == "[DONE]" {
            break;
        }
        let chunk: Value = serde_json::from_str(data)
            .map_err(|error| format!("a chunk of the streamed response is not JSON: {error}"))?;
        if let Some(counted) = chunk.get("usage").filter(|usage| !usage.is_null()) {
            usage = counted.clone();
        }
        if let Some(said) = chunk.get("error").filter(|said| !said.is_null()) {
            error = said.clone();
        }
        let Some(delta) = chunk.get("choices").and_then(|c| c.get(0)?.get("delta")) else {
            continue;
        };
        answered = true;
        content.push_str(delta.get("content").and_then(Value::as_str).unwrap_or(""));
        for part in delta
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            add_part(&mut calls, part);
        }
    }
    let message = json!({"role": "assistant", "content": content, "tool_calls": calls});
    let choices = if answered {
        json!([{"message": message}])
    } else {
        Value::Null
    };
    Ok(json!({"choices": choices, "usage": usage, "error": error}))
}

/// Adds a piece of a call: the first brings id and name, all bring arguments.
fn add_part(calls: &mut Vec<Value>, part: &Value) {
    let index = part.get("index").and_then(Value::as_u64);
    let known = calls
        .iter()
        .position(|call| call["index"].as_u64() == index);
    let at = known.unwrap_or_else(|| {
        calls.push(json!({"index": index, "function": {"arguments": ""}}));
        calls.len() - 1
    });
    let call = &mut calls[at];
    if let Some(id) = part.get("id").filter(|id| !id.is_null()) {
        call["id"] = id.clone();
    }
    let Some(function) = part.get("function") else {
        return;
    };
    if let Some(name) = function.get("name").filter(|name| !name.is_null()) {
        call["function"]["name"] = name.clone();
    }
    let piece = function
        .get("arguments")
        .and_then(Value::as_str)
        .unwrap_or("");
    let before = call["function"]["arguments"].as_str().unwrap_or("");
    call["function"]["arguments"] = Value::String(format!("{before}{piece}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_streamed_call_is_put_together() {
        let stream = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\
            \"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\ndata: {\"choices\":[{\"delta\":\
            {\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}}]}}]}\n\ndata: [DONE]\n";
        let exchange = json!({"request": {"messages": []}, "response": stream});
        let record = record(exchange.as_object().unwrap().clone()).unwrap();
        let call = &record["messages"][0]["tool_calls"][0];
        assert_eq!(call["id"], "c");
        assert_eq!(call["function"], json!({"name": "f", "arguments": "{}"}));
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
        let stream = "data: {\"error\":{\"message\":\"overloaded\"}}\n";
        let exchange = json!({"request": {"messages": []}, "response": stream});
        let record = record(exchange.as_object().unwrap().clone()).unwrap();
        assert_eq!(record["error"]["message"], "overloaded");
    }

    #[test]
    fn a_failed_request_is_an_error_of_the_record() {
        let exchange = json!({"request": {"messages": []}, "status": {"code": 429},
            "response": {"error": {"message": "slow down"}}});
        let record = record(exchange.as_object().unwrap().clone()).unwrap();
        assert_eq!(record["error"], "api error: HTTP 429");
    }
}
