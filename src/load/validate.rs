//! What `assize validate` checks: any of the files that users write, by what they turn out to be.

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::{ArmId, Error};
use crate::load::arms::ReadArms;
use crate::load::check::tools::Tools;
use crate::load::check::{At, decision};
use crate::load::document::{Document, Kind};
use crate::load::place::SUITE_FILES;
use crate::load::suite::{self, Checkup};
use crate::load::{arms, judge, label_sets, script, tasks};

/// What was checked, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validation {
    /// Suites that were checked.
    pub suites: usize,
    /// Tasks that were checked, in suites or by themselves.
    pub tasks: usize,
    /// Arms that were checked.
    pub arms: usize,
    /// Judges that were checked.
    pub judges: usize,
    /// Scripts that were checked by themselves.
    pub scripts: usize,
    /// Label sets that were checked.
    pub labels: usize,
    /// Trace files and folders that were checked.
    pub traces: usize,
    /// Folders of suites in which nothing was wrong, whose recordings can be read therefore.
    pub sound: Vec<PathBuf>,
    /// Every problem, each with file and, where there is one, line.
    pub problems: Vec<Error>,
    /// What is worth knowing and no problem, a sentence each.
    pub notices: Vec<String>,
}

/// Lists the problems of a file or folder of traces.
pub type CheckTraces<'a> = &'a dyn Fn(&Path) -> Vec<Error>;

/// Checks files and folders and lists every problem at once.
///
/// A path is a suite folder (its `arms.yaml` is checked too), a folder of suites, a suite file, an
/// arms file, a script, a judge or a folder of judges, a task file, a file of labels, a label set or a
/// folder of label sets, or a file or folder of traces, which `traces` checks. Without paths the folder
/// `suites` is checked, and `judges` and the label sets of `calibration` where there are any.
pub fn validate(paths: &[PathBuf], traces: CheckTraces) -> Validation {
    let mut found = Validation::default();
    let mut default = vec![PathBuf::from("suites")];
    default.extend(Some(PathBuf::from("judges")).filter(|dir| dir.is_dir()));
    // `init` makes this folder with nothing in it yet.
    let sets = Some(PathBuf::from("calibration"));
    default.extend(sets.filter(|dir| label_sets::sets_in(dir).next().is_some()));
    for path in if paths.is_empty() { &default } else { paths } {
        if !path.exists() {
            let problem = Error::input("there is no such file or folder").in_file(path);
            found.problems.push(if paths.is_empty() {
                problem.hint("without a path, the folder `suites` is checked; name another")
            } else {
                problem
            });
        } else if path.is_dir() {
            folder(path, traces, &mut found);
        } else {
            file(path, traces, &mut found);
        }
    }
    found
}

fn folder(dir: &Path, traces: CheckTraces, found: &mut Validation) {
    if holds_suite(dir) {
        suite_folder(dir, found);
        return;
    }
    let mut inner: Vec<PathBuf> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| holds_suite(path))
        .collect();
    inner.sort();
    if !inner.is_empty() {
        inner.iter().for_each(|dir| suite_folder(dir, found));
    } else if !label_sets::files_in(dir).is_empty() {
        label_set(dir, found);
    } else if label_sets::sets_in(dir).next().is_some() {
        label_sets::sets_in(dir).for_each(|dir| label_set(&dir, found));
    } else if !judges_in(dir).is_empty() {
        judges_in(dir)
            .iter()
            .for_each(|file| judge_file(file, found));
    } else if holds_traces(dir) {
        check_traces(dir, traces, found);
    } else {
        let problem = Error::input("the folder holds no suite, no judge, no labels and no traces")
            .in_file(dir);
        let hint = "a suite is a folder with suite.yaml; name it, or the folder around it";
        found.problems.push(problem.hint(hint));
    }
}

/// A label set with the judges that lie beside it.
fn label_set(dir: &Path, found: &mut Validation) {
    let judges = judges_in(dir);
    for file in label_sets::files_in(dir) {
        labels_file(&file, &judges, found);
    }
    judges.iter().for_each(|file| judge_file(file, found));
}

/// Labels; with judges beside them, whose scale is known therefore.
fn labels_file(file: &Path, judges: &[PathBuf], found: &mut Validation) {
    found.labels += 1;
    let judge = judges.iter().find_map(|file| judge::judge(file).ok());
    let (problems, notices) = label_sets::problems(file, judge.as_ref());
    found.problems.extend(problems);
    found.notices.extend(notices);
}

fn holds_suite(dir: &Path) -> bool {
    SUITE_FILES.iter().any(|name| dir.join(name).is_file())
}

fn holds_traces(dir: &Path) -> bool {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let mut files = entries.filter_map(|e| Some(e.ok()?.path()));
    files.any(|f| f.is_file() && has_extension(&f, &["json", "jsonl", "gz"]))
}

fn has_extension(file: &Path, extensions: &[&str]) -> bool {
    file.extension()
        .is_some_and(|e| extensions.iter().any(|known| e == *known))
}

/// The files of a folder that define judges.
fn judges_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| file.is_file() && has_extension(file, &["yaml", "yml"]))
        .filter(|file| Document::read(file).is_ok_and(|d| judge::is_judge(&d)))
        .collect();
    files.sort();
    files
}

fn judge_file(file: &Path, found: &mut Validation) {
    found.judges += 1;
    found.problems.extend(judge::validate_judge(file));
    if judge::judge(file).is_ok_and(|judge| judge::says_no_form(&judge)) {
        found.notices.push(format!(
            "{}: the prompt has no `{{{{ schema }}}}` and does not name the key of the answer; the model must be told otherwise in which form it answers",
            file.display()
        ));
    }
}

fn check_traces(path: &Path, traces: CheckTraces, found: &mut Validation) {
    found.traces += 1;
    found.problems.extend(traces(path));
}

/// A suite with its arms file, where it has one.
fn suite_folder(dir: &Path, found: &mut Validation) {
    let before = found.problems.len();
    suite_and_arms(dir, found);
    if found.problems.len() == before {
        found.sound.push(dir.to_path_buf());
    }
}

fn suite_and_arms(dir: &Path, found: &mut Validation) {
    let checkup = suite::check(dir);
    found.suites += 1;
    found.tasks += checkup.tasks;
    found.problems.extend(checkup.problems.iter().cloned());
    let names = ["arms.yaml", "arms.yml", "arms.json"];
    let Some(file) = names.iter().map(|n| dir.join(n)).find(|f| f.is_file()) else {
        return;
    };
    let arms = arms_file(&file, found);
    if arms.sound.iter().any(|arm| arm.spec.is_live()) {
        found.problems.extend(checkup.unsaid.iter().cloned());
    }
    known_arms(&checkup, &arms.names, &file, found);
}

/// Checks an arms file.
fn arms_file(file: &Path, found: &mut Validation) -> ReadArms {
    let mut problems = vec![];
    let read = arms::read(file, &mut problems);
    found.problems.extend(problems);
    found.arms += read.names.len();
    read
}

/// The arms that a decision names are those of the suite's own arms file.
fn known_arms(checkup: &Checkup, arms: &[ArmId], file: &Path, found: &mut Validation) {
    let Some((document, rules)) = checkup.decision().filter(|_| !arms.is_empty()) else {
        return;
    };
    let at = At::root(document).to("decision");
    decision::arms(rules, arms, file, &at, &mut found.problems);
}

/// A single file, by its name or by what it holds.
fn file(path: &Path, traces: CheckTraces, found: &mut Validation) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if SUITE_FILES.contains(&name.as_ref()) {
        let dir = path.parent().filter(|d| *d != Path::new(""));
        suite_folder(dir.unwrap_or(Path::new(".")), found);
    } else if label_sets::is_labels(path) {
        let beside = path.parent().map(judges_in).unwrap_or_default();
        labels_file(path, &beside, found);
    } else if name == "items.jsonl" {
        found.problems.extend(label_sets::item_problems(path));
    } else if has_extension(path, &["gz"]) {
        check_traces(path, traces, found);
    } else if has_extension(path, &["jsonl"]) {
        lines(path, traces, found);
    } else {
        match Document::read(path) {
            Err(error) => found.problems.push(error),
            Ok(document) if has_key(&document, &["arms"]) => {
                arms_file(path, found);
            }
            Ok(document) if has_key(&document, &["models"]) => {
                found.scripts += 1;
                found.problems.extend(script::validate_script(path));
            }
            Ok(document) if judge::is_judge(&document) => judge_file(path, found),
            Ok(document) if is_trace(&document) => check_traces(path, traces, found),
            Ok(document) => task_file(document.split(), vec![], path, found),
        }
    }
}

fn lines(path: &Path, traces: CheckTraces, found: &mut Validation) {
    let mut problems = vec![];
    let documents = tasks::read_file(path, &mut problems);
    if documents.first().is_some_and(is_trace) {
        check_traces(path, traces, found);
    } else {
        task_file(documents, problems, path, found);
    }
}

/// Whether a document is a trace rather than a task: tasks have neither events nor calls nor turns.
fn is_trace(document: &Document) -> bool {
    let first = |items: &[_]| {
        items
            .first()
            .is_some_and(|root: &crate::load::document::Node| {
                is_trace(&Document {
                    file: document.file.clone(),
                    root: root.clone(),
                })
            })
    };
    match &document.root.kind {
        Kind::List(items) => first(items),
        _ if has_key(document, &["input", "expect"]) => false,
        _ => has_key(
            document,
            &[
                "sequence",
                "tools",
                "traj",
                "messages",
                "results",
                "simulations",
            ],
        ),
    }
}

fn has_key(document: &Document, keys: &[&str]) -> bool {
    match &document.root.kind {
        Kind::Map(entries) => entries.iter().any(|e| keys.contains(&e.key.as_str())),
        _ => false,
    }
}

/// Tasks by themselves: against the tools of the suite around the file, where there is one.
fn task_file(
    documents: Vec<Document>,
    mut problems: Vec<Error>,
    path: &Path,
    found: &mut Validation,
) {
    let tasks = tasks::typed(documents, &mut problems);
    found.tasks += tasks.len();
    let around = path.ancestors().skip(1).find(|dir| holds_suite(dir));
    let checkup = around.map(suite::check);
    let tools = checkup.as_ref().and_then(Checkup::tools).map(Tools);
    tasks::check(&tasks, tools, &mut problems);
    if let Some(checkup) = &checkup {
        checkup.check_environment(&tasks, &mut problems);
    }
    problems.sort_by_key(Error::line);
    found.problems.extend(problems);
}
