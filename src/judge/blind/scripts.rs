//! Names that are not of Latin letters alone: umlauts, scripts without blanks, digits, ports.

use super::*;
use crate::judge::testing::judge;
use crate::model::arm::{Arm, ArmSpec};

fn blinder(id: &str, model: &str) -> Blinder {
    let spec = serde_json::json!({"kind": "recorded", "path": "a", "model": model});
    let spec: ArmSpec = serde_json::from_value(spec).unwrap();
    Blinder::new(&judge(), &[Arm::new(id.into(), spec, None)]).unwrap()
}

/// Texts of which nothing but masks, signs and the words `we` and `us` must be left.
fn hides(blinder: &Blinder, texts: &[&str]) {
    for text in texts {
        let shown = blinder.scrub(text).text;
        let left = shown.replace(HIDDEN_NAME, "").replace("我是", "");
        let left: Vec<char> = left.chars().filter(|c| c.is_alphanumeric()).collect();
        assert!(
            left.is_empty() && shown.contains(HIDDEN_NAME),
            "{text} → {shown}"
        );
    }
}

fn keeps(blinder: &Blinder, texts: &[&str]) {
    for text in texts {
        assert_eq!(blinder.scrub(text).text, *text);
    }
}

#[test]
fn sharp_s_and_umlauts_are_written_both_ways() {
    let owl = blinder("Große Eule", "acme/vexalot");
    hides(
        &owl,
        &[
            "Große",
            "Grosse",
            "GROSSE",
            "GROẞE",
            "grossebot",
            "GROSSE EULE",
        ],
    );
    let accented = blinder("Müller-Ørsted", "acme/vexalot");
    hides(
        &accented,
        &[
            "Müller",
            "Muller",
            "MUELLER",
            "Mu\u{308}ller",
            "Oersted",
            "Orsted",
        ],
    );
    hides(
        &blinder("Mueller-x", "acme/vexalot"),
        &["Müller", "Muller", "mueller"],
    );
    hides(
        &blinder("IZMİRLİ", "acme/vexalot"),
        &["izmirli", "İzmirli", "ızmırlı"],
    );
    hides(
        &blinder("Зимородок", "acme/vexalot"),
        &["зимородок", "ЗИМОРОДОК", "Зимородок"],
    );
    hides(&blinder("σοφος-x", "acme/vexalot"), &["ΣΟΦΟΣ", "Σοφός"]);
}

#[test]
fn scripts_without_blanks_are_hidden_within_them() {
    let moon = blinder("月影", "acme/月影-7b");
    hides(
        &moon,
        &[
            "月影",
            "我是月影",
            "月 影",
            "月\n影",
            "月影7b",
            "月影-7b",
            "月-影",
        ],
    );
    keeps(&moon, &["三月。影子", "明月", "影", "月光之影"]);
    let mixed = blinder("月影chat模型", "acme/vexalot");
    assert_eq!(mixed.scrub("用月影和模型").text, "用[hidden]和模型");
    assert_eq!(mixed.scrub("abc月影def").text, "abc[hidden]def");
    hides(&blinder("달빛-7b", "acme/vexalot"), &["달빛", "달빛은"]);
    hides(
        &blinder("ツキカゲ", "acme/vexalot"),
        &["ツキカゲ", "ツキ カゲ"],
    );
    let error = Blinder::of_arms(&[Arm::new(
        "月".into(),
        serde_json::from_value(serde_json::json!({"kind": "recorded", "path": "a"})).unwrap(),
        None,
    )]);
    assert!(error.unwrap_err().message().contains("too short"));
}

#[test]
fn letters_with_a_number_are_hidden_and_sizes_and_versions_are_not() {
    for blinder in [
        blinder("vexalot-k2", "snorlix-r1-7b-v2-20260301"),
        blinder("old-k2-r1", "snorlix-7b-3.1"),
    ] {
        hides(&blinder, &["K2", "r1", "R1's"]);
        keeps(
            &blinder,
            &["seat 7B", "3.1", "v2", "2026-03-01", "K 2", "r1a", "k24"],
        );
    }
    hides(
        &blinder("o4-mini", "o4-mini-2025-04-16"),
        &["o4", "O4-mini", "o4mini"],
    );
}

#[test]
fn hosts_are_hidden_with_their_ports_and_keys_by_their_names() {
    let spec = |url: &str| -> ArmSpec {
        serde_json::from_value(serde_json::json!({"kind": "chat", "base_url": url,
            "model": "vexalot", "api_key_env": "SNORLIX_API_KEY"}))
        .unwrap()
    };
    let arms = [
        Arm::new("old".into(), spec("http://127.0.0.1:8001/v1"), None),
        Arm::new("new".into(), spec("http://10.0.0.5:9000"), None),
    ];
    let blinder = Blinder::of_arms(&arms).unwrap();
    hides(
        &blinder,
        &[
            "127.0.0.1:8001",
            "localhost:8001",
            "http://0.0.0.0:8001".trim_start_matches("http"),
            "10.0.0.5:9000",
            "10.0.0.5",
            "SNORLIX_API_KEY",
            "$snorlix",
        ],
    );
    keeps(
        &blinder,
        &[
            "order 10005",
            "8001 EUR",
            "at 90.00",
            "100059000",
            "api key",
        ],
    );
}

#[test]
fn doubled_letters_and_dropped_vowels() {
    let blinder = blinder("crimson-heron", "globodyne/snorlix-13b");
    let twice = |n: &str, by: usize| -> String {
        n.chars().flat_map(|c| std::iter::repeat_n(c, by)).collect()
    };
    for name in ["snorlix", "globodyne", "crimsonheron", "gpt"] {
        hides(
            &blinder,
            &[
                &twice(name, 2),
                &twice(name, 3),
                &twice(name, 2).to_uppercase(),
            ],
        );
    }
    hides(
        &blinder,
        &[
            "ssnnoorrll--iixx",
            "snorllx",
            "snrlx",
            "glbdyn",
            "crmsn-hrn",
            "CRMSNHRN",
        ],
    );
    keeps(&blinder, &["crmsnx", "snrl", "hrn"]);
    let doubled = self::blinder("allissoon", "acme/zed");
    hides(
        &doubled,
        &[
            &twice("allissoon", 2),
            &twice("allissoon", 3),
            "zzeedd",
            "zzzeeeddd",
        ],
    );
}

#[test]
fn names_of_two_words_are_read_in_codes_too() {
    let blinder = blinder("crimson-heron", "acme/vexalot");
    let code = |by: &str, f: fn(u32) -> String| -> String {
        let all: Vec<String> = "crimson-heron".chars().map(|c| f(c as u32)).collect();
        all.join(by)
    };
    for text in [
        code(" ", |c| format!("{c:02x}")),
        code(", ", |c| format!("0x{c:02X}")),
        code("+", |c| format!("chr({c})")),
        code(" ", |c| format!("U+{c:04X}")),
    ] {
        let shown = blinder.scrub(&text).text;
        assert_eq!(
            shown.matches(|c: char| c.is_ascii_digit()).count() / 3,
            0,
            "{shown}"
        );
    }
}

/// Words of other languages and long words of English that hold a name are no leak.
#[test]
fn words_that_hold_a_vendor_or_a_name_by_accident_stay() {
    keeps(
        &blinder("command-r", "command-r-08-2024"),
        &["a coherent answer", "its coherence"],
    );
    keeps(
        &blinder("Große Eule", "acme/vexalot"),
        &["engrossed in a book", "gross weight"],
    );
}
