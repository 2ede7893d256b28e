//! A script served over HTTP, in the protocols of OpenAI and Anthropic.

mod anthropic;
mod anthropic_stream;
mod conversations;
mod failure;
mod handle;
mod link;
mod openai;
mod openai_stream;
mod record;
mod wire;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::Script;
use crate::base::{Error, Result};
use handle::Server;
use link::{Link, Listener};

/// The largest request that is read, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// How long running replies may take to end after the signal to stop.
const GRACE: Duration = Duration::from_secs(1);

/// Where and how a script is served.
#[derive(Clone)]
pub struct EndpointOptions {
    /// Host name or address to listen on.
    pub host: String,
    /// Port; 0 for any that is free.
    pub port: u16,
    /// The key that requests must carry; without one, all are answered.
    pub key: Option<String>,
    /// File to which the body of every request is appended, as one line of JSON.
    pub record: Option<PathBuf>,
}

/// Serves a script until Ctrl-C or SIGTERM; `ready` gets the address once requests are answered.
///
/// # Errors
///
/// If the address is taken, the recording can't be opened, or `ready` fails.
pub async fn serve(
    script: Arc<Script>,
    options: &EndpointOptions,
    ready: &mut dyn FnMut(SocketAddr) -> Result<()>,
) -> Result<()> {
    let server = Arc::new(Server::new(script, options)?);
    let place = format!("{}:{}", options.host, options.port);
    let trouble = |e: std::io::Error| Error::io(format!("cannot listen on {place}: {e}"));
    let listener = TcpListener::bind(&place).await.map_err(trouble)?;
    let address = listener.local_addr().map_err(trouble)?;
    // Installed before anybody is told that we are here, so that no signal is missed.
    let stop = stopped().map_err(trouble)?;
    ready(address)?;
    let (told, was_told) = tokio::sync::oneshot::channel::<()>();
    let service = routes(server).into_make_service_with_connect_info::<Link>();
    let serving = axum::serve(Listener(listener), service).with_graceful_shutdown(async move {
        stop.await;
        let _ = told.send(());
    });
    let too_long = async {
        let _ = was_told.await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = async { serving.await } => served.map_err(trouble),
        // Replies that hang on purpose would otherwise hold us for ever.
        () = too_long => Ok(()),
    }
}

fn routes(server: Arc<Server>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(handle::openai))
        .route("/chat/completions", post(handle::openai))
        .route("/v1/messages", post(handle::anthropic))
        .route("/v1/models", get(handle::models))
        .route("/models", get(handle::models))
        .fallback(handle::unknown)
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .with_state(server)
}

/// Ends with the first signal to stop.
fn stopped() -> std::io::Result<impl Future<Output = ()> + Send> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
