//! Forces and potentials with SIMD lanes over the source particles, in f64.

use kernels_gpu::Vec3;
use kernels_gpu::hermite::arithmetic::{Arithmetic, Plain};
use kernels_gpu::physics::pair;
use kernels_gpu::physics::summation::partial_sums::{MAX_PARTIAL_SUMS, fold};

use super::aosoa::{AosoaBuffer, LaneMemory, PACKET_PARTICLES, load_vector};
use super::{Forces, Order};
use trisolar_simd::{Simd, with_lanes};

/// The data that all pairs share.
pub(super) struct AllPairs<'a, T = f64> {
    pub(super) predicted: &'a AosoaBuffer<T>,
    pub(super) partial_sums: usize,
    pub(super) softening2: f64,
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
    let mut partial = [[0.0; MAX_PARTIAL_SUMS]; 12];
    let (stride, sums) = (pairs.predicted.stride(), pairs.partial_sums);
    let softening2 = R::from_f64(pairs.softening2);
    let zero = Vec3 {
        x: 0.0,
        y: 0.0,
        z: 0.0,
    };
    for (place, out) in places.iter().zip(out) {
        let i: [Vec3<R>; D] =
            std::array::from_fn(|k| pairs.predicted.vector(*place as usize, 1 + 3 * k).convert());
        for first in (0..sums).step_by(R::LANES) {
            let mut sum = [zero.convert(); D];
            let from = &pairs.predicted.data()
                [first / PACKET_PARTICLES * stride + first % PACKET_PARTICLES..];
            for packet in from.chunks(sums / PACKET_PARTICLES * stride) {
                // SAFETY: `sums` is a multiple of PACKET_PARTICLES and the number of packets is sums / PACKET_PARTICLES, so a whole
                // packet, less the lanes before, is left.
                unsafe {
                    let at = |component: usize| packet.as_ptr().add(component * PACKET_PARTICLES);
                    let j: [Vec3<R>; D] = std::array::from_fn(|k| load_vector(at(1 + 3 * k)));
                    Plain::pull(&i, &j, R::load(at(0)), softening2, &mut sum);
                }
            }
            for (k, v) in sum.iter().enumerate() {
                for (c, x) in [v.x, v.y, v.z].into_iter().enumerate() {
                    // SAFETY: first + lanes <= partial sums <= MAX_PARTIAL_SUMS.
                    unsafe { x.store(partial[3 * k + c].as_mut_ptr().add(first)) };
                }
            }
        }
        *out = [zero; 4];
        for k in 0..D {
            let mut total = |c: usize| fold(&mut partial[3 * k + c][..sums]);
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
    let mut partial = [0.0; MAX_PARTIAL_SUMS];
    let (stride, sums) = (pairs.predicted.stride(), pairs.partial_sums);
    let softening2 = R::from_f64(pairs.softening2);
    for (place, out) in (first..).zip(out) {
        let i = pairs.predicted.vector(place, 1).convert::<R>();
        for lane in (0..sums).step_by(R::LANES) {
            let mut sum = R::from_f64(0.0);
            let from = &pairs.predicted.data()
                [lane / PACKET_PARTICLES * stride + lane % PACKET_PARTICLES..];
            for (n, packet) in from.chunks(sums / PACKET_PARTICLES * stride).enumerate() {
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
            // SAFETY: lane + lanes <= partial sums <= MAX_PARTIAL_SUMS.
            unsafe { sum.store(partial.as_mut_ptr().add(lane)) };
        }
        *out = fold(&mut partial[..sums]);
    }
}
