//! Maps: the value of every pixel, computed by threads that fetch the next pixel when theirs is done. Each row of
//! [`methods`](crate::methods) has one entry point, and a second one if masses that are the same for all pixels are faster.

use cuda_std::prelude::*;

use crate::Real;
use crate::device::fetch::{self, MassiveThread, Ring, Shared, Starts, Thread};
use crate::integrator::{self, Integrator, MapIntegrator};
use crate::map::{Job, Point};
use crate::quantity::{self, Quantity};

/// Computes the values of pixels that threads fetch from a ring of tiles, for about `slice_ns` nanoseconds. Another launch with the
/// same buffers continues where this one stopped.
///
/// A thread whose pixel is done takes the next one at once, so that no warp waits for its slowest pixel. A launch ends after a known
/// time for any map, so that the host can add tiles, read finished ones, report progress, cancel, or leave the GPU to the display. (A
/// fixed number of steps would not do: warps progress at different speeds, and the last ones would run alone.) A thread that finds no
/// pixel ends its launch and asks again in the next one, so that the host can add tiles at any time, and the device is fully used
/// until the last tiles.
///
/// # Parameters
/// - `job`: the map, by value; its `first` and `count` are not used
/// - `slice_ns`: time after which a thread ends this launch, checked every [`ROUNDS_PER_CLOCK_READING`](fetch::ROUNDS_PER_CLOCK_READING) rounds of steps
/// - `ring`: tiles and values
/// - `threads`: a [`MassiveThread`] for each thread of the grid; before the first launch they have [fresh](Thread::fresh) lanes or all
///   bits set
/// - `shared`: counters, zero before the first launch
/// - `starts`: the start states and masses of the map's pixels
///
/// # Thread mapping
/// One-dimensional; any number of blocks of any size. Which thread computes a pixel does not change its value.
///
/// # Safety
/// `ring.tiles` must hold the tiles of all tickets from `shared.next` up to `ring.limit`, fewer than 2^31, each with its own slot, for
/// which `ring.values` and `ring.done` must be valid. `threads` must be valid for as many values as the grid has threads, `shared` for
/// one, and those arrays of `starts` that are not null for reads at the numbers of all pixels of the tiles. Nothing else may use
/// `threads` and the tiles' `values` during the launch.
#[inline(always)]
pub unsafe fn map<Q: Quantity, I: MapIntegrator, R: Real>(
    job: Job,
    slice_ns: u64,
    ring: Ring<Q::Value>,
    threads: *mut MassiveThread<Q, I, R>,
    shared: *const Shared,
    starts: Starts,
) {
    // SAFETY: the caller guarantees this.
    unsafe { fetch::fetch::<Q, I, R>(&job, slice_ns, &ring, threads, shared, starts) };
}

/// [`map`] for pixels that all have the job's masses. The masses are then constants and take no registers, which is faster in
/// precisions where registers limit the number of resident threads.
///
/// # Parameters
/// - `threads`: a [`Thread`] for each thread of the grid, [fresh](Thread::fresh) or with all bits set
/// - `points`: the start states of the map's pixels, in their order; null for those of the job's grid
///
/// # Safety
/// The same as for [`map`].
#[inline(always)]
pub unsafe fn map_uniform<Q: Quantity, I: MapIntegrator, R: Real>(
    job: Job,
    slice_ns: u64,
    ring: Ring<Q::Value>,
    threads: *mut Thread<Q, I, R>,
    shared: *const Shared,
    points: *const Point,
) {
    // SAFETY: the caller guarantees this.
    unsafe { fetch::fetch_uniform::<Q, I, R>(&job, slice_ns, &ring, threads, shared, points) };
}

/// The entry points of a row of [`methods`](crate::methods). Twins with steps of their own keep what the loop over stages does not need in
/// local memory, so that more threads are resident.
macro_rules! entries {
    ([] Divergence $q:ident, Regularised2 $($rest:tt)*) => {
        entries! { [kernel(max_registers = 128)] Divergence $q, Regularised2 $($rest)* }
    };
    ([] Divergence $q:ident, Regularised6 $($rest:tt)*) => {
        entries! { [kernel(max_registers = 128)] Divergence $q, Regularised6 $($rest)* }
    };
    ([] Divergence $q:ident, Regularised8 $($rest:tt)*) => {
        entries! { [kernel(max_registers = 128)] Divergence $q, Regularised8 $($rest)* }
    };
    ([] $($row:tt)*) => {
        entries! { [kernel] $($row)* }
    };
    (
        $kernel:tt $quantity:ident $q:ident, $integrator:ident $i:ident, {$precision:ty} $p:ident,
        $($uniform:ident)?
    ) => {
        pastey::paste! {
            #[doc = concat!("[`map`]: ", stringify!($q), ", ", stringify!($i), ", ", stringify!($p), ".")]
            ///
            /// # Safety
            /// The same as for [`map`](fn@crate::kernels::map).
            #$kernel
            pub unsafe fn [<map_ $q _ $i _ $p>](
                job: Job,
                slice_ns: u64,
                ring: Ring<<quantity::$quantity as Quantity>::Value>,
                threads: *mut MassiveThread<
                    quantity::$quantity,
                    <integrator::$integrator as Integrator>::OnMaps,
                    $precision,
                >,
                shared: *const Shared,
                starts: Starts,
            ) {
                // SAFETY: the caller guarantees this.
                unsafe { map(job, slice_ns, ring, threads, shared, starts) };
            }

            $(
                #[doc = concat!("[`map_uniform`]: ", stringify!($q), ", ", stringify!($i), ", ", stringify!($p), ".")]
                ///
                /// # Safety
                /// The same as for [`map_uniform`](fn@crate::kernels::map_uniform).
                #$kernel
                pub unsafe fn [<map_ $uniform _ $q _ $i _ $p>](
                    job: Job,
                    slice_ns: u64,
                    ring: Ring<<quantity::$quantity as Quantity>::Value>,
                    threads: *mut Thread<
                        quantity::$quantity,
                        <integrator::$integrator as Integrator>::OnMaps,
                        $precision,
                    >,
                    shared: *const Shared,
                    points: *const Point,
                ) {
                    // SAFETY: the caller guarantees this.
                    unsafe { map_uniform(job, slice_ns, ring, threads, shared, points) };
                }
            )?
        }
    };
}

crate::methods!({entries} []);
