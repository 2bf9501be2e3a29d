//! Threads that fetch the next pixel when their own is done, which are the basis of the kernels of maps.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cuda_std::thread;

use super::timer_ns;
use crate::Real;
use crate::integrator::MapIntegrator;
use crate::lanes::{FRESH, IDLE, LaneState, Pixel, PixelSource};
use crate::map::{Job, Masses, Point};
use crate::quantity::{LaneMasses, Quantity};

/// Pixels of a tile. Every tile has memory for this many pixels; the last tile of a span may be only partly filled.
pub const TILE: u32 = 1024;

/// Consecutive pixels to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Tile {
    /// The first pixel.
    pub first: u64,
    /// Number of pixels, from 1 to [`TILE`].
    pub count: u32,
    /// Where their values go: from index `slot` · [`TILE`] on.
    pub slot: u32,
}

/// The tiles from which threads fetch pixels, and the destination of the values. The host adds tiles between launches.
///
/// Threads draw tickets in ascending order: ticket `t` is pixel `t % TILE` of the tile at index `t / TILE` of the ring `tiles`. Ticket
/// numbers may wrap.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Ring<V> {
    /// A ring of `mask` + 1 (a power of two) tiles.
    pub tiles: *const Tile,
    /// [`TILE`] values for each slot.
    pub values: *mut V,
    /// Total number of pixels finished in each slot (wrapping).
    pub done: *const AtomicU32,
    /// See `tiles`.
    pub mask: u32,
    /// The first ticket without a tile.
    pub limit: u32,
}

/// The counters that the threads of a launch share. All zero before the first launch.
#[derive(Debug)]
#[repr(C)]
pub struct Shared {
    /// Number of steps, including those that pixels which ended early no longer had to take. At the end it is the number of steps of a
    /// pixel times the number of pixels.
    pub steps: AtomicU64,
    /// The next ticket.
    pub next: AtomicU32,
    /// Padding, so that every byte is data.
    pub unused: u32,
}

impl Shared {
    /// The counters before the first launch.
    pub const fn new() -> Self {
        Self {
            steps: AtomicU64::new(0),
            next: AtomicU32::new(0),
            unused: 0,
        }
    }
}

impl Default for Shared {
    fn default() -> Self {
        Self::new()
    }
}

/// Rounds of steps between two readings of the clock.
pub const ROUNDS_PER_CLOCK_READING: u32 = 256;

/// The state of a thread between launches, which is an unfinished pixel.
pub type Thread<Q, I, R> = LaneState<Q, I, R>;

/// The state of a thread whose pixel has its own masses.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MassiveThread<Q: Quantity, I: MapIntegrator, R: Real> {
    /// The unfinished pixel.
    pub lanes: LaneState<Q, I, R>,
    /// The masses of that pixel; arbitrary before the first launch.
    pub masses: LaneMasses<Q, I, R>,
}

/// The start states and masses of a map's pixels.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Starts {
    /// The start states of the map's pixels, in their order; null to use the job's grid.
    pub points: *const Point,
    /// The masses of the pixels, in their order; null to use the job's masses.
    pub masses: *const Masses,
}

impl Starts {
    /// The grid and the masses of the job for all pixels.
    pub const OF_JOB: Self = Self {
        points: core::ptr::null(),
        masses: core::ptr::null(),
    };
}

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
/// - `slice_ns`: time after which a thread ends this launch, checked every [`ROUNDS_PER_CLOCK_READING`] rounds of steps
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
    job: &Job,
    slice_ns: u64,
    ring: &Ring<Q::Value>,
    threads: *mut MassiveThread<Q, I, R>,
    shared: *const Shared,
    starts: Starts,
) {
    // SAFETY: the caller guarantees a value for every thread of the grid, which only this thread uses.
    let slot = unsafe { threads.add(thread::index_1d() as usize) };
    // SAFETY: as above.
    let MassiveThread {
        mut lanes,
        mut masses,
    } = unsafe { *slot };
    let own = Some(&mut masses);
    // SAFETY: the caller guarantees this.
    unsafe { go::<Q, I, R, true>(job, slice_ns, ring, &mut lanes, own, shared, starts) };
    // SAFETY: as above.
    unsafe { *slot = MassiveThread { lanes, masses } };
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
    job: &Job,
    slice_ns: u64,
    ring: &Ring<Q::Value>,
    threads: *mut Thread<Q, I, R>,
    shared: *const Shared,
    points: *const Point,
) {
    // SAFETY: the caller guarantees a value for every thread of the grid, which only this thread uses.
    let slot = unsafe { threads.add(thread::index_1d() as usize) };
    // SAFETY: as above.
    let mut lanes = unsafe { *slot };
    let starts = Starts {
        points,
        ..Starts::OF_JOB
    };
    // SAFETY: the caller guarantees this.
    unsafe { go::<Q, I, R, false>(job, slice_ns, ring, &mut lanes, None, shared, starts) };
    // SAFETY: as above.
    unsafe { *slot = lanes };
}

/// Takes steps until the time is over or there are no more pixels.
///
/// # Safety
/// `ring`, `shared` and `starts` must be as for [`map`].
#[inline(always)]
unsafe fn go<Q: Quantity, I: MapIntegrator, R: Real, const OWN_MASSES: bool>(
    job: &Job,
    slice_ns: u64,
    ring: &Ring<Q::Value>,
    lanes: &mut LaneState<Q, I, R>,
    mut own: Option<&mut LaneMasses<Q, I, R>>,
    shared: *const Shared,
    starts: Starts,
) {
    // SAFETY: the caller guarantees `shared`.
    let shared = unsafe { &*shared };
    lanes.ask_again();
    let mut source = Fetching::<_, OWN_MASSES> {
        job,
        ring,
        shared,
        starts,
        // The state of a thread without a pixel is undefined.
        credited: if lanes.pixel.as_ref()[0] == FRESH {
            0
        } else {
            lanes.progress(0)
        },
    };
    let start = timer_ns();
    loop {
        match &mut own {
            None => lanes.run(job, ROUNDS_PER_CLOCK_READING, &mut source),
            Some(masses) => {
                lanes.run_with_masses(job, ROUNDS_PER_CLOCK_READING, masses, &mut source)
            }
        };
        if lanes.pixel.as_ref()[0] == IDLE || timer_ns().wrapping_sub(start) >= slice_ns {
            break;
        }
    }
    if lanes.pixel.as_ref()[0] != IDLE {
        let taken = lanes.progress(0) - source.credited;
        shared.steps.fetch_add(taken as u64, Ordering::Relaxed);
    }
}

/// Takes pixels from the ring by the shared counter, and writes their values to memory.
struct Fetching<'a, V, const OWN_MASSES: bool> {
    job: &'a Job,
    ring: &'a Ring<V>,
    shared: &'a Shared,
    starts: Starts,
    /// Steps of the current pixel that `shared.steps` already includes.
    credited: u32,
}

impl<V, const OWN_MASSES: bool> PixelSource<V> for Fetching<'_, V, OWN_MASSES> {
    const OWN_MASSES: bool = OWN_MASSES;

    #[inline(always)]
    fn next(&mut self) -> Option<Pixel> {
        loop {
            let ticket = self.shared.next.fetch_add(1, Ordering::Relaxed);
            if self.ring.limit.wrapping_sub(ticket) as i32 <= 0 {
                // All tickets below the limit have been taken, so the returned ticket is not one of them.
                self.shared.next.fetch_sub(1, Ordering::Relaxed);
                return None;
            }
            let position = ((ticket / TILE) & self.ring.mask) as usize;
            // SAFETY: the kernel's caller guarantees the tiles of all tickets below the limit.
            let tile = unsafe { *self.ring.tiles.add(position) };
            let within = ticket % TILE;
            if within < tile.count {
                return Some(Pixel {
                    number: tile.first + within as u64,
                    slot: tile.slot * TILE + within,
                });
            }
        }
    }

    #[inline(always)]
    fn done(&mut self, slot: u32, value: V) {
        self.shared
            .steps
            .fetch_add((self.job.steps - self.credited) as u64, Ordering::Relaxed);
        self.credited = 0;
        // SAFETY: the kernel's caller guarantees the slots of its tiles, and only this thread was given this pixel.
        unsafe {
            *self.ring.values.add(slot as usize) = value;
            (*self.ring.done.add((slot / TILE) as usize)).fetch_add(1, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn point(&self, job: &Job, number: u64) -> Point {
        if self.starts.points.is_null() {
            job.grid.point(number)
        } else {
            // SAFETY: the kernel's caller guarantees a point for every pixel of its tiles.
            unsafe { *self.starts.points.add(number as usize) }
        }
    }

    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        OWN_MASSES.then(|| {
            if self.starts.masses.is_null() {
                self.job.masses
            } else {
                // SAFETY: as above.
                unsafe { *self.starts.masses.add(number as usize) }
            }
        })
    }
}
