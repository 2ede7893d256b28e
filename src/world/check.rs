//! Checks: the fixture's own tests, run as commands at the end of a trial.

use std::path::Path;

use serde_json::Value;

use super::Broken;
use super::process::{End, Program, Ran};
use crate::model::environment::{CheckAnswer, CheckResult, CheckSpec};
use crate::model::trial::Boundary;

/// Longest text of what a check said, in characters.
const TOLD: usize = 400;

/// A check, ready to be run.
pub(super) struct Check {
    id: String,
    program: Program,
    answer: CheckAnswer,
}

impl Check {
    pub fn new(spec: &CheckSpec, suite: &Path) -> Self {
        Self {
            id: spec.id.clone(),
            program: Program::new(&spec.run, spec.timeout_s, &spec.env, suite),
            answer: spec.answer,
        }
    }

    /// Runs the check in a folder.
    ///
    /// # Errors
    ///
    /// If it does not say whether it passes: then the grader broke, and the agent did nothing wrong.
    pub async fn run(&self, folder: &Path, input: &Value) -> Result<CheckResult, Broken> {
        let ran = self.program.run(folder, input.to_string().into()).await;
        ran.alone(&format!("what check `{}` started", self.id))?;
        self.read(&ran)
    }

    fn read(&self, ran: &Ran) -> Result<CheckResult, Broken> {
        let what = format!("check `{}`", self.id);
        let broken = |code, detail| Err(Broken::new(Boundary::Grader, code, detail));
        let code = match ran.end {
            End::Exit(code @ 0..=125) => code,
            End::Timeout => {
                let seconds = self.program.timeout().as_secs_f64();
                let detail = format!("{} ({seconds} s)", ran.detail(&what));
                return broken("check_timeout", detail);
            }
            End::Flooded => return broken("check_wrong_shape", ran.detail(&what)),
            _ => return broken("check_crashed", ran.detail(&what)),
        };
        let said = String::from_utf8_lossy(&ran.stdout);
        let result = |pass, detail: &str| CheckResult {
            id: self.id.clone(),
            pass,
            exit_code: Some(code),
            detail: detail.chars().take(TOLD).collect(),
        };
        match self.answer {
            CheckAnswer::ExitCode if code == 0 => Ok(result(true, "")),
            CheckAnswer::ExitCode => Ok(result(false, last_words(&said, &ran.told))),
            CheckAnswer::Json => match verdict(&said) {
                Some((pass, detail)) => Ok(result(pass, &detail)),
                None => {
                    let last = said.trim().lines().next_back().unwrap_or("");
                    let last: String = last.chars().take(TOLD).collect();
                    let detail = format!("{what}: its last line is no verdict: \"{last}\"");
                    broken("check_wrong_shape", detail)
                }
            },
        }
    }
}

/// Why a check failed, in its own words.
fn last_words<'a>(stdout: &'a str, stderr: &'a str) -> &'a str {
    let said = match stderr {
        "" => stdout.trim(),
        stderr => stderr,
    };
    let cut = said.char_indices().rev().nth(TOLD - 1);
    cut.map_or(said, |(at, _)| &said[at..])
}

/// The last line, if it is `{"pass": …}` with nothing but an optional `detail`.
fn verdict(stdout: &str) -> Option<(bool, String)> {
    let last = stdout.trim().lines().next_back()?;
    let Value::Object(mut keys) = serde_json::from_str(last).ok()? else {
        return None;
    };
    let pass = keys.remove("pass")?.as_bool()?;
    let detail = match keys.remove("detail") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(detail)) => detail,
        Some(_) => return None,
    };
    keys.is_empty().then_some((pass, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: CheckAnswer, end: End, stdout: &str) -> Result<(bool, String), &'static str> {
        let check = Check {
            id: "c".into(),
            program: Program::new(&[], 1.0, &Default::default(), Path::new(".")),
            answer,
        };
        let ran = Ran {
            end,
            stdout: stdout.into(),
            told: String::new(),
            left: vec![],
        };
        let found = check.read(&ran).map_err(|b| b.code)?;
        Ok((found.pass, found.detail))
    }

    #[test]
    fn exit_codes_pass_fail_or_crash() {
        use CheckAnswer::ExitCode;
        assert_eq!(read(ExitCode, End::Exit(0), "x"), Ok((true, "".into())));
        for code in [1, 125] {
            let failed = read(ExitCode, End::Exit(code), "2 of 3 failed\n");
            assert_eq!(failed, Ok((false, "2 of 3 failed".into())));
        }
        for end in [
            End::Exit(126),
            End::Exit(127),
            End::Exit(139),
            End::Signal(6),
            End::NotFound,
            End::Lost,
        ] {
            assert_eq!(read(ExitCode, end, ""), Err("check_crashed"), "{end:?}");
        }
        assert_eq!(read(ExitCode, End::Timeout, ""), Err("check_timeout"));
    }

    #[test]
    fn a_verdict_is_the_last_line_and_nothing_else_will_do() {
        let json = |stdout| read(CheckAnswer::Json, End::Exit(1), stdout);
        assert_eq!(json("log\n{\"pass\": true}\n"), Ok((true, "".into())));
        let why = "{\"pass\": false, \"detail\": \"why\"}";
        assert_eq!(json(why), Ok((false, "why".into())));
        for wrong in [
            "",
            "true",
            "{\"pass\": \"yes\"}",
            "{\"pass\": true, \"score\": 1}",
            "{\"pass\": true}\nbye",
        ] {
            assert_eq!(json(wrong), Err("check_wrong_shape"), "{wrong}");
        }
    }
}
