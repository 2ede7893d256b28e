//! Two endpoints named on the command line, in place of an arms file.

use std::collections::BTreeMap;

use serde_json::json;

use crate::base::{ArmId, Error, Result};
use crate::load::{is_variable, url_problem};
use crate::model::arm::{Arm, ArmSpec, Protocol};
use crate::plan::PlanOptions;

/// Two endpoints, the baseline first.
#[derive(Clone, Debug)]
pub struct Endpoints {
    /// URLs.
    pub urls: [String; 2],
    /// Models.
    pub models: [String; 2],
    /// Environment variables that hold the keys.
    pub key_envs: [Option<String>; 2],
    /// Protocol of both.
    pub protocol: Protocol,
}

/// The two arms; they are called `baseline` and `candidate` where the options do not name them.
///
/// # Errors
///
/// If a URL is not one.
pub fn arms(endpoints: &Endpoints, options: &mut PlanOptions) -> Result<Vec<Arm>> {
    let names = [&mut options.baseline, &mut options.candidate];
    let mut arms = BTreeMap::new();
    for (at, (name, role)) in names.into_iter().zip(["baseline", "candidate"]).enumerate() {
        let id = name.get_or_insert_with(|| ArmId::new(role)).clone();
        if let Some(problem) = url_problem(&endpoints.urls[at]) {
            return Err(Error::input(format!("`--{role}-url`: {problem}")));
        }
        let mut spec = json!({
            "kind": "chat",
            "base_url": endpoints.urls[at],
            "model": endpoints.models[at],
            "protocol": endpoints.protocol,
        });
        if let Some(variable) = &endpoints.key_envs[at] {
            if !is_variable(variable) {
                let problem = "what names the key is not the name of an environment variable";
                return Err(Error::input(problem).hint(
                    "give the name of the variable, such as OPENAI_API_KEY, never the key itself",
                ));
            }
            spec["api_key_env"] = variable.as_str().into();
        }
        let spec: ArmSpec =
            serde_json::from_value(spec).map_err(|e| Error::input(e.to_string()))?;
        arms.insert(id.clone(), Arm::new(id, spec, None));
    }
    if arms.len() < 2 {
        return Err(Error::input("baseline and candidate have the same name"));
    }
    Ok(arms.into_values().collect())
}
