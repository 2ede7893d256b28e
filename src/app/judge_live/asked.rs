//! What asking a judge showed, as it is kept with the run for its reports.

use super::found::LiveJudged;
use crate::app::judge::lost_in_words;
use crate::base::Notice;
use crate::judge::Session;
use crate::judge::canary::CanaryResult;
use crate::model::judging::{AskedJudge, AuditRow, CanaryRow};
use crate::store::CertificateInput;

/// What is kept. A canary that was judged before stands while its certificate does.
pub(super) fn asked(
    session: &Session,
    found: &LiveJudged,
    certificate: &CertificateInput,
    before: Option<AskedJudge>,
) -> AskedJudge {
    let canary = found.canary.as_ref();
    let own = |notice: &&Notice| notice.code == "judges_own_model";
    // Where nobody was asked now, what asking took is what it took the earlier call.
    let idle = found.asking.calls == 0;
    let earlier = before
        .as_ref()
        .filter(|before| idle && before.pin == found.pin);
    let (calls, audit) = (
        earlier.map_or(found.asking.calls, |before| before.calls),
        earlier.and_then(|before| before.audit.clone()),
    );
    let kept = before.filter(|_| *certificate == CertificateInput::Keep);
    AskedJudge {
        pin: found.pin.clone(),
        models: models(session),
        own_model: found
            .notices
            .iter()
            .filter(own)
            .map(|n| n.detail.clone())
            .collect(),
        drift: found.asking.drift,
        withdrawn: match certificate {
            CertificateInput::Withdraw => Some(withdrawn(found)),
            CertificateInput::Keep => kept.as_ref().and_then(|k| k.withdrawn.clone()),
            CertificateInput::Set(_) => None,
        },
        canary: canary
            .map(|result| CanaryRow {
                items: result.items,
                unusable: result.unusable,
                changed: result.changed,
                shift_from: result.shift_from,
                agree: usable(result).then_some(result.agree),
                agree_least: usable(result).then_some(result.agree_least),
            })
            .or_else(|| kept.and_then(|k| k.canary)),
        audit: found
            .audit
            .as_ref()
            .map(|test| AuditRow {
                guesses: test.guesses,
                right: test.right,
                accuracy: test.accuracy,
                low: test.low,
                high: test.high,
                chance: test.chance,
                told_apart: test.told_apart,
            })
            .or(audit),
        hidden: found
            .hidden
            .iter()
            .map(|(arm, names)| (arm.clone(), names.values().sum()))
            .collect(),
        injections: found.injections_in_all,
        questions: found.asking.questions,
        calls,
        unusable: found.asking.causes.clone(),
    }
}

/// Whether any canary can be held against people's answers.
fn usable(result: &CanaryResult) -> bool {
    result.unusable < result.items
}

fn models(session: &Session) -> Vec<String> {
    let asked = session.asked();
    let endpoints = asked
        .iter()
        .filter_map(|judge| judge.spec.endpoint.as_ref());
    endpoints.map(|endpoint| endpoint.model.clone()).collect()
}

/// The code of what speaks against the certificate; drift is looked at before the canary.
fn withdrawn(found: &LiveJudged) -> String {
    if found.asking.drift {
        return "model_drift".to_owned();
    }
    let canary = found.canary.as_ref().and_then(|c| c.invalid.clone());
    canary.unwrap_or_else(|| "canary_missing".to_owned())
}

/// How many answers were lost, why, and what to do.
pub(super) fn lost(found: &LiveJudged) -> Option<Notice> {
    let asking = &found.asking;
    let words = lost_in_words(&asking.causes, asking.questions)?;
    let example = asking.examples.first();
    let example = example.map_or(String::new(), |e| format!("; the first: {e}"));
    Some(Notice::with(
        "verdicts_lost",
        format!(
            "{words}{example}. Judge the run again with the same command: what was answered is kept, and only the rest is asked"
        ),
    ))
}
