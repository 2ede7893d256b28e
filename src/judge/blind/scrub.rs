//! A text without names, and where everything in it came from.

use super::finder::Finder;
use super::ids;
use super::names::NameKind;

/// What stands in place of a name.
pub const HIDDEN_NAME: &str = "[hidden]";
/// What stands in place of an id.
pub const HIDDEN_ID: &str = "[id]";
/// Hiding may bring letters together that spell another name; it is repeated so often at most.
const ROUNDS: usize = 4;

/// A piece of the original that was replaced.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit {
    /// First byte in the original.
    pub start: usize,
    /// One past its last byte in the original.
    pub end: usize,
    /// Name that was hidden, as the arms file or a list writes it; `None` for an id.
    pub name: Option<String>,
    /// What the name names; `None` for an id.
    pub kind: Option<NameKind>,
}

impl Edit {
    fn mask(&self) -> &'static str {
        match self.name {
            Some(_) => HIDDEN_NAME,
            None => HIDDEN_ID,
        }
    }
}

/// A text in which names and ids are hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// The text as the judge sees it.
    pub text: String,
    /// What was replaced, in order and without overlaps.
    pub edits: Vec<Edit>,
    /// First byte of the mask of each edit in the text.
    masks: Vec<usize>,
}

impl Scrubbed {
    /// Hides every name that the finder knows, the ids of providers, and the trial's own ids.
    pub(super) fn new(original: &str, finder: &Finder, own_ids: &[String]) -> Self {
        let mut edits: Vec<Edit> = ids::ranges(original, own_ids)
            .into_iter()
            .map(|(start, end)| Edit {
                start,
                end,
                name: None,
                kind: None,
            })
            .collect();
        let mut scrubbed = Self::apply(original, std::mem::take(&mut edits));
        for _ in 0..ROUNDS {
            let found = finder.find(&scrubbed.text);
            if found.is_empty() {
                break;
            }
            let mut edits = scrubbed.edits.clone();
            edits.extend(found.into_iter().map(|hit| {
                let name = finder.name(hit.name);
                Edit {
                    start: scrubbed.original_start(hit.start),
                    end: scrubbed.original_end(hit.end),
                    name: Some(name.shown.clone()),
                    kind: Some(name.kind),
                }
            }));
            scrubbed = Self::apply(original, edits);
        }
        scrubbed
    }

    /// Replaces pieces of a text; overlapping ones become one, which bears the first name.
    fn apply(original: &str, mut edits: Vec<Edit>) -> Self {
        edits.sort();
        let mut merged: Vec<Edit> = vec![];
        for edit in edits {
            match merged.last_mut() {
                Some(last) if edit.start < last.end => {
                    last.end = last.end.max(edit.end);
                    if last.name.is_none() {
                        (last.name, last.kind) = (edit.name, edit.kind);
                    }
                }
                _ => merged.push(edit),
            }
        }
        let mut text = String::with_capacity(original.len());
        let mut masks = Vec::with_capacity(merged.len());
        let mut at = 0;
        for edit in &merged {
            text.push_str(&original[at..edit.start]);
            masks.push(text.len());
            text.push_str(edit.mask());
            at = edit.end;
        }
        text.push_str(&original[at..]);
        Self {
            text,
            edits: merged,
            masks,
        }
    }

    /// The byte of the original that a byte of this text came from; within a mask, where the hidden
    /// piece began.
    pub fn original_start(&self, at: usize) -> usize {
        self.walk(at, |edit, _| edit.start)
    }

    /// Like [`Self::original_start`] for the end of a range: within a mask, where the hidden piece
    /// ended.
    pub fn original_end(&self, at: usize) -> usize {
        self.walk(
            at,
            |edit, into| if into == 0 { edit.start } else { edit.end },
        )
    }

    fn walk(&self, at: usize, inside: impl Fn(&Edit, usize) -> usize) -> usize {
        let before = self.masks.partition_point(|mask| *mask <= at);
        let Some(last) = before.checked_sub(1) else {
            return at;
        };
        let (edit, mask) = (&self.edits[last], self.masks[last]);
        let end = mask + edit.mask().len();
        match at < end {
            true => inside(edit, at - mask),
            false => edit.end + (at - end),
        }
    }

    /// The byte of this text at which a byte of the original is shown; a hidden byte is shown where its
    /// mask begins.
    pub fn shown(&self, at: usize) -> usize {
        let before = self.edits.partition_point(|edit| edit.start <= at);
        let Some(last) = before.checked_sub(1) else {
            return at;
        };
        let (edit, mask) = (&self.edits[last], self.masks[last]);
        match at < edit.end {
            true => mask,
            false => mask + edit.mask().len() + (at - edit.end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(start: usize, end: usize) -> Edit {
        Edit {
            start,
            end,
            name: Some("n".into()),
            kind: Some(NameKind::Arm),
        }
    }

    #[test]
    fn offsets_lead_there_and_back() {
        let original = "ab GPT cd fp_123 ef";
        let mut edits = vec![edit(3, 6)];
        edits.push(Edit {
            start: 10,
            end: 16,
            name: None,
            kind: None,
        });
        let scrubbed = Scrubbed::apply(original, edits);
        assert_eq!(scrubbed.text, "ab [hidden] cd [id] ef");
        for word in ["ab", "cd", "ef"] {
            let (here, there) = (
                scrubbed.text.find(word).unwrap(),
                original.find(word).unwrap(),
            );
            assert_eq!(scrubbed.original_start(here), there, "{word}");
            assert_eq!(scrubbed.original_end(here + 2), there + 2, "{word}");
            assert_eq!(scrubbed.shown(there), here, "{word}");
        }
        let mask = scrubbed.text.find("[hidden]").unwrap();
        assert_eq!(scrubbed.original_start(mask + 4), 3);
        assert_eq!(scrubbed.original_end(mask + 4), 6);
        assert_eq!(scrubbed.shown(4), mask);
        assert_eq!(scrubbed.original_end(scrubbed.text.len()), original.len());
    }

    #[test]
    fn overlapping_pieces_become_one() {
        let scrubbed = Scrubbed::apply("abcdef", vec![edit(1, 3), edit(2, 5)]);
        assert_eq!(scrubbed.text, "a[hidden]f");
        assert_eq!(scrubbed.edits.len(), 1);
    }
}
