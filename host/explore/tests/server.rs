//! The server with an engine whose tiles are known: what it lets in, what it refuses, what becomes of clients that are slow, many
//! or gone.

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Answer, Place, TOKEN, address, counts, get, head, parse, post, post_head, raw};
use trisolar_explore::{
    Cancel, Cloud, Content, Ended, Engine, LiveRun, Map, Moment, Options, Orbit, OrbitEngine,
    Refusal, RequestEnd, RunProperties, Server, Tile, TileEngine, TileSink, ValueKind, Values,
    View,
};

/// Counts of what the engine has done.
#[derive(Default)]
struct Done {
    pixels: AtomicU64,
    running: AtomicU64,
    cancelled: AtomicU64,
}

/// An engine that takes so long for each pixel.
struct Fake {
    done: Arc<Done>,
    kind: ValueKind,
    single_pixels: bool,
}

struct FakeMap {
    done: Arc<Done>,
    kind: ValueKind,
    content: String,
    seed: u64,
    each: Duration,
}

fn value(seed: u64, tile: &Tile, pixel: usize) -> u32 {
    // The same place has the same value in every number of pixels.
    let n = tile.pixels as usize;
    let place = (pixel / n * (256 / n) * 256 + pixel % n * (256 / n)) as u64;
    let mixed = (seed << 48)
        ^ (u64::from(tile.level) << 40)
        ^ ((tile.x as u64) << 28)
        ^ ((tile.y as u64) << 16)
        ^ place;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

impl Engine for Fake {
    fn declaration(&self) -> Value {
        json!({ "device": "fake" })
    }

    fn map(&self, specification: &Value) -> Result<Arc<dyn Map>, Refusal> {
        let seed = specification["seed"].as_u64();
        let seed =
            seed.ok_or_else(|| Refusal::new("seed", specification, "must be a whole number"))?;
        Ok(Arc::new(FakeMap {
            done: self.done.clone(),
            kind: self.kind,
            content: specification.to_string(),
            seed,
            each: Duration::from_nanos(specification["nanoseconds"].as_u64().unwrap_or(0)),
        }))
    }

    fn concurrency(&self) -> usize {
        1
    }

    fn takes_single_pixels(&self) -> bool {
        self.single_pixels
    }

    fn expected_rate(&self) -> f64 {
        1e6
    }
}

impl TileEngine for FakeMap {
    fn content(&self) -> &str {
        &self.content
    }

    fn kind(&self) -> ValueKind {
        self.kind
    }

    fn steps(&self) -> u64 {
        1
    }

    fn check(&self, _: &Tile) -> Result<(), Refusal> {
        Ok(())
    }

    fn describe(&self, view: &View) -> Result<Value, Refusal> {
        Ok(json!({ "command": format!("{view:?}") }))
    }

    fn compute(
        &self,
        tiles: &[Tile],
        wanted: &[Vec<Range<usize>>],
        sink: &dyn TileSink,
        cancel: &dyn Cancel,
    ) -> Result<(), Ended> {
        assert_eq!(
            self.done.running.fetch_add(1, Ordering::SeqCst),
            0,
            "one at a time"
        );
        let result = (|| {
            for (number, (tile, ranges)) in tiles.iter().zip(wanted).enumerate() {
                for pixel in ranges.iter().cloned().flatten() {
                    if cancel.cancelled() {
                        self.done.cancelled.fetch_add(1, Ordering::SeqCst);
                        return Err(Ended::Cancelled);
                    }
                    let began = Instant::now();
                    while began.elapsed() < self.each {
                        std::thread::sleep(self.each.min(Duration::from_millis(1)));
                    }
                    self.done.pixels.fetch_add(1, Ordering::SeqCst);
                    let value = value(self.seed, tile, pixel);
                    sink.put(
                        number,
                        pixel,
                        &match self.kind {
                            ValueKind::U32 => Values::U32(vec![value]),
                            ValueKind::F64 => Values::F64(vec![f64::from(value) / 3.0]),
                            ValueKind::Pair => {
                                Values::Pairs(vec![[f64::from(value % 7), f64::from(value) / 3.0]])
                            }
                        },
                    );
                }
            }
            Ok(())
        })();
        self.done.running.fetch_sub(1, Ordering::SeqCst);
        result
    }

    fn line(&self, positions: &[[f64; 2]], _: &dyn Cancel) -> Result<Values, RequestEnd> {
        Ok(Values::U32((0..positions.len() as u32).collect()))
    }
}

impl OrbitEngine for FakeMap {
    fn orbit(&self, _: &Tile, samples: usize, cancel: &dyn Cancel) -> Result<Orbit, Ended> {
        let end = Instant::now() + self.each;
        while Instant::now() < end {
            if cancel.cancelled() {
                self.done.cancelled.fetch_add(1, Ordering::SeqCst);
                return Err(Ended::Cancelled);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Orbit {
            summary: json!({ "samples": samples }),
            columns: vec!["time".into()],
            samples: (0..samples).map(|k| k as f64).collect(),
        })
    }
}

fn start_as(kind: ValueKind, single_pixels: bool) -> (Server, Place, Arc<Done>) {
    let done = Arc::new(Done::default());
    let engine = Fake {
        done: done.clone(),
        kind,
        single_pixels,
    };
    let content = Content {
        engine: Some(Arc::new(engine)),
        live: None,
    };
    let options = Options {
        memory: 8 << 20,
        ..Options::default()
    };
    let server = Server::start(&options, content).expect("a free port");
    let at = address(&server.link());
    (server, at, done)
}

fn start() -> (Server, Place, Arc<Done>) {
    start_as(ValueKind::U32, true)
}

fn tiles(seed: u64, tiles: &[[i64; 4]]) -> Value {
    json!({ "specification": { "seed": seed }, "tiles": tiles })
}

fn expected(seed: u64, [level, x, y, n]: [i64; 4]) -> Vec<u32> {
    let tile = Tile::from((level as u8, x, y, n as u32));
    (0..tile.count())
        .map(|pixel| value(seed, &tile, pixel))
        .collect()
}

/// Waits until something holds.
#[track_caller]
fn soon(what: &str, limit: Duration, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_tile_is_what_the_engine_computes_alone_or_with_others_before_and_after() {
    for single_pixels in [false, true] {
        let (_server, at, done) = start_as(ValueKind::U32, single_pixels);
        let asked = [[5, 1, -3, 16], [5, 2, -3, 16], [5, 90, 7, 16], [9, 1, 1, 4]];
        for _ in 0..2 {
            let answer = post(at, "/api/tiles", &tiles(7, &asked));
            assert_eq!(answer.status, 200, "{}", answer.text());
            let mut frames = answer.frames();
            frames.sort_by_key(|frame| frame.1);
            assert_eq!(frames.len(), asked.len());
            for ((tag, index, pixels, payload), tile) in frames.into_iter().zip(asked) {
                assert_eq!((tag, pixels), (1, tile[3] as u32), "{index}");
                assert_eq!(counts(&payload), expected(7, tile));
            }
        }
        let once: u64 = asked.iter().map(|t| (t[3] * t[3]) as u64).sum();
        assert_eq!(
            done.pixels.load(Ordering::SeqCst),
            once,
            "the second time from memory"
        );
        // In more pixels: with single pixels only those that are new.
        let answer = post(at, "/api/tiles", &tiles(7, &[[5, 1, -3, 64]]));
        assert_eq!(counts(&answer.frames()[0].3), expected(7, [5, 1, -3, 64]));
        let new = if single_pixels {
            64 * 64 - 16 * 16
        } else {
            64 * 64
        };
        assert_eq!(done.pixels.load(Ordering::SeqCst), once + new);
    }
}

#[test]
fn quantities_of_64_bits_come_as_they_are() {
    let (_server, at, _) = start_as(ValueKind::F64, true);
    let (tag, _, pixels, payload) = post(at, "/api/tiles", &tiles(3, &[[2, 0, 0, 8]]))
        .frames()
        .remove(0);
    assert_eq!((tag, pixels), (2, 8));
    let numbers: Vec<f64> = payload
        .chunks_exact(8)
        .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
        .collect();
    let whole = expected(3, [2, 0, 0, 8])
        .into_iter()
        .map(|v| f64::from(v) / 3.0);
    assert!(numbers.into_iter().eq(whole));
}

#[test]
fn the_page_is_served_with_what_keeps_others_out() {
    let (_server, at, _) = start();
    let page = get(at, "/");
    assert_eq!(page.status, 200);
    assert!(page.text().contains("<title>Trisolar</title>"));
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "frame-ancestors 'none'",
    ] {
        assert!(page.head.to_lowercase().contains(header), "{header}");
    }
    // Every file that the page names is there, and none names another place.
    for file in ["/style.css", "/main.js", "/icon.svg"] {
        assert!(page.text().contains(file), "{file}");
    }
    for file in [
        "main", "map", "api", "state", "colour", "controls", "export", "line", "live", "orbit",
        "plot",
    ] {
        let script = get(at, &format!("/{file}.js"));
        assert_eq!(script.status, 200, "{file}");
        assert!(
            !script.text().contains("https://"),
            "{file} fetches nothing from elsewhere"
        );
        for import in script.text().split(" from \"./").skip(1) {
            let name = import.split('"').next().unwrap();
            assert_eq!(get(at, &format!("/{name}")).status, 200, "{name}");
        }
    }
    let about = get(at, "/api/about").json();
    assert_eq!(about["map"]["device"], "fake");
    assert_eq!(about["live"], Value::Null);
}

#[test]
fn orbits_lines_and_descriptions_are_answered() {
    let (_server, at, _) = start();
    let orbit = post(
        at,
        "/api/orbit",
        &json!({ "specification": { "seed": 1 }, "tile": [3, 0, 0, 1], "samples": 5 }),
    );
    assert_eq!(orbit.status, 200, "{}", orbit.text());
    let length = u32::from_le_bytes(orbit.body[..4].try_into().unwrap()) as usize;
    assert_eq!((length + 4) % 8, 0, "numbers are aligned");
    let told: Value = serde_json::from_slice(&orbit.body[4..4 + length]).unwrap();
    assert_eq!(
        told,
        json!({ "summary": { "samples": 5 }, "columns": ["time"] })
    );
    assert_eq!(orbit.body.len(), 4 + length + 5 * 8);
    let line = json!({ "specification": { "seed": 1 }, "from": [0, 0], "to": [1, 1], "count": 9 });
    assert_eq!(post(at, "/api/line", &line).status, 200);
    let view = json!({ "center": [1.5, 2], "span": [3, 4], "size": [5, 6] });
    let described = post(
        at,
        "/api/describe",
        &json!({ "specification": { "seed": 1 }, "view": view }),
    );
    assert!(
        described.text().contains("[1.5, 2.0]"),
        "{}",
        described.text()
    );
}

#[test]
fn what_is_wrong_is_refused_by_name() {
    let (_server, at, done) = start();
    let refused = |path: &str, body: Value, status: u16, word: &str| {
        let answer = post(at, path, &body);
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
        assert!(
            answer.text().contains(word),
            "{path} {body}: {}",
            answer.text()
        );
    };
    refused(
        "/api/tiles",
        json!({ "specification": {}, "tiles": [[1, 0, 0, 4]] }),
        422,
        "seed",
    );
    refused("/api/tiles", tiles(1, &[]), 400, "1 to 256");
    refused(
        "/api/tiles",
        tiles(1, &[[1, 0, 0, 4]; 257]),
        400,
        "1 to 256",
    );
    refused(
        "/api/tiles",
        tiles(1, &[[1, 0, 0, 512]]),
        422,
        "power of two",
    );
    refused("/api/tiles", tiles(1, &[[105, 0, 0, 4]]), 422, "level");
    refused("/api/tiles", tiles(1, &[[300, 0, 0, 4]]), 400, "body");
    refused(
        "/api/tiles",
        tiles(1, &[[1, i64::MAX, 0, 4]]),
        422,
        "origin",
    );
    refused("/api/tiles", json!([1, 2]), 400, "body");
    let mut more = tiles(1, &[[1, 0, 0, 4]]);
    more["path"] = "/etc/passwd".into();
    refused("/api/tiles", more, 400, "unknown field");
    let orbit = |tile: Value, samples: i64| json!({ "specification": { "seed": 1 }, "tile": tile, "samples": samples });
    refused(
        "/api/orbit",
        orbit(json!([1, 0, 0, 2]), 10),
        400,
        "one pixel",
    );
    refused("/api/orbit", orbit(json!([1, 0, 0, 1]), 1), 400, "samples");
    refused(
        "/api/orbit",
        orbit(json!([1, 0, 0, 1]), 1 << 40),
        400,
        "samples",
    );
    refused("/api/orbit", orbit(json!([1, 0, 0, 1]), -1), 400, "body");
    let line = |count: u64| json!({ "specification": { "seed": 1 }, "from": [0, 0], "to": [1, 1], "count": count });
    refused("/api/line", line(1), 400, "points");
    refused("/api/line", line(1 << 32), 400, "points");
    refused("/api/pause", json!({ "paused": true }), 404, "live");
    refused("/api/nothing", json!({}), 404, "no such");
    for path in [
        "/../Cargo.toml",
        "//etc/passwd",
        "/page/index.html",
        "/%2e%2e/lib.rs",
        "/style.css/..",
    ] {
        assert_eq!(get(at, path).status, 404, "{path}");
    }
    assert_eq!(get(at, "/api/tiles").status, 405);
    assert_eq!(post(at, "/", &json!({})).status, 405);
    let lines = "Content-Type: text/plain\r\nContent-Length: 2\r\n";
    let simple = raw(
        at,
        format!("{}{{}}", head("POST", "/api/tiles", at, lines)).as_bytes(),
    )
    .unwrap();
    assert_eq!(parse(&simple).status, 415);
    let large = "x".repeat(70_000);
    let large = raw(
        at,
        format!("{}{large}", post_head("/api/tiles", at, large.len())).as_bytes(),
    )
    .unwrap();
    assert_eq!(parse(&large).status, 413);
    let other = head("GET", "/api/about", at, "").replace(&at.to_string(), "evil.example");
    assert_eq!(parse(&raw(at, other.as_bytes()).unwrap()).status, 403);
    assert_eq!(
        done.pixels.load(Ordering::SeqCst),
        0,
        "and nothing was computed"
    );
}

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

#[test]
fn a_thousand_malformed_requests_change_nothing() {
    let (_server, at, _) = start();
    let whole = tiles(1, &[[5, 1, -3, 16]]).to_string();
    let good = format!("{}{whole}", post_head("/api/tiles", at, whole.len()));
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut refused = 0;
    for _ in 0..1000 {
        let mut bytes = good.clone().into_bytes();
        match random.below(6) {
            0 => bytes.truncate(random.below(bytes.len())),
            1 => (0..1 + random.below(8)).for_each(|_| {
                let at = random.below(bytes.len());
                bytes[at] = random.next() as u8;
            }),
            2 => {
                bytes = (0..random.below(2000))
                    .map(|_| random.next() as u8)
                    .collect()
            }
            3 => {
                let at = random.below(bytes.len());
                bytes.splice(at..at, (0..random.below(300)).map(|k| (k * 7) as u8));
            }
            4 => {
                let (a, b) = (random.below(bytes.len()), random.below(bytes.len()));
                let piece = bytes[a.min(b)..a.max(b)].to_vec();
                bytes.extend(piece);
            }
            _ => {
                let body: String = (0..random.below(400))
                    .map(|_| "[{\"1,e-:9}]tn"[..].as_bytes()[random.below(13)] as char)
                    .collect();
                bytes = format!("{}{body}", post_head("/api/tiles", at, body.len())).into_bytes();
            }
        }
        let mut stream = TcpStream::connect(at).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        // A server that has seen enough may close before all is sent.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        if answer.starts_with(b"HTTP/1.1 4") {
            refused += 1;
        } else {
            // Closed without an answer, or a request that was still a good one.
            assert!(
                answer.is_empty() || answer.starts_with(b"HTTP/1.1 2"),
                "{}",
                String::from_utf8_lossy(&answer)
            );
        }
    }
    assert!(refused > 300, "{refused} refused");
    let answer = post(at, "/api/tiles", &tiles(1, &[[5, 1, -3, 16]]));
    assert_eq!(counts(&answer.frames()[0].3), expected(1, [5, 1, -3, 16]));
    soon(
        "all is computed or given up",
        Duration::from_secs(5),
        || get(at, "/api/status").json()["tiles"] == 0,
    );
}

#[test]
fn slow_clients_keep_nobody_waiting() {
    let (_server, at, _) = start();
    let slow: Vec<TcpStream> = (0..100)
        .map(|k| {
            let mut stream = TcpStream::connect(at).unwrap();
            let start = post_head("/api/tiles", at, 500);
            stream.write_all(&start.as_bytes()[..20 + k]).unwrap();
            stream
        })
        .collect();
    // Others ask and do not read.
    let deaf: Vec<TcpStream> = (0..50)
        .map(|k| {
            let mut stream = TcpStream::connect(at).unwrap();
            let asked: Vec<[i64; 4]> = (0..8).map(|x| [6, x, k % 2, 32]).collect();
            let body = tiles(2, &asked).to_string();
            stream
                .write_all(format!("{}{body}", post_head("/api/tiles", at, body.len())).as_bytes())
                .unwrap();
            stream
        })
        .collect();
    let began = Instant::now();
    let answer = post(at, "/api/tiles", &tiles(1, &[[5, 1, -3, 16]]));
    assert_eq!(counts(&answer.frames()[0].3), expected(1, [5, 1, -3, 16]));
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    // A request that does not arrive is given up.
    let mut first = &slow[0];
    first
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut rest = Vec::new();
    let ended = first.read_to_end(&mut rest);
    assert!(
        ended.is_ok() && began.elapsed() > Duration::from_secs(5),
        "{ended:?}"
    );
    drop(deaf);
}

#[test]
fn two_hundred_clients_at_once_get_what_they_ask_for() {
    let (_server, at, done) = start();
    let answers: Vec<(u64, Answer)> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..200_u64)
            .map(|k| {
                scope.spawn(move || {
                    let seed = k % 10;
                    (
                        seed,
                        post(
                            at,
                            "/api/tiles",
                            &tiles(seed, &[[5, 1, -3, 16], [5, 2, -3, 16]]),
                        ),
                    )
                })
            })
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    for (seed, answer) in answers {
        assert_eq!(answer.status, 200, "{}", answer.text());
        let mut frames = answer.frames();
        frames.sort_by_key(|frame| frame.1);
        assert_eq!(counts(&frames[0].3), expected(seed, [5, 1, -3, 16]));
        assert_eq!(counts(&frames[1].3), expected(seed, [5, 2, -3, 16]));
    }
    // A tile that several ask for is computed once. (Twice if it was asked for between its computation and its delivery.)
    let pixels = done.pixels.load(Ordering::SeqCst);
    assert!(pixels <= 10 * 2 * 256 * 2, "{pixels}");
}

#[test]
fn what_nobody_waits_for_is_given_up_at_once() {
    let (_server, at, done) = start();
    let slow = json!({ "specification": { "seed": 1, "nanoseconds": 1_000_000 }, "tiles": [[4, 0, 0, 256], [4, 1, 0, 256]] });
    let body = slow.to_string();
    let mut stream = TcpStream::connect(at).unwrap();
    stream
        .write_all(format!("{}{body}", post_head("/api/tiles", at, body.len())).as_bytes())
        .unwrap();
    soon("it runs", Duration::from_secs(5), || {
        done.pixels.load(Ordering::SeqCst) > 3
    });
    let began = Instant::now();
    drop(stream);
    soon("it is given up", Duration::from_secs(5), || {
        done.running.load(Ordering::SeqCst) == 0
    });
    let took = began.elapsed();
    assert!(took < Duration::from_millis(500), "{took:?}");
    assert_eq!(done.cancelled.load(Ordering::SeqCst), 1);
    soon("nothing is left", Duration::from_secs(1), || {
        get(at, "/api/status").json()["tiles"] == 0
    });
    // The same with an orbit.
    let slow = json!({ "specification": { "seed": 1, "nanoseconds": 60_000_000_000_u64 }, "tile": [3, 0, 0, 1], "samples": 9 });
    let body = slow.to_string();
    let mut stream = TcpStream::connect(at).unwrap();
    stream
        .write_all(format!("{}{body}", post_head("/api/orbit", at, body.len())).as_bytes())
        .unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(stream);
    soon("the orbit is given up", Duration::from_secs(2), || {
        done.cancelled.load(Ordering::SeqCst) == 2
    });
}

#[test]
fn a_coarse_tile_goes_before_a_fine_one_which_loses_nothing() {
    let (_server, at, done) = start();
    let spec = json!({ "seed": 1, "nanoseconds": 200_000 });
    let fine = std::thread::spawn({
        let spec = spec.clone();
        move || {
            post(
                at,
                "/api/tiles",
                &json!({ "specification": spec, "tiles": [[4, 0, 0, 64]] }),
            )
        }
    });
    soon("it runs", Duration::from_secs(5), || {
        done.pixels.load(Ordering::SeqCst) > 100
    });
    let coarse = post(
        at,
        "/api/tiles",
        &json!({ "specification": spec, "tiles": [[4, 7, 0, 4]] }),
    );
    assert_eq!(counts(&coarse.frames()[0].3), expected(1, [4, 7, 0, 4]));
    assert!(!fine.is_finished(), "the coarse one came first");
    let ahead = json!({ "specification": spec, "tiles": [[4, 9, 0, 4]], "ahead": true });
    let ahead = std::thread::spawn(move || post(at, "/api/tiles", &ahead));
    assert_eq!(
        counts(&fine.join().unwrap().frames()[0].3),
        expected(1, [4, 0, 0, 64])
    );
    assert_eq!(ahead.join().unwrap().status, 200);
    assert_eq!(done.cancelled.load(Ordering::SeqCst), 1, "it made way once");
    assert_eq!(
        done.pixels.load(Ordering::SeqCst),
        64 * 64 + 16 + 16,
        "no pixel twice"
    );
}

#[test]
fn the_queue_and_the_memory_are_bounded() {
    let (_server, at, done) = start();
    // 8 MiB of memory; 64 tiles of 64 KiB are half of that, and 400 of them more than three times.
    for block in 0..50 {
        let asked: Vec<[i64; 4]> = (0..8).map(|x| [10, 8 * block + x, 0, 128]).collect();
        let answer = post(at, "/api/tiles", &tiles(1, &asked));
        assert_eq!(answer.frames().len(), 8);
        let kept = get(at, "/api/status").json()["memory"].as_u64().unwrap();
        assert!(kept <= 8 << 20, "{kept}");
    }
    assert_eq!(done.pixels.load(Ordering::SeqCst), 400 * 128 * 128);
    let slow = |block: i64| {
        let asked: Vec<[i64; 4]> = (0..256).map(|x| [12, 256 * block + x, 0, 256]).collect();
        json!({ "specification": { "seed": 1, "nanoseconds": 1_000_000 }, "tiles": asked })
            .to_string()
    };
    let mut streams = Vec::new();
    let mut full = false;
    for block in 0..20 {
        let body = slow(block);
        let mut stream = TcpStream::connect(at).unwrap();
        stream
            .write_all(format!("{}{body}", post_head("/api/tiles", at, body.len())).as_bytes())
            .unwrap();
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).unwrap();
        full |= &begin == b"HTTP/1.1 503";
        streams.push(stream);
    }
    assert!(full, "4096 tiles are enough");
    let waiting = get(at, "/api/status").json()["tiles"].as_u64().unwrap();
    assert!(waiting <= 4096, "{waiting}");
    drop(streams);
    soon("all are given up", Duration::from_secs(5), || {
        get(at, "/api/status").json()["tiles"] == 0
    });
}

#[test]
fn data_is_only_for_those_who_have_the_link() {
    for bind in ["127.0.0.1", "0.0.0.0"] {
        let options = Options {
            bind: bind.parse().unwrap(),
            ..Options::default()
        };
        let server = Server::start(&options, Content::default()).unwrap();
        let mut at = address(&server.link());
        at.address.set_ip([127, 0, 0, 1].into());
        assert_eq!(get(at, "/api/about").status, 200);
        for wrong in ["", "0"] {
            let lines = format!("{TOKEN}: {wrong}\r\n");
            let answer = raw(at, head("GET", "/api/about", at, &lines).as_bytes()).unwrap();
            assert_eq!(parse(&answer).status, 403);
        }
        // What a browser is started with gives the token once.
        let (_, path) = server
            .link_to_open()
            .split_once("/?")
            .map(|(a, b)| (a.to_owned(), format!("/?{b}")))
            .expect("a link");
        let opened = get(at, &path);
        assert_eq!(opened.status, 303);
        let leads = server
            .link()
            .replace(&format!("http://{}", server.address()), "location: ");
        assert!(
            opened.head.to_ascii_lowercase().contains(&leads),
            "{}",
            opened.head
        );
        assert_eq!(get(at, &path).status, 403);
        assert_eq!(get(at, "/?ticket=").status, 403);
    }
}

#[test]
fn a_live_run_is_watched_paused_and_not_disturbed_by_who_leaves() {
    let run = LiveRun::new(RunProperties {
        title: "two".into(),
        device: "none".into(),
        bodies: 2,
        end: 1.0,
        fractions: vec![0.5],
        specification: Value::Null,
    });
    let content = Content {
        engine: None,
        live: Some(run.clone()),
    };
    let server = Server::start(&Options::default(), content).unwrap();
    let at = address(&server.link());
    assert_eq!(get(at, "/api/about").json()["live"]["bodies"], 2);
    assert_eq!(
        post(at, "/api/tiles", &tiles(1, &[[1, 0, 0, 4]])).status,
        404
    );
    let moment = |time: f64| {
        let found = Moment {
            time,
            energy_error: 1e-9,
            lagrange: vec![0.7],
        };
        run.remember(|| Ok::<_, ()>(found)).unwrap();
    };
    moment(0.0);
    moment(0.1);
    let cloud = |time: f64| Cloud {
        time,
        progress: time,
        points: vec![[1.0, 2.0, 3.0, time as f32], [4.0, 5.0, 6.0, 0.0]],
    };
    run.show(&cloud(0.25));
    let mut gone = TcpStream::connect(at).unwrap();
    gone.write_all(head("GET", "/api/live", at, "").as_bytes())
        .unwrap();
    let mut begin = [0; 15];
    gone.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200 OK");
    drop(gone);
    assert_eq!(
        post(at, "/api/pause", &json!({ "paused": true })).status,
        200
    );
    let waits = std::thread::spawn({
        let run = run.clone();
        move || run.wait_while_paused(&|| false)
    });
    std::thread::sleep(Duration::from_millis(100));
    assert!(!waits.is_finished());
    assert_eq!(
        post(at, "/api/pause", &json!({ "paused": false })).status,
        200
    );
    waits.join().unwrap();
    run.show(&cloud(1.0));
    run.finish();
    let answer = get(at, "/api/live");
    let lengths: Vec<u32> = counts(&answer.body[..8]);
    let told: Value = serde_json::from_slice(&answer.body[8..8 + lengths[0] as usize]).unwrap();
    assert_eq!(
        (&told["standing"], &told["time"]),
        (&json!("finished"), &json!(1.0))
    );
    assert_eq!(
        told["moments"].as_array().map(Vec::len),
        Some(2),
        "those of before, too"
    );
    let points: Vec<f32> = answer.body[8 + lengths[0] as usize..]
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(points, [1.0, 2.0, 3.0, 1.0, 4.0, 5.0, 6.0, 0.0]);
}

#[test]
fn a_server_that_is_dropped_ends_at_once() {
    let (server, at, done) = start();
    let body = json!({ "specification": { "seed": 1, "nanoseconds": 1_000_000 }, "tiles": [[4, 0, 0, 256]] }).to_string();
    let mut stream = TcpStream::connect(at).unwrap();
    stream
        .write_all(format!("{}{body}", post_head("/api/tiles", at, body.len())).as_bytes())
        .unwrap();
    soon("it runs", Duration::from_secs(5), || {
        done.pixels.load(Ordering::SeqCst) > 3
    });
    let began = Instant::now();
    drop(server);
    let took = began.elapsed();
    assert!(took < Duration::from_millis(700), "{took:?}");
    assert!(TcpStream::connect(at).is_err());
    soon("the engine has ended", Duration::from_secs(1), || {
        done.running.load(Ordering::SeqCst) == 0
    });
}
