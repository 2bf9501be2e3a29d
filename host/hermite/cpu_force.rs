//! Forces and potentials with SIMD lanes over the source particles, in f64.

// Loops over indices are inlined into functions with an instruction set; closures of iterators may not be.
#![allow(clippy::needless_range_loop)]

use std::mem::MaybeUninit;

use kernels_gpu::Vec3;
use kernels_gpu::hermite::arithmetic::{Arithmetic, Plain};
use kernels_gpu::hermite::force::terms;
use kernels_gpu::physics::pair;
use kernels_gpu::physics::summation::partial_sums::{
    MAX_PARTIAL_SUMS, MAX_WAITING, SHORT_PARTIAL_SUMS, fold, nth_to_merge,
};

use super::aosoa::{AosoaBuffer, LaneMemory, PACKET_PARTICLES, load_vector, store_vector};
use super::{Forces, Order};
use trisolar_simd::{Simd, with_lanes};

/// Largest number of merged sums that wait for others, of each lane of a packet.
const MAX_LEVELS: usize = (MAX_PARTIAL_SUMS / PACKET_PARTICLES).ilog2() as usize + 1;
/// Number of particles that read the same sources one after the other, so that all but the first read them from the fastest cache.
const GROUP: usize = 4;
/// The data that all pairs share.
pub(super) struct AllPairs<'a, T = f64> {
    pub(super) predicted: &'a AosoaBuffer<T>,
    pub(super) softening2: f64,
}

impl<T: Copy + Default> AllPairs<'_, T> {
    /// Number of sums that are stored for the fold, and number of partial sums that are merged into each of them.
    #[inline(always)]
    pub(super) fn stored_and_merged(&self) -> (usize, usize) {
        let sums = self.predicted.partial_sums();
        let stored = sums.min(SHORT_PARTIAL_SUMS);
        (stored, sums / stored)
    }

    /// The packets of the partial sums from `first` on, up to the number of lanes of them: the lanes of every chunk begin at its start.
    #[inline(always)]
    pub(super) fn packets_of(&self, first: usize) -> impl Iterator<Item = &[T]> {
        let column = self.predicted.column(first / PACKET_PARTICLES);
        column[first % PACKET_PARTICLES..].chunks(self.predicted.stride())
    }
}

/// Forces on the particles at `places`, in f64.
pub(super) fn forces_on(
    simd: Simd,
    order: Order,
    pairs: &AllPairs<'_>,
    places: &[u32],
    out: &mut [Forces],
) {
    match order {
        Order::Four => {
            with_lanes!(simd, forces_lanes[, 2](pairs: &AllPairs<'_>, places: &[u32], out: &mut [Forces]))
        }
        Order::Six => {
            with_lanes!(simd, forces_lanes[, 3](pairs: &AllPairs<'_>, places: &[u32], out: &mut [Forces]))
        }
        Order::Eight => {
            with_lanes!(simd, forces_lanes[, 4](pairs: &AllPairs<'_>, places: &[u32], out: &mut [Forces]))
        }
    }
}

#[inline(always)]
fn forces_lanes<R: LaneMemory<Element = f64>, const D: usize>(
    pairs: &AllPairs<'_>,
    places: &[u32],
    out: &mut [Forces],
) {
    let softening2 = R::from_f64(pairs.softening2);
    let zero = Vec3::<R>::zero();
    let columns = pairs.predicted.partial_sums() / PACKET_PARTICLES;
    let (stride, terms) = (pairs.predicted.stride(), pairs.predicted.terms());
    let mut waiting = [[[[MaybeUninit::uninit(); PACKET_PARTICLES]; 12]; MAX_LEVELS]; GROUP];
    for (places, out) in places.chunks(GROUP).zip(out.chunks_mut(GROUP)) {
        let mut i = [[zero; D]; GROUP];
        for (i, place) in i.iter_mut().zip(places) {
            for (k, i) in i.iter_mut().enumerate() {
                *i = pairs.predicted.vector(*place as usize, 1 + 3 * k).convert();
            }
        }
        for step in 0..columns {
            let column = nth_to_merge(step as u32, columns as u32) as usize;
            let column = pairs.predicted.column(column);
            let merges = step.trailing_ones() as usize;
            for (i, waiting) in i[..places.len()].iter().zip(&mut waiting) {
                for lane in (0..PACKET_PARTICLES).step_by(R::LANES) {
                    // SAFETY: a column has `terms` packets, and the lanes from `lane` on are in them. By the order of the fold, all
                    // sums that wait below `merges` have been written.
                    unsafe {
                        let column = column[lane..].as_ptr();
                        let mut sum = column_sum::<R, D>(i, column, stride, terms, softening2);
                        for other in &waiting[..merges] {
                            for (k, sum) in sum.iter_mut().enumerate() {
                                *sum = *sum + load_vector(row(other, 3 * k).add(lane));
                            }
                        }
                        for (k, sum) in sum.into_iter().enumerate() {
                            store_vector(sum, row_mut(&mut waiting[merges], 3 * k).add(lane));
                        }
                    }
                }
            }
        }
        for (out, waiting) in out.iter_mut().zip(&mut waiting) {
            let total = &mut waiting[columns.ilog2() as usize];
            // SAFETY: the last step has written all lanes of the rows of `D` vectors.
            let mut total = |c: usize| fold(unsafe { &mut *row_mut(total, c).cast::<Row>() });
            *out = [Vec3::zero(); 4];
            for (k, out) in out[..D].iter_mut().enumerate() {
                *out = Vec3 {
                    x: total(3 * k),
                    y: total(3 * k + 1),
                    z: total(3 * k + 2),
                };
            }
        }
    }
}

type Row = [f64; PACKET_PARTICLES];
/// The components of a particle's partial sums, a row for each; those of lower orders use fewer rows.
type Sums = [[MaybeUninit<f64>; PACKET_PARTICLES]; 12];

#[inline(always)]
fn row(sums: &Sums, first: usize) -> *const f64 {
    sums[first..].as_ptr().cast()
}

#[inline(always)]
fn row_mut(sums: &mut Sums, first: usize) -> *mut f64 {
    sums[first..].as_mut_ptr().cast()
}

/// The sum of the pulls of `terms` vectors of particles, in ascending order; the components of the first begin at `first`, those of the
/// next `stride` numbers later.
///
/// # Safety
/// There must be that many.
#[inline(always)]
unsafe fn column_sum<R: LaneMemory<Element = f64>, const D: usize>(
    i: &[Vec3<R>; D],
    first: *const f64,
    stride: usize,
    terms: usize,
    softening2: R,
) -> [Vec3<R>; D] {
    let mut sum = [Vec3::zero(); D];
    let mut term = 0;
    // SAFETY: the caller guarantees that there are so many terms.
    unsafe {
        if side_by_side(R::LANES, D) == 8 {
            while term + 8 <= terms {
                add_batch::<R, D, 8>(i, first.add(term * stride), stride, softening2, &mut sum);
                term += 8;
            }
        }
        while term + 4 <= terms {
            add_batch::<R, D, 4>(i, first.add(term * stride), stride, softening2, &mut sum);
            term += 4;
        }
        while term < terms {
            add_batch::<R, D, 1>(i, first.add(term * stride), stride, softening2, &mut sum);
            term += 1;
        }
    }
    sum
}

/// The number of vectors whose r⁻³ are best computed side by side, as measured. At order 6, 8 of them do not fit the registers of AVX2 beside
/// the sums; at order 8 the sums do not, either way.
const fn side_by_side(lanes: usize, derivatives: usize) -> usize {
    if lanes <= 4 && derivatives == 3 { 4 } else { 8 }
}

/// Adds the pulls of `K` vectors of particles. Their r⁻³, each of which takes a long chain of dependent operations, are computed side by
/// side.
///
/// # Safety
/// As [`column_sum`].
#[inline(always)]
unsafe fn add_batch<R: LaneMemory<Element = f64>, const D: usize, const K: usize>(
    i: &[Vec3<R>; D],
    first: *const f64,
    stride: usize,
    softening2: R,
    sum: &mut [Vec3<R>; D],
) {
    let mut r2 = [softening2; K];
    for (k, r2) in r2.iter_mut().enumerate() {
        // SAFETY: the caller guarantees that there are `K` packets.
        let x: Vec3<R> = unsafe { load_vector(first.add(k * stride + PACKET_PARTICLES)) };
        *r2 = (x - i[0]).norm2_plus(softening2);
    }
    let inv3 = R::inv_cubes(r2);
    for (k, (r2, inv3)) in r2.into_iter().zip(inv3).enumerate() {
        // SAFETY: as above.
        unsafe {
            let packet = first.add(k * stride);
            let mut j = [Vec3::zero(); D];
            for (d, j) in j.iter_mut().enumerate() {
                *j = load_vector(packet.add((1 + 3 * d) * PACKET_PARTICLES));
            }
            let difference = Plain::difference(i, &j);
            let (w, t) = terms(&difference, r2, inv3, R::load(packet));
            Plain::add(w, &t, sum);
        }
    }
}

/// Potentials at the particles from `first` on.
pub(super) fn potentials_at(simd: Simd, pairs: &AllPairs<'_>, first: usize, out: &mut [f64]) {
    with_lanes!(simd, potentials_lanes[](pairs: &AllPairs<'_>, first: usize, out: &mut [f64]));
}

#[inline(always)]
fn potentials_lanes<R: LaneMemory<Element = f64>>(
    pairs: &AllPairs<'_>,
    first: usize,
    out: &mut [f64],
) {
    let mut partial = [0.0; SHORT_PARTIAL_SUMS];
    let (stored, merged) = pairs.stored_and_merged();
    let sums = pairs.predicted.partial_sums();
    let softening2 = R::from_f64(pairs.softening2);
    let mut waiting = [R::from_f64(0.0); MAX_WAITING];
    for (place, out) in (first..).zip(out) {
        let i = pairs.predicted.vector(place, 1).convert::<R>();
        for first in (0..stored).step_by(R::LANES) {
            for step in 0..merged {
                let lane = first + nth_to_merge(step as u32, merged as u32) as usize * stored;
                let mut sum = R::from_f64(0.0);
                for (n, packet) in pairs.packets_of(lane).enumerate() {
                    // SAFETY: as in `forces_lanes`.
                    unsafe {
                        let mut mass = R::load(packet.as_ptr());
                        let j: Vec3<R> = load_vector(packet.as_ptr().add(PACKET_PARTICLES));
                        let own = place.wrapping_sub(n * sums + lane);
                        if own < R::LANES {
                            mass.set_lane(own, &R::from_f64(0.0));
                        }
                        let (_, r2) = pair::separation::<R, 3>(i, j, softening2);
                        sum = sum + pair::potential(mass, r2);
                    }
                }
                let merges = step.trailing_ones() as usize;
                for other in &waiting[..merges] {
                    sum = sum + *other;
                }
                waiting[merges] = sum;
            }
            // SAFETY: first + lanes <= stored sums <= SHORT_PARTIAL_SUMS.
            unsafe { waiting[merged.ilog2() as usize].store(partial.as_mut_ptr().add(first)) };
        }
        *out = fold(&mut partial[..stored]);
    }
}
