//! The server: listens, checks requests by the [guard](crate::guard), and answers them.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` and the page's files | the page |
//! | `GET /api/about` | parameters, presets, colour maps, devices; the live run |
//! | `POST /api/describe` `{specification, view}` | the view as a command, as Python, as a file |
//! | `POST /api/tiles` `{specification, tiles, ahead}` | a frame for each tile, as they are computed |
//! | `POST /api/orbit` `{specification, tile, samples}` | the orbit of a pixel |
//! | `POST /api/accuracy` `{specification, view}` | how accurate the view is, from a sample of its pixels |
//! | `POST /api/line` `{specification, from, to, count}` | the quantity along a line |
//! | `GET /api/status` | the current computations |
//! | `GET /api/live` | frames of the live run |
//! | `POST /api/pause` `{paused}` | pauses or continues it |

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::cache::TileCache;
use crate::engine::{Cancel, Ended, Engine, Map, RequestEnd, View};
use crate::guard::Guard;
use crate::http::{self, Reply, RequestFailure, TimedConnection};
use crate::live::{LiveMessage, LiveRun, RunState};
use crate::page;
use crate::refusal::Refusal;
use crate::scheduler::Scheduler;
use crate::tile::{self, Tile};

/// Largest number of simultaneous clients; others are refused.
const MAX_CLIENTS: usize = 512;
/// Longest time for the arrival of a request, for head and body each.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest number of bytes of a request's head.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// Largest number of bytes of a request's body.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// Largest number of tiles of a request.
const MAX_TILES: usize = 256;
/// Largest number of points along a line.
const MAX_POINTS: usize = 4096;
/// Largest number of samples of an orbit.
const MAX_SAMPLES: usize = 16384;
/// Number of orbits and lines that are computed at a time; others wait.
const MAX_CONCURRENT: usize = 2;
/// Largest number of waiting orbits and lines.
const MAX_WAITING: usize = 32;
/// Largest number of pieces of a response that wait for the client.
const MAX_QUEUED_PIECES: usize = 2;
/// Longest time for which the server waits for its connections to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(100);

/// Options of the server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on.
    pub bind: IpAddr,
    /// The port; 0 for a free one.
    pub port: u16,
    /// A folder for tiles, and its largest size in bytes.
    pub cache: Option<(PathBuf, u64)>,
    /// Largest size of the tiles in memory, in bytes.
    pub memory: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bind: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            cache: None,
            memory: 256 << 20,
        }
    }
}

/// The content that the server shows.
#[derive(Clone, Default)]
pub struct Content {
    /// Maps.
    pub engine: Option<Arc<dyn Engine>>,
    /// A run.
    pub live: Option<LiveRun>,
}

/// A running server, which ends when it is dropped.
pub struct Server {
    address: SocketAddr,
    app: Arc<App>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens, and serves on a thread of its own.
    ///
    /// # Errors
    /// The server cannot listen on the address, or the cache's folder cannot be used.
    pub fn start(options: &Options, content: Content) -> io::Result<Self> {
        let listener = TcpListener::bind((options.bind, options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let folder = options
            .cache
            .as_ref()
            .map(|(path, bytes)| (path.as_path(), *bytes));
        let cache = TileCache::new(options.memory, folder)?;
        let scheduler = match &content.engine {
            Some(engine) => Some(Scheduler::new(engine.as_ref(), cache)?),
            None => None,
        };
        let guard = Guard::new(options.bind).map_err(io::Error::other)?;
        let app = Arc::new(App {
            guard,
            content,
            scheduler,
            computing: Arc::new(Semaphore::new(MAX_CONCURRENT)),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(MAX_CONCURRENT)
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let serving = app.clone();
        let serve = move || {
            runtime.block_on(async {
                unless(stopped, accept(listener, serving)).await;
            });
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        };
        let thread = std::thread::Builder::new()
            .name("explore".into())
            .spawn(serve)?;
        Ok(Self {
            address,
            app,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The link to open in a browser. It contains a token, without which requests for data are refused.
    pub fn link(&self) -> String {
        format!("http://{}/?token={}", self.address, self.app.guard.token())
    }

    /// A link that leads to [`link`](Self::link) once. Other users of the machine see the arguments of the program that opens it, so
    /// that these must not contain the token.
    pub fn link_to_open(&self) -> String {
        match self.app.guard.ticket() {
            Some(ticket) => format!("http://{}/?ticket={ticket}", self.address),
            None => format!("http://{}/", self.address),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Each fails only if the other side has already ended, which is intended.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The data that all connections share.
struct App {
    guard: Guard,
    content: Content,
    scheduler: Option<Scheduler>,
    computing: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

async fn accept(listener: TcpListener, app: Arc<App>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => panic!("the listener is of this runtime: {error}"),
    };
    let room = Arc::new(Semaphore::new(MAX_CLIENTS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // A temporary error, such as too many open files.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Ok(place) = room.clone().try_acquire_owned() else {
            continue;
        };
        // Small frames should be sent at once. A connection without the option works as well.
        let _ = stream.set_nodelay(true);
        let app = app.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answer(app.clone(), request));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(REQUEST_TIMEOUT)
                .max_buf_size(MAX_HEAD_BYTES)
                .serve_connection(TokioIo::new(TimedConnection::new(stream)), service);
            // An error of a client ends only its own connection.
            let _ = connection.await;
            drop(place);
        });
    }
}

/// The result of `work`, unless `end` comes first.
async fn unless<T>(end: impl Future, work: impl Future<Output = T>) -> Option<T> {
    let (mut end, mut work) = (pin!(end), pin!(work));
    poll_fn(move |context| {
        if end.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(context).map(Some)
    })
    .await
}

/// A response, or the reason of its failure.
type Answer = Result<Response<Reply>, RequestFailure>;

async fn answer(app: Arc<App>, request: Request<Incoming>) -> Result<Response<Reply>, Infallible> {
    let checked = app
        .guard
        .check(request.method(), request.uri(), request.headers());
    if let Err(reason) = checked {
        return Ok(RequestFailure::new(StatusCode::FORBIDDEN, reason).response());
    }
    let answered = route(app, request).await;
    Ok(answered.unwrap_or_else(RequestFailure::response))
}

async fn route(app: Arc<App>, request: Request<Incoming>) -> Answer {
    let path = request.uri().path().to_owned();
    let is_get = request.method() == Method::GET;
    if path == "/"
        && is_get
        && let Some(token) = app.guard.exchange(request.uri())
    {
        let token = token.map_err(|reason| RequestFailure::new(StatusCode::FORBIDDEN, reason))?;
        return Ok(http::see_other(&format!("/?token={token}")));
    }
    if let Some(asset) = page::asset(&path) {
        return allowed(is_get, || http::whole(asset.media_type, asset.bytes));
    }
    match path.as_str() {
        "/api/about" => allowed(is_get, || app.about()),
        "/api/status" => allowed(is_get, || app.status()),
        "/api/live" => {
            let live = app.live()?.clone();
            allowed(is_get, || watch(&live))
        }
        "/api/describe" => app.describe(&read(request).await?),
        "/api/tiles" => app.tiles(read(request).await?),
        "/api/orbit" => app.orbit(read(request).await?).await,
        "/api/accuracy" => app.accuracy(read(request).await?).await,
        "/api/line" => app.line(read(request).await?).await,
        "/api/pause" => app.pause(&read(request).await?),
        _ => Err(RequestFailure::new(
            StatusCode::NOT_FOUND,
            "there is no such page",
        )),
    }
}

fn allowed(is_allowed: bool, answer: impl FnOnce() -> Response<Reply>) -> Answer {
    if is_allowed {
        return Ok(answer());
    }
    Err(wrong_method())
}

fn wrong_method() -> RequestFailure {
    RequestFailure::new(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed")
}

fn bad(message: &str) -> RequestFailure {
    RequestFailure::new(StatusCode::BAD_REQUEST, message)
}

/// The JSON body of a POST.
async fn read<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, RequestFailure> {
    if request.method() != Method::POST {
        return Err(wrong_method());
    }
    let media = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let is_json = media.is_some_and(|media| {
        media
            .split(';')
            .next()
            .is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"))
    });
    if !is_json {
        let message = "the body must be application/json";
        return Err(RequestFailure::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            message,
        ));
    }
    let body = Limited::new(request.into_body(), MAX_BODY_BYTES).collect();
    let body = match tokio::time::timeout(REQUEST_TIMEOUT, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            let message = format!("a body may have up to {MAX_BODY_BYTES} bytes");
            return Err(RequestFailure::new(StatusCode::PAYLOAD_TOO_LARGE, &message));
        }
        Ok(Err(_)) => return Err(bad("the body could not be read")),
        Err(_) => {
            let message = "the body took too long to arrive";
            return Err(RequestFailure::new(StatusCode::REQUEST_TIMEOUT, message));
        }
    };
    serde_json::from_slice(&body).map_err(|error| bad(&format!("the body: {error}")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewRequest {
    specification: Value,
    view: View,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TilesRequest {
    specification: Value,
    tiles: Vec<Tile>,
    /// Whether the tiles are prefetched and not yet visible.
    #[serde(default)]
    ahead: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OrbitRequest {
    specification: Value,
    tile: Tile,
    samples: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineRequest {
    specification: Value,
    from: [f64; 2],
    to: [f64; 2],
    count: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PauseRequest {
    paused: bool,
}

/// Ends a computation when its request is dropped.
#[derive(Clone, Default)]
struct Wanted(Arc<AtomicBool>);

impl Cancel for Wanted {
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Gone(Wanted);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

impl App {
    fn about(&self) -> Response<Reply> {
        let declaration = self
            .content
            .engine
            .as_ref()
            .map(|engine| engine.declaration());
        http::json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "map": declaration,
            "live": self.content.live.as_ref().map(LiveRun::about),
            "limits": {
                "tiles": MAX_TILES, "points": MAX_POINTS, "samples": MAX_SAMPLES,
                "pixels": tile::MAX_PIXELS, "level": tile::MAX_LEVEL, "side": tile::SIDE,
            },
        }))
    }

    fn status(&self) -> Response<Reply> {
        let standing = self.scheduler.as_ref().map(Scheduler::standing);
        let (jobs, bytes, rate) = standing.unwrap_or_default();
        http::json(&json!({ "tiles": jobs, "memory": bytes, "rate": rate }))
    }

    /// The map of a specification, and the scheduler of its tiles.
    fn map(&self, specification: &Value) -> Result<(Arc<dyn Map>, &Scheduler), RequestFailure> {
        let (Some(engine), Some(scheduler)) = (&self.content.engine, &self.scheduler) else {
            return Err(RequestFailure::new(
                StatusCode::NOT_FOUND,
                "there are no maps here",
            ));
        };
        let map = engine.map(specification)?;
        Ok((map, scheduler))
    }

    fn live(&self) -> Result<&LiveRun, RequestFailure> {
        let missing = || RequestFailure::new(StatusCode::NOT_FOUND, "there is no live run here");
        self.content.live.as_ref().ok_or_else(missing)
    }

    fn describe(&self, asked: &ViewRequest) -> Answer {
        let (map, _) = self.map(&asked.specification)?;
        let described = map.describe(&asked.view)?;
        Ok(http::json(&described))
    }

    fn tiles(&self, asked: TilesRequest) -> Answer {
        let (map, scheduler) = self.map(&asked.specification)?;
        if asked.tiles.is_empty() || asked.tiles.len() > MAX_TILES {
            return Err(bad(&format!(
                "a request must be for 1 to {MAX_TILES} tiles"
            )));
        }
        for tile in &asked.tiles {
            let checked = tile.check().and_then(|()| map.check(tile));
            checked?;
        }
        let (reply, mut outcomes) = mpsc::unbounded_channel();
        let request = scheduler.request(&map, &asked.tiles, asked.ahead, &reply);
        let request = request.map_err(|_| {
            RequestFailure::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many tiles are being computed",
            )
        })?;
        drop(reply);
        let (sender, pieces) = mpsc::channel(MAX_QUEUED_PIECES);
        tokio::spawn(async move {
            // Dropped with this task, which ends when the client has gone.
            let _request = request;
            for _ in 0..asked.tiles.len() {
                let outcome = unless(sender.closed(), outcomes.recv()).await;
                let Some(Some((index, outcome))) = outcome else {
                    return;
                };
                let frame = match outcome {
                    Ok(values) => tile::frame(index, asked.tiles[index].pixels, &values),
                    Err(message) => tile::failure(index, &message),
                };
                if sender.send(frame.into()).await.is_err() {
                    return;
                }
            }
        });
        Ok(http::pieces(pieces))
    }

    /// Runs a long computation, and ends it if the client disconnects.
    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Cancel) -> Result<T, RequestEnd> + Send + 'static,
    ) -> Result<T, RequestFailure> {
        let busy = |_| {
            RequestFailure::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many computations are running",
            )
        };
        let _waits = self
            .waiting
            .clone()
            .try_acquire_owned()
            .map_err(|_| busy(()))?;
        let place = self
            .computing
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| busy(()))?;
        let wanted = Wanted::default();
        let _gone = Gone(wanted.clone());
        let work = move || {
            let result = work(&wanted);
            drop(place);
            result
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(result)) => Ok(result),
            // The specification has been checked before, so that a place is to blame.
            Ok(Err(RequestEnd::Refused(Refusal {
                option,
                given,
                allowed,
            }))) => Err(bad(&format!("{option} {given}: {allowed}"))),
            Ok(Err(RequestEnd::Ended(Ended::Failed(message)))) => Err(RequestFailure::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                &message,
            )),
            Ok(Err(RequestEnd::Ended(Ended::Cancelled))) | Err(_) => Err(RequestFailure::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the computation ended early",
            )),
        }
    }

    async fn orbit(&self, asked: OrbitRequest) -> Answer {
        let (map, _) = self.map(&asked.specification)?;
        if !(2..=MAX_SAMPLES).contains(&asked.samples) {
            return Err(bad(&format!("samples must be from 2 to {MAX_SAMPLES}")));
        }
        let tile = asked.tile;
        if tile.pixels != 1 {
            return Err(bad("an orbit needs a tile of one pixel"));
        }
        let checked = tile.check().and_then(|()| map.check(&tile));
        checked?;
        let orbit = self
            .compute(move |cancel| Ok(map.orbit(&tile, asked.samples, cancel)?))
            .await?;
        let head = json!({ "summary": orbit.summary, "columns": orbit.columns });
        Ok(with_numbers(
            &head,
            orbit.samples.iter().flat_map(|x| x.to_le_bytes()),
        ))
    }

    async fn accuracy(&self, asked: ViewRequest) -> Answer {
        let (map, _) = self.map(&asked.specification)?;
        // The view itself is checked before anything is computed.
        map.describe(&asked.view)?;
        let found = self
            .compute(move |cancel| map.accuracy(&asked.view, cancel))
            .await?;
        Ok(http::json(&found))
    }

    async fn line(&self, asked: LineRequest) -> Answer {
        let (map, scheduler) = self.map(&asked.specification)?;
        let LineRequest {
            from, to, count, ..
        } = asked;
        if !(2..=MAX_POINTS).contains(&count) {
            return Err(bad(&format!(
                "a line must have from 2 to {MAX_POINTS} points"
            )));
        }
        let ends = [from, to];
        if !ends.iter().flatten().all(|x| x.is_finite()) {
            return Err(bad("the ends of a line must be finite numbers"));
        }
        let at = move |i: usize| {
            let t = i as f64 / (count - 1) as f64;
            [0, 1].map(|k| from[k] * (1.0 - t) + to[k] * t)
        };
        let positions: Vec<[f64; 2]> = (0..count).map(at).collect();
        // A user waits for this short computation.
        let hold = scheduler.hold();
        let values = self
            .compute(move |cancel| {
                let _hold = hold;
                map.line(&positions, cancel)
            })
            .await?;
        let head = json!({ "count": count });
        let frame = tile::frame(0, 0, &values);
        Ok(with_numbers(&head, frame.into_iter()))
    }

    fn pause(&self, asked: &PauseRequest) -> Answer {
        self.live()?.set_paused(asked.paused);
        Ok(http::json(&json!({ "paused": asked.paused })))
    }
}

/// Length of a JSON text (u32, little-endian), the text, padding with blanks to a multiple of 8 bytes, and bytes.
fn with_numbers(head: &Value, bytes: impl Iterator<Item = u8>) -> Response<Reply> {
    let mut text = head.to_string().into_bytes();
    text.resize((text.len() + 4).next_multiple_of(8) - 4, b' ');
    let mut whole = (text.len() as u32).to_le_bytes().to_vec();
    whole.extend(text);
    whole.extend(bytes);
    http::whole("application/octet-stream", whole)
}

/// Frames of a live run, as fast as the client receives them: length of a JSON text (u32), length of the points in bytes (u32), the
/// text, the points.
fn watch(live: &LiveRun) -> Response<Reply> {
    let (sender, pieces) = mpsc::channel(MAX_QUEUED_PIECES);
    let live = live.clone();
    tokio::spawn(async move {
        let mut newest = live.watch();
        let mut told = 0;
        loop {
            let frame = newest.borrow_and_update().clone();
            let moments = match &frame.moment {
                // The moments before the client connected.
                Some((number, _)) if told == 0 => {
                    told = *number;
                    live.moments()
                }
                Some((number, moment)) if *number > told => {
                    told = *number;
                    vec![moment.clone()]
                }
                _ => Vec::new(),
            };
            let ended = frame.standing == RunState::Finished;
            let LiveMessage {
                time,
                progress,
                standing,
                points,
                ..
            } = frame;
            let text = json!({
                "time": time, "progress": progress, "standing": standing, "moments": moments,
            });
            let text = text.to_string();
            let mut head = (text.len() as u32).to_le_bytes().to_vec();
            head.extend((points.len() as u32).to_le_bytes());
            head.extend(text.as_bytes());
            for piece in [Bytes::from(head), points] {
                if !piece.is_empty() && sender.send(piece).await.is_err() {
                    return;
                }
            }
            if ended {
                return;
            }
            let Some(Ok(())) = unless(sender.closed(), newest.changed()).await else {
                return;
            };
        }
    });
    http::pieces(pieces)
}
