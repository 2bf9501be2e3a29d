//! `reduced`: each pair once. A warp holds a row of bodies in registers and sweeps over the tiles behind it; a tile's
//! bodies and the sums of the pulls on them travel through the warp by shuffles.
//!
//! The sums of a tile go to a [`Sink`]: to memory of their own, added up later in a fixed order ([`Partials`],
//! [`gather`]), or atomically to the accelerations ([`Atomics`]), which needs no memory but has no fixed order.

use cuda_std::warp::{self, warp_shuffle_idx, warp_shuffle_xor};

use super::order::{TILE, partner};
use super::pull::{mutual, one_sided};
use super::{Body, Scalar};

/// All lanes.
const WARP: u32 = u32::MAX;

/// What a launch of the reduced solver is about.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Reduced<S> {
    /// Softening length squared.
    pub softening2: S,
    /// Bodies.
    pub n: u32,
    /// Bodies of a chunk, [`chunk_length`](super::order::chunk_length).
    pub chunk: u32,
    /// First row of this launch.
    pub row: u32,
    /// Rows of this launch.
    pub rows: u32,
    /// Distance of the planes of the partial sums: [`n`](Self::n) rounded up to whole rows.
    pub stride: u32,
}

impl<S: Scalar> Reduced<S> {
    /// Bodies of a row.
    pub const ROW: u32 = TILE * S::LANE_BODIES as u32;

    /// Number of chunks.
    #[inline(always)]
    pub fn chunks(&self) -> u32 {
        self.n.div_ceil(self.chunk)
    }
}

/// Takes the sums of a sweep.
pub trait Sink<S> {
    /// What row `row` did to body `j` of a tile behind it.
    fn behind(&self, row: u32, j: u32, a: [S; 3]);
    /// What the bodies of `chunk` did to body `i`.
    fn own(&self, chunk: u32, i: u32, a: [S; 3]);
}

/// The pulls between row `row` and the part of `chunk` that does not lie before it. Called by all lanes of a warp with the same
/// row and chunk; `K` is [`Scalar::LANE_BODIES`].
///
/// # Safety
/// `bodies` is valid for n rounded up to whole rows; those from n on pull with strength 0 and lie apart from each other and
/// from all others.
#[inline(always)]
pub unsafe fn sweep<S: Scalar, const K: usize>(
    job: &Reduced<S>,
    bodies: *const Body<S>,
    row: u32,
    chunk: u32,
    sink: &impl Sink<S>,
) {
    let lane = warp::lane_id();
    let zero = S::zero();
    let first = row * Reduced::<S>::ROW;
    let behind = first + Reduced::<S>::ROW;
    let end = ((chunk + 1) * job.chunk).min(job.n);
    let mut base = (chunk * job.chunk).max(first);
    if base >= end {
        return;
    }
    let mut p = [[zero; 3]; K];
    let mut minus_g = [zero; K];
    let mut a = [[zero; 3]; K];
    let mut k = 0;
    while k < K {
        // SAFETY: within the row.
        let b = unsafe { *bodies.add((first + k as u32 * TILE + lane) as usize) };
        p[k] = b.vector();
        minus_g[k] = -b.g;
        k += 1;
    }
    // The row itself: each lane's bodies meet all of the row's, ascending.
    while base < behind.min(end) {
        // SAFETY: within the row.
        let b = unsafe { *bodies.add((base + lane) as usize) };
        let count = TILE.min(end - base);
        let mut r = 0;
        while r < count {
            // SAFETY: all lanes are here.
            let j = unsafe {
                [
                    warp_shuffle_idx(WARP, b.x, r, TILE).0,
                    warp_shuffle_idx(WARP, b.y, r, TILE).0,
                    warp_shuffle_idx(WARP, b.z, r, TILE).0,
                    warp_shuffle_idx(WARP, b.g, r, TILE).0,
                ]
            };
            one_sided::<S, K, 3>(&p, &mut a, &[j[0], j[1], j[2]], j[3], job.softening2);
            r += 1;
        }
        base += TILE;
    }
    // What is behind it: each pair once.
    while base < end {
        // SAFETY: base < n, and bodies are padded to whole tiles.
        let b = unsafe { *bodies.add((base + lane) as usize) };
        let (mut j, mut g_j, mut a_j) = (b.vector(), b.g, [zero; 3]);
        let mut s = 0;
        while s < TILE {
            mutual::<S, K, 3>(&p, &minus_g, &mut a, &j, g_j, &mut a_j, job.softening2);
            // After the last step back to the lane of the start.
            let mask = partner(s) ^ partner((s + 1) % TILE);
            // SAFETY: all lanes are here.
            unsafe {
                j = swapped(j, mask);
                a_j = swapped(a_j, mask);
                g_j = warp_shuffle_xor(WARP, g_j, mask, TILE).0;
            }
            s += 1;
        }
        sink.behind(row, base + lane, a_j);
        base += TILE;
    }
    k = 0;
    while k < K {
        sink.own(chunk, first + k as u32 * TILE + lane, a[k]);
        k += 1;
    }
}

/// # Safety
/// All lanes call it with the same mask.
#[inline(always)]
unsafe fn swapped<S: Scalar>(v: [S; 3], mask: u32) -> [S; 3] {
    // SAFETY: the caller's promise.
    unsafe {
        [
            warp_shuffle_xor(WARP, v[0], mask, TILE).0,
            warp_shuffle_xor(WARP, v[1], mask, TILE).0,
            warp_shuffle_xor(WARP, v[2], mask, TILE).0,
        ]
    }
}

/// Memory for the sums of a launch: P(row, body) as three planes a row, Q(chunk, body) as three planes a chunk, each
/// plane `stride` numbers long. The pointers are valid for that.
#[derive(Clone, Copy, Debug)]
pub struct Partials<S> {
    /// rows × 3 × stride.
    pub p: *mut S,
    /// chunks × 3 × stride.
    pub q: *mut S,
    /// First row that `p` holds.
    pub row: u32,
    /// Length of a plane.
    pub stride: u32,
}

impl<S: Scalar> Partials<S> {
    /// Where the first component of `body` in the `index`-th triple of planes of `of` is.
    #[inline(always)]
    fn place(&self, of: *mut S, index: u32, body: u32) -> *mut S {
        // SAFETY: within the planes.
        unsafe { of.add(index as usize * 3 * self.stride as usize + body as usize) }
    }

    #[inline(always)]
    fn write(&self, place: *mut S, a: [S; 3]) {
        let stride = self.stride as usize;
        // SAFETY: within the planes; each place is written by one thread.
        unsafe {
            *place = a[0];
            *place.add(stride) = a[1];
            *place.add(2 * stride) = a[2];
        }
    }

    #[inline(always)]
    fn plus(&self, total: [S; 3], place: *const S) -> [S; 3] {
        let stride = self.stride as usize;
        // SAFETY: within the planes.
        unsafe {
            [
                total[0] + *place,
                total[1] + *place.add(stride),
                total[2] + *place.add(2 * stride),
            ]
        }
    }
}

impl<S: Scalar> Sink<S> for Partials<S> {
    #[inline(always)]
    fn behind(&self, row: u32, j: u32, a: [S; 3]) {
        self.write(self.place(self.p, row - self.row, j), a);
    }

    #[inline(always)]
    fn own(&self, chunk: u32, i: u32, a: [S; 3]) {
        self.write(self.place(self.q, chunk, i), a);
    }
}

/// Adds up what the rows of a launch did to body `b`, in the order of [`order`](super::order). `sums` holds A of the rows of
/// earlier launches and gets that of these as well; once the body's own row is among them, A + Q.
///
/// # Safety
/// `sums` is valid for n values and the planes for what `job` says; each `b` < n is handled by one thread.
#[inline(always)]
pub unsafe fn gather<S: Scalar>(job: &Reduced<S>, from: &Partials<S>, sums: *mut Body<S>, b: u32) {
    let zero = S::zero();
    let row_of_b = b / Reduced::<S>::ROW;
    if row_of_b < job.row {
        return;
    }
    // SAFETY: b < n.
    let place = unsafe { &mut *sums.add(b as usize) };
    let mut total = if job.row == 0 {
        [zero; 3]
    } else {
        place.vector()
    };
    let last = (job.row + job.rows).min(row_of_b);
    let mut row = job.row;
    while row < last {
        total = from.plus(total, from.place(from.p, row - job.row, b));
        row += 1;
    }
    if row_of_b < job.row + job.rows {
        let mut own = [zero; 3];
        let mut chunk = row_of_b * Reduced::<S>::ROW / job.chunk;
        while chunk < job.chunks() {
            own = from.plus(own, from.place(from.q, chunk, b));
            chunk += 1;
        }
        total = [total[0] + own[0], total[1] + own[1], total[2] + own[2]];
    }
    *place = Body {
        x: total[0],
        y: total[1],
        z: total[2],
        g: zero,
    };
}

/// Accelerations in memory that all warps add to.
#[derive(Clone, Copy, Debug)]
pub struct Atomics<S> {
    /// n rounded up to whole rows.
    pub sums: *mut Body<S>,
}

impl<S: Scalar> Atomics<S> {
    #[inline(always)]
    fn add(&self, body: u32, a: [S; 3]) {
        // SAFETY: `sums` holds every body, and is only added to.
        unsafe {
            let place = self.sums.add(body as usize).cast::<S>();
            S::atomic_add(place, a[0]);
            S::atomic_add(place.add(1), a[1]);
            S::atomic_add(place.add(2), a[2]);
        }
    }
}

impl<S: Scalar> Sink<S> for Atomics<S> {
    #[inline(always)]
    fn behind(&self, _row: u32, j: u32, a: [S; 3]) {
        self.add(j, a);
    }

    #[inline(always)]
    fn own(&self, _chunk: u32, i: u32, a: [S; 3]) {
        self.add(i, a);
    }
}
