//! The sources of pixels, which also receive the values.

use super::IDLE;
use crate::map::{Job, Masses, Point};

/// A pixel to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixel {
    /// Its number in the whole map, in row-major order.
    pub number: u64,
    /// The number by which the source identifies it, less than [`IDLE`].
    pub slot: u32,
}

const _: () = assert!(IDLE > 0);

/// A source of pixels, which also receives their values.
pub trait PixelSource<V> {
    /// Whether pixels may have their own [masses](Self::masses).
    const OWN_MASSES: bool = false;

    /// Returns the next pixel, if there is one.
    fn next(&mut self) -> Option<Pixel>;
    /// Receives the value of the pixel with this slot.
    fn done(&mut self, slot: u32, value: V);
    /// The start state of a pixel, given by its number. By default it is that of the job's grid.
    #[inline(always)]
    fn point(&self, job: &Job, number: u64) -> Point {
        job.grid.point(number)
    }
    /// The masses of a pixel, given by its number, if they differ from the job's. Either all pixels have masses of their own, or none
    /// has.
    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        let _ = number;
        None
    }
}
