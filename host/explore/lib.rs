//! The explorer: maps, orbits and live runs in the browser.
//!
//! A [`Server`] shows one embedded page and answers what it asks. It knows neither physics nor files of maps: an [`Engine`]
//! opens maps and computes tiles and orbits, a [`LiveRun`] publishes bodies on their way. Everything that a tile depends on is in
//! its map's [content](TileEngine::content) and its [address](Tile), so that tiles can be kept and shared.

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

pub use engine::{Cancel, Ended, Engine, Map, Orbit, OrbitEngine, TileEngine, TileSink, View};
pub use live::{About, Cloud, LiveRun, Moment, Standing};
pub use refusal::Refusal;
pub use server::{Content, Options, Server};
pub use tile::{MAX_LEVEL, MAX_PIXELS, SIDE, Tile};
pub use values::{Kind, Values};
