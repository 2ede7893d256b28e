//! `assize endpoint`: a script as a model endpoint.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use crate::base::{Error, Result};
use crate::load;
use crate::provider::script::{EndpointOptions, Script, serve};

/// Loads a script and serves it until it is told to stop; `ready` gets the address.
///
/// # Errors
///
/// If the script is invalid, or the address can't be listened on.
pub fn endpoint(
    script: &Path,
    options: &EndpointOptions,
    ready: &mut dyn FnMut(SocketAddr) -> Result<()>,
) -> Result<()> {
    let script = Arc::new(Script::new(&load::script(script)?)?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::io(format!("cannot start threads: {e}")))?;
    let served = runtime.block_on(serve(script, options, ready));
    // Replies that hang on purpose are not waited for.
    runtime.shutdown_background();
    served
}
