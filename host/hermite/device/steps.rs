//! Whole block steps on a device: what it needs beyond forces, launches, and how the stars come back.

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Instant;

use kernels_gpu::Vec3;
use kernels_gpu::device::hermite::steps::{
    ACTIVE, AT_END, BLOCKS, CLAMPED, CONTROL, CYCLES, ENDED, FOR_HOST, LENGTHS, LEVELS, NOISY,
    REPORT, REST, STEPS, State, Steps, TIME, moved_width,
};
use kernels_gpu::device::hermite::{lanes, star_width, tiles};
use kernels_gpu::hermite::step::halvings;

use super::{Call, Device, DeviceEngine, Memory, records, shape};
use crate::hermite::cluster::accuracy;
use crate::hermite::engine::{Ended, Route, Stretch};
use crate::hermite::{HermiteError, Split, Star};
use crate::run::EngineError;

/// Blocks of a launch at most, so that the user is asked now and then whether to go on.
const MOST_BLOCKS: u64 = 1024;
/// Pairs of a launch at most: a second on a slow device, and no display waits longer.
const MOST_PAIRS: u64 = 2_000_000_000;
/// Threads of a block at least.
const LEAST_THREADS: u32 = 64;

/// What a device needs for whole block steps.
pub(super) struct Resident<D: Device> {
    rest: D::Numbers,
    moved: D::Numbers,
    levels: D::Places,
    control: D::Places,
    report: D::Numbers,
}

impl<D: Device> Resident<D> {
    fn new(device: &D, order: usize, bodies: usize) -> Result<Self, EngineError> {
        Ok(Self {
            rest: device.numbers(bodies * REST)?,
            moved: device.numbers(bodies * moved_width(order))?,
            levels: device.places(LEVELS as usize)?,
            control: device.places(CONTROL)?,
            report: device.exchanged(REPORT)?,
        })
    }
}

/// Numbers of a star beyond its record: its step, and the two vectors after the first `order`.
fn rest_of(stars: &[Star], order: usize) -> Vec<f64> {
    let mut host = Vec::with_capacity(stars.len() * REST);
    for star in stars {
        host.push(star.step);
        super::extend(&mut host, &star.taylor[order..order + 2]);
    }
    host
}

/// How many stars have steps of each length.
fn levels_of(stars: &[Star], longest: f64) -> [u32; LEVELS as usize] {
    let mut levels = [0; LEVELS as usize];
    for star in stars {
        levels[halvings(longest, star.step) as usize] += 1;
    }
    levels
}

impl<D: Device> DeviceEngine<D> {
    /// Why there are no block steps on these devices, if there are none.
    pub(super) fn no_stretch(&self) -> Option<String> {
        match &self.devices[..] {
            [device] if device.is_cooperative() => None,
            [_] => Some("it cannot launch grids whose blocks wait for each other".into()),
            _ => Some("whole block steps are made by one device".into()),
        }
    }

    /// As [`Engine::stretch`](crate::hermite::Engine::stretch).
    pub(super) fn make_stretch(&mut self, route: &Route<'_>) -> Result<Stretch, HermiteError> {
        if let Some(reason) = self.no_stretch() {
            return Err(HermiteError::NoBlockSteps {
                device: self.devices[0].device(),
                reason,
            });
        }
        let begin = Instant::now();
        let (device, memory, block) = (&self.devices[0], &mut self.memories[0], self.block);
        let mut resident = match memory.resident.take() {
            Some(resident) => resident,
            None => Resident::new(device, memory.order.number() as usize, memory.bodies)?,
        };
        let report = memory.stretch(device, &mut resident, route, block);
        memory.resident = Some(resident);
        let mut stretch = told(&report?);
        share_out(&mut stretch, begin);
        Ok(stretch)
    }

    /// As [`Engine::fetch`](crate::hermite::Engine::fetch).
    pub(super) fn fetch_stars(&mut self, stars: &mut [Star]) -> Result<(), HermiteError> {
        let (device, memory) = (&self.devices[0], &mut self.memories[0]);
        let Some(resident) = &mut memory.resident else {
            return Ok(());
        };
        let p = memory.order.number() as usize;
        let mut numbers = vec![0.0; stars.len() * star_width(p)];
        let mut rest = vec![0.0; stars.len() * REST];
        device.ask(&mut memory.stars, numbers.len())?;
        device.ask(&mut resident.rest, rest.len())?;
        device.get(&mut memory.stars, &mut numbers)?;
        device.get(&mut resident.rest, &mut rest)?;
        let records = numbers
            .chunks_exact(star_width(p))
            .zip(rest.chunks_exact(REST));
        for (star, (record, rest)) in stars.iter_mut().zip(records) {
            star.time = record[1];
            star.step = rest[0];
            let vectors = record[2..].chunks_exact(3).chain(rest[1..].chunks_exact(3));
            for (to, v) in star.taylor.iter_mut().zip(vectors) {
                *to = Vec3 {
                    x: v[0],
                    y: v[1],
                    z: v[2],
                };
            }
        }
        Ok(())
    }
}

impl<D: Device> Memory<D> {
    /// One launch; what it tells.
    fn stretch(
        &mut self,
        device: &D,
        resident: &mut Resident<D>,
        route: &Route<'_>,
        least: u32,
    ) -> Result<Vec<f64>, EngineError> {
        let p = self.order.number() as usize;
        let spec = route.specification;
        if let Some(stars) = route.stars {
            device.put(&mut self.stars, &records(stars, p))?;
            device.put(&mut resident.rest, &rest_of(stars, p))?;
            device.put_places(&mut resident.levels, &levels_of(stars, spec.max_step))?;
        }
        device.put_places(&mut resident.control, &[0; CONTROL])?;
        device.put(&mut resident.report, &[0.0; REPORT])?;
        // The list of active places is the kernel's now.
        self.listed.clear();
        let part = self.out[0].0;
        let force = self.launch(part, 0, self.force_softening2);
        let values = 3 * self.order.derivatives();
        let job = Steps {
            force,
            accuracy: accuracy(spec),
            longest: spec.max_step,
            shortest: spec.min_step.unwrap_or(0.0),
            time: route.time,
            end: route.end,
            most_blocks: MOST_BLOCKS,
            most_pairs: MOST_PAIRS,
            bodies: self.bodies as u32,
            iterations: spec.iterations,
            few: device.few(force.terms),
            room: (self.partial_length / (values * force.parts() as usize)) as u32,
        };
        let call = Call::Steps {
            order: self.order,
            precision: self.precision,
            job,
            state: self.state(device, resident),
        };
        let threads = lanes::threads(force.parts()).max(least).max(LEAST_THREADS);
        let (words, _) = shape(self.order, self.precision);
        let shared =
            lanes::shared_bytes(values, force.parts()).max(tiles::shared_bytes(words, threads));
        let blocks = device.resident_blocks(&call, threads, shared)?;
        // SAFETY: every array is as long as the kernel asks for; no more blocks than are resident at the same time.
        unsafe { device.launch(&call, blocks, threads, shared)? };
        device.ask(&mut resident.report, REPORT)?;
        let mut report = vec![0.0; REPORT];
        device.get(&mut resident.report, &mut report)?;
        Ok(report)
    }

    fn state(&self, device: &D, resident: &Resident<D>) -> State {
        let numbers = |of: &D::Numbers| device.address(of) as *mut f64;
        State {
            stars: numbers(&self.stars),
            rest: numbers(&resident.rest),
            moved: numbers(&resident.moved),
            predicted: numbers(&self.predicted),
            active: device.places_address(&self.active) as *mut u32,
            forces: numbers(&self.out[0].1),
            partial: numbers(&self.partial),
            levels: device.places_address(&resident.levels) as *const AtomicU32,
            control: device.places_address(&resident.control) as *const AtomicU32,
            report: device.address(&resident.report) as *const AtomicU64,
        }
    }
}

/// What a launch has told.
fn told(report: &[f64]) -> Stretch {
    let number = |at: usize| report[at].to_bits();
    let list = |from: usize, to: usize| (from..to).map(number).collect();
    Stretch {
        time: report[TIME],
        blocks: number(BLOCKS),
        steps: number(STEPS),
        ended: match number(ENDED) {
            AT_END => Ended::AtEnd,
            FOR_HOST => Ended::ForHost,
            _ => Ended::ForNow,
        },
        noisy: number(NOISY),
        clamped: number(CLAMPED),
        active: list(ACTIVE, LENGTHS),
        lengths: list(LENGTHS, REPORT),
        split: Split::default(),
        cycles: [0, 1, 2].map(|k| number(CYCLES + k)),
    }
}

/// Deals the time since `begin` to the parts of a block step in the proportion of the device's cycles; copies and the wait
/// for the launch are in all of them.
fn share_out(stretch: &mut Stretch, begin: Instant) {
    let all = stretch.cycles.iter().sum::<u64>();
    let elapsed = begin.elapsed();
    if all == 0 {
        stretch.split.schedule = elapsed;
        return;
    }
    let [predict, force, correct] = stretch
        .cycles
        .map(|c| elapsed.mul_f64(c as f64 / all as f64));
    stretch.split = Split {
        predict,
        force,
        correct,
        ..Split::default()
    };
}
