//! Responses, which may be sent piece by piece, and connections, with a limit for slow clients.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::Sleep;

use crate::refusal::Refusal;

/// Longest time for which a client may leave sent data unread.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The body of a response.
pub(crate) enum Reply {
    /// All at once.
    Whole(Option<Bytes>),
    /// Pieces that are sent as they arrive.
    Pieces(mpsc::Receiver<Bytes>),
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match self.get_mut() {
            Self::Whole(bytes) => bytes.take(),
            Self::Pieces(pieces) => ready!(pieces.poll_recv(context)),
        };
        Poll::Ready(piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Pieces(_) => SizeHint::default(),
        }
    }
}

/// The headers of every response: it is for this page only, and the page loads nothing from other origins.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

fn answer(status: StatusCode, media_type: &'static str, reply: Reply) -> Response<Reply> {
    let mut response = Response::new(reply);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// A response with a complete body.
pub(crate) fn whole(media_type: &'static str, bytes: impl Into<Bytes>) -> Response<Reply> {
    answer(StatusCode::OK, media_type, Reply::Whole(Some(bytes.into())))
}

/// A response that leads to another path of this server.
pub(crate) fn see_other(path: &str) -> Response<Reply> {
    let mut response = answer(StatusCode::SEE_OTHER, "text/plain", Reply::Whole(None));
    let path = HeaderValue::from_str(path);
    let headers = response.headers_mut();
    headers.extend(path.ok().map(|path| (header::LOCATION, path)));
    response
}

/// A response with a JSON value.
pub(crate) fn json(value: &serde_json::Value) -> Response<Reply> {
    whole("application/json", value.to_string())
}

/// A response in pieces.
pub(crate) fn pieces(pieces: mpsc::Receiver<Bytes>) -> Response<Reply> {
    answer(
        StatusCode::OK,
        "application/octet-stream",
        Reply::Pieces(pieces),
    )
}

/// The reason why a request fails.
#[derive(Debug)]
pub(crate) enum RequestFailure {
    /// A status and a message.
    Status(StatusCode, String),
    /// A value that is not allowed.
    Refused(Refusal),
}

impl RequestFailure {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self::Status(status, message.into())
    }

    /// The response to the client.
    pub fn response(self) -> Response<Reply> {
        let (status, body) = match self {
            Self::Status(status, message) => (status, json!({ "error": message })),
            Self::Refused(Refusal {
                option,
                given,
                allowed,
            }) => {
                let error = format!("{option} {given}: {allowed}");
                let body =
                    json!({ "error": error, "option": option, "given": given, "allowed": allowed });
                (StatusCode::UNPROCESSABLE_ENTITY, body)
            }
        };
        let body = Reply::Whole(Some(body.to_string().into()));
        answer(status, "application/json", body)
    }
}

impl From<Refusal> for RequestFailure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A connection that is closed when its client leaves sent data unread for too long.
pub(crate) struct TimedConnection {
    stream: TcpStream,
    waits: Option<Pin<Box<Sleep>>>,
}

impl TimedConnection {
    pub fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            waits: None,
        }
    }

    /// `written`, or an error if it has been pending for too long.
    fn bounded<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let waits = self
            .waits
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(UNREAD_TIMEOUT)));
        ready!(waits.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for TimedConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for TimedConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.bounded(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.bounded(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
