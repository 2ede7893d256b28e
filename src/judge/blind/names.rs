//! The names that must not reach a judge: those of the arms file, the judge's own list, and known ones.

use std::collections::BTreeMap;

use super::ciphers::{Cipher, ciphers, multiplied, shifts, without_vowels};
use super::fold::{fold, is_ideographic, plain, umlauts};
use super::lists::{FAMILIES, ORDINARY_FAMILIES, ORDINARY_VENDORS, VENDORS};
use super::of_arms::{is_family, of_arm, words};
use super::ordinary::is_ordinary;
use crate::base::Result;
use crate::model::arm::Arm;
use crate::model::judge::Judge;

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
    /// As it is, broken by signs (`G-PT`), and every letter apart (`G P T`).
    Apart,
    /// Also broken anywhere (`Clau de`), with digits for letters (`cl4ude`) and letters doubled.
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
    /// Whether it is hidden within a word too, with the word around it: it is long and no ordinary word.
    pub inside: bool,
    /// Whether it may be glued to words such as `the` and `bot`: it is no ordinary word.
    pub glued: bool,
    /// Whether it comes from the arms file or the judge's list, and not from the lists of known names.
    pub given: bool,
}

/// Fewest letters of a name of the arms that is hidden within words.
const INSIDE: usize = 5;
/// The same for known names, which are shorter parts of more words.
const KNOWN_INSIDE: usize = 6;
/// Fewest letters of a name that is looked for written backward and the like.
const CIPHERED: usize = 5;

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
        Self::of(&scrub_lists(judge), arms)
    }

    /// Collects the names of arms, of known vendors and families, and of a list.
    ///
    /// # Errors
    ///
    /// If the name of an arm has fewer than three letters and digits.
    pub fn of(list: &[&str], arms: &[Arm]) -> Result<Self> {
        let mut names = Collector::default();
        for arm in arms {
            of_arm(arm, &mut names)?;
        }
        for listed in list {
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
        let plain: Vec<Name> = names.by_letters.into_values().collect();
        let mut all: Vec<Name> = plain.iter().flat_map(Name::turned).collect();
        all.extend(plain);
        // Longer names first, so that at one place the longest is found.
        all.sort_by(|a, b| (b.letters.len(), &a.shown).cmp(&(a.letters.len(), &b.shown)));
        Ok(Self { all })
    }
}

impl Name {
    /// Whether it is written in a script without blanks.
    pub fn is_ideographic(&self) -> bool {
        self.letters.iter().all(|c| is_ideographic(*c))
    }

    /// Whether it has digits alone, such as the address of a host.
    pub fn is_number(&self) -> bool {
        self.letters.iter().all(char::is_ascii_digit)
    }

    /// The name written backward and the like, where that is no ordinary word.
    fn turned(&self) -> Vec<Self> {
        if self.ordinary || self.freedom == Freedom::Exact {
            return vec![];
        }
        let long = alphabetic(&self.letters) >= CIPHERED;
        let mut all = match self.freedom {
            Freedom::Loose if long => self.ciphered(),
            _ => vec![],
        };
        if !long {
            // Longer names are found doubled as they are stretched.
            all.extend(multiplied(&self.letters).map(|cipher| self.as_cipher(cipher)));
        }
        let word = |name: &Self| is_ordinary(&name.letters.iter().collect::<String>());
        all.retain(|name| name.letters != self.letters && !word(name));
        all
    }

    fn ciphered(&self) -> Vec<Self> {
        let mut all = ciphers(&self.letters, &self.own_gap);
        let longer = self.given && self.letters.len() > KNOWN_INSIDE;
        if longer {
            all.extend(shifts(&self.letters, &self.own_gap));
        }
        let mut all: Vec<Self> = all.into_iter().map(|c| self.as_cipher(c)).collect();
        let bare = without_vowels(&self.letters, &self.own_gap);
        all.extend(bare.filter(|_| longer && self.inside).map(|bare| Self {
            // What is left is short, and may be part of many a word.
            freedom: Freedom::Exact,
            inside: false,
            glued: false,
            ..self.as_cipher(bare)
        }));
        all
    }

    fn as_cipher(&self, cipher: Cipher) -> Self {
        Self {
            letters: cipher.letters,
            own_gap: cipher.own_gap,
            tail: Tail::None,
            // Halves of a word that is written backward are words too often: `a mall`.
            freedom: Freedom::Apart,
            inside: self.letters.len() >= KNOWN_INSIDE,
            ..self.clone()
        }
    }
}

fn alphabetic(letters: &[char]) -> usize {
    letters.iter().filter(|c| c.is_alphabetic()).count()
}

fn scrub_lists(judge: &Judge) -> Vec<&str> {
    let own = judge.spec.scrub.iter().map(String::as_str);
    own.chain(judge.members.iter().flat_map(scrub_lists))
        .collect()
}

/// Names by their letters; of two uses of one name the stricter hiding stays.
#[derive(Default)]
pub(super) struct Collector {
    by_letters: BTreeMap<(Vec<char>, Vec<bool>), Name>,
}

impl Collector {
    /// Adds a name with its use, and as it is written without umlauts; a name without letters and digits is
    /// none.
    pub fn add(&mut self, shown: &str, kind: NameKind, freedom: Freedom, ordinary: bool) {
        self.add_as(shown, shown, kind, freedom, ordinary);
        if let Some(units) = umlauts(&plain(shown)) {
            let spelt: String = units.iter().map(|u| u.c).collect();
            self.add_as(&spelt, shown, kind, freedom, ordinary);
        }
    }

    fn add_as(
        &mut self,
        spelt: &str,
        shown: &str,
        kind: NameKind,
        freedom: Freedom,
        ordinary: bool,
    ) {
        let mut letters = vec![];
        let mut own_gap = vec![];
        let mut gap = false;
        for unit in fold(spelt) {
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
        let ideographic = letters.iter().all(|c| is_ideographic(*c));
        let freedom = match letters.len() {
            n if ideographic && n > 1 => Freedom::Apart,
            0..3 => Freedom::Exact,
            3..=4 if freedom == Freedom::Loose => Freedom::Apart,
            _ => freedom,
        };
        let of_arm = matches!(kind, NameKind::Arm | NameKind::Model);
        let tail = match of_arm {
            _ if kind == NameKind::Family => Tail::Apart,
            true if words(shown).any(is_family) => Tail::Apart,
            true => Tail::Joined,
            false => Tail::None,
        };
        let given = !matches!(kind, NameKind::Vendor | NameKind::Family);
        let word = given && is_ordinary(&letters.iter().collect::<String>());
        let glued = !ordinary && !word;
        let least = if given { INSIDE } else { KNOWN_INSIDE };
        let name = Name {
            inside: glued && freedom == Freedom::Loose && alphabetic(&letters) >= least,
            glued: glued && freedom != Freedom::Exact && alphabetic(&letters) >= 3,
            given,
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
        merged.inside |= name.inside;
        merged.glued |= name.glued;
        merged.given |= name.given;
        if merged.freedom == Freedom::Exact || freedom == Freedom::Loose {
            merged.freedom = freedom;
        }
    }
}
