//! The explorer: maps, orbits and live runs in the browser.
//!
//! A [`Server`] serves one embedded page and answers its requests. It contains neither physics nor files of maps: an [`Engine`]
//! opens maps and computes tiles and orbits, and a [`LiveRun`] publishes the bodies of a run. A tile depends only on the
//! [content](TileEngine::content) of its map and on its [address](Tile), so that tiles can be cached and shared.

mod cache;
mod engine;
mod guard;
mod http;
mod live;
mod page;
mod refusal;
mod scheduler;
mod server;
mod tile;
mod values;

pub use engine::{
    Cancel, Ended, Engine, Map, Orbit, OrbitEngine, RequestEnd, TileEngine, TileSink, View,
};
pub use live::{Cloud, LiveRun, Moment, RunProperties, RunState};
pub use refusal::Refusal;
pub use server::{Content, Options, Server};
pub use tile::{MAX_LEVEL, MAX_PIXELS, SIDE, Tile};
pub use values::{ValueKind, Values};
