//! The judges behind quality: what a reviewer must know of the instrument.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Serialize;

use super::number::{self, number};
use super::{safe, words};
use crate::model::judging::{AskedJudge, AuditRow, CanaryRow, CertificateRow, JudgeRow};
use crate::model::report::Report;

/// One judge with what is said of it, line by line.
#[derive(Serialize)]
pub(super) struct JudgeLines {
    judge: String,
    lines: Vec<JudgeLine>,
}

/// One thing about a judge; `value` may hold names from files and is escaped, `number` is made here.
#[derive(Serialize)]
struct JudgeLine {
    what: &'static str,
    value: String,
    number: Value,
}

pub(super) fn judges(report: &Report) -> Vec<JudgeLines> {
    let several = report.judges.iter().any(|row| row.run != report.run.id);
    let one = |row: &JudgeRow| JudgeLines {
        judge: match several {
            true => format!("{} (run {})", row.judge, row.run),
            false => row.judge.clone(),
        },
        lines: lines(row),
    };
    report.judges.iter().map(one).collect()
}

fn lines(row: &JudgeRow) -> Vec<JudgeLine> {
    let mut lines = vec![
        line("Certificate", certificate(&row.certificate)),
        line("Model and pin", models(row)),
        line("Verdicts", verdicts(row)),
        line("Labels of this run", labels(row)),
    ];
    let Some(asked) = &row.asked else {
        lines.push(line(
            "Asked",
            "elsewhere: its verdicts were recorded, so neither blinding nor drift can be seen from here"
                .to_owned(),
        ));
        return lines;
    };
    lines.push(line("Canary", canary(asked)));
    lines.push(line("Blinding", hidden(&asked.hidden)));
    lines.push(audit(asked.audit.as_ref()));
    lines.push(line("Texts that speak to the judge", injections(asked)));
    if !asked.own_model.is_empty() {
        let text = format!("forced: {}", asked.own_model.join("; "));
        lines.push(line("**Judges its own model**", text));
    }
    lines
}

fn line(what: &'static str, value: String) -> JudgeLine {
    JudgeLine {
        what,
        value,
        number: safe(""),
    }
}

fn certificate(row: &CertificateRow) -> String {
    let reasons: Vec<String> = row
        .reasons
        .iter()
        .map(|code| words::certificate(code))
        .collect();
    let why = match reasons.is_empty() {
        true => String::new(),
        false => format!(": {}", reasons.join("; ")),
    };
    let behind = match (&row.labels, row.items, &row.split) {
        (Some(labels), Some(items), Some(split)) => {
            format!(" ({items} items of {labels}, part {split})")
        }
        _ => String::new(),
    };
    match row.standing.as_str() {
        "holds" => format!("passed, and holds for this run{behind}"),
        "refused" => format!("refused{why}{behind}; quality is uncalibrated"),
        "expired" => format!("of another version of the judge{behind}; quality is uncalibrated"),
        "withdrawn" => format!("does not hold for this run{why}; quality is uncalibrated"),
        _ => "none; quality is uncalibrated".to_owned(),
    }
}

fn models(row: &JudgeRow) -> String {
    let models = row
        .asked
        .as_ref()
        .map_or("not recorded".to_owned(), |a| a.models.join(", "));
    let pin = row.pin.as_deref().map_or("no pin".to_owned(), |pin| {
        format!("pin {}", pin.get(..12).unwrap_or(pin))
    });
    let drift = match &row.asked {
        Some(asked) if asked.drift => "; another model than the pinned one answered",
        Some(_) => "; no reply came from another model",
        None => "",
    };
    format!("{models}, {pin}{drift}")
}

fn verdicts(row: &JudgeRow) -> String {
    let stored = match (row.verdicts, &row.asked) {
        (0, Some(asked)) => format!("{} questions", asked.questions),
        (n, _) if row.pairs => format!("on {n} pairs"),
        (n, _) => n.to_string(),
    };
    match row.unusable.is_empty() {
        true => format!("{stored}, all usable"),
        false => format!("{stored}; unusable answers: {}", counts(&row.unusable)),
    }
}

/// `3 unparsable, 30 unauthorized`.
fn counts(of: &BTreeMap<String, u64>) -> String {
    let parts: Vec<String> = of
        .iter()
        .map(|(what, n)| format!("{n} {}", words::plain(what)))
        .collect();
    parts.join(", ")
}

fn by_arm(of: &BTreeMap<String, u64>) -> String {
    let parts: Vec<String> = of.iter().map(|(arm, n)| format!("{n} in {arm}")).collect();
    parts.join(", ")
}

fn with_candidate(of: &BTreeMap<String, u64>) -> String {
    let parts = of.iter().map(|(arm, n)| format!("{n} with {arm}"));
    parts.collect::<Vec<_>>().join(", ")
}

fn labels(row: &JudgeRow) -> String {
    match (row.labels.is_empty(), row.pairs) {
        (true, _) => "none".to_owned(),
        (false, true) => format!("labelled pairs: {}", with_candidate(&row.labels)),
        (false, false) => format!("labelled trials: {}", by_arm(&row.labels)),
    }
}

fn canary(asked: &AskedJudge) -> String {
    let withdrawn = asked
        .withdrawn
        .as_deref()
        .filter(|code| code.starts_with("canary"));
    let why = withdrawn.map_or(String::new(), |code| {
        format!(": {}", words::certificate(code))
    });
    match &asked.canary {
        None => "no labelled item was judged again".to_owned(),
        Some(CanaryRow { items: 0, .. }) => format!("there was no item to judge again{why}"),
        Some(CanaryRow {
            items,
            unusable,
            changed,
            shift_from,
            agree,
            agree_least,
        }) => {
            let from = shift_from.map_or(String::new(), |n| format!(" (a shift from {n} on)"));
            let agree = agree
                .zip(*agree_least)
                .map_or(String::new(), |(agree, least)| {
                    format!("; {agree} agree with people (a shift below {least})")
                });
            format!(
                "of {items} labelled items judged again, {changed} got another answer{from} and {unusable} none{agree}{why}"
            )
        }
    }
}

fn hidden(hidden: &BTreeMap<String, u64>) -> String {
    match hidden.values().any(|n| *n > 0) {
        false => "no name or id had to be hidden".to_owned(),
        true => format!("names and ids hidden: {}", by_arm(hidden)),
    }
}

fn audit(audit: Option<&AuditRow>) -> JudgeLine {
    let what = "Guess of the arm";
    let Some(audit) = audit else {
        return line(what, "not asked for (--audit-blinding)".to_owned());
    };
    let (Some(accuracy), Some(chance)) = (audit.accuracy, audit.chance) else {
        return line(what, "no usable guess, so nothing was tested".to_owned());
    };
    let found = match audit.told_apart {
        true => "**the blinding leaks**",
        false => "as chance would have it",
    };
    let text = format!(
        "{} of {} right, {} {}, chance {}: {found}",
        audit.right,
        audit.guesses,
        number(accuracy),
        number::interval(audit.low, audit.high, &[]),
        number(chance)
    );
    JudgeLine {
        what,
        value: String::new(),
        number: safe(text),
    }
}

fn injections(asked: &AskedJudge) -> String {
    match asked.injections {
        0 => "none was found".to_owned(),
        n => format!("{n}; suspected injections, listed in the judge's file under judging"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    fn page(row: JudgeRow) -> String {
        let report = Report {
            judges: vec![row],
            ..fixture::airline()
        };
        crate::report::markdown::render(&report, &[]).unwrap()
    }

    fn row(standing: &str, reasons: &[&str], asked: Option<AskedJudge>) -> JudgeRow {
        JudgeRow {
            run: fixture::airline().run.id,
            judge: "tone@1".into(),
            pin: Some("0123456789abcdef".into()),
            certificate: CertificateRow {
                standing: standing.into(),
                reasons: reasons.iter().map(|r| (*r).to_owned()).collect(),
                ..CertificateRow::default()
            },
            pairs: false,
            verdicts: 40,
            unusable: BTreeMap::from([("unauthorized".into(), 3)]),
            labels: BTreeMap::from([("gpt-4o".into(), 12)]),
            asked,
        }
    }

    #[test]
    fn a_reader_sees_the_state_of_the_instrument() {
        let asked = AskedJudge {
            models: vec!["verity-2026-01-01".into()],
            own_model: vec!["arm `<b>` is verity".into()],
            drift: true,
            withdrawn: Some("canary_shift".into()),
            canary: Some(CanaryRow {
                items: 20,
                unusable: 1,
                changed: 15,
                shift_from: Some(7),
                agree: Some(4),
                agree_least: Some(14),
            }),
            audit: Some(AuditRow {
                guesses: 0,
                right: 0,
                accuracy: None,
                low: None,
                high: None,
                chance: None,
                told_apart: false,
            }),
            hidden: BTreeMap::from([("gpt-4o".into(), 7)]),
            injections: 2,
            ..AskedJudge::default()
        };
        let text = page(row("withdrawn", &["canary_shift"], Some(asked)));
        for said in [
            "### tone@1",
            "| Certificate | does not hold for this run: its answers to the labelled items shifted; quality is uncalibrated |",
            "pin 0123456789ab; another model than the pinned one answered",
            "unusable answers: 3 unauthorized",
            "labelled trials: 12 in gpt-4o",
            "of 20 labelled items judged again, 15 got another answer (a shift from 7 on) and 1 none; 4 agree with people (a shift below 14)",
            "7 in gpt-4o",
            "no usable guess, so nothing was tested",
            "2; suspected injections",
            "**Judges its own model**",
        ] {
            assert!(text.contains(said), "{said}\n{text}");
        }
        assert!(!text.contains("<b>"), "{text}");
    }

    #[test]
    fn a_judge_of_pairs_counts_pairs() {
        let text = page(JudgeRow {
            pairs: true,
            verdicts: 120,
            unusable: BTreeMap::new(),
            labels: BTreeMap::from([("llama-3.1-8b".into(), 30)]),
            ..row("holds", &[], Some(AskedJudge::default()))
        });
        assert!(text.contains("| on 120 pairs, all usable |"), "{text}");
        assert!(
            text.contains("| labelled pairs: 30 with llama-3.1-8b |"),
            "{text}"
        );
    }

    #[test]
    fn recorded_verdicts_and_no_judges_say_so() {
        let text = page(row("refused", &["judge_near_chance"], None));
        assert!(
            text.contains("refused: the judge is too close to chance"),
            "{text}"
        );
        assert!(text.contains("its verdicts were recorded"), "{text}");
        let none = crate::report::markdown::render(&fixture::airline(), &[]).unwrap();
        assert!(!none.contains("## Judges"), "{none}");
    }
}
