//! The known name that a wrong one was meant to be.

/// The known name nearest to a wrong one, if it is near enough to be what was meant: at most a
/// third of its letters differ (Damerau–Levenshtein, so that exchanged letters count once), only
/// case, `-` and `_` do, or the end of it is missing.
pub(crate) fn nearest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' ', '.'], "_");
    let wrong = plain(wrong);
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&wrong, &plain(name)), name))
        .filter(|(distance, name)| {
            let begun = wrong.len() >= 4 && plain(name).starts_with(&wrong);
            begun || *distance <= (name.chars().count() / 3).max(1)
        })
        .min_by_key(|(distance, name)| (*distance, *name))
        .map(|(_, name)| name)
}

/// A hint for a wrong name: the nearest known one or, if none is near, all of them.
pub(crate) fn hint<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
    what: &str,
) -> String {
    if let Some(name) = nearest(wrong, known.clone()) {
        return format!("did you mean `{name}`?");
    }
    let all: Vec<&str> = known.into_iter().collect();
    match all.len() {
        0 => format!("no {what} are known here"),
        1..=30 => format!("known {what}: {}", all.join(", ")),
        more => format!("{more} {what} are known, none with a similar name"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["tool_names", "trials", "allowed_paths"];
        assert_eq!(nearest("trails", known), Some("trials"));
        assert_eq!(nearest("toolNames", known), Some("tool_names"));
        assert_eq!(nearest("Tool-Names", known), Some("tool_names"));
        assert_eq!(nearest("allowed", known), Some("allowed_paths"));
        assert_eq!(nearest("checks", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(
            hint("checks", known, "keys"),
            "known keys: tool_names, trials, allowed_paths"
        );
    }
}
