//! Broken suites and the problems that must be found in them, each with file and line.
//!
//! The cases are the files in `broken/`: a sentence, the files of the suite after `--- NAME`, and
//! after `=== problems` everything that must be said: `file:line: message | hint`.

use std::fs;
use std::path::Path;

use assize::base::Error;
use assize::load;

const SUITE: &str = "id: s\nversion: \"1\"\n";
const TASK: &str = "{\"id\": \"t\"}\n";

/// Writes files into a fresh suite folder, with a sound suite file and task where none are given,
/// and lists the problems found.
fn problems(files: &[(&str, &[u8])]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let given = |start: &str| files.iter().any(|(name, _)| name.starts_with(start));
    if !given("suite.") {
        fs::write(root.join("suite.yaml"), SUITE).unwrap();
    }
    if !given("tasks") {
        fs::write(root.join("tasks.jsonl"), TASK).unwrap();
    }
    for (name, text) in files {
        let file = root.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let found = load::validate(&[root.to_path_buf()], &|_| vec![]);
    found.problems.iter().map(|e| shown(e, root)).collect()
}

fn shown(error: &Error, root: &Path) -> String {
    let file = error.file().map(|f| f.strip_prefix(root).unwrap_or(f));
    let mut text = file.map(|f| f.display().to_string()).unwrap_or_default();
    if let Some(line) = error.line() {
        text.push_str(&format!(":{line}"));
    }
    text.push_str(&format!(": {}", error.message()));
    for hint in error.hints() {
        text.push_str(&format!(" | {hint}"));
    }
    text.replace(&format!("{}/", root.display()), "")
}

/// The files of a case, and what must be said about them.
fn read_case(text: &str) -> (Vec<(&str, &[u8])>, Vec<&str>) {
    let (files, expected) = text.split_once("=== problems\n").unwrap();
    let files = files.split("--- ").skip(1).map(|part| {
        let (name, content) = part.split_once('\n').unwrap();
        (name, content.as_bytes())
    });
    (files.collect(), expected.lines().collect())
}

#[test]
fn every_problem_of_a_broken_suite_is_found_at_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/broken");
    let mut cases = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let (files, expected) = read_case(&text);
        let found = problems(&files);
        assert_eq!(found, expected, "{}\n{}", path.display(), found.join("\n"));
        cases += 1;
    }
    assert!(cases >= 20, "the cases are there");
}

#[test]
fn bytes_that_are_no_text_are_told() {
    assert_eq!(
        problems(&[("suite.yaml", b"id: s\nversion: \"\xff\"\n")]),
        ["suite.yaml:2: the file is not UTF-8 | save it as UTF-8"]
    );
    assert_eq!(
        problems(&[("suite.yaml", b"id: \"a\\0b\"\nversion: \"1\"\n")]),
        ["suite.yaml:1: the suite name \"a\\0b\" holds a control character"]
    );
    let mark = [b"\xef\xbb\xbf", SUITE.as_bytes()].concat();
    let none: [&str; 0] = [];
    assert_eq!(
        problems(&[("suite.yaml", &mark)]),
        none,
        "a byte order mark does no harm"
    );
}

#[test]
fn yaml_that_unfolds_without_end_is_refused() {
    let mut text = String::from("id: s\nversion: \"1\"\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..20 {
        let before = vec![format!("*a{}", i - 1); 9].join(", ");
        text.push_str(&format!("a{i}: &a{i} [{before}]\n"));
    }
    let found = problems(&[("suite.yaml", text.as_bytes())]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("not valid YAML"), "{found:?}");
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_of_the_suite_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (inside, outside) = (dir.path().join("suite"), dir.path().join("outside"));
    fs::create_dir_all(inside.join("tasks")).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("t.json"), TASK).unwrap();
    fs::write(inside.join("suite.yaml"), SUITE).unwrap();
    fs::write(inside.join("tasks/a.json"), "{\"id\": \"a\"}").unwrap();
    std::os::unix::fs::symlink(outside.join("t.json"), inside.join("tasks/t.json")).unwrap();
    std::os::unix::fs::symlink(inside.join("tasks/a.json"), inside.join("tasks.jsonl")).unwrap();
    let (_, found) = load::validate_suite(&inside);
    let found: Vec<String> = found.iter().map(|e| shown(e, &inside)).collect();
    assert_eq!(
        found,
        [
            "tasks/t.json: path `tasks/t.json` leaves the folder of its suite | it is a symbolic link to somewhere else",
            "tasks.jsonl:1: task `a` is there twice | the first one is at tasks/a.json:1",
        ]
    );
}

/// Writes files below a fresh folder.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    dir
}

#[test]
fn a_path_may_be_anything_that_users_write() {
    let tool_suite = "id: s\nversion: \"1\"\ntools: {pay: {writes: true}}\n";
    let dir = folder(&[
        ("suites/a/suite.yaml", tool_suite),
        ("suites/a/tasks/t.yaml", "- id: t\n- id: u\n"),
        ("suites/b/suite.json", "{\"id\": \"b\", \"version\": \"1\"}"),
        ("suites/b/tasks.jsonl", TASK),
        ("suites/notes.txt", "not a suite"),
        (
            "more/arms.yaml",
            "arms:\n  x: {kind: recorded, path: y.json}\n",
        ),
        ("more/y.json", "{\"tools\": [], \"final\": null}"),
        (
            "suites/a/extra/one.json",
            "{\"id\": \"v\",\n \"expect\": {\"forbidden_tools\": [\"pya\"]}}",
        ),
        ("empty/readme.md", ""),
    ]);
    let check = |path: &str| {
        let traces = |p: &Path| vec![Error::input("a trace").in_file(p)];
        let found = load::validate(&[dir.path().join(path)], &traces);
        let problems: Vec<String> = found
            .problems
            .iter()
            .map(|e| shown(e, dir.path()))
            .collect();
        let counts = [found.suites, found.tasks, found.arms, found.traces];
        (counts, problems.join("; "))
    };
    assert_eq!(check("suites"), ([2, 3, 0, 0], String::new()));
    assert_eq!(check("suites/a"), ([1, 2, 0, 0], String::new()));
    assert_eq!(check("suites/b/suite.json"), ([1, 1, 0, 0], String::new()));
    assert_eq!(check("more/arms.yaml"), ([0, 0, 1, 0], String::new()));
    let trace = "more/y.json: a trace".to_owned();
    assert_eq!(check("more/y.json"), ([0, 0, 0, 1], trace));
    assert_eq!(check("more"), ([0, 0, 0, 1], "more: a trace".to_owned()));
    let unknown = "suites/a/extra/one.json:2: unknown tool `pya` in `expect.forbidden_tools[0]` | did you mean `pay`?";
    assert_eq!(
        check("suites/a/extra/one.json"),
        ([0, 1, 0, 0], unknown.to_owned())
    );
    let nothing = "empty: the folder holds no suite, no judge, no labels and no traces | a suite is a folder with suite.yaml; name it, or the folder around it";
    assert_eq!(check("empty"), ([0; 4], nothing.to_owned()));
    assert_eq!(
        check("absent.yaml"),
        (
            [0; 4],
            "absent.yaml: there is no such file or folder".to_owned()
        )
    );
}
