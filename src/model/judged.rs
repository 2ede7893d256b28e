//! Verdicts as columns of the score table, with the labels and the certificate that they are read by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::JudgeId;
use crate::model::calibration::ErrorRates;
use crate::model::label::{Scale, ScaleKind};

/// One judge's verdicts on all planned trials, one cell per row of the score table.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeColumn {
    /// Judge.
    pub judge: JudgeId,
    /// The scale of its verdicts and of the labels.
    pub scale: Scale,
    /// Verdicts, one per row.
    pub cell: Vec<JudgeCell>,
    /// People's labels, one per row.
    pub label: Vec<Option<TrialLabel>>,
    /// What the certificate says of the judge on each arm.
    pub standing: Vec<Standing>,
}

impl JudgeColumn {
    /// The name of its metric: `JUDGE.rate` where the scale says what is good, else `JUDGE.mean`.
    pub fn metric(&self) -> String {
        let what = if self.is_rate() { "rate" } else { "mean" };
        format!("{}.{what}", self.judge)
    }

    /// Whether verdicts are good or bad; else they are scores between 0 and 1.
    pub fn is_rate(&self) -> bool {
        self.scale.positive.is_some() || self.scale.kind != ScaleKind::Ordinal
    }

    /// What a level is worth: 1 for good and 0 for bad of a rate, its place between the ends of the
    /// scale of a mean; `None` where the scale says neither.
    pub fn worth(&self, level: u32) -> Option<f64> {
        if self.is_rate() {
            self.scale.is_positive(level).map(f64::from)
        } else {
            self.scale.worth(level)
        }
    }
}

/// What a judge said about one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgeCell {
    /// A level of the scale.
    Level(u32),
    /// The judge was asked, and nothing usable came: infrastructure of the judge.
    Unusable,
    /// The judge was not asked.
    NotJudged,
}

/// What people said about one trial, all raters together.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialLabel {
    /// How good it is, from 0 to 1.
    pub worth: f64,
    /// How the trial came to be labelled; `None` where nobody says.
    pub drawn: Option<Drawn>,
}

/// How trials were drawn for labelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Drawn {
    /// Tasks at random, then one trial at random in each.
    TaskThenTrial,
    /// Quotas by the judge's answer.
    LevelPool,
}

/// The stratum of a trial that was drawn whatever the judge said.
pub const TASK_STRATUM: &str = "task";

/// How the stratum of a trial begins that was drawn from those with one answer of the judge.
pub const LEVEL_STRATUM: &str = "level:";

impl Drawn {
    /// What a label's stratum and probability say; both are needed, since labels of trials that were
    /// picked by hand correct nothing.
    pub fn of(stratum: Option<&str>, probability: Option<f64>) -> Option<Self> {
        probability?;
        match stratum? {
            TASK_STRATUM => Some(Self::TaskThenTrial),
            other => other.starts_with(LEVEL_STRATUM).then_some(Self::LevelPool),
        }
    }
}

/// Whether a judge may decide about an arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// Whether there is a certificate and what it says.
    pub state: StandingState,
    /// Digest of the certificate.
    pub certificate: Option<String>,
    /// Error rates on this arm, or on all where no label of the certificate names an arm.
    pub error_rates: Option<ErrorRates>,
    /// Whether the certificate's labels name arms, so that an arm without labels there has no error rates.
    pub by_arm: bool,
}

/// What became of a judge's certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StandingState {
    /// There is none.
    #[default]
    Missing,
    /// It is of another version of the judge.
    Expired,
    /// The judge was refused.
    Refused,
    /// The judge passed.
    Valid,
}

impl StandingState {
    /// Why the judge decides nothing; `None` where it may.
    pub fn objection(self) -> Option<&'static str> {
        match self {
            Self::Missing => Some("no_certificate"),
            Self::Expired => Some("certificate_expired"),
            Self::Refused => Some("certificate_refused"),
            Self::Valid => None,
        }
    }
}
