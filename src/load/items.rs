//! `items.jsonl` beside labels: what raters and judges saw.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::sheet::Sheet;
use super::text;
use crate::base::{Error, Notice, Result};
use crate::model::label::{Label, Split};

/// Columns that hold what was judged.
const OUTPUTS: [&str; 4] = ["output", "text", "answer", "response"];
/// Shorter texts occur in a prompt by chance.
const TELLING: usize = 40;

/// Fills in lengths, and looks for items that repeat the prompt's own examples: an error among test
/// labels, a notice else.
pub(super) fn check(
    file: &Path,
    labels: &mut [Label],
    prompt: Option<&Path>,
    problems: &mut Vec<Error>,
    notices: &mut Vec<Notice>,
) -> Result<()> {
    let path = file.with_file_name("items.jsonl");
    let texts = if path.exists() {
        read(&path)?
    } else {
        HashMap::new()
    };
    let prompt = prompt.map(text::read).transpose()?.map(|p| plain(&p));
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for label in labels {
        let Some(cells) = texts.get(label.item.as_str()) else {
            continue;
        };
        label.length = label.length.or_else(|| length(cells));
        let Some(prompt) = &prompt else { continue };
        let repeats = |t: &&String| t.chars().count() >= TELLING && prompt.contains(&plain(t));
        let found = cells.values().any(|t| repeats(&t));
        if !found || seen.insert(label.item.to_string(), label.line).is_some() {
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

/// The cells of an item by column.
type Cells = BTreeMap<String, String>;

fn read(path: &Path) -> Result<HashMap<String, Cells>> {
    let sheet = Sheet::read(path)?;
    let Some(item) = sheet.column("item") else {
        return Err(Error::input("there is no key `item`").at(path, 1));
    };
    let mut items = HashMap::new();
    let mut problems = vec![];
    for row in &sheet.rows {
        let Some(id) = row.cells[item].clone() else {
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

/// A text with every run of white space as one blank.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
