//! The engine of one or several devices, GPUs or emulators. All work is queued in order; the host only waits so that it can cancel.
//!
//! Each of several devices holds all bodies and moves a part of them; they exchange positions before accelerations are computed.
//! With `basic` a device sums all forces on its own bodies. With `reduced` it sweeps its own rows; then the devices add up one after
//! the other, in the order of the rows, each continuing the sums of the previous one. The order and the bits are thus those of a
//! single device. The devices may belong to several processes; positions and sums then go through the hosts.

mod part;
mod ranks;
mod share;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use kernels_gpu::device::Body;
use kernels_gpu::integrator::System;
use kernels_gpu::integrator::system::Combination;
use kernels_gpu::number::{FastF32, FloatFloat};
use kernels_gpu::physics::summation::all_pairs::chunk_length;

use self::part::{DevicePart, Range};
use self::ranks::DeviceRanks;
use super::engine::{Integration, LowerParts, Run};
use super::kernel::{Arrays, LaunchPlan, NbodyKernel, Number, row_length};
use super::{Bodies, Engine, Precision, Solver, Validated};
use trisolar_device::{Buffer, Device, Moment, Queue};
use trisolar_run::{EngineError, Monitor, Ranks, machine};

/// Largest number of bytes for the partial sums of the reduced solver's rows.
const MAX_ROW_SUM_BYTES: u64 = 16 << 30;
/// Interactions that are queued on a GPU before the host checks for cancellation: some hundredths of a second.
const MAX_QUEUED_PAIRS: u64 = 50_000_000_000;

/// Interactions after which the ranks tell each other whether the run was cancelled, and the largest number of steps until then.
const PAIRS_PER_CHECK: u64 = 100_000_000;
const MAX_STEPS_PER_CHECK: u64 = 64;

/// Number of bodies up to which many steps are taken in one launch.
const MAX_BODIES_FOR_MANY_STEPS: usize = 256;
/// Number of ranges of bodies in which one device passes its sums to the next.
const EXCHANGE_RANGES: u32 = 8;

/// Integrates on devices: GPUs, or the emulator of the grid.
#[derive(Debug)]
pub struct DeviceEngine {
    devices: Vec<Arc<dyn Device>>,
    plan: Option<LaunchPlan>,
    /// Interactions that are queued before the host checks for cancellation.
    queued: u64,
    /// The ranks whose devices compute together, if there are several.
    ranks: Option<DeviceRanks>,
}

impl DeviceEngine {
    /// The engine of the GPU with this number, with the kernel that suits the number of bodies.
    ///
    /// # Errors
    /// [`EngineError::NoGpu`] or [`EngineError::Gpu`].
    pub fn gpu(number: u32) -> Result<Self, EngineError> {
        Self::gpus(&[number])
    }

    /// The engine of these GPUs together. Their number changes no bit of a result.
    ///
    /// # Errors
    /// As [`gpu`](Self::gpu).
    ///
    /// # Panics
    /// If there are no devices.
    pub fn gpus(numbers: &[u32]) -> Result<Self, EngineError> {
        let devices = numbers.iter().map(|number| trisolar_device::open(*number));
        Self::on(devices.collect::<Result<_, _>>()?)
    }

    /// The engine of these devices together.
    ///
    /// # Errors
    /// [`EngineError::Gpu`] if they cannot access each other's memory.
    ///
    /// # Panics
    /// If there are no devices.
    pub fn on(devices: Vec<Arc<dyn Device>>) -> Result<Self, EngineError> {
        assert!(!devices.is_empty());
        for one in &devices {
            for other in devices.iter().filter(|o| !Arc::ptr_eq(o, one)) {
                if one.info().index != other.info().index {
                    one.reach(&**other)?;
                }
            }
        }
        Ok(Self {
            devices,
            plan: None,
            queued: MAX_QUEUED_PAIRS,
            ranks: None,
        })
    }

    /// The engine on the emulator of the grid, with threads in a random order with this seed.
    pub fn emulated(plan: LaunchPlan, seed: Option<u64>) -> Self {
        Self::emulated_on(1, plan, seed)
    }

    /// The engine on several emulators together.
    ///
    /// # Panics
    /// If there are no devices.
    pub fn emulated_on(devices: usize, plan: LaunchPlan, seed: Option<u64>) -> Self {
        assert!(devices > 0);
        let emulator = || Arc::new(machine::emulator().seed(seed)) as Arc<dyn Device>;
        Self {
            devices: (0..devices).map(|_| emulator()).collect(),
            plan: Some(plan),
            queued: 0,
            ranks: None,
        }
    }

    /// Makes the engine one of several processes that share the bodies, each of which has such an engine.
    #[must_use]
    pub fn with_ranks(self, ranks: Rc<dyn Ranks>) -> Self {
        let devices = self.devices.len();
        let ranks = (ranks.size() > 1).then(|| DeviceRanks::new(ranks, devices));
        Self { ranks, ..self }
    }

    /// Number of devices that compute together, those of other ranks included.
    fn count(&self) -> usize {
        let ranks = self.ranks.as_ref();
        ranks.map_or(self.devices.len(), DeviceRanks::devices)
    }

    /// Sets the kernel and launch; `None` selects them by the number of bodies.
    pub fn set_plan(&mut self, plan: Option<LaunchPlan>) {
        self.plan = plan;
    }

    /// The plan that this engine uses for `n` bodies.
    pub fn plan(&self, solver: Solver, precision: Precision, n: usize) -> LaunchPlan {
        self.plan.unwrap_or_else(|| {
            if self.count() == 1 && few(solver, precision, n) {
                return LaunchPlan {
                    block: 64,
                    ..LaunchPlan::new(NbodyKernel::Steps)
                };
            }
            let own = n.div_ceil(self.count());
            suitable(
                solver,
                precision,
                own,
                self.devices[0].info().multiprocessors,
            )
        })
    }
}

/// Whether a step of this many bodies takes less time than the launch of the next kernel.
fn few(solver: Solver, precision: Precision, n: usize) -> bool {
    match solver {
        Solver::Basic => n <= MAX_BODIES_FOR_MANY_STEPS,
        // In a single row both solvers sum in the same order.
        Solver::Reduced => n <= row_length(precision) as usize,
    }
}

/// The kernel and launch for a number of bodies that a GPU moves: measured on an H200, see docs/nbody-gpu.md.
fn suitable(solver: Solver, precision: Precision, own: usize, multiprocessors: u32) -> LaunchPlan {
    if solver == Solver::Reduced {
        return LaunchPlan::new(NbodyKernel::Reduced);
    }
    let kernel = match (precision, own) {
        (_, 0..8192) => NbodyKernel::Tile1,
        (Precision::F32, _) => NbodyKernel::Tile4Unrolled,
        (Precision::F64, _) => NbodyKernel::Tile4,
        (Precision::FloatFloat, _) => NbodyKernel::Tile2,
    };
    let plan = LaunchPlan::new(kernel);
    let bodies = kernel.tile_of(precision).map_or(1, |t| t.bodies);
    let blocks = (own as u32).div_ceil(plan.block * bodies);
    // Enough blocks for several waves, so that the last wave, which is not full, has little effect.
    LaunchPlan {
        splits: (multiprocessors * 32).div_ceil(blocks),
        ..plan
    }
}

impl Engine for DeviceEngine {
    fn name(&self) -> &'static str {
        self.devices[0].name()
    }

    fn device(&self) -> String {
        let name = &self.devices[0].info().name;
        let devices = match self.count() {
            1 => name.clone(),
            count => format!("{count} GPUs, {name}"),
        };
        match &self.ranks {
            None => devices,
            Some(DeviceRanks { ranks, .. }) => format!("{devices}, {} MPI ranks", ranks.size()),
        }
    }

    fn gpu(&self) -> Option<&Arc<dyn Device>> {
        self.devices.first().filter(|device| device.name() == "gpu")
    }

    fn resume<'a>(
        &'a self,
        problem: &Validated,
        bodies: &Bodies,
        lower: Option<&LowerParts>,
    ) -> Result<Box<dyn Run + 'a>, EngineError> {
        let spec = problem.specification();
        let mut plan = self.plan(spec.solver, spec.precision, bodies.len());
        plan.check(problem)?;
        let alone = plan.kernel.is_atomic() || plan.kernel == NbodyKernel::Steps;
        if alone && self.count() > 1 {
            return Err(EngineError::Gpu {
                device: self.device(),
                call: plan.kernel.name(),
                reason: "this kernel runs on one GPU only".into(),
            });
        }
        let chunk = chunk_length(bodies.len() as u32);
        plan.splits = plan.splits.min((bodies.len() as u32).div_ceil(chunk));
        Ok(match spec.precision {
            Precision::F32 => Box::new(DeviceRun::<FastF32>::new(
                self, plan, problem, bodies, lower,
            )?),
            Precision::F64 => Box::new(DeviceRun::<f64>::new(self, plan, problem, bodies, lower)?),
            Precision::FloatFloat => Box::new(DeviceRun::<FloatFloat<f32>>::new(
                self, plan, problem, bodies, lower,
            )?),
        })
    }
}

/// A run on devices.
struct DeviceRun<S: Number> {
    plan: LaunchPlan,
    /// As in [`DeviceEngine`].
    queued: u64,
    integration: Integration,
    mass: Vec<f64>,
    host: Arrays<S>,
    /// The devices of this process.
    parts: Vec<DevicePart<S>>,
    /// The number of the first of them among those of all ranks.
    first: usize,
    /// The bodies of every device.
    own: Vec<Vec<Range>>,
    /// Rounds of the reduced solver, with the rows of every device.
    rounds: Vec<Vec<share::Rows>>,
    /// As in [`DeviceEngine`].
    ranks: Option<DeviceRanks>,
    /// Room for the sums that ranks exchange.
    sums: Vec<Body<S>>,
}

impl<S: Number> DeviceRun<S> {
    fn new(
        engine: &DeviceEngine,
        plan: LaunchPlan,
        problem: &Validated,
        bodies: &Bodies,
        lower: Option<&LowerParts>,
    ) -> Result<Self, EngineError> {
        let spec = problem.specification();
        let host = Arrays::<S>::new(spec, bodies, lower, plan.kernel);
        let devices = engine.count() as u32;
        let memory = engine.devices.iter().map(|d| d.info().memory_bytes).min();
        let most = MAX_ROW_SUM_BYTES.min(memory.unwrap_or(0) / 4) / size_of::<S>() as u64;
        // Ranks must agree on it, even if they have different devices.
        let most = match &engine.ranks {
            Some(ranks) => ranks.least(most as f64) as u64,
            None => most,
        };
        let rounds = if plan.kernel == NbodyKernel::Reduced {
            share::rounds(host.padded / S::ROW, S::ROW, devices, most, plan.rows)
        } else {
            Vec::new()
        };
        let rows_of = |index: usize| -> Vec<share::Rows> {
            rounds.iter().map(|round| round[index]).collect()
        };
        let own_of = |index: u32| -> Vec<Range> {
            if rounds.is_empty() {
                // Whole rows, so that the device of a body does not depend on the kernel.
                let cut = |device: u32| {
                    let rows = u64::from(host.padded / S::ROW) * u64::from(device);
                    ((rows / u64::from(devices)) as u32 * S::ROW).min(host.n)
                };
                let (first, end) = (cut(index), cut(index + 1));
                return vec![Range {
                    first,
                    count: end - first,
                }];
            }
            let of = |r: &share::Rows| Range {
                first: (r.row * S::ROW).min(host.n),
                count: ((r.row + r.rows) * S::ROW).min(host.n) - (r.row * S::ROW).min(host.n),
            };
            rows_of(index as usize).iter().map(of).collect()
        };
        let own: Vec<Vec<Range>> = (0..devices).map(own_of).collect();
        let first = engine.ranks.as_ref().map_or(0, DeviceRanks::first);
        let mut parts = Vec::new();
        for (index, device) in (first..).zip(&engine.devices) {
            let (mine, rows) = (own[index].clone(), rows_of(index));
            parts.push(DevicePart::new(device, plan, problem, &host, mine, rows)?);
        }
        let integration = Integration::new(spec)?;
        let mut run = Self {
            plan,
            queued: engine.queued,
            integration,
            mass: bodies.mass.clone(),
            host,
            parts,
            first,
            own,
            rounds,
            ranks: engine.ranks.clone(),
            sums: Vec::new(),
        };
        if run.ranks.is_some() && !run.rounds.is_empty() {
            run.sums = vec![Body::default(); run.host.x.len()];
        }
        run.integration.prepare(&mut run)?;
        run.synchronise()?;
        Ok(run)
    }

    fn synchronise(&self) -> Result<(), EngineError> {
        for part in &self.parts {
            part.device.synchronise()?;
        }
        Ok(())
    }

    /// Copies the positions of every device's own bodies to all others.
    fn exchange(&mut self) -> Result<(), EngineError> {
        if let Some(ranks) = &self.ranks {
            fetch(&self.parts, &mut self.host.x, |part| &part.x)?;
            ranks.gather(&self.own, &mut self.host.x);
            for (index, part) in (self.first..).zip(&mut self.parts) {
                let others = self.own.iter().enumerate().filter(|(of, _)| *of != index);
                for range in others.flat_map(|(_, own)| own).filter(|r| r.count > 0) {
                    let x = &self.host.x[range.places()];
                    part.x.upload_at(range.first as usize, x)?;
                }
            }
            return Ok(());
        }
        let count = self.parts.len();
        if count == 1 {
            return Ok(());
        }
        for to in 0..count {
            for from in (0..count).filter(|from| *from != to) {
                let [to, from] = self
                    .parts
                    .get_disjoint_mut([to, from])
                    .expect("two different devices");
                for range in from.own.iter().filter(|r| r.count > 0) {
                    to.x.copy_from_peer(&from.x, range.first as usize, range.count as usize)?;
                }
            }
        }
        // No device may move its bodies before the others have read them.
        for one in 0..count {
            for other in (0..count).filter(|other| *other != one) {
                self.parts[one]
                    .device
                    .wait_for(&*self.parts[other].device)?;
            }
        }
        Ok(())
    }

    fn reduced(&mut self) -> Result<(), EngineError> {
        for round in 0..self.rounds.len() {
            for part in &mut self.parts {
                part.sweep(&self.host, round)?;
            }
            // Range by range: while a device adds up one range, the next device adds up the previous one.
            let first = self.rounds[round][0].row * S::ROW;
            let ranges = match self.own.len() {
                1 => 1,
                _ => EXCHANGE_RANGES,
            };
            let whole = self.range(first, self.host.n, round, 0);
            self.receive_last_round(round, whole)?;
            let count = (self.host.n - first).div_ceil(ranges);
            for first in (first..self.host.n).step_by(count as usize) {
                let count = count.min(self.host.n - first);
                self.gather(round, Range { first, count })?;
            }
            self.send_last_round(round)?;
        }
        if let Some(ranks) = &self.ranks {
            ranks.ranks.delivered();
        }
        Ok(())
    }

    /// The bodies from `first` on, before `end`, on which the rows of a device act.
    fn range(&self, first: u32, end: u32, round: usize, device: usize) -> Range {
        let first = first.max(self.rounds[round][device].row * S::ROW).min(end);
        Range {
            first,
            count: end - first,
        }
    }

    /// Receives the sums of the previous device, if it belongs to another rank.
    fn receive(&mut self, range: Range, from: usize) -> Result<(), EngineError> {
        if let Some(ranks) = self.ranks.as_ref().filter(|_| range.count > 0) {
            let sums = &mut self.sums[..range.count as usize];
            ranks.receive(from, sums);
            self.parts[0].a.upload_at(range.first as usize, sums)?;
        }
        Ok(())
    }

    /// Sends the sums of this rank's last device to the next rank.
    fn send(&mut self, range: Range, to: usize) -> Result<(), EngineError> {
        let Some(part) = self.parts.last() else {
            return Ok(());
        };
        if let Some(ranks) = self.ranks.as_ref().filter(|_| range.count > 0) {
            let sums = &mut self.sums[..range.count as usize];
            part.a.download_at(range.first as usize, sums)?;
            ranks.send(to, sums);
        }
        Ok(())
    }

    /// Receives, on the first rank, the sums of the last device in the previous round.
    fn receive_last_round(&mut self, round: usize, range: Range) -> Result<(), EngineError> {
        match &self.ranks {
            Some(DeviceRanks { ranks, .. }) if ranks.rank() == 0 && round > 0 => {
                let last = ranks.size() - 1;
                self.receive(range, last)
            }
            _ => Ok(()),
        }
    }

    /// Sends, on the last rank, the sums of the last device to the first one for the next round.
    fn send_last_round(&mut self, round: usize) -> Result<(), EngineError> {
        match &self.ranks {
            Some(DeviceRanks { ranks, .. })
                if ranks.rank() + 1 == ranks.size() && round + 1 < self.rounds.len() =>
            {
                let first = self.rounds[round + 1][0].row * S::ROW;
                self.send(self.range(first, self.host.n, round + 1, 0), 0)
            }
            _ => Ok(()),
        }
    }

    /// As [`gather`](Self::gather), on the devices of several ranks.
    fn gather_on_ranks(&mut self, round: usize, range: Range) -> Result<(), EngineError> {
        let Some(DeviceRanks { ranks, .. }) = &self.ranks else {
            return Ok(());
        };
        let (rank, size) = (ranks.rank(), ranks.size());
        let end = range.first + range.count;
        if rank > 0 {
            self.receive(self.range(range.first, end, round, self.first), rank - 1)?;
        }
        self.parts[0].gather(&self.host, round, None, range)?;
        for index in 1..self.parts.len() {
            let [part, before] = self
                .parts
                .get_disjoint_mut([index, index - 1])
                .expect("two different devices");
            part.gather(&self.host, round, Some(&*before), range)?;
        }
        if rank + 1 < size {
            let next = self.first + self.parts.len();
            self.send(self.range(range.first, end, round, next), rank + 1)?;
        }
        Ok(())
    }

    /// One device after the other, in the order of their rows.
    fn gather(&mut self, round: usize, range: Range) -> Result<(), EngineError> {
        if self.ranks.is_some() {
            return self.gather_on_ranks(round, range);
        }
        let count = self.parts.len();
        if count == 1 {
            return self.parts[0].gather(&self.host, round, None, range);
        }
        for index in 0..count {
            // The first device of a later round continues the sums of the last device of the previous round.
            let before = (index + count - 1) % count;
            let [part, before] = self
                .parts
                .get_disjoint_mut([index, before])
                .expect("two different devices");
            let begin = round == 0 && index == 0;
            part.gather(&self.host, round, (!begin).then_some(&*before), range)?;
        }
        Ok(())
    }
}

impl<S: Number> System for DeviceRun<S> {
    type Error = EngineError;

    fn accelerate(&mut self) -> Result<(), EngineError> {
        self.exchange()?;
        if self.plan.kernel == NbodyKernel::Reduced {
            return self.reduced();
        }
        for part in &mut self.parts {
            if self.plan.kernel.is_atomic() {
                part.atomic(&self.host)?;
            } else {
                part.basic(&self.host)?;
            }
        }
        Ok(())
    }

    fn kick(&mut self, h: f64) -> Result<(), EngineError> {
        let h = S::from_f64(h);
        self.parts.iter().try_for_each(|part| part.kick(h))
    }

    fn drift(&mut self, h: f64) -> Result<(), EngineError> {
        let h = S::from_f64(h);
        self.parts.iter().try_for_each(|part| part.drift(h))
    }

    fn kick_drift(&mut self, h: f64, h_x: f64) -> Result<(), EngineError> {
        let (h, h_x) = (S::from_f64(h), S::from_f64(h_x));
        self.parts
            .iter()
            .try_for_each(|part| part.kick_drift(h, h_x))
    }

    fn combine(&mut self, combinations: &[Combination<'_>]) -> Result<(), EngineError> {
        self.parts
            .iter()
            .try_for_each(|part| part.combine(combinations))
    }
}

/// Copies what the devices have of their own bodies.
fn fetch<S: Number>(
    parts: &[DevicePart<S>],
    to: &mut [Body<S>],
    values: impl Fn(&DevicePart<S>) -> &Buffer<Body<S>>,
) -> Result<(), EngineError> {
    for part in parts {
        for range in part.own.iter().filter(|r| r.count > 0) {
            values(part).download_at(range.first as usize, &mut to[range.places()])?;
        }
    }
    Ok(())
}

impl<S: Number> DeviceRun<S> {
    /// Takes steps on all ranks. They are cancelled together, because a rank that went on alone would wait for the others.
    fn advance_together(
        &mut self,
        ranks: &dyn Ranks,
        steps: u64,
        monitor: &dyn Monitor,
    ) -> Result<u64, EngineError> {
        let pairs = u64::from(self.host.n) * u64::from(self.host.n);
        let stride = (PAIRS_PER_CHECK / pairs).clamp(1, MAX_STEPS_PER_CHECK);
        let mut done = 0;
        while done < steps {
            if ranks.any(monitor.cancelled()) {
                return Err(EngineError::Cancelled);
            }
            for _ in 0..stride.min(steps - done) {
                let mut integration = self.integration;
                integration.step(self)?;
                self.integration = integration;
                done += 1;
            }
            monitor.progress(done, steps);
        }
        self.synchronise()?;
        Ok(done)
    }
}

impl<S: Number> Run for DeviceRun<S> {
    fn advance(&mut self, steps: u64, monitor: &dyn Monitor) -> Result<u64, EngineError> {
        let pairs = u64::from(self.host.n) * u64::from(self.host.n);
        if let Some(DeviceRanks { ranks, .. }) = &self.ranks {
            let ranks = ranks.clone();
            return self.advance_together(ranks.as_ref(), steps, monitor);
        }
        let stride = (self.queued / pairs).clamp(1, 4096);
        let device = self.parts[0].device.clone();
        let mut queued = 0;
        let mut done = 0;
        // One part is always queued behind the running one, so that the device does not wait for the host.
        let mut running: Option<(Moment, u64)> = None;
        while done < steps {
            let count = stride.min(steps - queued);
            if count > 0 && self.parts[0].takes_many() {
                self.parts[0].many(&self.host, count as u32)?;
            } else {
                for _ in 0..count {
                    let mut integration = self.integration;
                    integration.step(self)?;
                    self.integration = integration;
                }
            }
            queued += count;
            let next = (count > 0)
                .then(|| device.mark(Queue::Compute))
                .transpose()?
                .map(|m| (m, queued));
            if let Some((mark, until)) = std::mem::replace(&mut running, next) {
                wait(&mark, monitor)?;
                done = until;
                monitor.progress(done, steps);
            }
        }
        // The other devices have made about the same progress.
        self.synchronise()?;
        Ok(steps)
    }

    fn bodies(&mut self) -> Result<Bodies, EngineError> {
        fetch(&self.parts, &mut self.host.x, |part| &part.x)?;
        fetch(&self.parts, &mut self.host.v, |part| &part.v)?;
        if let Some(ranks) = &self.ranks {
            ranks.gather(&self.own, &mut self.host.x);
            ranks.gather(&self.own, &mut self.host.v);
        }
        Ok(self.host.bodies(&self.mass))
    }

    fn lower_parts(&self) -> Option<LowerParts> {
        self.host.lower_parts()
    }
}

/// Waits for an event without occupying a core, and calls the monitor meanwhile.
fn wait(mark: &Moment, monitor: &dyn Monitor) -> Result<(), EngineError> {
    while !mark.reached()? {
        if monitor.cancelled() {
            return Err(EngineError::Cancelled);
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    Ok(())
}
