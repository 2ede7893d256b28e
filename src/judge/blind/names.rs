//! The names that must not reach a judge: those of the arms file, the judge's own list, and known ones.

use std::collections::BTreeMap;

use super::fold::fold;
use super::lists::{BEHIND, FAMILIES, GENERIC, ORDINARY_FAMILIES, ORDINARY_VENDORS, VENDORS};
use crate::base::{Error, Result};
use crate::model::arm::{Arm, ArmSpec};
use crate::model::judge::Judge;

/// Fewest letters and digits of an arm's name: shorter ones occur in every text.
const FEWEST_LETTERS: usize = 3;

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameKind {
    /// An arm.
    Arm,
    /// A model id of an arm, or a part of one.
    Model,
    /// A host of an arm's endpoint, or a part of one; also the variable of its key.
    Host,
    /// On the judge's own list.
    Listed,
    /// A known vendor.
    Vendor,
    /// A known model family.
    Family,
}

impl NameKind {
    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arm => "arm",
            Self::Model => "model",
            Self::Host => "host",
            Self::Listed => "listed",
            Self::Vendor => "vendor",
            Self::Family => "family",
        }
    }
}

/// How freely a name may be written and still be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Freedom {
    /// As it is, and every letter apart (`G P T`).
    Apart,
    /// Also broken anywhere (`Clau-de`) and with digits for letters (`cl4ude`).
    Loose,
    /// As it is only: short, or mixed of letters and digits.
    Exact,
}

/// Which versions and variants after a name belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tail {
    /// None.
    None,
    /// Those that a sign joins to it: `quillon-v2`.
    Joined,
    /// Those after a blank too: `Claude 3 Opus`.
    Apart,
}

/// One name to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// As it was given.
    pub shown: String,
    /// What it names.
    pub kind: NameKind,
    /// Its letters and digits, folded.
    pub letters: Vec<char>,
    /// Whether a separator may stand before each letter, because one does in the name.
    pub own_gap: Vec<bool>,
    /// How freely it may be written.
    pub freedom: Freedom,
    /// Whether it is an ordinary word, hidden only where it is meant as a name.
    pub ordinary: bool,
    /// Which versions and variants after it belong to it.
    pub tail: Tail,
}

/// Everything that is hidden.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// By letters and kind of use, so that none comes twice.
    pub all: Vec<Name>,
}

impl Names {
    /// Collects the names of arms, judge and lists.
    ///
    /// # Errors
    ///
    /// If the name of an arm has fewer than three letters and digits.
    pub fn collect(judge: &Judge, arms: &[Arm]) -> Result<Self> {
        let mut names = Collector::default();
        for arm in arms {
            of_arm(arm, &mut names)?;
        }
        for listed in scrub_lists(judge) {
            names.add(listed, NameKind::Listed, Freedom::Loose, false);
        }
        let known = [
            (VENDORS, NameKind::Vendor, false),
            (FAMILIES, NameKind::Family, false),
            (ORDINARY_VENDORS, NameKind::Vendor, true),
            (ORDINARY_FAMILIES, NameKind::Family, true),
        ];
        for (list, kind, ordinary) in known {
            for name in list {
                let freedom = if ordinary {
                    Freedom::Exact
                } else {
                    Freedom::Loose
                };
                names.add(name, kind, freedom, ordinary);
            }
        }
        let mut all: Vec<Name> = names.by_letters.into_values().collect();
        // Longer names first, so that at one place the longest is found.
        all.sort_by(|a, b| (b.letters.len(), &a.shown).cmp(&(a.letters.len(), &b.shown)));
        Ok(Self { all })
    }
}

fn scrub_lists(judge: &Judge) -> Vec<&str> {
    let own = judge.spec.scrub.iter().map(String::as_str);
    own.chain(judge.members.iter().flat_map(scrub_lists))
        .collect()
}

/// Names of one arm: its own, its model's, its hosts', and the vendor's behind its model.
fn of_arm(arm: &Arm, names: &mut Collector) -> Result<()> {
    let id = arm.id.as_str();
    let letters = id.chars().filter(|c| c.is_alphanumeric()).count();
    if letters < FEWEST_LETTERS {
        let message = format!("the arm name `{id}` is too short to be hidden from a judge");
        return Err(Error::input(message)
            .hint("give the arm a name of three letters or more that is no word of the tasks"));
    }
    names.add(id, NameKind::Arm, Freedom::Loose, false);
    for word in words(id).filter(|w| !is_generic(w)) {
        vendors_behind(word, names);
        if is_family(word) {
            names.add(word, NameKind::Arm, Freedom::Loose, false);
        } else if word.chars().count() >= FEWEST_LETTERS {
            // `refund-expert` must not hide every refund: a part of a name is one only where it is meant.
            names.add(word, NameKind::Arm, Freedom::Exact, true);
        }
    }
    if let Some(model) = arm.model() {
        of_model(model, names);
    }
    if let ArmSpec::Chat(chat) = &arm.spec {
        of_host(&chat.base_url, names);
        if let Some(variable) = &chat.api_key_env {
            names.add(variable, NameKind::Host, Freedom::Apart, false);
            for word in words(variable).filter(|w| w.len() >= 3 && !is_generic(w)) {
                names.add(word, NameKind::Host, Freedom::Apart, false);
            }
        }
    }
    Ok(())
}

fn of_model(model: &str, names: &mut Collector) {
    names.add(model, NameKind::Model, Freedom::Loose, false);
    for part in model.split('/') {
        let ours = words(part).any(|w| !is_generic(w) && !is_size(w));
        if ours && part.chars().filter(|c| c.is_alphanumeric()).count() >= FEWEST_LETTERS {
            names.add(part, NameKind::Model, Freedom::Loose, false);
        }
    }
    for word in words(model).filter(|w| !is_generic(w)) {
        vendors_behind(word, names);
        // `Llama3` is a family with a version joined to it.
        let family = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'v');
        for word in [word, family] {
            let letters = word.chars().filter(|c| c.is_alphabetic()).count();
            let freedom = if is_family(word) {
                Freedom::Loose
            } else {
                Freedom::Apart
            };
            if letters >= 3 {
                names.add(word, NameKind::Model, freedom, false);
            } else if letters > 0 && letters < word.chars().count() && !is_size(word) {
                names.add(word, NameKind::Model, Freedom::Exact, false);
            }
        }
    }
}

/// The host of a URL and the labels of its name that say whose it is.
fn of_host(url: &str, names: &mut Collector) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    names.add(host, NameKind::Host, Freedom::Loose, false);
    for label in words(host).filter(|w| !is_generic(w)) {
        vendors_behind(label, names);
        if label.chars().filter(|c| c.is_alphabetic()).count() >= 3 {
            names.add(label, NameKind::Host, Freedom::Apart, false);
        }
    }
    let labels = host.split('.');
    for label in labels.filter(|l| l.contains('-') && l.len() >= 5) {
        names.add(label, NameKind::Host, Freedom::Loose, false);
    }
}

fn vendors_behind(word: &str, names: &mut Collector) {
    let word = word.to_lowercase();
    let family = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let found = BEHIND
        .iter()
        .find(|(name, _)| *name == word || *name == family);
    for vendor in found.into_iter().flat_map(|(_, vendors)| *vendors) {
        names.add(vendor, NameKind::Vendor, Freedom::Loose, false);
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
}

fn is_family(word: &str) -> bool {
    let same = |name: &&str| name.eq_ignore_ascii_case(word);
    FAMILIES.iter().any(same) || ORDINARY_FAMILIES.iter().any(same)
}

fn is_generic(word: &str) -> bool {
    let version = word.strip_prefix(['v', 'V']).unwrap_or(word);
    version.bytes().all(|b| b.is_ascii_digit())
        || GENERIC.iter().any(|g| g.eq_ignore_ascii_case(word))
}

/// `8b`, `8x7b`, `512k`: how large, and a seat in an aeroplane.
fn is_size(word: &str) -> bool {
    let lower = word.to_lowercase();
    let digits = lower.trim_end_matches(['b', 'm', 'k']);
    digits.len() < lower.len()
        && !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b'x')
}

/// Names by their letters; of two uses of one name the stricter hiding stays.
#[derive(Default)]
struct Collector {
    by_letters: BTreeMap<(Vec<char>, Vec<bool>), Name>,
}

impl Collector {
    fn add(&mut self, shown: &str, kind: NameKind, freedom: Freedom, ordinary: bool) {
        let mut letters = vec![];
        let mut own_gap = vec![];
        let mut gap = false;
        for unit in fold(shown) {
            if unit.c.is_alphanumeric() {
                letters.push(unit.c);
                own_gap.push(gap && letters.len() > 1);
                gap = false;
            } else {
                gap = true;
            }
        }
        if letters.is_empty() {
            return;
        }
        let freedom = match letters.len() {
            0..3 => Freedom::Exact,
            3..5 if freedom == Freedom::Loose => Freedom::Apart,
            _ => freedom,
        };
        let of_arm = matches!(kind, NameKind::Arm | NameKind::Model);
        let tail = match of_arm {
            _ if kind == NameKind::Family => Tail::Apart,
            true if words(shown).any(is_family) => Tail::Apart,
            true => Tail::Joined,
            false => Tail::None,
        };
        let name = Name {
            shown: shown.to_owned(),
            kind,
            freedom,
            ordinary,
            tail,
            own_gap: own_gap.clone(),
            letters: letters.clone(),
        };
        let merged = self
            .by_letters
            .entry((letters, own_gap))
            .or_insert_with(|| name.clone());
        merged.ordinary &= ordinary;
        merged.tail = merged.tail.max(name.tail);
        if merged.freedom == Freedom::Exact || freedom == Freedom::Loose {
            merged.freedom = freedom;
        }
    }
}
