//! Labels of a run: what they can do, and what people disagree on.

use crate::common::{Done, Place, Report};
use crate::judged_quality::{certify, fill, recorded};

const JUDGE: &str =
    "judge run --verdicts verdicts.csv --certificate gold/certificates/calibration.json";

fn notice<'a>(report: &'a Report, code: &str) -> Option<&'a str> {
    let notices = report.0["notices"].as_array().unwrap();
    let found = notices.iter().find(|n| n["code"] == code)?;
    found["text"].as_str()
}

fn says(done: &Done, text: &str) {
    assert!(done.stderr.contains(text), "{text}: {}", done.stderr);
}

fn labelled(tasks: usize) -> Place {
    let place = recorded(120);
    certify(&place);
    place.expect(0, &format!("label-sample run -n {tasks}"));
    fill(&place);
    place
}

#[test]
fn raters_who_part_are_said_and_shown() {
    let place = labelled(60);
    let labels = place.read("run/labels/labels.csv");
    // Bob labels everything that ann does and differs on the first 47.
    let rows: String = labels
        .lines()
        .skip(1)
        .enumerate()
        .map(|(at, line)| {
            let (item, label) = (line.split(',').next().unwrap(), line.ends_with('1'));
            let said = u8::from(label != (at < 47));
            format!("{item},bob,{said}\n")
        })
        .collect();
    place.write("run/labels/labels.csv", format!("{labels}{rows}"));
    let done = place.expect(0, &format!("{JUDGE} --labels run/labels/labels.csv"));
    says(&done, "raters disagree on 47 of 120 items");
    place.assize("compare run");
    let report = place.report("run");
    let said = notice(&report, "raters_disagree").unwrap();
    assert!(said.contains("47 of 120") && said.contains("where they are even"));
    assert!(notice(&report, "labels_not_drawn").is_none());
    let page = place.read("run/report/report.md");
    assert!(page.contains("raters disagree on 47 of 120"), "{page}");
    let sample = place.read("run/report/judge_disagreements.csv");
    let of_people = sample.lines().filter(|l| l.starts_with("rater_vs_rater"));
    // Three of each stratum: who says pass and who fail is one stratum.
    assert_eq!(of_people.count(), 3, "{sample}");

    // An adjudicated label settles its item.
    let settled: String = labels
        .lines()
        .skip(1)
        .map(|line| {
            format!(
                "{},adjudicator,{}\n",
                line.split(',').next().unwrap(),
                &line[line.len() - 1..]
            )
        })
        .collect();
    place.write("run/labels/labels.csv", format!("{labels}{rows}{settled}"));
    let done = place.expect(0, &format!("{JUDGE} --labels run/labels/labels.csv"));
    assert!(!done.stderr.contains("disagree"), "{}", done.stderr);
}

#[test]
fn labels_that_nobody_drew_are_said_to_correct_nothing() {
    let place = labelled(60);
    let outcomes = place.read("results.csv");
    let by_hand: String = outcomes
        .lines()
        .skip(1)
        .step_by(4)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{},ann,{}\n", cells[0], cells[1], cells[2], cells[3])
        })
        .collect();
    place.write("hand.csv", format!("arm,task,trial,rater,label\n{by_hand}"));
    let done = place.expect(0, &format!("{JUDGE} --labels hand.csv"));
    says(&done, "of 120 labelled items 0 were drawn by design");
    assert!(!done.stderr.contains("are used"), "{}", done.stderr);
    place.expect(3, "compare run");
    let report = place.report("run");
    assert!(
        notice(&report, "labels_not_drawn")
            .unwrap()
            .contains("correct nothing")
    );
    assert_eq!(
        report.estimate("new", "tone.rate")["method"],
        "lang_reiczigel_checked"
    );

    let done = place.expect(0, &format!("{JUDGE} --labels run/labels/labels.csv"));
    says(&done, "have a label and are used");
    assert!(!done.stderr.contains("drawn by design"), "{}", done.stderr);
}

#[test]
fn verdicts_off_the_scale_are_counted_and_bound_the_rate() {
    let place = labelled(60);
    let verdicts = place.read("verdicts.csv").replacen(",pass", ",PASS!!", 12);
    place.write("verdicts.csv", verdicts);
    let done = place.expect(0, &format!("{JUDGE} --labels run/labels/labels.csv"));
    says(
        &done,
        "12 of 480 answers of the judge cannot be used (12 out_of_scale)",
    );
    place.assize("compare run");
    let report = place.report("run");
    assert_eq!(report.0["judges"][0]["unusable"]["out_of_scale"], 12);
    // Only the old arm lost verdicts: 12 of 240 trials in tasks of two.
    let old = report.estimate("old", "tone.rate");
    let value = old["value"].as_f64().unwrap();
    let bounds = [0, 1].map(|at| old["bounds"][at].as_f64().unwrap());
    crate::common::near(&bounds[0].into(), value - 0.05, 1e-9);
    crate::common::near(&bounds[1].into(), (value + 0.05).min(1.0), 1e-9);
    assert!(report.estimate("new", "tone.rate")["bounds"].is_null());
}

#[test]
fn a_sheet_of_nothing_is_refused_for_what_it_is() {
    let place = recorded(20);
    for pairs in ["", "--pairs"] {
        let done = place.expect(2, &format!("label-sample run -n 0 {pairs}"));
        assert!(done.error().contains("`-n 0`"), "{}", done.error());
    }
}

#[test]
fn a_file_of_verdicts_without_rows_changes_nothing() {
    let place = recorded(20);
    place.write("empty.csv", "arm,task,trial,judge,verdict\n");
    let done = place.expect(2, "judge run --verdicts empty.csv");
    assert!(
        done.error().contains("empty.csv") && done.error().contains("no verdict"),
        "{}",
        done.error()
    );
}

#[test]
fn a_certificate_of_another_version_is_not_said_to_have_passed() {
    let place = recorded(20);
    certify(&place);
    let pin = "a".repeat(64);
    let plain = place.read("verdicts.csv");
    let pinned: String = plain
        .lines()
        .enumerate()
        .map(|(at, line)| match at {
            0 => format!("{line},pin\n"),
            _ => format!("{line},{pin}\n"),
        })
        .collect();
    place.write("verdicts.csv", pinned);
    let done = place.expect(0, JUDGE);
    says(&done, "pins differ");
    assert!(
        done.stdout.contains("certificate: expired"),
        "{}",
        done.stdout
    );
    place.expect(3, "compare run");
    let row = place.report("run").estimate("new", "tone.rate").clone();
    assert_eq!(row["reason"], "certificate_expired");
    // The judge's own rate, which nobody corrected.
    assert_eq!(row["method"], "sen_cp");
    // Verdicts that take their place bring their own pin, or none.
    place.write("verdicts.csv", plain);
    place.expect(0, JUDGE);
    place.expect(3, "compare run");
    let row = place.report("run").estimate("new", "tone.rate").clone();
    assert_ne!(row["reason"], "certificate_expired");
}
