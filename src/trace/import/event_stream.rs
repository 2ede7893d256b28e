//! The raw text of a response, put together as a completion.

use serde_json::{Value, json};

use crate::trace::import::scalar::is_nothing;

/// The completion that a response's text holds: its JSON body, or the answer of its server-sent events.
///
/// Whatever else the text is (an error page, nothing, a stream that ends before its last event or
/// holds an error) becomes a completion with an `error`: the provider failed, not the agent. Of a
/// broken stream the text is kept and the calls are not, since their arguments may be cut. A stream of
/// another protocol becomes an object without `choices`.
pub(crate) fn completion(response: &str) -> Value {
    if let Ok(body @ Value::Object(_)) = serde_json::from_str(response) {
        return body;
    }
    let mut answer = Answer::default();
    for line in response.lines() {
        let Some(data) = line.strip_prefix("data:").map(str::trim) else {
            continue;
        };
        if data == "[DONE]" {
            answer.finished = true;
            break;
        }
        match serde_json::from_str(data) {
            Ok(chunk) => answer.add(&chunk),
            Err(_) => answer.fail(json!("a chunk of the streamed response is not JSON")),
        }
    }
    answer.completion()
}

#[derive(Default)]
struct Answer {
    content: String,
    refusal: String,
    calls: Vec<Value>,
    usage: Value,
    finished: bool,
    /// Whether a chunk is of another protocol, and whether one is of this.
    foreign: bool,
    known: bool,
    error: Option<Value>,
}

impl Answer {
    fn add(&mut self, chunk: &Value) {
        if let Some(error) = chunk.get("error").filter(|error| !is_nothing(error)) {
            self.fail(error.clone());
        }
        if let Some(counted) = chunk.get("usage").filter(|usage| !usage.is_null()) {
            self.usage = counted.clone();
        }
        self.known |= chunk.get("choices").is_some();
        self.foreign |= chunk.get("choices").is_none();
        let Some(choice) = chunk.get("choices").and_then(|c| c.get(0)) else {
            return;
        };
        match choice.get("finish_reason").and_then(Value::as_str) {
            Some("error") => self.fail(json!("the stream ended with an error")),
            reason => self.finished |= reason.is_some(),
        }
        let text = |key: &str| choice.get("delta")?.get(key)?.as_str();
        self.content.push_str(text("content").unwrap_or(""));
        self.refusal.push_str(text("refusal").unwrap_or(""));
        let parts = choice
            .get("delta")
            .and_then(|d| d.get("tool_calls")?.as_array());
        for part in parts.into_iter().flatten() {
            add_part(&mut self.calls, part);
        }
    }

    /// Keeps the first error.
    fn fail(&mut self, error: Value) {
        self.error.get_or_insert(error);
    }

    fn completion(mut self) -> Value {
        if self.foreign && !self.known && self.error.is_none() {
            return json!({"stream": "of another protocol"});
        }
        if !self.finished {
            self.fail(json!("the response is no completion, or was cut"));
        }
        let calls = match &self.error {
            Some(_) => vec![],
            None => self.calls,
        };
        let message = json!({"role": "assistant", "content": self.content, "refusal": self.refusal,
            "tool_calls": calls});
        json!({"choices": [{"message": message}], "usage": self.usage, "error": self.error})
    }
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

    fn stream(chunks: &[Value], end: &str) -> Value {
        let lines = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
        completion(&(lines.collect::<String>() + end))
    }

    #[test]
    fn a_streamed_call_is_put_together() {
        let delta = |calls: Value| json!({"choices": [{"delta": {"tool_calls": calls}}]});
        let first =
            delta(json!([{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]));
        let second = delta(json!([{"index": 0, "function": {"arguments": "{}"}}]));
        let found = stream(&[first, second], "data: [DONE]\n");
        let call = &found["choices"][0]["message"]["tool_calls"][0];
        assert_eq!(call["id"], "c");
        assert_eq!(call["function"], json!({"name": "f", "arguments": "{}"}));
        assert_eq!(found["error"], Value::Null);
    }

    #[test]
    fn what_is_no_whole_answer_is_an_error() {
        let said = json!({"choices": [{"delta": {"content": "par",
            "tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{\"a"}}]}}]});
        let stop = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
        let error = json!({"error": {"message": "overloaded"}});
        let cut = stream(std::slice::from_ref(&said), "");
        assert_eq!(cut["choices"][0]["message"]["content"], "par");
        assert_eq!(cut["choices"][0]["message"]["tool_calls"], json!([]));
        for (found, failed) in [
            (cut, true),
            (stream(&[said.clone(), stop.clone()], ""), false),
            (stream(&[said.clone(), error, stop], "data: [DONE]"), true),
            (stream(&[said], "data: {\"cho"), true),
            (completion(""), true),
            (completion("<html>502 Bad gateway</html>"), true),
            (completion("{\"choices\": []}"), false),
        ] {
            assert_eq!(!is_nothing(&found["error"]), failed, "{found}");
        }
    }
}
