//! The environment of live trials: what suites and tasks declare for it.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde_json::Value;

use crate::base::Error;
use crate::base::template::is_template;
use crate::load::check::templates::{expression, of_tool, template, templates};
use crate::load::check::tools::Tools;
use crate::load::check::{At, names, schemas};
use crate::load::{nearest, place};
use crate::model::environment::{
    APPROVAL_TOOL, ApprovalSpec, CheckSpec, CommandSpec, DialogueSpec, EnvironmentSpec,
    ResourceSpec, SimulatedCase, SimulatedTool,
};
use crate::model::suite::{SuiteSpec, Task, ToolSpec};

/// Longest time that a command may be given, in seconds.
const LONGEST: f64 = 1e6;

/// Resources that a suite declares.
type Resources = BTreeMap<String, ResourceSpec>;

/// Checks the environment of a suite and its tools; `file` is the suite file.
pub(crate) fn suite(spec: &SuiteSpec, file: &Path, at: &At, problems: &mut Vec<Error>) {
    let environment = &spec.environment;
    let known = &environment.resources;
    let live = spec.tools.values().any(is_live);
    for (name, tool) in &spec.tools {
        let at = at.to("tools").to(name);
        self::tool(name, tool, known, &at, problems);
        if live && !is_live(tool) {
            let message = format!(
                "tool `{name}` has neither `simulated` nor `command`, although other tools have: it could not be called"
            );
            problems.push(at.problem(message));
        }
    }
    own_environment(
        environment,
        Tools(&spec.tools),
        file,
        &at.to("environment"),
        problems,
    );
    checks(&spec.expect.checks, &at.to("expect").to("checks"), problems);
}

/// Checks what a task declares for its environment, in a suite; `suite` is the suite file.
pub(crate) fn task(
    task: &Task,
    spec: &SuiteSpec,
    suite: &Path,
    at: &At,
    problems: &mut Vec<Error>,
) {
    if let Some(fixture) = &task.fixture {
        folder(fixture, suite, &at.to("fixture"), problems);
    }
    if let Some(spec) = &task.dialogue {
        dialogue(spec, &at.to("dialogue"), problems);
    }
    let tools = Tools(&spec.tools);
    approvals(&task.approvals, tools, &at.to("approvals"), problems);
    let known = &spec.environment.resources;
    resources(&task.resources, known, &at.to("resources"), problems);
    checks(&task.expect.checks, &at.to("expect").to("checks"), problems);
}

fn own_environment(
    environment: &EnvironmentSpec,
    tools: Tools,
    file: &Path,
    at: &At,
    problems: &mut Vec<Error>,
) {
    if let Some(fixture) = &environment.fixture {
        folder(fixture, file, &at.to("fixture"), problems);
    }
    if let Some(prepare) = &environment.prepare {
        command(prepare, &at.to("prepare"), problems);
    }
    for (name, resource) in &environment.resources {
        let at = at.to("resources").to(name);
        names::check(name, "resource", &at, problems);
        if let Some(path) = &resource.path
            && let Err(error) = within(path, file)
        {
            problems.push(placed(&error, &at.to("path")));
        }
    }
    if let Some(spec) = &environment.dialogue {
        dialogue(spec, &at.to("dialogue"), problems);
    }
    approvals(&environment.approvals, tools, &at.to("approvals"), problems);
}

fn is_live(tool: &ToolSpec) -> bool {
    tool.simulated.is_some() || tool.command.is_some()
}

fn tool(name: &str, tool: &ToolSpec, known: &Resources, at: &At, problems: &mut Vec<Error>) {
    if name == APPROVAL_TOOL {
        let message = format!("`{APPROVAL_TOOL}` is built in, for requests of approval");
        problems.push(at.problem(message).hint("give the tool another name"));
    }
    if tool.simulated.is_some() && tool.command.is_some() {
        let message = format!("tool `{name}` has both `simulated` and `command`: give one");
        problems.push(at.problem(message));
    }
    if let Some(parameters) = &tool.parameters {
        let at = at.to("parameters");
        schemas::schema(parameters, &at, problems);
        let is_object = |p: &Value| p.get("type") == Some(&Value::from("object"));
        if parameters.is_object() && !is_object(parameters) {
            let problem = at.problem("the arguments of a tool are an object");
            problems.push(problem.hint("begin with `type: object`"));
        }
    }
    if let Some(simulated) = &tool.simulated {
        self::simulated(simulated, tool, &at.to("simulated"), problems);
    }
    if let Some(command) = &tool.command {
        self::command(command, &at.to("command"), problems);
    }
    resources(&tool.resources, known, &at.to("resources"), problems);
}

/// The arguments that a tool declares, unless it says nothing about them.
pub(super) fn arguments(tool: &ToolSpec) -> Vec<&str> {
    let parameters = tool.parameters.as_ref();
    let declared = parameters.and_then(|p| p.get("properties")?.as_object());
    declared.map_or(vec![], |d| d.keys().map(String::as_str).collect())
}

fn simulated(spec: &SimulatedTool, tool: &ToolSpec, at: &At, problems: &mut Vec<Error>) {
    case(&spec.otherwise(), tool, at, problems);
    for (i, given) in spec.cases.iter().enumerate() {
        let at = at.to("cases").to(i);
        expression(
            &given.when,
            &of_tool(arguments(tool)),
            &at.to("when"),
            problems,
        );
        case(given, tool, &at, problems);
    }
}

fn case(case: &SimulatedCase, tool: &ToolSpec, at: &At, problems: &mut Vec<Error>) {
    let texts = [("receipt", &case.receipt), ("error", &case.error)];
    for (key, text) in texts {
        if let Some(text) = text {
            template(text, &of_tool(arguments(tool)), &at.to(key), problems);
        }
    }
    if let Some(result) = &case.result {
        templates(
            result,
            &of_tool(arguments(tool)),
            &at.to("result"),
            problems,
        );
    }
    for (i, operation) in case.patch.iter().enumerate() {
        let at = at.to("patch").to(i);
        patch(operation, &at, problems);
        templates(operation, &of_tool(arguments(tool)), &at, problems);
    }
    let answers = [
        ("result", case.result.is_some()),
        ("patch", !case.patch.is_empty()),
        ("receipt", case.receipt.is_some()),
        ("commits", case.commits == Some(true)),
    ];
    for (key, given) in answers {
        if given && case.error.is_some() {
            let message = format!("a call that is answered with an `error` has no `{key}`");
            problems.push(at.to(key).problem(message));
        } else if given && key != "result" && !tool.writes {
            let message = format!("a tool with a `{key}` changes the world and must say so");
            let problem = at.to(key).problem(message);
            problems.push(problem.hint("add `writes: true` to the tool"));
        }
    }
}

/// Checks one operation of RFC 6902, whose path and value may hold templates.
fn patch(operation: &Value, at: &At, problems: &mut Vec<Error>) {
    let mut sound = operation.clone();
    for key in ["path", "from"] {
        let Some(Value::String(pointer)) = sound.get_mut(key) else {
            continue;
        };
        if is_template(pointer) {
            *pointer = String::new();
        } else {
            schemas::pointer(pointer, &at.to(key), problems);
            *pointer = String::new();
        }
    }
    if let Err(error) = serde_json::from_value::<json_patch::PatchOperation>(sound) {
        let message = format!("`{}` is no operation of a JSON Patch: {error}", at.name());
        let hint = "write `{op: replace, path: /orders/1/status, value: paid}` (RFC 6902)";
        problems.push(at.problem(message).hint(hint));
    }
}

fn dialogue(spec: &DialogueSpec, at: &At, problems: &mut Vec<Error>) {
    for (i, reply) in spec.replies.iter().enumerate() {
        let at = at.to("replies").to(i);
        if let Some(when) = &reply.when
            && let Err(error) = regex::Regex::new(when)
        {
            // Its last line says what is wrong; those before point into the text.
            let error = error.to_string();
            let why = error.lines().next_back().unwrap_or_default().trim();
            let why = why.strip_prefix("error: ").unwrap_or(why);
            let at = at.to("when");
            problems.push(at.problem(format!("`{}` is no regular expression: {why}", at.name())));
        }
        if reply.times == 0 {
            problems.push(
                at.to("times")
                    .problem("a reply that is given 0 times is none"),
            );
        }
    }
}

fn approvals(specs: &[ApprovalSpec], tools: Tools, at: &At, problems: &mut Vec<Error>) {
    for (i, spec) in specs.iter().enumerate() {
        let at = at.to(i);
        if let Some(capability) = &spec.capability {
            tools.check(capability, &at.to("capability"), problems);
        }
        if let Some(when) = &spec.when {
            let asked = spec.capability.as_ref().and_then(|c| tools.0.get(c));
            let arguments = asked.map_or(vec![], arguments);
            expression(when, &of_tool(arguments), &at.to("when"), problems);
        }
    }
}

fn resources(used: &[String], known: &Resources, at: &At, problems: &mut Vec<Error>) {
    for (i, name) in used.iter().enumerate() {
        if !known.contains_key(name) {
            let names = known.keys().map(String::as_str);
            let problem = at.to(i).problem(format!("unknown resource `{name}`"));
            problems.push(match known.is_empty() {
                true => problem.hint("declare it under `environment.resources` of the suite"),
                false => problem.hint(nearest::hint(name, names, "resources")),
            });
        }
    }
}

fn command(spec: &CommandSpec, at: &At, problems: &mut Vec<Error>) {
    run(&spec.run, spec.timeout_s, &spec.env, at, problems);
}

fn checks(specs: &[CheckSpec], at: &At, problems: &mut Vec<Error>) {
    let mut seen = HashSet::new();
    for (i, spec) in specs.iter().enumerate() {
        let at = at.to(i);
        names::check(&spec.id, "check", &at.to("id"), problems);
        if !seen.insert(spec.id.as_str()) {
            let message = format!("check `{}` is declared twice", spec.id);
            problems.push(at.to("id").problem(message));
        }
        run(&spec.run, spec.timeout_s, &spec.env, &at, problems);
    }
}

fn run(
    run: &[String],
    timeout_s: f64,
    env: &BTreeMap<String, String>,
    at: &At,
    problems: &mut Vec<Error>,
) {
    let here = at.to("run");
    if run.first().is_none_or(|program| program.trim().is_empty()) {
        let problem = here.problem(format!("`{}` names no program", here.name()));
        problems.push(problem.hint("write a list, such as `[python3, check.py]`"));
    }
    if run.iter().any(|word| word.contains('\0')) {
        problems.push(here.problem("a command can't hold a null character"));
    }
    if !(timeout_s > 0.0 && timeout_s <= LONGEST) {
        let message = "`timeout_s` must be a number of seconds above 0";
        problems.push(at.to("timeout_s").problem(message));
    }
    for name in env.keys() {
        if name.is_empty() || name.contains(['=', '\0']) {
            let message = "this is not the name of an environment variable";
            problems.push(at.to("env").to(name).problem(message));
        }
    }
}

/// Checks a folder that trials get copies of.
fn folder(path: &str, suite: &Path, at: &At, problems: &mut Vec<Error>) {
    match within(path, suite) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => problems.push(at.problem(format!("`{path}` is not a folder"))),
        Err(error) => problems.push(placed(&error, at)),
    }
}

/// A path relative to the suite, which must lie within it.
fn within(path: &str, suite: &Path) -> Result<std::path::PathBuf, Error> {
    place::resolve(path, suite, &place::root_of(suite))
}

fn placed(error: &Error, at: &At) -> Error {
    let problem = at.problem(error.message());
    error.hints().iter().fold(problem, |p, hint| p.hint(hint))
}
