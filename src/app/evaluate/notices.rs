//! What a reader of the whole report should know.

use super::Evaluation;
use crate::app::judge::Labelling;
use crate::app::live_facts::ToRun;
use crate::app::rules_of_report;
use crate::base::Result;
use crate::model::analysis::Schedule;
use crate::model::report::{Report, RunNotice};

impl Evaluation<'_> {
    pub(super) fn notices(&self, report: &Report) -> Result<Vec<RunNotice>> {
        let mut notices = Vec::new();
        let mut say = |code: &str, text: String| {
            notices.push(RunNotice {
                code: code.to_owned(),
                text,
            })
        };
        if let Some(inputs) = report.input_differs.as_ref().filter(|i| i.differ > 0) {
            say(
                "input_differs",
                format!(
                    "{} of {} tasks had different user texts in the two arms; a difference between the arms may be a difference between the texts",
                    inputs.differ, inputs.compared
                ),
            );
        }
        if self
            .decision
            .as_ref()
            .is_some_and(|d| d.schedule == Schedule::Assumed)
            && self.arms.iter().any(|a| a.info.recorded)
        {
            say(
                "schedule_assumed",
                "the arms were recorded and did not run interleaved; the suite declares that time of day played no part".to_owned(),
            );
        }
        if report.gate.rules.is_empty() {
            say(
                "nothing_decided",
                "the suite declares no rules, so nothing was decided".to_owned(),
            );
        }
        for ToRun {
            arm,
            not_started,
            cut_off,
            planned,
        } in crate::app::live_facts::to_run(self)
        {
            if not_started > 0 {
                say(
                    "not_started",
                    format!(
                        "{arm}: {not_started} of {planned} planned trials never started, because the run ended before its randomised schedule did; they are not missing"
                    ),
                );
            }
            if cut_off > 0 {
                say(
                    "cut_off",
                    format!(
                        "{arm}: {cut_off} of {planned} planned trials were cancelled when the run was stopped; what was still running is mostly what is slow or hangs, so nothing is decided until they have run again (`assize run --resume`)"
                    ),
                );
            }
        }
        for arm in &self.arms {
            let store = self.stores[arm.store];
            for (code, trials) in store.trial_notices(&arm.stored)? {
                let text = rules_of_report::notice(&code);
                say(&code, format!("{}: {trials} trials: {text}", arm.info.name));
            }
        }
        for store in &self.stores {
            for (judge, found) in store.judge_notices()? {
                for notice in found {
                    say(&notice.code, format!("{judge}: {}", notice.detail));
                }
            }
        }
        for store in &self.stores {
            for judge in store.judged()? {
                for notice in Labelling::of_stored(&judge.labels).notices() {
                    say(&notice.code, format!("{}: {}", judge.judge, notice.detail));
                }
            }
        }
        for (arm, least, most) in self.unequal_trials() {
            say(
                "unequal_trials",
                format!(
                    "{arm} has {least} to {most} trials per task; nobody stated a plan (`--trials`), so what was recorded is what was planned"
                ),
            );
        }
        for (arm, tools) in self.undeclared_tools()? {
            say(
                "undeclared_tools",
                format!(
                    "{arm} called tools that the suite does not declare, so they count as reading: {tools}"
                ),
            );
        }
        Ok(notices)
    }

    /// Arms without a stated plan whose tasks have different numbers of trials.
    fn unequal_trials(&self) -> Vec<(&str, usize, usize)> {
        let mut found = Vec::new();
        for (at, arm) in self.arms.iter().enumerate() {
            let plan = self.stores[arm.store].plan();
            if plan.arm(&arm.stored).is_none_or(|a| a.stated) {
                continue;
            }
            let mut counts = vec![0usize; self.table.tasks.len()];
            for row in (0..self.table.len()).filter(|&r| usize::from(self.table.arm[r]) == at) {
                counts[self.table.task[row] as usize] += 1;
            }
            let (least, most) = (counts.iter().min(), counts.iter().max());
            if let (Some(&least), Some(&most)) = (least, most)
                && least < most
            {
                found.push((arm.info.name.as_str(), least, most));
            }
        }
        found
    }

    /// Calls of tools that the suite does not declare, by arm: a tool under another name would not
    /// count as writing.
    fn undeclared_tools(&self) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        for arm in &self.arms {
            let store = self.stores[arm.store];
            let declared = store.suite()?.spec.tools;
            if declared.is_empty() {
                continue;
            }
            let called = store.called_tools(&arm.stored)?;
            let unknown: Vec<String> = called
                .iter()
                .filter(|(tool, _)| !declared.contains_key(*tool))
                .map(|(tool, calls)| format!("{tool} ({calls} calls)"))
                .collect();
            if !unknown.is_empty() {
                found.push((arm.info.name.clone(), unknown.join(", ")));
            }
        }
        Ok(found)
    }
}
