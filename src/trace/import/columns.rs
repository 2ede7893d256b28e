//! Which column of a table means what.

use csv::StringRecord;

use crate::base::{Error, Result};
use crate::model::measure::Measure;
use crate::trace::import::keys;

/// A user's word on which column means what; what it leaves out is found by common names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableMap {
    entries: Vec<(String, String)>,
}

/// Keys of a map, each with the column names by which it is found, most specific first.
const KNOWN: [(&str, &[&str]); 18] = [
    ("arm", &["arm", "model", "agent", "system"]),
    (
        "task",
        &[
            "task",
            "task_id",
            "item_id",
            "item",
            "case_id",
            "case",
            "instance_id",
            "example_id",
            "question_id",
            "id",
        ],
    ),
    (
        "trial",
        &[
            "trial",
            "trial_index",
            "repeat",
            "epoch",
            "run_index",
            "attempt",
        ],
    ),
    ("cluster", &["cluster", "cluster_id"]),
    (
        "outcome",
        &[
            "outcome", "reward", "score", "success", "passed", "pass", "correct", "resolved",
        ],
    ),
    ("status", &["status"]),
    (
        "cost",
        &["cost_usd", "cost", "total_cost_usd", "total_cost"],
    ),
    (
        "input_tokens",
        &["input_tokens", "prompt_tokens", "tokens_in"],
    ),
    (
        "output_tokens",
        &["output_tokens", "completion_tokens", "tokens_out"],
    ),
    ("tokens", &["tokens", "total_tokens"]),
    (
        "latency",
        &[
            "latency_ms",
            "duration_ms",
            "elapsed_ms",
            "wall_ms",
            "latency_s",
            "duration_s",
            "elapsed_s",
            "latency",
            "duration",
        ],
    ),
    ("steps", &["steps", "n_steps", "turns", "n_turns"]),
    ("tool_calls", &["tool_calls", "n_tool_calls"]),
    ("repeated_calls", &["repeated_calls", "n_repeated_calls"]),
    ("violations", &["violations", "n_violations"]),
    (
        "duplicates",
        &[
            "duplicates",
            "duplicate_effects",
            "n_duplicates",
            "n_duplicate_effects",
        ],
    ),
    ("conformance", &["conformance"]),
    ("segment", &["segment"]),
];

/// Keys that are only ever named, since their columns have no common names.
const NAMED_ONLY: [&str; 2] = ["reached", "recovered"];

impl TableMap {
    /// Reads entries of the form `KEY=COLUMN`.
    ///
    /// Keys: `arm`, `task`, `trial`, `cluster`, `outcome`, `status`, `cost` (US dollars), `latency`
    /// (milliseconds; seconds if the column's name ends in `_s`, `_sec` or `_seconds`),
    /// `input_tokens`, `output_tokens`, `tokens` (their sum, see [`read`](super::table::read)), `steps`, `tool_calls`, `repeated_calls`, `violations`,
    /// `duplicates`, `conformance`, `reached`, `recovered`, and `segment.NAME` as often as wanted
    /// (`segment=COLUMN` is short for `segment.COLUMN=COLUMN`).
    ///
    /// # Errors
    ///
    /// An input error for an entry without `=`, an unknown key, or a key given twice.
    ///
    /// # Examples
    ///
    /// ```
    /// use assize::trace::import::table::TableMap;
    /// assert!(TableMap::parse(&["outcome=solved", "segment.language=lang"]).is_ok());
    /// let error = TableMap::parse(&["outcom=solved"]).unwrap_err();
    /// assert_eq!(error.hints(), ["did you mean `outcome`?"]);
    /// ```
    pub fn parse(entries: &[impl AsRef<str>]) -> Result<Self> {
        let mut map = Self::default();
        for entry in entries {
            let entry = entry.as_ref();
            let Some((key, column)) = entry.split_once('=') else {
                return Err(Error::input(format!(
                    "`{entry}` is not of the form KEY=COLUMN"
                )));
            };
            let key = match key.trim() {
                "segment" => format!("segment.{}", column.trim()),
                key => key.to_owned(),
            };
            check_key(&key)?;
            if map.entries.iter().any(|(known, _)| *known == key) {
                return Err(Error::input(format!("`{key}` is mapped twice")));
            }
            map.entries.push((key, column.trim().to_owned()));
        }
        Ok(map)
    }

    fn column(&self, key: &str) -> Option<&str> {
        let entry = self.entries.iter().find(|(known, _)| known == key)?;
        Some(&entry.1)
    }
}

fn check_key(key: &str) -> Result<()> {
    let known: Vec<&str> = KNOWN
        .iter()
        .map(|(key, _)| *key)
        .chain(NAMED_ONLY)
        .collect();
    let segment = key
        .strip_prefix("segment.")
        .is_some_and(|name| !name.is_empty());
    if segment || known.contains(&key) {
        return Ok(());
    }
    let (what, hint) = keys::unknown("key", key, &known);
    Err(Error::input(format!("{what} in the map of columns")).hint(hint))
}

/// What a column tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    Arm,
    Task,
    Trial,
    Status,
    /// A fact about the task, under this key.
    Metadata(String),
    Measure(Measure),
}

/// A column that is read.
pub(crate) struct Column {
    /// Its position.
    pub at: usize,
    /// Its name in the header.
    pub name: String,
    /// What it tells.
    pub fact: Fact,
    /// By what a number in it is multiplied to be in our unit.
    pub factor: f64,
}

/// The columns that are read.
pub(crate) struct Columns {
    /// In no particular order.
    pub found: Vec<Column>,
}

impl Columns {
    /// Finds them in a header.
    pub fn find(header: &StringRecord, map: &TableMap) -> Result<Self> {
        let mut found = vec![];
        for (key, column) in &map.entries {
            found.push(column_of(key, position(header, column)?, header));
        }
        for (key, names) in KNOWN {
            if map.column(key).is_none()
                && let Some(at) = by_name(header, key, names, map)?
            {
                found.push(column_of(key, at, header));
            }
        }
        found.extend(segments(header, map));
        if !found.iter().any(|column| column.fact == Fact::Task) {
            let names: Vec<&str> = header.iter().collect();
            return Err(Error::input("no column names the task").hint(format!(
                "map one: task=COLUMN; there are: {}",
                names.join(", ")
            )));
        }
        for column in &found {
            check_twins(header, column, map)?;
        }
        let found = Self { found };
        match found.measures_something() {
            true => Ok(found),
            false => Err(found.nothing_measured(header)),
        }
    }

    fn measures_something(&self) -> bool {
        let mut facts = self.found.iter().map(|column| &column.fact);
        facts.any(|fact| matches!(fact, Fact::Measure(_)))
    }

    /// Says what the columns were taken for: a table in which nothing is measured decides nothing.
    fn nothing_measured(&self, header: &StringRecord) -> Error {
        let taken = |at: usize| self.found.iter().any(|column| column.at == at);
        let names = |read: bool| -> Vec<String> {
            let columns = header.iter().enumerate();
            columns
                .filter(|(at, _)| taken(*at) == read)
                .map(|(_, name)| format!("`{}`", name.trim()))
                .collect()
        };
        let unread = match names(false) {
            none if none.is_empty() => String::new(),
            unread => format!("; not read: {}", unread.join(", ")),
        };
        let keys = KNOWN.iter().map(|(key, _)| *key).chain(NAMED_ONLY);
        let keys: Vec<&str> = keys
            .filter(|key| matches!(fact(key), Fact::Measure(_)))
            .collect();
        Error::input(format!(
            "no column is the outcome or anything else that is measured; read: {}{unread}",
            names(true).join(", ")
        ))
        .hint(format!(
            "name one with `--map KEY=COLUMN`, such as `--map outcome=COLUMN`; the keys are {}",
            keys.join(", ")
        ))
    }
}

/// Refuses a column that is read if another has its name: which is meant nobody can say. Names that a map
/// gives are taken to the letter, others in any case.
fn check_twins(header: &StringRecord, column: &Column, map: &TableMap) -> Result<()> {
    let mapped = map.entries.iter().any(|(_, name)| *name == column.name);
    let same = |name: &str| match mapped {
        true => name.trim() == column.name,
        false => name.trim().eq_ignore_ascii_case(&column.name),
    };
    if header.iter().filter(|name| same(name)).count() < 2 {
        return Ok(());
    }
    Err(Error::input(format!(
        "more than one column has the name `{}`",
        column.name
    ))
    .hint("rename all but the one that is meant"))
}

fn position(header: &StringRecord, column: &str) -> Result<usize> {
    let names: Vec<&str> = header.iter().map(str::trim).collect();
    if let Some(at) = names.iter().position(|name| *name == column) {
        return Ok(at);
    }
    let (what, hint) = keys::unknown("column", column, &names);
    Err(Error::input(what).hint(hint))
}

/// The column that means `key` by its name. Two candidates for the outcome are refused: which one is
/// meant decides everything.
fn by_name(
    header: &StringRecord,
    key: &str,
    names: &[&str],
    map: &TableMap,
) -> Result<Option<usize>> {
    let taken = |at: usize| {
        let name = header.get(at).unwrap_or("").trim();
        map.entries.iter().any(|(_, column)| column == name)
    };
    let at = |name: &&str| {
        let same = |text: &str| text.trim().eq_ignore_ascii_case(name);
        header.iter().position(same).filter(|at| !taken(*at))
    };
    let candidates: Vec<usize> = names.iter().filter_map(at).collect();
    if key == "outcome" && candidates.len() > 1 {
        let names: Vec<&str> = candidates.iter().filter_map(|at| header.get(*at)).collect();
        return Err(Error::input(format!(
            "more than one column may be the outcome: {}",
            names.join(", ")
        ))
        .hint(format!("say which: outcome={}", names[0])));
    }
    Ok(candidates.first().copied())
}

/// Columns named `segment.NAME` or `segment_NAME`.
fn segments(header: &StringRecord, map: &TableMap) -> Vec<Column> {
    let named = |(at, name): (usize, &str)| {
        let name = name.trim();
        let segment = name
            .strip_prefix("segment.")
            .or(name.strip_prefix("segment_"))?;
        let free = !map.entries.iter().any(|(_, column)| column == name);
        (free && !segment.is_empty()).then(|| column_of(&format!("segment.{segment}"), at, header))
    };
    header.iter().enumerate().filter_map(named).collect()
}

fn column_of(key: &str, at: usize, header: &StringRecord) -> Column {
    let name = header.get(at).unwrap_or("").trim().to_owned();
    let lower = name.to_lowercase();
    let seconds = ["_s", "_sec", "_seconds"]
        .iter()
        .any(|end| lower.ends_with(end));
    Column {
        at,
        factor: if key == "latency" && seconds {
            1000.0
        } else {
            1.0
        },
        name,
        fact: fact(key),
    }
}

fn fact(key: &str) -> Fact {
    let measure = match key {
        "arm" => return Fact::Arm,
        "task" => return Fact::Task,
        "trial" => return Fact::Trial,
        "status" => return Fact::Status,
        "outcome" => Measure::Success,
        "cost" => Measure::CostUsd,
        "latency" => Measure::LatencyMs,
        "duplicates" => Measure::DuplicateEffects,
        other => match Measure::from_name(other) {
            Some(measure) => measure,
            // `cluster`, `segment` and `segment.NAME` are facts about the task.
            None => {
                let key = other.strip_prefix("segment.").unwrap_or(other);
                return Fact::Metadata(key.to_owned());
            }
        },
    };
    Fact::Measure(measure)
}
