//! The CPU engine: SIMD lanes over the particles that pull, threads over those that are pulled.

use kernels_gpu::Vec3;
use kernels_gpu::hermite::order::{MAX_PARTIAL_SUMS, fold, partial_sums};
use kernels_gpu::hermite::{force, predict};
use rayon::prelude::*;

use super::packets::{Memory, PACKET, Packets, load_vector};
use super::{Engine, Forces, HermiteError, Motion, Order, Star};
use crate::divergence::EngineError;
use crate::simd::Simd;

/// Pairs below which waking the threads costs more than they save.
const PARALLEL_PAIRS: usize = 1 << 16;
/// Particles below which one thread predicts them all.
const PARALLEL_PREDICTIONS: usize = 1 << 13;

/// Predicts and sums on the CPU.
#[derive(Debug)]
pub struct CpuEngine {
    pool: rayon::ThreadPool,
    simd: Simd,
    order: Order,
    softening2: f64,
    bodies: usize,
    /// Mass, time, and `order` vectors of each particle.
    stars: Packets,
    /// Mass and `order` / 2 vectors of each particle.
    predicted: Packets,
}

impl CpuEngine {
    /// With this many threads (`None`: as many as the process may use) and the fastest lanes there are.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system does not give that many.
    pub fn new(threads: Option<usize>) -> Result<Self, HermiteError> {
        Self::with_simd(threads, Simd::best())
    }

    /// With lanes of the caller's choice, out of [`Simd::available`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_simd(threads: Option<usize>, simd: Simd) -> Result<Self, HermiteError> {
        assert!(
            Simd::available().contains(&simd),
            "{simd} is not available on this machine"
        );
        let given = threads.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        });
        let fail = |reason: String| EngineError::Threads { given, reason };
        if given == 0 {
            return Err(fail("must be at least 1".into()).into());
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(given)
            .build()
            .map_err(|e| fail(e.to_string()))?;
        Ok(Self {
            pool,
            simd,
            order: Order::Four,
            softening2: 0.0,
            bodies: 0,
            stars: Packets::default(),
            predicted: Packets::default(),
        })
    }

    fn all_pairs(&self) -> AllPairs<'_> {
        AllPairs {
            predicted: &self.predicted,
            partial_sums: partial_sums(self.bodies),
            softening2: self.softening2,
        }
    }
}

impl Engine for CpuEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        let threads = self.pool.current_num_threads();
        let s = if threads == 1 { "" } else { "s" };
        format!(
            "{}, {}, {threads} thread{s}",
            crate::machine::cpu_name(),
            self.simd
        )
    }

    fn load(&mut self, order: Order, softening: f64, stars: &[Star]) -> Result<(), HermiteError> {
        let places = stars.len().next_multiple_of(partial_sums(stars.len()));
        self.order = order;
        self.softening2 = force::softening2(softening);
        self.bodies = stars.len();
        self.stars = Packets::zeroed(2 + 3 * order.number() as usize, places);
        self.predicted = Packets::zeroed(1 + 3 * order.derivatives(), places);
        for (place, star) in stars.iter().enumerate() {
            self.stars.set(place, 0, star.mass);
            self.predicted.set(place, 0, star.mass);
        }
        let all: Vec<u32> = (0..stars.len() as u32).collect();
        self.store(&all, stars)
    }

    fn store(&mut self, places: &[u32], stars: &[Star]) -> Result<(), HermiteError> {
        for (place, star) in places.iter().zip(stars) {
            let place = *place as usize;
            self.stars.set(place, 1, star.time);
            for k in 0..self.order.number() as usize {
                self.stars.set_vector(place, 2 + 3 * k, star.taylor[k]);
            }
        }
        Ok(())
    }

    fn predict(&mut self, time: f64) -> Result<(), HermiteError> {
        let (simd, order) = (self.simd, self.order);
        let (from, to) = (self.stars.stride(), self.predicted.stride());
        let (stars, predicted) = (self.stars.data(), self.predicted.data_mut());
        if self.bodies < PARALLEL_PREDICTIONS {
            predict_packets(simd, order, stars, predicted, time);
            return Ok(());
        }
        let share = (stars.len() / from).div_ceil(4 * self.pool.current_num_threads());
        self.pool.install(|| {
            let parts = stars
                .par_chunks(share * from)
                .zip(predicted.par_chunks_mut(share * to));
            parts.for_each(|(stars, predicted)| {
                predict_packets(simd, order, stars, predicted, time);
            });
        });
        Ok(())
    }

    fn replace(&mut self, places: &[u32], motions: &[Motion]) -> Result<(), HermiteError> {
        for (place, motion) in places.iter().zip(motions) {
            for (k, v) in motion[..self.order.derivatives()].iter().enumerate() {
                self.predicted.set_vector(*place as usize, 1 + 3 * k, *v);
            }
        }
        Ok(())
    }

    fn forces(&mut self, places: &[u32], out: &mut [Forces]) -> Result<(), HermiteError> {
        let (simd, order, pairs) = (self.simd, self.order, self.all_pairs());
        let threads = self.pool.current_num_threads();
        if threads == 1 || places.len() * self.bodies < PARALLEL_PAIRS {
            forces_on(simd, order, &pairs, places, out);
            return Ok(());
        }
        let share = places.len().div_ceil(4 * threads);
        self.pool.install(|| {
            let parts = places.par_chunks(share).zip(out.par_chunks_mut(share));
            parts.for_each(|(places, out)| forces_on(simd, order, &pairs, places, out));
        });
        Ok(())
    }

    fn potentials(&mut self, out: &mut [f64]) -> Result<(), HermiteError> {
        let (simd, pairs) = (self.simd, self.all_pairs());
        let share = out.len().div_ceil(8 * self.pool.current_num_threads());
        self.pool.install(|| {
            out.par_chunks_mut(share)
                .enumerate()
                .for_each(|(n, out)| potentials_at(simd, &pairs, n * share, out));
        });
        Ok(())
    }
}

/// What all pairs have in common.
struct AllPairs<'a> {
    predicted: &'a Packets,
    partial_sums: usize,
    softening2: f64,
}

/// Calls `$function::<lanes, …>` inside a function that has the instruction set.
macro_rules! with_lanes {
    ($simd:expr, $call:ident [$($generic:tt)*] ($($argument:ident: $type:ty),*)) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn avx2($($argument: $type),*) {
            $call::<crate::simd::F64x4 $($generic)*>($($argument),*);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        fn avx512($($argument: $type),*) {
            $call::<crate::simd::F64x8 $($generic)*>($($argument),*);
        }
        match $simd {
            Simd::Scalar => $call::<f64 $($generic)*>($($argument),*),
            // SAFETY: a CpuEngine holds only instruction sets that the machine has.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { avx2($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { avx512($($argument),*) },
        }
    }};
}

fn predict_packets(simd: Simd, order: Order, stars: &[f64], predicted: &mut [f64], time: f64) {
    match order {
        Order::Four => {
            with_lanes!(simd, predict_lanes[, 4, 2](stars: &[f64], predicted: &mut [f64], time: f64))
        }
        Order::Six => {
            with_lanes!(simd, predict_lanes[, 6, 3](stars: &[f64], predicted: &mut [f64], time: f64))
        }
        Order::Eight => {
            with_lanes!(simd, predict_lanes[, 8, 4](stars: &[f64], predicted: &mut [f64], time: f64))
        }
    }
}

#[inline(always)]
fn predict_lanes<R: Memory, const P: usize, const D: usize>(
    stars: &[f64],
    predicted: &mut [f64],
    time: f64,
) {
    let stars = stars.chunks_exact((2 + 3 * P) * PACKET);
    let predicted = predicted.chunks_exact_mut((1 + 3 * D) * PACKET);
    for (star, to) in stars.zip(predicted) {
        for lane in (0..PACKET).step_by(R::COUNT) {
            // SAFETY: both are whole packets of these numbers of components.
            unsafe {
                let at = |component: usize| star.as_ptr().add(component * PACKET + lane);
                let dt = R::from_f64(time) - R::load(at(1));
                let x: [Vec3<R>; P] = std::array::from_fn(|k| load_vector(at(2 + 3 * k)));
                let motion = predict::predict::<R, P, D>(&x, dt);
                for (k, v) in motion.iter().enumerate() {
                    let to = to.as_mut_ptr().add((1 + 3 * k) * PACKET + lane);
                    v.x.store(to);
                    v.y.store(to.add(PACKET));
                    v.z.store(to.add(2 * PACKET));
                }
            }
        }
    }
}

fn forces_on(simd: Simd, order: Order, pairs: &AllPairs<'_>, places: &[u32], out: &mut [Forces]) {
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
fn forces_lanes<R: Memory, const D: usize>(
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
            std::array::from_fn(|k| pairs.predicted.vector(*place as usize, 1 + 3 * k).spread());
        for first in (0..sums).step_by(R::COUNT) {
            let mut sum = [zero.spread(); D];
            let from = &pairs.predicted.data()[first / PACKET * stride + first % PACKET..];
            for packet in from.chunks(sums / PACKET * stride) {
                // SAFETY: `sums` is a multiple of PACKET and the packets' number one of sums / PACKET, so a whole
                // packet, less the lanes before, is left.
                unsafe {
                    let at = |component: usize| packet.as_ptr().add(component * PACKET);
                    let j: [Vec3<R>; D] = std::array::from_fn(|k| load_vector(at(1 + 3 * k)));
                    force::pair(&i, &j, R::load(at(0)), softening2, &mut sum);
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

fn potentials_at(simd: Simd, pairs: &AllPairs<'_>, first: usize, out: &mut [f64]) {
    with_lanes!(simd, potentials_lanes[](pairs: &AllPairs<'_>, first: usize, out: &mut [f64]));
}

#[inline(always)]
fn potentials_lanes<R: Memory>(pairs: &AllPairs<'_>, first: usize, out: &mut [f64]) {
    let mut partial = [0.0; MAX_PARTIAL_SUMS];
    let (stride, sums) = (pairs.predicted.stride(), pairs.partial_sums);
    let softening2 = R::from_f64(pairs.softening2);
    for (place, out) in (first..).zip(out) {
        let i = pairs.predicted.vector(place, 1).spread::<R>();
        for lane in (0..sums).step_by(R::COUNT) {
            let mut sum = R::from_f64(0.0);
            let from = &pairs.predicted.data()[lane / PACKET * stride + lane % PACKET..];
            for (n, packet) in from.chunks(sums / PACKET * stride).enumerate() {
                // SAFETY: as in `forces_lanes`.
                unsafe {
                    let mut mass = R::load(packet.as_ptr());
                    let j: Vec3<R> = load_vector(packet.as_ptr().add(PACKET));
                    let own = place.wrapping_sub(n * sums + lane);
                    if own < R::COUNT {
                        mass.set_lane(own, R::from_f64(0.0));
                    }
                    sum = sum + force::potential(i, j, mass, softening2);
                }
            }
            // SAFETY: lane + lanes <= partial sums <= MAX_PARTIAL_SUMS.
            unsafe { sum.store(partial.as_mut_ptr().add(lane)) };
        }
        *out = fold(&mut partial[..sums]);
    }
}
