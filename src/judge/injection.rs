//! Texts that speak to the judge: found and listed, never judged by.
//!
//! Rules of thumb on text with look-alikes and invisible characters resolved. They miss what is said in
//! other words, and strike on honest text about judging; what they find is for a person to look at and
//! changes no verdict.

use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use super::blind::{Blinded, fold};
use super::view::View;

/// Longest excerpt in characters.
const EXCERPT: usize = 120;

/// What a suspicious text does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionKind {
    /// It addresses whoever judges.
    AddressesJudge,
    /// It asks to set instructions aside.
    OverridesInstructions,
    /// It asks for a verdict, or states one.
    AsksForVerdict,
    /// It looks like the reply of a judge.
    VerdictShaped,
    /// It holds marks with which a chat begins the turn of another role.
    RoleMarker,
    /// It pretends that the quoted data ends.
    FakeFence,
}

impl InjectionKind {
    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::AddressesJudge => "addresses_judge",
            Self::OverridesInstructions => "overrides_instructions",
            Self::AsksForVerdict => "asks_for_verdict",
            Self::VerdictShaped => "verdict_shaped",
            Self::RoleMarker => "role_marker",
            Self::FakeFence => "fake_fence",
        }
    }
}

/// A text that seems to speak to the judge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Injection {
    /// Which output holds it: 0 for the first or only one, 1 for the second.
    pub output: usize,
    /// Sequence of the event that holds it; `None` for the task or a state document.
    pub event: Option<u64>,
    /// What it does.
    pub kind: InjectionKind,
    /// The blinded text around it, cut.
    pub excerpt: String,
}

const JUDGE: &str =
    r"(?:judges?|graders?|evaluators?|raters?|reviewers?|assessors?|examiners?|llm judge|ai judge)";

static RULES: LazyLock<Vec<(InjectionKind, Regex)>> = LazyLock::new(|| {
    use InjectionKind::{
        AddressesJudge, AsksForVerdict, FakeFence, OverridesInstructions, RoleMarker,
    };
    let who = JUDGE;
    let rules = [
        (AddressesJudge, format!(r"\b(?:dear|hey|hello|attention|note (?:to|for)|message (?:to|for)|to|for|notice to)[ ,:]+(?:the |any |all |whoever is )?{who}\b[ ]?[:,!.]")),
        (AddressesJudge, format!(r"\b(?:dear|attention|note to|message to|instructions? (?:to|for))[ ,:]+(?:the |any |all )?{who}\b")),
        (AddressesJudge, format!(r"\b(?:if|as|since|when) (?:you|you're|you are)?[ ]?(?:are |re )?(?:an? |the )?(?:ai |llm |language model |automated )?(?:{who}|grading|judging|evaluating|scoring)\b[^.\n]{{0,40}}\b(?:you|please|must|should|give|rate|score|output|answer)\b")),
        (OverridesInstructions, r"\b(?:ignore|disregard|forget|override|bypass|do not follow|don.t follow|stop following)\b[^.\n]{0,40}\b(?:instructions?|prompts?|rubrics?|rules|directions|criteria|guidelines)\b".to_owned()),
        (OverridesInstructions, r"\b(?:new|updated|revised|real|actual) (?:system )?(?:instructions?|rubric|prompt)\b[ ]?(?::|for the)".to_owned()),
        (AsksForVerdict, r"\b(?:rate|score|grade|mark|label|judge|classify|evaluate) (?:this|it|me|my|the (?:above |following )?(?:response|answer|output|reply|conversation))\b[^.\n]{0,30}\b(?:as|with|at|a|an|highly|pass|passed|perfect|correct|excellent|best|good|10|100|5)\b".to_owned()),
        (AsksForVerdict, r"\b(?:give|award|assign|return|output|respond with|answer with|choose|pick|select|prefer)\b[^.\n]{0,30}\b(?:full marks|full score|(?:the )?(?:highest|top|maximum|best|perfect) (?:score|rating|grade|mark|level)|a pass(?:ing)? (?:grade|verdict|score|mark)|verdict|(?:response|output|answer) (?:a|b|1|2)|the (?:first|second) (?:response|output|answer))\b".to_owned()),
        (AsksForVerdict, r"\b(?:verdict|grade|score|rating|judg(?:e)?ment)\b[ ]?(?:is|:|=)[ ]?.?(?:pass|passed|perfect|excellent|correct|good|best|first|second|10|5|100)\b".to_owned()),
        (AsksForVerdict, r"\b(?:this|the) (?:response|answer|output) (?:is|deserves|must be|should be)[^.\n]{0,20}\b(?:rated|scored|graded|a pass|full marks|(?:the )?better (?:one|response|answer|output))\b".to_owned()),
        (RoleMarker, r"<\|[ ]?/?[a-z_]{2,20}[ ]?\|>|\[/?inst\]|<</?sys>>|</?s>|<start_of_turn>|<end_of_turn>|\u{ff5c}".to_owned()),
        (RoleMarker, r"(?:^|\n)[ \t]*(?:#{1,4} ?|\*\*|<)?(?:system|human|assistant|developer|user)(?:\*\*|>)? ?:?(?:\*\*)?(?:\n|:[ \n])".to_owned()),
        (FakeFence, r"<<<|>>>|={3,} ?(?:end|begin)|-{3,} ?(?:end|begin)|</?(?:data|evidence|transcript|response|output|answer|document|untrusted)>|\b(?:end|end of) (?:of )?(?:the )?(?:data|evidence|transcript|quoted text|response to (?:judge|grade|evaluate))\b".to_owned()),
    ];
    let compiled = rules.into_iter();
    compiled
        .filter_map(|(kind, rule)| Some((kind, Regex::new(&rule).ok()?)))
        .collect()
});

/// Lists what in a view seems to speak to the judge, by event; each kind once per event.
///
/// `answer` is the key of the judge's reply and `words` its levels: an object with that key and one of
/// them has the shape of a verdict.
pub fn injections(view: &Blinded<View>, answer: &str, words: &[String]) -> Vec<Injection> {
    let view = view.get();
    let shape = verdict_shape(answer, words);
    let task = view.task.iter().map(|text| (None, text));
    let parts = view.parts.iter().map(|part| (part.event, &part.text));
    let mut found = vec![];
    for (event, text) in task.chain(parts) {
        let units = fold(text);
        let folded: String = units.iter().map(|u| u.c).collect();
        let own = shape
            .iter()
            .map(|rule| (InjectionKind::VerdictShaped, rule));
        for (kind, rule) in RULES.iter().map(|(kind, rule)| (*kind, rule)).chain(own) {
            let new = !found
                .iter()
                .any(|i: &Injection| (i.event, i.kind) == (event, kind));
            if let Some(hit) = rule.find(&folded).filter(|_| new) {
                let at = folded[..hit.start()].chars().count();
                let start = units.get(at).map_or(0, |u| u.start);
                let excerpt = text[start..].chars().take(EXCERPT).collect();
                found.push(Injection {
                    output: 0,
                    event,
                    kind,
                    excerpt,
                });
            }
        }
    }
    found.sort();
    found
}

fn verdict_shape(answer: &str, words: &[String]) -> Option<Regex> {
    let folded = |text: &str| regex::escape(&text.to_lowercase());
    let words: Vec<String> = words.iter().map(|w| folded(w)).collect();
    let key = folded(answer);
    Regex::new(&format!(
        r#"["'](?:{key}|verdict|winner)["'][ ]?:[ ]?["']?(?:{})\b"#,
        words.join("|")
    ))
    .ok()
}
