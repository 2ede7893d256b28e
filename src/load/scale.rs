//! The scale of labels: declared in a few words, or read from the labels themselves.

use std::collections::BTreeSet;

use super::spelling::nfc;
use crate::base::{Error, Result};
use crate::model::label::{Scale, ScaleKind, binary_word, is_tie_word};

/// A scale as the user declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScaleChoice {
    /// Kind, if it was declared.
    pub kind: Option<ScaleKind>,
    /// Levels in order, if they were declared.
    pub levels: Vec<String>,
    /// The least level that counts as good, if it was declared.
    pub positive: Option<String>,
}

impl ScaleChoice {
    /// Reads `KIND` or `KIND:LEVEL,LEVEL…`, and the good level.
    ///
    /// # Errors
    ///
    /// If the kind is unknown, or a level is empty or named twice.
    pub fn parse(scale: Option<&str>, positive: Option<&str>) -> Result<Self> {
        let positive = positive.map(str::to_owned);
        let Some(text) = scale else {
            return Ok(Self {
                positive,
                ..Self::default()
            });
        };
        let (name, list) = text.split_once(':').unwrap_or((text, ""));
        let kinds = [
            ScaleKind::Binary,
            ScaleKind::Ordinal,
            ScaleKind::Nominal,
            ScaleKind::Pairwise,
        ];
        let Some(kind) = kinds.into_iter().find(|k| k.name() == name) else {
            return Err(Error::input(format!("`{name}` is no scale"))
                .hint("binary, ordinal, nominal or pairwise, e.g. ordinal:poor,fair,good"));
        };
        let levels: Vec<String> = match list {
            "" => vec![],
            list => list.split(',').map(|l| l.trim().to_owned()).collect(),
        };
        let distinct: BTreeSet<&String> = levels.iter().collect();
        if distinct.len() < levels.len() || levels.iter().any(String::is_empty) {
            return Err(Error::input(format!(
                "the levels in `{text}` are not distinct words"
            )));
        }
        Ok(Self {
            kind: Some(kind),
            levels,
            positive,
        })
    }

    /// The scale, with what was not declared taken from the answers that occur.
    ///
    /// # Errors
    ///
    /// If the kind needs levels that the answers do not give, or the good level is not on the scale.
    pub fn settle<'a>(&self, answers: impl IntoIterator<Item = &'a str>) -> Result<Scale> {
        let seen: BTreeSet<&str> = answers.into_iter().map(str::trim).collect();
        let composed = |level: &String| nfc(level.clone());
        let words = !seen.is_empty() && seen.iter().all(|a| binary_word(a).is_some());
        let kind = self.kind.unwrap_or(match (self.levels.is_empty(), words) {
            (true, true) => ScaleKind::Binary,
            _ => ScaleKind::Nominal,
        });
        let levels = match (kind, self.levels.is_empty()) {
            (_, false) => self.levels.iter().map(composed).collect(),
            (ScaleKind::Binary, true) if words || seen.is_empty() => Scale::binary().levels,
            _ => ordered(&seen, kind),
        };
        let mut scale = Scale {
            kind,
            levels,
            positive: self.positive.as_ref().map(composed),
        };
        complete(&mut scale)?;
        Ok(scale)
    }
}

/// The answers that occur, numbers by size.
fn ordered(seen: &BTreeSet<&str>, kind: ScaleKind) -> Vec<String> {
    let is_tie = |a: &&str| kind == ScaleKind::Pairwise && is_tie_word(a);
    let mut levels: Vec<&str> = seen.iter().copied().collect();
    let number = |text: &str| text.parse::<f64>().ok();
    if levels.iter().all(|l| number(l).is_some()) {
        levels.sort_by(|a, b| f64::total_cmp(&number(a).unwrap_or(0.0), &number(b).unwrap_or(0.0)));
        levels.dedup_by_key(|l| number(l).map(f64::to_bits));
    }
    levels.sort_by_key(is_tie);
    // Case does not matter where answers are read, so it makes no levels either.
    let mut known = BTreeSet::new();
    levels.retain(|l| known.insert(l.to_lowercase()));
    levels.into_iter().map(str::to_owned).collect()
}

fn complete(scale: &mut Scale) -> Result<()> {
    let levels = scale.levels.len();
    match scale.kind {
        ScaleKind::Binary if levels != 2 => {
            return Err(
                Error::input(format!("a binary scale has two levels, not {levels}"))
                    .hint("declare them, the bad one first: `--scale binary:bad,good`"),
            );
        }
        ScaleKind::Binary if scale.positive.is_none() => {
            scale.positive = scale.levels.last().cloned();
        }
        ScaleKind::Ordinal
            if scale.levels.iter().any(|l| l.parse::<f64>().is_err()) && levels < 2 =>
        {
            return Err(Error::input("an ordinal scale needs its levels in order")
                .hint("declare them, the worst first: `--scale ordinal:poor,fair,good`"));
        }
        ScaleKind::Pairwise => {
            let tie = |l: &String| is_tie_word(l);
            if levels == 2 && !scale.levels.iter().any(tie) {
                scale.levels.push("tie".to_owned());
            }
            if scale.levels.len() != 3 {
                return Err(Error::input(format!(
                    "a pairwise scale has two outputs and perhaps a tie, not {levels} levels"
                ))
                .hint("declare them: `--scale pairwise:A,B,tie`"));
            }
        }
        _ => {}
    }
    if let Some(positive) = scale
        .positive
        .as_deref()
        .filter(|p| scale.code(p).is_none())
    {
        let known = scale.levels.join(", ");
        return Err(
            Error::input(format!("the good level `{positive}` is not on the scale"))
                .hint(format!("levels: {known}")),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(scale: Option<&str>, answers: &[&str]) -> Result<Scale> {
        ScaleChoice::parse(scale, None)?.settle(answers.iter().copied())
    }

    #[test]
    fn scales_are_read_from_answers() {
        assert_eq!(settled(None, &["true", "0"]).unwrap(), Scale::binary());
        let nominal = settled(None, &["10", "2", "2.0"]).unwrap();
        assert_eq!(
            (nominal.kind, nominal.levels),
            (ScaleKind::Nominal, vec!["2".into(), "10".into()])
        );
        let cases = settled(None, &["Great", "great", "poor"]).unwrap();
        assert_eq!(cases.levels, ["Great", "poor"]);
        let pairwise = settled(Some("pairwise"), &["0", "1", "2"]).unwrap();
        assert_eq!(pairwise.levels, ["1", "2", "0"]);
        let untied = settled(Some("pairwise"), &["1", "2"]).unwrap();
        assert_eq!(untied.levels, ["1", "2", "tie"]);
    }

    #[test]
    fn impossible_scales_are_refused() {
        assert!(settled(Some("binary"), &["a", "b", "c"]).is_err());
        assert!(settled(Some("pairwise"), &["a", "b", "c", "d"]).is_err());
        assert!(ScaleChoice::parse(Some("ranking"), None).is_err());
        assert!(ScaleChoice::parse(Some("ordinal:a,a"), None).is_err());
        let off = ScaleChoice::parse(Some("ordinal:poor,good"), Some("great")).unwrap();
        assert!(off.settle(["poor"]).is_err());
    }
}
