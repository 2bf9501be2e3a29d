//! Divergence map, threads that fetch the next pixel when theirs is done.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cuda_std::prelude::*;

use crate::Real;
use crate::device::timer_ns;
use crate::divergence::{FRESH, Feed, IDLE, Job, Masses, Pixel, Twins, Walker, Weights};
use crate::integrator::three_body::{ExplicitEuler, Integrator, Memory};

/// Pixels of a tile. Whole tiles have a place in memory; those at the end of something are filled in part.
pub const TILE: u32 = 1024;

/// Consecutive pixels to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Tile {
    /// The first of them.
    pub first: u64,
    /// How many, 1 to [`TILE`].
    pub count: u32,
    /// Where their results go: from `slot` · [`TILE`] on.
    pub slot: u32,
}

/// The tiles that the threads fetch pixels from, and where results go. The host adds tiles between launches.
///
/// Threads draw tickets in their order: ticket `t` is pixel `t % TILE` of the tile that the ring `tiles` holds at
/// `t / TILE`. Counts of tickets may wrap.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Ring {
    /// A ring of `mask` + 1 (a power of two) tiles.
    pub tiles: *const Tile,
    /// [`TILE`] numbers of steps for each slot.
    pub times: *mut u32,
    /// How many pixels have ever been done in each slot (wrapping).
    pub done: *const AtomicU32,
    /// See `tiles`.
    pub mask: u32,
    /// The first ticket that there is no tile for.
    pub limit: u32,
}

/// What the threads of a launch share. All zero before the first launch.
#[derive(Debug)]
#[repr(C)]
pub struct Shared {
    /// Steps accounted for: those taken, and those that pixels which parted early will not take. In the end it is
    /// the steps of a pixel times the pixels done.
    pub steps: AtomicU64,
    /// The next ticket.
    pub next: AtomicU32,
    /// Nothing.
    pub unused: u32,
}

/// Pairs of steps between two looks at the clock.
pub const STRIDE: u32 = 256;

/// What a thread keeps from launch to launch.
pub type Thread = Walker<f64, 1>;

/// `times` of pixels that threads fetch from a ring of tiles, for about `slice_ns` nanoseconds; launched again with the
/// same buffers it goes on where it stopped.
///
/// A thread whose pixel is done takes the next one at once, so no warp waits for its slowest pixel; and a launch ends
/// after a known time, whatever the map, so that the host can hand out more tiles, bring back those that are done,
/// report progress, stop, or leave the display alone.
/// (A known number of steps would not do: warps progress unequally, and the last ones would run alone.)
/// A thread that finds no pixel ends its launch and asks again in the next one: tiles can follow as long as the host
/// likes, and only after the very last is the device less than full.
///
/// # Parameters
/// - `job`: the map, by value; its `first` and `count` are not looked at
/// - `slice_ns`: time after which a thread ends this launch; looked at every 256 pairs of steps
/// - `ring`: tiles and results
/// - `threads`: a [`Thread`] for each thread of the grid, [`Walker::fresh`] before the first launch
/// - `shared`: counters, zero before the first launch
///
/// # Thread mapping
/// One-dimensional; any number of blocks of any size. Which thread computes a pixel does not change its result.
///
/// # Safety
/// `ring.tiles` must hold the tiles of all tickets from `shared.next` up to `ring.limit`, fewer than 2^31, each with a slot of
/// its own for which `ring.times` and `ring.done` are valid; `threads` must be valid for as many values as the grid has threads,
/// `shared` for one; nobody else may use `threads` and the tiles' `times` meanwhile.
#[kernel]
pub unsafe fn divergence_fetch(
    job: Job,
    slice_ns: u64,
    ring: Ring,
    threads: *mut Thread,
    shared: *const Shared,
) {
    // SAFETY: the caller's promise.
    unsafe { fetch::<f64, ExplicitEuler, _>(&job, slice_ns, &ring, threads, shared, FromGrid) };
}

/// Where a kernel's pixels have their start states from.
pub(super) trait Starts: Copy {
    /// The start state of a pixel by its number in the map.
    fn twins<R: Real, M: Memory<R>>(&self, job: &Job, number: u64) -> Twins<R, M>;

    /// Whether pixels have masses of their own.
    const OWN_MASSES: bool = false;

    /// These masses.
    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        let _ = number;
        None
    }
}

/// From the job's grid.
#[derive(Clone, Copy)]
pub(super) struct FromGrid;

impl Starts for FromGrid {
    #[inline(always)]
    fn twins<R: Real, M: Memory<R>>(&self, job: &Job, number: u64) -> Twins<R, M> {
        job.grid.twins(number)
    }
}

/// The body of [`divergence_fetch`], of any number and integrator.
///
/// # Safety
/// As there.
#[inline(always)]
pub(super) unsafe fn fetch<R: Real, I: Integrator<R>, S: Starts>(
    job: &Job,
    slice_ns: u64,
    ring: &Ring,
    threads: *mut Walker<R, 1, I>,
    shared: *const Shared,
    starts: S,
) {
    // SAFETY: the caller vouches for a Thread for every thread of the grid, this one's alone.
    let slot = unsafe { threads.add(thread::index_1d() as usize) };
    // SAFETY: as above.
    let mut walker = unsafe { *slot };
    // SAFETY: the caller's promise.
    unsafe { go(job, slice_ns, ring, &mut walker, None, shared, starts) };
    // SAFETY: as above.
    unsafe { *slot = walker };
}

/// What a thread keeps whose pixels have masses of their own.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Weighted<R: Real, I: Integrator<R>> {
    /// The pixel under way.
    pub walker: Walker<R, 1, I>,
    /// What its masses come to.
    pub weights: Weights<R, I>,
}

/// [`fetch`] for pixels with masses of their own.
///
/// # Safety
/// As [`divergence_fetch`]; every bit pattern will do for the weights of a walker without a pixel.
#[inline(always)]
pub(super) unsafe fn fetch_weighted<R: Real, I: Integrator<R>, S: Starts>(
    job: &Job,
    slice_ns: u64,
    ring: &Ring,
    threads: *mut Weighted<R, I>,
    shared: *const Shared,
    starts: S,
) {
    // SAFETY: the caller vouches for a value for every thread of the grid, this one's alone.
    let slot = unsafe { threads.add(thread::index_1d() as usize) };
    // SAFETY: as above.
    let Weighted {
        mut walker,
        mut weights,
    } = unsafe { *slot };
    let own = Some(&mut weights);
    // SAFETY: the caller's promise.
    unsafe { go(job, slice_ns, ring, &mut walker, own, shared, starts) };
    // SAFETY: as above.
    unsafe { *slot = Weighted { walker, weights } };
}

/// Walks until the time is over or there is no pixel.
///
/// # Safety
/// `ring` and `shared` as for [`divergence_fetch`].
#[inline(always)]
unsafe fn go<R: Real, I: Integrator<R>, S: Starts>(
    job: &Job,
    slice_ns: u64,
    ring: &Ring,
    walker: &mut Walker<R, 1, I>,
    mut own: Option<&mut Weights<R, I>>,
    shared: *const Shared,
    starts: S,
) {
    // SAFETY: the caller vouches for `shared`.
    let shared = unsafe { &*shared };
    walker.ask_again();
    let mut feed = Fetch {
        steps: job.steps,
        ring,
        shared,
        starts,
        // A thread without a pixel may hold anything.
        credited: if walker.pixel[0] == FRESH {
            0
        } else {
            walker.taken[0]
        },
    };
    let start = timer_ns();
    loop {
        match &mut own {
            None => walker.walk(job, STRIDE, &mut feed),
            Some(weights) => walker.walk_weighted(job, STRIDE, weights, &mut feed),
        };
        if walker.pixel[0] == IDLE || timer_ns().wrapping_sub(start) >= slice_ns {
            break;
        }
    }
    if walker.pixel[0] != IDLE {
        shared
            .steps
            .fetch_add((walker.taken[0] - feed.credited) as u64, Ordering::Relaxed);
    }
}

/// Pixels from the ring by the shared counter, results to memory.
struct Fetch<'a, S> {
    steps: u32,
    ring: &'a Ring,
    shared: &'a Shared,
    starts: S,
    /// Steps of the present pixel that `shared.steps` already holds.
    credited: u32,
}

impl<S: Starts> Feed for Fetch<'_, S> {
    const OWN_MASSES: bool = S::OWN_MASSES;

    #[inline(always)]
    fn next(&mut self) -> Option<Pixel> {
        loop {
            let ticket = self.shared.next.fetch_add(1, Ordering::Relaxed);
            if self.ring.limit.wrapping_sub(ticket) as i32 <= 0 {
                // Every ticket below the limit is taken by now, so what is given back here is none of them.
                self.shared.next.fetch_sub(1, Ordering::Relaxed);
                return None;
            }
            let position = ((ticket / TILE) & self.ring.mask) as usize;
            // SAFETY: the kernel's caller vouches for the tiles of tickets below the limit.
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
    fn done(&mut self, slot: u32, times: u32) {
        self.shared
            .steps
            .fetch_add((self.steps - self.credited) as u64, Ordering::Relaxed);
        self.credited = 0;
        // SAFETY: the kernel's caller vouches for the slots of its tiles; this pixel was handed to this thread alone.
        unsafe {
            *self.ring.times.add(slot as usize) = times;
            (*self.ring.done.add((slot / TILE) as usize)).fetch_add(1, Ordering::Relaxed);
        }
    }
    #[inline(always)]
    fn twins<R: Real, M: Memory<R>>(&self, job: &Job, number: u64) -> Twins<R, M> {
        self.starts.twins(job, number)
    }
    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        self.starts.masses(number)
    }
}
