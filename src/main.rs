//! The `assize` binary: arguments in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    assize::cli::main()
}
