//! Names that must go, and words that must stay.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::judge::testing::{arms, judge};
use crate::model::arm::ArmSpec;

fn scrubbed(text: &str) -> String {
    Blinder::new(&judge(), &arms()).unwrap().scrub(text).text
}

/// Two arms: `quillon-prod` with the model `acme/zephyrine-7b-chat` on `api.veldtworks.dev`, and
/// `challenger-b` with `gpt-4o-mini-2024-07-18`.
#[test]
fn names_are_found_however_they_are_written() {
    for text in [
        "I am Claude.",
        "CLAUDE's answer",
        "the Claudes of this world",
        "I'm C l a u d e",
        "Cl4ude and c1aude",
        "Clau-\n  de",
        "C.l.a.u.d.e",
        "C**l**aude",
        "<b>C</b>laude",
        "Сlаudе",
        "Ｃｌａｕｄｅ",
        "Cl\u{200b}au\u{ad}de",
        "Cláüde",
        r"\u0043laude",
        "&#67;laude",
        "%43laude",
        "Q2xhdWRl",
        "436c61756465",
        "I am G P T",
        "g-p-t",
        "ChatGPT-4o",
        "gpt4 wrote this",
        "GPTs",
        r#"{"a":"\nGPT-4.1 mini"}"#,
        "Open AI",
        "Hugging-Face",
        "myClaudeAgent",
        "model_gpt_4",
        "使用GPT模型",
        "I was made by Google",
        "I am Grok",
        "Grok-3",
        "quillon-prod",
        "QUILLON PROD",
        "Zephyrine",
        "z e p h y r i n e",
        "zephyrine's",
        "veldtworks",
        "api.veldtworks.dev",
        "acme",
        "challenger B",
        "4o",
        "Secretname",
        "C|l|a|u|d|e",
        "C,l,a,u,d,e",
        "G🙂P🙂T",
        "𝓒𝓵𝓪𝓾𝓭𝓮",
        r#"["G","P","T"]"#,
        "&Ccedil;laude",
        "GPT‑4o",
        "x.ai",
        "kimi-k2",
        "Mistral-Large-2411",
        "SSBhbSBDbGF1ZGU=",
        "I am Quillon",
        "Quillon here.",
        "My name is Quillon",
    ] {
        let shown = scrubbed(text);
        assert!(shown.contains(HIDDEN_NAME), "{text} → {shown}");
        let rest = Blinder::new(&judge(), &arms()).unwrap().names_in(&shown);
        assert!(rest.is_empty(), "{text} → {shown}: {rest:?}");
    }
}

#[test]
fn ordinary_words_stay() {
    for text in [
        "I grok this now",
        "Beethoven's opus 27 and a haiku",
        "an order at Amazon, paid with Apple Pay",
        "the nova of 1604",
        "Google Flights shows seat 40 and seat 7B",
        "found a gem. In it was coal",
        "the base line of the test",
        "acmeist poetry",
        "the chat model of the house",
        "egpta and gptx1a are no words",
        "at 01:03 on 2024-07-18",
        "an open. AI here",
        "the prod system",
        "a challenger rose",
        "large and small, pro and contra",
    ] {
        let shown = scrubbed(text);
        assert_eq!(shown, text);
    }
}

#[test]
fn a_word_of_an_arm_is_hidden_everywhere() {
    assert_eq!(scrubbed("a mini bar"), "a [hidden] bar");
    assert_eq!(scrubbed("a quillon of steel"), "a [hidden] of steel");
}

#[test]
fn versions_go_with_the_name() {
    assert_eq!(scrubbed("as Claude 3.5 Sonnet, I"), "as [hidden], I");
    assert_eq!(scrubbed("OpenAI GPT-5-turbo here"), "[hidden] here");
    assert_eq!(scrubbed("by Llama-3.1-8B-Instruct."), "by [hidden].");
    assert_eq!(
        scrubbed("GPT–4 and quillon_prod_v2"),
        "[hidden] and [hidden]"
    );
    assert_eq!(
        scrubbed("zephyrine7b, quillon-prod 3 times"),
        "[hidden], [hidden] 3 times"
    );
}

#[test]
fn short_arm_names_are_refused() {
    let mut arms = arms();
    arms[0].id = "b2".into();
    let error = Blinder::new(&judge(), &arms).unwrap_err();
    assert!(error.message().contains("too short"), "{error}");
}

#[test]
fn codes_differ_by_trial_and_request_and_are_stable() {
    let pin = Digest::of_bytes(b"pin");
    let of = |trial: &str, request: &str| code(&pin, &TrialId::new(trial), request, 7);
    assert_eq!(of("t1", "0"), of("t1", "0"));
    let many: std::collections::BTreeSet<String> = (0..500)
        .flat_map(|i| ["0", "1"].map(|request| of(&format!("t{i}"), request)))
        .collect();
    assert_eq!(many.len(), 1000);
}

#[test]
fn edits_name_what_was_hidden() {
    let blinder = Blinder::new(&judge(), &arms()).unwrap();
    let text = "Zephyrine and fp_44709d6fcb";
    let scrubbed = blinder.scrub(text);
    assert_eq!(scrubbed.text, "[hidden] and [id]");
    let mut count = HiddenCount::default();
    count.add(&"quillon-prod".into(), &scrubbed.edits);
    let rows = count.rows();
    assert_eq!(
        (rows[0].kind.as_str(), rows[1].name.as_str()),
        ("id", "zephyrine")
    );
    assert_eq!(
        &text[scrubbed.edits[0].start..scrubbed.edits[0].end],
        "Zephyrine"
    );
}

static BLINDER: LazyLock<Blinder> = LazyLock::new(|| Blinder::new(&judge(), &arms()).unwrap());

/// Pieces of texts: names in disguise, and what might stand around them.
const PIECES: [&str; 24] = [
    "Claude",
    "G P T",
    "z-e-p-h-y-r-i-n-e",
    "Сlаudе",
    r"\u0043laude",
    "&#67;laude",
    "%43laude",
    "quillon\nprod",
    "Q2xhdWRl",
    "fp_44709d6fcb",
    "4o",
    "mini",
    " ",
    "\n",
    ", ",
    "é",
    "用",
    "🙂",
    "\\",
    "&",
    "%",
    "refund 1842",
    "<b>",
    "\u{200b}",
];

/// Everything outside masks stands in the original at the place that the offsets say.
fn check_offsets(original: &str) {
    let scrubbed = BLINDER.scrub(original);
    let mut at = 0;
    for edit in &scrubbed.edits {
        assert!(
            at <= edit.start && edit.start < edit.end,
            "{original:?}: {:?}",
            scrubbed.edits
        );
        for (i, _) in original[at..edit.start].char_indices() {
            let there = scrubbed.shown(at + i);
            assert_eq!(scrubbed.original_start(there), at + i, "{original:?}");
            assert!(scrubbed.text[there..].chars().next() == original[at + i..].chars().next());
        }
        assert_eq!(
            scrubbed.original_end(scrubbed.shown(edit.start) + 1),
            edit.end
        );
        at = edit.end;
    }
    let rest = scrubbed.shown(at);
    assert_eq!(scrubbed.text[rest..], original[at..], "{original:?}");
}

proptest! {
    #[test]
    fn disguised_names_never_stay(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 1..12)) {
        let text = pieces.concat();
        let shown = BLINDER.scrub(&text).text;
        prop_assert!(BLINDER.names_in(&shown).is_empty(), "{text:?} → {shown:?}");
        check_offsets(&text);
    }

    #[test]
    fn any_text_is_scrubbed_without_panic(text in any::<String>()) {
        check_offsets(&text);
        let view = View { task: Some(text.clone()), parts: vec![] };
        let blinding = BLINDER.blind(view, &TrialId::new("t"));
        let _ = crate::judge::injection::injections(&blinding.view, "answer", &["pass".into()]);
    }
}

/// Command output is full of colours; a name reads through them.
#[test]
fn names_within_terminal_colours_are_hidden() {
    let of = |model: &str| -> ArmSpec {
        let spec = serde_json::json!({"kind": "recorded", "path": "a", "model": model});
        serde_json::from_value(spec).unwrap()
    };
    let arms = [
        Arm::new("zed".into(), of("globodyne/snorlix-13b"), None),
        Arm::new("vexalot".into(), of("crimson-heron"), None),
    ];
    let blinder = Blinder::new(&judge(), &arms).unwrap();
    for text in [
        "\u{1b}[31mzed\u{1b}[0m",
        "ok\u{1b}[31mzed\u{1b}[0mok",
        "vex\u{1b}[1malot\u{1b}[0m",
        "sno\u{1b}[1mrlix",
        "cri\u{1b}[38;5;196mmson-he\u{1b}[0mron",
        r"\u001b[31mzed\u001b[0m",
        r"ok\x1b[31mzed\x1b[0m",
        r"\033[1;31mvex\033[0malot",
        "^[[31mzed^[[0m",
        "[31mzed[0m",
        "v\u{0}e\u{0}x\u{0}a\u{0}l\u{0}o\u{0}t\u{0}",
        "z\u{8}ze\u{8}ed\u{8}d",
        "\u{1b}]8;;https://x.example\u{7}zed\u{1b}]8;;\u{7}",
        "\u{1b}]8;;https://zed.example\u{7}x\u{1b}]8;;\u{7}",
        "G\u{1b}[1mP\u{1b}[0mT",
        "%1B[31mzed%1B[0m",
    ] {
        let seen = blinder.scrub(text);
        let names = ["zed", "vex", "alot", "rlix", "mson", "ron", "z\u{8}"];
        let left = names.iter().any(|name| seen.text.contains(name));
        assert!(
            !seen.edits.is_empty() && !left,
            "{text:?} → {:?}",
            seen.text
        );
        assert!(blinder.names_in(&seen.text).is_empty(), "{text:?}");
    }
    for text in ["\u{1b}[1mok\u{1b}[0m", "freezed\u{7}", "[3] of [12]"] {
        assert_eq!(blinder.scrub(text).text, text);
    }
}
