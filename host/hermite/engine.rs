//! The engines that predict particles and sum their forces: one trait, selected at run time.

use std::time::{Duration, Instant};

use kernels_gpu::Vec3;

use super::{Parts, Specification, Star};
use trisolar_run::EngineError;
use trisolar_run::Workers;

/// How the time was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Prediction of all particles.
    pub predict: Duration,
    /// Forces of all on the active ones, and lists of neighbours.
    pub force: Duration,
    /// Of the Ahmad–Cohen scheme: forces of neighbours.
    pub irregular: Duration,
    /// Correction and choice of the next step.
    pub correct: Duration,
    /// Determining the particles that are due, and updating them in the engine.
    pub schedule: Duration,
    /// The orbits of regularised pairs, and which particles are pairs.
    pub pairs: Duration,
}

/// Acceleration, jerk, snap and crackle of a particle, up to the order of the scheme; the rest is 0.
pub type Forces = [Vec3<f64>; 4];

/// Position, velocity, acceleration and jerk of a particle, up to the order of the scheme.
pub type Motion = [Vec3<f64>; 4];

/// Lists of neighbours, `capacity` places for each particle.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// Capacity of each list.
    pub capacity: usize,
    /// The places, list by list.
    pub places: Vec<u32>,
    /// Number of neighbours of each particle. If it exceeds the capacity, the list is not usable.
    pub lengths: Vec<u32>,
}

impl Lists {
    /// Resizes the lists for this many particles.
    pub fn resize(&mut self, particles: usize, capacity: usize) {
        self.capacity = capacity;
        self.places.resize(particles * capacity, 0);
        self.lengths.resize(particles, 0);
    }

    /// The list of particle `i` of the request, or `None` if it is longer than the capacity.
    pub fn get(&self, i: usize) -> Option<&[u32]> {
        let length = self.lengths[i] as usize;
        let first = i * self.capacity;
        (length <= self.capacity).then(|| &self.places[first..first + length])
    }
}

/// A request for block steps that an engine performs by itself.
#[derive(Clone, Copy, Debug)]
pub struct BlockStepRequest<'a> {
    /// The specification of the integration.
    pub specification: &'a Specification,
    /// Time of the last block.
    pub time: f64,
    /// Time after which there is no block.
    pub end: f64,
    /// The particles, if the host has changed any since the last block steps of the engine.
    pub particles: Option<HostParticles<'a>>,
}

/// Particles that the host has changed.
#[derive(Clone, Copy, Debug)]
pub struct HostParticles<'a> {
    /// All particles.
    pub stars: &'a [Star],
    /// The parts of their forces in the Ahmad–Cohen scheme; none without.
    pub parts: &'a [Parts],
    /// The places of those that have changed and that [`Engine::store`] has put to the engine; `None` if the engine has none of them.
    pub places: Option<&'a [u32]>,
}

/// Why a sequence of block steps ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The next block is after the end.
    AtEnd,
    /// The limit of a launch was reached.
    ForNow,
    /// The next block step has a time step that was much too long, is too short, or gives results that are not finite. The host
    /// must perform it and find the pair responsible.
    ForHost,
}

/// The outcome of block steps that an engine performed by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockStepOutcome {
    /// Time of the last block.
    pub time: f64,
    /// Block steps.
    pub blocks: u64,
    /// Steps of particles.
    pub steps: u64,
    /// Why it ended.
    pub ended: Ended,
    /// Blocks by the number of active particles: 1, 2-3, 4-7, and so on.
    pub active: Vec<u64>,
    /// Steps of particles by length: the longest, half of it, and so on.
    pub lengths: Vec<u64>,
    /// Steps that were not shortened for noise.
    pub noisy: u64,
    /// Steps that were lengthened to the shortest one allowed.
    pub clamped: u64,
    /// Of the Ahmad–Cohen scheme: steps of the regular force.
    pub regular_steps: u64,
    /// Of the Ahmad–Cohen scheme: pairs of particles and neighbours.
    pub irregular_pairs: u64,
    /// Of the Ahmad–Cohen scheme: lists that did not fit.
    pub overflows: u64,
    /// How the time was spent; prediction includes the list of active particles.
    pub split: Split,
    /// Cycles of the device: predict, force, correct, irregular.
    pub cycles: [u64; 4],
}

/// A subset of the partial sums: `first`, `first` + `stride`, …; `stride` is a power of two, at most the number of partial sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumSubset {
    /// The first one, below `stride`.
    pub first: u32,
    /// The distance from one to the next.
    pub stride: u32,
}

impl SumSubset {
    /// All partial sums.
    pub const ALL: Self = Self {
        first: 0,
        stride: 1,
    };
}

/// What an engine computes that can leave out partial sums. Folding the results of all subsets with a stride, in the order of their first
/// sums, gives the bits of the whole.
pub trait SubsetSums {
    /// As [`Engine::forces`], of some partial sums only.
    ///
    /// # Errors
    /// As the device.
    fn forces_of(
        &mut self,
        subset: SumSubset,
        places: &[u32],
        out: &mut [Forces],
    ) -> Result<(), HermiteError>;

    /// As [`Engine::potentials`], of some partial sums only.
    ///
    /// # Errors
    /// As the device.
    fn potentials_of(&mut self, subset: SumSubset, out: &mut [f64]) -> Result<(), HermiteError>;
}

/// Holds the particles, predicts all of them, and computes forces on some of them. In a precision, all engines give the same
/// bits.
pub trait Engine {
    /// `cpu`, `gpu` or `emulator`.
    fn name(&self) -> &'static str;
    /// The device in words, for reports.
    fn device(&self) -> String;
    /// The threads that do the host's part of a run: corrections, irregular forces, the cluster's shape.
    fn workers(&self) -> &Workers;

    /// Loads a cluster and discards the previous one. Uses the order, softening and precision of the specification.
    ///
    /// # Errors
    /// As the device.
    fn load(&mut self, specification: &Specification, stars: &[Star]) -> Result<(), HermiteError>;

    /// Updates the particles at `places` after a step.
    ///
    /// # Errors
    /// As the device.
    fn store(&mut self, places: &[u32], stars: &[Star]) -> Result<(), HermiteError>;

    /// Predicts every particle to this time.
    ///
    /// # Errors
    /// As the device.
    fn predict(&mut self, time: f64) -> Result<(), HermiteError>;

    /// Replaces the predictions of the particles at `places` by `motions`.
    ///
    /// # Errors
    /// As the device.
    fn replace(&mut self, places: &[u32], motions: &[Motion]) -> Result<(), HermiteError>;

    /// Forces of all predicted particles on those at `places`, in the same order.
    ///
    /// # Errors
    /// As the device.
    fn forces(&mut self, places: &[u32], out: &mut [Forces]) -> Result<(), HermiteError>;

    /// Does the same as [`forces`](Self::forces). Returns the time that the forces take; on devices, without copies between them and the host.
    ///
    /// # Errors
    /// As the device.
    fn time_forces(
        &mut self,
        places: &[u32],
        out: &mut [Forces],
    ) -> Result<Duration, HermiteError> {
        let begin = Instant::now();
        self.forces(places, out)?;
        Ok(begin.elapsed())
    }

    /// Neighbours of the predicted particles at `places` within the radii whose squares are given
    /// ([`is_neighbour`](kernels_gpu::hermite::ahmad_cohen::is_neighbour)), ascending.
    ///
    /// # Errors
    /// As the device.
    fn neighbours(
        &mut self,
        places: &[u32],
        radii2: &[f64],
        capacity: usize,
        lists: &mut Lists,
    ) -> Result<(), HermiteError>;

    /// Potentials of all predicted particles at the place of each, without its own.
    ///
    /// # Errors
    /// As the device.
    fn potentials(&mut self, out: &mut [f64]) -> Result<(), HermiteError>;

    /// The engine as one that can leave out partial sums, if it can.
    fn subset_sums(&mut self) -> Option<&mut dyn SubsetSums> {
        None
    }

    /// Why the engine cannot perform whole block steps of such a run by itself; `None` if it can.
    fn no_block_steps(&self, _: &Specification) -> Option<String> {
        Some("it does not perform whole block steps".into())
    }

    /// Performs whole block steps.
    ///
    /// # Errors
    /// [`HermiteError::NoBlockSteps`], or as the device.
    fn perform_block_steps(
        &mut self,
        request: &BlockStepRequest<'_>,
    ) -> Result<BlockStepOutcome, HermiteError> {
        let reason = self.no_block_steps(request.specification);
        Err(HermiteError::NoBlockSteps {
            device: self.device(),
            reason: reason.unwrap_or_default(),
        })
    }

    /// Copies the particles, and the parts of their forces in the Ahmad–Cohen scheme, after block steps on the device; masses do not
    /// change.
    ///
    /// # Errors
    /// As the device.
    fn fetch(&mut self, _: &mut [Star], _: &mut [Parts]) -> Result<(), HermiteError> {
        Ok(())
    }
}

/// What helps against steps that are too small.
fn advice(regularised: bool) -> &'static str {
    if regularised {
        "Several bodies are too close to each other for one to be part of a regularised pair: a --min-step lets the run go on, with a larger \
         error"
    } else {
        "A small --eta at high order follows rounding errors: give a larger --eta, --close-pairs regularised without softening, or a \
         --softening or --min-step"
    }
}

/// Why an integration ended.
#[derive(Clone, Debug, thiserror::Error)]
pub enum HermiteError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine does not perform whole block steps.
    #[error("{device} does not perform whole block steps: {reason}")]
    NoBlockSteps {
        /// The device in words.
        device: String,
        /// The reason.
        reason: String,
    },
    /// The step of a particle is too small to advance its time.
    #[error(
        "time {time}: body {} needs a step below {shortest:e}; its nearest neighbour is body {} at a \
         distance of {distance:e}. {}", .body + 1, .neighbour + 1, advice(*regularised)
    )]
    StepTooSmall {
        /// The time.
        time: f64,
        /// The body.
        body: usize,
        /// Its nearest neighbour.
        neighbour: usize,
        /// Their distance.
        distance: f64,
        /// The shortest step possible.
        shortest: f64,
        /// Whether close pairs are regularised.
        regularised: bool,
    },
    /// A position or velocity is no longer a finite number.
    #[error(
        "time {time}: the position of body {} is no longer a finite number: it came too close to another one for \
         its step", .body + 1
    )]
    NotFinite {
        /// The time.
        time: f64,
        /// The body.
        body: usize,
    },
}
