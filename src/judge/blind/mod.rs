//! Blinding: the only way to a [`Blinded`] value, from which alone a judge's request is made.
//!
//! A judge that knows whom it judges judges the name. What is shown of a trial has no arm, usage, time or
//! id to begin with ([`crate::judge::view`]); here names are taken out of its texts: those of the arms
//! (names, model ids and their parts, hosts), of vendors and model families, and of the judge's own
//! list. They are found in any case, in the plural and the possessive, in look-alike letters, with and
//! without accents, with invisible or control characters between, spaced, doubled or broken, escaped (JSON,
//! HTML, URL, terminals), encoded (base64, base32,
//! hexadecimal, numbers, Morse, radio alphabet), turned around (backward, shifted in the alphabet), spelt
//! out, as first letters of words and lines, and, if long, with a letter wrong. All become the same
//! mask, so that nothing tells one name from another.
//!
//! Where: a name of the arms of five letters or more that is no ordinary word is found within words too,
//! and the whole word goes; of known vendors and families one of six; a shorter one where it is glued to a
//! word such as `the` and `bot`; an ordinary word only as a whole word. Ordinary are the words of a list
//! of stems that are common in English and technical texts, and what endings make of them. A name in a
//! script without blanks is hidden from two characters on, wherever it stands.
//!
//! What this costs: where an arm is called by an ordinary word, that word is hidden everywhere, for all
//! arms alike (of a model id, `large`, `pro` and the like only as a part of the whole id); people called
//! Claude and the sign Gemini are hidden too; words that name a model only now and then (`grok`, `nova`,
//! `apple`, `mini`, `opus`) are hidden only after "I am" or "made by", with a version joined to them, or
//! beside another name, unless an arm bears them. What style gives away, a name split over two messages, or
//! one respelt by sound no scrubbing hides: that is what the audit ([`crate::judge::audit`]) measures.

mod around;
mod ciphers;
mod confusable;
mod encoded;
mod escapes;
mod finder;
mod fold;
#[cfg(test)]
mod forms;
mod gap;
mod hidden;
mod ids;
mod lists;
mod meant;
mod misspelled;
mod names;
mod of_arms;
mod ordinary;
#[cfg(test)]
mod scripts;
mod scrub;
mod spelling;
mod streams;
mod terminal;
#[cfg(test)]
mod tests;

pub(in crate::judge) use fold::{Unit, fold};
pub use hidden::{HiddenCount, HiddenRow};
pub use ids::without_runtime_keys;
pub use names::NameKind;
pub use scrub::{Edit, HIDDEN_ID, HIDDEN_NAME, Scrubbed};

use crate::base::{Digest, Result, TrialId};
use crate::judge::view::{Part, View};
use crate::model::arm::Arm;
use crate::model::judge::Judge;
use finder::Finder;
use names::Names;

/// Something from which names have been taken; only [`Blinder::blind`] makes it.
///
/// ```compile_fail
/// let forged = assize::judge::blind::Blinded(assize::judge::view::View::default());
/// ```
///
/// ```compile_fail
/// fn forged(text: &str) -> assize::judge::blind::Blinded<String> {
///     serde_json::from_str(text).unwrap()
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blinded<T>(T);

impl<T> Blinded<T> {
    /// What the judge may see.
    pub fn get(&self) -> &T {
        &self.0
    }
}

/// A blinded view, and what was hidden in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blinding {
    /// What the judge may see.
    pub view: Blinded<View>,
    /// What was hidden, in the order of the texts.
    pub edits: Vec<Edit>,
    /// The blinded texts with their way back to the original: one per part of the view.
    pub parts: Vec<Scrubbed>,
}

/// Hides names.
#[derive(Clone, Debug)]
pub struct Blinder {
    finder: Finder,
}

impl Blinder {
    /// Collects the names that a judge must not see.
    ///
    /// # Errors
    ///
    /// If the name of an arm has fewer than three letters and digits.
    pub fn new(judge: &Judge, arms: &[Arm]) -> Result<Self> {
        let finder = Finder::new(Names::collect(judge, arms)?);
        Ok(Self { finder })
    }

    /// The same for evidence that people see, where no judge has a list of its own.
    ///
    /// # Errors
    ///
    /// If the name of an arm has fewer than three letters and digits.
    pub fn of_arms(arms: &[Arm]) -> Result<Self> {
        let finder = Finder::new(Names::of(&[], arms)?);
        Ok(Self { finder })
    }

    /// Hides the names in a view, and the ids of its trial.
    pub fn blind(&self, view: View, trial: &TrialId) -> Blinding {
        let own = [trial.as_str().to_owned()];
        let scrub = |text: &str| Scrubbed::new(text, &self.finder, &own);
        let mut edits = vec![];
        let task = view.task.as_deref().map(|task| {
            let scrubbed = scrub(task);
            edits.extend(scrubbed.edits.iter().cloned());
            scrubbed.text
        });
        let mut parts = vec![];
        let mut texts = vec![];
        for part in view.parts {
            let (what, text) = (scrub(&part.what), scrub(&part.text));
            edits.extend(what.edits.iter().chain(&text.edits).cloned());
            parts.push(Part {
                what: what.text,
                text: text.text.clone(),
                ..part
            });
            texts.push(text);
        }
        Blinding {
            view: Blinded(View { task, parts }),
            edits,
            parts: texts,
        }
    }

    /// The names that a text holds; empty for one that gives nothing away.
    pub fn names_in(&self, text: &str) -> Vec<String> {
        let hits = self.finder.find(text);
        hits.iter()
            .map(|h| self.finder.name(h.name).shown.clone())
            .collect()
    }

    /// The names of arms that a text holds: their own, their models', their hosts'.
    pub fn arm_names_in(&self, text: &str) -> Vec<String> {
        let hits = self.finder.find(text);
        let names = hits.iter().map(|h| self.finder.name(h.name));
        let of_arm = |kind| matches!(kind, NameKind::Arm | NameKind::Model | NameKind::Host);
        names
            .filter(|name| of_arm(name.kind))
            .map(|name| name.shown.clone())
            .collect()
    }

    /// The text of evidence for people, without names.
    pub fn scrub(&self, text: &str) -> Scrubbed {
        Scrubbed::new(text, &self.finder, &[])
    }
}

/// What one request calls an output in place of its ids, for example `K4R0T7A2M9`: from the judge's pin,
/// the trial, what tells this request from others about it (repeat, order), and the seed.
pub fn code(pin: &Digest, trial: &TrialId, request: &str, seed: u64) -> String {
    // Letters that are not mistaken for digits.
    const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZ";
    const PAIRS: usize = 5;
    let seed = seed.to_string();
    let digest = Digest::of_parts(&["code", pin.as_str(), trial.as_str(), request, &seed]);
    let mut bits = u64::from_str_radix(&digest.as_str()[..16], 16).unwrap_or_default();
    let mut code = String::with_capacity(2 * PAIRS);
    for _ in 0..PAIRS {
        code.push(char::from(LETTERS[(bits % 24) as usize]));
        code.push(char::from(b'0' + (bits / 24 % 10) as u8));
        bits /= 240;
    }
    code
}

/// What a view of our own making says of its task.
pub(in crate::judge) const PROBE_TASK: &str = "TASK-PROBE";

/// A view that shows nothing of anybody, to try templates with.
pub(in crate::judge) fn probe() -> Blinded<View> {
    Blinded(View {
        task: Some(PROBE_TASK.to_owned()),
        parts: vec![],
    })
}

/// A view with all its names, for tests that need one.
#[cfg(test)]
pub(in crate::judge) fn unblinded(view: View) -> Blinded<View> {
    Blinded(view)
}
