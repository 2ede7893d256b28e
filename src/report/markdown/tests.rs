use proptest::prelude::*;

use super::*;
use crate::model::estimate::Gate;
use crate::model::measure::Dimension;
use crate::model::report::InfrastructureRow;
use crate::report::csv::tests::hostile;
use crate::report::fixture;

fn airline() -> String {
    render(&fixture::airline(), &fixture::disagreements()).unwrap()
}

#[test]
fn the_airline_run() {
    insta::with_settings!({prepend_module_to_snapshot => false, snapshot_path => "../snapshots"}, {
        insta::assert_snapshot!("report.md", airline());
    });
}

/// A block tag swallows the end of its line, so that a line of text which ends with one runs into the next
/// unless a blank line follows.
#[test]
fn no_line_of_a_template_runs_into_the_next() {
    let calibration = include_str!("../../../reports/calibration.md.j2");
    for (name, template) in [("report", TEMPLATE), ("calibration", calibration)] {
        let at = template.find("{% set").unwrap_or(0);
        let lines: Vec<&str> = template[at..].lines().collect();
        for pair in lines.windows(2) {
            let is_text = !pair[0].starts_with("{%") && !pair[0].starts_with("{#");
            let swallows = is_text && pair[0].ends_with("%}");
            let joins = !pair[1].is_empty() && !pair[1].starts_with("{%-");
            assert!(!(swallows && joins), "{name}: {}\n{}", pair[0], pair[1]);
        }
    }
}

fn edited(edit: impl FnOnce(&mut Report)) -> String {
    let mut report = fixture::airline();
    edit(&mut report);
    render(&report, &[]).unwrap()
}

#[test]
fn a_loss_that_is_shown_within_an_open_margin_is_said_in_every_place() {
    let text = edited(|report| {
        let rows = report.comparisons.iter_mut();
        let mut rows = rows.filter(|r| r.metric == "success_rate" && r.segment.is_none());
        let row = rows.next().unwrap();
        row.decision = crate::model::estimate::DecisionWord::Inconclusive;
        row.reason = None;
        (row.value, row.low, row.high) = (Some(-0.19), Some(-0.3264), Some(-0.0182));
        row.margin = Some(0.1);
        row.notices = vec!["measurably_lower".to_owned()];
        let rules = report.gate.rules.iter_mut();
        for rule in rules.filter(|r| r.metric == "success_rate") {
            (rule.rule, rule.margin) = ("non_inferior".into(), Some(0.1));
            (rule.result, rule.reason) = ("inconclusive".into(), Some("inconclusive".into()));
        }
    });
    let said = "measurably worse, by up to .3264; not shown to be beyond the margin";
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(said)).collect();
    assert!(
        lines.iter().any(|l| l.contains("| **inconclusive** |")),
        "{text}"
    );
    assert!(
        lines
            .iter()
            .any(|l| l.contains("| inconclusive: measurably")),
        "{text}"
    );
    assert!(
        text.contains("success rate, but measurably worse)"),
        "{text}"
    );
}

#[test]
fn why_a_rule_is_not_met_is_no_reason_to_meet_another() {
    let text = edited(|report| {
        let rule = &mut report.gate.rules[0];
        (rule.rule, rule.margin) = ("superior".into(), None);
        (rule.result, rule.reason) = (
            "inconclusive".into(),
            Some("non_inferior; exploratory".into()),
        );
    });
    assert!(
        text.contains("the candidate is not shown to be better, only not to be worse by more than the margin; too few tasks to decide by |"),
        "{text}"
    );
}

#[test]
fn bounds_of_recovery_speak_of_faults_that_were_not_reached() {
    let text = edited(|report| {
        let rows = report.estimates.iter_mut();
        let mut rows = rows.filter(|r| r.metric == "success_rate" && r.segment.is_none());
        let mut row = rows.next().unwrap().clone();
        row.dimension = Dimension::Recovery;
        row.metric = "recovery_rate".to_owned();
        row.bounds = Some([0.85, 1.0]);
        report
            .estimates
            .retain(|r| r.dimension != Dimension::Recovery);
        report.estimates.push(row);
    });
    assert!(
        text.contains(
            ".8500 to 1 whatever the trials that never reached the fault would have done"
        ),
        "{text}"
    );
}

#[test]
fn decision_comes_first_and_findings_name_events() {
    let text = airline();
    let top: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(top[0], "# May llama-3.1-8b replace gpt-4o?");
    assert!(
        top[2].starts_with("**The gate failed** (exit code 1)."),
        "{}",
        top[2]
    );
    assert!(text.contains(
        "llama-3.1-8b: must_ask_before_write (permission): wrote before saying anything to the user in **42 of 45** trials that wrote; e.g. task-3 trial 0, events 2, 3:"
    ));
    assert!(text.contains("**37 of 50 tasks had different user texts in the two arms**"));
    assert!(text.contains("742 tasks in all"));
}

#[test]
fn without_rules_nothing_was_decided() {
    let mut report = fixture::airline();
    report.gate = Gate {
        result: "none".into(),
        exit_code: 0,
        rules: vec![],
    };
    let text = render(&report, &[]).unwrap();
    assert!(text.contains("**Nothing was decided** (exit code 0)"));
    assert!(!text.contains("| Rule | Result |"));
}

#[test]
fn infrastructure_stands_apart_from_failures() {
    let mut report = fixture::airline();
    report.gate.result = "infrastructure".into();
    report.gate.exit_code = 4;
    report.infrastructure.push(InfrastructureRow {
        arm: "llama-3.1-8b".into(),
        boundary: "provider".into(),
        code: "http_503".into(),
        trials: 30,
    });
    let lost = report
        .accounting
        .iter_mut()
        .filter(|row| row.arm == "llama-3.1-8b");
    lost.for_each(|row| row.excluded = [("provider".to_owned(), 30)].into());
    let text = render(&report, &[]).unwrap();
    assert!(text.contains("**The gate is undecided: infrastructure** (exit code 4)."));
    assert!(text.contains("| 30 provider | sen_cp |"));
    assert!(text.contains("\n| llama-3.1-8b | provider | http_503 | 30 |\n"));
}

#[test]
fn a_level_of_its_own_and_an_unlocked_comparison_say_so() {
    let mut report = fixture::airline();
    report.comparisons[0].level = 0.9;
    report.comparisons[0].locked = false;
    let text = render(&report, &[]).unwrap();
    assert!(text.contains("[−.2180,\u{a0}.0501] (90 %)"));
    assert!(text.contains("inconclusive: deviates from the locked plan"));
}

#[test]
fn an_empty_report_still_renders() {
    let mut report = fixture::airline();
    report.accounting.clear();
    report.estimates.clear();
    report.comparisons.clear();
    report.screens.clear();
    report.rules.clear();
    report.input_differs = None;
    report.gate.rules.clear();
    report.arms.clear();
    let text = render(&report, &[]).unwrap();
    assert!(text.starts_with("# Report on suite airline\n"));
    assert!(text.contains("No dimension was measured."));
}

#[test]
fn headings_and_tables_stand_free() {
    let text = airline();
    let lines: Vec<&str> = text.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        let before = i.checked_sub(1).map_or("", |b| lines[b]);
        if line.starts_with('#') {
            assert!(before.is_empty() && lines[i + 1].is_empty(), "{line}");
        }
        if line.starts_with('|') && !before.starts_with('|') {
            assert!(before.is_empty(), "a table follows text: {before}");
        }
        assert!(
            !(line.is_empty() && before.is_empty()) || i == 0,
            "two blank lines at {i}"
        );
        assert!(!line.ends_with(' '), "trailing blank: {line}");
    }
}

/// The first character and the number of pipes of each line, and the headings: what a text must not
/// be able to change.
fn structure(markdown: &str) -> Vec<(char, usize)> {
    let lines = markdown.split('\n');
    lines
        .map(|line| {
            (
                line.chars().next().unwrap_or(' '),
                line.matches('|').count(),
            )
        })
        .collect()
}

/// Every table has as many cells in each row as in its header.
fn tables_are_even(markdown: &str) -> bool {
    let mut width = None;
    markdown.split('\n').all(|line| {
        let pipes = line.matches('|').count();
        if !line.starts_with('|') {
            width = None;
            return pipes == 0;
        }
        *width.get_or_insert(pipes) == pipes && line.ends_with('|')
    })
}

#[test]
fn tables_are_even_without_hostile_text() {
    assert!(tables_are_even(&airline()));
}

fn hostile_report(pool: &[String]) -> (Report, Vec<DisagreementRow>) {
    let mut texts = pool.iter().cycle().cloned();
    let mut next = || texts.next().unwrap();
    let report = fixture::with_texts(&fixture::airline(), &mut next);
    let rows = fixture::disagreements()
        .into_iter()
        .map(|row| DisagreementRow {
            task: next(),
            segment: row.segment.map(|_| next()),
            arm_a: next(),
            evidence_a: next(),
            arm_b: next(),
            evidence_b: next(),
            stratum: next(),
            ..row
        });
    let rows = rows.collect();
    (report, rows)
}

#[test]
fn known_attacks_change_nothing() {
    for attack in [
        "a | b | c",
        "x\n| y | z |\n|---|---|\n",
        "\n\n# heading\n\n",
        "</td></tr></table><script>alert(1)</script>",
        "`code` ``more`` ```\nfence",
        "[link](http://example.org) ![image](x) <http://example.org>",
        "a\u{2028}| b |\u{2029}c\u{85}| d |",
        "\u{202e}evil\u{202c} \u{2066}x",
        "\u{5d0}\u{5d1} | \u{627}",
        "\\| \\\\| \\",
        "**bold** __x__ ~~y~~ $z$",
        "\0\u{1}\u{1b}[31m",
        "- item\n1. item\n> quote",
    ] {
        // One text at a time, distinct per place, as a report would hold them.
        let pool: Vec<String> = (0..97).map(|i| format!("{attack}{i}")).collect();
        let (report, rows) = hostile_report(&pool);
        let text = render(&report, &rows).unwrap();
        assert!(tables_are_even(&text), "{attack:?}");
        assert!(
            !text.contains("<script") && !text.contains('`'),
            "{attack:?}"
        );
        assert!(!text.contains(['\u{202e}', '\u{2028}', '\u{2029}', '\u{85}', '\r', '\0']));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_breaks_a_table(pool in prop::collection::vec(hostile(), 1..40)) {
        let (report, rows) = hostile_report(&pool);
        let text = render(&report, &rows).unwrap();
        prop_assert!(tables_are_even(&text));
        // The same report with harmless texts, equal where the hostile ones are equal.
        let names: Vec<String> = pool.iter().map(|t| {
            let place = pool.iter().position(|other| other == t).unwrap();
            format!("name{place}")
        }).collect();
        let (report, rows) = hostile_report(&names);
        let harmless = render(&report, &rows).unwrap();
        prop_assert_eq!(structure(&text).len(), structure(&harmless).len());
    }
}
