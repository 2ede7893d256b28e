//! Closed sets of keys: the nearest known word to an unknown one.

/// The known word nearest to `word`, if it is near enough to be a slip of the pen.
///
/// Near enough means at most a third of the letters, and at least one, differ; case counts as no
/// difference. Distance: optimal string alignment, so that two swapped letters are one slip
/// (Damerau 1964).
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
        .map(|k| (distance(&lower, &k.to_lowercase()), *k))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, k)| k)
}

fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1)
                .min(rows[i][j - 1] + 1)
                .min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
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
        assert_eq!(distance("kidn", "kind"), 1);
        assert_eq!(nearest("kidn", &["kind", "task"]), Some("kind"));
        assert_eq!(nearest("Kind", &["kind"]), Some("kind"));
        assert_eq!(nearest("latency", &["kind", "task"]), None);
    }
}
