//! A file system that is full while trials are stored.

use std::process::Command;

use rusqlite::{Connection, OpenFlags};

use crate::common::{Done, Place};
use crate::live_common::{Found, arms, scripted, suite};

/// A model whose trials take room.
const LARGE: &str = "
  large: {default: {turns: [{say: '{\"status\": \"ok\", \"text\": \"{{ range(4000) | join(task) }}\"}'}]}}
";

fn filling(place: &Place) {
    suite(place, 40, 10, "");
    arms(place, LARGE, &scripted("large"));
}

/// Digests of the stored trials by their ids.
fn kept(place: &Place, run: &str) -> Vec<(String, String)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let db = Connection::open_with_flags(place.path(run).join("run.sqlite"), flags).unwrap();
    let mut select = db
        .prepare("SELECT id, hex(digest) FROM trials ORDER BY 1")
        .unwrap();
    let rows = select
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))
        .unwrap();
    rows.map(Result::unwrap).collect()
}

fn goes_on(place: &Place, run: &str, before: &[(String, String)]) {
    assert!(!before.is_empty() && before.len() < 800, "{}", before.len());
    place.expect(0, &format!("run --resume {run}"));
    let after = kept(place, run);
    assert_eq!(after.len(), 800);
    assert!(
        before.iter().all(|trial| after.contains(trial)),
        "what was stored stays"
    );
    let found = Found::of(place, run);
    found.all_passed("large", 400);
    found.all_passed("base", 400);
    place.expect(0, &format!("verify {run}"));
}

#[test]
fn a_file_that_may_not_grow_ends_the_run_and_loses_nothing() {
    let place = Place::new();
    filling(&place);
    let assize = place.command().get_program().to_owned();
    let mut shell = Command::new("sh");
    shell.current_dir(place.path("")).arg("-c");
    shell.arg("trap '' XFSZ; ulimit -f 4096; exec \"$0\" \"$@\"");
    shell
        .arg(assize)
        .args(["run", "s", "--out", "run", "--concurrency", "4"]);
    let done = Done::of(shell.output().unwrap());
    assert_eq!(done.code, 4, "{done:#?}");
    assert!(
        done.error().contains("what was stored before is intact"),
        "{done:#?}"
    );
    goes_on(&place, "run", &kept(&place, "run"));
}

/// A small file system of its own; only root may have one.
struct Small(std::path::PathBuf);

impl Small {
    fn mount(place: &Place, size: &str) -> Option<Self> {
        let folder = place.path("small");
        std::fs::create_dir(&folder).unwrap();
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", size, "tmpfs"])
            .arg(&folder)
            .output();
        done.is_ok_and(|o| o.status.success())
            .then_some(Self(folder))
    }

    fn grow(&self, size: &str) {
        let done = Command::new("mount")
            .args(["-o", &format!("remount,{size}")])
            .arg(&self.0)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn a_full_disk_ends_the_run_and_loses_nothing() {
    let place = Place::new();
    let Some(disk) = Small::mount(&place, "size=3m") else {
        eprintln!("skipped: a small file system cannot be mounted here");
        return;
    };
    filling(&place);
    let done = place.expect(4, "run s --out small/run --concurrency 4");
    assert!(
        done.error().contains("the file system is full"),
        "{done:#?}"
    );
    disk.grow("size=64m");
    goes_on(&place, "small/run", &kept(&place, "small/run"));
}
