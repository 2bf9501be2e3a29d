//! Whole block steps on a device: their buffers and launches, and the transfer of the stars to the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Instant;

use kernels_gpu::Vec3;
use kernels_gpu::device::hermite::steps::{
    ACTIVE, AT_END, BLOCKS, CLAMPED, CONTROL, CYCLES, ENDED, FOR_HOST, LENGTHS, LEVELS, NOISY,
    REPORT, REST_WIDTH, STEPS, Steps, TIME, moved_width,
};
use kernels_gpu::device::hermite::tiles::Capacity;
use kernels_gpu::device::hermite::{lanes, star_width, tiles};
use kernels_gpu::hermite::arithmetic::{Plain, SplitF32};
use kernels_gpu::hermite::step::halvings;
use kernels_gpu::kernels::HermiteSteps;

use super::array::Array;
use super::{DeviceEngine, DeviceMemory, records, shape};
use crate::cluster::accuracy;
use crate::engine::{BlockStepOutcome, BlockStepRequest, Ended};
use crate::{HermiteError, Order, Precision, Split, Star};
use trisolar_device::{Device, Entry, Grid};
use trisolar_run::EngineError;

/// Largest number of block steps in a launch, so that cancellation is checked between launches.
const MAX_BLOCK_STEPS: u64 = 1024;
/// Largest number of pairs in a launch: about a second on a slow device, so that a display is not blocked for longer.
const MAX_PAIRS: u64 = 2_000_000_000;
/// Least number of threads per block.
const MIN_BLOCK_THREADS: u32 = 64;

/// The buffers of a device for whole block steps.
pub(super) struct Resident {
    rest: Array<f64>,
    moved: Array<f64>,
    levels: Array<u32>,
    control: Array<u32>,
    report: Array<f64>,
}

impl Resident {
    fn new(device: &Arc<dyn Device>, order: usize, bodies: usize) -> Result<Self, EngineError> {
        Ok(Self {
            rest: Array::new(device, bodies * REST_WIDTH, false)?,
            moved: Array::new(device, bodies * moved_width(order), false)?,
            levels: Array::new(device, LEVELS as usize, true)?,
            control: Array::new(device, CONTROL, true)?,
            report: Array::new(device, REPORT, true)?,
        })
    }
}

/// The arguments of the kernels that take block steps.
type StepsArguments = (
    Steps,
    *mut f64,
    *mut f64,
    *mut f64,
    *mut f64,
    *mut u32,
    *mut f64,
    *mut f64,
    *const AtomicU32,
    *const AtomicU32,
    *const AtomicU64,
);

/// The kernel that takes block steps.
fn steps_entry(order: Order, precision: Precision) -> Entry<StepsArguments> {
    match (precision, order) {
        (Precision::F64, Order::Four) => Entry::of::<HermiteSteps<Plain<f64>, 4, 2, 2>>(),
        (Precision::F64, Order::Six) => Entry::of::<HermiteSteps<Plain<f64>, 6, 3, 2>>(),
        (Precision::F64, Order::Eight) => Entry::of::<HermiteSteps<Plain<f64>, 8, 4, 2>>(),
        (Precision::SplitF32, Order::Four) => Entry::of::<HermiteSteps<SplitF32<f32>, 4, 2, 4>>(),
        (Precision::SplitF32, Order::Six) => Entry::of::<HermiteSteps<SplitF32<f32>, 6, 3, 4>>(),
        (Precision::SplitF32, Order::Eight) => Entry::of::<HermiteSteps<SplitF32<f32>, 8, 4, 4>>(),
    }
}

/// Numbers of a star beyond its record: its step, and the two vectors after the first `order`.
fn rest_of(stars: &[Star], order: usize) -> Vec<f64> {
    let mut host = Vec::with_capacity(stars.len() * REST_WIDTH);
    for star in stars {
        host.push(star.step);
        super::extend(&mut host, &star.taylor[order..order + 2]);
    }
    host
}

/// Number of stars with steps of each length.
fn levels_of(stars: &[Star], longest: f64) -> [u32; LEVELS as usize] {
    let mut levels = [0; LEVELS as usize];
    for star in stars {
        levels[halvings(longest, star.step) as usize] += 1;
    }
    levels
}

impl DeviceEngine {
    /// The reason why these devices cannot perform block steps; `None` if they can.
    pub(super) fn why_no_block_steps(&self) -> Option<String> {
        match &self.devices[..] {
            [device] if device.is_cooperative().unwrap_or(false) => None,
            [_] => Some("it cannot launch grids whose blocks wait for each other".into()),
            _ => Some("whole block steps are made by one device".into()),
        }
    }

    /// As [`Engine::perform_block_steps`](crate::Engine::perform_block_steps).
    pub(super) fn launch_block_steps(
        &mut self,
        request: &BlockStepRequest<'_>,
    ) -> Result<BlockStepOutcome, HermiteError> {
        if let Some(reason) = self.why_no_block_steps() {
            return Err(HermiteError::NoBlockSteps {
                device: self.devices[0].info().name.clone(),
                reason,
            });
        }
        let begin = Instant::now();
        let (memory, block) = (&mut self.memories[0], self.block);
        let mut resident = match memory.resident.take() {
            Some(resident) => resident,
            None => Resident::new(
                &memory.device,
                memory.order.number() as usize,
                memory.bodies,
            )?,
        };
        let report = memory.launch_steps(&mut resident, request, block);
        memory.resident = Some(resident);
        let mut outcome = told(&report?);
        share_out(&mut outcome, begin);
        Ok(outcome)
    }

    /// As [`Engine::fetch`](crate::Engine::fetch).
    pub(super) fn fetch_stars(&mut self, stars: &mut [Star]) -> Result<(), HermiteError> {
        let memory = &mut self.memories[0];
        let Some(resident) = &mut memory.resident else {
            return Ok(());
        };
        let p = memory.order.number() as usize;
        let mut numbers = vec![0.0; stars.len() * star_width(p)];
        let mut rest = vec![0.0; stars.len() * REST_WIDTH];
        memory.stars.ask(numbers.len())?;
        resident.rest.ask(rest.len())?;
        memory.stars.get(&mut numbers)?;
        resident.rest.get(&mut rest)?;
        let records = numbers
            .chunks_exact(star_width(p))
            .zip(rest.chunks_exact(REST_WIDTH));
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

impl DeviceMemory {
    /// Performs one launch and returns its report.
    fn launch_steps(
        &mut self,
        resident: &mut Resident,
        request: &BlockStepRequest<'_>,
        least: u32,
    ) -> Result<Vec<f64>, EngineError> {
        let p = self.order.number() as usize;
        let spec = request.specification;
        if let Some(stars) = request.stars {
            self.stars.put(&records(stars, p))?;
            resident.rest.put(&rest_of(stars, p))?;
            resident.levels.put(&levels_of(stars, spec.max_step))?;
        }
        resident.control.put(&[0; CONTROL])?;
        resident.report.put(&[0.0; REPORT])?;
        // The kernel overwrites the list of active places.
        self.listed.clear();
        let part = self.out[0].0;
        let force = self.launch(part, 0, self.force_softening2);
        let values = 3 * self.order.derivatives();
        let threads = lanes::threads(force.parts())
            .max(least)
            .max(MIN_BLOCK_THREADS);
        let (words, _) = shape(self.order, self.precision);
        let mut shared = tiles::shared_bytes(words, self.order.derivatives(), threads);
        if self.few > 0 {
            shared = shared.max(lanes::shared_bytes(values, force.parts()));
        }
        let entry = steps_entry(self.order, self.precision);
        // With more registers for each thread, fewer blocks are resident. That is faster: the barriers of many blocks take longer.
        let grid = Grid::new(1, threads).shared(shared).cooperative();
        let multiprocessors = self.device.info().multiprocessors.max(1);
        let blocks = self.device.resident_blocks(entry, grid)?;
        let grid = Grid { blocks, ..grid };
        let job = Steps {
            force,
            accuracy: accuracy(spec),
            longest: spec.max_step,
            shortest: spec.min_step.unwrap_or(0.0),
            time: request.time,
            end: request.end,
            most_blocks: MAX_BLOCK_STEPS,
            most_pairs: MAX_PAIRS,
            bodies: self.bodies as u32,
            iterations: spec.iterations,
            few: self.few,
            room: self.room(&force) as u32,
            capacity: Capacity {
                multiprocessors: multiprocessors.min(blocks),
                blocks,
            },
        };
        let arguments = (
            job,
            self.stars.as_mut_ptr(),
            resident.rest.as_mut_ptr(),
            resident.moved.as_mut_ptr(),
            self.predicted.as_mut_ptr(),
            self.active.as_mut_ptr(),
            self.out[0].1.as_mut_ptr(),
            self.partial.as_mut_ptr(),
            resident.levels.as_ptr().cast(),
            resident.control.as_ptr().cast(),
            resident.report.as_ptr().cast(),
        );
        // SAFETY: every array is as long as the kernel asks for; no more blocks than are resident at the same time.
        unsafe { self.device.launch_entry(entry, grid, arguments)? };
        resident.report.ask(REPORT)?;
        let mut report = vec![0.0; REPORT];
        resident.report.get(&mut report)?;
        Ok(report)
    }
}

/// Reads the report of a launch.
fn told(report: &[f64]) -> BlockStepOutcome {
    let number = |at: usize| report[at].to_bits();
    let list = |from: usize, to: usize| (from..to).map(number).collect();
    BlockStepOutcome {
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

/// Divides the time since `begin` among the parts of a block step in proportion to the device's cycles; all parts include copies
/// and the wait for the launch.
fn share_out(outcome: &mut BlockStepOutcome, begin: Instant) {
    let all = outcome.cycles.iter().sum::<u64>();
    let elapsed = begin.elapsed();
    if all == 0 {
        outcome.split.schedule = elapsed;
        return;
    }
    let [predict, force, correct] = outcome
        .cycles
        .map(|c| elapsed.mul_f64(c as f64 / all as f64));
    outcome.split = Split {
        predict,
        force,
        correct,
        ..Split::default()
    };
}
