//! `reduced`, which evaluates each pair once. A warp holds a row of bodies in registers and processes the tiles behind it; the bodies
//! of a tile and the sums of the forces on them move through the warp by shuffles.
//!
//! The sums of a tile go to a [`Sink`]: either to arrays that are later added up in a fixed order ([`Partials`], [`gather`]), or
//! atomically to the accelerations ([`Atomics`]), which needs no memory but has no fixed order.

use cuda_std::warp::{self, warp_shuffle_idx, warp_shuffle_xor};

use crate::physics::summation::all_pairs::{TILE, partner};

use super::{AtomicSum, Body, DeviceNumber};
use crate::Vec3;
use crate::number::each;
use crate::physics::pair::{mutual, mutual_equal, one_sided, one_sided_equal};

/// The mask of all lanes.
const WARP: u32 = u32::MAX;

/// The problem of a launch of the reduced solver.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Reduced<S> {
    /// Softening length squared.
    pub softening2: S,
    /// Number of bodies.
    pub n: u32,
    /// Number of bodies per row, [`DeviceNumber::ROW`].
    pub length: u32,
    /// Number of bodies per chunk, a multiple of those per row.
    pub chunk: u32,
    /// First row of this launch.
    pub row: u32,
    /// Number of rows of this launch.
    pub rows: u32,
    /// Length of a plane of the partial sums: the bodies from the first row of this launch on, rounded up to whole rows.
    pub stride: u32,
}

impl<S> Reduced<S> {
    /// Number of chunks.
    #[inline(always)]
    pub fn chunks(&self) -> u32 {
        self.n.div_ceil(self.chunk)
    }

    /// First body of the launch's rows, with which the planes begin.
    #[inline(always)]
    pub fn first(&self) -> u32 {
        self.row * self.length
    }

    /// Number of the launch's rows that have pairs with bodies of this chunk: those that do not lie behind the chunk.
    #[inline(always)]
    pub fn rows_of(&self, chunk: u32) -> u32 {
        let end = ((chunk + 1) * self.chunk).min(self.n).div_ceil(self.length);
        end.saturating_sub(self.row).min(self.rows)
    }

    /// Number of pairs of row and chunk of the launch; each has a warp.
    pub fn units(&self) -> u32 {
        (0..self.chunks()).map(|chunk| self.rows_of(chunk)).sum()
    }

    /// Row and chunk of a unit, or `None` if it does not exist.
    #[inline(always)]
    pub fn unit(&self, unit: u32) -> Option<(u32, u32)> {
        let mut before = 0;
        let mut chunk = 0;
        while chunk < self.chunks() {
            let rows = self.rows_of(chunk);
            if unit - before < rows {
                return Some((self.row + (unit - before), chunk));
            }
            before += rows;
            chunk += 1;
        }
        None
    }
}

/// The destination of the sums of a sweep.
pub trait Sink<S> {
    /// Adds the force of row `row` on body `j` of a tile behind it.
    fn behind(&self, row: u32, j: u32, a: Vec3<S>);
    /// Adds the force of the bodies of `chunk` on body `i`.
    fn own(&self, chunk: u32, i: u32, a: Vec3<S>);
}

/// Computes the forces between row `row` and the part of `chunk` that does not lie before it. All lanes of a warp must call it with
/// the same row and chunk. `K` is the number of bodies that a lane holds, and `UNROLL` is the number of unrolled steps of a tile. With
/// `EQUAL`, the masses are left out, and the sums must be multiplied by the common G·m.
///
/// # Safety
/// `bodies` must be valid for n rounded up to whole rows. The bodies from n on must have mass 0 (with `EQUAL`, they must be so far
/// away that their forces are 0) and coincide neither with each other nor with other bodies.
#[inline(always)]
pub unsafe fn sweep<S: DeviceNumber, const K: usize, const UNROLL: u32, const EQUAL: bool>(
    job: &Reduced<S>,
    bodies: *const Body<S>,
    row: u32,
    chunk: u32,
    sink: &impl Sink<S>,
) {
    let lane = warp::lane_id();
    let zero = S::zero();
    let first = row * job.length;
    let behind = first + job.length;
    let end = ((chunk + 1) * job.chunk).min(job.n);
    let mut base = (chunk * job.chunk).max(first);
    if base >= end {
        return;
    }
    let mut p = [Vec3::zero(); K];
    let mut minus_g = [zero; K];
    let mut a = [Vec3::zero(); K];
    each!(K, |k| {
        // SAFETY: the index is within the row.
        let b = unsafe { *bodies.add((first + k as u32 * TILE + lane) as usize) };
        p[k] = b.vector();
        minus_g[k] = -b.g;
    });
    // The row itself: each lane's bodies meet all bodies of the row, in ascending order.
    while base < behind.min(end) {
        // SAFETY: the index is within the row.
        let b = unsafe { *bodies.add((base + lane) as usize) };
        let count = TILE.min(end - base);
        let mut r = 0;
        while r < count {
            // SAFETY: all lanes of the warp call it.
            let (x, g) = unsafe {
                (
                    Vec3 {
                        x: warp_shuffle_idx(WARP, b.x, r, TILE).0,
                        y: warp_shuffle_idx(WARP, b.y, r, TILE).0,
                        z: warp_shuffle_idx(WARP, b.z, r, TILE).0,
                    },
                    if EQUAL {
                        zero
                    } else {
                        warp_shuffle_idx(WARP, b.g, r, TILE).0
                    },
                )
            };
            if EQUAL {
                one_sided_equal::<S, K, 3>(&p, &mut a, x, job.softening2);
            } else {
                one_sided::<S, K, 3>(&p, &mut a, x, g, job.softening2);
            }
            r += 1;
        }
        base += TILE;
    }
    // The bodies behind the row: each pair is evaluated once.
    while base < end {
        // SAFETY: base < n, and bodies are padded to whole tiles.
        let mut j = unsafe { *bodies.add((base + lane) as usize) };
        let mut a_j = Vec3::zero();
        let mut meet = |mask: u32| {
            // The next body is transferred while this pair is evaluated.
            // SAFETY: all lanes of the warp call it.
            let next = unsafe { travelled::<S, EQUAL>(j, mask) };
            let (x, eps2) = (j.vector(), job.softening2);
            if EQUAL {
                mutual_equal::<S, K, 3>(&p, &mut a, x, &mut a_j, eps2);
            } else {
                mutual::<S, K, 3>(&p, &minus_g, &mut a, x, j.g, &mut a_j, eps2);
            }
            // SAFETY: all lanes of the warp call it.
            a_j = unsafe { swapped(a_j, mask) };
            j = next;
        };
        let mut s = 0;
        while s < TILE {
            // Unrolled by hand, because LLVM does not unroll loops this long. The masks are constants, except in the last step of a
            // round, which after the last round returns the bodies to their first lanes.
            if UNROLL >= 2 {
                meet(mask(0));
            }
            if UNROLL >= 4 {
                meet(mask(1));
                meet(mask(2));
            }
            if UNROLL >= 8 {
                meet(mask(3));
                meet(mask(4));
                meet(mask(5));
                meet(mask(6));
            }
            s += UNROLL;
            meet(mask(s - 1));
        }
        sink.behind(row, base + lane, a_j);
        base += TILE;
    }
    each!(K, |k| sink.own(chunk, first + k as u32 * TILE + lane, a[k]));
}

/// The exclusive-or mask by which bodies move after step `s`.
#[inline(always)]
const fn mask(s: u32) -> u32 {
    partner(s) ^ partner((s + 1) % TILE)
}

/// Reads the body of another lane, without G·m if `EQUAL`.
///
/// # Safety
/// All lanes must call it with the same mask.
#[inline(always)]
unsafe fn travelled<S: DeviceNumber, const EQUAL: bool>(b: Body<S>, mask: u32) -> Body<S> {
    // SAFETY: the caller guarantees this.
    let v = unsafe { swapped(b.vector(), mask) };
    let g = if EQUAL {
        S::zero()
    } else {
        // SAFETY: the caller guarantees this.
        unsafe { warp_shuffle_xor(WARP, b.g, mask, TILE).0 }
    };
    Body::new(v, g)
}

/// # Safety
/// All lanes must call it with the same mask.
#[inline(always)]
unsafe fn swapped<S: DeviceNumber>(v: Vec3<S>, mask: u32) -> Vec3<S> {
    // SAFETY: the caller guarantees this.
    unsafe {
        Vec3 {
            x: warp_shuffle_xor(WARP, v.x, mask, TILE).0,
            y: warp_shuffle_xor(WARP, v.y, mask, TILE).0,
            z: warp_shuffle_xor(WARP, v.z, mask, TILE).0,
        }
    }
}

/// Memory for the sums of a launch: P(row, body) as three planes per row and Q(chunk, body) as three planes per chunk. Each plane has
/// `stride` numbers and begins with body `first`. The pointers must be valid for these numbers.
#[derive(Clone, Copy, Debug)]
pub struct Partials<S> {
    /// The sums P, rows × 3 × stride numbers.
    pub p: *mut S,
    /// The sums Q, chunks × 3 × stride numbers.
    pub q: *mut S,
    /// First row in `p`.
    pub row: u32,
    /// First body of a plane.
    pub first: u32,
    /// Length of a plane.
    pub stride: u32,
}

impl<S: DeviceNumber> Partials<S> {
    /// The memory of a launch.
    #[inline(always)]
    pub fn new(job: &Reduced<S>, p: *mut S, q: *mut S) -> Self {
        Self {
            p,
            q,
            row: job.row,
            first: job.first(),
            stride: job.stride,
        }
    }

    /// The address of component 0 of `body` in the `index`-th triple of planes of `of`.
    #[inline(always)]
    fn place(&self, of: *mut S, index: u32, body: u32) -> *mut S {
        let plane = index as usize * 3 * self.stride as usize;
        // SAFETY: the index is within the planes.
        unsafe { of.add(plane + (body - self.first) as usize) }
    }

    #[inline(always)]
    fn write(&self, place: *mut S, a: Vec3<S>) {
        let stride = self.stride as usize;
        // SAFETY: the indices are within the planes, and one thread writes each place.
        unsafe {
            *place = a.x;
            *place.add(stride) = a.y;
            *place.add(2 * stride) = a.z;
        }
    }
}

impl<S: DeviceNumber> Sink<S> for Partials<S> {
    #[inline(always)]
    fn behind(&self, row: u32, j: u32, a: Vec3<S>) {
        self.write(self.place(self.p, row - self.row, j), a);
    }

    #[inline(always)]
    fn own(&self, chunk: u32, i: u32, a: Vec3<S>) {
        self.write(self.place(self.q, chunk, i), a);
    }
}

/// Adds `count` numbers at distances of `stride` to `total`, one after another.
///
/// # Safety
/// The pointer must be valid for these numbers.
#[inline(always)]
unsafe fn sum<S: DeviceNumber>(mut total: S, mut at: *const S, count: u32, stride: usize) -> S {
    // Eight loads in flight at a time; the additions keep their order.
    let mut left = count;
    while left >= 8 {
        let mut x = [S::zero(); 8];
        let mut k = 0;
        while k < 8 {
            // SAFETY: the caller guarantees this.
            x[k] = unsafe { *at.add(k * stride) };
            k += 1;
        }
        k = 0;
        while k < 8 {
            total = total + x[k];
            k += 1;
        }
        at = at.wrapping_add(8 * stride);
        left -= 8;
    }
    while left > 0 {
        // SAFETY: the caller guarantees this.
        total = total + unsafe { *at };
        at = at.wrapping_add(stride);
        left -= 1;
    }
    total
}

/// Adds up the forces of the launch's rows on component `d` of body `b`, in the order of
/// [`all_pairs`](crate::physics::summation::all_pairs). `sums` holds A over the rows of earlier launches; this launch adds its own
/// rows and, once the body's own row is among them, Q. Bodies of earlier rows are left alone.
///
/// # Safety
/// `sums` must be valid for n values and the planes as `job` requires; only one thread may handle each `b` < n and `d` < 3.
#[inline(always)]
pub unsafe fn gather<S: DeviceNumber>(
    job: &Reduced<S>,
    from: &Partials<S>,
    sums: *mut Body<S>,
    b: u32,
    d: u32,
) {
    let row_of_b = b / job.length;
    if row_of_b < job.row {
        return;
    }
    let stride = job.stride as usize;
    // SAFETY: b < n and d < 3, so that the component exists.
    let place = unsafe { &mut *sums.add(b as usize).cast::<S>().add(d as usize) };
    let before = if job.row == 0 { S::zero() } else { *place };
    let rows = (job.row + job.rows).min(row_of_b) - job.row;
    let p = from.place(from.p, 0, b).wrapping_add(d as usize * stride);
    // SAFETY: the indices are within the planes.
    let mut total = unsafe { sum(before, p, rows, 3 * stride) };
    if row_of_b < job.row + job.rows {
        let chunk = row_of_b * job.length / job.chunk;
        let q = from
            .place(from.q, chunk, b)
            .wrapping_add(d as usize * stride);
        // SAFETY: the indices are within the planes.
        total = total + unsafe { sum(S::zero(), q, job.chunks() - chunk, 3 * stride) };
    }
    *place = total;
}

/// Accelerations in memory, to which all warps add their sums, multiplied by `scale`.
#[derive(Clone, Copy, Debug)]
pub struct Atomics<S> {
    /// The accelerations, n rounded up to whole rows.
    pub sums: *mut Body<S>,
    /// The common G·m, if the sums do not contain it.
    pub scale: Option<S>,
}

impl<S: AtomicSum> Atomics<S> {
    #[inline(always)]
    fn add(&self, body: u32, mut a: Vec3<S>) {
        if let Some(scale) = self.scale {
            a = a.scaled(scale);
        }
        // SAFETY: `sums` holds every body, and the launch only adds to it.
        unsafe {
            let place = self.sums.add(body as usize).cast::<S>();
            S::atomic_add(place, a.x);
            S::atomic_add(place.add(1), a.y);
            S::atomic_add(place.add(2), a.z);
        }
    }
}

impl<S: AtomicSum> Sink<S> for Atomics<S> {
    #[inline(always)]
    fn behind(&self, _row: u32, j: u32, a: Vec3<S>) {
        self.add(j, a);
    }

    #[inline(always)]
    fn own(&self, _chunk: u32, i: u32, a: Vec3<S>) {
        self.add(i, a);
    }
}
