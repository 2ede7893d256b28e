//! The tasks of a suite: `tasks/*.{json,yaml,yml,jsonl}` and `tasks.jsonl`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::base::{Error, Result};
use crate::load::check::tools::Tools;
use crate::load::check::{At, contract, names, settings};
use crate::load::document::Document;
use crate::load::shape::Shape;
use crate::load::{json, schema, text};
use crate::load::{nearest, place};
use crate::model::suite::Task;

/// A task as read, with the document that knows its lines.
pub(crate) struct ReadTask {
    pub document: Document,
    pub task: Task,
}

/// Reads all tasks of a suite folder in the order of their file names; what does not fit is among
/// the problems.
pub(crate) fn read(dir: &Path, problems: &mut Vec<Error>) -> Vec<ReadTask> {
    let files = files(dir, problems);
    let mut documents = vec![];
    for file in &files {
        documents.extend(read_file(file, problems));
    }
    typed(documents, problems)
}

/// The documents of one task file: one task, a list of tasks, or one task a line.
pub(crate) fn read_file(file: &Path, problems: &mut Vec<Error>) -> Vec<Document> {
    if file.extension().is_some_and(|e| e == "jsonl") {
        return lines(file, problems);
    }
    match Document::read(file) {
        Ok(document) => document.split(),
        Err(error) => {
            problems.push(error);
            vec![]
        }
    }
}

fn lines(file: &Path, problems: &mut Vec<Error>) -> Vec<Document> {
    let text = match text::read(file) {
        Ok(text) => text,
        Err(error) => {
            problems.push(error);
            return vec![];
        }
    };
    let mut documents = vec![];
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match json::parse(line, file, i as u64 + 1) {
            Ok(root) => documents.push(Document {
                file: file.to_path_buf(),
                root,
            }),
            Err(error) => problems.push(error),
        }
    }
    documents
}

/// Checks the shape of task documents and keeps what fits.
pub(crate) fn typed(documents: Vec<Document>, problems: &mut Vec<Error>) -> Vec<ReadTask> {
    let shape = match schema::schema("task").map(Shape::new) {
        Some(Ok(shape)) => shape,
        Some(Err(error)) => {
            problems.push(error);
            return vec![];
        }
        None => return vec![],
    };
    let mut tasks = vec![];
    for document in documents {
        let mut checked = shape.check(&document);
        // A task without id has been reported; it must not be reported again as a duplicate.
        let named = checked.value.get("id").is_some();
        let stand_in = format!("(without id, line {})", document.line(""));
        let task = checked.typed::<Task>(&document, &[("id", json!(stand_in))]);
        problems.append(&mut checked.problems);
        if let Some(task) = task {
            if named {
                names::check(
                    task.id.as_str(),
                    "task",
                    &At::root(&document).to("id"),
                    problems,
                );
            }
            tasks.push(ReadTask { document, task });
        }
    }
    tasks
}

/// Checks each task by itself, and that no two have the same id.
pub(crate) fn check(tasks: &[ReadTask], tools: Option<Tools>, problems: &mut Vec<Error>) {
    let mut first: HashMap<&str, At> = HashMap::new();
    for ReadTask { document, task } in tasks {
        let at = At::root(document);
        let id = at.to("id");
        if let Some(earlier) = first.get(task.id.as_str()) {
            let problem = id.problem(format!("task `{}` is there twice", task.id));
            problems.push(problem.hint(format!("the first one is at {}", earlier.place())));
        } else {
            first.insert(task.id.as_str(), id);
        }
        misspelt_user(task, &at.to("input"), problems);
        if let Some(tools) = tools {
            contract::check(&task.expect, tools, &at.to("expect"), problems);
            settings::faults(&task.faults, tools, &at.to("faults"), problems);
        }
    }
}

/// An input without `user` is given as JSON, which is not what somebody meant who misspelt the key.
fn misspelt_user(task: &Task, at: &At, problems: &mut Vec<Error>) {
    if task.input.contains_key("user") {
        return;
    }
    let texts = task.input.iter().filter(|(_, value)| value.is_string());
    for (key, _) in texts.filter(|(key, _)| nearest::nearest(key, ["user"]).is_some()) {
        let problem = at
            .to(key)
            .problem(format!("`input` has no `user`, and `{key}` is like it"));
        problems
            .push(problem.hint(
                "did you mean `user`? the user says its text; without it, the input as JSON",
            ));
    }
}

/// The tasks that give an agent nothing to answer: without input, or with a `user` that says nothing.
/// Recorded trials need no input, so that this is a problem of live arms only.
pub(crate) fn unsaid(tasks: &[ReadTask]) -> Vec<Error> {
    let told = |ReadTask { document, task }: &ReadTask| {
        let at = At::root(document);
        let id = &task.id;
        let (at, message) = match task.input.get("user") {
            Some(Value::String(text)) if text.trim().is_empty() => (
                at.to("input").to("user"),
                format!("the user of task `{id}` says nothing"),
            ),
            None if task.input.is_empty() => (
                at,
                format!("task `{id}` has no `input`, so that a live arm would be told nothing"),
            ),
            _ => return None,
        };
        Some(at.problem(message).hint(
            "write what the user says: `input: {user: …}`; only recorded arms can do without",
        ))
    };
    tasks.iter().filter_map(told).collect()
}

fn files(dir: &Path, problems: &mut Vec<Error>) -> Vec<PathBuf> {
    let mut found = vec![];
    let folder = dir.join("tasks");
    if folder.is_dir() {
        match listed(&folder) {
            Ok(names) => found = names,
            Err(error) => problems.push(error),
        }
    }
    let lines = dir.join("tasks.jsonl");
    if lines.is_file() {
        found.push(lines);
    }
    found.retain(|file| match stays(file, dir) {
        Ok(()) => true,
        Err(error) => {
            problems.push(error);
            false
        }
    });
    found
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |e| Error::io(format!("the folder can't be read: {e}")).in_file(folder);
    let mut files = vec![];
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let hidden = path
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with('.'));
        let read = path.extension().is_some_and(|e| {
            ["json", "yaml", "yml", "jsonl"]
                .iter()
                .any(|known| e == *known)
        });
        if read && !hidden {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A task file may be a link, but only within its suite.
fn stays(file: &Path, dir: &Path) -> Result<()> {
    let name = file.strip_prefix(dir).unwrap_or(file).to_string_lossy();
    let suite = dir.join(place::SUITE_FILES[0]);
    place::resolve(&name, &suite, dir)
        .map(|_| ())
        .map_err(|e| e.in_file(file))
}
