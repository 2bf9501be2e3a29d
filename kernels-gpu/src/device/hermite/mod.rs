//! The parts of the kernels for Hermite integration.
//!
//! A body is a record of `f64` numbers. A star's record has its mass, its time and `order` vectors; a predicted record has the mass
//! and `order` / 2 vectors, padded to an even number ([`width`]). Body s is at place s; the places up to the next multiple of the
//! number of partial sums ([`partial_sums`](crate::physics::summation::partial_sums)) hold zeros.
//!
//! [`tiles`] computes the forces on many bodies and writes partial sums for [`fold`](mod@fold); [`lanes`] computes the forces on few of a
//! small number of bodies. [`steps`] takes whole block steps, many in each launch, with the forces by [`lanes`] or [`chains`]. On one device,
//! [`small_steps`] does so for systems that fit into the shared memory of a block, and [`divided_steps`] for those that fit into that of all
//! blocks. [`neighbour_steps`] takes the block steps of the Ahmad–Cohen scheme; [`problem`], [`levels`] and [`report`] have what all need. All
//! ways to compute forces give the same bits.
//!
//! Large functions are always inlined on a GPU, but not on a CPU: the emulator does not become faster, and the many kernels that use them would take
//! twice as long to compile.

pub mod chains;
mod correction;
pub mod divided_steps;
pub mod fold;
pub mod irregular;
pub mod lanes;
pub mod levels;
pub mod neighbour_steps;
pub mod neighbours;
pub mod problem;
mod record;
pub mod report;
mod settle;
mod shared_stars;
pub mod small_steps;
pub mod steps;
pub mod tiles;
pub mod together;

pub use record::{Record, split_body, star_width, width};

use cuda_std::thread;

use crate::Vec3;
use crate::physics::hermite::predict::predict;
use record::{put_predicted, vector};

/// The problem of a launch of a force kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Launch {
    /// Square of the softening length, see [`softening2`](crate::physics::softening::softening2).
    pub softening2: f64,
    /// Number of partial sums G, a power of two.
    pub sums: u32,
    /// Bodies of each partial sum, including padding of mass 0.
    pub terms: u32,
    /// Number of bodies whose forces are computed.
    pub count: u32,
    /// First of the partial sums to compute, less than `stride`.
    pub first: u32,
    /// Distance between the partial sums to compute, a power of two up to G: 1 unless several devices share the work.
    pub stride: u32,
}

impl Launch {
    /// Number of partial sums to compute.
    #[inline(always)]
    pub const fn parts(&self) -> u32 {
        self.sums / self.stride
    }
}

/// `x` / `y` for a power of two `y`.
#[inline(always)]
const fn ratio(x: u32, y: u32) -> u32 {
    x >> y.trailing_zeros()
}

/// Writes three numbers.
///
/// # Safety
/// `to` must be valid for three numbers.
#[inline(always)]
unsafe fn put(to: *mut f64, v: Vec3<f64>) {
    // SAFETY: the caller guarantees this.
    unsafe {
        *to = v.x;
        *to.add(1) = v.y;
        *to.add(2) = v.z;
    }
}

/// Predicts the star of this thread to `time`.
///
/// # Safety
/// `stars` and `predicted` must be valid for `places` records each, and `predicted` aligned to 16 bytes. One thread for each place
/// suffices.
#[inline(always)]
pub unsafe fn predict_star<const P: usize, const D: usize>(
    stars: *const f64,
    predicted: *mut f64,
    time: f64,
    places: u32,
) {
    let place = thread::index_1d();
    if place >= places {
        return;
    }
    // SAFETY: place < places.
    unsafe {
        let (mass, motion) = motion_at::<P, D>(stars, time, place);
        put_predicted(predicted.add(place as usize * width(D)), mass, &motion);
    }
}

/// The mass of the star at `place`, and its motion at `time`.
///
/// # Safety
/// `stars` must be valid for the record at this place.
#[inline(always)]
unsafe fn motion_at<const P: usize, const D: usize>(
    stars: *const f64,
    time: f64,
    place: u32,
) -> (f64, [Vec3<f64>; D]) {
    // SAFETY: the caller guarantees this.
    unsafe {
        let star = stars.add(place as usize * const { star_width(P) });
        let x = vectors::<P>(star.add(2));
        (*star, predict::<f64, P, D>(&x, time - *star.add(1)))
    }
}

/// Reads `N` vectors from memory.
///
/// # Safety
/// `from` must be valid for 3 `N` numbers.
#[inline(always)]
unsafe fn vectors<const N: usize>(from: *const f64) -> [Vec3<f64>; N] {
    // SAFETY: the caller guarantees this.
    unsafe {
        let mut x = [vector(from); N];
        let mut k = 1;
        while k < N {
            x[k] = vector(from.add(3 * k));
            k += 1;
        }
        x
    }
}

/// Writes `N` vectors.
///
/// # Safety
/// `to` must be valid for 3 `N` numbers.
#[inline(always)]
unsafe fn put_all<const N: usize>(to: *mut f64, vectors: &[Vec3<f64>; N]) {
    let mut k = 0;
    while k < N {
        // SAFETY: the caller guarantees this.
        unsafe { put(to.add(3 * k), vectors[k]) };
        k += 1;
    }
}

/// Copies records of `width` numbers to their places, starting at number `skip` of each place.
///
/// # Safety
/// `from` must be valid for count · width numbers, `places` for `count`, and `to` for records of `stride` numbers at those places,
/// which must differ.
#[inline(always)]
pub unsafe fn scatter(
    from: *const f64,
    places: *const u32,
    to: *mut f64,
    count: u32,
    width: u32,
    stride: u32,
    skip: u32,
) {
    let at = thread::index_1d();
    if at >= count * width {
        return;
    }
    let (record, number) = (at / width, at % width);
    // SAFETY: record < count.
    unsafe {
        let place = *places.add(record as usize) as usize;
        *to.add(place * stride as usize + (skip + number) as usize) = *from.add(at as usize);
    }
}
