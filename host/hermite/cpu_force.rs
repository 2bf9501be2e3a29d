//! Forces and potentials with SIMD lanes over the source particles, in f64.

use kernels_gpu::Vec3;
use kernels_gpu::hermite::arithmetic::{Arithmetic, Plain};
use kernels_gpu::physics::pair;
use kernels_gpu::physics::summation::partial_sums::{
    MAX_WAITING, SHORT_PARTIAL_SUMS, fold, nth_to_merge,
};

use super::aosoa::{AosoaBuffer, LaneMemory, PACKET_PARTICLES, load_vector};
use super::{Forces, Order};
use trisolar_simd::{Simd, with_lanes};

/// The data that all pairs share.
pub(super) struct AllPairs<'a, T = f64> {
    pub(super) predicted: &'a AosoaBuffer<T>,
    pub(super) partial_sums: usize,
    pub(super) softening2: f64,
}

impl<T: Copy + Default> AllPairs<'_, T> {
    /// Number of sums that are stored for the fold, and number of partial sums that are merged into each of them.
    #[inline(always)]
    pub(super) fn stored_and_merged(&self) -> (usize, usize) {
        let stored = self.partial_sums.min(SHORT_PARTIAL_SUMS);
        (stored, self.partial_sums / stored)
    }

    /// The packets of the partial sums from `first` on, up to the number of lanes of them: the lanes of every chunk begin at its start.
    #[inline(always)]
    pub(super) fn packets_of(&self, first: usize) -> impl Iterator<Item = &[T]> {
        let stride = self.predicted.stride();
        let from =
            &self.predicted.data()[first / PACKET_PARTICLES * stride + first % PACKET_PARTICLES..];
        from.chunks(self.partial_sums / PACKET_PARTICLES * stride)
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
    let mut partial = [[0.0; SHORT_PARTIAL_SUMS]; 12];
    let (stored, merged) = pairs.stored_and_merged();
    let softening2 = R::from_f64(pairs.softening2);
    let zero = Vec3 {
        x: 0.0,
        y: 0.0,
        z: 0.0,
    };
    let mut waiting = [[zero.convert::<R>(); D]; MAX_WAITING];
    for (place, out) in places.iter().zip(out) {
        let i: [Vec3<R>; D] =
            std::array::from_fn(|k| pairs.predicted.vector(*place as usize, 1 + 3 * k).convert());
        for first in (0..stored).step_by(R::LANES) {
            for step in 0..merged {
                let nth = nth_to_merge(step as u32, merged as u32) as usize;
                let mut sum = [zero.convert(); D];
                for packet in pairs.packets_of(first + nth * stored) {
                    // SAFETY: the partial sums are a multiple of PACKET_PARTICLES and the number of packets is a multiple of their number
                    // divided by PACKET_PARTICLES, so a whole packet, less the lanes before, is left.
                    unsafe {
                        let at =
                            |component: usize| packet.as_ptr().add(component * PACKET_PARTICLES);
                        let j: [Vec3<R>; D] = std::array::from_fn(|k| load_vector(at(1 + 3 * k)));
                        Plain::pull(&i, &j, R::load(at(0)), softening2, &mut sum);
                    }
                }
                let merges = step.trailing_ones() as usize;
                for other in &waiting[..merges] {
                    for (sum, other) in sum.iter_mut().zip(other) {
                        *sum = *sum + *other;
                    }
                }
                waiting[merges] = sum;
            }
            let sum = waiting[merged.ilog2() as usize];
            for (k, v) in sum.iter().enumerate() {
                for (c, x) in [v.x, v.y, v.z].into_iter().enumerate() {
                    // SAFETY: first + lanes <= stored sums <= SHORT_PARTIAL_SUMS.
                    unsafe { x.store(partial[3 * k + c].as_mut_ptr().add(first)) };
                }
            }
        }
        *out = [zero; 4];
        for k in 0..D {
            let mut total = |c: usize| fold(&mut partial[3 * k + c][..stored]);
            out[k] = Vec3 {
                x: total(0),
                y: total(1),
                z: total(2),
            };
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
                        let own = place.wrapping_sub(n * pairs.partial_sums + lane);
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
