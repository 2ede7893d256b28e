//! Golden traces as text for people or JSON for scripts.

use super::{json, print};
use crate::app::golden::{CheckedTrace, Golden};
use crate::base::Result;
use crate::cli::args::Format;
use crate::cli::wants_json;

/// Prints a golden command's result; exit code 1 if a check failed.
pub fn golden(done: &Golden, format: Format) -> Result<u8> {
    match done {
        Golden::Checked(results) => checked(results, format),
        Golden::Frozen {
            folder,
            tasks,
            kept,
            missing,
            drafts,
        } => {
            if wants_json(format) {
                json(&serde_json::json!({
                    "folder": folder, "tasks": tasks, "kept": kept, "missing": missing, "drafts": drafts,
                }))?;
                return Ok(0);
            }
            let mut text = format!(
                "{} golden traces frozen in {}",
                tasks.len(),
                folder.display()
            );
            let mut say = |what: &str, names: &[String]| {
                if !names.is_empty() {
                    text.push_str(&format!("\n{what}: {}", names.join(", ")));
                }
            };
            say("kept, since they have a golden trace already", kept);
            say("not frozen, since every trial breaks a rule", missing);
            for draft in drafts {
                text.push_str(&format!(
                    "\ndrafted a contract to look at: {}",
                    draft.display()
                ));
            }
            print(&text)?;
            Ok(0)
        }
    }
}

fn checked(results: &[CheckedTrace], format: Format) -> Result<u8> {
    let failed = results.iter().filter(|r| !r.result.passed()).count();
    let code = u8::from(failed > 0);
    if wants_json(format) {
        json(&serde_json::json!({"failed": failed, "results": results}))?;
        return Ok(code);
    }
    let mut text = String::new();
    for CheckedTrace { file, result } in results {
        let mark = if result.passed() { "PASS" } else { "FAIL" };
        let file = file
            .as_ref()
            .map_or(String::new(), |f| format!(" {}", f.display()));
        let hash = result.path_hash.as_deref().unwrap_or("no trace");
        let drift = if result.passed() && result.drifted {
            " (path differs from the golden trace, as the contract allows)"
        } else {
            ""
        };
        text.push_str(&format!("{mark} {} {hash}{file}{drift}\n", result.task));
        for failure in &result.failures {
            let events: Vec<String> = failure.events.iter().map(u64::to_string).collect();
            let events = if events.is_empty() {
                String::new()
            } else {
                format!(" (events {})", events.join(" "))
            };
            text.push_str(&format!(
                "  - {}: {}{events}\n",
                failure.rule, failure.reason
            ));
        }
    }
    text.push_str(&format!("{} checked, {failed} failed", results.len()));
    print(&text)?;
    Ok(code)
}
