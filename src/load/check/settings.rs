//! The suite file itself: names, limits, tools, faults.

use std::collections::BTreeMap;

use crate::base::Error;
use crate::load::check::tools::Tools;
use crate::load::check::{At, names, schemas};
use crate::load::nearest;
use crate::model::analysis::WeightsSpec;
use crate::model::suite::{FaultKind, FaultSpec, Limits, SuiteSpec};

/// Checks everything in a suite file but its contract and its decision rules.
pub(crate) fn check(spec: &SuiteSpec, at: &At, problems: &mut Vec<Error>) {
    let tools = Tools(&spec.tools);
    names::check(spec.id.as_str(), "suite", &at.to("id"), problems);
    if spec.version.trim().is_empty() {
        problems.push(at.to("version").problem("`version` is empty"));
    }
    if spec.trials == 0 {
        problems.push(at.to("trials").problem("`trials` must be at least 1"));
    }
    if spec.weights == WeightsSpec::EqualCluster && spec.cluster.is_none() {
        let problem = at
            .to("weights")
            .problem("`equal_cluster` weights need a `cluster` key");
        problems.push(problem.hint("add `cluster: KEY`, a metadata key of the tasks"));
    }
    limits(&spec.limits, &at.to("limits"), problems);
    for (i, tool) in spec.private_tools.iter().enumerate() {
        tools.check(tool, &at.to("private_tools").to(i), problems);
    }
    for (name, tool) in &spec.tools {
        let at = at.to("tools").to(name);
        if name.is_empty() {
            problems.push(at.problem("the name of a tool is empty"));
        }
        if let Some(key) = tool
            .idempotency_key
            .as_deref()
            .filter(|k| k.starts_with('/'))
        {
            schemas::pointer(key, &at.to("idempotency_key"), problems);
        } else if let Some(key) = &tool.idempotency_key {
            self::key(key, &super::environment::arguments(tool), &at, problems);
        }
    }
    for (i, prefix) in spec
        .tool_errors
        .iter()
        .flat_map(|t| &t.prefixes)
        .enumerate()
    {
        if prefix.is_empty() {
            let at = at.to("tool_errors").to("prefixes").to(i);
            problems.push(at.problem("an empty prefix would make every result an error"));
        }
    }
    faults(&spec.faults, tools, &at.to("faults"), problems);
}

/// The argument that holds a tool's idempotency key is one of those that the tool declares, if it declares
/// any.
fn key(key: &str, arguments: &[&str], at: &At, problems: &mut Vec<Error>) {
    if arguments.is_empty() || arguments.contains(&key) {
        return;
    }
    let message =
        format!("`idempotency_key` names `{key}`, and the tool declares no such argument");
    let problem = at.to("idempotency_key").problem(message);
    problems.push(problem.hint(nearest::hint(key, arguments.iter().copied(), "arguments")));
}

fn limits(limits: &Limits, at: &At, problems: &mut Vec<Error>) {
    let whole = |n: Option<u64>| n.map(|n| n as f64);
    for (key, limit) in [
        ("wall_time_s", limits.wall_time_s),
        ("steps", whole(limits.steps)),
        ("tool_calls", whole(limits.tool_calls)),
        ("tokens", whole(limits.tokens)),
        ("cost_usd", limits.cost_usd),
    ] {
        if limit.is_some_and(|l| l <= 0.0) {
            let at = at.to(key);
            problems.push(at.problem(format!("`{}` must be above 0", at.name())));
        }
    }
}

/// Checks faults of a suite or a task.
pub(crate) fn faults(faults: &[FaultSpec], tools: Tools, at: &At, problems: &mut Vec<Error>) {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, fault) in faults.iter().enumerate() {
        let here = at.to(i);
        names::check(&fault.id, "fault", &here.to("id"), problems);
        if let Some(earlier) = first.get(fault.id.as_str()) {
            let problem = here
                .to("id")
                .problem(format!("fault `{}` is declared twice", fault.id));
            let place = at.to(earlier).to("id").place();
            problems.push(problem.hint(format!("the first one is at {place}")));
        } else {
            first.insert(&fault.id, i);
        }
        if fault.call == 0 {
            let message = format!("`{}` counts calls from 1", here.to("call").name());
            problems.push(here.to("call").problem(message));
        }
        if fault.times == 0 {
            let message = "a fault that strikes 0 times is none";
            problems.push(here.to("times").problem(message));
        }
        if fault.delay_ms.is_some() && fault.kind != FaultKind::ToolSlow {
            let message = "only a `tool_slow` fault has a `delay_ms`";
            problems.push(here.to("delay_ms").problem(message));
        }
        if let Some(tool) = &fault.tool
            && fault.kind == FaultKind::CommittedReplyLost
            && tools.0.get(tool).is_some_and(|t| !t.writes)
        {
            let message = format!("tool `{tool}` writes nothing whose reply could be lost");
            let problem = here.to("tool").problem(message);
            problems.push(problem.hint("add `writes: true` to the tool, or use `tool_timeout`"));
        }
        match (&fault.tool, strikes_a_tool(fault.kind)) {
            (Some(tool), true) => tools.check(tool, &here.to("tool"), problems),
            (None, true) => {
                problems.push(here.problem(format!("`{}` does not name its `tool`", here.name())));
            }
            (Some(_), false) => {
                problems.push(
                    here.to("tool")
                        .problem("a provider's fault strikes no tool"),
                );
            }
            (None, false) => {}
        }
    }
}

fn strikes_a_tool(kind: FaultKind) -> bool {
    match kind {
        FaultKind::Provider429
        | FaultKind::Provider500
        | FaultKind::ProviderTimeout
        | FaultKind::ProviderMalformed
        | FaultKind::ProviderCut => false,
        FaultKind::ToolError
        | FaultKind::ToolTimeout
        | FaultKind::ToolSlow
        | FaultKind::ToolWrongShape
        | FaultKind::CommittedReplyLost => true,
    }
}
