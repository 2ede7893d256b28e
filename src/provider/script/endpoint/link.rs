//! Connections that a reply can reset.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Accepts connections without delay of small packets.
pub(super) struct Listener(pub TcpListener);

/// A connection; it breaks instead of writing once its link says so.
pub(super) struct Wire {
    stream: TcpStream,
    link: Link,
}

/// The handle by which a reply breaks its connection.
#[derive(Clone, Default)]
pub(super) struct Link(Arc<AtomicBool>);

impl Link {
    /// Makes the connection reset at its next write.
    pub fn reset(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl axum::serve::Listener for Listener {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        // The listener of axum waits and tries again when file descriptors run out.
        let (stream, address) = axum::serve::Listener::accept(&mut self.0).await;
        // A socket that refuses the option is slower, not wrong.
        let _ = stream.set_nodelay(true);
        let link = Link::default();
        (Wire { stream, link }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, Listener>> for Link {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        stream.io().link.clone()
    }
}

impl Wire {
    fn broken(&self) -> Option<io::Error> {
        if !self.link.0.load(Ordering::Acquire) {
            return None;
        }
        // Closing without lingering sends a reset instead of an orderly end.
        let _ = self.stream.set_zero_linger();
        Some(io::ErrorKind::ConnectionReset.into())
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.broken() {
            Some(error) => Poll::Ready(Err(error)),
            None => Pin::new(&mut self.stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.broken() {
            Some(error) => Poll::Ready(Err(error)),
            None => Pin::new(&mut self.stream).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
