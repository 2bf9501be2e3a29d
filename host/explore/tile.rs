//! Addresses of tiles, and the binary frames that transfer their values.
//!
//! A tile of level 0 is a square of side 1024; each further level halves the side. The tile (x, y) covers [x·side, (x+1)·side)
//! along the first axis and [y·side, (y+1)·side) along the second. All of these are dyadic numbers: centre and corner of a tile
//! are exact in f64, and a pixel has the same coordinate, bit for bit, in every tile that holds it, at any level.

use serde::Deserialize;

use crate::refusal::Refusal;
use crate::values::Values;

/// Side of a tile of level 0 (length).
pub const SIDE: f64 = 1024.0;
/// Largest number of pixels along a side of a tile.
pub const MAX_PIXELS: u32 = 256;
/// The deepest level: a pixel of it is 2⁻⁹⁴ wide, a few hundred times the distance of neighbouring double-double numbers at 1.
pub const MAX_LEVEL: u8 = 104;
/// Coordinates of tiles stay below this, so that their centres are exact.
const MAX_INDEX: i64 = 1 << 51;
/// Largest distance of a map from the origin (length).
const MAX_DISTANCE: f64 = 1048576.0;

/// A square of the map with a number of pixels. As JSON: `[level, x, y, pixels]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(from = "(u8, i64, i64, u32)")]
pub struct Tile {
    /// Number of times that the side of level 0 is halved.
    pub level: u8,
    /// Column.
    pub x: i64,
    /// Row.
    pub y: i64,
    /// Pixels along a side: a power of two up to [`MAX_PIXELS`].
    pub pixels: u32,
}

impl From<(u8, i64, i64, u32)> for Tile {
    fn from((level, x, y, pixels): (u8, i64, i64, u32)) -> Self {
        Self {
            level,
            x,
            y,
            pixels,
        }
    }
}

impl Tile {
    /// Length of a side.
    pub fn side(&self) -> f64 {
        SIDE * (-f64::from(self.level)).exp2()
    }

    /// The centre along both axes (length).
    pub fn center(&self) -> [f64; 2] {
        [self.x, self.y].map(|k| (k as f64 + 0.5) * self.side())
    }

    /// Number of pixels.
    pub fn count(&self) -> usize {
        (self.pixels * self.pixels) as usize
    }

    /// Checks the address independently of a map.
    ///
    /// # Errors
    /// The value that is not allowed.
    pub fn check(&self) -> Result<(), Refusal> {
        let given = format!("[{}, {}, {}, {}]", self.level, self.x, self.y, self.pixels);
        if self.level > MAX_LEVEL {
            let allowed = format!("the level must be from 0 to {MAX_LEVEL}");
            return Err(Refusal::new("tiles", given, allowed));
        }
        if !self.pixels.is_power_of_two() || self.pixels > MAX_PIXELS {
            let allowed = format!("pixels must be a power of two from 1 to {MAX_PIXELS}");
            return Err(Refusal::new("tiles", given, allowed));
        }
        let within = |k: i64| {
            (-MAX_INDEX..MAX_INDEX).contains(&k) && (k as f64 * self.side()).abs() <= MAX_DISTANCE
        };
        if !within(self.x) || !within(self.y) {
            let allowed = format!(
                "tiles lie within {MAX_DISTANCE} of the origin, and have numbers below 2^51"
            );
            return Err(Refusal::new("tiles", given, allowed));
        }
        Ok(())
    }

    /// The same square in fewer or more pixels.
    pub fn with_pixels(self, pixels: u32) -> Self {
        Self { pixels, ..self }
    }
}

/// Marks a frame: "TSTL".
const MAGIC: [u8; 4] = *b"TSTL";
/// Bytes before the values.
pub(crate) const HEADER_BYTES: usize = 16;

/// A frame with the values of tile `index` of a request: magic, type tag (u8), 0 (u8), index (u16), pixels along a side (u32),
/// length of what follows in bytes (u32), all little-endian; then the values.
pub(crate) fn frame(index: usize, pixels: u32, values: &Values) -> Vec<u8> {
    framed(values.kind().tag(), index, pixels, &values.to_bytes())
}

/// A frame with tag 0 and the reason why the tile failed, in UTF-8.
pub(crate) fn failure(index: usize, message: &str) -> Vec<u8> {
    framed(0, index, 0, message.as_bytes())
}

fn framed(tag: u8, index: usize, pixels: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    bytes.extend(MAGIC);
    bytes.extend([tag, 0]);
    bytes.extend((index as u16).to_le_bytes());
    bytes.extend(pixels.to_le_bytes());
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pixel_has_the_same_coordinate_in_every_tile_that_holds_it() {
        let coordinate = |tile: Tile, column: u32| {
            let corner = tile.center()[0] - tile.side() / 2.0;
            corner + tile.side() * (f64::from(column) / f64::from(tile.pixels))
        };
        for x in [-7_i64, 0, 5, 1234] {
            let coarse = Tile::from((12, x, 0, 64));
            for column in 0..64 {
                let fine = Tile::from((13, 2 * x + i64::from(column >= 32), 0, 64));
                let same = coordinate(fine, 2 * column % 64);
                assert_eq!(coordinate(coarse, column).to_bits(), same.to_bits());
                let denser = coordinate(coarse.with_pixels(256), 4 * column);
                assert_eq!(coordinate(coarse, column).to_bits(), denser.to_bits());
            }
        }
    }

    #[test]
    fn addresses_have_bounds() {
        for good in [
            (0, -1024, 1023, 1),
            (MAX_LEVEL, 0, -1, 256),
            (52, 1 << 50, 3, 8),
        ] {
            assert_eq!(Tile::from(good).check(), Ok(()), "{good:?}");
        }
        for bad in [
            (MAX_LEVEL + 1, 0, 0, 256),
            (0, 1025, 0, 256),
            (60, 1 << 51, 0, 256),
            (3, 0, i64::MIN, 256),
            (3, 0, 0, 0),
            (3, 0, 0, 3),
            (3, 0, 0, 512),
        ] {
            assert!(Tile::from(bad).check().is_err(), "{bad:?}");
        }
    }
}
