//! Forces with SIMD lanes over the source particles, in split-f32.

use kernels_gpu::Vec3;
use kernels_gpu::device::hermite::split_body;
use kernels_gpu::hermite::arithmetic::{Arithmetic, SplitBody, SplitF32};
use kernels_gpu::physics::summation::partial_sums::{
    MAX_WAITING, SHORT_PARTIAL_SUMS, fold, nth_to_merge,
};

use super::aosoa::{AosoaBuffer, LaneMemory, PACKET_PARTICLES, load_vector};
use super::cpu_force::AllPairs;
use super::{Forces, Order};
use trisolar_simd::Simd;

/// Numbers of a particle: mass, both parts of the position, and the derivatives of the order.
pub(super) fn components(order: Order) -> usize {
    4 + 3 * order.derivatives()
}

/// Converts the prediction of the particle at `place`.
pub(super) fn split(order: Order, from: &AosoaBuffer, to: &mut AosoaBuffer<f32>, place: usize) {
    let vector = |k: usize| from.vector(place, 1 + 3 * k);
    let d = order.derivatives();
    let zero = Vec3 {
        x: 0.0,
        y: 0.0,
        z: 0.0,
    };
    let vectors: [Vec3<f64>; 4] = std::array::from_fn(|k| if k < d { vector(k) } else { zero });
    let body = split_body(&vectors);
    to.set(place, 0, from.get(place, 0) as f32);
    to.set_vector(place, 1, body.high);
    to.set_vector(place, 4, body.low);
    for (k, rate) in body.rates[..d - 1].iter().enumerate() {
        to.set_vector(place, 7 + 3 * k, *rate);
    }
}

/// Forces on the particles at `places`.
pub(super) fn forces_on(
    simd: Simd,
    order: Order,
    pairs: &AllPairs<'_, f32>,
    places: &[u32],
    out: &mut [Forces],
) {
    match order {
        Order::Four => forces_by::<2>(simd, pairs, places, out),
        Order::Six => forces_by::<3>(simd, pairs, places, out),
        Order::Eight => forces_by::<4>(simd, pairs, places, out),
    }
}

fn forces_by<const D: usize>(
    simd: Simd,
    pairs: &AllPairs<'_, f32>,
    places: &[u32],
    out: &mut [Forces],
) {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn avx2<const D: usize>(pairs: &AllPairs<'_, f32>, places: &[u32], out: &mut [Forces]) {
        forces_lanes::<trisolar_simd::F32x8, D>(pairs, places, out);
    }
    #[cfg(target_arch = "aarch64")]
    #[target_feature(enable = "neon")]
    fn neon<const D: usize>(pairs: &AllPairs<'_, f32>, places: &[u32], out: &mut [Forces]) {
        forces_lanes::<trisolar_simd::F32x4, D>(pairs, places, out);
    }
    match simd {
        Simd::Scalar => forces_lanes::<f32, D>(pairs, places, out),
        // 16 lanes would be more than a packet; every machine with AVX-512 has AVX2.
        // SAFETY: a CpuEngine holds only instruction sets that the machine has.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 | Simd::Avx512 => unsafe { avx2::<D>(pairs, places, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        Simd::Neon => unsafe { neon::<D>(pairs, places, out) },
    }
}

/// A body in all lanes.
#[inline(always)]
fn spread<R: LaneMemory<Element = f32>, const D: usize>(
    predicted: &AosoaBuffer<f32>,
    place: usize,
) -> SplitBody<R> {
    let vector = |component: usize| {
        let v = predicted.vector(place, component);
        Vec3 {
            x: R::from_f64(f64::from(v.x)),
            y: R::from_f64(f64::from(v.y)),
            z: R::from_f64(f64::from(v.z)),
        }
    };
    SplitBody {
        high: vector(1),
        low: vector(4),
        rates: std::array::from_fn(|k| vector(if k + 1 < D { 7 + 3 * k } else { 4 })),
    }
}

#[inline(always)]
fn forces_lanes<R: LaneMemory<Element = f32>, const D: usize>(
    pairs: &AllPairs<'_, f32>,
    places: &[u32],
    out: &mut [Forces],
) {
    let mut partial = [[0.0f64; SHORT_PARTIAL_SUMS]; 12];
    let mut waiting = [[[0.0f64; PACKET_PARTICLES]; 12]; MAX_WAITING];
    let (stored, merged) = pairs.stored_and_merged();
    let softening2 = R::from_f64(pairs.softening2);
    for (place, out) in places.iter().zip(out) {
        let i = spread::<R, D>(pairs.predicted, *place as usize);
        for first in (0..stored).step_by(R::LANES) {
            for step in 0..merged {
                let nth = nth_to_merge(step as u32, merged as u32) as usize;
                let mut sum = <SplitF32<R> as Arithmetic<D>>::zero();
                for packet in pairs.packets_of(first + nth * stored) {
                    // SAFETY: the partial sums are a multiple of PACKET_PARTICLES and the number of packets is a multiple of their number
                    // divided by PACKET_PARTICLES, so a whole packet, less the lanes before, is left.
                    unsafe {
                        let at =
                            |component: usize| packet.as_ptr().add(component * PACKET_PARTICLES);
                        let j = SplitBody {
                            high: load_vector(at(1)),
                            low: load_vector(at(4)),
                            rates: std::array::from_fn(|k| {
                                load_vector(at(if k + 1 < D { 7 + 3 * k } else { 4 }))
                            }),
                        };
                        <SplitF32<R> as Arithmetic<D>>::pull(
                            &i,
                            &j,
                            R::load(at(0)),
                            softening2,
                            &mut sum,
                        );
                    }
                }
                let merges = step.trailing_ones() as usize;
                let (others, total) = waiting.split_at_mut(merges);
                let total = &mut total[0];
                let mut put = |component: usize, high: Vec3<R>, low: Option<Vec3<R>>| {
                    let high = [high.x, high.y, high.z].map(widened);
                    let low = low.map(|low| [low.x, low.y, low.z].map(widened));
                    for c in 0..3 {
                        for lane in 0..R::LANES {
                            let rest = low.map_or(0.0, |low| low[c][lane]);
                            total[component + c][lane] = high[c][lane] + rest;
                        }
                    }
                };
                put(0, sum.high, Some(sum.low));
                for k in 1..D {
                    put(3 * k, sum.rates[k - 1], None);
                }
                for other in others {
                    for (total, other) in total[..3 * D].iter_mut().zip(other) {
                        for (total, other) in total.iter_mut().zip(other) {
                            *total += *other;
                        }
                    }
                }
            }
            let total = &waiting[merged.ilog2() as usize];
            for (to, total) in partial.iter_mut().zip(&total[..3 * D]) {
                to[first..first + R::LANES].copy_from_slice(&total[..R::LANES]);
            }
        }
        *out = [Vec3 {
            x: 0.0,
            y: 0.0,
            z: 0.0,
        }; 4];
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

/// The lanes, up to 8 of them, in f64.
#[inline(always)]
fn widened<R: LaneMemory<Element = f32>>(x: R) -> [f64; PACKET_PARTICLES] {
    const { assert!(R::LANES <= PACKET_PARTICLES) };
    let mut lanes = [0.0f32; PACKET_PARTICLES];
    // SAFETY: there is room for the lanes.
    unsafe { x.store(lanes.as_mut_ptr()) };
    lanes.map(f64::from)
}
