//! Whole block steps on a device: their buffers and launches, and the transfer of the stars to the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use kernels_gpu::Vec3;
use kernels_gpu::device::hermite::chains::MOST_REMAINING;
use kernels_gpu::device::hermite::levels::LEVELS;
use kernels_gpu::device::hermite::problem::{
    Begun, CONTROL, REST_WIDTH, SIGNALS, STOPPED, Steps, moved_width,
};
use kernels_gpu::device::hermite::report::{
    ACTIVE, AT_END, BEGUN, BLOCKS, CLAMPED, CYCLES, ENDED, FOR_FORCES, FOR_HOST, LENGTHS, NOISY,
    OVERFLOWS, PAIRS, REGULAR, REPORT, STEPS, TIME,
};
use kernels_gpu::device::hermite::steps::few_bytes;
use kernels_gpu::device::hermite::together::{ADDRESSES, ALONE, Arrays, Devices, MOST_DEVICES};
use kernels_gpu::device::hermite::{Launch, divided_steps, lanes, small_steps, star_width, tiles};
use kernels_gpu::hermite::arithmetic::{Plain, SplitF32};
use kernels_gpu::hermite::step::halvings;
use kernels_gpu::kernels::{HermiteDividedSteps, HermiteSmallSteps, HermiteSteps};

use super::array::Array;
use super::{DeviceEngine, DeviceMemory, needs, records, with_types};
use crate::cluster::accuracy;
use crate::engine::{BlockStepOutcome, BlockStepRequest, Ended, HostParticles, SumSubset};
use crate::{Engine, HermiteError, Order, Precision, Split, Star};
use trisolar_device::{Device, Entry, GpuError, Grid, Queue, Stopwatch};
use trisolar_run::EngineError;

/// Largest number of block steps in a launch, so that cancellation is checked between launches.
const MAX_BLOCK_STEPS: u64 = 1024;
/// Largest number of pairs in a launch: about a second on a slow device, so that a display is not blocked for longer.
const MAX_PAIRS: u64 = 2_000_000_000;
/// Nanoseconds after which a device that waits for another one gives up: much longer than any launch takes to begin, or a block step.
const PATIENCE_NS: u64 = 30_000_000_000;
/// Least number of threads per block.
const MIN_BLOCK_THREADS: u32 = 64;

/// The buffers of a device for whole block steps.
pub(super) struct Resident {
    pub rest: Array<f64>,
    pub moved: Array<f64>,
    pub levels: Array<u32>,
    pub control: Array<u32>,
    pub report: Array<f64>,
    /// The arrays of all devices to which all devices write.
    everywhere: Array<u64>,
    /// Whether `everywhere` has been written.
    introduced: bool,
}

impl Resident {
    fn new(
        device: &Arc<dyn Device>,
        order: usize,
        bodies: usize,
        devices: usize,
        two_sets: bool,
    ) -> Result<Self, EngineError> {
        let sets = if two_sets { 2 } else { 1 };
        Ok(Self {
            rest: Array::new(device, bodies * REST_WIDTH, false)?,
            moved: Array::new(device, sets * bodies * moved_width(order), false)?,
            levels: Array::new(device, levels_length(devices), true)?,
            control: Array::new(device, CONTROL, false)?,
            report: Array::new(device, REPORT, true)?,
            everywhere: Array::new(device, devices * ADDRESSES, false)?,
            introduced: false,
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
    *const u64,
);

/// The kernel that takes block steps, with `MANY` on several devices together.
fn steps_entry<const MANY: bool>(order: Order, precision: Precision) -> Entry<StepsArguments> {
    with_types!(precision, order, |A, P, D| Entry::of::<
        HermiteSteps<A, P, D, MANY>,
    >())
}

/// The kernel that takes block steps of a small system.
fn small_steps_entry(order: Order, precision: Precision) -> Entry<StepsArguments> {
    with_types!(precision, order, |A, P, D| Entry::of::<
        HermiteSmallSteps<A, P, D>,
    >())
}

/// The kernel that takes block steps with the stars divided among its blocks.
fn divided_steps_entry(order: Order, precision: Precision) -> Entry<StepsArguments> {
    with_types!(precision, order, |A, P, D| Entry::of::<
        HermiteDividedSteps<A, P, D>,
    >())
}

/// Kernels that take block steps of some systems on one device, with their grids.
#[derive(Clone, Copy)]
pub(super) enum Special {
    /// That for small systems.
    Small(Grid),
    /// That which divides the stars among its blocks.
    Divided(Grid),
}

/// Numbers of a star beyond its record: its step, and the two vectors after the first `order`.
fn rest_of<'a>(stars: impl ExactSizeIterator<Item = &'a Star>, order: usize) -> Vec<f64> {
    let mut host = Vec::with_capacity(stars.len() * REST_WIDTH);
    for star in stars {
        host.push(star.step);
        super::extend(&mut host, &star.taylor[order..order + 2]);
    }
    host
}

/// Length of the array of levels: several devices also have the changes by even and by odd block steps.
fn levels_length(devices: usize) -> usize {
    let rows = if devices > 1 { 3 } else { 1 };
    rows * LEVELS as usize
}

/// Number of steps of each length.
pub(super) fn levels_of(steps: impl Iterator<Item = f64>, longest: f64) -> [u32; LEVELS as usize] {
    let mut levels = [0; LEVELS as usize];
    for step in steps {
        levels[halvings(longest, step) as usize] += 1;
    }
    levels
}

impl DeviceEngine {
    /// The reason why these devices cannot perform block steps; `None` if they can.
    pub(super) fn why_no_block_steps(&self) -> Option<&str> {
        let reason = || {
            if self.devices.len() > MOST_DEVICES {
                return Some(format!(
                    "at most {MOST_DEVICES} devices perform block steps together"
                ));
            }
            for device in &self.devices {
                if !device.is_cooperative().unwrap_or(false) {
                    return Some("it cannot launch grids whose blocks wait for each other".into());
                }
                for other in &self.devices {
                    if !Arc::ptr_eq(device, other) && !device.reach(&**other).unwrap_or(false) {
                        let (one, other) = (device.info().index, other.info().index);
                        return Some(format!("GPU {one} cannot reach the memory of GPU {other}"));
                    }
                }
            }
            None
        };
        self.no_block_steps.get_or_init(reason).as_deref()
    }

    /// As [`Engine::perform_block_steps`](crate::Engine::perform_block_steps).
    pub(super) fn launch_block_steps(
        &mut self,
        request: &BlockStepRequest<'_>,
    ) -> Result<BlockStepOutcome, HermiteError> {
        if let Some(reason) = self.no_block_steps(request.specification) {
            return Err(HermiteError::NoBlockSteps {
                device: self.device(),
                reason,
            });
        }
        let begin = Stopwatch::start();
        self.ready(request)?;
        self.introduce()?;
        let reports = self.launch_everywhere(request)?;
        let mut outcome = told(&reports[0]);
        for (device, report) in self.devices.iter().zip(&reports) {
            if report[ENDED].to_bits() == u64::from(ALONE) {
                return Err(HermiteError::Engine(alone(&**device)));
            }
        }
        let forces = match self.forces.take() {
            Some([start, end]) => end.since(&start).map_err(EngineError::from)?,
            None => Duration::ZERO,
        };
        share_out(&mut outcome, begin.elapsed(), forces);
        if reports[0][ENDED].to_bits() == FOR_FORCES {
            self.begin_block(&reports)?;
        }
        Ok(outcome)
    }

    /// Makes the buffers of all devices, and copies what the launch needs.
    fn ready(&mut self, request: &BlockStepRequest<'_>) -> Result<(), EngineError> {
        let devices = self.devices.len();
        let mut levels = Vec::new();
        if let Some(HostParticles { stars, .. }) = request.particles {
            let steps = stars.iter().map(|s| s.step);
            levels.extend(levels_of(steps, request.specification.max_step));
            levels.resize(levels_length(devices), 0);
        }
        for memory in &mut self.memories {
            memory.ready_steps(request, &levels, devices)?;
        }
        Ok(())
    }

    /// Queues the sums of the forces of the block that the devices have begun. Each device does so for its share of the active particles.
    fn begin_block(&mut self, reports: &[Vec<f64>]) -> Result<(), EngineError> {
        let (block, first) = (self.block, self.devices[0].clone());
        let start = first.mark(Queue::Compute)?;
        for (memory, report) in self.memories.iter_mut().zip(reports) {
            let [total, own] = [0, 1].map(|k| report[BEGUN + k].to_bits() as u32);
            memory.begun = Begun { total, own };
            let out = memory.out[0].as_mut_ptr();
            memory.sum_forces(SumSubset::ALL, out, own as usize, block)?;
        }
        self.forces = Some([start, first.mark(Queue::Compute)?]);
        Ok(())
    }

    /// Tells every device the addresses of the others' arrays, and waits until all devices are ready.
    fn introduce(&mut self) -> Result<(), EngineError> {
        if self.devices.len() == 1 {
            return Ok(());
        }
        let addresses: Vec<u64> = self.memories.iter().flat_map(|m| m.addresses()).collect();
        for memory in &mut self.memories {
            let Some(resident) = &mut memory.resident else {
                unreachable!("made ready")
            };
            if !resident.introduced {
                resident.everywhere.put(&addresses)?;
                resident.introduced = true;
            }
        }
        for device in &self.devices {
            device.synchronise()?;
        }
        Ok(())
    }

    /// Performs one launch on every device, all at the same time, and returns their reports.
    fn launch_everywhere(
        &mut self,
        request: &BlockStepRequest<'_>,
    ) -> Result<Vec<Vec<f64>>, EngineError> {
        let (block, count) = (self.block, self.devices.len() as u32);
        if let [memory] = &mut self.memories[..] {
            let alone = Devices {
                this: 0,
                count,
                patience: 0,
            };
            let report = match request.specification.ahmad_cohen {
                None => {
                    memory.launch_steps(request, alone, block)?;
                    memory.read_report()?
                }
                Some(options) => memory.launch_neighbour_steps(request, options, alone, block)?,
            };
            return Ok(vec![report]);
        }
        let launch = |this: u32, memory: &mut DeviceMemory| {
            let devices = Devices {
                this,
                count,
                patience: PATIENCE_NS,
            };
            memory.launch_steps(request, devices, block)
        };
        let memories = (0..count).zip(&mut self.memories);
        if self.devices.iter().all(|device| device.is_asynchronous()) {
            // All launches are tried and waited for, whatever the results.
            let launched: Vec<_> = memories
                .map(|(this, memory)| launch(this, memory))
                .collect();
            let reports: Vec<_> = self
                .memories
                .iter_mut()
                .map(DeviceMemory::read_report)
                .collect();
            launched.into_iter().collect::<Result<(), _>>()?;
            return reports.into_iter().collect();
        }
        // A launch that returns when it is done has a thread of its own.
        std::thread::scope(|scope| {
            let running: Vec<_> = memories
                .map(|(this, memory)| {
                    scope.spawn(move || {
                        launch(this, memory)?;
                        memory.read_report()
                    })
                })
                .collect();
            let ended = running.into_iter().map(|thread| {
                let joined = thread.join();
                joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            // All threads are joined, whatever the results.
            ended.collect::<Vec<_>>().into_iter().collect()
        })
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
    /// Makes the buffers, and copies what the launch needs.
    fn ready_steps(
        &mut self,
        request: &BlockStepRequest<'_>,
        levels: &[u32],
        devices: usize,
    ) -> Result<(), EngineError> {
        let p = self.order.number() as usize;
        let mut resident = match self.resident.take() {
            Some(resident) => resident,
            None => {
                // Several devices and the special kernels keep a corrected step until the next one is known to be valid.
                let two_sets = devices > 1 || self.special.is_some();
                Resident::new(&self.device, p, self.bodies, devices, two_sets)?
            }
        };
        if let Some(HostParticles {
            stars,
            parts,
            places,
        }) = request.particles
        {
            self.begun = Begun::default();
            let longest = request.specification.max_step;
            match places {
                None => {
                    self.stars.put(&records(stars, p))?;
                    resident.rest.put(&rest_of(stars.iter(), p))?;
                }
                Some(places) => {
                    let stepped = places.iter().map(|place| &stars[*place as usize]);
                    let to = resident.rest.as_mut_ptr();
                    self.scatter(places, &rest_of(stepped, p), to, REST_WIDTH, 0)?;
                }
            }
            resident.levels.put(levels)?;
            if let Some(options) = request.specification.ahmad_cohen {
                self.ready_parts(options, longest, stars, parts)?;
            }
        }
        resident.control.clear()?;
        resident.report.clear()?;
        self.resident = Some(resident);
        Ok(())
    }

    /// The addresses of the arrays to which all devices write; none before these are made.
    fn addresses(&self) -> impl Iterator<Item = u64> {
        let arrays = self.resident.as_ref().map(|resident| Arrays {
            predicted: self.predicted.as_mut_ptr(),
            moved: resident.moved.as_mut_ptr(),
            changes: (resident.levels.as_mut_ptr()).wrapping_add(LEVELS as usize),
            stopped: resident.control.as_mut_ptr().wrapping_add(STOPPED),
            signals: resident.control.as_mut_ptr().wrapping_add(SIGNALS),
        });
        arrays.map(|a| a.addresses()).into_iter().flatten()
    }

    /// Queues one launch, which is ready.
    fn launch_steps(
        &mut self,
        request: &BlockStepRequest<'_>,
        devices: Devices,
        least: u32,
    ) -> Result<(), EngineError> {
        // The kernel overwrites the list of active places.
        self.listed.clear();
        let (entry, grid) = match self.special {
            Some(Special::Small(grid)) => (small_steps_entry(self.order, self.precision), grid),
            Some(Special::Divided(grid)) => (divided_steps_entry(self.order, self.precision), grid),
            None => self.general_steps_launch(devices.count, least)?,
        };
        let job = self.steps_job(request, devices);
        self.begun = Begun::default();
        let Some(resident) = &mut self.resident else {
            unreachable!("made ready")
        };
        let arguments = (
            job,
            self.stars.as_mut_ptr(),
            resident.rest.as_mut_ptr(),
            resident.moved.as_mut_ptr(),
            self.predicted.as_mut_ptr(),
            self.active.as_mut_ptr(),
            self.out[0].as_mut_ptr(),
            self.partial.as_mut_ptr(),
            resident.levels.as_ptr().cast(),
            resident.control.as_ptr().cast(),
            resident.report.as_ptr().cast(),
            resident.everywhere.as_ptr(),
        );
        // SAFETY: every array is as long as the kernel asks for; no more blocks than are resident at the same time. The arrays of the other
        // devices exist as long as this launch, because all launches are waited for.
        unsafe { self.device.launch_entry(entry, grid, arguments)? };
        resident.ask_report()
    }

    /// The kernel for block steps of any system, and its grid.
    fn general_steps_launch(
        &self,
        devices: u32,
        least: u32,
    ) -> Result<(Entry<StepsArguments>, Grid), EngineError> {
        let entry = match devices {
            1 => steps_entry::<false>(self.order, self.precision),
            _ => steps_entry::<true>(self.order, self.precision),
        };
        let threads = self.steps_threads(least);
        let mut shared = (needs(self.order, self.precision).chains_bytes)(threads);
        if self.few > 0 {
            let order = self.order.number() as usize;
            shared = shared.max(few_bytes(order, self.all_sums().parts()));
        }
        Ok((entry, self.steps_grid(entry, threads, shared)?))
    }

    /// The special kernel for block steps of this system on this device alone, if there is one, and its grid.
    pub(super) fn special(&self) -> Result<Option<Special>, EngineError> {
        let small = self.small_steps_grid()?.map(Special::Small);
        if small.is_some() {
            return Ok(small);
        }
        Ok(self.divided_steps_grid()?.map(Special::Divided))
    }

    /// The grid of the kernel for small systems; `None` if the system is not small, or its blocks do not fit on the device.
    fn small_steps_grid(&self) -> Result<Option<Grid>, EngineError> {
        let Launch { sums, terms, .. } = self.all_sums();
        let threads = small_steps::threads(sums, terms);
        let shared = small_steps::shared_bytes(self.order.number() as usize, sums, terms);
        let is_small = self.few > 0
            && self.many as usize > self.bodies
            && threads <= small_steps::MOST_THREADS
            && shared <= self.device.info().shared_bytes_per_block;
        if !is_small {
            return Ok(None);
        }
        let entry = small_steps_entry(self.order, self.precision);
        let grid = self.steps_grid(entry, threads, shared)?;
        let blocks = grid.blocks.min(self.bodies as u32);
        Ok((blocks > 0).then_some(Grid { blocks, ..grid }))
    }

    /// The grid of the kernel that divides the stars among its blocks; `None` if these do not fit on the device. More blocks leave fewer stars
    /// to each.
    fn divided_steps_grid(&self) -> Result<Option<Grid>, EngineError> {
        let Launch { sums, terms, .. } = self.all_sums();
        let entry = divided_steps_entry(self.order, self.precision);
        let bytes = needs(self.order, self.precision).divided_bytes;
        if sums * terms > divided_steps::MOST_STARS {
            return Ok(None);
        }
        let mut blocks = divided_steps::blocks(sums, u32::MAX);
        while blocks > 0 {
            let shared = bytes(sums, terms, blocks);
            if shared > self.device.info().shared_bytes_per_block {
                break;
            }
            let grid = self.steps_grid(entry, divided_steps::THREADS, shared)?;
            if grid.blocks >= blocks {
                return Ok(Some(Grid { blocks, ..grid }));
            }
            blocks = divided_steps::blocks(sums, blocks / 2);
        }
        Ok(None)
    }

    /// The report of the last launch.
    fn read_report(&mut self) -> Result<Vec<f64>, EngineError> {
        let Some(resident) = &mut self.resident else {
            unreachable!("made ready")
        };
        resident.read_report()
    }

    /// The partial sums of a device that sums the forces on its bodies completely.
    fn all_sums(&self) -> Launch {
        self.launch(SumSubset::ALL, 0, self.force_softening2)
    }

    /// Number of threads per block of a kernel that takes block steps, at least `least`.
    pub(super) fn steps_threads(&self, least: u32) -> u32 {
        lanes::threads(self.all_sums().parts())
            .max(least)
            .max(MIN_BLOCK_THREADS)
    }

    /// The bytes of shared memory that forces by tiles need.
    pub(super) fn tiles_bytes(&self, threads: u32) -> u32 {
        let words = needs(self.order, self.precision).words;
        tiles::shared_bytes(words, self.order.derivatives(), threads)
    }

    /// As many blocks of a kernel as can wait for each other. With more registers for each thread, these are fewer. That is faster: the
    /// barriers of many blocks take longer.
    pub(super) fn steps_grid<T>(
        &self,
        entry: Entry<T>,
        threads: u32,
        shared: u32,
    ) -> Result<Grid, EngineError> {
        let grid = Grid::new(1, threads).shared(shared).cooperative();
        let blocks = self.device.resident_blocks(entry, grid)?;
        Ok(Grid { blocks, ..grid })
    }

    /// The problem of a launch.
    pub(super) fn steps_job(&self, request: &BlockStepRequest<'_>, devices: Devices) -> Steps {
        let spec = request.specification;
        let force = self.all_sums();
        Steps {
            force,
            accuracy: accuracy(spec),
            longest: spec.max_step,
            shortest: spec.min_step.unwrap_or(0.0),
            time: request.time,
            end: request.end,
            most_blocks: MAX_BLOCK_STEPS,
            most_pairs: MAX_PAIRS * u64::from(devices.count),
            bodies: self.bodies as u32,
            iterations: spec.iterations,
            few: self.few,
            room: self.room(&force, MOST_REMAINING as usize) as u32,
            many: self.many,
            begun: self.begun,
            devices,
        }
    }
}

impl Resident {
    /// Queues reading of the report, after a launch.
    pub(super) fn ask_report(&mut self) -> Result<(), EngineError> {
        self.report.ask(REPORT)
    }

    /// The report of the last launch, when it is done.
    pub(super) fn read_report(&mut self) -> Result<Vec<f64>, EngineError> {
        let mut report = vec![0.0; REPORT];
        self.report.get(&mut report)?;
        Ok(report)
    }
}

/// The error of a device whose partners did not take part in a launch.
fn alone(device: &dyn Device) -> EngineError {
    let info = device.info();
    EngineError::from(GpuError::Call {
        device: info.name.clone(),
        call: "block steps on several devices",
        reason: format!("device {} waited in vain for another one", info.index),
    })
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
        lengths: list(LENGTHS, REGULAR),
        regular_steps: number(REGULAR),
        irregular_pairs: number(PAIRS),
        overflows: number(OVERFLOWS),
        split: Split::default(),
        cycles: [0, 1, 2, 3].map(|k| number(CYCLES + k)),
    }
}

/// Divides the time of a launch, without that of the `forces` before it, among the parts of a block step in proportion to the device's
/// cycles; all parts include copies and the wait for the launch.
fn share_out(outcome: &mut BlockStepOutcome, elapsed: Duration, forces: Duration) {
    let all = outcome.cycles.iter().sum::<u64>();
    let elapsed = elapsed.saturating_sub(forces);
    outcome.split.force = forces;
    if all == 0 {
        outcome.split.schedule = elapsed;
        return;
    }
    let [predict, force, correct, irregular] = outcome
        .cycles
        .map(|c| elapsed.mul_f64(c as f64 / all as f64));
    outcome.split = Split {
        predict,
        force: forces + force,
        irregular,
        correct,
        ..Split::default()
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Specification;
    use trisolar_bodies::Model;
    use trisolar_run::{Workers, machine};

    #[test]
    fn a_device_whose_partner_does_not_start_ends_its_launch_and_says_so() {
        let device = || Arc::new(machine::emulator()) as Arc<dyn Device>;
        let devices = vec![device(), device()];
        let mut engine = DeviceEngine::new(devices, 32, Some(1), u64::MAX, Workers::default());
        let specification = Specification::new(Order::Four);
        let bodies = Model::Plummer.build(Some(8), 1, 1.0, 3).expect("a model");
        let mut stars = Star::of(&bodies);
        for star in &mut stars {
            star.step = specification.max_step;
        }
        engine.load(&specification, &stars).expect("memory");
        let request = BlockStepRequest {
            specification: &specification,
            time: 0.0,
            end: 1.0,
            particles: Some(HostParticles {
                stars: &stars,
                parts: &[],
                places: None,
            }),
        };
        engine.ready(&request).expect("memory");
        engine.introduce().expect("memory");
        let impatient = Devices {
            this: 0,
            count: 2,
            patience: 1_000_000,
        };
        let memory = &mut engine.memories[0];
        memory
            .launch_steps(&request, impatient, 32)
            .expect("a launch");
        let report = memory.read_report().expect("a report");
        assert_eq!(report[ENDED].to_bits(), u64::from(ALONE));
        assert_eq!(report[BLOCKS].to_bits(), 0);
        let said = alone(&*engine.devices[0]).to_string();
        assert!(said.contains("waited in vain"), "{said}");
    }
}
