//! Recorded traces on disk: a file or a folder, plain or gzipped, streamed into trials.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::base::{Digest, Error, Result};
use crate::model::arm::TraceFormat;
use crate::trace::import::{self, ImportOptions, Sink, table};

/// How much of a source is looked at to find its format.
const HEAD: usize = 64 * 1024;
/// Names that a folder's traces end in, before an optional `.gz`.
const ENDINGS: [&str; 4] = ["json", "jsonl", "ndjson", "csv"];

/// What is known about recorded traces before they are opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedOptions {
    /// Format of all files; `None` finds it by looking at each.
    pub format: Option<TraceFormat>,
    /// Ids of the suite's tasks. A file whose whole stem is one of them is that task, even if it
    /// ends like a trial number (`v1.2.json`).
    pub tasks: BTreeSet<String>,
    /// Whether every file is a table, whatever it is called; else those that end in `.csv` are.
    pub table: bool,
    /// Which columns of a table mean what.
    pub columns: table::TableMap,
}

/// Streams all trials of a file or folder to `sink`.
///
/// A folder is read in the order of its paths, sub-folders included; files that are no traces
/// (`SOURCE.md`) and hidden ones are passed over, and so is a CSV file beside JSON files, since it
/// mostly sums them up. `options` gives the suite's part (private tools, error prefixes); names of
/// source and task are set per file: `TASK.json`, and for a trial index `TASK__2.json` or
/// `TASK.2.json`.
///
/// # Errors
///
/// An input error that names file and line or record; an I/O error if a file can't be read;
/// whatever `sink` returns.
pub fn read_recorded(
    path: &Path,
    recorded: &RecordedOptions,
    options: &ImportOptions,
    sink: &mut Sink<'_>,
) -> Result<()> {
    for file in traces_in(path)? {
        let mut options = options.clone();
        options.source_name = file.display().to_string();
        (options.default_task, options.default_index) = task_of(&file, &recorded.tasks);
        let mut read = 0_u64;
        read_file(&file, recorded, &options, &mut |trial| {
            read += 1;
            sink(trial)
        })?;
        if read == 0 {
            return Err(Error::input("there is no trial in this file")
                .in_file(&file)
                .hint("remove the file if nothing was recorded"));
        }
    }
    Ok(())
}

fn read_file(
    file: &Path,
    recorded: &RecordedOptions,
    options: &ImportOptions,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let mut input = open(file)?;
    if recorded.table || ending(file) == Some("csv") {
        return table::read(&mut input, &recorded.columns, options, sink);
    }
    let format = match recorded.format {
        Some(format) => format,
        None => return read_detected(file, input, options, sink),
    };
    import::read(format, &mut input, options, sink)
}

fn read_detected(
    file: &Path,
    mut input: Box<dyn BufRead>,
    options: &ImportOptions,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let mut head = Vec::new();
    let taken = (&mut input).take(HEAD as u64).read_to_end(&mut head);
    taken.map_err(|error| trouble(&error, file))?;
    if head.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::input("the file is empty").in_file(file));
    }
    let Some(format) = import::detect(&head) else {
        let known = TraceFormat::ALL.map(TraceFormat::name).join(", ");
        return Err(Error::input("this is no known format of traces")
            .in_file(file)
            .hint(format!("name the format if it is one of: {known}")));
    };
    let mut whole = BufReader::with_capacity(HEAD, io::Cursor::new(head).chain(input));
    import::read(format, &mut whole, options, sink)
}

/// Opens a file, decompressing it if its first bytes say that it is gzipped.
///
/// # Errors
///
/// An input error if it isn't there, an I/O error if it can't be read.
pub fn open(file: &Path) -> Result<Box<dyn BufRead>> {
    let plain = File::open(file).map_err(|error| trouble(&error, file))?;
    let mut plain = BufReader::with_capacity(HEAD, plain);
    let first = plain.fill_buf().map_err(|error| trouble(&error, file))?;
    if first.starts_with(&[0x1f, 0x8b]) {
        let unpacked = MultiGzDecoder::new(plain);
        return Ok(Box::new(BufReader::with_capacity(HEAD, unpacked)));
    }
    Ok(Box::new(plain))
}

/// The files of traces at a path, in the order of reading.
///
/// # Errors
///
/// An input error if the path isn't there or a folder holds none; an I/O error if a folder can't be
/// read.
pub fn traces_in(path: &Path) -> Result<Vec<PathBuf>> {
    let about = fs::metadata(path).map_err(|error| trouble(&error, path))?;
    if !about.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = vec![];
    collect(path, &mut found)?;
    found.sort();
    if found.iter().any(|file| ending(file) != Some("csv")) {
        found.retain(|file| ending(file) != Some("csv"));
    }
    if found.is_empty() {
        return Err(Error::input("there are no traces in this folder")
            .in_file(path)
            .hint(format!(
                "traces end in .{}, with or without .gz",
                ENDINGS.join(", .")
            )));
    }
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(|error| trouble(&error, folder))? {
        let entry = entry.map_err(|error| trouble(&error, folder))?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let kind = entry.file_type().map_err(|error| trouble(&error, &path))?;
        // A linked folder may lead back to this one, so that only real folders are entered.
        if kind.is_dir() {
            collect(&path, found)?;
        } else if ending(&path).is_some() && path.is_file() {
            if kind.is_symlink() && leaves(&path, folder) {
                return Err(Error::input("the link leads out of its folder")
                    .in_file(path)
                    .hint("copy the traces into the folder"));
            }
            found.push(path);
        }
    }
    Ok(())
}

/// Whether a link leads out of the folder that holds it.
fn leaves(link: &Path, folder: &Path) -> bool {
    match (fs::canonicalize(link), fs::canonicalize(folder)) {
        (Ok(target), Ok(folder)) => !target.starts_with(folder),
        _ => true,
    }
}

/// How the file's name says that it is one of traces.
fn ending(file: &Path) -> Option<&'static str> {
    let name = file.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let (_, end) = name.rsplit_once('.')?;
    ENDINGS.into_iter().find(|known| *known == end)
}

/// Task and trial index that a file's name gives.
fn task_of(file: &Path, tasks: &BTreeSet<String>) -> (String, Option<u32>) {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = match (ending(file), name.rsplit_once('.')) {
        (Some(_), Some((stem, _))) => stem,
        _ => name,
    };
    if tasks.contains(stem) {
        return (stem.to_owned(), None);
    }
    for mark in ["__", "."] {
        if let Some((task, index)) = stem.rsplit_once(mark)
            && !task.is_empty()
            && index.bytes().all(|b| b.is_ascii_digit())
            && let Ok(index) = index.parse()
        {
            return (task.to_owned(), Some(index));
        }
    }
    (stem.to_owned(), None)
}

/// Digest of recorded bytes: of every trace file's path below `path`, its length and its bytes as
/// they lie on disk, in the order of reading.
///
/// # Errors
///
/// As [`traces_in`], and an I/O error if a file can't be read.
pub fn content_digest(path: &Path) -> Result<Digest> {
    let mut parts = vec![];
    for file in traces_in(path)? {
        let below = file.strip_prefix(path).unwrap_or(Path::new(""));
        let names: Vec<_> = below
            .components()
            .map(|c| c.as_os_str().to_string_lossy())
            .collect();
        parts.push(names.join("/"));
        let mut hasher = blake3::Hasher::new();
        let mut opened = File::open(&file).map_err(|error| trouble(&error, &file))?;
        io::copy(&mut opened, &mut hasher).map_err(|error| trouble(&error, &file))?;
        parts.push(hasher.finalize().to_hex().to_string());
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    Ok(Digest::of_parts(&parts))
}

fn trouble(error: &io::Error, path: &Path) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::input("there is no such file or folder").in_file(path),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            Error::input(format!("the compressed data is damaged: {error}")).in_file(path)
        }
        io::ErrorKind::UnexpectedEof => {
            Error::input("the compressed data ends early: the file is truncated").in_file(path)
        }
        _ => Error::io(format!("can't read: {error}")).in_file(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn small(task: &str) -> String {
        format!("{{\"tools\": [], \"final\": \"{task}\"}}")
    }

    fn read(path: &Path, recorded: &RecordedOptions) -> Result<Vec<(String, Option<u32>)>> {
        let mut found = vec![];
        let options = ImportOptions::new("", "");
        read_recorded(path, recorded, &options, &mut |trial| {
            found.push((trial.task.to_string(), trial.index));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn a_folder_is_read_in_order_and_names_give_task_and_index() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        write("b.json", &small("b"));
        write("a__2.json", &small("a"));
        write("a.1.jsonl", &small("a"));
        write("v1.2.json", &small("v"));
        write("sub/c.json", &small("c"));
        write("SOURCE.md", "words");
        write(".hidden.json", "not json");
        write("outcomes.csv", "task,score\nb,1\n");
        let recorded = RecordedOptions {
            tasks: BTreeSet::from(["v1.2".to_owned()]),
            ..RecordedOptions::default()
        };
        let found = read(dir.path(), &recorded).unwrap();
        let names: Vec<_> = found
            .iter()
            .map(|(task, index)| (task.as_str(), *index))
            .collect();
        let expected = [
            ("a", Some(1)),
            ("a", Some(2)),
            ("b", None),
            ("c", None),
            ("v1.2", None),
        ];
        assert_eq!(names, expected);
        let table = read(&dir.path().join("outcomes.csv"), &recorded).unwrap();
        assert_eq!(table, [("b".to_owned(), Some(0))]);
        write("export", "task,score\nb,1\n");
        let recorded = RecordedOptions {
            table: true,
            ..RecordedOptions::default()
        };
        let table = read(&dir.path().join("export"), &recorded).unwrap();
        assert_eq!(table, [("b".to_owned(), Some(0))]);
    }

    #[test]
    fn gzip_is_found_by_its_bytes_and_a_cut_one_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.json");
        let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        packed.write_all(small("x").as_bytes()).unwrap();
        let bytes = packed.finish().unwrap();
        fs::write(&file, &bytes).unwrap();
        assert_eq!(
            read(&file, &RecordedOptions::default()).unwrap(),
            [("t".to_owned(), None)]
        );
        fs::write(&file, &bytes[..bytes.len() - 6]).unwrap();
        let error = read(&file, &RecordedOptions::default()).unwrap_err();
        assert!(error.message().contains("ends early"), "{error}");
        assert_eq!(error.kind(), crate::base::ErrorKind::Input);
    }

    #[test]
    fn what_is_not_there_or_not_known_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let default = RecordedOptions::default();
        let message = |path: &Path| read(path, &default).unwrap_err().message().to_owned();
        assert_eq!(
            message(&dir.path().join("no")),
            "there is no such file or folder"
        );
        assert_eq!(message(dir.path()), "there are no traces in this folder");
        let file = dir.path().join("x.json");
        for (text, said) in [
            ("", "the file is empty"),
            ("{\"a\": 1}", "this is no known format of traces"),
        ] {
            fs::write(&file, text).unwrap();
            assert_eq!(message(&file), said);
        }
        fs::write(&file, "[]").unwrap();
        let openai = RecordedOptions {
            format: Some(TraceFormat::OpenaiChat),
            ..default
        };
        let error = read(&file, &openai).unwrap_err();
        assert_eq!(error.message(), "there is no trial in this file");
    }

    #[test]
    fn the_digest_follows_names_and_bytes() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.json"), "1").unwrap();
        let first = content_digest(dir.path()).unwrap();
        fs::write(dir.path().join("note.md"), "x").unwrap();
        assert_eq!(content_digest(dir.path()).unwrap(), first);
        fs::rename(dir.path().join("a.json"), dir.path().join("b.json")).unwrap();
        let renamed = content_digest(dir.path()).unwrap();
        assert_ne!(renamed, first);
        fs::write(dir.path().join("b.json"), "2").unwrap();
        assert_ne!(content_digest(dir.path()).unwrap(), renamed);
    }
}
