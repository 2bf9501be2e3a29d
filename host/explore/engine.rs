//! The interface between the explorer and the program that starts it. It contains no physics: a map names its content and
//! computes tiles, and an orbit consists of samples.

use std::sync::Arc;

use serde_json::Value;

use crate::tile::Tile;

/// Values of pixels, row by row, in the type in which the engine computes them.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Counts, such as steps.
    U32(Vec<u32>),
    /// Quantities with a unit.
    F64(Vec<f64>),
}

impl Values {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::U32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Zeros of the same type.
    pub(crate) fn zeros(kind: Kind, len: usize) -> Self {
        match kind {
            Kind::U32 => Self::U32(vec![0; len]),
            Kind::F64 => Self::F64(vec![0.0; len]),
        }
    }

    /// The type.
    pub fn kind(&self) -> Kind {
        match self {
            Self::U32(_) => Kind::U32,
            Self::F64(_) => Kind::F64,
        }
    }

    /// Little-endian bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::U32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Self::F64(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }

    /// From little-endian bytes; `None` if their number is not a multiple of the type's size.
    pub(crate) fn from_bytes(kind: Kind, bytes: &[u8]) -> Option<Self> {
        let rest = bytes.len() % kind.size();
        (rest == 0).then(|| match kind {
            Kind::U32 => {
                let each = bytes.chunks_exact(4);
                Self::U32(
                    each.map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes")))
                        .collect(),
                )
            }
            Kind::F64 => {
                let each = bytes.chunks_exact(8);
                Self::F64(
                    each.map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes")))
                        .collect(),
                )
            }
        })
    }

    /// Copies one value of `from`, which has the same type.
    pub(crate) fn copy(&mut self, to: usize, from: &Self, at: usize) {
        match (self, from) {
            (Self::U32(to_values), Self::U32(values)) => to_values[to] = values[at],
            (Self::F64(to_values), Self::F64(values)) => to_values[to] = values[at],
            _ => unreachable!("a quantity has one type"),
        }
    }
}

/// The type of [`Values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Unsigned 32-bit integers.
    U32,
    /// 64-bit floating-point numbers.
    F64,
}

impl Kind {
    /// The number by which tiles are marked.
    pub fn tag(self) -> u8 {
        match self {
            Self::U32 => 1,
            Self::F64 => 2,
        }
    }

    /// The type that a tag marks.
    pub(crate) fn of_tag(tag: u8) -> Option<Self> {
        [Self::U32, Self::F64]
            .into_iter()
            .find(|kind| kind.tag() == tag)
    }

    /// Bytes of a value.
    pub fn size(self) -> usize {
        match self {
            Self::U32 => 4,
            Self::F64 => 8,
        }
    }
}

/// A value that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Refusal {
    /// Name of the parameter.
    pub option: String,
    /// The value given.
    pub given: String,
    /// What is allowed.
    pub allowed: String,
}

impl Refusal {
    /// A refused value of this parameter.
    pub fn new(option: &str, given: impl ToString, allowed: impl Into<String>) -> Self {
        Self {
            option: option.to_owned(),
            given: given.to_string(),
            allowed: allowed.into(),
        }
    }
}

/// The reason why a computation ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The result is no longer needed.
    Cancelled,
    /// The engine failed, with its message.
    Failed(String),
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
    fn kind(&self) -> Kind;

    /// Largest number of steps of a pixel.
    fn steps(&self) -> u64;

    /// Whether the engine can compute this tile.
    ///
    /// # Errors
    /// The value that is not allowed.
    fn check(&self, tile: &Tile) -> Result<(), Refusal>;

    /// Describes a view of this rectangle in other forms (command, Python, file), with notes.
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

    /// The quantity at positions along a line (in the map's plane).
    ///
    /// # Errors
    /// [`Ended`].
    fn line(&self, positions: &[[f64; 2]], cancel: &dyn Cancel) -> Result<Values, Ended>;
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

/// A pixel's system and its twin over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Orbit {
    /// A summary: an object for the page.
    pub summary: Value,
    /// Names of the columns of [`samples`](Self::samples).
    pub columns: Vec<String>,
    /// Samples, row by row.
    pub samples: Vec<f64>,
}
