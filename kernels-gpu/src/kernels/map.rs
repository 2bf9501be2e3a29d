//! Maps: the value of every pixel, by threads that fetch the next pixel when theirs is done. One entry for each row of
//! [`methods`](crate::methods), and a second one for those in which masses that are the same for all pixels are faster.

use cuda_std::prelude::*;

use crate::Real;
use crate::device::fetch::{self, MassiveThread, Ring, Shared, Starts, Thread};
use crate::integrator::{self, Integrator, MapIntegrator};
use crate::lanes::Item;
use crate::map::{Job, Point};
use crate::quantity::{self, Quantity};

/// Values of pixels that threads fetch from a ring of tiles, for about `slice_ns` nanoseconds; launched again with the
/// same buffers, it continues where it stopped.
///
/// A thread whose pixel is done takes the next one at once, so that no warp waits for its slowest pixel. A launch ends after a
/// known time for any map, so that the host can add tiles, read finished ones, report progress, cancel, or leave the GPU to the
/// display. (A fixed number of steps would not serve: warps progress unequally, and the last ones would run alone.) A thread that
/// finds no pixel ends its launch and asks again in the next one, so that the host can add tiles at any time, and the device is
/// fully used until the last tiles.
///
/// # Parameters
/// - `job`: the map, by value; its `first` and `count` are not used
/// - `slice_ns`: time after which a thread ends this launch, checked every [`ROUNDS`](fetch::ROUNDS) rounds of steps
/// - `ring`: tiles and values
/// - `threads`: a [`MassiveThread`] for each thread of the grid, before the first launch with [fresh](Thread::fresh) lanes or with all bits set
/// - `shared`: counters, zero before the first launch
/// - `starts`: the start states and masses of the map's pixels
///
/// # Thread mapping
/// One-dimensional; any number of blocks of any size. Which thread computes a pixel does not change its value.
///
/// # Safety
/// `ring.tiles` must hold the tiles of all tickets from `shared.next` up to `ring.limit`, fewer than 2^31, each with a slot of
/// its own for which `ring.values` and `ring.done` are valid; `threads` must be valid for as many values as the grid has threads,
/// `shared` for one, the arrays of `starts` that are not null for reads at the numbers of all pixels of the tiles; nobody else may use
/// `threads` and the tiles' `values` meanwhile.
#[inline(always)]
pub unsafe fn map<Q: Quantity, I: MapIntegrator, R: Real>(
    job: Job,
    slice_ns: u64,
    ring: Ring<Q::Value>,
    threads: *mut MassiveThread<Q, I, R>,
    shared: *const Shared,
    starts: Starts,
) {
    // SAFETY: the caller's promise.
    unsafe { fetch::fetch::<Q, I, R>(&job, slice_ns, &ring, threads, shared, starts) };
}

/// [`map`] for pixels that all have the job's masses, which are then constants and take no registers: faster in precisions in
/// which registers limit the number of resident threads.
///
/// # Parameters
/// - `threads`: a [`Thread`] for each thread of the grid, [fresh](Thread::fresh) or with all bits set
/// - `points`: the start states of the map's pixels, in their order; null for those of the job's grid
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn map_uniform<Q: Quantity, I: MapIntegrator, R: Real>(
    job: Job,
    slice_ns: u64,
    ring: Ring<Q::Value>,
    threads: *mut Thread<Q, I, R>,
    shared: *const Shared,
    points: *const Point,
) {
    // SAFETY: the caller's promise.
    unsafe { fetch::fetch_uniform::<Q, I, R>(&job, slice_ns, &ring, threads, shared, points) };
}

/// Steps the items of a list until they end or have taken `job.steps` steps, for about `slice_ns` nanoseconds;
/// launched again with the same buffers, it continues where it stopped. The job is done when
/// `shared.steps` is `job.count` · `job.steps`.
///
/// # Parameters
/// - `job`: the map, by value; `count` is the number of items, `first` is not used
/// - `slice_ns`: as in [`map`]
/// - `items`: `job.count` of them, each of which [goes on](Item::goes_on)
/// - `threads`, `shared`: as there
///
/// # Thread mapping
/// As there.
///
/// # Safety
/// `items` must be valid for reads and writes of `job.count` values; the others as there.
#[inline(always)]
pub unsafe fn map_resume<Q: Quantity, I: MapIntegrator, R: Real<Lane = R>>(
    job: Job,
    slice_ns: u64,
    items: *mut Item<Q::State<R, I>>,
    threads: *mut Thread<Q, I, R>,
    shared: *const Shared,
) {
    // SAFETY: the caller's promise.
    unsafe { fetch::resume::<Q, I, R>(&job, slice_ns, items, threads, shared) };
}

/// The entries of a row of [`methods`](crate::methods).
macro_rules! entries {
    (
        [] $quantity:ident $q:ident, $integrator:ident $i:ident, {$precision:ty} $p:ident,
        $($uniform:ident)?
    ) => {
        pastey::paste! {
            #[doc = concat!("[`map`]: ", stringify!($q), ", ", stringify!($i), ", ", stringify!($p), ".")]
            ///
            /// # Safety
            /// As there.
            #[kernel]
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
                // SAFETY: the caller's promise.
                unsafe { map(job, slice_ns, ring, threads, shared, starts) };
            }

            $(
                #[doc = concat!("[`map_uniform`]: ", stringify!($q), ", ", stringify!($i), ", ", stringify!($p), ".")]
                ///
                /// # Safety
                /// As there.
                #[kernel]
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
                    // SAFETY: the caller's promise.
                    unsafe { map_uniform(job, slice_ns, ring, threads, shared, points) };
                }
            )?
        }
    };
}

crate::methods!({entries} []);

/// [`map_resume`]: divergence, explicit Euler, `f64`: the pixels that zooms continue from frame to frame.
///
/// # Safety
/// As there.
#[kernel]
pub unsafe fn map_resume_divergence_explicit_euler_f64(
    job: Job,
    slice_ns: u64,
    items: *mut Item<<quantity::Divergence as Quantity>::State<f64, integrator::ExplicitEuler>>,
    threads: *mut Thread<quantity::Divergence, integrator::ExplicitEuler, f64>,
    shared: *const Shared,
) {
    // SAFETY: the caller's promise.
    unsafe { map_resume(job, slice_ns, items, threads, shared) };
}
