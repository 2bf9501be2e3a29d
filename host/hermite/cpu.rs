//! The CPU engine: SIMD lanes over the source particles, and threads over the particles whose forces are computed.

use kernels_gpu::Vec3;
use kernels_gpu::hermite::ahmad_cohen::is_neighbour;
use kernels_gpu::hermite::predict;
use kernels_gpu::physics::softening;
use kernels_gpu::physics::summation::partial_sums::partial_sums;
use rayon::prelude::*;

use super::aosoa::{AosoaBuffer, LaneMemory, PACKET_PARTICLES, load_vector, store_vector};
use super::cpu_force::{AllPairs, forces_on, potentials_at};
use super::{
    Engine, Forces, HermiteError, Lists, Motion, Order, Precision, Specification, Star, cpu_single,
};
use trisolar_run::Workers;
use trisolar_simd::{Simd, with_lanes};

/// Least number of pairs in a thread's share: two microseconds of work or more.
const MIN_SHARE_PAIRS: usize = 1 << 11;
/// Least number of particles in a thread's share of the predictions: two microseconds of work or more.
const MIN_SHARE_PREDICTIONS: usize = 1 << 11;

/// Predicts and sums on the CPU.
#[derive(Debug)]
pub struct CpuEngine {
    workers: Workers,
    order: Order,
    precision: Precision,
    softening2: f64,
    bodies: usize,
    /// Mass, time, and `order` vectors of each particle.
    stars: AosoaBuffer,
    /// Mass and `order` / 2 vectors of each particle.
    predicted: AosoaBuffer,
    /// The predictions in split-f32, if that is the precision.
    single_softening2: f64,
    singles: AosoaBuffer<f32>,
}

impl CpuEngine {
    /// An engine with this many threads (`None`: as many as the process may use) and the fastest lanes of this machine.
    ///
    /// # Errors
    /// [`EngineError::Threads`](trisolar_run::EngineError::Threads) if the system cannot start that many.
    pub fn new(threads: Option<usize>) -> Result<Self, HermiteError> {
        Self::with_simd(threads, None)
    }

    /// An engine with lanes that the caller chooses from [`Simd::available`] (`None`: the fastest).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_simd(
        threads: Option<usize>,
        simd: impl Into<Option<Simd>>,
    ) -> Result<Self, HermiteError> {
        Ok(Self {
            workers: Workers::with_simd(threads, simd)?.with_short_tasks()?,
            order: Order::Four,
            precision: Precision::F64,
            softening2: 0.0,
            bodies: 0,
            stars: AosoaBuffer::default(),
            predicted: AosoaBuffer::default(),
            single_softening2: 0.0,
            singles: AosoaBuffer::default(),
        })
    }

    fn all_pairs(&self) -> AllPairs<'_> {
        AllPairs {
            predicted: &self.predicted,
            softening2: self.softening2,
        }
    }

    /// Converts the predictions to split-f32, if that is the precision.
    fn split_all(&mut self) {
        if self.precision == Precision::SplitF32 {
            let (order, predicted) = (self.order, &self.predicted);
            for place in 0..self.bodies {
                cpu_single::split(order, predicted, &mut self.singles, place);
            }
        }
    }

    /// Calls `on` for shares of the places and of the items of each place, on several threads if there is enough work.
    fn shared_out<T: Send>(
        &self,
        places: &[u32],
        out: &mut [T],
        on: impl Fn(&[u32], &mut [T]) + Sync,
    ) {
        let least = MIN_SHARE_PAIRS.div_ceil(self.bodies);
        (self.workers).for_shares(out, 1, least, |first, out| {
            on(&places[first..first + out.len()], out);
        });
    }
}

impl Engine for CpuEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        self.workers.in_words()
    }

    fn workers(&self) -> &Workers {
        &self.workers
    }

    fn load(&mut self, specification: &Specification, stars: &[Star]) -> Result<(), HermiteError> {
        let (n, sums) = (stars.len(), partial_sums(stars.len()));
        let order = specification.order;
        self.order = order;
        self.precision = specification.precision;
        self.softening2 = softening::softening2(specification.softening);
        self.bodies = n;
        self.stars = AosoaBuffer::zeroed(2 + 3 * order.number() as usize, n, sums);
        self.predicted = AosoaBuffer::zeroed(1 + 3 * order.derivatives(), n, sums);
        for (place, star) in stars.iter().enumerate() {
            self.stars.set(place, 0, star.mass);
            self.predicted.set(place, 0, star.mass);
        }
        if self.precision == Precision::SplitF32 {
            let heaviest = stars.iter().map(|s| s.mass).fold(0.0, f64::max);
            self.single_softening2 =
                softening::softening2_single(specification.softening, heaviest);
            self.singles = AosoaBuffer::zeroed(cpu_single::components(order), n, sums);
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
        let (simd, order) = (self.workers.simd(), self.order);
        let (from, to) = (self.stars.stride(), self.predicted.stride());
        let (stars, predicted) = (self.stars.data(), self.predicted.data_mut());
        let least = MIN_SHARE_PREDICTIONS / PACKET_PARTICLES * to;
        (self.workers).for_shares(predicted, to, least, |first, predicted| {
            let (first, packets) = (first / to, predicted.len() / to);
            let stars = &stars[first * from..(first + packets) * from];
            predict_packets(simd, order, stars, predicted, time);
        });
        self.split_all();
        Ok(())
    }

    fn replace(&mut self, places: &[u32], motions: &[Motion]) -> Result<(), HermiteError> {
        for (place, motion) in places.iter().zip(motions) {
            for (k, v) in motion[..self.order.derivatives()].iter().enumerate() {
                self.predicted.set_vector(*place as usize, 1 + 3 * k, *v);
            }
            if self.precision == Precision::SplitF32 {
                let place = *place as usize;
                cpu_single::split(self.order, &self.predicted, &mut self.singles, place);
            }
        }
        Ok(())
    }

    fn forces(&mut self, places: &[u32], out: &mut [Forces]) -> Result<(), HermiteError> {
        let (simd, order) = (self.workers.simd(), self.order);
        match self.precision {
            Precision::F64 => {
                let pairs = self.all_pairs();
                self.shared_out(places, out, |places, out| {
                    forces_on(simd, order, &pairs, places, out);
                });
            }
            Precision::SplitF32 => {
                let pairs = AllPairs {
                    predicted: &self.singles,
                    softening2: self.single_softening2,
                };
                self.shared_out(places, out, |places, out| {
                    cpu_single::forces_on(simd, order, &pairs, places, out);
                });
            }
        }
        Ok(())
    }

    fn neighbours(
        &mut self,
        places: &[u32],
        radii2: &[f64],
        capacity: usize,
        lists: &mut Lists,
    ) -> Result<(), HermiteError> {
        lists.resize(places.len(), capacity);
        let (bodies, predicted) = (self.bodies, &self.predicted);
        let of = |((place, radius2), (list, length)): ((&u32, &f64), (&mut [u32], &mut u32))| {
            *length = list_neighbours(predicted, bodies, *place as usize, *radius2, list);
        };
        self.workers.install(|| {
            (places.par_iter().zip(radii2))
                .zip((lists.places.par_chunks_mut(capacity)).zip(&mut lists.lengths))
                .for_each(of);
        });
        Ok(())
    }

    fn potentials(&mut self, out: &mut [f64]) -> Result<(), HermiteError> {
        let (simd, pairs) = (self.workers.simd(), self.all_pairs());
        let share = out.len().div_ceil(8 * self.workers.threads());
        self.workers.install(|| {
            out.par_chunks_mut(share)
                .enumerate()
                .for_each(|(n, out)| potentials_at(simd, &pairs, n * share, out));
        });
        Ok(())
    }
}

/// Lists the neighbours of a particle as far as there is room; returns their number.
fn list_neighbours(
    predicted: &AosoaBuffer,
    bodies: usize,
    own: usize,
    radius2: f64,
    list: &mut [u32],
) -> u32 {
    let (x, v) = (predicted.vector(own, 1), predicted.vector(own, 4));
    let mut length = 0;
    for place in 0..bodies {
        let (r, w) = (
            predicted.vector(place, 1) - x,
            predicted.vector(place, 4) - v,
        );
        if is_neighbour(r, w, radius2) && place != own {
            if let Some(to) = list.get_mut(length) {
                *to = place as u32;
            }
            length += 1;
        }
    }
    length as u32
}

/// Predicts packets of particles to `time`.
pub(super) fn predict_packets(
    simd: Simd,
    order: Order,
    stars: &[f64],
    predicted: &mut [f64],
    time: f64,
) {
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
fn predict_lanes<R: LaneMemory<Element = f64>, const P: usize, const D: usize>(
    stars: &[f64],
    predicted: &mut [f64],
    time: f64,
) {
    let stars = stars.chunks_exact((2 + 3 * P) * PACKET_PARTICLES);
    let predicted = predicted.chunks_exact_mut((1 + 3 * D) * PACKET_PARTICLES);
    for (star, to) in stars.zip(predicted) {
        for lane in (0..PACKET_PARTICLES).step_by(R::LANES) {
            // SAFETY: both are whole packets of these numbers of components.
            unsafe {
                let at = |component: usize| star.as_ptr().add(component * PACKET_PARTICLES + lane);
                let dt = R::from_f64(time) - R::load(at(1));
                let x: [Vec3<R>; P] = std::array::from_fn(|k| load_vector(at(2 + 3 * k)));
                let motion = predict::predict::<R, P, D>(&x, dt);
                for (k, v) in motion.iter().enumerate() {
                    let to = to.as_mut_ptr().add((1 + 3 * k) * PACKET_PARTICLES + lane);
                    store_vector(*v, to);
                }
            }
        }
    }
}
