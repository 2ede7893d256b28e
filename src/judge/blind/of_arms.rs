//! The names that an arms file gives away.

use super::confusable::is_invisible;
use super::fold::is_ideographic;
use super::lists::{BEHIND, FAMILIES, GENERIC, ORDINARY_FAMILIES};
use super::names::{Collector, Freedom, NameKind};
use super::ordinary::is_ordinary;
use crate::base::{Error, Result};
use crate::model::arm::{Arm, ArmSpec};

/// Fewest letters and digits of an arm's name: shorter ones occur in every text.
const FEWEST_LETTERS: usize = 3;

/// Model, large model, chat, assistant, dialogue, instruction, version in Chinese; model, chat in Japanese.
const GENERIC_HAN: [&str; 9] = [
    "模型",
    "大模型",
    "聊天",
    "助手",
    "对话",
    "指令",
    "版本",
    "モデル",
    "チャット",
];

/// Names of one arm: its own, its model's, its hosts', and the vendor's behind its model.
pub(super) fn of_arm(arm: &Arm, names: &mut Collector) -> Result<()> {
    let id = arm.id.as_str();
    let signs = id.chars().filter(|c| c.is_alphanumeric()).count();
    if signs + ideographs(id) < FEWEST_LETTERS {
        let message = format!("the arm name `{id}` is too short to be hidden from a judge");
        return Err(Error::input(message)
            .hint("give the arm a name of three letters or more that is no word of the tasks"));
    }
    names.add(id, NameKind::Arm, Freedom::Loose, false);
    stem(id, NameKind::Arm, names);
    for word in words(id).filter(|w| !is_generic(w)) {
        vendors_behind(word, names);
        for word in [word, without_version(word)] {
            if is_family(word) || is_distinctive(word) {
                names.add(word, NameKind::Arm, Freedom::Loose, false);
            } else if is_mixed(word) {
                names.add(word, NameKind::Arm, Freedom::Exact, false);
            } else if word.chars().count() >= FEWEST_LETTERS {
                // `refund-expert` must not hide every refund: a part of a name is one only where it is meant.
                names.add(word, NameKind::Arm, Freedom::Exact, true);
            }
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
                names.add(word, NameKind::Host, freedom(word), false);
            }
        }
    }
    Ok(())
}

fn of_model(model: &str, names: &mut Collector) {
    names.add(model, NameKind::Model, Freedom::Loose, false);
    for part in model.split('/') {
        let ours = words(part).any(|w| !is_generic(w) && !is_size(w));
        let signs = part.chars().filter(|c| c.is_alphanumeric()).count();
        if ours && signs >= FEWEST_LETTERS {
            names.add(part, NameKind::Model, Freedom::Loose, false);
            stem(part, NameKind::Model, names);
        }
    }
    for word in words(model).filter(|w| !is_generic(w)) {
        vendors_behind(word, names);
        for word in [word, without_version(word)] {
            if weight(word) >= FEWEST_LETTERS {
                names.add(word, NameKind::Model, freedom(word), false);
            } else if is_mixed(word) {
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
    let authority = host;
    let host = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => {
            of_port(name, port, names);
            names.add(authority, NameKind::Host, Freedom::Loose, false);
            name
        }
        _ => host,
    };
    names.add(host, NameKind::Host, Freedom::Loose, false);
    for label in words(host).filter(|w| !is_generic(w)) {
        vendors_behind(label, names);
        if weight(label) >= FEWEST_LETTERS {
            names.add(label, NameKind::Host, freedom(label), false);
        }
    }
    let labels = host.split('.');
    for label in labels.filter(|l| l.contains('-') && l.len() >= 5) {
        names.add(label, NameKind::Host, Freedom::Loose, false);
    }
}

/// On one machine the port tells one server from another, by whichever name the machine is called.
fn of_port(host: &str, port: &str, names: &mut Collector) {
    const HERE: [&str; 4] = ["localhost", "127.0.0.1", "0.0.0.0", "[::1]"];
    let all = HERE.iter().filter(|_| HERE.contains(&host));
    for name in all {
        let place = format!("{name}:{port}");
        names.add(&place, NameKind::Host, Freedom::Loose, false);
    }
}

/// The beginning of a name before its size, version or variant: `zyxw-mega` of `zyxw-mega-2`.
fn stem(name: &str, kind: NameKind, names: &mut Collector) {
    let said = |word: &str| !is_generic(word) && !is_size(word);
    let stem: Vec<&str> = words(name).take_while(|word| said(word)).collect();
    let shorter = stem.len() > 1 && stem.len() < words(name).count();
    let stem = stem.join("-");
    if shorter && weight(&stem) >= FEWEST_LETTERS {
        names.add(&stem, kind, Freedom::Loose, false);
    }
}

/// `Llama3` is a family with a version joined to it.
fn without_version(word: &str) -> &str {
    word.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'v')
}

/// A word of a name that no ordinary text holds is looked for as the whole name is.
fn is_distinctive(word: &str) -> bool {
    weight(word) >= FEWEST_LETTERS && !is_ordinary(&word.to_lowercase())
}

fn ideographs(word: &str) -> usize {
    word.chars().filter(|c| is_ideographic(*c)).count()
}

/// How many letters of an alphabet a word is as telling as: an ideograph is two.
fn weight(word: &str) -> usize {
    word.chars().filter(|c| c.is_alphabetic()).count() + ideographs(word)
}

/// `r1`, `o4`, `k2`: a letter or two and a number, which is no size.
fn is_mixed(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    (1..FEWEST_LETTERS).contains(&letters) && letters < word.chars().count() && !is_size(word)
}

fn freedom(word: &str) -> Freedom {
    match is_family(word) || is_distinctive(word) {
        true => Freedom::Loose,
        false => Freedom::Apart,
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

/// The words of a name; a script without blanks is a word of its own: `月影chat` has two.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_alphanumeric() || is_invisible(c);
    text.split(move |c| !word(c))
        .flat_map(by_script)
        .filter(|w| !w.is_empty())
}

fn by_script(word: &str) -> Vec<&str> {
    let mut parts = vec![];
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let same = |c: char| is_ideographic(c) == is_ideographic(first);
        let end = rest.find(|c| !same(c)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts
}

pub(super) fn is_family(word: &str) -> bool {
    let same = |name: &&str| name.eq_ignore_ascii_case(word);
    FAMILIES.iter().any(same) || ORDINARY_FAMILIES.iter().any(same)
}

fn is_generic(word: &str) -> bool {
    let version = word.strip_prefix(['v', 'V']).unwrap_or(word);
    version.bytes().all(|b| b.is_ascii_digit())
        || GENERIC_HAN.contains(&word)
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
