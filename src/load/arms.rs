//! `arms.yaml`: the systems under test.

pub(crate) mod chat;
mod secret_name;

pub use chat::{is_variable, url_problem};

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::base::{ArmId, Digest, Error, Result};
use crate::load::check::{At, names};
use crate::load::document::Document;
use crate::load::shape::Shape;
use crate::load::suite::newer_format;
use crate::load::{combined, place, schema};
use crate::model::arm::{Arm, ArmSpec, ArmsSpec, Price};

/// The newest format of `arms.yaml` that this version reads.
const ARMS_FORMAT: u32 = 1;

/// Takes the digest of the content of a recorded file or folder.
pub type ContentDigest<'a> = &'a dyn Fn(&Path) -> Result<Digest>;

/// Loads the arms of `arms.yaml`, in the order of their names.
///
/// Paths are relative to the file's folder and stay within the suite around it, or within that
/// folder if there is no suite around it. `content` takes the digest of a recorded arm's files, which
/// becomes part of the arm's own.
///
/// # Errors
///
/// All problems at once, each with file and line.
pub fn arms(file: &Path, content: ContentDigest) -> Result<Vec<Arm>> {
    let mut problems = vec![];
    let read = read(file, &mut problems);
    let mut arms = vec![];
    for FoundArm { id, spec, path } in read.sound {
        match path.as_deref().map(content).transpose() {
            Ok(digest) => arms.push(Arm::new(id, spec, digest.as_ref())),
            Err(error) => problems.push(error),
        }
    }
    if problems.is_empty() {
        Ok(arms)
    } else {
        Err(combined(file, problems))
    }
}

/// The arms of a file with their prices, in the order of their names; what arms recorded is not read.
///
/// # Errors
///
/// All problems at once, each with file and line.
pub fn prices(file: &Path) -> Result<Vec<(ArmId, Option<Price>)>> {
    let mut problems = vec![];
    let read = read(file, &mut problems);
    if !problems.is_empty() {
        return Err(combined(file, problems));
    }
    let price = |found: FoundArm| {
        // A price needs no recorded bytes.
        let arm = Arm::new(found.id, found.spec, None);
        let price = arm.price();
        (arm.id, price)
    };
    Ok(read.sound.into_iter().map(price).collect())
}

/// Lists all problems of an arms file, without reading what the arms recorded.
pub fn validate_arms(file: &Path) -> Vec<Error> {
    let mut problems = vec![];
    read(file, &mut problems);
    problems
}

/// What an arms file holds.
#[derive(Default)]
pub(crate) struct ReadArms {
    /// The names of all arms, sound or not.
    pub names: Vec<ArmId>,
    /// The sound ones.
    pub sound: Vec<FoundArm>,
}

/// A sound arm and the file or folder that it names.
pub(crate) struct FoundArm {
    pub id: ArmId,
    pub spec: ArmSpec,
    pub path: Option<PathBuf>,
}

/// Reads an arms file; what is wrong with it is among the problems.
pub(crate) fn read(file: &Path, problems: &mut Vec<Error>) -> ReadArms {
    let document =
        match Document::read(file).and_then(|d| newer_format(&d, ARMS_FORMAT).map(|()| d)) {
            Ok(document) => document,
            Err(error) => {
                problems.push(error);
                return ReadArms::default();
            }
        };
    let shape = match Shape::new(schema::schema("arms").unwrap_or_default()) {
        Ok(shape) => shape,
        Err(error) => {
            problems.push(error);
            return ReadArms::default();
        }
    };
    let mut checked = shape.check(&document);
    let names = names_of(&document.value());
    let spec = checked.typed::<ArmsSpec>(&document, &[("arms", json!({}))]);
    problems.append(&mut checked.problems);
    let at = At::root(&document).to("arms");
    let arms = spec.map(|s| s.arms).unwrap_or_default();
    if arms.is_empty() && problems.is_empty() {
        problems.push(at.problem("the file has no arms"));
    }
    let mut sound = vec![];
    for (id, spec) in arms {
        let at = at.to(&id);
        names::check(id.as_str(), "arm", &at, problems);
        let before = problems.len();
        let path = check_arm(&spec, &at, file, problems);
        if problems.len() == before {
            sound.push(FoundArm { id, spec, path });
        }
    }
    problems.sort_by_key(Error::line);
    ReadArms { names, sound }
}

fn names_of(file: &Value) -> Vec<ArmId> {
    let arms = file.get("arms").and_then(Value::as_object);
    let names = arms.into_iter().flat_map(|arms| arms.keys());
    names.map(|name| ArmId::new(name.as_str())).collect()
}

/// Checks an arm; returns the file or folder that it names.
fn check_arm(spec: &ArmSpec, at: &At, file: &Path, problems: &mut Vec<Error>) -> Option<PathBuf> {
    if spec.accepts().is_empty() {
        let message = "`accepts` is empty, so that the arm could be given nothing";
        problems.push(at.to("accepts").problem(message));
    }
    match spec {
        ArmSpec::Recorded(arm) => {
            if arm.trials == Some(0) {
                problems.push(at.to("trials").problem("`trials` must be at least 1"));
            }
            check_price(arm.price, at, problems);
        }
        ArmSpec::Chat(arm) => {
            chat::check(arm, at, problems);
            check_price(arm.price, at, problems);
        }
        ArmSpec::Scripted(arm) => check_price(arm.price, at, problems),
    }
    let path = spec.path()?;
    match place::resolve(path, file, &place::root_of(file)) {
        Ok(path) => Some(path),
        Err(error) => {
            let key = match spec {
                ArmSpec::Scripted(_) => "script",
                _ => "path",
            };
            let problem = at.to(key).problem(error.message().to_owned());
            problems.push(error.hints().iter().fold(problem, |p, hint| p.hint(hint)));
            None
        }
    }
}

pub(crate) fn check_price(price: Option<Price>, at: &At, problems: &mut Vec<Error>) {
    let Some(price) = price else {
        return;
    };
    for (key, value) in [
        ("input_per_million", price.input_per_million),
        ("output_per_million", price.output_per_million),
    ] {
        if value < 0.0 {
            let at = at.to("price").to(key);
            problems.push(at.problem(format!("`{key}` must not be negative")));
        }
    }
}
