//! An engine of one of several processes that share the forces of a cluster. Every process holds and predicts all particles.
//!
//! With many active particles each rank sums the forces on some of them. With few, each rank of engines on devices sums some of the partial
//! sums of every force, which are then folded in the order that the number of particles fixes.

use std::rc::Rc;

use kernels_gpu::Vec3;
use kernels_gpu::physics::summation::partial_sums::{fold, partial_sums};

use super::engine::SumSubset;
use super::{Engine, Forces, HermiteError, Lists, Motion, Specification, Star};
use trisolar_run::{Ranks, Workers};

/// Number of active particles for each rank from which the particles are divided instead of the sums: as many as keep a device busy.
const MIN_PARTICLES_PER_RANK: usize = 128;

/// Shares the work of an engine with the ranks, each of which has such an engine and makes the same calls.
pub(super) struct SharedEngine<'e> {
    engine: Box<dyn Engine + 'e>,
    ranks: Rc<dyn Ranks>,
    bodies: usize,
    /// Numbers of a force.
    components: usize,
}

impl<'e> SharedEngine<'e> {
    pub fn new(engine: Box<dyn Engine + 'e>, ranks: Rc<dyn Ranks>) -> Self {
        Self {
            engine,
            ranks,
            bodies: 0,
            components: 0,
        }
    }

    /// Some of `count` items for each rank.
    fn shares(&self, count: usize) -> Vec<std::ops::Range<usize>> {
        let size = self.ranks.size();
        let cut = |rank: usize| count * rank / size;
        (0..size).map(|rank| cut(rank)..cut(rank + 1)).collect()
    }

    /// Number of parts of the partial sums: a power of two.
    fn parts(&self) -> usize {
        let size = self.ranks.size().next_power_of_two();
        size.min(partial_sums(self.bodies))
    }

    /// The parts of a rank.
    fn parts_of(&self, rank: usize) -> impl Iterator<Item = usize> + use<> {
        (rank..self.parts()).step_by(self.ranks.size())
    }

    /// Folds the parts of all ranks; `mine` has `length` numbers for each part of this rank.
    fn fold_parts(&self, mine: &[f64], length: usize) -> Vec<f64> {
        let (parts, size) = (self.parts(), self.ranks.size());
        let counts: Vec<usize> = (0..size)
            .map(|r| self.parts_of(r).count() * length)
            .collect();
        let mut all = vec![0.0; parts * length];
        self.ranks.gather(mine, &counts, &mut all);
        let mut starts = vec![0; parts];
        let order = (0..size).flat_map(|rank| self.parts_of(rank));
        for (place, part) in order.enumerate() {
            starts[part] = place * length;
        }
        let mut values = vec![0.0; parts];
        let folded = (0..length).map(|at| {
            for (value, start) in values.iter_mut().zip(&starts) {
                *value = all[start + at];
            }
            fold(&mut values)
        });
        folded.collect()
    }

    /// Gathers `width` numbers of each of `count` items, of which this rank has its share.
    fn gather(&self, mine: &[f64], count: usize, width: usize) -> Vec<f64> {
        let counts = self
            .shares(count)
            .iter()
            .map(|s| s.len() * width)
            .collect::<Vec<_>>();
        let mut all = vec![0.0; count * width];
        self.ranks.gather(mine, &counts, &mut all);
        all
    }

    fn numbers(&self, forces: &[Forces], to: &mut Vec<f64>) {
        for force in forces {
            let numbers = force.iter().flat_map(|v| [v.x, v.y, v.z]);
            to.extend(numbers.take(self.components));
        }
    }

    fn forces_from(&self, numbers: &[f64], out: &mut [Forces]) {
        for (force, numbers) in out.iter_mut().zip(numbers.chunks_exact(self.components)) {
            *force = [Vec3::zero(); 4];
            for (v, [x, y, z]) in force.iter_mut().zip(numbers.as_chunks::<3>().0) {
                *v = Vec3 {
                    x: *x,
                    y: *y,
                    z: *z,
                };
            }
        }
    }
}

impl Engine for SharedEngine<'_> {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn device(&self) -> String {
        format!(
            "{} MPI ranks, each {}",
            self.ranks.size(),
            self.engine.device()
        )
    }

    fn workers(&self) -> &Workers {
        self.engine.workers()
    }

    fn load(&mut self, specification: &Specification, stars: &[Star]) -> Result<(), HermiteError> {
        self.bodies = stars.len();
        self.components = 3 * specification.order.derivatives();
        self.engine.load(specification, stars)
    }

    fn store(&mut self, places: &[u32], stars: &[Star]) -> Result<(), HermiteError> {
        self.engine.store(places, stars)
    }

    fn predict(&mut self, time: f64) -> Result<(), HermiteError> {
        self.engine.predict(time)
    }

    fn replace(&mut self, places: &[u32], motions: &[Motion]) -> Result<(), HermiteError> {
        self.engine.replace(places, motions)
    }

    fn forces(&mut self, places: &[u32], out: &mut [Forces]) -> Result<(), HermiteError> {
        let (rank, size, count) = (self.ranks.rank(), self.ranks.size(), places.len());
        let mut mine = Vec::new();
        let divide_sums = count < MIN_PARTICLES_PER_RANK * size;
        if divide_sums && let Some(sums) = self.engine.subset_sums() {
            let parts = size.next_power_of_two().min(partial_sums(self.bodies));
            let mut of_part = out.to_vec();
            let mut all = Vec::new();
            for part in (rank..parts).step_by(size) {
                let subset = SumSubset {
                    first: part as u32,
                    stride: parts as u32,
                };
                sums.forces_of(subset, places, &mut of_part)?;
                all.extend_from_slice(&of_part);
            }
            self.numbers(&all, &mut mine);
            let folded = self.fold_parts(&mine, count * self.components);
            self.forces_from(&folded, out);
            return Ok(());
        }
        let share = self.shares(count)[rank].clone();
        if !share.is_empty() {
            self.engine
                .forces(&places[share.clone()], &mut out[share.clone()])?;
        }
        self.numbers(&out[share], &mut mine);
        let all = self.gather(&mine, count, self.components);
        self.forces_from(&all, out);
        Ok(())
    }

    fn neighbours(
        &mut self,
        places: &[u32],
        radii2: &[f64],
        capacity: usize,
        lists: &mut Lists,
    ) -> Result<(), HermiteError> {
        let (rank, count) = (self.ranks.rank(), places.len());
        let share = self.shares(count)[rank].clone();
        let mut own = Lists::default();
        own.resize(share.len(), capacity);
        if !share.is_empty() {
            let (places, radii2) = (&places[share.clone()], &radii2[share]);
            self.engine.neighbours(places, radii2, capacity, &mut own)?;
        }
        let numbers = |of: &[u32]| -> Vec<f64> { of.iter().map(|n| f64::from(*n)).collect() };
        let lengths = self.gather(&numbers(&own.lengths), count, 1);
        let listed = self.gather(&numbers(&own.places), count, capacity);
        lists.resize(count, capacity);
        lists.lengths = lengths.iter().map(|n| *n as u32).collect();
        lists.places = listed.iter().map(|n| *n as u32).collect();
        Ok(())
    }

    fn potentials(&mut self, out: &mut [f64]) -> Result<(), HermiteError> {
        let (rank, size) = (self.ranks.rank(), self.ranks.size());
        let parts = self.parts();
        let Some(sums) = self.engine.subset_sums() else {
            return self.engine.potentials(out);
        };
        let mut mine = Vec::new();
        for part in (rank..parts).step_by(size) {
            let subset = SumSubset {
                first: part as u32,
                stride: parts as u32,
            };
            sums.potentials_of(subset, out)?;
            mine.extend_from_slice(out);
        }
        let folded = self.fold_parts(&mine, out.len());
        out.copy_from_slice(&folded);
        Ok(())
    }

    fn no_block_steps(&self, _: &Specification) -> Option<String> {
        Some(
            "several processes share the forces of each block step, which the host performs".into(),
        )
    }
}
