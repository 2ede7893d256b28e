//! The `assize` binary: arguments in, exit code out.

use std::process::ExitCode;

/// Thousands of small values live and die per trial; the system's allocator makes threads wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    assize::cli::main()
}
