//! Labels of people: CSV or JSON Lines, checked as a whole.

mod checks;
mod off_scale;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::scale::ScaleChoice;
use super::sheet::{ColumnMap, Columns, Sheet, SheetRow, optional};
use super::spelling::{Spellings, nfc};
use super::{VERDICT_KEYS, columns};
use crate::base::{ArmId, Digest, Error, ItemId, Notice, Result, TaskId};
use crate::load::nearest;
use crate::model::label::{Label, LabelSet, Split, binary_word, raters_disagree};
use checks::{blanks, check_items, check_repeats, merged_cases};
use off_scale::{off_scale_problems, slot};

/// The keys of a label file; `label.RATER` maps a wide table with one column per rater.
pub const LABEL_KEYS: [&str; 12] = [
    "item",
    "rater",
    "label",
    "adjudicated",
    "group",
    "split",
    "stratum",
    "probability",
    "arm",
    "task",
    "trial",
    "length",
];

/// Raters of these names adjudicate.
const ADJUDICATORS: [&str; 2] = ["adjudicated", "adjudicator"];

/// How labels are read.
#[derive(Clone, Debug, Default)]
pub struct LabelOptions {
    /// Columns under other names.
    pub map: ColumnMap,
    /// The scale, as far as it was declared.
    pub scale: ScaleChoice,
    /// A judge's prompt, whose own examples must not be among the items.
    pub prompt: Option<PathBuf>,
}

/// Reads and checks a file of labels.
///
/// `items.jsonl` beside it holds what raters saw, `key.csv` what a blinded sheet hid: arm, task, trial,
/// stratum and probability by item. A row without a label is a sheet that was not finished, and a
/// notice. Raters who contradict each other are data; one rater with two labels of an item is an error.
/// A label is adjudicated where a column `adjudicated` says yes, or its rater is called `adjudicated` or
/// `adjudicator`: it settles its item, whatever others said. Names of items and raters, and answers, are
/// compared in Unicode's composed form; two spellings of one are one, with a notice.
///
/// # Errors
///
/// Every problem at once, each with its line: missing columns, labels off the scale, a rater who
/// labels an item twice, two adjudicated labels of an item, columns whose names are nearly those of
/// keys, an item in both splits or with two groups, tasks, strata or probabilities,
/// probabilities outside (0, 1], and test items that repeat the prompt's own examples.
pub fn labels(file: &Path, options: &LabelOptions) -> Result<LabelSet> {
    let sheet = Sheet::read(file)?;
    let key = sheet_key(file)?;
    let mut reading = Reading {
        file,
        problems: vec![],
        blank: vec![],
        rows: vec![],
        spellings: Spellings::default(),
    };
    let columns = Known::of(&sheet, &options.map)?;
    let (mistyped, unread) = columns.unknown(&sheet);
    reading.problems.extend(mistyped);
    for row in &sheet.rows {
        reading.row(row, &columns, &key);
    }
    let answers = || reading.rows.iter().map(|r| r.answer.as_str());
    let scale = options.scale.settle(answers())?;
    let cases = merged_cases(&scale, answers());
    let (mut labels, mut off_scale) = (vec![], BTreeMap::<String, Vec<u64>>::new());
    for raw in std::mem::take(&mut reading.rows) {
        let Some(answer) = scale
            .code(&raw.answer)
            .or_else(|| slot(&scale, &raw.answer))
        else {
            off_scale
                .entry(raw.answer)
                .or_default()
                .push(raw.label.line);
            continue;
        };
        labels.push(Label {
            answer,
            ..raw.label
        });
    }
    reading
        .problems
        .extend(off_scale_problems(file, &scale, &off_scale));
    check_repeats(file, &labels, &mut reading.problems);
    check_items(file, &labels, &mut reading.problems);
    let mut notices: Vec<Notice> = unread.into_iter().chain(cases).collect();
    notices.extend(blanks(&reading.blank));
    notices.extend(std::mem::take(&mut reading.spellings).notices());
    super::items::check(
        file,
        &mut labels,
        options,
        &mut reading.problems,
        &mut notices,
    )?;
    if !reading.problems.is_empty() {
        reading.problems.sort_by_key(|p| p.line());
        return Err(super::combined(file, reading.problems));
    }
    notices.extend(raters_disagree(labels.iter()));
    let digest = digest(&labels, &scale.levels);
    Ok(LabelSet {
        name: name_of(file),
        scale,
        labels,
        digest,
        blank: reading.blank.len() as u64,
        notices,
    })
}

/// The folder's name where the file is called `labels`, else the file's.
fn name_of(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let full = crate::load::absolute(file);
    let folder = full
        .parent()
        .and_then(Path::file_name)
        .map(|n| n.to_string_lossy().into_owned());
    match folder {
        Some(folder) if stem == "labels" => folder,
        _ => stem.into_owned(),
    }
}

/// Digest of what labels say, whatever their order.
fn digest(labels: &[Label], levels: &[String]) -> Digest {
    let mut lines: Vec<String> = labels
        .iter()
        .map(|l| {
            let said = (&l.item, &l.rater, &levels[l.answer as usize], l.split);
            let said = (said, l.adjudicated);
            let place = (
                &l.group,
                &l.stratum,
                l.probability,
                &l.task,
                &l.arm,
                l.trial,
            );
            serde_json::to_string(&(said, place)).unwrap_or_default()
        })
        .collect();
    lines.sort_unstable();
    let parts: Vec<&str> = lines.iter().map(String::as_str).collect();
    Digest::of_parts(&parts)
}

/// What the blinded sheet of this folder hid, by item.
fn sheet_key(file: &Path) -> Result<HashMap<String, BTreeMap<String, String>>> {
    let path = file.with_file_name("key.csv");
    if !path.exists() {
        return Ok(HashMap::new());
    }
    let sheet = Sheet::read(&path)?;
    let Some(item) = sheet.column("item") else {
        return Err(Error::input("there is no column `item`").at(&path, 1));
    };
    let hidden = |row: &SheetRow| -> BTreeMap<String, String> {
        let cells = sheet.columns.iter().zip(&row.cells);
        cells
            .filter_map(|(c, v)| Some((c.clone(), v.clone()?)))
            .collect()
    };
    let rows = sheet
        .rows
        .iter()
        .filter_map(|row| Some((nfc(row.cells[item].clone()?), hidden(row))));
    Ok(rows.collect())
}

impl Known {
    /// Columns that no key names: mistyped ones, and a notice of the others.
    fn unknown(&self, sheet: &Sheet) -> (Vec<Error>, Option<Notice>) {
        let named = self.of.values().flatten();
        let answers = self.answers.iter().map(|(_, columns)| columns);
        let used: Vec<usize> = named
            .chain(answers)
            .flat_map(Columns::positions)
            .copied()
            .collect();
        let lacking = |key: &&str| match self.of.get(*key) {
            Some(columns) => columns.is_none(),
            None => false,
        };
        let keys: Vec<&str> = LABEL_KEYS.into_iter().filter(lacking).collect();
        columns::unknown(&sheet.file, sheet, &used, &keys, &VERDICT_KEYS)
    }
}

struct Known {
    of: HashMap<&'static str, Option<Columns>>,
    /// Rater and column of a wide table; a `None` rater is the one of the row.
    answers: Vec<(Option<String>, Columns)>,
}

impl Known {
    fn of(sheet: &Sheet, map: &ColumnMap) -> Result<Self> {
        let mut of = HashMap::new();
        for key in LABEL_KEYS {
            of.insert(key, map.find(sheet, key)?);
        }
        let mut answers = vec![];
        for (key, rater) in map.with_prefix("label.") {
            if let Some(columns) = map.find(sheet, &key)? {
                answers.push((Some(rater), columns));
            }
        }
        if let (true, Some(columns)) = (answers.is_empty(), of.remove("label").flatten()) {
            answers.push((None, columns));
        }
        let place = ["arm", "task", "trial"].iter().all(|k| of[k].is_some());
        let mut missing = vec![];
        if of["item"].is_none() && !place {
            missing.push("item");
        }
        if answers.is_empty() {
            missing.push("label");
        }
        if missing.is_empty() {
            return Ok(Self { of, answers });
        }
        let problems = missing.into_iter().map(|key| {
            let near = nearest::hint(key, sheet.columns.iter().map(String::as_str), "columns");
            Error::input(format!("there is no column `{key}`"))
                .at(&sheet.file, 1)
                .hint(format!("name it with `--map-labels {key}=COLUMN`; {near}"))
        });
        Err(super::combined(&sheet.file, problems.collect()))
    }
}

/// A label whose answer is still a text.
struct Raw {
    label: Label,
    answer: String,
}

struct Reading<'a> {
    file: &'a Path,
    problems: Vec<Error>,
    /// Lines of cells without a label.
    blank: Vec<u64>,
    rows: Vec<Raw>,
    spellings: Spellings,
}

impl Reading<'_> {
    fn parsed<T>(
        &mut self,
        text: Option<String>,
        line: u64,
        what: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = text?;
        let value = parse(&text);
        if value.is_none() {
            let message = format!("`{text}` is no {what}");
            self.problems
                .push(Error::input(message).at(self.file, line));
        }
        value
    }

    fn row(
        &mut self,
        row: &SheetRow,
        known: &Known,
        key: &HashMap<String, BTreeMap<String, String>>,
    ) {
        let line = row.line;
        let own = |name: &str| known.of.get(name).and_then(|c| optional(c, row));
        let named = own("item").map(|item| self.spellings.note("item", item, line));
        let hidden = named.as_ref().and_then(|item| key.get(item));
        let text = |name: &str| own(name).or_else(|| hidden.and_then(|h| h.get(name).cloned()));
        let (arm, task) = (text("arm").map(ArmId::new), text("task").map(TaskId::new));
        let trial = self.parsed(text("trial"), line, "trial number", |t| {
            t.parse::<u32>().ok()
        });
        let share = |t: &str| t.parse::<f64>().ok().filter(|p| *p > 0.0 && *p <= 1.0);
        let probability = self.parsed(text("probability"), line, "probability in (0, 1]", share);
        let above = |t: &str| t.parse::<f64>().ok().filter(|l| *l > 0.0 && l.is_finite());
        let length = self.parsed(text("length"), line, "length above 0", above);
        let split = self.parsed(text("split"), line, "split (dev or test)", Split::from_name);
        let yes = |t: &str| binary_word(t).map(|word| word == "pass");
        let settles = self.parsed(
            own("adjudicated"),
            line,
            "answer to `adjudicated` (yes or no)",
            yes,
        );
        let place = || Some(format!("{}/{}/{}", arm.as_ref()?, task.as_ref()?, trial?));
        // A trial of a run is known by its place, whatever code the blinded sheet gave it.
        let item = match hidden {
            Some(_) => place().or(named),
            None => named.or_else(place),
        };
        let Some(item) = item else {
            let problem = Error::input("the row names no item").at(self.file, line);
            return self.problems.push(problem);
        };
        let label = Label {
            item: ItemId::new(item),
            rater: String::new(),
            answer: 0,
            adjudicated: settles == Some(true),
            group: text("group").map(nfc),
            split,
            stratum: text("stratum").map(nfc),
            probability,
            task,
            arm,
            trial,
            length,
            line,
        };
        for (rater, columns) in &known.answers {
            let Some(answer) = columns.of(row) else {
                self.blank.push(line);
                continue;
            };
            let rater = rater
                .clone()
                .or_else(|| own("rater"))
                .unwrap_or_else(|| "rater".to_owned());
            let rater = self.spellings.note("rater", rater, line);
            let answer = self.spellings.note("level", answer, line);
            let adjudicator = ADJUDICATORS.iter().any(|a| rater.eq_ignore_ascii_case(a));
            self.rows.push(Raw {
                label: Label {
                    adjudicated: label.adjudicated || adjudicator,
                    rater,
                    ..label.clone()
                },
                answer,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_with(files: &[(&str, &str)], options: &LabelOptions) -> Result<LabelSet> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        labels(&folder.path().join("labels.csv"), options)
    }

    fn read(text: &str) -> Result<LabelSet> {
        read_with(&[("labels.csv", text)], &LabelOptions::default())
    }

    #[test]
    fn every_problem_is_named_with_its_line() {
        let wrong = read(
            "item,rater,label,split,probability\n\
             a,ann,pass,test,0.5\n\
             a,ann,pass,test,0.5\n\
             b,ann,pass,dev,0.5\n\
             b,bob,fail,test,0.5\n\
             c,ann,pass,test,1.5\n\
             d,ann,pass,tset,0.5\n\
             e,ann,pass,test,0.5\n\
             e,ann,fail,test,0.5\n",
        );
        let wrong = wrong.unwrap_err();
        let lines: Vec<_> = wrong.parts().iter().filter_map(|p| p.line()).collect();
        assert_eq!(lines, [3, 5, 6, 7, 9], "{wrong}");
    }

    #[test]
    fn labels_off_a_declared_scale_are_refused() {
        let options = LabelOptions {
            scale: ScaleChoice::parse(Some("binary:bad,good"), None).unwrap(),
            ..LabelOptions::default()
        };
        let wrong = read_with(&[("labels.csv", "item,label\na,good\nb,goood\n")], &options);
        let wrong = wrong.unwrap_err();
        assert_eq!(wrong.line(), Some(3));
        assert!(wrong.hints()[0].contains("good"));
    }

    #[test]
    fn an_unfinished_sheet_is_a_notice() {
        let set = read("item,rater,label\na,ann,pass\nb,ann,\n").unwrap();
        assert_eq!(
            (set.labels.len(), set.notices[0].code.as_str()),
            (1, "blank_labels")
        );
    }

    #[test]
    fn of_an_adjudicated_item_one_label_stands() {
        let set =
            read("item,rater,label\na,ann,pass\na,bob,fail\na,adjudicator,fail\nb,ann,pass\n");
        let set = set.unwrap();
        let standing = set.standing();
        let of = |l: &Label| (l.item.to_string(), l.rater.clone());
        assert_eq!(
            standing.iter().map(of).collect::<Vec<_>>(),
            [
                ("a".into(), "adjudicator".into()),
                ("b".into(), "ann".into())
            ]
        );
    }

    #[test]
    fn two_raters_may_disagree() {
        let set = read("item,rater,label\na,ann,pass\na,bob,fail\n").unwrap();
        assert_eq!(set.notices[0].code, "raters_disagree");
    }

    #[test]
    fn the_key_of_a_blinded_sheet_says_which_trial_it_was() {
        let files = [
            ("labels.csv", "item,rater,label\nq7,ann,pass\n"),
            (
                "key.csv",
                "item,arm,task,trial,stratum,probability\nq7,x,t1,2,task,0.25\n",
            ),
        ];
        let set = read_with(&files, &LabelOptions::default()).unwrap();
        assert_eq!(set.labels[0].item.as_str(), "x/t1/2");
        assert_eq!(set.labels[0].probability, Some(0.25));
    }

    #[test]
    fn examples_of_the_prompt_may_not_be_among_the_test_items() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let text = "Your order was refunded to the original card this morning.";
        std::fs::write(
            at("labels.csv"),
            "item,label,split\na,pass,test\nb,fail,test\n",
        )
        .unwrap();
        let items = format!(
            "{{\"item\":\"a\",\"output\":\"{text}\"}}\n{{\"item\":\"b\",\"output\":\"No.\"}}\n"
        );
        std::fs::write(at("items.jsonl"), items).unwrap();
        std::fs::write(at("prompt.txt"), format!("Example:\n{text}\nGood.")).unwrap();
        let options = LabelOptions {
            prompt: Some(at("prompt.txt")),
            ..LabelOptions::default()
        };
        let wrong = labels(&at("labels.csv"), &options).unwrap_err();
        assert_eq!(wrong.line(), Some(2));
        assert!(wrong.message().contains("example"));
        let set = labels(&at("labels.csv"), &LabelOptions::default()).unwrap();
        assert_eq!(set.labels[0].length, Some(text.chars().count() as f64));
    }
}
