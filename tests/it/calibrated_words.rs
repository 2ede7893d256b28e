//! What `assize calibrate` does with answers that labels do not have, and with files that hold nothing.

use serde_json::Value;

use crate::common::Place;

const CALIBRATE: &str = "calibrate --labels labels.csv --verdicts verdicts.csv --out out --replicates 400 --format json --threshold accuracy=0.5";

/// 100 items on two levels; the judge is right but for `odd` of them, where it answers `answer`.
fn place(levels: [&str; 2], odd: usize, answer: &str) -> Place {
    let place = Place::new();
    let (mut labels, mut verdicts) = (
        "item,rater,label\n".to_owned(),
        "item,judge,verdict\n".to_owned(),
    );
    for i in 0..100 {
        let label = levels[i % 2];
        let said = if i < odd { answer } else { label };
        labels.push_str(&format!("i{i:03},ann,{label}\n"));
        verdicts.push_str(&format!("i{i:03},tone,{said}\n"));
    }
    place.write("labels.csv", labels);
    place.write("verdicts.csv", verdicts);
    place
}

fn accuracy(stdout: &str) -> Value {
    let certificate: Value = serde_json::from_str(stdout).unwrap();
    let rows = certificate["slices"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|r| r["name"] == "accuracy").unwrap();
    row["value"].clone()
}

#[test]
fn a_level_that_people_never_chose_must_be_declared() {
    let place = place(["fine", "so-so"], 10, "bad");
    let done = place.expect(2, CALIBRATE);
    for said in [
        "`bad` (10)",
        "fine, so-so",
        "--scale 'nominal:fine,so-so,bad'",
        "verdicts.csv",
    ] {
        assert!(done.error().contains(said), "{said}: {}", done.error());
    }
    // Nothing was looked at, and nothing certified.
    assert!(!place.path("out").exists() && !place.path("labels.looks.json").exists());
    let declared = place.expect(0, &format!("{CALIBRATE} --scale nominal:fine,so-so,bad"));
    assert_eq!(accuracy(&declared.stdout), 0.9);
}

#[test]
fn words_that_say_that_nothing_came_are_no_levels() {
    for word in ["", "error", "N/A", "unparsable"] {
        let place = place(["fine", "so-so"], 9, word);
        place.expect(0, CALIBRATE);
    }
}

#[test]
fn a_rater_who_always_says_the_same_makes_no_perfect_judge() {
    let place = place(["Acceptable", "Acceptable"], 10, "Not acceptable");
    let done = place.expect(2, CALIBRATE);
    assert!(
        done.error().contains("`Not acceptable` (10)"),
        "{}",
        done.error()
    );
    let scale = "--scale binary:Rejected,Acceptable";
    place.write(
        "verdicts.csv",
        place
            .read("verdicts.csv")
            .replace("Not acceptable", "Rejected"),
    );
    let declared = place.expect(1, &format!("{CALIBRATE} {scale}"));
    assert_eq!(accuracy(&declared.stdout), 0.9);
}

#[test]
fn another_version_may_not_answer_foreign_words_either() {
    let place = place(["fine", "so-so"], 9, "so-so");
    let other = place.read("verdicts.csv").replacen(",fine", ",awful", 3);
    place.write("old.csv", other.replace("tone", "tone0"));
    let done = place.expect(2, &format!("{CALIBRATE} --against old.csv"));
    assert!(done.error().contains("`awful` (3)"), "{}", done.error());
}

#[test]
fn files_with_a_header_alone_are_errors() {
    let place = place(["fine", "so-so"], 0, "");
    let labels = place.read("labels.csv");
    place.write("labels.csv", "item,rater,label\n");
    let done = place.expect(2, CALIBRATE);
    assert!(
        done.error().contains("labels.csv") && done.error().contains("no label"),
        "{}",
        done.error()
    );
    place.write("labels.csv", labels);
    place.write("verdicts.csv", "item,judge,verdict\n");
    let done = place.expect(2, CALIBRATE);
    assert!(
        done.error().contains("verdicts.csv") && done.error().contains("no verdict"),
        "{}",
        done.error()
    );
}
