//! The interface between the explorer and the program that starts it. It contains no physics: a map names its content and
//! computes tiles, and an orbit consists of samples.

use std::sync::Arc;

use serde_json::Value;

use crate::refusal::Refusal;
use crate::tile::Tile;
use crate::values::{ValueKind, Values};

/// The reason why a computation ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The result is no longer needed.
    Cancelled,
    /// The engine failed, with its message.
    Failed(String),
}

/// The reason why a request for a computation has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestEnd {
    /// A value of the request is not allowed.
    Refused(Refusal),
    /// The computation ended.
    Ended(Ended),
}

impl From<Refusal> for RequestEnd {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Ended> for RequestEnd {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

/// Whether a computation should end; asked several times within 50 ms.
pub trait Cancel: Sync {
    /// Whether it should end. Once true, it stays true.
    fn cancelled(&self) -> bool;
}

/// Takes values as they are computed, from any thread.
pub trait TileSink: Sync {
    /// Values of consecutive pixels (row-major) of one of the tiles, from pixel `first` on.
    fn put(&self, tile: usize, first: usize, values: &Values);
}

/// Opens maps, and declares the possible requests to the page.
pub trait Engine: Send + Sync {
    /// The declaration of parameters, presets, colour maps and devices, as the page needs it.
    fn declaration(&self) -> Value;

    /// The map of a specification: an object of parameters by name; those that are missing have their defaults.
    ///
    /// # Errors
    /// The first value that is not allowed.
    fn map(&self, specification: &Value) -> Result<Arc<dyn Map>, Refusal>;

    /// Computations that may run at the same time: two keep a GPU busy, one takes all of a CPU.
    fn concurrency(&self) -> usize;

    /// Whether devices compute single pixels as efficiently as rows. If so, a tile computes only the pixels that a coarser one does
    /// not have.
    fn takes_single_pixels(&self) -> bool;

    /// Expected pixel-steps per second, until a rate has been measured.
    fn expected_rate(&self) -> f64;
}

/// A map: everything but the rectangle is fixed.
pub trait Map: TileEngine + OrbitEngine {}

impl<M: TileEngine + OrbitEngine> Map for M {}

/// Computes tiles, each a pure function of the map and its address.
pub trait TileEngine: Send + Sync {
    /// Names the content of the tiles: two maps with the same text have the same tiles, even in a cache that a later process opens.
    fn content(&self) -> &str;

    /// The type of a pixel's value.
    fn kind(&self) -> ValueKind;

    /// Largest number of steps of a pixel.
    fn steps(&self) -> u64;

    /// Whether the engine can compute this tile.
    ///
    /// # Errors
    /// The value that is not allowed.
    fn check(&self, tile: &Tile) -> Result<(), Refusal>;

    /// Describes a view of this rectangle in other forms (command, Python, file), with notes. Where nothing can be computed in it, the reason
    /// may be part of the description, as `refusal`.
    ///
    /// # Errors
    /// The value that is not allowed.
    fn describe(&self, view: &View) -> Result<Value, Refusal>;

    /// Computes the pixels of `tiles` that are `wanted`: for each tile, ranges of row-major numbers in ascending order. All tiles
    /// have the same level and number of pixels, and lie within 64 tiles of each other.
    ///
    /// # Errors
    /// [`Ended`].
    fn compute(
        &self,
        tiles: &[Tile],
        wanted: &[Vec<std::ops::Range<usize>>],
        sink: &dyn TileSink,
        cancel: &dyn Cancel,
    ) -> Result<(), Ended>;

    /// How accurate a view of this rectangle is, found from a sample of its pixels: an object for the page, or null where nothing is
    /// known.
    ///
    /// # Errors
    /// [`RequestEnd`].
    fn accuracy(&self, _view: &View, _cancel: &dyn Cancel) -> Result<Value, RequestEnd> {
        Ok(Value::Null)
    }

    /// The quantity at positions along a line (in the map's plane).
    ///
    /// # Errors
    /// [`RequestEnd`].
    fn line(&self, positions: &[[f64; 2]], cancel: &dyn Cancel) -> Result<Values, RequestEnd>;
}

/// A rectangle of a map.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// Centre along the two axes (length).
    pub center: [f64; 2],
    /// Extent along the two axes (length).
    pub span: [f64; 2],
    /// Pixels: width, height.
    pub size: [u64; 2],
}

/// Integrates single pixels.
pub trait OrbitEngine {
    /// The orbit of the only pixel of `tile` and of its twin.
    ///
    /// # Errors
    /// [`Ended`].
    fn orbit(&self, tile: &Tile, samples: usize, cancel: &dyn Cancel) -> Result<Orbit, Ended>;
}

/// A pixel's system over time, with its twin if it has one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Orbit {
    /// A summary: an object for the page.
    pub summary: Value,
    /// Names of the columns of [`samples`](Self::samples).
    pub columns: Vec<String>,
    /// Samples, row by row.
    pub samples: Vec<f64>,
}
