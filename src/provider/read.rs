//! Bodies of replies: whole, or event by event; never more than memory can bear.

use std::time::Duration;

use reqwest::Response;
use tokio::time::timeout;
use tokio_util::bytes::Bytes;

use crate::model::arm::Protocol;
use crate::model::chat::Completion;

use super::failure::{Code, Failed};
use super::sse::Events;
use super::transport;
use super::wire::Assembly;

/// Longest reply in bytes, streamed or not.
pub(super) const LONGEST_REPLY: usize = 32 << 20;

/// Longest error reply in bytes that is read.
pub(super) const LONGEST_ERROR: usize = 64 << 10;

/// How long the end of a body may take after the last event, so that the connection can be used again.
const DRAIN: Duration = Duration::from_millis(50);

/// Reads a body of at most `longest` bytes.
///
/// # Errors
///
/// If the connection breaks or the body is longer.
pub(super) async fn whole(
    response: &mut Response,
    longest: usize,
    place: &str,
) -> Result<Bytes, Failed> {
    let Some(first) = next(response, place).await? else {
        return Ok(Bytes::new());
    };
    // Most replies come in one piece, which is handed on as it is.
    let Some(second) = next(response, place).await? else {
        return within(first.len(), longest).map(|()| first);
    };
    let mut body = Vec::from(first);
    let mut piece = Some(second);
    while let Some(more) = piece {
        within(body.len() + more.len(), longest)?;
        body.extend_from_slice(&more);
        piece = next(response, place).await?;
    }
    Ok(Bytes::from(body))
}

/// Reads a stream of events until its last one.
///
/// # Errors
///
/// If the connection breaks or the stream ends before the reply is complete, or an event is wrong.
pub(super) async fn events(
    mut response: Response,
    protocol: Protocol,
    place: &str,
) -> Result<Completion, Failed> {
    let mut assembly = Assembly::new(protocol);
    let mut events = Events::default();
    let mut read = 0;
    while let Some(piece) = next(&mut response, place).await? {
        read += piece.len();
        within(read, LONGEST_REPLY)?;
        if events.feed(&piece, |data| assembly.take(data))? {
            let _ = timeout(DRAIN, whole(&mut response, LONGEST_ERROR, place)).await;
            return assembly.finish();
        }
    }
    match events.close(|data| assembly.take(data)) {
        // Half an event is a stream that was cut, which the end of the assembly says.
        Ok(_) => assembly.finish(),
        Err(failed) if matches!(failed.code, Code::MalformedReply | Code::NotJson) => {
            assembly.finish()
        }
        Err(failed) => Err(failed),
    }
}

async fn next(response: &mut Response, place: &str) -> Result<Option<Bytes>, Failed> {
    let piece = response.chunk().await;
    piece.map_err(|error| transport::of_error(&error, place))
}

fn within(length: usize, longest: usize) -> Result<(), Failed> {
    if length <= longest {
        return Ok(());
    }
    let text = format!("the reply is longer than {} KiB", longest >> 10);
    Err(Failed::new(Code::MalformedReply, text))
}
