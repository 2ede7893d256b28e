//! Certificates: how a judge agrees with people, and whether that is enough.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::Digest;
use crate::model::label::Scale;

/// Format of certificates that this version writes, and the only one that it reads: certificates of
/// format 1 carried no digest of themselves, so that nobody could tell an edited one.
pub const CALIBRATION_FORMAT: u32 = 2;

/// How the name of a slice of one arm begins.
const OF_ARM: &str = "arm=";

/// A judge beside people: everything that was measured, the thresholds, and the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Format of this file.
    pub format: u32,
    /// Judge.
    pub judge: String,
    /// Pin of the judge: the digest of its whole definition; null for recorded verdicts without one.
    pub pin: Option<String>,
    /// The labels.
    pub labels: LabelsInfo,
    /// The verdicts.
    pub verdicts: VerdictsInfo,
    /// The scale that both are on.
    pub scale: Scale,
    /// Two-sided level of all intervals.
    pub level: f64,
    /// Bootstrap replicates.
    pub replicates: u32,
    /// Root of all randomness.
    pub seed: u64,
    /// How several labels of an item become its truth: `majority`, `expert`, `expert:RATER` or `soft`.
    pub truth: String,
    /// What was measured: all items first, then each group and each arm.
    pub slices: Vec<CalibrationSlice>,
    /// Agreement under other rules for unusable verdicts, where they were asked for.
    pub other_rules: Vec<CalibrationSlice>,
    /// People among themselves, and the judge in their place.
    pub humans: Vec<Measured>,
    /// The alternative annotator test, per person.
    pub alt_test: Vec<AltTestRow>,
    /// The thresholds, each with the bound that it was held against.
    pub thresholds: Vec<ThresholdRow>,
    /// Whether the judge may be used.
    pub result: CertificateResult,
    /// What changed against another version on the same items.
    pub against: Option<Against>,
    /// Warnings.
    pub notices: Vec<CalibrationNotice>,
    /// blake3 over the canonical form (RFC 8785) of everything else in this file, so that an edited
    /// certificate is found out. It proves no author: who can write the file can write its digest.
    #[serde(default)]
    pub digest: Option<String>,
}

/// What is known of the label set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelsInfo {
    /// Name of the set.
    pub name: String,
    /// Digest of what all its labels say.
    pub digest: String,
    /// The part that was used: `test`, `dev` or `all`.
    pub split: String,
    /// Labelled items in that part.
    pub items: u64,
    /// Labels in that part.
    pub labels: u64,
    /// Labels by rater, those that adjudicate aside.
    pub raters: BTreeMap<String, u64>,
    /// Labels that adjudicate: each outranks all others of its item.
    #[serde(default)]
    pub adjudicated: u64,
    /// Items by what settled their truth: `adjudicated`, `expert`, `agreement`, `majority`,
    /// `single_label` or `shares`.
    #[serde(default)]
    pub truth_from: BTreeMap<String, u64>,
    /// Items whose labels settle no truth by the declared rule: they enter nothing that is held
    /// against a threshold.
    pub without_truth: u64,
    /// The same by reason: `raters_tie`, `expert_absent`, `not_adjudicated`.
    #[serde(default)]
    pub without_truth_because: BTreeMap<String, u64>,
    /// What counts as independent where the judge is held against people: `item`, `task`, or `rater`
    /// where one rater gave most labels.
    #[serde(default)]
    pub unit: String,
    /// How often the test part was looked at so far, by any judge, version of it or truth rule; null
    /// where nothing was held back.
    pub looks: Option<u64>,
    /// Which of these looks this one is; null where no verdict was obtained, which is no look.
    pub look: Option<u64>,
}

/// What is known of the verdicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerdictsInfo {
    /// Digest of what this judge's verdicts say.
    pub digest: String,
    /// Verdicts of this judge.
    pub verdicts: u64,
    /// Verdicts on items without a label in the part that was used.
    pub unlabelled: u64,
    /// Unusable verdicts on labelled items by reason; never a pass and never a failure.
    pub unusable: BTreeMap<String, u64>,
    /// Labelled items with a verdict that entered.
    pub items: u64,
    /// Labelled items without any usable verdict.
    pub items_without: u64,
}

/// What was measured on some of the items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationSlice {
    /// `all`, `group=NAME`, `arm=NAME`, or the name of a rule for unusable verdicts.
    pub slice: String,
    /// Counts: rows are people's answers, columns the judge's, both in the order of the scale.
    pub confusion: Vec<Vec<u64>>,
    /// The same where truth is a share of labels: expected counts, each item split by its shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_confusion: Option<Vec<Vec<f64>>>,
    /// Everything that was measured.
    pub rows: Vec<Measured>,
    /// The counts that a correction of other runs needs; null where the scale has no good level.
    pub error_rates: Option<ErrorRates>,
}

impl CalibrationSlice {
    /// The row with this name.
    pub fn row(&self, name: &str) -> Option<&Measured> {
        self.rows.iter().find(|r| r.name == name)
    }
}

/// One number with its interval; undefined is null with a reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// What was measured, for example `sensitivity` or `recall:tie`.
    pub name: String,
    /// The value.
    pub value: Option<f64>,
    /// Lower limit.
    pub low: Option<f64>,
    /// Upper limit.
    pub high: Option<f64>,
    /// Method id of the interval, or of the value where there is none.
    pub method: Option<String>,
    /// Items that entered.
    pub items: u64,
    /// Items that count, where the value is a share of items.
    pub part: Option<u64>,
    /// Independent units, where they are fewer than the items.
    pub units: Option<u64>,
    /// Two-sided p of no effect, where one was asked for.
    pub p: Option<f64>,
    /// Why there is no value or no interval.
    pub reason: Option<String>,
}

/// The judge against one person, each measured against the remaining people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AltTestRow {
    /// Person.
    pub rater: String,
    /// Items that the person, the judge and at least one other person answered.
    pub items: u64,
    /// Share of items where the judge fits at least as well as the person.
    pub advantage: f64,
    /// One-sided p that the person's lead is ε or more.
    pub p: f64,
    /// Whether the judge holds against this person.
    pub beaten: bool,
}

/// A threshold and what it was held against: always the bound of an interval, never the point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThresholdRow {
    /// What must reach it.
    pub name: String,
    /// The threshold.
    pub required: f64,
    /// `low` for what must be at least the threshold, `high` for the size of an effect, which must not
    /// exceed it.
    pub bound: String,
    /// The bound; null where it is undefined, which is never enough.
    pub reached: Option<f64>,
    /// Items that entered; those without a truth or a usable verdict did not.
    #[serde(default)]
    pub items: u64,
    /// Whether it holds.
    pub passed: bool,
    /// Why it does not.
    pub reason: Option<String>,
}

/// Whether the judge may be used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateResult {
    /// `passed` or `refused`.
    pub result: String,
    /// The first reason of a refusal, as a snake_case code.
    pub reason: Option<String>,
    /// All reasons of a refusal.
    pub reasons: Vec<CalibrationNotice>,
}

impl CertificateResult {
    /// Whether the judge passed.
    pub fn passed(&self) -> bool {
        self.result == "passed"
    }
}

/// A code with a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationNotice {
    /// Stable snake_case code.
    pub code: String,
    /// One sentence for people.
    pub detail: String,
}

/// Sensitivity and specificity as counts; effective numbers where items share tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorRates {
    /// Good items that the judge called good.
    pub true_positive: f64,
    /// Good items.
    pub positives: f64,
    /// Bad items that the judge called bad.
    pub true_negative: f64,
    /// Bad items.
    pub negatives: f64,
    /// Probability that labels like these would be kept again; under .8 the certificate is
    /// `borderline` and no gate rests on it.
    pub retention: Option<f64>,
}

/// Two versions of a judge on the same items: the other one first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Against {
    /// The other judge.
    pub judge: String,
    /// Digest of its verdicts.
    pub verdicts: String,
    /// Items that both judged and people labelled.
    pub items: u64,
    /// Items that only one of the two judged.
    pub items_unpaired: u64,
    /// This judge minus the other: accuracy, kappa, sensitivity, specificity.
    pub rows: Vec<Measured>,
    /// Items that the two answer differently.
    pub changed: Vec<ChangedItem>,
}

/// An item that two versions answer differently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangedItem {
    /// Item.
    pub item: String,
    /// People's answer; null where they have no majority.
    pub truth: Option<String>,
    /// The other judge's answer; null where it was unusable.
    pub old: Option<String>,
    /// This judge's answer; null where it was unusable.
    pub new: Option<String>,
    /// `fixed`, `broken`, or `changed` where both are right or wrong.
    pub change: String,
}

impl Calibration {
    /// Writes the digest of everything else into the certificate; nothing may be changed after it.
    pub fn seal(&mut self) {
        self.digest = self.content_digest().map(|d| d.to_string());
    }

    /// blake3 over the canonical form of everything but the digest; `None` where a value cannot be
    /// written as JSON.
    pub fn content_digest(&self) -> Option<Digest> {
        let mut value = serde_json::to_value(self).ok()?;
        value.as_object_mut()?.remove("digest");
        Some(Digest::of_json(&value))
    }

    /// Whether the certificate says what it said when it was sealed.
    pub fn is_intact(&self) -> bool {
        let content = self.content_digest();
        content.is_some_and(|d| self.digest.as_deref() == Some(d.as_str()))
    }

    /// The slice with this name: `all`, `group=NAME` or `arm=NAME`.
    pub fn slice(&self, name: &str) -> Option<&CalibrationSlice> {
        self.slices.iter().find(|s| s.slice == name)
    }

    /// Whether labels behind it name arms.
    pub fn is_by_arm(&self) -> bool {
        self.slices.iter().any(|s| s.slice.starts_with(OF_ARM))
    }

    /// The error rates that hold for an arm: its own where any label names an arm, else those of all.
    /// A judge's errors differ by arm, so those on one arm never stand for those on another.
    pub fn error_rates_of(&self, arm: &str) -> Option<&ErrorRates> {
        let slice = match self.is_by_arm() {
            true => self.slice(&format!("{OF_ARM}{arm}")),
            false => self.slice("all"),
        };
        slice?.error_rates.as_ref()
    }
}
