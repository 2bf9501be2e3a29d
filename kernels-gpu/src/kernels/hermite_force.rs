//! Hermite integration: forces with derivatives on the active particles, and potentials.

use cuda_std::prelude::*;

use crate::device::hermite::{self as device, Launch, lanes, tiles};
use crate::physics::hermite::arithmetic::{Plain, SplitF32};

/// Adds up what the blocks of a `hermite_tiles_*` kernel have left: one number for each component and body.
///
/// # Parameters
/// - `partial`: `components · parts · count` numbers: component, part, body
/// - `out`: `count · components` sums: body, component
/// - `parts`: a power of two up to 128
///
/// # Thread mapping
/// A thread a value, in a one-dimensional grid; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `out` meanwhile.
#[kernel]
pub unsafe fn hermite_fold(
    partial: *const f64,
    out: *mut f64,
    components: u32,
    count: u32,
    parts: u32,
) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { device::fold::fold(partial, out, components, count, parts) };
}

/// Potential at each body, without its own.
///
/// # Parameters
/// - `launch`: what to compute, by value; `count` is the number of bodies
/// - `predicted`: `launch.sums · launch.terms` records of `width` numbers
/// - `out`: `launch.count` potentials
///
/// # Tiling
/// Partial sums in dynamic shared memory, [`lanes::shared_bytes`] for 1 value
///
/// # Thread mapping
/// A block of [`lanes::threads`] threads a body: a thread a partial sum.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `out` meanwhile.
#[kernel]
pub unsafe fn hermite_potential(launch: Launch, predicted: *const f64, out: *mut f64, width: u32) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { lanes::potential(&launch, predicted, out, width) };
}

/// The two force kernels of an order and a precision.
macro_rules! forces {
    ($($tiles:ident $lanes:ident $arithmetic:ty, $d:literal, $bodies:literal, $what:literal;)*) => {$(
        #[doc = concat!("Forces on many active bodies, ", $what, ": their partial sums, for [`hermite_fold`].")]
        ///
        /// # Parameters
        /// - `launch`: what to compute, by value
        /// - `predicted`: `launch.sums · launch.terms` records of [`device::width`] numbers
        /// - `places`: `launch.count` places of active bodies
        /// - `partial`: `3 · derivatives · launch.parts() · launch.count` numbers: component, part, body
        ///
        /// # Tiling
        /// As many bodies at a time as a block has threads in dynamic shared memory, [`tiles::shared_bytes`]
        ///
        /// # Thread mapping
        /// A block for each part of each group of active bodies, [`device::Record::BODIES`] of them a thread; blocks of
        /// the same part follow each other. The size of blocks does not change the bits.
        ///
        /// # Safety
        /// The pointers must be valid for what is said above; nobody else may use `partial` meanwhile.
        #[kernel]
        pub unsafe fn $tiles(
            launch: Launch,
            predicted: *const f64,
            places: *const u32,
            partial: *mut f64,
        ) {
            // SAFETY: the caller vouches for the pointers.
            unsafe { tiles::pull::<$arithmetic, $d, $bodies>(&launch, predicted, places, partial) };
        }

        #[doc = concat!("Forces on few active bodies, ", $what, ".")]
        ///
        /// # Parameters
        /// - `launch`: what to compute, by value
        /// - `predicted`: `launch.sums · launch.terms` records of [`device::width`] numbers
        /// - `places`: `launch.count` places of active bodies
        /// - `out`: `launch.count · 3 · derivatives` numbers: body, component
        ///
        /// # Tiling
        /// Partial sums in dynamic shared memory, [`lanes::shared_bytes`] for 3 · derivatives values
        ///
        /// # Thread mapping
        /// A block of [`lanes::threads`] threads an active body: a thread a partial sum.
        ///
        /// # Safety
        /// The pointers must be valid for what is said above; nobody else may use `out` meanwhile.
        #[kernel]
        pub unsafe fn $lanes(
            launch: Launch,
            predicted: *const f64,
            places: *const u32,
            out: *mut f64,
        ) {
            // SAFETY: the caller vouches for the pointers.
            unsafe { lanes::pull::<$arithmetic, $d>(&launch, predicted, places, out) };
        }
    )*};
}

forces! {
    hermite_tiles_4 hermite_lanes_4 Plain<f64>, 2, 2, "order 4";
    hermite_tiles_6 hermite_lanes_6 Plain<f64>, 3, 2, "order 6";
    hermite_tiles_8 hermite_lanes_8 Plain<f64>, 4, 2, "order 8";
    hermite_tiles_4_split_f32 hermite_lanes_4_split_f32 SplitF32<f32>, 2, 4, "order 4, split-f32";
    hermite_tiles_6_split_f32 hermite_lanes_6_split_f32 SplitF32<f32>, 3, 4, "order 6, split-f32";
    hermite_tiles_8_split_f32 hermite_lanes_8_split_f32 SplitF32<f32>, 4, 4, "order 8, split-f32";
}
