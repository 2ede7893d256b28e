//! Examples of a judge's own prompt among the labelled items.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::document::Document;
use super::{judge, text};
use crate::base::Result;

/// A text of this many characters is recognised anywhere in a prompt.
const LONG: usize = 40;
/// A text of this many characters and two words or more is recognised as a whole line of a prompt;
/// shorter ones (`Yes.`, `42`) stand in prompts by chance, and count only beside the item's other text.
const TELLING: usize = 8;

/// What a prompt holds, to look items up in.
pub(super) struct Prompt {
    /// All its texts as words alone.
    whole: String,
    /// Its lines, and what stands in them after a label or in quotes: whole example texts.
    pieces: BTreeSet<String>,
}

impl Prompt {
    /// Reads a prompt: a text file, or a judge's file with the files that it names.
    ///
    /// # Errors
    ///
    /// If a file can't be read, or the judge's file is wrong.
    pub fn read(path: &Path) -> Result<Self> {
        let yaml = matches!(
            path.extension().and_then(|e| e.to_str()),
            Some("yaml" | "yml" | "json")
        );
        let is_judge = yaml && Document::read(path).is_ok_and(|d| judge::is_judge(&d));
        if !is_judge {
            return Ok(Self::of(&[text::read(path)?], &[]));
        }
        let judge = judge::judge(path)?;
        let (mut texts, mut examples) = (vec![], vec![]);
        for one in std::iter::once(&judge).chain(&judge.members) {
            texts.push(one.texts.template.clone());
            texts.push(one.texts.rubric.clone());
            texts.extend(one.spec.prompt.as_ref().and_then(|p| p.system.clone()));
            for example in &one.spec.examples {
                examples.extend(example.task.clone());
                examples.push(example.output.clone());
            }
        }
        Ok(Self::of(&texts, &examples))
    }

    fn of(texts: &[String], examples: &[String]) -> Self {
        let mut pieces: BTreeSet<String> = examples.iter().map(|e| plain(e)).collect();
        for line in texts.iter().flat_map(|t| t.lines()) {
            pieces.extend(parts(line));
        }
        let all: Vec<String> = texts.iter().chain(examples).map(|t| plain(t)).collect();
        Self {
            whole: all.join("\n"),
            pieces,
        }
    }

    /// Whether an item with these texts is an example of the prompt. `common` says how many items hold a
    /// text: one that several share tells none of them.
    pub fn holds(&self, texts: &[&String], common: &HashMap<String, usize>) -> bool {
        let mut whole = 0;
        for text in texts {
            let text = plain(text);
            let own = common.get(&text).copied().unwrap_or(1) < 2;
            let length = text.chars().count();
            if own && length >= LONG && self.whole.contains(&text) {
                return true;
            }
            let piece = self.pieces.contains(&text);
            if own && piece && length >= TELLING && text.contains(' ') {
                return true;
            }
            whole += usize::from(piece);
        }
        // All texts of the item, each a whole line of the prompt, are no chance either.
        texts.len() > 1 && whole == texts.len()
    }
}

/// A line as it stands, after its label, and what is quoted in it.
fn parts(line: &str) -> Vec<String> {
    let mut found = vec![plain(line)];
    if let Some((label, rest)) = line.split_once(": ")
        && label.split_whitespace().count() <= 4
    {
        found.push(plain(rest));
    }
    for quote in ['"', '\'', '`'] {
        let quoted = line.split(quote).skip(1).step_by(2);
        found.extend(quoted.map(plain));
    }
    found.retain(|part| !part.is_empty());
    found
}

/// A text in lower case with every run of white space and punctuation as one blank: an example that was
/// capitalised or punctuated anew is the same example.
pub(super) fn plain(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(prompt: &str, texts: &[&str]) -> bool {
        let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
        Prompt::of(&[prompt.to_owned()], &[])
            .holds(&texts.iter().collect::<Vec<_>>(), &HashMap::new())
    }

    #[test]
    fn short_examples_are_recognised_as_whole_lines() {
        let prompt = "Judge it.\nExample 1:\n  Question 5\n  TRUTH=fail answer 5\nGood.";
        assert!(holds(prompt, &["Question 5", "other"]));
        assert!(holds(prompt, &["Else", "TRUTH=fail   answer 5"]));
        assert!(!holds(prompt, &["Question 55", "answer"]));
        assert!(!holds(prompt, &["Question", "TRUTH=fail"]));
        assert!(holds("Input: \"Question 5\"", &["Question 5"]));
        assert!(holds(
            "Say `Not today, sorry` for no.",
            &["Not today, sorry"]
        ));
    }

    #[test]
    fn case_and_punctuation_hide_no_example() {
        let prompt = "Judge it.\n- HOW DO I RETURN, this order?\n";
        assert!(holds(prompt, &["How do I return this order", "other"]));
        let long = "Your order was refunded to the original card this morning";
        let loud = long.to_uppercase().replace(' ', " - ");
        assert!(holds(&loud, &[long]));
        assert!(!holds(prompt, &["...", "?!"]));
    }

    #[test]
    fn short_answers_that_any_prompt_holds_need_their_question() {
        let prompt = "Task: What is 6 x 7?\nAnswer: 42\nYes.";
        assert!(!holds(prompt, &["Is it so?", "Yes."]));
        assert!(!holds(prompt, &["42"]));
        assert!(holds(prompt, &["What is 6 x 7?", "42"]));
    }

    #[test]
    fn what_many_items_ask_tells_none_of_them() {
        let prompt = Prompt::of(&["Is the reply polite to everybody?".to_owned()], &[]);
        let text = "Is the reply polite to everybody?".to_owned();
        let shared = HashMap::from([(plain(&text), 40)]);
        assert!(!prompt.holds(&[&text, &"Thank you.".to_owned()], &shared));
        assert!(prompt.holds(&[&text], &HashMap::new()));
    }
}
