//! `assize endpoint` on the command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::args::Format;
use super::render;
use crate::app;
use crate::base::{Error, Result};
use crate::provider::script::EndpointOptions;

#[derive(Debug, clap::Args)]
pub struct EndpointArgs {
    /// Script file
    #[arg(long)]
    script: PathBuf,
    /// Port; 0 for any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Host name or address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Environment variable with the key that requests must carry; without one, all are answered
    #[arg(long, value_name = "VARIABLE")]
    key: Option<String>,
    /// Append the body of every request to this file, one line of JSON each
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Serves until told to stop.
pub fn run(args: &EndpointArgs, format: Format) -> Result<u8> {
    let options = EndpointOptions {
        host: args.host.clone(),
        port: args.port,
        key: args.key.as_deref().map(key).transpose()?,
        record: args.record.clone(),
    };
    let mut ready = |address: SocketAddr| render::listening(address, format);
    app::endpoint::endpoint(&args.script, &options, &mut ready)?;
    Ok(0)
}

/// Reads the key from the environment; it is shown nowhere.
// The command line is where the environment is read.
#[allow(clippy::disallowed_methods)]
fn key(variable: &str) -> Result<String> {
    match std::env::var(variable) {
        Ok(key) if !key.is_empty() => Ok(key),
        _ => Err(
            Error::input(format!("the environment variable `{variable}` is not set"))
                .hint("`--key` takes the name of a variable, never the key itself"),
        ),
    }
}
