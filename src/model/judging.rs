//! How judges stood in a run: what a report says of the instruments behind its quality.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One judge of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeRow {
    /// Run that holds its verdicts.
    pub run: String,
    /// Judge.
    pub judge: String,
    /// Pin of its definition, where it is known.
    pub pin: Option<String>,
    /// Its certificate, and whether it holds for this run.
    pub certificate: CertificateRow,
    /// Whether it compared two trials at a time; verdicts and labels are then of pairs.
    #[serde(default)]
    pub pairs: bool,
    /// Verdicts that are stored, unusable ones included; of a pair, both orders together are one.
    pub verdicts: u64,
    /// Unusable answers by cause; never a pass and never a failure.
    pub unusable: BTreeMap<String, u64>,
    /// Trials of this run that people labelled, by arm; pairs by their candidate.
    pub labels: BTreeMap<String, u64>,
    /// What asking it showed; null where its verdicts were recorded elsewhere.
    pub asked: Option<AskedJudge>,
}

/// A judge's certificate as this run sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CertificateRow {
    /// `holds`, `refused`, `expired` (of another version), `withdrawn` (it does not hold for this run) or
    /// `none`.
    pub standing: String,
    /// Codes of the reasons why it does not hold.
    pub reasons: Vec<String>,
    /// Digest.
    pub digest: Option<String>,
    /// Name of the labelled set behind it.
    pub labels: Option<String>,
    /// The part of that set: only `test` certifies.
    pub split: Option<String>,
    /// Labelled items behind it.
    pub items: Option<u64>,
}

/// What asking a judge about the trials of a run showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskedJudge {
    /// Pin of its definition.
    pub pin: String,
    /// Pinned models behind it: one, or one per member of a panel.
    pub models: Vec<String>,
    /// Arms whose own model it is, in words; only where that was forced.
    pub own_model: Vec<String>,
    /// Whether a reply came from another model than the pinned one.
    pub drift: bool,
    /// Why the certificate does not hold for this run: `canary_missing`, `canary_unusable`,
    /// `canary_shift`, `model_drift`; null where nothing speaks against it.
    pub withdrawn: Option<String>,
    /// The labelled items that were judged again.
    pub canary: Option<CanaryRow>,
    /// Whether the judge could tell the arms apart; null where that was not asked for.
    pub audit: Option<AuditRow>,
    /// Names and ids that were hidden from the judge, by arm.
    pub hidden: BTreeMap<String, u64>,
    /// Texts of agents that speak to the judge.
    pub injections: u64,
    /// Questions.
    pub questions: u64,
    /// Calls of its models.
    pub calls: u64,
    /// Unusable answers by cause, with the provider's own codes.
    pub unusable: BTreeMap<String, u64>,
}

/// Labelled items that were judged again in this run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CanaryRow {
    /// Items.
    pub items: u64,
    /// Those without a usable verdict now.
    pub unusable: u64,
    /// Those with another answer than when the judge was examined.
    pub changed: u64,
    /// The least number of changed answers that is a shift; null where none is, or in older runs.
    #[serde(default)]
    pub shift_from: Option<u64>,
    /// Those whose answer agrees with people now; null in older runs.
    #[serde(default)]
    pub agree: Option<u64>,
    /// The least number of agreeing answers that is no shift; null in older runs.
    #[serde(default)]
    pub agree_least: Option<u64>,
}

/// Guesses whose output the judge saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRow {
    /// Usable guesses; without one nothing was tested.
    pub guesses: u64,
    /// Right ones.
    pub right: u64,
    /// Share of right ones.
    pub accuracy: Option<f64>,
    /// Lower limit.
    pub low: Option<f64>,
    /// Upper limit.
    pub high: Option<f64>,
    /// What somebody without evidence reaches at best.
    pub chance: Option<f64>,
    /// Whether the arms can be told apart: the lower limit is above chance.
    pub told_apart: bool,
}
