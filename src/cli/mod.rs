//! Arguments, talk, and exit codes: the only place that prints.

mod args;
mod calibrate;
mod endpoint;
mod progress;
mod render;
mod run_args;

use std::process::ExitCode;

use clap::Parser;

use crate::app;
use crate::base::{ArmId, Error, Result, TaskId};
use args::{Args, Command, Format, StatsArgs, StatsCommand};

/// Runs the command line and returns the process's exit code.
///
/// Data goes to stdout, talk to stderr. Exit codes: 0 done, or the gate passed; 1 the gate failed, or
/// a check refused; 2 wrong usage or invalid input; 3 the gate is inconclusive; 4 infrastructure, or
/// our own trouble with files.
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are printed to stdout and succeed; everything else is wrong usage.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    if let Some(threads) = args.threads {
        // A pool that exists already can only be that of a test; its answer does not depend on it.
        let _ = rayon::ThreadPoolBuilder::new()
            .num_threads(usize::from(threads))
            .build_global();
    }
    match dispatch(args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            render::error(&error);
            ExitCode::from(error.kind().exit_code())
        }
    }
}

fn dispatch(args: Args) -> Result<u8> {
    let format = args.format;
    match args.command {
        Command::Run(run) => {
            let mut progress = progress::Progress::new(format);
            let around = app::run::Around {
                talk: &mut render::talk,
                watch: &mut |event| progress.see(event),
                keys: &variable,
            };
            let done = app::run::run(&run.options()?, around)?;
            match progress.has_streamed() {
                true => render::decided_event(&done),
                false => render::decided(&done, format),
            }
        }
        Command::Init { dir } => render::initialised(&app::init::init(&dir)?, format),
        Command::Import(import) => {
            let done = app::import::import(&import.options()?, &mut render::talk)?;
            render::imported(&done, format)
        }
        Command::Grade { run, suite } => {
            let trials = app::grade::grade(&run, suite.as_deref())?;
            render::talk(&format!("graded {trials} trials"));
            Ok(0)
        }
        Command::Compare(compare) => {
            let done = app::compare::compare(&compare.options()?, &mut render::talk)?;
            render::decided(&done, format)
        }
        Command::Report { run } => {
            let done = app::report::report(&run, &mut render::talk)?;
            render::decided(&done, format)?;
            Ok(0)
        }
        Command::Validate { paths } => {
            let problems = app::validate::validate(&paths);
            render::problems(&problems, format)
        }
        Command::Schema { name } => {
            render::json(&app::validate::schema(&name)?)?;
            Ok(0)
        }
        Command::Golden(golden) => render::golden(&app::golden::golden(&golden.task())?, format),
        Command::Show {
            run,
            arm,
            task,
            trial,
            events,
        } => {
            let command = app::show::ShowCommand {
                run,
                arm: ArmId::new(arm),
                task: TaskId::new(task),
                trial,
                events,
            };
            render::shown(&app::show::show(&command)?, format)
        }
        Command::Verify { run } => render::verification(&app::verify::verify(&run)?, format),
        Command::Plan(plan) => render::sizing(&app::sizing::plan(&plan.options()?)?, format),
        Command::Endpoint(endpoint) => endpoint::run(&endpoint, format),
        Command::Judge(args) => {
            if let Some(live) = args.live() {
                let done = app::judge_live::judge(&live, &variable, &mut render::talk)?;
                return calibrate::judged_live(&done, format);
            }
            let done = app::judge::judge(&args.command(), &mut render::talk)?;
            calibrate::judged(&done, format)
        }
        Command::LabelSample(args) => {
            calibrate::sampled(&app::label_sample::sample(&args.command())?, format)
        }
        Command::Calibrate(args) => {
            let mut command = args.command()?;
            if let Some(judge) = &args.judge_file {
                let pace = app::asking::Pace {
                    concurrency: args.concurrency as usize,
                    max_cost: args.max_cost,
                };
                let items = args.items.as_deref();
                let talk = &mut render::talk;
                command =
                    app::calibrate_live::recorded(command, judge, items, pace, &variable, talk)?;
            }
            let done = app::calibrate::calibrate(&command, &mut render::talk)?;
            calibrate::print(&done, format)
        }
        Command::Stats(stats) => self::stats(&stats, format),
    }
}

fn stats(args: &StatsArgs, format: Format) -> Result<u8> {
    match (&args.command, &args.file) {
        (Some(StatsCommand::Coverage(coverage)), _) => {
            render::coverage(&app::stats::coverage(&coverage.options())?, format)
        }
        (None, _) if args.list => render::methods(),
        (None, Some(file)) => {
            let answers = app::stats::stats(file)?;
            render::json(&answers)?;
            Ok(app::stats::exit_code(&answers))
        }
        (None, None) => Err(Error::input("name a JSON file of cases, or `coverage`")),
    }
}

/// A variable of the environment.
#[allow(clippy::disallowed_methods)] // The command line is where the environment is read.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Splits `NAME=NUMBER`.
fn number(text: &str) -> Result<(String, f64)> {
    let Some((key, value)) = text
        .split_once('=')
        .map(|(k, v)| (k.trim().to_owned(), v.trim()))
    else {
        return Err(Error::input(format!(
            "`{text}` is not of the form NAME=NUMBER"
        )));
    };
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((key, number)),
        _ => Err(Error::input(format!(
            "`{value}` in `{text}` is not a number"
        ))),
    }
}

/// Whether a command's result is wanted for a machine.
fn wants_json(format: Format) -> bool {
    format == Format::Json
}
