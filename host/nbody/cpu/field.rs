//! The data on which forces depend, their sums, and how many bodies are evaluated together.

use kernels_gpu::device::DeviceNumber;
use kernels_gpu::physics::summation::all_pairs::TILE;

/// Bodies per tile.
pub(super) const T: usize = TILE as usize;
/// Bodies per row.
pub(super) const ROW: usize = T * K;
/// Tiles per row.
pub(super) const K: usize = <f64 as DeviceNumber>::LANE_BODIES;
/// Vectors of bodies whose pairs are evaluated together: enough independent work to hide the latency of r⁻³, and an even number,
/// because the seeds of two fill one vector.
pub(super) const VECTORS_TOGETHER: usize = 8;

/// Vectors of bodies that are evaluated together with [few registers](super::vector::Vector::FEW_REGISTERS).
pub(super) const VECTORS_IN_FEW_REGISTERS: usize = 4;

/// The data on which forces depend. The slices have at least n numbers, padded to whole rows with bodies of mass 0 that
/// coincide neither with each other nor with other bodies.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub x: &'a [f64],
    pub y: &'a [f64],
    pub z: &'a [f64],
    /// G·m.
    pub g: &'a [f64],
    pub n: usize,
    pub chunk: usize,
    pub softening2: f64,
    /// Whether all n bodies have the same G·m, so that a pair can multiply by it once for both bodies.
    pub equal: bool,
}

/// The sums of a tile or a row, one array per component.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Sums<const N: usize>(pub [[f64; N]; 3]);

impl<const N: usize> Sums<N> {
    pub(super) const ZERO: Self = Self([[0.0; N]; 3]);
}
