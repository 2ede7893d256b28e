//! Every name of the arms in every form that a reader of texts still recognises.

use super::*;
use crate::judge::testing::judge;
use crate::model::arm::{Arm, ArmSpec};

/// Two recorded arms whose names no list holds.
fn arms() -> Vec<Arm> {
    let recorded = |model: &str| -> ArmSpec {
        let spec = serde_json::json!({"kind": "recorded", "path": "a.jsonl", "model": model});
        serde_json::from_value(spec).unwrap()
    };
    vec![
        Arm::new(
            "incumbent-zebra".into(),
            recorded("acme/blorptron-7b-instruct-20260301"),
            None,
        ),
        Arm::new("quokkatron".into(), recorded("zyxw-mega-2"), None),
    ]
}

fn blinder() -> Blinder {
    Blinder::new(&judge(), &arms()).unwrap()
}

fn each(name: &str, f: impl Fn(char) -> String) -> String {
    name.chars().map(f).collect()
}

fn spaced(name: &str, by: &str) -> String {
    let letters: Vec<String> = name.chars().map(String::from).collect();
    letters.join(by)
}

fn code(name: &str, by: &str, f: impl Fn(u32) -> String) -> String {
    let letters: Vec<String> = name.chars().map(|c| f(c as u32)).collect();
    letters.join(by)
}

fn shifted(name: &str, f: impl Fn(u8) -> u8) -> String {
    let turn = |c: char| match c {
        'a'..='z' => char::from(b'a' + f(c as u8 - b'a') % 26),
        other => other,
    };
    name.chars().map(turn).collect()
}

/// Forms of one word of small letters.
fn forms(n: &str) -> Vec<(&'static str, String)> {
    let half = n.len() / 2;
    let (a, b) = n.split_at(half);
    let reversed: String = n.chars().rev().collect();
    let after = |c: char| char::from_u32(c as u32 + 1).unwrap();
    vec![
        ("plain", n.to_owned()),
        ("blank", format!("{a} {b}")),
        ("hyphen", format!("{a}-{b}")),
        ("line", format!("{a}\n{b}")),
        ("hyphen and line", format!("{a}-\n{b}")),
        ("bold half", format!("{a}**{b}**")),
        ("tag", format!("{a}<b>{b}</b>")),
        (
            "long tag",
            format!("{a}<span style=\"color: red\">{b}</span>"),
        ),
        ("comment", format!("{a}<!-- x -->{b}")),
        ("escaped tab", format!("\"\\\"{a}\\\\t{b}\\\"\"")),
        ("joined in code", format!("\"{a}\" + \"{b}\"")),
        ("list", format!("[\"{a}\", \"{b}\"]")),
        ("backticks", format!("`{a}``{b}`")),
        ("link text", format!("[{n}](https://x.example)")),
        ("link target", format!("[me](https://{n}.example/v1?m={n})")),
        ("mail", format!("bot@{n}.example")),
        ("file", format!("/opt/{n}_v2/{n}.log")),
        ("the", format!("the{n}")),
        ("bot", format!("{n}bot")),
        ("twice", format!("{n}{n}")),
        ("within", format!("xx{n}yy")),
        (
            "camel",
            format!("my{}Bot", n.replacen(&n[..1], &n[..1].to_uppercase(), 1)),
        ),
        ("upper within", format!("the{}bot", n.to_uppercase())),
        ("reversed", reversed.clone()),
        ("overridden", format!("\u{202e}{reversed}\u{202c}")),
        ("rot13", shifted(n, |c| c + 13)),
        ("mirrored", shifted(n, |c| 25 - c)),
        ("doubled", each(n, |c| format!("{c}{c}"))),
        ("stretched", format!("{a}{}{b}", &a[a.len() - 1..])),
        ("one a line", spaced(n, "\n")),
        ("one a line, listed", spaced(n, "\n- ")),
        ("doubled dashes", spaced(n, " -- ")),
        ("wide", spaced(n, "   ...   ")),
        ("starred", spaced(n, "*")),
        ("joined", spaced(n, "\u{200d}")),
        ("quoted", each(n, |c| format!("\"{c}\", "))),
        ("in words", each(n, |c| format!("{c} as in {c}xyz, "))),
        (
            "letter of",
            each(n, |c| format!("\"{c}\" for {c}umbrella; ")),
        ),
        (
            "lines",
            format!("\n{}", each(n, |c| format!("{c}xx goes on and on\n"))),
        ),
        (
            "sentences",
            format!("so. {}", each(n, |c| format!("{c}xx goes on. "))),
        ),
        ("words", each(n, |c| format!("{c}men "))),
        (
            "boxed",
            each(n, |c| {
                char::from_u32(0x1F130 + c as u32 - 97).unwrap().to_string()
            }),
        ),
        ("decimal", code(n, " ", |c| c.to_string())),
        (
            "decimal list",
            format!("[{}]", code(n, ", ", |c| c.to_string())),
        ),
        ("hexadecimal", code(n, " ", |c| format!("{c:02x}"))),
        (
            "hexadecimal numbers",
            code(n, ", ", |c| format!("0x{c:02X}")),
        ),
        ("code points", code(n, " ", |c| format!("U+{c:04X}"))),
        ("binary", code(n, " ", |c| format!("{c:08b}"))),
        ("bits", code(n, "", |c| format!("{c:08b}"))),
        ("octal", code(n, " ", |c| format!("{c:o}"))),
        ("places", code(n, "-", |c| (c - 96).to_string())),
        ("entities", code(n, "", |c| format!("&#{c};"))),
        ("entities without end", code(n, "", |c| format!("&#{c}"))),
        ("percent", code(n, "", |c| format!("%{c:02x}"))),
        ("percent twice", code(n, "", |c| format!("%25{c:02x}"))),
        ("escapes", code(n, "", |c| format!("\\x{c:02x}"))),
        (
            "leet",
            n.replace('o', "0").replace('a', "4").replace('t', "7"),
        ),
        ("pig latin", {
            let vowel = n.find(['a', 'e', 'i', 'o', 'u']).unwrap();
            format!("{}{}ay", &n[vowel..], &n[..vowel])
        }),
        ("shifted by three", shifted(n, |c| c + 3)),
        ("masked letter", format!("{a}*{}", &b[1..])),
        (
            "numbered",
            n.chars()
                .enumerate()
                .map(|(i, c)| format!("{}. {c}\n", i + 1))
                .collect(),
        ),
        ("one letter wrong", {
            let wrong = after(n.chars().nth(half).unwrap());
            format!("{a}{wrong}{}", &b[1..])
        }),
        ("one letter missing", format!("{a}{}", &b[1..])),
        (
            "two letters swapped",
            format!("{a}{}{}{}", &b[1..2], &b[..1], &b[2..]),
        ),
    ]
}

#[test]
fn every_form_of_every_name_is_hidden() {
    let blinder = blinder();
    let mut shown = vec![];
    for name in ["quokkatron", "blorptron", "incumbentzebra"] {
        for (form, text) in forms(name) {
            let whole = format!("Done. I am {text} ok.");
            let seen = blinder.scrub(&whole);
            let hidden = seen.edits.iter().any(|edit| edit.name.is_some());
            let left: String = seen.text.chars().filter(|c| c.is_alphabetic()).collect();
            if !hidden || left.to_lowercase().contains(name) {
                shown.push(format!("{name} {form}: {}", seen.text));
            }
            // As many masks as letters would say whose name it is; the `I` of "I am" begins no `quokkatron`.
            let one = form != "one a line" || name.starts_with('i') || seen.edits.len() == 1;
            assert!(one, "{:?}", seen.edits);
            // What is left of it is a word or two, and never the half of a name.
            assert!(seen.text.contains("ok."), "{name} {form}: {}", seen.text);
        }
    }
    assert!(shown.is_empty(), "{shown:#?}");
}

#[test]
fn short_names_are_hidden_where_they_are_glued_to_words_of_their_kind() {
    let blinder = blinder();
    for text in [
        "thegptbot",
        "mygpt",
        "gptgpt",
        "the acmebot",
        "zyxwbot",
        "iamzyxw",
        "zy**xw**",
        "z-y-x-w",
        "zyxwzyxw",
        "acmeagent",
        "llamabot",
    ] {
        let shown = blinder.scrub(text).text;
        let left = shown.replace(HIDDEN_NAME, "");
        let left = left.trim_start_matches("the ");
        assert!(!left.contains(char::is_alphabetic), "{text} → {shown}");
    }
    assert_eq!(blinder.scrub("zy<b>xw</b>").text, "[hidden]</b>");
    for text in [
        "acmeist poetry",
        "egypt",
        "opusculum",
        "a small mall",
        "we'll see",
        "sofia_kim1937",
    ] {
        assert_eq!(blinder.scrub(text).text, text);
    }
}

#[test]
fn arms_that_are_ordinary_words_hide_only_these_words() {
    let spec = |model: &str| -> ArmSpec {
        serde_json::from_value(serde_json::json!({"kind": "recorded", "path": "a", "model": model}))
            .unwrap()
    };
    let arms = [
        Arm::new("stable".into(), spec("claude-3-haiku-20240307"), None),
        Arm::new("candidate".into(), spec("gpt-4o-mini-2024-07-18"), None),
    ];
    let blinder = Blinder::new(&judge(), &arms).unwrap();
    for text in [
        "an unstable constable in the stables' yard",
        "candidacy and minimal administration",
        "the assistant wrote a minibus ticket",
        "an opusculum by a haikuist",
    ] {
        let shown = blinder
            .scrub(text)
            .text
            .replace("the [hidden] yard", "the stables' yard");
        assert_eq!(shown.replace("[hidden]'", "stables'"), text);
    }
    assert_eq!(blinder.scrub("the candidate won").text, "the [hidden] won");
}

/// In the instructions and answers of LLMBar nothing is hidden for arms with usual names but these names as
/// words, and a vendor.
#[test]
fn little_of_ordinary_texts_is_hidden() {
    let items = include_str!("../../../calibration/llmbar/items.jsonl");
    let spec = |model: &str| -> ArmSpec {
        serde_json::from_value(serde_json::json!({"kind": "recorded", "path": "a", "model": model}))
            .unwrap()
    };
    let hidden = |names: [&str; 2], text: &str| -> Vec<String> {
        let arms = [
            Arm::new(names[0].into(), spec("gpt-4o-2024-08-06"), None),
            Arm::new(names[1].into(), spec("claude-3-5-sonnet-20241022"), None),
        ];
        let seen = Blinder::new(&judge(), &arms).unwrap().scrub(text);
        let pieces = seen
            .edits
            .iter()
            .map(|edit| text[edit.start..edit.end].to_lowercase());
        pieces.collect()
    };
    for (names, words) in [
        (["gpt-4o", "claude-sonnet"], 0),
        (["baseline", "candidate"], 9),
        (["old", "new"], 101),
        (["quokkatron", "incumbent-zebra"], 0),
    ] {
        let (vendors, of_arms): (Vec<String>, Vec<String>) = hidden(names, items)
            .into_iter()
            .partition(|piece| piece == "openai");
        assert_eq!((vendors.len(), of_arms.len()), (3, words), "{of_arms:?}");
    }
}

/// Time grows with the text and not with its square: many names, many near misses, long runs of signs.
#[test]
fn long_texts_are_scrubbed_in_one_pass() {
    let blinder = blinder();
    for piece in [
        "quokkatron ",
        "quokkatro ",
        "google ",
        "q-",
        "qu",
        "((((",
        "<",
        "a ",
        "\n",
        "113 ",
        "&",
        "%41",
        "iVBORw0KGgo",
        "claude google amazon ",
    ] {
        let text = piece.repeat(60_000 / piece.len());
        let seen = blinder.scrub(&text);
        assert!(seen.text.len() <= text.len(), "{piece:?}");
    }
}
