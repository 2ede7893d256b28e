//! What the tests of whole commands share: a folder of their own, the binary, reports, and what a
//! run holds.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use tempfile::TempDir;

/// A path of the package.
pub fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A fresh folder in which commands run.
pub struct Place(TempDir);

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and the folders above it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let file = self.path(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Copies a shipped suite to `name`.
    pub fn copy_suite(&self, suite: &str, name: &str) {
        copy(&here("suites").join(suite), &self.path(name));
    }

    /// The binary, in this folder, untouched by the environment of the tests.
    pub fn command(&self) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("assize"));
        command.current_dir(self.0.path());
        for name in ["ASSIZE_FORMAT", "ASSIZE_THREADS"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the binary with arguments that are separated by blanks.
    pub fn assize(&self, arguments: &str) -> Done {
        let output = self.command().args(arguments.split_whitespace()).output();
        Done::of(output.unwrap())
    }

    /// Runs a command that must end with this code.
    pub fn expect(&self, code: i32, arguments: &str) -> Done {
        let done = self.assize(arguments);
        assert_eq!(done.code, code, "assize {arguments}: {done:#?}");
        done
    }

    /// The report of a run.
    pub fn report(&self, run: &str) -> Report {
        Report(serde_json::from_str(&self.read(&format!("{run}/report/report.json"))).unwrap())
    }

    /// Every file below a folder.
    pub fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.path(folder), "", &mut found);
        found
    }

    /// Everything that a run holds: the bytes of its plan and report, and all rows of its database.
    pub fn held(&self, run: &str) -> BTreeMap<String, Vec<u8>> {
        let mut held = self.files(run);
        // The database's own files differ in layout only, and the lock names its last holder.
        held.retain(|name, _| !name.starts_with("run."));
        held.extend(tables(&self.path(run).join("run.sqlite")));
        held
    }
}

impl Done {
    pub fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code().expect("no signal ended the command"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The error and its hints, without the talk before it.
    pub fn error(&self) -> &str {
        let at = self.stderr.find("error: ").expect("there is an error");
        &self.stderr[at..]
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

fn collect(folder: &Path, prefix: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), found);
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}

/// All rows of all tables, as text.
fn tables(file: &Path) -> BTreeMap<String, Vec<u8>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let db = Connection::open_with_flags(file, flags).unwrap();
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1";
    let mut names = db.prepare(names).unwrap();
    let names = names.query_map([], |r| r.get::<_, String>(0)).unwrap();
    let mut held = BTreeMap::new();
    for name in names {
        let name = name.unwrap();
        let mut rows = db.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let width = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        let mut text = String::new();
        while let Some(row) = rows.next().unwrap() {
            for at in 0..width {
                match row.get_ref(at).unwrap() {
                    ValueRef::Text(bytes) => text.push_str(&String::from_utf8_lossy(bytes)),
                    other => text.push_str(&format!("{other:?}")),
                }
                text.push('\t');
            }
            text.push('\n');
        }
        held.insert(format!("table {name}"), text.into_bytes());
    }
    held
}

/// A `report.json`.
pub struct Report(pub Value);

impl Report {
    fn rows(&self, list: &str) -> impl Iterator<Item = &Value> {
        self.0[list].as_array().unwrap().iter()
    }

    /// The estimates of a metric over all tasks, for one arm.
    pub fn estimates(&self, arm: &str, metric: &str) -> Vec<&Value> {
        self.rows("estimates")
            .filter(|e| e["arm"] == arm && e["metric"] == metric && e["segment"].is_null())
            .collect()
    }

    /// The one estimate of a metric over all tasks.
    pub fn estimate(&self, arm: &str, metric: &str) -> &Value {
        let found = self.estimates(arm, metric);
        assert_eq!(found.len(), 1, "{metric} of {arm}: {found:#?}");
        found[0]
    }

    /// The comparisons over all tasks.
    pub fn comparisons(&self) -> Vec<&Value> {
        let rows = self.rows("comparisons");
        rows.filter(|c| c["segment"].is_null()).collect()
    }

    /// The comparison of a metric over all tasks.
    pub fn comparison(&self, metric: &str) -> &Value {
        let found = self.comparisons();
        found.into_iter().find(|c| c["metric"] == metric).unwrap()
    }

    /// The denominators of a dimension over all tasks.
    pub fn accounting(&self, arm: &str, dimension: &str) -> &Value {
        let of = |a: &&Value| a["arm"] == arm && a["dimension"] == dimension;
        let mut rows = self.rows("accounting").filter(|a| a["segment"].is_null());
        rows.find(of).unwrap()
    }

    pub fn gate(&self) -> (&str, i64) {
        let gate = &self.0["gate"];
        (
            gate["result"].as_str().unwrap(),
            gate["exit_code"].as_i64().unwrap(),
        )
    }
}

/// Whether a number of a report is this one, to the digits given.
#[track_caller]
pub fn near(found: &Value, wanted: f64, tolerance: f64) {
    let found = found.as_f64().unwrap_or(f64::NAN);
    assert!(
        (found - wanted).abs() <= tolerance,
        "{found} is not {wanted}"
    );
}

/// The first command of the README, with two threads: what it said, and the files that it left in
/// its report. It is run once for all tests, which read it only.
pub struct Airline {
    pub done: Done,
    pub files: BTreeMap<String, Vec<u8>>,
    pub database: Vec<u8>,
}

pub fn airline() -> &'static Airline {
    static RUN: OnceLock<Airline> = OnceLock::new();
    RUN.get_or_init(|| {
        let place = Place::new();
        place.copy_suite("airline", "suites/airline");
        let done = place.assize("run suites/airline --out run --threads 2");
        assert!(place.path("run/report").is_dir(), "{done:#?}");
        Airline {
            files: place.files("run/report"),
            database: fs::read(place.path("run/run.sqlite")).unwrap(),
            done,
        }
    })
}

impl Airline {
    pub fn report(&self) -> Report {
        Report(serde_json::from_slice(&self.files["report.json"]).unwrap())
    }

    pub fn markdown(&self) -> &str {
        std::str::from_utf8(&self.files["report.md"]).unwrap()
    }
}
