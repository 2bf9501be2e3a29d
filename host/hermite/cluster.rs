//! Integrates a cluster: predicts all particles, evaluates and corrects the active ones, and chooses their next steps.

// Loops over indices are inlined into functions with an instruction set; closures of iterators may not be.
#![allow(clippy::needless_range_loop)]

use std::time::Instant;

use kernels_gpu::Vec3;
use kernels_gpu::hermite::TERMS;
use kernels_gpu::hermite::correct::correct;
use kernels_gpu::hermite::predict::predict;
use kernels_gpu::hermite::step::{
    Accuracy, Limits, Verdict, first_criterion, halvings, judge, quantised,
};
use serde::{Deserialize, Serialize};

use super::aosoa::{LaneMemory, PACKET_PARTICLES, load_rows, store_rows};
use super::{
    Energies, Engine, Forces, HermiteError, Motion, Order, Pair, Parts, Schedule, Shape,
    Specification, Split, Star, Validated, bodies_of,
};
use trisolar_bodies::{compensated, kinetic};
use trisolar_simd::{Simd, with_lanes};

mod ahmad_cohen;
mod close_pairs;
mod device_steps;

pub(crate) use ahmad_cohen::regular_accuracy;
use device_steps::Current;
pub use device_steps::{BlockStep, BlockSteps};

const ZERO: Vec3<f64> = Vec3 {
    x: 0.0,
    y: 0.0,
    z: 0.0,
};
/// Least number of active particles that a thread corrects: two microseconds of work or more.
const MIN_SHARE_CORRECTIONS: usize = 1 << 6;
/// Least number of active particles for which a thread chooses the steps: two microseconds of work or more.
const MIN_SHARE_VERDICTS: usize = 1 << 5;

/// The place of a verdict that will be written.
const UNDECIDED: Verdict = Verdict {
    step: 0.0,
    finite: false,
    noisy: false,
    abrupt: false,
    clamped: false,
};

/// Largest number of abrupt steps of a block that are examined.
const MAX_EXAMINED_STEPS: usize = 4;

/// What has been done so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Block steps.
    pub blocks: u64,
    /// Steps of particles.
    pub steps: u64,
    /// Blocks by the number of active particles: 1, 2-3, 4-7, and so on.
    pub active: Vec<u64>,
    /// Steps of particles by length: the longest, half of it, and so on.
    pub lengths: Vec<u64>,
    /// Steps that were lengthened to the shortest one allowed.
    pub clamped: u64,
    /// Steps that were not shortened because the criterion would have followed rounding noise.
    #[serde(default)]
    pub noisy: u64,
    /// Steps that were at least 8 times longer than the criterion allowed at their end, of particles that may have jumped over
    /// their nearest neighbour.
    #[serde(default)]
    pub abrupt: u64,
    /// Of the Ahmad–Cohen scheme: sums over all particles.
    #[serde(default)]
    pub regular_steps: u64,
    /// Of the Ahmad–Cohen scheme: pairs of particles and neighbours.
    #[serde(default)]
    pub irregular_pairs: u64,
    /// Of the Ahmad–Cohen scheme: lists that did not fit and were taken again with a smaller radius.
    #[serde(default)]
    pub overflows: u64,
    /// Pairs that became single particles.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pairs_formed: u64,
    /// Single particles that became two again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pairs_dissolved: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Counters {
    fn count(histogram: &mut Vec<u64>, bin: usize, n: u64) {
        if histogram.len() <= bin {
            histogram.resize(bin + 1, 0);
        }
        histogram[bin] += n;
    }
}

/// A step that turned out to be much too long, by the criterion at its end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Abrupt {
    /// The time at which it ended.
    pub time: f64,
    /// The particle that took the step.
    pub body: usize,
    /// The particle's nearest neighbour at that time.
    pub neighbour: usize,
    /// Their distance (length).
    pub distance: f64,
    /// Its length divided by the length of the next step.
    pub ratio: f64,
}

/// A cluster that is being integrated.
pub struct Cluster<'e> {
    specification: Specification,
    stars: Vec<Star>,
    schedule: Schedule,
    counters: Counters,
    split: Split,
    engine: Box<dyn Engine + 'e>,
    active: Vec<u32>,
    forces: Vec<Forces>,
    moved: Vec<Star>,
    verdicts: Vec<Verdict>,
    split_forces: Option<ahmad_cohen::AhmadCohenState>,
    /// Pairs that are integrated as single particles, by their first places.
    pairs: Vec<Pair>,
    abrupt: Option<Abrupt>,
    block_steps: BlockSteps,
    current: Current,
    /// Particles that the host has stepped since the device had the current state of all.
    stepped: Vec<u32>,
    /// Time of the device's last block.
    device_time: f64,
}

impl std::fmt::Debug for Cluster<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("specification", &self.specification)
            .field("stars", &self.stars.len())
            .field("time", &self.time())
            .field("engine", &self.engine.device())
            .finish_non_exhaustive()
    }
}

impl<'e> Cluster<'e> {
    /// The start model at time 0, with its forces and first steps.
    ///
    /// # Errors
    /// The errors of the engine.
    pub fn new(start: &Validated, mut engine: Box<dyn Engine + 'e>) -> Result<Self, HermiteError> {
        let specification = start.specification().clone();
        let order = specification.order;
        let mut stars = Star::of(start.bodies());
        if specification.backwards {
            stars.iter_mut().for_each(Star::reverse);
        }
        engine.load(&specification, &stars)?;
        let all: Vec<u32> = (0..stars.len() as u32).collect();
        let mut forces = vec![[ZERO; 4]; stars.len()];
        // Snap and crackle depend on accelerations and jerks, which the first evaluation finds.
        for _ in 0..order.evaluations_to_start() {
            engine.predict(0.0)?;
            engine.forces(&all, &mut forces)?;
            for (star, force) in stars.iter_mut().zip(&forces) {
                star.taylor[2..2 + order.derivatives()]
                    .copy_from_slice(&force[..order.derivatives()]);
            }
            engine.store(&all, &stars)?;
        }
        first_steps(&specification, &mut stars);
        let lengths = stars.iter().map(|s| s.step);
        let schedule = Schedule::new(specification.max_step, 0.0, lengths);
        let mut cluster =
            Self::assembled(specification, stars, schedule, Counters::default(), engine);
        if cluster.specification.ahmad_cohen.is_some() {
            cluster.start_ahmad_cohen()?;
        }
        cluster.regroup(&[], &all, 0.0)?;
        Ok(cluster)
    }

    /// A cluster in the state that [`stars`](Self::stars), [`parts`](Self::parts), [`time`](Self::time) and
    /// [`counters`](Self::counters) had: the continued run has the same bits.
    ///
    /// # Errors
    /// The errors of the engine.
    ///
    /// # Panics
    /// If there are not as many `parts` as the scheme needs: one for each particle with Ahmad–Cohen, none without.
    pub fn resumed(
        specification: Specification,
        stars: Vec<Star>,
        parts: Vec<Parts>,
        time: f64,
        counters: Counters,
        mut engine: Box<dyn Engine + 'e>,
    ) -> Result<Self, HermiteError> {
        let needed = specification.ahmad_cohen.map_or(0, |_| stars.len());
        assert_eq!(parts.len(), needed, "parts of forces");
        engine.load(&specification, &stars)?;
        let lengths = stars.iter().map(|s| s.step);
        let schedule = Schedule::new(specification.max_step, time, lengths);
        let mut cluster = Self::assembled(specification, stars, schedule, counters, engine);
        if cluster.specification.ahmad_cohen.is_some() {
            cluster.split_forces = Some(ahmad_cohen::AhmadCohenState::new(parts));
        }
        Ok(cluster)
    }

    fn assembled(
        specification: Specification,
        stars: Vec<Star>,
        schedule: Schedule,
        counters: Counters,
        engine: Box<dyn Engine + 'e>,
    ) -> Self {
        // The engine has the records of all particles.
        let (current, stepped) = match specification.ahmad_cohen {
            None => (Current::Both, (0..stars.len() as u32).collect()),
            Some(_) => (Current::Host, Vec::new()),
        };
        Self {
            specification,
            stars,
            schedule,
            counters,
            split: Split::default(),
            engine,
            active: Vec::new(),
            forces: Vec::new(),
            moved: Vec::new(),
            verdicts: Vec::new(),
            split_forces: None,
            pairs: Vec::new(),
            abrupt: None,
            block_steps: BlockSteps::Host,
            current,
            stepped,
            device_time: 0.0,
        }
    }

    /// The specification of the integration.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// The particles, each at the time of its last step.
    pub fn stars(&self) -> &[Star] {
        &self.stars
    }

    /// The parts of the forces in the Ahmad–Cohen scheme, for each particle; none without.
    pub fn parts(&self) -> &[Parts] {
        self.split_forces.as_ref().map_or(&[], |s| &s.parts)
    }

    /// Time of the last block.
    pub fn time(&self) -> f64 {
        self.schedule.time()
    }

    /// Time of the next block.
    pub fn next_time(&self) -> f64 {
        self.schedule.next_time()
    }

    /// What has been done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How the time since this object was made was spent.
    pub fn split(&self) -> Split {
        self.split
    }

    /// The engine.
    pub fn engine(&self) -> &dyn Engine {
        self.engine.as_ref()
    }

    /// Floating-point operations of the forces so far: the number of pairs times [`Order::operations`].
    pub fn operations(&self) -> f64 {
        let evaluations = if self.specification.ahmad_cohen.is_some() {
            self.counters.regular_steps as f64
        } else {
            self.counters.steps as f64 * f64::from(self.specification.iterations)
        };
        let pairs = evaluations * self.stars.len() as f64 + self.counters.irregular_pairs as f64;
        pairs * f64::from(self.specification.order.operations())
    }

    /// Steps block by block up to the last block that is not after `time`.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn advance_to(&mut self, time: f64) -> Result<(), HermiteError> {
        self.advance(time, &mut |_| true).map(|_| ())
    }

    /// Performs one block step on the host, for the particles that are due, and returns their number.
    ///
    /// # Errors
    /// [`HermiteError::StepTooSmall`], [`HermiteError::NotFinite`], or as the engine.
    pub fn step(&mut self) -> Result<usize, HermiteError> {
        if self.split_forces.is_some() {
            return self.step_ahmad_cohen();
        }
        let start = Instant::now();
        let mut active = std::mem::take(&mut self.active);
        let time = self.schedule.take(&mut active);
        let scheduled = Instant::now();
        self.engine.predict(time)?;
        let predicted = Instant::now();
        self.split.schedule += scheduled - start;
        self.split.predict += predicted - scheduled;
        self.evaluate_and_correct(&active, time)?;
        let begin = Instant::now();
        self.choose_steps(&active, time)?;
        let corrected = Instant::now();
        self.split.correct += corrected - begin;
        self.engine.store(&active, &self.moved)?;
        self.note_step(&active);
        for (place, star) in active.iter().zip(&self.moved) {
            self.stars[*place as usize] = *star;
        }
        let stored = Instant::now();
        let dissolved = self.look_at_pairs(&active, time);
        let looked = Instant::now();
        for place in &active {
            self.schedule
                .insert(*place, self.stars[*place as usize].step);
        }
        self.split.pairs += looked - stored;
        self.split.schedule += (stored - corrected) + looked.elapsed();
        let n = active.len();
        self.counters.blocks += 1;
        self.counters.steps += n as u64;
        Counters::count(&mut self.counters.active, n.ilog2() as usize, 1);
        let begin = Instant::now();
        let regrouped = self.regroup(&dissolved, &active, time);
        self.split.pairs += begin.elapsed();
        self.active = active;
        regrouped?;
        Ok(n)
    }

    /// P(EC)ⁿ of particles to `time`, from each one's own: the results are in `moved`.
    fn evaluate_and_correct(&mut self, active: &[u32], time: f64) -> Result<(), HermiteError> {
        self.forces.resize(active.len(), [ZERO; 4]);
        let begin = Instant::now();
        self.advance_pairs(active, time);
        self.split.pairs += begin.elapsed();
        for n in 0..self.specification.iterations {
            let start = Instant::now();
            if n > 0 {
                let motions: Vec<Motion> = self.moved.iter().map(motion).collect();
                self.engine.replace(active, &motions)?;
            }
            self.engine.forces(active, &mut self.forces)?;
            let mut forces = std::mem::take(&mut self.forces);
            self.resolve_forces(active, time, &mut forces);
            self.forces = forces;
            let evaluated = Instant::now();
            let (stars, order) = (&self.stars, self.specification.order);
            let workers = self.engine.workers();
            let (simd, forces) = (workers.simd(), &self.forces);
            self.moved.clear();
            let of_active = |place: &u32| stars[*place as usize];
            self.moved.extend(active.iter().map(of_active));
            let least = MIN_SHARE_CORRECTIONS;
            workers.for_shares(&mut self.moved, 1, least, |first, moved| {
                let forces = &forces[first..first + moved.len()];
                correct_all(simd, forces, time, order, moved);
            });
            self.split.force += evaluated - start;
            self.split.correct += evaluated.elapsed();
        }
        Ok(())
    }

    /// Chooses the next steps of the particles in `moved`.
    fn choose_steps(&mut self, active: &[u32], time: f64) -> Result<(), HermiteError> {
        let spec = &self.specification;
        let longest = self.schedule.longest_at(time);
        let shortest = spec.shortest_step(time);
        let limits = Limits { longest, shortest };
        let workers = self.engine.workers();
        let (simd, stars, moved) = (workers.simd(), &self.stars, &self.moved);
        self.verdicts.clear();
        self.verdicts.resize(active.len(), UNDECIDED);
        let least = MIN_SHARE_VERDICTS;
        workers.for_shares(&mut self.verdicts, 1, least, |first, verdicts| {
            let share = first..first + verdicts.len();
            let (active, moved) = (&active[share.clone()], &moved[share]);
            judge_all(simd, spec, limits, time, active, stars, moved, verdicts);
        });
        let mut failed = None;
        let mut abrupt = Vec::new();
        for ((star, place), verdict) in self.moved.iter_mut().zip(active).zip(&self.verdicts) {
            let body = *place as usize;
            if !verdict.finite {
                return Err(HermiteError::NotFinite { time, body });
            }
            let before = time - self.stars[body].time;
            let bin = halvings(spec.max_step, before) as usize;
            Counters::count(&mut self.counters.lengths, bin, 1);
            star.step = verdict.step;
            self.counters.noisy += u64::from(verdict.noisy);
            if verdict.abrupt {
                abrupt.push((body, before, star.step));
            }
            if verdict.clamped {
                self.counters.clamped += 1;
                if spec.min_step.is_none() {
                    failed = failed.or(Some(body));
                }
            }
        }
        self.note_abrupt(&abrupt, time);
        match failed {
            Some(body) => Err(self.too_small(body, time, shortest)),
            None => Ok(()),
        }
    }

    /// Examines steps (particle, length, next length) that turned out to be much too long at their ends. Counts those in which a
    /// pair has jumped past each other, and keeps the closest pair.
    fn note_abrupt(&mut self, steps: &[(usize, f64, f64)], time: f64) {
        // The search for the nearest neighbour takes long, and the pair itself is among the first in its block.
        for (body, taken, wanted) in steps.iter().take(MAX_EXAMINED_STEPS) {
            // The state at the start of the step, because after a jump the particles may be anywhere.
            let (neighbour, distance) = self.nearest(*body, time - taken);
            if !self.jumped(*body, neighbour, distance, *taken) {
                continue;
            }
            self.counters.abrupt += 1;
            if self.abrupt.is_none_or(|worst| distance < worst.distance) {
                self.abrupt = Some(Abrupt {
                    time,
                    body: *body,
                    neighbour,
                    distance,
                    ratio: taken / wanted,
                });
            }
        }
    }

    /// Whether a particle and its nearest neighbour may have passed each other within a step: their mutual attraction was the
    /// greater part of its acceleration, and moved them by more than their distance.
    fn jumped(&self, body: usize, neighbour: usize, distance: f64, step: f64) -> bool {
        let (a, b) = (&self.stars[body], &self.stars[neighbour]);
        let size = |v: Vec3<f64>| v.norm2_plus(0.0).sqrt();
        let softening = self.specification.softening;
        let attraction = (a.mass + b.mass) / (distance * distance + softening * softening);
        let way = step * (size(a.taylor[1] - b.taylor[1]) + 0.5 * step * attraction);
        way > distance && attraction > size(a.taylor[2])
    }

    /// Of the steps that were at least 8 times too long, since this object was made or since
    /// [`remember_abrupt`](Self::remember_abrupt), the one whose particle had the closest neighbour. The pair passed each other too
    /// closely for the step, so energy was lost or gained.
    pub fn abrupt(&self) -> Option<Abrupt> {
        self.abrupt
    }

    /// The warning about these steps, with `advice` on what helps besides a look at the energy error.
    pub fn abrupt_warning(&self, advice: &str) -> Option<String> {
        let worst = self.abrupt?;
        Some(format!(
            "{} steps were at least 8 times too long; the worst was at time {}: bodies {} and {} at a distance of {:.3e}. \
             Check the energy error, and {advice}",
            self.counters.abrupt,
            self.specification.on_the_clock(worst.time),
            worst.body + 1,
            worst.neighbour + 1,
            worst.distance
        ))
    }

    /// Restores the value that [`abrupt`](Self::abrupt) had when the run was interrupted.
    pub fn remember_abrupt(&mut self, abrupt: Option<Abrupt>) {
        self.abrupt = abrupt;
    }

    fn too_small(&self, body: usize, time: f64, shortest: f64) -> HermiteError {
        let (neighbour, distance) = self.nearest(body, time);
        HermiteError::StepTooSmall {
            time,
            body,
            neighbour,
            distance,
            shortest,
            regularised: self.specification.close_pairs.is_some(),
        }
    }

    /// The nearest neighbour of a body, and its distance.
    fn nearest(&self, body: usize, time: f64) -> (usize, f64) {
        let at = |star: &Star| {
            let x: [Vec3<f64>; 4] = std::array::from_fn(|k| star.taylor[k]);
            predict::<f64, 4, 2>(&x, time - star.time)[0]
        };
        let here = at(&self.stars[body]);
        let (neighbour, distance2) = (self.stars.iter().enumerate())
            .filter(|(place, star)| *place != body && star.step > 0.0)
            .map(|(place, star)| (place, (at(star) - here).norm2_plus(0.0)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or((body, f64::NAN));
        (neighbour, distance2.sqrt())
    }

    /// All particles at the same `time`, not before [`time`](Self::time) and not after
    /// [`next_time`](Self::next_time): particles whose time is earlier are advanced by a step of the right length. The integration
    /// itself is not affected.
    ///
    /// # Errors
    /// The errors of the engine.
    pub fn at(&mut self, time: f64) -> Result<Vec<Star>, HermiteError> {
        assert!(
            (self.time()..=self.next_time()).contains(&time),
            "{time} is not between the last block and the next"
        );
        let late: Vec<u32> = (0..self.stars.len() as u32)
            .filter(|place| {
                let star = &self.stars[*place as usize];
                star.time < time && star.step > 0.0
            })
            .collect();
        let mut all = self.stars.clone();
        let pairs = self.pairs_for_output(time);
        if !late.is_empty() {
            if let Some(state) = &mut self.split_forces {
                state.flush(self.engine.as_mut(), &self.stars)?;
            }
            self.engine.predict(time)?;
            self.evaluate_and_correct(&late, time)?;
            for (place, star) in late.iter().zip(&self.moved) {
                all[*place as usize] = *star;
            }
        }
        self.put_bodies(&mut all, time);
        self.pairs = pairs;
        Ok(all)
    }

    /// Potentials of particles that [`at`](Self::at) put at one time, each without its own.
    ///
    /// # Errors
    /// The errors of the engine.
    pub fn potentials(&mut self, stars: &[Star]) -> Result<Vec<f64>, HermiteError> {
        let all: Vec<u32> = (0..stars.len() as u32).collect();
        let motions: Vec<Motion> = stars.iter().map(motion).collect();
        // The engine has the masses of pairs in the places of their first bodies.
        if !self.pairs.is_empty() {
            self.engine.load(&self.specification, stars)?;
        }
        self.engine.replace(&all, &motions)?;
        let mut potentials = vec![0.0; stars.len()];
        self.engine.potentials(&mut potentials)?;
        if !self.pairs.is_empty() {
            self.engine.load(&self.specification, &self.stars)?;
        }
        Ok(potentials)
    }

    /// The shape of particles that [`at`](Self::at) put at one time, found by the engine's workers.
    pub fn shape(&self, stars: &[Star]) -> Shape {
        self.engine
            .workers()
            .install(|| Shape::of(&bodies_of(stars)))
    }

    /// Energies at `time`, as [`at`](Self::at).
    ///
    /// # Errors
    /// The errors of the engine.
    pub fn energy(&mut self, time: f64) -> Result<Energies, HermiteError> {
        let stars = self.at(time)?;
        let potentials = self.potentials(&stars)?;
        Ok(Self::energy_of(&stars, &potentials))
    }

    /// Energies of particles at one time with these [`potentials`](Self::potentials), in compensated sums.
    pub fn energy_of(stars: &[Star], potentials: &[f64]) -> Energies {
        let velocities = stars.iter().map(|s| (s.mass, s.velocity()));
        let [kinetic, relative] = kinetic(velocities);
        let potential = stars.iter().zip(potentials).map(|(s, p)| 0.5 * s.mass * p);
        let potential = compensated(potential);
        Energies {
            kinetic,
            potential,
            internal: relative + potential,
        }
    }
}

fn motion(star: &Star) -> Motion {
    std::array::from_fn(|k| star.taylor[k])
}

/// Corrects particles, each of which is at the start of its step, to `time` with these forces there.
fn correct_all(simd: Simd, forces: &[Forces], time: f64, order: Order, stars: &mut [Star]) {
    match order {
        Order::Four => {
            with_lanes!(simd, correct_lanes[, 2](forces: &[Forces], time: f64, stars: &mut [Star]))
        }
        Order::Six => {
            with_lanes!(simd, correct_lanes[, 3](forces: &[Forces], time: f64, stars: &mut [Star]))
        }
        Order::Eight => {
            with_lanes!(simd, correct_lanes[, 4](forces: &[Forces], time: f64, stars: &mut [Star]))
        }
    }
}

#[inline(always)]
fn correct_lanes<R: LaneMemory<Element = f64>, const D: usize>(
    forces: &[Forces],
    time: f64,
    stars: &mut [Star],
) {
    // Lanes without a particle take a step of length 1.
    let mut steps = [1.0; PACKET_PARTICLES];
    let mut start = [[0.0; PACKET_PARTICLES]; 3 * TERMS];
    let mut end = [[0.0; PACKET_PARTICLES]; 12];
    for (stars, forces) in (stars.chunks_mut(R::LANES)).zip(forces.chunks(R::LANES)) {
        for (lane, (star, force)) in stars.iter().zip(forces).enumerate() {
            steps[lane] = time - star.time;
            for (k, v) in star.taylor[..2 + D].iter().enumerate() {
                put(&mut start, 3 * k, lane, *v);
            }
            for (k, v) in force[..D].iter().enumerate() {
                put(&mut end, 3 * k, lane, *v);
            }
        }
        let mut x = [Vec3::<R>::zero(); TERMS];
        let mut f = [Vec3::<R>::zero(); D];
        let (mut h, mut inv_h) = ([0.0; PACKET_PARTICLES], [0.0; PACKET_PARTICLES]);
        for lane in 0..R::LANES {
            h[lane] = 0.5 * steps[lane];
            inv_h[lane] = 2.0 / steps[lane];
        }
        for (k, x) in x[..2 + D].iter_mut().enumerate() {
            *x = load_rows(&start, 3 * k, 0);
        }
        for (k, f) in f.iter_mut().enumerate() {
            *f = load_rows(&end, 3 * k, 0);
        }
        // SAFETY: there are as many numbers as a packet has places, at least as many as lanes.
        let corrected =
            unsafe { correct::<R, D>(&x, &f, R::load(h.as_ptr()), R::load(inv_h.as_ptr())) };
        for (k, v) in corrected.into_iter().enumerate() {
            store_rows(v, &mut start, 3 * k, 0);
        }
        for (lane, star) in stars.iter_mut().enumerate() {
            star.time = time;
            for (k, v) in star.taylor.iter_mut().enumerate() {
                *v = Vec3 {
                    x: start[3 * k][lane],
                    y: start[3 * k + 1][lane],
                    z: start[3 * k + 2][lane],
                };
            }
        }
    }
}

/// Puts a vector into a lane of three consecutive rows.
#[inline(always)]
fn put<const N: usize>(
    rows: &mut [[f64; PACKET_PARTICLES]; N],
    first: usize,
    lane: usize,
    v: Vec3<f64>,
) {
    rows[first][lane] = v.x;
    rows[first + 1][lane] = v.y;
    rows[first + 2][lane] = v.z;
}

/// Parameters of the time-step criterion.
pub(super) fn accuracy(spec: &Specification) -> Accuracy {
    Accuracy {
        eta: spec.eta,
        epsilon: spec.precision.epsilon(),
    }
}

/// The next steps of particles in `moved`, in a function that has the instruction for fused products.
#[expect(
    clippy::too_many_arguments,
    reason = "they are those of the loop, in a function that has the instruction set"
)]
fn judge_all(
    simd: Simd,
    spec: &Specification,
    limits: Limits,
    time: f64,
    active: &[u32],
    stars: &[Star],
    moved: &[Star],
    verdicts: &mut [Verdict],
) {
    with_lanes!(simd, judge_each[](spec: &Specification, limits: Limits, time: f64, active: &[u32],
        stars: &[Star], moved: &[Star], verdicts: &mut [Verdict]));
}

#[inline(always)]
#[expect(
    clippy::extra_unused_type_parameters,
    reason = "the macro names its lanes; only their instruction set is wanted"
)]
fn judge_each<R>(
    spec: &Specification,
    limits: Limits,
    time: f64,
    active: &[u32],
    stars: &[Star],
    moved: &[Star],
    verdicts: &mut [Verdict],
) {
    let accuracy = accuracy(spec);
    for ((place, star), verdict) in active.iter().zip(moved).zip(verdicts) {
        let before = time - stars[*place as usize].time;
        // The order as a constant, so that the compiler unrolls the loops.
        let judge = |order| judge(order, &accuracy, &limits, &star.taylor, before);
        *verdict = match spec.order {
            Order::Four => judge(4),
            Order::Six => judge(6),
            Order::Eight => judge(8),
        };
    }
}

/// First steps of a start model: at most a quarter of the longest step. A particle without a defined criterion (for example without
/// acceleration, by symmetry) takes the shortest step of the others.
fn first_steps(spec: &Specification, stars: &mut [Star]) {
    let shortest = spec.shortest_step(0.0);
    let longest = (0.25 * spec.max_step).max(shortest);
    let mut least = longest;
    for star in stars.iter_mut() {
        let allowed = first_criterion(spec.order.number(), &star.taylor, spec.eta_start);
        star.step = if allowed.value > 0.0 {
            quantised(allowed, longest, shortest)
        } else {
            0.0
        };
        if star.step > 0.0 {
            least = least.min(star.step);
        }
    }
    for star in stars {
        if star.step == 0.0 {
            star.step = least;
        }
    }
}
