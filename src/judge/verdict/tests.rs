//! Replies of every kind, on every scale.

use super::*;
use crate::judge::testing::judge_with;
use serde_json::json;

fn check(change: Value, reply: &str) -> Result<String, &'static str> {
    let judge = judge_with(change);
    read(&judge, reply)
        .map(|a| judge.words()[a.word].clone())
        .map_err(|u| u.code)
}

fn binary(reply: &str) -> Result<String, &'static str> {
    check(json!({}), reply)
}

#[test]
fn a_verdict_is_json_alone_or_in_one_block() {
    for reply in [
        r#"{"reason": "r", "answer": "pass"}"#,
        "```json\n{\"reason\": \"r\", \"answer\": \"pass\"}\n```",
        "\n ```\n{\"answer\":\"pass\",\"reason\":\"\"}\n```\n",
    ] {
        assert_eq!(binary(reply), Ok("pass".into()), "{reply}");
    }
}

#[test]
fn anything_else_is_neither_pass_nor_failure() {
    for (reply, code) in [
        ("", "missing"),
        (" \n", "missing"),
        (r#"{"reason": "r", "answer": null}"#, "missing"),
        ("pass", "unparsable"),
        (
            "Sure: {\"reason\": \"r\", \"answer\": \"pass\"}",
            "unparsable",
        ),
        (
            "{\"reason\": \"r\", \"answer\": \"pass\"} hope it helps",
            "unparsable",
        ),
        (
            "```json\n{\"reason\":\"\",\"answer\":\"pass\"}\n``` done",
            "unparsable",
        ),
        (r#"{"reason": "r"}"#, "unparsable"),
        (r#"{"answer": "pass"}"#, "unparsable"),
        (
            r#"{"reason": "r", "answer": "pass", "extra": 1}"#,
            "unparsable",
        ),
        (
            r#"{"reason": "r", "answer": "pass", "answer": "fail"}"#,
            "unparsable",
        ),
        (r#"[{"reason": "r", "answer": "pass"}]"#, "unparsable"),
        (r#"{"reason": "r", "answer": ["pass"]}"#, "unparsable"),
        (r#"{"reason": "r", "answer": "Pass"}"#, "out_of_scale"),
        (r#"{"reason": "r", "answer": "maybe"}"#, "out_of_scale"),
        (r#"{"reason": "r", "answer": true}"#, "out_of_scale"),
        (r#"{"reason": "r", "answer": 1}"#, "out_of_scale"),
    ] {
        assert_eq!(binary(reply), Err(code), "{reply}");
    }
}

#[test]
fn every_scale_is_read() {
    let ordinal = json!({"scale": {"kind": "ordinal", "levels": ["1", "2", "3"]},
        "output": {"schema": {"type": "object"}}});
    assert_eq!(check(ordinal.clone(), r#"{"answer": 2}"#), Ok("2".into()));
    assert_eq!(check(ordinal.clone(), r#"{"answer": 2.0}"#), Ok("2".into()));
    assert_eq!(check(ordinal.clone(), r#"{"answer": "3"}"#), Ok("3".into()));
    assert_eq!(
        check(ordinal.clone(), r#"{"answer": 2.5}"#),
        Err("out_of_scale")
    );
    assert_eq!(check(ordinal, r#"{"answer": 4}"#), Err("out_of_scale"));
    let nominal = json!({"scale": {"kind": "nominal", "levels": ["refund", "voucher"]}});
    assert_eq!(
        check(nominal.clone(), r#"{"reason":"","answer":"refund"}"#),
        Ok("refund".into())
    );
    assert_eq!(
        check(nominal, r#"{"reason":"","answer":"both"}"#),
        Err("out_of_scale")
    );
    let pairwise = json!({"scale": {"kind": "pairwise", "levels": ["A", "B", "tie"]}});
    for word in ["first", "second", "tie"] {
        let reply = format!(r#"{{"reason":"","answer":"{word}"}}"#);
        assert_eq!(check(pairwise.clone(), &reply), Ok(word.into()));
    }
    assert_eq!(
        check(pairwise, r#"{"reason":"","answer":"A"}"#),
        Err("out_of_scale")
    );
}

#[test]
fn a_declared_line_may_stand_in_prose() {
    let line = json!({"output": {"verdict_line": "^VERDICT: (?P<answer>\\w+)$"}});
    let reply = "VERDICT: fail\nOn second thought.\n VERDICT: pass ";
    assert_eq!(check(line.clone(), reply), Ok("pass".into()));
    assert_eq!(check(line.clone(), "the VERDICT: pass"), Err("unparsable"));
    assert_eq!(check(line, "VERDICT: great"), Err("out_of_scale"));
}

#[test]
fn scores_stand_beside_answers() {
    let scored = judge_with(json!({"output": {"score": "points", "schema": {"type": "object"}}}));
    let score = |reply| read(&scored, reply).map(|a| a.score).map_err(|u| u.code);
    assert_eq!(score(r#"{"answer": "pass", "points": 7.5}"#), Ok(Some(7.5)));
    assert_eq!(
        score(r#"{"answer": "pass", "points": "7"}"#),
        Err("unparsable")
    );
}
