//! A judge does not judge its own model: models prefer what they wrote themselves (Panickssery et al.
//! 2024), and blinding hides names, not style.

use crate::base::{Error, Result};
use crate::model::arm::Arm;
use crate::model::judge::Judge;

/// Refuses a judge whose model, or that of one of its panel's members, is that of an arm.
///
/// # Errors
///
/// If it is, with the arm and both ids.
pub fn refuse(judge: &Judge, arms: &[Arm]) -> Result<()> {
    match judged_by_itself(judge, arms).as_slice() {
        [] => Ok(()),
        found => Err(Error::refused(found.join("; "))
            .hint("take a judge of another model, or force it: the report will say so")),
    }
}

/// Every pair of judge and arm that share a model, in words.
pub fn judged_by_itself(judge: &Judge, arms: &[Arm]) -> Vec<String> {
    let mut found = vec![];
    if let Some(endpoint) = &judge.spec.endpoint {
        let own = arms
            .iter()
            .filter_map(|arm| Some((arm, arm.model()?)))
            .filter(|(_, model)| same_model(&endpoint.model, model));
        found.extend(own.map(|(arm, model)| {
            let judge = judge.key();
            let asked = &endpoint.model;
            format!(
                "judge `{judge}` ({asked}) would judge its own model: arm `{}` is {model}",
                arm.id
            )
        }));
    }
    let members = judge.members.iter();
    found.extend(members.flat_map(|member| judged_by_itself(member, arms)));
    found
}

/// Whether two ids name one model, whatever vendor path stands before it and whatever date or version
/// follows: two snapshots of one model are one model here.
///
/// # Examples
///
/// ```
/// use assize::judge::own::same_model;
/// assert!(same_model("openai/gpt-4o", "gpt-4o-2024-08-06"));
/// assert!(!same_model("gpt-4o", "gpt-4o-mini"));
/// ```
pub fn same_model(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim().to_lowercase(), b.trim().to_lowercase());
    !a.is_empty() && base(&a) == base(&b)
}

/// The name without vendor path, moving tag, date and revision.
fn base(model: &str) -> &str {
    let mut name = model.rsplit('/').next().unwrap_or(model);
    // Bedrock writes the vendor with a dot: `anthropic.claude-3-haiku-20240307-v1:0`.
    if let Some((vendor, rest)) = name.split_once('.')
        && vendor.bytes().all(|b| b.is_ascii_lowercase())
        && !rest.starts_with(|c: char| c.is_ascii_digit())
    {
        name = rest;
    }
    while let Some(shorter) = without_version(name) {
        name = shorter;
    }
    name
}

/// The name without its last part, if that is a date, a revision or a moving tag.
fn without_version(name: &str) -> Option<&str> {
    let (rest, last) = name.rsplit_once(['-', '@', ':'])?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let revision = last
        .strip_prefix('v')
        .is_some_and(|n| digits(&n.replace('.', "")));
    if last == "latest" || revision || (digits(last) && last.len() >= 3) {
        return Some(rest);
    }
    // `v1:0` and the day and month of `2024-08-06` and `05-06`; a lone short number is a version.
    let (before, previous) = rest.rsplit_once(['-', '@', ':'])?;
    if digits(last) && previous.strip_prefix('v').is_some_and(digits) {
        return Some(before);
    }
    (digits(last) && last.len() == 2 && digits(previous) && previous.len() == 2).then(|| {
        match before.rsplit_once('-') {
            Some((start, year)) if digits(year) && year.len() == 4 => start,
            _ => before,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_vendors_and_tags_do_not_hide_a_model() {
        for (a, b) in [
            ("gpt-4o", "GPT-4o"),
            ("gpt-4o-2024-05-13", "azure/gpt-4o-2024-08-06"),
            ("gpt-4-0613", "gpt-4"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
            ("anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku"),
            ("claude-3-haiku@20240307", "claude-3-haiku"),
            ("gemini-2.5-pro-preview-05-06", "gemini-2.5-pro-preview"),
            ("models/gemini-1.5-pro-002", "gemini-1.5-pro"),
            ("llama3:latest", "llama3"),
        ] {
            assert!(same_model(a, b), "{a} {b}");
        }
    }

    #[test]
    fn neighbours_are_other_models() {
        for (a, b) in [
            ("gpt-4o", "gpt-4o-mini"),
            ("gpt-4", "gpt-4.5"),
            ("claude-opus-4", "claude-opus-4-1"),
            ("llama-3.1-8b", "llama-3.1-70b"),
            ("", ""),
        ] {
            assert!(!same_model(a, b), "{a} {b}");
        }
    }
}
