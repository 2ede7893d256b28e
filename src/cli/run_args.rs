//! Arguments of `assize run`.

use std::path::PathBuf;
use std::time::Duration;

use super::args::{Malformed, Reading, Roles};
use crate::app::live::{LiveOptions, MOST_CONCURRENT};
use crate::app::run::{Endpoints, RunOptions};
use crate::base::{Error, Result};
use crate::model::arm::Protocol;
use crate::model::trial::Boundary;

#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// Suite folder. With --resume it may be left out: it is the one the run was planned from
    #[arg(required_unless_present = "resume")]
    pub suite: Option<PathBuf>,
    /// Arms file. Default: SUITE/arms.yaml
    #[arg(long)]
    pub arms: Option<PathBuf>,
    #[command(flatten)]
    pub roles: Roles,
    /// Trials per task
    #[arg(short = 'k', long = "trials", visible_aliases = ["epochs", "repeat"], value_parser = clap::value_parser!(u32).range(1..), env = "ASSIZE_TRIALS")]
    pub trials: Option<u32>,
    /// Root of all randomness. Default: 7
    #[arg(long, env = "ASSIZE_SEED")]
    pub seed: Option<u64>,
    /// Run folder. Default: runs/ and 12 digits of the plan's digest
    #[arg(long, env = "ASSIZE_OUT")]
    pub out: Option<PathBuf>,
    /// Run folder to go on with: exactly what is missing is run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["arms", "out", "seed", "baseline_url", "candidate_url"])]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub endpoints: EndpointArgs,
    #[command(flatten)]
    pub live: LiveArgs,
    #[command(flatten)]
    pub reading: Reading,
}

/// Two endpoints in place of an arms file.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Two endpoints without an arms file")]
pub struct EndpointArgs {
    /// URL of the endpoint in use now, e.g. https://api.example.com/v1
    #[arg(
        long,
        value_name = "URL",
        requires = "candidate_url",
        conflicts_with = "arms"
    )]
    pub baseline_url: Option<String>,
    /// URL of the endpoint that may replace it
    #[arg(long, value_name = "URL", requires = "baseline_url")]
    pub candidate_url: Option<String>,
    /// Model of both endpoints
    #[arg(long, value_name = "MODEL", requires = "baseline_url")]
    pub model: Option<String>,
    /// Model of the baseline. Default: --model
    #[arg(long, value_name = "MODEL", requires = "baseline_url")]
    pub baseline_model: Option<String>,
    /// Model of the candidate. Default: --model
    #[arg(long, value_name = "MODEL", requires = "baseline_url")]
    pub candidate_model: Option<String>,
    /// Protocol of both endpoints
    #[arg(long, value_enum, default_value = "openai", requires = "baseline_url")]
    pub protocol: ProtocolArg,
    /// Environment variable that holds the key of both endpoints. Default: no key is sent
    #[arg(long, value_name = "NAME", requires = "baseline_url")]
    pub api_key_env: Option<String>,
    /// The same for the baseline alone
    #[arg(long, value_name = "NAME", requires = "baseline_url")]
    pub baseline_key_env: Option<String>,
    /// The same for the candidate alone
    #[arg(long, value_name = "NAME", requires = "baseline_url")]
    pub candidate_key_env: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ProtocolArg {
    Openai,
    Anthropic,
}

/// How live arms are run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Live arms")]
pub struct LiveArgs {
    /// Most trials at a time
    #[arg(long, default_value_t = 16, env = "ASSIZE_CONCURRENCY", value_parser = clap::value_parser!(u32).range(1..=MOST_CONCURRENT as i64))]
    pub concurrency: u32,
    /// Cost in US dollars after which no further trial is started
    #[arg(long, value_name = "USD", env = "ASSIZE_MAX_COST")]
    pub max_cost: Option<f64>,
    /// Time after which no further trial is started, e.g. 90s or 2h
    #[arg(long, value_name = "TIME", env = "ASSIZE_MAX_TIME", value_parser = humantime::parse_duration)]
    pub max_time: Option<Duration>,
    /// How often a trial that broke on infrastructure is run again; such attempts are counted and never samples
    #[arg(long, default_value_t = 1, env = "ASSIZE_INFRA_RETRIES")]
    pub infra_retries: u32,
    /// Run stored trials again that broke at these boundaries, e.g. provider,fixture; what broke is kept as an attempt
    #[arg(long, value_delimiter = ',', value_name = "BOUNDARY", value_parser = boundary)]
    pub again: Vec<Boundary>,
    /// Do not ask each arm once before anything is spent
    #[arg(long)]
    pub no_preflight: bool,
}

fn boundary(name: &str) -> std::result::Result<Boundary, String> {
    Boundary::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Boundary::ALL.iter().map(|b| b.name()).collect();
        format!("no such boundary; there are {}", known.join(", "))
    })
}

impl RunArgs {
    pub fn options(&self) -> Result<RunOptions> {
        if self
            .live
            .max_cost
            .is_some_and(|cost| cost.is_nan() || cost < 0.0)
        {
            return Err(Error::input("`--max-cost` must be a number from 0"));
        }
        Ok(RunOptions {
            suite: self.suite.clone().unwrap_or_default(),
            arms: self.arms.clone(),
            endpoints: self.endpoints.options()?,
            out: self.out.clone(),
            resume: self.resume.clone(),
            plan: self.roles.options(self.trials, self.seed)?,
            malformed_is_agent: self.reading.malformed_arguments == Malformed::Agent,
            live: LiveOptions {
                concurrency: self.live.concurrency as usize,
                max_cost: self.live.max_cost,
                max_time: self.live.max_time,
                infra_retries: self.live.infra_retries,
                preflight: !self.live.no_preflight,
                again: self.live.again.clone(),
            },
        })
    }
}

impl EndpointArgs {
    fn options(&self) -> Result<Option<Endpoints>> {
        let (Some(baseline), Some(candidate)) = (&self.baseline_url, &self.candidate_url) else {
            return Ok(None);
        };
        let model = |own: &Option<String>, role: &str| {
            own.clone().or_else(|| self.model.clone()).ok_or_else(|| {
                Error::input(format!("the model of the {role} is not named"))
                    .hint(format!("name it with `--model` or `--{role}-model`"))
            })
        };
        let key = |own: &Option<String>| own.clone().or_else(|| self.api_key_env.clone());
        Ok(Some(Endpoints {
            urls: [baseline.clone(), candidate.clone()],
            models: [
                model(&self.baseline_model, "baseline")?,
                model(&self.candidate_model, "candidate")?,
            ],
            key_envs: [key(&self.baseline_key_env), key(&self.candidate_key_env)],
            protocol: match self.protocol {
                ProtocolArg::Openai => Protocol::Openai,
                ProtocolArg::Anthropic => Protocol::Anthropic,
            },
        }))
    }
}
