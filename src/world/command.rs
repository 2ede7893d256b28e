//! Tools that are commands: the call as JSON on standard input, the answer as JSON on standard output.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::Broken;
use super::process::{End, Program, Ran};
use super::simulated::{Answer, patched};
use crate::model::trial::Boundary;

/// Keys of a structured answer; an object with any other key is itself the result.
const KEYS: [&str; 5] = ["result", "error", "receipt", "patch", "wrote"];

/// One call of a command tool.
pub(super) struct Invocation<'a> {
    pub tool: &'a str,
    pub arguments: &'a Value,
    pub state: Option<&'a Value>,
    /// Number of this call of the tool, from 1.
    pub call: u32,
    /// The trial's own folder.
    pub folder: &'a Path,
}

impl Invocation<'_> {
    /// Runs the command and reads its answer.
    ///
    /// # Errors
    ///
    /// If the command died, did not end in time, or answered with something else than such JSON.
    pub async fn run(&self, program: &Program) -> Result<Answer, Broken> {
        let ran = program.run(self.folder, self.input()).await;
        ran.alone(&format!("what tool `{}` started", self.tool))?;
        self.read(&ran)
    }

    fn input(&self) -> Vec<u8> {
        let mut input = json!({
            "tool": self.tool,
            "arguments": self.arguments,
            "call": self.call,
            "fixture": self.folder.to_string_lossy(),
        });
        if let Some(state) = self.state {
            input["state"] = state.clone();
        }
        input.to_string().into_bytes()
    }

    fn read(&self, ran: &Ran) -> Result<Answer, Broken> {
        let broken = |code, detail| Err(Broken::new(Boundary::Tool, code, detail));
        let what = format!("tool `{}`", self.tool);
        let answer = serde_json::from_slice::<Value>(&ran.stdout);
        let failed = match ran.end {
            End::Exit(0) => false,
            End::Exit(126 | 127) | End::NotFound => {
                return broken("tool_not_found", ran.detail(&what));
            }
            // An exit code that comes with an answer is how many programs say that it is an error.
            End::Exit(_) if answer.is_ok() => true,
            End::Timeout => return broken("tool_timeout", ran.detail(&what)),
            End::Flooded => return broken("tool_not_json", ran.detail(&what)),
            End::Exit(_) | End::Signal(_) | End::Lost => {
                return broken("tool_died", ran.detail(&what));
            }
        };
        let read = match answer {
            Ok(Value::Object(keys)) if is_structured(&keys) => structured(keys, self.state),
            Ok(content) => Ok(Answer {
                content,
                is_error: failed,
                ..Answer::default()
            }),
            Err(e) => return broken("tool_not_json", format!("{what}: its answer: {e}")),
        };
        match read {
            Ok(answer) => Ok(Answer {
                is_error: answer.is_error || failed,
                ..answer
            }),
            Err(why) => broken("tool_wrong_shape", format!("{what}: {why}")),
        }
    }
}

fn is_structured(keys: &Map<String, Value>) -> bool {
    !keys.is_empty() && keys.keys().all(|k| KEYS.contains(&k.as_str()))
}

fn structured(mut keys: Map<String, Value>, state: Option<&Value>) -> Result<Answer, String> {
    let error = keys.remove("error").filter(|e| !e.is_null());
    let (receipt, commits) = match keys.remove("receipt") {
        None => (None, None),
        // Said outright that nothing was committed.
        Some(Value::Null) => (None, Some(false)),
        Some(Value::String(receipt)) => (Some(receipt), Some(true)),
        Some(other) => return Err(format!("`receipt` is not a text: {other}")),
    };
    let patch = match keys.remove("patch") {
        None | Some(Value::Null) => vec![],
        Some(Value::Array(patch)) => patch,
        Some(_) => return Err("`patch` is not a list".to_owned()),
    };
    let state = patched(state, patch).map_err(|e| format!("`patch` can't be applied: {e}"))?;
    let wrote = keys.remove("wrote").unwrap_or_else(|| json!([]));
    let wrote = serde_json::from_value(wrote);
    Ok(Answer {
        is_error: error.is_some(),
        content: error.unwrap_or_else(|| keys.remove("result").unwrap_or_default()),
        commits,
        receipt,
        state,
        wrote: wrote.map_err(|_| "`wrote` is not a list of resources".to_owned())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(end: End, stdout: &str) -> Result<Answer, &'static str> {
        let (arguments, state) = (json!({}), json!({"a": 1}));
        let invocation = Invocation {
            tool: "t",
            arguments: &arguments,
            state: Some(&state),
            call: 1,
            folder: Path::new("."),
        };
        let ran = Ran {
            end,
            stdout: stdout.into(),
            told: String::new(),
            left: vec![],
        };
        invocation.read(&ran).map_err(|b| b.code)
    }

    #[test]
    fn answers_are_structured_or_results() {
        let full = r#"{"result": 1, "receipt": "r", "wrote": ["db"],
            "patch": [{"op": "replace", "path": "/a", "value": 2}]}"#;
        let found = read(End::Exit(0), full).unwrap();
        assert_eq!((found.content, found.commits), (json!(1), Some(true)));
        assert_eq!(found.state, Some(json!({"a": 2})));
        assert_eq!(found.wrote, ["db"]);
        let other = read(End::Exit(0), r#"{"result": 1, "rows": 2}"#).unwrap();
        assert_eq!(other.content, json!({"result": 1, "rows": 2}));
        let error = read(End::Exit(0), r#"{"error": "no"}"#).unwrap();
        assert_eq!((error.content, error.is_error), (json!("no"), true));
        assert!(read(End::Exit(2), r#""no such row""#).unwrap().is_error);
        let nothing = read(End::Exit(0), r#"{"result": 1, "receipt": null}"#);
        assert_eq!(nothing.unwrap().commits, Some(false));
    }

    #[test]
    fn what_breaks_is_named() {
        for (end, stdout, code) in [
            (End::Exit(1), "oops", "tool_died"),
            (End::Exit(127), "{}", "tool_not_found"),
            (End::NotFound, "", "tool_not_found"),
            (End::Signal(9), "{}", "tool_died"),
            (End::Timeout, "{}", "tool_timeout"),
            (End::Exit(0), "", "tool_not_json"),
            (End::Exit(0), "1 2", "tool_not_json"),
            (End::Exit(0), r#"{"wrote": "db"}"#, "tool_wrong_shape"),
            (
                End::Exit(0),
                r#"{"patch": [{"op": "remove", "path": "/b"}]}"#,
                "tool_wrong_shape",
            ),
        ] {
            assert_eq!(read(end, stdout).err(), Some(code), "{end:?} {stdout}");
        }
    }
}
