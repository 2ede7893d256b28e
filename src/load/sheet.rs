//! Tidy tables that users write: CSV or JSON Lines, plain or gzipped, as rows that know their lines.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::base::{Error, Result};
use crate::load::{json, nearest, recorded};

/// Larger tables are not written by hand.
const LARGEST: u64 = 512 << 20;

/// A table whose cells are texts; an empty cell is `None`.
pub(crate) struct Sheet {
    /// The file, for messages.
    pub file: PathBuf,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows in the order of the file.
    pub rows: Vec<SheetRow>,
}

/// One row of a table.
pub(crate) struct SheetRow {
    /// Line in its file, counted from 1.
    pub line: u64,
    /// One cell per column.
    pub cells: Vec<Option<String>>,
}

impl Sheet {
    /// Reads a table: JSON Lines if the name ends in `.jsonl` or `.ndjson`, else CSV with a header.
    ///
    /// # Errors
    ///
    /// If the file can't be read, is empty or not UTF-8, or a line is broken; all lines at once.
    pub fn read(file: &Path) -> Result<Self> {
        let text = text(file)?;
        let name = file.to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name).to_lowercase();
        if name.ends_with(".jsonl") || name.ends_with(".ndjson") {
            json_lines(file, &text)
        } else {
            comma_separated(file, &text)
        }
    }

    /// The position of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c == name)
    }
}

fn text(file: &Path) -> Result<String> {
    let mut bytes = vec![];
    let read = recorded::open(file)?
        .take(LARGEST + 1)
        .read_to_end(&mut bytes);
    read.map_err(|e| Error::io(format!("can't read: {e}")).in_file(file))?;
    if bytes.len() as u64 > LARGEST {
        return Err(Error::input("the file is larger than 512 MiB").in_file(file));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|b| **b == b'\n').count() as u64;
        Error::input("the file is not UTF-8")
            .at(file, line)
            .hint("save it as UTF-8")
    })?;
    let text = text
        .strip_prefix('\u{feff}')
        .map(str::to_owned)
        .unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Error::input("the file is empty").in_file(file));
    }
    Ok(text)
}

/// The line of a record: where lines end in CR LF, the reader stands before the LF of the line above.
fn line_at(text: &str, at: &csv::Position) -> u64 {
    let before = usize::try_from(at.byte()).ok();
    let byte = before.and_then(|byte| text.as_bytes().get(byte));
    at.line() + u64::from(byte == Some(&b'\n'))
}

fn comma_separated(file: &Path, text: &str) -> Result<Sheet> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let wrong = |e: csv::Error| {
        let line = e.position().map_or(1, csv::Position::line);
        Error::input(format!("not CSV: {e}")).at(file, line)
    };
    let columns: Vec<String> = reader
        .headers()
        .map_err(wrong)?
        .iter()
        .map(|c| c.trim().to_owned())
        .collect();
    let mut problems = vec![];
    if let ([only], Some((sign, word))) = (columns.as_slice(), other_separator(&columns)) {
        let message =
            format!("the columns are separated by {word}: the header is one cell, `{only}`");
        let hint = format!("save it as CSV with commas in place of `{sign}`");
        return Err(Error::input(message).at(file, 1).hint(hint));
    }
    for (at, name) in columns.iter().enumerate() {
        if columns[..at].contains(name) {
            problems.push(Error::input(format!("column `{name}` occurs twice")).at(file, 1));
        }
    }
    let mut rows = vec![];
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let line = record.position().map_or(0, |at| line_at(text, at));
        if record.len() != columns.len() {
            let (found, wanted) = (record.len(), columns.len());
            let message = format!("{found} cells where the header has {wanted}");
            problems.push(
                Error::input(message)
                    .at(file, line)
                    .hint("quote cells that hold commas"),
            );
            continue;
        }
        let cells = record.iter().map(|c| cell(c.trim())).collect();
        rows.push(SheetRow { line, cells });
    }
    finished(file, columns, rows, problems)
}

/// What separates columns where no comma does, as some spreadsheets write.
fn other_separator(columns: &[String]) -> Option<(&'static str, &'static str)> {
    let signs = [(";", "semicolons"), ("\t", "tabs")];
    let [only] = columns else { return None };
    signs.into_iter().find(|(sign, _)| only.contains(sign))
}

fn json_lines(file: &Path, text: &str) -> Result<Sheet> {
    let (mut objects, mut problems) = (vec![], vec![]);
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, l)| !l.trim().is_empty())
    {
        let number = at as u64 + 1;
        match json::members(line) {
            Ok(object) => objects.push((number, object)),
            Err(message) => problems.push(Error::input(message).at(file, number)),
        }
    }
    let mut place: HashMap<String, usize> = HashMap::new();
    let mut columns: Vec<String> = vec![];
    for (key, _) in objects.iter().flat_map(|(_, o)| o) {
        if !place.contains_key(key) {
            place.insert(key.clone(), columns.len());
            columns.push(key.clone());
        }
    }
    let rows = objects.into_iter().map(|(line, object)| {
        let mut cells = vec![None; columns.len()];
        for (key, value) in object {
            cells[place[&key]] = match value {
                Value::Null => None,
                Value::String(text) => cell(text.trim()),
                other => Some(other.to_string()),
            };
        }
        SheetRow { line, cells }
    });
    let rows = rows.collect();
    finished(file, columns, rows, problems)
}

fn cell(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn finished(
    file: &Path,
    columns: Vec<String>,
    rows: Vec<SheetRow>,
    problems: Vec<Error>,
) -> Result<Sheet> {
    if !problems.is_empty() {
        return Err(super::combined(file, problems));
    }
    let file = file.to_path_buf();
    Ok(Sheet {
        file,
        columns,
        rows,
    })
}

/// Which column of a table stands for which key: `KEY=COLUMN`, or `KEY=A+B` for two that are joined by
/// a slash. A key without an entry is the column of its own name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnMap(BTreeMap<String, String>);

impl ColumnMap {
    /// Reads `KEY=COLUMN` entries; `known` are the keys, and `prefixes` begin keys with a free end
    /// (`label.` for `label.RATER`).
    ///
    /// # Errors
    ///
    /// If an entry has no `=`, a key is unknown, or is named twice.
    pub fn parse(entries: &[String], known: &[&str], prefixes: &[&str]) -> Result<Self> {
        let mut map = BTreeMap::new();
        for entry in entries {
            let Some((key, column)) = entry.split_once('=') else {
                return Err(Error::input(format!(
                    "`{entry}` is not of the form KEY=COLUMN"
                )));
            };
            let free = prefixes
                .iter()
                .any(|p| key.strip_prefix(p).is_some_and(|r| !r.is_empty()));
            if !known.contains(&key) && !free {
                let hint = nearest::hint(key, known.iter().copied(), "keys");
                return Err(Error::input(format!("unknown key `{key}` in `{entry}`")).hint(hint));
            }
            if map.insert(key.to_owned(), column.to_owned()).is_some() {
                return Err(Error::input(format!("key `{key}` is mapped twice")));
            }
        }
        Ok(Self(map))
    }

    /// The keys that begin with a prefix, with what follows it.
    pub(crate) fn with_prefix(&self, prefix: &str) -> Vec<(String, String)> {
        let rest = |k: &String| k.strip_prefix(prefix).map(str::to_owned);
        self.0
            .keys()
            .filter_map(|k| Some((k.clone(), rest(k)?)))
            .collect()
    }

    /// The columns of a key; `None` if it has none and was not mapped.
    ///
    /// # Errors
    ///
    /// If it was mapped to a column that is not there.
    pub(crate) fn find(&self, sheet: &Sheet, key: &str) -> Result<Option<Columns>> {
        let Some(named) = self.0.get(key) else {
            return Ok(sheet.column(key).map(|at| Columns(vec![at])));
        };
        if let Some(at) = sheet.column(named) {
            return Ok(Some(Columns(vec![at])));
        }
        let parts: Option<Vec<usize>> = named.split('+').map(|part| sheet.column(part)).collect();
        parts.map(|p| Some(Columns(p))).ok_or_else(|| {
            let hint = nearest::hint(named, sheet.columns.iter().map(String::as_str), "columns");
            let message = format!("there is no column `{named}`, which `{key}` is mapped to");
            Error::input(message).at(&sheet.file, 1).hint(hint)
        })
    }
}

/// The columns behind one key.
pub(crate) struct Columns(Vec<usize>);

impl Columns {
    /// The positions of the columns.
    pub fn positions(&self) -> &[usize] {
        &self.0
    }

    /// The cell of a row; joined cells are `None` only if all are empty.
    pub fn of(&self, row: &SheetRow) -> Option<String> {
        if let [at] = self.0[..] {
            return row.cells[at].clone();
        }
        let parts: Vec<&str> = self
            .0
            .iter()
            .map(|&at| row.cells[at].as_deref().unwrap_or(""))
            .collect();
        parts.iter().any(|p| !p.is_empty()).then(|| parts.join("/"))
    }
}

/// The cell of a key that a table may lack.
pub(crate) fn optional(columns: &Option<Columns>, row: &SheetRow) -> Option<String> {
    columns.as_ref().and_then(|c| c.of(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_no_comma_separates_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("labels.csv");
        std::fs::write(&file, "item;rater;label\na;ann;pass\n").unwrap();
        let error = Sheet::read(&file).err().unwrap();
        assert!(
            error.message().contains("separated by semicolons"),
            "{error}"
        );
    }

    fn sheet(name: &str, text: &str) -> Result<Sheet> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        Sheet::read(&file)
    }

    #[test]
    fn both_forms_give_the_same_cells() {
        let csv = sheet("a.csv", "item,label\n1,pass\n2,\n").unwrap();
        let json = sheet(
            "a.jsonl",
            "{\"item\":1,\"label\":\"pass\"}\n{\"item\":2,\"label\":null}\n",
        );
        let json = json.unwrap();
        assert_eq!(csv.columns, json.columns);
        for (a, b) in csv.rows.iter().zip(&json.rows) {
            assert_eq!(a.cells, b.cells);
        }
        assert_eq!((csv.rows[1].line, json.rows[1].line), (3, 2));
    }

    #[test]
    fn broken_lines_are_all_named() {
        let wrong = sheet("a.csv", "item,label\n1\n2,pass,more\n")
            .err()
            .unwrap();
        assert_eq!(wrong.parts().len(), 2);
        assert_eq!(wrong.parts()[1].line(), Some(3));
        let wrong = sheet("a.jsonl", "[1]\n{\n").err().unwrap();
        assert_eq!(wrong.parts().len(), 2);
        let twice = "{\"item\":1}\n{\"item\":2,\"label\":\"pass\",\"label\":\"fail\"}\n";
        let wrong = sheet("a.jsonl", twice).err().unwrap();
        assert_eq!(wrong.line(), Some(2));
        assert!(wrong.message().contains("`label`"));
    }

    #[test]
    fn columns_are_joined_and_missing_ones_named() {
        let table = sheet("a.csv", "set,number\nx,1\n").unwrap();
        let map = |entry: &str| ColumnMap::parse(&[entry.to_owned()], &["item"], &["label."]);
        let joined = map("item=set+number")
            .unwrap()
            .find(&table, "item")
            .unwrap()
            .unwrap();
        assert_eq!(joined.of(&table.rows[0]).as_deref(), Some("x/1"));
        assert!(map("item=sett").unwrap().find(&table, "item").is_err());
        assert!(map("itme=set").is_err() && map("item").is_err());
        assert_eq!(
            map("label.ann=set").unwrap().with_prefix("label.")[0].1,
            "ann"
        );
    }
}
