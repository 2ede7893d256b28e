//! What raters and judges see of a labelled set: `items.jsonl`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::spelling::nfc;
use super::{combined, json, nearest, text};
use crate::base::{ArmId, Error, ItemId, Result, TaskId};

/// An item of a labelled set.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledItem {
    /// Item.
    pub id: ItemId,
    /// What was asked.
    pub input: Option<String>,
    /// What was answered: one text, or two to compare.
    pub outputs: Vec<String>,
    /// Arm that produced it.
    pub arm: Option<ArmId>,
    /// Task that it belongs to.
    pub task: Option<TaskId>,
    /// Trial number, where it is a trial of a run.
    pub trial: Option<u32>,
}

/// Reads items: one JSON object per line with `item`, `input`, and `output`, or `output_1` and
/// `output_2`; also `arm`, `task` and `trial`. Other keys are for people.
///
/// # Errors
///
/// If a line is not such an object, or an item comes twice; every line at once.
pub fn items(file: &Path) -> Result<Vec<LabelledItem>> {
    let content = text::read(file)?;
    let mut problems = vec![];
    let mut seen = BTreeSet::new();
    let mut found = vec![];
    for (number, line) in (1..).zip(content.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        match item(line) {
            Ok(item) if seen.insert(item.id.clone()) => found.push(item),
            Ok(item) => {
                let problem = format!("item `{}` comes twice", item.id);
                problems.push(Error::input(problem).at(file, number));
            }
            Err(problem) => problems.push(Error::input(problem).at(file, number)),
        }
    }
    if found.is_empty() && problems.is_empty() {
        problems.push(Error::input("the file holds no item").in_file(file));
    }
    match problems.is_empty() {
        true => Ok(found),
        false => Err(combined(file, problems)),
    }
}

fn item(line: &str) -> std::result::Result<LabelledItem, String> {
    let value = Value::Object(json::members(line)?.into_iter().collect());
    let said = |key: &str| match value.get(key)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    if let Some((key, near)) = mistyped(&value) {
        return Err(format!(
            "unknown key `{key}`: did you mean `{near}`? Else give the key a name of its own"
        ));
    }
    let id = said("item").ok_or("the item has no `item`, its name")?;
    let id = nfc(id.trim().to_owned());
    let outputs: Vec<String> = match said("output") {
        Some(output) => vec![output],
        None => ["output_1", "output_2"]
            .iter()
            .filter_map(|key| said(key))
            .collect(),
    };
    if outputs.is_empty() {
        return Err(format!(
            "item `{id}` has neither `output` nor `output_1` and `output_2`"
        ));
    }
    Ok(LabelledItem {
        id: ItemId::new(id),
        input: said("input"),
        outputs,
        arm: said("arm").map(ArmId::new),
        task: said("task").map(TaskId::new),
        trial: value
            .get("trial")
            .and_then(Value::as_u64)
            .and_then(|n| u32::try_from(n).ok()),
    })
}

/// The keys that are read.
const KEYS: [&str; 8] = [
    "item", "input", "output", "output_1", "output_2", "arm", "task", "trial",
];

/// A key that is like one which the item lacks, so that its value would be lost.
fn mistyped(value: &Value) -> Option<(&str, &'static str)> {
    let members = value.as_object()?;
    let lacking = |key: &&str| !members.contains_key(*key);
    let unknown = members.keys().filter(|key| !KEYS.contains(&key.as_str()));
    // Words of two letters are near each other by chance.
    let mut telling = unknown.filter(|key| key.chars().count() > 2);
    telling.find_map(|key| {
        let near = nearest::nearest(key, KEYS.into_iter().filter(lacking))?;
        Some((key.as_str(), KEYS.into_iter().find(|known| *known == near)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_one_and_of_two_outputs_are_read_and_problems_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("items.jsonl");
        let good = "{\"item\": \"a\", \"input\": \"q\", \"output\": {\"n\": 1}, \"note\": 1}\n\n\
                    {\"item\": \"b\", \"output_1\": \"x\", \"output_2\": \"y\", \"arm\": \"m\", \"trial\": 2}\n";
        std::fs::write(&file, good).unwrap();
        let found = items(&file).unwrap();
        assert_eq!(found[0].outputs, [r#"{"n":1}"#]);
        assert_eq!(found[1].outputs, ["x", "y"]);
        assert_eq!(found[1].trial, Some(2));
        std::fs::write(
            &file,
            "{\"item\": \"a\", \"output\": \"x\", \"tsk\": \"t\"}\n",
        )
        .unwrap();
        let error = items(&file).unwrap_err().to_string();
        assert!(error.contains("did you mean `task`"), "{error}");
        std::fs::write(
            &file,
            format!("{good}{{\"item\": \"a\", \"output\": \"z\"}}\n{{}}\n"),
        )
        .unwrap();
        let error = items(&file).unwrap_err().to_string();
        assert!(
            error.contains("comes twice") && error.contains(":4") && error.contains(":5"),
            "{error}"
        );
    }
}
