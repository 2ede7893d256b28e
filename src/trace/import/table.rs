//! A tidy CSV of per-trial results: one row a trial, one column a fact.
//!
//! Which column means what is found by common names, or said by `KEY=COLUMN`. An empty cell is
//! absent; anything that is neither empty nor a value of its kind is an error that names the line and
//! the column. Rows are passed on one by one; only the identity of each row is kept.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, Read};

use csv::{StringRecord, Terminator};

use crate::base::{ArmId, Error, Result, TaskId};
use crate::model::measure::Measure;
use crate::model::trial::{RecordedTrial, TrialStatus};
use crate::trace::import::columns::{Columns, Fact};
use crate::trace::import::problem::read_trouble;
use crate::trace::import::stream::skip_byte_order_mark;
use crate::trace::import::{ImportOptions, Sink, cell, status_from_word};

pub use crate::trace::import::columns::TableMap;

/// Reads all rows of a table.
///
///
/// # Errors
///
/// An input error that names source and line: a missing or ambiguous column, a cell that is no value
/// of its kind, a row of the wrong length, two rows for one trial.
pub fn read(
    input: &mut dyn BufRead,
    map: &TableMap,
    options: &ImportOptions,
    sink: &mut Sink<'_>,
) -> Result<()> {
    skip_byte_order_mark(input).map_err(|error| trouble(&csv::Error::from(error), options))?;
    let separator = separator(input).map_err(|error| trouble(&csv::Error::from(error), options))?;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .terminator(Terminator::Any(b'\n'))
        .flexible(true)
        .from_reader(Lines {
            input,
            ended: false,
        });
    let header = reader
        .headers()
        .map_err(|error| trouble(&error, options))?
        .clone();
    let columns = Columns::find(&header, map).map_err(|error| error.at(&options.source_name, 1))?;
    let mut seen = Seen::default();
    let mut record = StringRecord::new();
    while reader
        .read_record(&mut record)
        .map_err(|error| trouble(&error, options))?
    {
        if record.len() == 1 && header.len() > 1 && record[0].trim().is_empty() {
            continue;
        }
        let line = line_of(&record, reader.position());
        let trial = length(&record, &header)
            .and_then(|()| row(&record, &columns, line))
            .map_err(|error| error.at(&options.source_name, line))?;
        sink(seen.number(trial, options)?)?;
    }
    Ok(())
}

/// The line on which a record begins, counted back from where the reader stands after it: the
/// position that the reader gives a record is that of the blank lines before it.
fn line_of(record: &StringRecord, after: &csv::Position) -> u64 {
    let inside = record
        .as_slice()
        .bytes()
        .filter(|byte| *byte == b'\n')
        .count() as u64;
    after.line().saturating_sub(1 + inside)
}

fn length(record: &StringRecord, header: &StringRecord) -> Result<()> {
    if record.len() == header.len() {
        return Ok(());
    }
    let (cells, expected) = (record.len(), header.len());
    Err(
        Error::input(format!("the row has {cells} cells, the header {expected}")).hint(
            "quote cells that hold commas; a row cut in the middle means that the file is truncated",
        ),
    )
}

/// A comma, unless the header has none but has semicolons or tabs, as some spreadsheets write.
fn separator(input: &mut dyn BufRead) -> io::Result<u8> {
    let head = input.fill_buf()?;
    let header = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
    let others = [b',', b';', b'\t'];
    Ok(others
        .into_iter()
        .find(|byte| header.contains(byte))
        .unwrap_or(b','))
}

/// The bytes with a line end after the last line, so that every record ends with one. Line ends are
/// `\n`; a `\r` before it is white space at the end of the last cell, which is trimmed like any other.
struct Lines<'a> {
    input: &'a mut dyn BufRead,
    /// Whether the last byte was a line end.
    ended: bool,
}

impl Read for Lines<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(out)?;
        if let Some(last) = out[..read].last() {
            self.ended = *last == b'\n';
        } else if let (false, Some(slot)) = (self.ended, out.first_mut()) {
            *slot = b'\n';
            self.ended = true;
            return Ok(1);
        }
        Ok(read)
    }
}

fn trouble(error: &csv::Error, options: &ImportOptions) -> Error {
    let line = error.position().map_or(1, csv::Position::line);
    let source = &options.source_name;
    match error.kind() {
        csv::ErrorKind::Io(io) => read_trouble(io.kind(), &io.to_string(), source, line),
        csv::ErrorKind::Utf8 { .. } => Error::input("the row is not UTF-8").at(source, line),
        _ => Error::input(format!("not CSV: {error}")).at(source, line),
    }
}

fn row(record: &StringRecord, columns: &Columns, line: u64) -> Result<RecordedTrial> {
    let mut trial = RecordedTrial {
        arm: None,
        task: TaskId::new(""),
        index: None,
        status: TrialStatus::Completed,
        trace: None,
        recorded: BTreeMap::new(),
        input_digest: None,
        task_metadata: BTreeMap::new(),
        notices: vec![],
        place: line,
    };
    for column in &columns.found {
        let text = record.get(column.at).unwrap_or("").trim();
        if text.is_empty() {
            continue;
        }
        let wrong = |why: String| Error::input(format!("column `{}`: {why}", column.name));
        match &column.fact {
            Fact::Arm => trial.arm = Some(ArmId::new(text)),
            Fact::Task => trial.task = TaskId::new(text),
            Fact::Trial => trial.index = Some(cell::index(text).map_err(wrong)?),
            Fact::Status => trial.status = status_from_word(text),
            Fact::Metadata(key) => drop(trial.task_metadata.insert(key.clone(), text.to_owned())),
            Fact::Measure(measure) => {
                let value = cell::measure(*measure, text).map_err(wrong)?;
                trial.recorded.insert(*measure, value * column.factor);
            }
        }
    }
    if trial.task.as_str().is_empty() {
        return Err(Error::input("the task is empty").hint("every row must name its task"));
    }
    if let (None, Some(input), Some(output)) = (
        trial.recorded.get(&Measure::Tokens),
        trial.recorded.get(&Measure::InputTokens),
        trial.recorded.get(&Measure::OutputTokens),
    ) {
        trial.recorded.insert(Measure::Tokens, input + output);
    }
    // The outcome of a broken trial says nothing about the agent.
    if !trial.status.is_valid() {
        trial.recorded.remove(&Measure::Success);
    }
    Ok(trial)
}

/// The trials read so far: arm, task and index, with the line of each.
#[derive(Default)]
struct Seen {
    lines: HashMap<(String, String), BTreeMap<u32, u64>>,
}

impl Seen {
    /// Numbers a row without trial number in the order of reading, and refuses a second row for one
    /// trial.
    fn number(
        &mut self,
        mut trial: RecordedTrial,
        options: &ImportOptions,
    ) -> Result<RecordedTrial> {
        let arm = trial.arm.as_ref().map_or("", ArmId::as_str).to_owned();
        let lines = self
            .lines
            .entry((arm, trial.task.as_str().to_owned()))
            .or_default();
        let index = trial.index.unwrap_or_else(|| first_free(lines));
        if let Some(earlier) = lines.insert(index, trial.place) {
            let whose = trial
                .arm
                .as_ref()
                .map(|arm| format!(", arm `{arm}`"))
                .unwrap_or_default();
            return Err(Error::input(format!(
                "two rows for one trial: task `{}`, trial {index}{whose} stands on line {earlier} already",
                trial.task
            ))
            .at(&options.source_name, trial.place)
            .hint("if the trials have numbers, map their column: trial=COLUMN"));
        }
        trial.index = Some(index);
        Ok(trial)
    }
}

fn first_free(lines: &BTreeMap<u32, u64>) -> u32 {
    let next = lines
        .last_key_value()
        .map_or(0, |(last, _)| last.saturating_add(1));
    if next as usize == lines.len() {
        return next;
    }
    (0..next)
        .find(|index| !lines.contains_key(index))
        .unwrap_or(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str, map: &[&str]) -> Result<Vec<RecordedTrial>> {
        let options = ImportOptions::new("t.csv", "stem");
        let map = TableMap::parse(map)?;
        let mut trials = vec![];
        read(&mut text.as_bytes(), &map, &options, &mut |trial| {
            trials.push(trial);
            Ok(())
        })?;
        Ok(trials)
    }

    #[test]
    fn common_columns_are_found() {
        let text = "arm,task_id,trial,reward,status,n_tool_calls,latency_s,Cost_USD,note\n\
            a,t1,0,1.0,ok,8,1.5,,x\na,t1,1,0,429,,,0.25,\n";
        let trials = read_all(text, &[]).unwrap();
        let first = &trials[0];
        assert_eq!(
            (first.task.as_str(), first.index, first.place),
            ("t1", Some(0), 2)
        );
        assert_eq!(first.arm.as_ref().unwrap().as_str(), "a");
        let expected = [
            (Measure::Success, 1.0),
            (Measure::ToolCalls, 8.0),
            (Measure::LatencyMs, 1500.0),
        ];
        assert_eq!(first.recorded, BTreeMap::from(expected));
        assert_eq!(trials[1].status.to_string(), "infra:provider:rate_limit");
        assert_eq!(
            trials[1].recorded,
            BTreeMap::from([(Measure::CostUsd, 0.25)])
        );
    }

    #[test]
    fn a_map_names_columns_segments_and_cluster() {
        let text = "question,who,good,lang,book,\"a, b\"\nq1,m,pass,de,b1,3\nq1,m,FALSE,de,b1,4\n";
        let map = [
            "task=question",
            "arm=who",
            "outcome=good",
            "segment.language=lang",
            "cluster=book",
            "steps=a, b",
        ];
        let trials = read_all(text, &map).unwrap();
        assert_eq!(trials[1].index, Some(1));
        assert_eq!(trials[0].recorded[&Measure::Success], 1.0);
        assert_eq!(trials[1].recorded[&Measure::Success], 0.0);
        assert_eq!(trials[1].recorded[&Measure::Steps], 4.0);
        let facts: Vec<_> = trials[0].task_metadata.iter().collect();
        let owned = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        let expected = BTreeMap::from([owned("cluster", "b1"), owned("language", "de")]);
        assert_eq!(facts, expected.iter().collect::<Vec<_>>());
    }

    #[test]
    fn wrong_cells_name_line_and_column() {
        for (text, part) in [
            (
                "task,score\na,1\nb,NaN\n",
                "t.csv:3: column `score`: `NaN` is not",
            ),
            (
                "task,score\na,inf\n",
                "t.csv:2: column `score`: `inf` is not",
            ),
            ("task,score\na,1.5\n", "`1.5` is not"),
            ("task,score\na,n/a\n", "leave the cell empty"),
            ("task,cost\na,-1\n", "column `cost`: `-1` is not"),
            (
                "task,steps\na,2.5\n",
                "column `steps`: `2.5` is not a whole number",
            ),
            ("task,trial,score\na,x,1\n", "column `trial`: `x` is not"),
            ("task,score\n,1\n", "t.csv:2: the task is empty"),
            (
                "task,score\na\n",
                "t.csv:2: the row has 1 cells, the header 2",
            ),
            ("score\n1\n", "t.csv:1: no column names the task"),
            ("task,reward,success\na,1,1\n", "outcome=reward"),
            (
                "task,trial,score\na,0,1\nb,0,1\na,0,1\n",
                "t.csv:4: two rows for one trial: task `a`, trial 0 stands on line 2",
            ),
        ] {
            let error = read_all(text, &[]).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn semicolons_and_tabs_separate_where_no_comma_does() {
        for text in ["task;score\na;1\n", "\u{feff}task\tscore\r\na\t1\r\n"] {
            let trials = read_all(text, &[]).unwrap();
            assert_eq!((trials[0].task.as_str(), trials[0].place), ("a", 2));
            assert_eq!(trials[0].recorded[&Measure::Success], 1.0);
        }
    }

    #[test]
    fn lines_are_right_in_every_kind_of_file() {
        for text in [
            "task,note,score\na,\"x\ny\",1\n\nb,,1\nc,,NaN",
            "task,note,score\r\na,\"x\r\ny\",1\r\n\r\nb,,1\r\nc,,NaN\r\n\r\n",
        ] {
            let error = read_all(text, &[]).unwrap_err();
            assert_eq!(error.line(), Some(6), "{error}");
            let good = text.replace("NaN", "1");
            let lines: Vec<u64> = read_all(&good, &[])
                .unwrap()
                .iter()
                .map(|t| t.place)
                .collect();
            assert_eq!(lines, [2, 5, 6]);
        }
    }

    #[test]
    fn a_sum_of_tokens_is_a_measure_of_its_own() {
        let trials = read_all("task,tokens\na,120\nb,\n", &[]).unwrap();
        assert_eq!(trials[0].recorded[&Measure::Tokens], 120.0);
        assert!(trials[1].recorded.is_empty());
        assert!(read_all("task,tokens\na,many\n", &["tokens=tokens"]).is_err());
    }

    #[test]
    fn rows_without_number_take_the_free_ones() {
        let text = "task,trial,score\na,,\na,0x,\n";
        assert!(read_all(text, &[]).is_err());
        let trials = read_all("task,trial,score\na,1,\na,,\na,,\n", &[]).unwrap();
        let indices: Vec<_> = trials.iter().map(|t| t.index.unwrap()).collect();
        assert_eq!(indices, [1, 0, 2]);
    }
}
