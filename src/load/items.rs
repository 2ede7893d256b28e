//! `items.jsonl` beside labels: what raters and judges saw.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::examples::{Prompt, plain};
use super::labels::LabelOptions;
use super::sheet::{ColumnMap, Sheet};
use super::spelling::nfc;
use crate::base::{Error, Notice, Result};
use crate::model::label::{Label, Split};

/// Columns that hold what was judged.
const OUTPUTS: [&str; 4] = ["output", "text", "answer", "response"];

/// Fills in lengths, and looks for items that repeat the prompt's own examples: an error among test
/// labels, a notice else.
///
/// Without a prompt to look into, items that cannot be read are a notice: lengths are all that is lost,
/// and the file may be another tool's.
pub(super) fn check(
    file: &Path,
    labels: &mut [Label],
    options: &LabelOptions,
    problems: &mut Vec<Error>,
    notices: &mut Vec<Notice>,
) -> Result<()> {
    let path = file.with_file_name("items.jsonl");
    let texts = match path.exists().then(|| read(&path, &options.map)) {
        None => return Ok(()),
        Some(Ok(texts)) => texts,
        Some(Err(error)) if options.prompt.is_some() => return Err(error),
        Some(Err(error)) => {
            let detail = format!("no length is known of what was judged: {error}");
            notices.push(Notice::with("items_unreadable", detail));
            return Ok(());
        }
    };
    let prompt = options.prompt.as_deref().map(Prompt::read).transpose()?;
    let common = match &prompt {
        Some(_) => how_common(&texts),
        None => HashMap::new(),
    };
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for label in labels {
        let Some(cells) = texts.get(label.item.as_str()) else {
            continue;
        };
        label.length = label.length.or_else(|| length(cells));
        let Some(prompt) = &prompt else { continue };
        if seen.insert(label.item.to_string(), label.line).is_some()
            || !prompt.holds(&judged(cells), &common)
        {
            continue;
        }
        let message = format!(
            "item `{}` is an example of the judge's own prompt",
            label.item
        );
        if label.split == Some(Split::Dev) {
            notices.push(Notice::with("example_in_labels", message));
        } else {
            let hint = "a judge knows the answers to its own examples: label other items";
            problems.push(Error::input(message).at(file, label.line).hint(hint));
        }
    }
    Ok(())
}

/// Cells that are about an item and not what was judged.
const ABOUT: [&str; 8] = [
    "arm",
    "task",
    "trial",
    "group",
    "split",
    "length",
    "stratum",
    "probability",
];

/// The texts of an item.
fn judged(cells: &Cells) -> Vec<&String> {
    let texts = cells
        .iter()
        .filter(|(key, _)| !ABOUT.contains(&key.as_str()));
    texts.map(|(_, text)| text).collect()
}

/// How many items hold each text.
fn how_common(items: &HashMap<String, Cells>) -> HashMap<String, usize> {
    let mut common = HashMap::new();
    for text in items.values().flat_map(judged) {
        *common.entry(plain(text)).or_default() += 1;
    }
    common
}

/// The cells of an item by column.
type Cells = BTreeMap<String, String>;

/// The items; their name stands under `item`, or under the name that the labels map it to.
fn read(path: &Path, map: &ColumnMap) -> Result<HashMap<String, Cells>> {
    let sheet = Sheet::read(path)?;
    let mapped = map.find(&sheet, "item").ok().flatten();
    let named = mapped.and_then(|c| c.positions().first().copied());
    let Some(item) = sheet.column("item").or(named) else {
        return Err(Error::input("there is no key `item`").at(path, 1));
    };
    let mut items = HashMap::new();
    let mut problems = vec![];
    for row in &sheet.rows {
        let Some(id) = row.cells[item].clone().map(nfc) else {
            problems.push(Error::input("the line names no item").at(path, row.line));
            continue;
        };
        let cells = sheet.columns.iter().zip(&row.cells).enumerate();
        let cells = cells.filter(|(at, _)| *at != item);
        let cells: Cells = cells
            .filter_map(|(_, (c, v))| Some((c.clone(), v.clone()?)))
            .collect();
        if items.insert(id.clone(), cells).is_some() {
            problems.push(Error::input(format!("item `{id}` occurs twice")).at(path, row.line));
        }
    }
    if problems.is_empty() {
        Ok(items)
    } else {
        Err(super::combined(path, problems))
    }
}

/// Length of what was judged in characters; of two outputs, the first over the second.
fn length(cells: &Cells) -> Option<f64> {
    let of = |name: &str| cells.get(name).map(|t| t.chars().count() as f64);
    let written = || cells.get("length").and_then(|t| t.parse::<f64>().ok());
    let one = || OUTPUTS.iter().find_map(|name| of(name));
    let two = || Some(of("output_1")? / of("output_2")?);
    written()
        .or_else(one)
        .or_else(two)
        .filter(|l| *l > 0.0 && l.is_finite())
}
