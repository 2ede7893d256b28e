//! Recorded verdicts: one row per item, judge, repeat and order.

use std::collections::HashMap;
use std::path::Path;

use super::sheet::{ColumnMap, Columns, Sheet, SheetRow, optional};
use super::spelling::nfc;
use super::{LABEL_KEYS, columns};
use crate::base::{ArmId, Digest, Error, ItemId, JudgeId, Observation, Result, TaskId};
use crate::load::nearest;
use crate::model::verdict::{Identity, Order, Verdict, VerdictSet, unusable};

/// The keys of a verdict file; `verdict.ORDER` maps a wide table with one column per order.
pub const VERDICT_KEYS: [&str; 13] = [
    "item", "judge", "repeat", "order", "verdict", "score", "arm", "group", "task", "trial", "pin",
    "identity", "reason",
];

/// Words by which other tools say that a verdict could not be read.
const UNREADABLE: [&str; 7] = [
    "garbage",
    "unparsable",
    "unparseable",
    "parse_error",
    "invalid",
    "error",
    "n/a",
];

/// Reads recorded verdicts; `judge` names the judge where the table does not.
///
/// An empty verdict is missing, and a word that says so is unparsable: neither is ever a failure. What
/// is off the scale is found later, where the scale is known.
///
/// # Errors
///
/// If a column is missing or nearly called like a key, there is no row, or a row lacks its item, has a wrong repeat, order, score or identity, or
/// repeats another; every row at once, each with its line.
pub fn verdicts(file: &Path, map: &ColumnMap, judge: Option<&str>) -> Result<VerdictSet> {
    let sheet = Sheet::read(file)?;
    let columns = Known::of(&sheet, map)?;
    let mut read = Reading {
        file,
        problems: columns.mistyped(&sheet),
        seen: HashMap::new(),
        verdicts: vec![],
    };
    for row in &sheet.rows {
        for (answer, order) in &columns.answers {
            read.row(row, &columns, answer, *order, judge.unwrap_or("judge"));
        }
    }
    if !read.problems.is_empty() {
        return Err(super::combined(file, read.problems));
    }
    if read.verdicts.is_empty() {
        return Err(Error::input("the file holds no verdict, only its header")
            .at(file, 1)
            .hint("one row per item that the judge was asked about; leave the answer blank where none came"));
    }
    let digest = digest(&read.verdicts);
    Ok(VerdictSet {
        verdicts: read.verdicts,
        digest,
    })
}

/// Digest of what verdicts say, whatever their order.
pub fn digest(verdicts: &[Verdict]) -> Digest {
    let mut lines: Vec<String> = verdicts
        .iter()
        .map(|v| {
            let line = (
                &v.item, &v.judge, &v.pin, v.repeat, v.order, &v.answer, v.score,
            );
            let place = (&v.arm, &v.task, v.trial, &v.group, v.identity);
            // Neither tuple holds what JSON could not say.
            serde_json::to_string(&(line, place)).unwrap_or_default()
        })
        .collect();
    lines.sort_unstable();
    let parts: Vec<&str> = lines.iter().map(String::as_str).collect();
    Digest::of_parts(&parts)
}

struct Known {
    item: Option<Columns>,
    answers: Vec<(Columns, Option<Order>)>,
    of: HashMap<&'static str, Option<Columns>>,
}

impl Known {
    fn of(sheet: &Sheet, map: &ColumnMap) -> Result<Self> {
        let mut of = HashMap::new();
        for key in VERDICT_KEYS {
            of.insert(key, map.find(sheet, key)?);
        }
        let mut answers = vec![];
        for (key, order) in map.with_prefix("verdict.") {
            let known = Order::from_name(&order).ok_or_else(|| {
                Error::input(format!("`{order}` in `{key}` is no order"))
                    .hint("use `verdict.a_first` and `verdict.b_first`")
            })?;
            if let Some(columns) = map.find(sheet, &key)? {
                answers.push((columns, Some(known)));
            }
        }
        if let (true, Some(columns)) = (answers.is_empty(), of.remove("verdict").flatten()) {
            answers.push((columns, None));
        }
        let item = of.remove("item").flatten();
        let places = ["arm", "task", "trial"].iter().all(|k| of[k].is_some());
        let mut missing = vec![];
        if item.is_none() && !places {
            missing.push("item");
        }
        if answers.is_empty() {
            missing.push("verdict");
        }
        if missing.is_empty() {
            return Ok(Self { item, answers, of });
        }
        let problems = missing.into_iter().map(|key| {
            let near = nearest::hint(key, sheet.columns.iter().map(String::as_str), "columns");
            Error::input(format!("there is no column `{key}`"))
                .at(&sheet.file, 1)
                .hint(format!("name it with `--map {key}=COLUMN`; {near}"))
        });
        Err(super::combined(&sheet.file, problems.collect()))
    }

    /// Columns that are nearly called like a key; others are the tool's that wrote the file.
    fn mistyped(&self, sheet: &Sheet) -> Vec<Error> {
        let named = self.of.values().flatten().chain(&self.item);
        let answers = self.answers.iter().map(|(columns, _)| columns);
        let used: Vec<usize> = named
            .chain(answers)
            .flat_map(Columns::positions)
            .copied()
            .collect();
        let lacking = |key: &&str| self.of.get(*key).is_some_and(Option::is_none);
        let keys: Vec<&str> = VERDICT_KEYS.into_iter().filter(lacking).collect();
        columns::unknown(&sheet.file, sheet, &used, &keys, &LABEL_KEYS).0
    }

    fn text(&self, key: &str, row: &SheetRow) -> Option<String> {
        self.of.get(key).and_then(|columns| optional(columns, row))
    }
}

/// Judge, item, repeat, order and identity: what no two verdicts share.
type Key = (String, String, u32, Option<Order>, Option<Identity>);

struct Reading<'a> {
    file: &'a Path,
    problems: Vec<Error>,
    seen: HashMap<Key, u64>,
    verdicts: Vec<Verdict>,
}

impl Reading<'_> {
    fn problem(&mut self, line: u64, message: String) {
        self.problems
            .push(Error::input(message).at(self.file, line));
    }

    /// Reads a cell with `parse`; a cell that is there and cannot be read is a problem.
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
            self.problem(line, format!("`{text}` is no {what}"));
        }
        value
    }

    fn row(
        &mut self,
        row: &SheetRow,
        known: &Known,
        answer: &Columns,
        order: Option<Order>,
        judge: &str,
    ) {
        let line = row.line;
        let text = |key: &str| known.text(key, row);
        let whole = |t: &str| t.parse::<u32>().ok();
        let number = |t: &str| t.parse::<f64>().ok().filter(|n| n.is_finite());
        let (arm, task) = (text("arm").map(ArmId::new), text("task").map(TaskId::new));
        let trial = self.parsed(text("trial"), line, "trial number", whole);
        let repeat = self
            .parsed(text("repeat"), line, "repeat number", whole)
            .unwrap_or(0);
        let score = self.parsed(text("score"), line, "score", number);
        let named = self.parsed(
            text("order"),
            line,
            "order (a_first or b_first)",
            Order::from_name,
        );
        let identity = self.parsed(
            text("identity"),
            line,
            "identity (own, other, blinded or revealed)",
            Identity::from_name,
        );
        let own = known.item.as_ref().and_then(|c| c.of(row)).map(nfc);
        let place = || Some(format!("{}/{}/{}", arm.as_ref()?, task.as_ref()?, trial?));
        let Some(item) = own.or_else(place) else {
            return self.problem(line, "the row names no item".to_owned());
        };
        let verdict = Verdict {
            item: ItemId::new(item),
            judge: JudgeId::new(text("judge").unwrap_or_else(|| judge.to_owned())),
            pin: text("pin").map(Digest::from_hex),
            repeat,
            order: order.or(named),
            answer: self::answer(answer.of(row).map(nfc), text("reason")),
            score,
            arm,
            task,
            trial,
            group: text("group").map(nfc),
            identity,
            line,
        };
        self.keep(verdict);
    }

    fn keep(&mut self, verdict: Verdict) {
        let Verdict {
            item,
            judge,
            repeat,
            order,
            identity,
            line,
            ..
        } = &verdict;
        let key = (
            judge.to_string(),
            item.to_string(),
            *repeat,
            *order,
            *identity,
        );
        if let Some(first) = self.seen.insert(key, *line) {
            let message = format!(
                "judge `{judge}` answers item `{item}` twice (repeat {repeat}); first in line {first}"
            );
            let hint = "number repeats in a column `repeat`, orders in a column `order`";
            self.problems
                .push(Error::input(message).at(self.file, *line).hint(hint));
        }
        self.verdicts.push(verdict);
    }
}

fn answer(text: Option<String>, reason: Option<String>) -> Observation<String> {
    match text {
        None => Observation::Missing(reason.unwrap_or_else(|| unusable::MISSING.to_owned())),
        Some(word) if UNREADABLE.iter().any(|u| word.eq_ignore_ascii_case(u)) => {
            Observation::Missing(unusable::UNPARSABLE.to_owned())
        }
        Some(word) => Observation::Value(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, map: &[&str]) -> Result<VerdictSet> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("v.csv");
        std::fs::write(&file, text).unwrap();
        let entries: Vec<String> = map.iter().map(|m| (*m).to_owned()).collect();
        let map = ColumnMap::parse(&entries, &VERDICT_KEYS, &["verdict."])?;
        verdicts(&file, &map, None)
    }

    #[test]
    fn an_empty_verdict_is_missing_and_never_a_failure() {
        let set = read("item,verdict\na,pass\nb,\nc,garbage\n", &[]).unwrap();
        assert_eq!(
            set.verdicts[0].answer,
            Observation::Value("pass".to_owned())
        );
        assert_eq!(set.verdicts[1].answer.reason(), Some(unusable::MISSING));
        assert_eq!(set.verdicts[2].answer.reason(), Some(unusable::UNPARSABLE));
    }

    #[test]
    fn a_header_alone_is_an_error() {
        let wrong = read("item,judge,verdict\n", &[]).unwrap_err();
        assert!(wrong.message().contains("no verdict") && wrong.line() == Some(1));
        assert!(!wrong.hints().is_empty());
    }

    #[test]
    fn every_wrong_row_is_named() {
        let wrong = read(
            "item,verdict,repeat\na,pass,0\na,fail,0\nb,pass,x\n,pass,0\n",
            &[],
        );
        let wrong = wrong.unwrap_err();
        let lines: Vec<_> = wrong.parts().iter().map(|p| p.line()).collect();
        assert_eq!(lines, [Some(3), Some(4), Some(5)]);
        let wrong = read("id,answer\na,pass\n", &[]).unwrap_err();
        assert_eq!(wrong.parts().len(), 2);
    }

    #[test]
    fn a_wide_table_has_a_column_per_order() {
        let map = ["item=id", "verdict.original=one", "verdict.swapped=two"];
        let set = read("id,one,two\na,1,2\n", &map).unwrap();
        let orders: Vec<_> = set.verdicts.iter().map(|v| v.order).collect();
        assert_eq!(orders, [Some(Order::AFirst), Some(Order::BFirst)]);
    }

    #[test]
    fn a_trial_of_a_run_is_an_item() {
        let set = read("arm,task,trial,verdict\nx,t,0,pass\n", &[]).unwrap();
        assert_eq!(set.verdicts[0].item.as_str(), "x/t/0");
        assert_eq!(set.verdicts[0].trial_key().unwrap().index, 0);
    }

    #[test]
    fn the_digest_does_not_depend_on_the_order_of_rows() {
        let one = read("item,verdict\na,pass\nb,fail\n", &[]).unwrap();
        let two = read("item,verdict\nb,fail\na,pass\n", &[]).unwrap();
        let other = read("item,verdict\nb,fail\na,fail\n", &[]).unwrap();
        assert!(one.digest == two.digest && one.digest != other.digest);
    }
}
