//! Judges' files: the shipped ones are sound, and broken ones say everything that is wrong, with lines.

use std::fs;
use std::path::Path;

use assize::base::Seed;
use assize::judge::Session;
use assize::load;
use assize::model::label::ScaleKind;

fn shipped(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("judges")
        .join(name)
}

/// A sound judge.
const GOOD: &str = "\
id: tone
version: \"1\"
endpoint: {base_url: \"https://judge.example/v1\", model: gpt-4.1-2025-04-14}
scale: {kind: binary}
rubric: Polite.
prompt:
  template: \"{{ rubric }} {{ task }} {{ evidence }}\"
";

/// The problems of a judge's file in a folder with more files.
fn problems(text: &str, more: &[(&str, &str)]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("judge.yaml");
    fs::write(&file, text).unwrap();
    for (name, text) in more {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let found = load::validate(&[file], &|_| vec![]);
    assert_eq!(found.judges, 1);
    let shown = |e: &assize::base::Error| {
        let file = e.file().and_then(|f| f.file_name()).unwrap_or_default();
        let line = e.line().map(|l| format!(":{l}")).unwrap_or_default();
        let hints: String = e.hints().iter().map(|h| format!(" | {h}")).collect();
        format!("{}{line}: {}{hints}", file.to_string_lossy(), e.message())
    };
    found.problems.iter().map(shown).collect()
}

/// The problems of the sound judge with one line in place of another.
fn changed(line: &str, with: &str) -> Vec<String> {
    assert!(GOOD.contains(line), "{line}");
    problems(&GOOD.replace(line, with), &[])
}

fn one(line: &str, with: &str, at: u64, says: &str) {
    let found = changed(line, with);
    assert_eq!(found.len(), 1, "{found:#?}");
    let place = format!("judge.yaml:{at}: ");
    assert!(
        found[0].starts_with(&place) && found[0].contains(says),
        "{found:#?}"
    );
}

#[test]
fn shipped_judges_are_sound() {
    let found = load::validate(&[shipped("")], &|_| vec![]);
    assert!(found.problems.is_empty(), "{:#?}", found.problems);
    assert_eq!(found.judges, 3);
    let (one, two) = (
        shipped("response-quality-v1.yaml"),
        shipped("response-quality-v2.yaml"),
    );
    let (one, two) = (load::judge(&one).unwrap(), load::judge(&two).unwrap());
    assert_eq!(one.spec.id, two.spec.id);
    assert!(one.key() != two.key() && one.pin != two.pin);
    assert_eq!(two.example_texts().len(), 2);
    let pairwise = load::judge(&shipped("pairwise-quality.yaml")).unwrap();
    assert_eq!(pairwise.scale.kind, ScaleKind::Pairwise);
    for judge in [one, two, pairwise] {
        assert!(
            Session::new(&judge, &[], Seed(1))
                .unwrap()
                .notices()
                .is_empty()
        );
    }
}

#[test]
fn shipped_judges_fit_the_emitted_schema() {
    let validator = jsonschema::validator_for(&load::schema("judge").unwrap()).unwrap();
    for name in [
        "response-quality-v1.yaml",
        "response-quality-v2.yaml",
        "pairwise-quality.yaml",
    ] {
        let text = fs::read_to_string(shipped(name)).unwrap();
        let value: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        assert!(validator.is_valid(&value), "{name}");
    }
}

#[test]
fn a_sound_judge_has_no_problems_and_its_files_are_in_the_pin() {
    assert!(problems(GOOD, &[]).is_empty(), "{:#?}", problems(GOOD, &[]));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("judge.yaml");
    let outside = GOOD.replace("rubric: Polite.", "rubric_file: rubric.md");
    fs::write(&file, outside).unwrap();
    let pin = |rubric: &str| {
        fs::write(dir.path().join("rubric.md"), rubric).unwrap();
        load::judge(&file).unwrap().pin
    };
    assert_ne!(pin("Polite.\n"), pin("Polite!\n"));
    assert_eq!(pin("Polite.\n"), pin("Polite.\n"));
}

#[test]
fn wrong_keys_name_line_and_nearest_key() {
    one(
        "rubric: Polite.",
        "rubric: Polite.\nrepeat: 3",
        6,
        "did you mean `repeats`?",
    );
    one("model: gpt", "modle: gpt", 3, "did you mean `model`?");
    one(
        "kind: binary",
        "kind: binry",
        4,
        "`scale.kind` can't be \"binry\"",
    );
}

#[test]
fn aliases_are_refused_with_a_reason() {
    one("gpt-4.1-2025-04-14", "gpt-4.1", 3, "without its date");
    one(
        "gpt-4.1-2025-04-14",
        "claude-3-5-sonnet-latest",
        3,
        "`latest` means another model tomorrow",
    );
    one(
        "model: gpt-4.1-2025-04-14",
        "model: \" \"",
        3,
        "`model` is empty",
    );
}

#[test]
fn keys_are_never_in_the_file() {
    let with = "model: gpt-4.1-2025-04-14, api_key_env: sk-123";
    one(
        "model: gpt-4.1-2025-04-14",
        with,
        3,
        "not the name of an environment variable",
    );
}

#[test]
fn templates_must_render_and_show_what_is_judged() {
    let template = "{{ rubric }} {{ task }} {{ evidence }}";
    one(
        template,
        "{{ rubric }} {{ task }} {{ evidnce }}",
        6,
        "undefined",
    );
    one(template, "{{ rubric }} {{ task }", 6, "fails");
    one(
        template,
        "{{ rubric }} {{ task }}",
        6,
        "never shows the output",
    );
    one(
        template,
        "{{ task }} {{ evidence }}",
        6,
        "never shows the rubric",
    );
    one(
        template,
        "{{ rubric }} {{ evidence }}",
        6,
        "never shows the task",
    );
    let pairwise = changed("kind: binary", "kind: pairwise");
    assert!(pairwise[0].contains("undefined"), "{pairwise:#?}");
    let examples = "rubric: Polite.\nexamples: [{output: Hello there, answer: pass}]";
    one("rubric: Polite.", examples, 7, "never shows its examples");
}

#[test]
fn values_must_make_sense() {
    let rubric = "rubric: Polite.";
    for (more, at, says) in [
        ("repeats: 0", 6, "at least 1"),
        ("view: []", 6, "see nothing"),
        ("accepts: []", 6, "given nothing"),
        ("scrub: [ab]", 6, "too short"),
        ("output: {verdict_line: \"(\"}", 6, "regular expression"),
        ("output: {verdict_line: \"^V$\"}", 6, "no group"),
        ("output: {schema: {type: 5}}", 6, "does not compile"),
        (
            "output: {schema: {type: object, properties: {x: {}}}}",
            6,
            "does not describe `answer`",
        ),
        ("rubric_file: r.md", 6, "given twice"),
        ("thresholds: {kappa: high}", 6, "must be a number"),
    ] {
        one(rubric, &format!("{rubric}\n{more}"), at, says);
    }
    one("id: tone", "id: to/ne", 1, "path separator");
    one(
        "scale: {kind: binary}",
        "scale: {kind: ordinal}",
        4,
        "worst to the best",
    );
    one(rubric, "description: no rubric", 1, "`rubric` is missing");
}

#[test]
fn panels_are_odd_and_of_one_scale() {
    let member = |name: &str, scale: &str| {
        GOOD.replace("id: tone", &format!("id: {name}"))
            .replace("binary", scale)
    };
    let panel = |files: &str| {
        format!("id: panel\nversion: \"1\"\nscale: {{kind: binary}}\npanel: [{files}]\n")
    };
    let (a, b, c) = (
        member("a", "binary"),
        member("b", "binary"),
        member("c", "binary"),
    );
    let files = [("a.yaml", a.as_str()), ("b.yaml", &b), ("c.yaml", &c)];
    assert!(problems(&panel("a.yaml, b.yaml, c.yaml"), &files).is_empty());
    let even = problems(&panel("a.yaml, b.yaml"), &files);
    assert!(
        even[0].starts_with("judge.yaml:4: a panel is an odd number"),
        "{even:#?}"
    );
    let other = GOOD
        .replace("{kind: binary}", "{kind: nominal, levels: [x, y]}")
        .replace("tone", "d");
    let files = [("a.yaml", a.as_str()), ("b.yaml", &b), ("d.yaml", &other)];
    let scales = problems(&panel("a.yaml, b.yaml, d.yaml"), &files);
    assert!(scales[0].contains("another scale"), "{scales:#?}");
    let absent = problems(&panel("a.yaml, b.yaml, e.yaml"), &files);
    assert!(absent[0].contains("does not exist"), "{absent:#?}");
}

/// Every text in a JSON value.
fn texts(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => found.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|v| texts(v, found)),
        serde_json::Value::Object(map) => map.values().for_each(|v| texts(v, found)),
        _ => {}
    }
}

#[test]
fn real_conversations_lose_names_and_nothing_else() {
    use std::io::Read;
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/airline");
    let arms = load::arms(&dir.join("arms.yaml"), &load::recorded::content_digest).unwrap();
    let judge = load::judge(&shipped("response-quality-v2.yaml")).unwrap();
    let blinder = assize::judge::blind::Blinder::new(&judge, &arms).unwrap();
    let mut hidden: Vec<String> = vec![];
    let mut letters = 0;
    for name in ["gpt-4o-airline.json.gz", "llama-3.1-8b-airline.json.gz"] {
        let bytes = fs::read(dir.join("recorded").join(name)).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(bytes.as_slice())
            .read_to_string(&mut text)
            .unwrap();
        let mut found = vec![];
        texts(&serde_json::from_str(&text).unwrap(), &mut found);
        found.sort();
        found.dedup();
        for text in found {
            letters += text.len();
            let scrubbed = blinder.scrub(&text);
            let names = scrubbed.edits.iter().filter(|e| e.name.is_some());
            hidden.extend(names.map(|e| text[e.start..e.end].to_owned()));
        }
    }
    // The agents of this recording never say who they are; only ids of their calls go.
    assert!(hidden.is_empty(), "{hidden:?}");
    assert!(letters > 1_000_000, "the recordings were read: {letters}");
}
