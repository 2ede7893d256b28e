//! Closed sets of keys: the nearest known word to an unknown one.

/// The known word nearest to `word`, if it is near enough to be a slip of the pen.
///
/// Near enough means at most a third of the letters, and at least one, differ; case counts as no
/// difference. Two swapped letters are one slip (Damerau 1964).
///
/// # Examples
///
/// ```
/// use assize::trace::import::nearest;
/// assert_eq!(nearest("sequnce", &["sequence", "kind"]), Some("sequence"));
/// assert_eq!(nearest("colour", &["sequence", "kind"]), None);
/// ```
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let allowed = (lower.chars().count() / 3).max(1);
    known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(&lower, &k.to_lowercase()), *k))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, k)| k)
}

/// "unknown key `x`", with the nearest known one or else all of them as a hint.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> (String, String) {
    let hint = match nearest(word, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are: {}", known.join(", ")),
    };
    // A word can be of any length in hostile data; an error message shouldn't be.
    let shown: String = word.chars().take(60).collect();
    (format!("unknown {what} `{shown}`"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_is_one_slip_and_far_words_are_not_near() {
        assert_eq!(nearest("kidn", &["kind", "task"]), Some("kind"));
        assert_eq!(nearest("Kind", &["kind"]), Some("kind"));
        assert_eq!(nearest("latency", &["kind", "task"]), None);
    }
}
