//! Block steps of the Ahmad–Cohen scheme (Ahmad & Cohen 1973). This module sums the force of a particle's neighbours (irregular) at
//! its short steps. At its long steps, the engine sums the force of all particles, from which that of the neighbours is subtracted
//! (regular), and makes new lists.

use std::time::Instant;

use kernels_gpu::Vec3;
use kernels_gpu::hermite::ahmad_cohen::{
    Force, MAX_RADIUS_CHANGE, MAX_TRIES, irregular_step, next_radius, radius_change, regular_step,
    without_neighbours,
};
use kernels_gpu::hermite::step::{Accuracy, Limits, first_criterion, halvings, quantised};
use kernels_gpu::physics::softening::softening2;
use kernels_gpu::physics::summation::partial_sums::partial_sums;
use rayon::prelude::*;

use super::device_steps::Current;
use super::{Cluster, Counters, ZERO};
use crate::aosoa::AosoaBuffer;
use crate::cpu::predict_packets;
use crate::cpu_force::{AllPairs, forces_on};
use crate::parts::Parts;
use crate::spec::AhmadCohen;
use crate::{Engine, Forces, HermiteError, Lists, Order, Precision, Schedule, Star};
use trisolar_run::Workers;

/// Number of active particles from which several threads sum irregular forces.
const MIN_PARALLEL_PARTICLES: usize = 64;

/// The data of the scheme beside the particles.
#[derive(Clone, Debug)]
pub(super) struct AhmadCohenState {
    pub(super) parts: Vec<Parts>,
    /// Particles whose last steps have not been sent to the engine.
    stale: Vec<u32>,
    is_stale: Vec<bool>,
}

impl AhmadCohenState {
    pub(super) fn new(parts: Vec<Parts>) -> Self {
        let n = parts.len();
        Self {
            parts,
            stale: Vec::new(),
            is_stale: vec![false; n],
        }
    }

    /// Called when the engine has the current state of all particles.
    pub(super) fn sent(&mut self) {
        for place in self.stale.drain(..) {
            self.is_stale[place as usize] = false;
        }
    }

    fn touch(&mut self, place: u32) {
        if !std::mem::replace(&mut self.is_stale[place as usize], true) {
            self.stale.push(place);
        }
    }

    /// Sends the particles of `stale` to the engine.
    pub(super) fn flush(
        &mut self,
        engine: &mut dyn Engine,
        stars: &[Star],
    ) -> Result<(), HermiteError> {
        if self.stale.is_empty() {
            return Ok(());
        }
        self.stale.sort_unstable();
        let moved: Vec<Star> = (self.stale.iter())
            .map(|place| stars[*place as usize])
            .collect();
        engine.store(&self.stale, &moved)?;
        self.sent();
        Ok(())
    }
}

/// A step of the irregular force.
struct Irregular {
    /// Predicted position and velocity.
    motion: [Vec3<f64>; 2],
    /// Acceleration and jerk there.
    end: Force,
}

/// Sums the acceleration and jerk of a particle by those of a list at `time`.
struct Sum<'a> {
    stars: &'a [Star],
    time: f64,
    softening2: f64,
    workers: &'a Workers,
}

/// Memory for one particle's neighbours.
#[derive(Default)]
struct Scratch {
    stars: AosoaBuffer,
    predicted: AosoaBuffer,
}

impl Sum<'_> {
    /// The order of summation is that of all forces. The particle itself comes before its neighbours, with mass 0.
    fn irregular_force(&self, place: u32, neighbours: &[u32], scratch: &mut Scratch) -> Irregular {
        let n = neighbours.len() + 1;
        let sums = partial_sums(n);
        let Scratch { stars, predicted } = scratch;
        stars.reset(14, n, sums);
        predicted.reset(7, n, sums);
        for (at, other) in std::iter::once(&place).chain(neighbours).enumerate() {
            let star = &self.stars[*other as usize];
            stars.set(at, 1, star.time);
            for k in 0..4 {
                stars.set_vector(at, 2 + 3 * k, star.taylor[k]);
            }
            predicted.set(at, 0, if at == 0 { 0.0 } else { star.mass });
        }
        predict_packets(
            self.workers.simd(),
            Order::Four,
            stars.data(),
            predicted.data_mut(),
            self.time,
        );
        let pairs = AllPairs {
            predicted,
            softening2: self.softening2,
        };
        let mut out: [Forces; 1] = [[ZERO; 4]];
        forces_on(self.workers.simd(), Order::Four, &pairs, &[0], &mut out);
        Irregular {
            motion: [predicted.vector(0, 1), predicted.vector(0, 4)],
            end: [out[0][0], out[0][1]],
        }
    }

    /// For each particle and its list.
    fn irregular_forces<'b>(
        &self,
        places: &[u32],
        list: impl Fn(usize) -> &'b [u32] + Sync,
    ) -> Vec<Irregular> {
        if places.len() < MIN_PARALLEL_PARTICLES || self.workers.threads() == 1 {
            let mut scratch = Scratch::default();
            let one =
                |(k, place): (usize, &u32)| self.irregular_force(*place, list(k), &mut scratch);
            return places.iter().enumerate().map(one).collect();
        }
        let one = |scratch: &mut Scratch, (k, place): (usize, &u32)| {
            self.irregular_force(*place, list(k), scratch)
        };
        self.workers.install(|| {
            (places.par_iter().enumerate())
                .with_min_len(8)
                .map_init(Scratch::default, one)
                .collect()
        })
    }
}

/// The parameters of the criterion for regular steps. A regular force is the difference of two sums of many forces.
pub(crate) fn regular_accuracy(options: AhmadCohen, precision: Precision) -> Accuracy {
    let sums = match precision {
        Precision::F64 => 256.0,
        Precision::SplitF32 => 16.0,
    };
    Accuracy {
        eta: options.eta_regular,
        epsilon: sums * precision.epsilon(),
    }
}

impl Cluster<'_> {
    fn options(&self) -> AhmadCohen {
        self.specification
            .ahmad_cohen
            .expect("only clusters of this scheme come here")
    }

    fn sum(&self, time: f64) -> Sum<'_> {
        Sum {
            stars: &self.stars,
            time,
            softening2: softening2(self.specification.softening),
            workers: self.engine.workers(),
        }
    }

    /// Lists of the particles at `places`, which the engine has predicted. Radii whose lists do not fit are made
    /// smaller until they do.
    fn lists(&mut self, places: &[u32], radii: &mut [f64]) -> Result<Vec<Vec<u32>>, HermiteError> {
        let options = self.options();
        let mut found = vec![Vec::new(); places.len()];
        let mut wanted: Vec<usize> = (0..places.len()).collect();
        let mut lists = Lists::default();
        for attempt in 0..MAX_TRIES {
            let sought: Vec<u32> = wanted.iter().map(|w| places[*w]).collect();
            let radii2: Vec<f64> = wanted.iter().map(|w| radii[*w] * radii[*w]).collect();
            self.engine
                .neighbours(&sought, &radii2, options.capacity(), &mut lists)?;
            let mut rest = Vec::new();
            for (k, w) in wanted.into_iter().enumerate() {
                if let Some(list) = lists.get(k) {
                    found[w] = list.to_vec();
                } else {
                    radii[w] *= radius_change(options.neighbours, lists.lengths[k]);
                    rest.push(w);
                }
            }
            if attempt == 0 {
                self.counters.overflows += rest.len() as u64;
            }
            wanted = rest;
            if wanted.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    /// Splits the forces of the particles at time 0 and chooses the first steps.
    pub(super) fn start_ahmad_cohen(&mut self) -> Result<(), HermiteError> {
        let options = self.options();
        let n = self.stars.len();
        let all: Vec<u32> = (0..n as u32).collect();
        // Half of the mass, or all particles if they are few, set the scale.
        let mut distances: Vec<f64> = (self.stars.iter())
            .map(|s| s.taylor[0].norm2_plus(0.0))
            .collect();
        distances.sort_by(f64::total_cmp);
        let scale = distances[n / 2].sqrt();
        let radius = scale * libm::cbrt(f64::from(options.neighbours) / n as f64);
        let mut radii = vec![radius; n];
        let mut lists = self.lists(&all, &mut radii)?;
        // Outer particles have few neighbours within the radius that suits inner particles.
        for _ in 0..20 {
            let few = |list: &Vec<u32>| {
                list.len() * 2 < (options.neighbours as usize).min(n.saturating_sub(1))
            };
            let places: Vec<u32> = (all.iter())
                .filter(|p| few(&lists[**p as usize]))
                .copied()
                .collect();
            if places.is_empty() {
                break;
            }
            let mut wider: Vec<f64> = (places.iter())
                .map(|p| radii[*p as usize] * MAX_RADIUS_CHANGE)
                .collect();
            let found = self.lists(&places, &mut wider)?;
            for ((place, radius), list) in places.iter().zip(wider).zip(found) {
                radii[*place as usize] = radius;
                lists[*place as usize] = list;
            }
        }
        self.counters.overflows = 0;
        let irregular_forces = self.sum(0.0).irregular_forces(&all, |k| &lists[k]);
        let longest = 0.25 * self.specification.max_step;
        let shortest = self.specification.shortest_step(0.0);
        let mut parts = Vec::with_capacity(n);
        for ((star, irregular_force), (radius, neighbours)) in
            (self.stars.iter_mut().zip(irregular_forces)).zip(radii.into_iter().zip(lists))
        {
            let force = [star.taylor[2], star.taylor[3]];
            let regular = without_neighbours(force, irregular_force.end, neighbours.len() + 1 == n);
            let mut x = star.taylor;
            (x[2], x[3]) = (regular[0], regular[1]);
            let allowed = first_criterion(4, &x, self.specification.eta_start);
            let step = quantised(allowed, longest.max(shortest), shortest);
            let mut x = star.taylor;
            (x[2], x[3]) = (irregular_force.end[0], irregular_force.end[1]);
            let allowed = first_criterion(4, &x, self.specification.eta_start);
            let irregular = quantised(allowed, step, shortest.min(step));
            if !neighbours.is_empty() {
                star.step = star.step.min(irregular);
            }
            star.step = star.step.min(step);
            parts.push(Parts {
                radius,
                neighbours,
                irregular: irregular_force.end,
                regular,
                time: 0.0,
                step,
            });
        }
        let steps = self.stars.iter().map(|s| s.step);
        self.schedule = Schedule::new(self.specification.max_step, 0.0, steps);
        self.split_forces = Some(AhmadCohenState::new(parts));
        Ok(())
    }

    /// The limits of the steps that begin at `time`.
    fn limits(&self, time: f64) -> Limits {
        Limits {
            longest: self.schedule.longest_at(time),
            shortest: self.specification.shortest_step(time),
        }
    }

    /// Performs one block step.
    pub(super) fn step_ahmad_cohen(&mut self) -> Result<usize, HermiteError> {
        let start = Instant::now();
        let mut active = std::mem::take(&mut self.active);
        let time = self.schedule.take(&mut active);
        let mut state = self.split_forces.take().expect("started");
        self.split.schedule += start.elapsed();
        let begin = Instant::now();
        let list = |k: usize| &state.parts[active[k] as usize].neighbours[..];
        let irregular_forces = self.sum(time).irregular_forces(&active, list);
        self.split.irregular += begin.elapsed();
        let due: Vec<usize> = (0..active.len())
            .filter(|k| {
                let parts = &state.parts[active[*k] as usize];
                parts.regular_force().is_due(time)
            })
            .collect();
        let outcome = self
            .irregular_steps(&mut state, &active, &irregular_forces, time)
            .and_then(|()| self.regular_steps(&mut state, &active, &due, &irregular_forces, time));
        let begin = Instant::now();
        for (place, star) in active.iter().zip(&self.moved) {
            self.stars[*place as usize] = *star;
            self.schedule.insert(*place, star.step);
            state.touch(*place);
        }
        self.split_forces = Some(state);
        self.current = Current::Host;
        outcome?;
        self.split.schedule += begin.elapsed();
        let n = active.len();
        self.counters.blocks += 1;
        self.counters.steps += n as u64;
        self.counters.regular_steps += due.len() as u64;
        Counters::count(&mut self.counters.active, n.ilog2() as usize, 1);
        self.active = active;
        Ok(n)
    }

    /// Corrects the active particles for the change of their irregular forces: the results are in `moved`.
    fn irregular_steps(
        &mut self,
        state: &mut AhmadCohenState,
        active: &[u32],
        irregular_forces: &[Irregular],
        time: f64,
    ) -> Result<(), HermiteError> {
        let begin = Instant::now();
        let limits = self.limits(time);
        self.moved.clear();
        let mut failed = None;
        let mut abrupt = Vec::new();
        for (place, irregular_force) in active.iter().zip(irregular_forces) {
            let (star, parts) = (
                &self.stars[*place as usize],
                &mut state.parts[*place as usize],
            );
            self.counters.irregular_pairs += parts.neighbours.len() as u64;
            let dt = time - star.time;
            let bin = halvings(self.specification.max_step, dt) as usize;
            Counters::count(&mut self.counters.lengths, bin, 1);
            let forces = [parts.irregular, irregular_force.end];
            let (regular, eta) = (parts.regular_force(), self.specification.eta);
            let motion = irregular_force.motion;
            let step = irregular_step(motion, forces, &regular, dt, time, eta, &limits);
            parts.irregular = irregular_force.end;
            let mut moved = Star { time, ..*star };
            moved.taylor[..4].copy_from_slice(&step.motion);
            moved.step = step.step;
            if !step.finite {
                let body = *place as usize;
                return Err(HermiteError::NotFinite { time, body });
            }
            if step.abrupt {
                abrupt.push((*place as usize, dt, moved.step));
            }
            if step.clamped {
                self.counters.clamped += 1;
                if self.specification.min_step.is_none() {
                    failed = failed.or(Some(*place as usize));
                }
            }
            self.moved.push(moved);
        }
        self.note_abrupt(&abrupt, time);
        self.split.correct += begin.elapsed();
        match failed {
            Some(body) => Err(self.too_small(body, time, limits.shortest)),
            None => Ok(()),
        }
    }

    /// Sums all forces on the particles whose regular steps end, corrects them for the change of the regular part, and
    /// splits the forces again with new lists.
    fn regular_steps(
        &mut self,
        state: &mut AhmadCohenState,
        active: &[u32],
        due: &[usize],
        irregular_forces: &[Irregular],
        time: f64,
    ) -> Result<(), HermiteError> {
        if due.is_empty() {
            return Ok(());
        }
        let options = self.options();
        let places: Vec<u32> = due.iter().map(|k| active[*k]).collect();
        let begin = Instant::now();
        state.flush(self.engine.as_mut(), &self.stars)?;
        let flushed = Instant::now();
        self.engine.predict(time)?;
        let predicted = Instant::now();
        let mut forces = vec![[ZERO; 4]; places.len()];
        self.engine.forces(&places, &mut forces)?;
        let mut radii: Vec<f64> = (places.iter())
            .map(|place| {
                let parts = &state.parts[*place as usize];
                let found = parts.neighbours.len() as u32;
                next_radius(parts.radius, options.neighbours, found)
            })
            .collect();
        let lists = self.lists(&places, &mut radii)?;
        let summed = Instant::now();
        self.split.schedule += flushed - begin;
        self.split.predict += predicted - flushed;
        self.split.force += summed - predicted;
        let split = self.sum(time).irregular_forces(&places, |k| &lists[k]);
        let split_time = Instant::now();
        self.split.irregular += split_time - summed;
        let limits = self.limits(time);
        let n = self.stars.len();
        let accuracy = regular_accuracy(options, self.specification.precision);
        for (at, (neighbours, irregular_force)) in lists.into_iter().zip(split).enumerate() {
            let (k, all) = (due[at], [forces[at][0], forces[at][1]]);
            let parts = &mut state.parts[places[at] as usize];
            // The same neighbours that were subtracted from the regular part at its start.
            let were_all = parts.neighbours.len() + 1 == n;
            let end = without_neighbours(all, irregular_forces[k].end, were_all);
            let moved = &mut self.moved[k];
            let motion = [moved.taylor[0], moved.taylor[1]];
            let dt = time - parts.time;
            let ends = [parts.regular, end];
            let step = regular_step(motion, ends, all, dt, &accuracy, &limits);
            moved.taylor[..4].copy_from_slice(&step.motion);
            moved.step = moved.step.min(step.step);
            let are_all = neighbours.len() + 1 == n;
            self.counters.irregular_pairs += neighbours.len() as u64;
            *parts = Parts {
                radius: radii[at],
                regular: without_neighbours(all, irregular_force.end, are_all),
                neighbours,
                irregular: irregular_force.end,
                time,
                step: step.step,
            };
        }
        self.split.correct += split_time.elapsed();
        Ok(())
    }
}
