//! The engine for devices: one thread for each system, in launches that are short, so that the engine can show progress and be cancelled.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernels_gpu::kernels::{Planets, PlanetsJob, planets_shared_words};
use kernels_gpu::planets::system::{MANY, SOME};
use kernels_gpu::planets::{
    Adaptive, Alone, Follow, General, MAX_PLANETS, Notes, Observation, Observed, Physics, Plan,
    Record, System, WithTangent,
};

use super::Task;
use trisolar_device::{Buffer, Device, Entry, Grid, Residency};
use trisolar_ensemble::{GpuEngine, in_portions};
use trisolar_run::queue::Share;
use trisolar_run::scheduler::Worker;
use trisolar_run::{EngineError, machine};

/// Largest number of systems of a launch, whose states are in the device's memory.
const MAX_SYSTEMS: u64 = 1 << 18;
/// Duration of a launch for which the number of its steps is chosen.
const LAUNCH: Duration = Duration::from_millis(100);
/// Threads per block.
const BLOCK: u32 = 64;

/// Follows systems on a device: a GPU, or the emulator of the grid.
#[derive(Clone, Debug)]
pub struct DeviceEngine {
    device: Arc<dyn Device>,
    /// Largest number of systems of a launch.
    most: u64,
    /// Steps of the first launch.
    steps: u32,
    /// Whether the number of steps follows the time of a launch.
    adapts: bool,
}

impl DeviceEngine {
    /// An engine under the emulator of the grid with this many systems and steps in a launch; `seed` determines the random order in which the
    /// threads run.
    pub fn emulated(most: u64, steps: u32, seed: Option<u64>) -> Self {
        Self {
            device: Arc::new(machine::emulator().seed(seed)),
            most,
            steps,
            adapts: false,
        }
    }
}

impl GpuEngine for DeviceEngine {
    fn on(device: Arc<dyn Device>) -> Self {
        Self {
            device,
            most: MAX_SYSTEMS,
            steps: 64,
            adapts: true,
        }
    }

    fn emulated_gpu() -> Self {
        Self::emulated(64, 50, None)
    }

    fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }
}

/// The arguments of the kernel.
type Arguments = <Planets<Alone, MAX_PLANETS> as cuda_std::Kernel>::Arguments;

/// The kernel for the systems of a plan.
fn entry<F: Follow>(plan: &Plan) -> Entry<Arguments>
where
    Planets<F, MAX_PLANETS>: cuda_std::Kernel<Arguments = Arguments>,
    Planets<F, 2>: cuda_std::Kernel<Arguments = Arguments>,
    Planets<F, 3>: cuda_std::Kernel<Arguments = Arguments>,
    Planets<F, 4>: cuda_std::Kernel<Arguments = Arguments>,
    Planets<F, SOME>: cuda_std::Kernel<Arguments = Arguments>,
    Planets<F, MANY>: cuda_std::Kernel<Arguments = Arguments>,
{
    match plan.count {
        2 => Entry::of::<Planets<F, 2>>(),
        3 => Entry::of::<Planets<F, 3>>(),
        4 => Entry::of::<Planets<F, 4>>(),
        5..=7 => Entry::of::<Planets<F, SOME>>(),
        8 => Entry::of::<Planets<F, MANY>>(),
        _ => Entry::of::<Planets<F, MAX_PLANETS>>(),
    }
}

/// The kernel for systems of a plan with other physics than the gravity of points, or another integrator than that of Wisdom & Holman, or that are
/// observed.
fn general_entry<F: Follow>(plan: &Plan) -> Entry<Arguments>
where
    Planets<F, MAX_PLANETS>: cuda_std::Kernel<Arguments = Arguments>,
    Planets<F, 2>: cuda_std::Kernel<Arguments = Arguments>,
    Planets<F, 3>: cuda_std::Kernel<Arguments = Arguments>,
{
    match plan.count {
        2 => Entry::of::<Planets<F, 2>>(),
        3 => Entry::of::<Planets<F, 3>>(),
        _ => Entry::of::<Planets<F, MAX_PLANETS>>(),
    }
}

/// Divides spans of systems into lists of at most `most` systems.
fn lists(spans: &[Range<u64>], most: u64) -> Vec<Vec<Range<u64>>> {
    let mut lists: Vec<Vec<Range<u64>>> = Vec::new();
    let mut room = 0;
    for span in spans {
        let mut first = span.start;
        while first < span.end {
            if room == 0 {
                lists.push(Vec::new());
                room = most;
            }
            let end = span.end.min(first + room);
            room -= end - first;
            lists.last_mut().expect("there is one").push(first..end);
            first = end;
        }
    }
    lists
}

/// The kernel with its buffers.
struct Kernel<'a> {
    engine: &'a DeviceEngine,
    task: &'a Task<'a>,
    share: Share<'a>,
    entry: Entry<Arguments>,
    residency: Option<Residency>,
    /// Bytes of shared memory of a block.
    shared: u32,
    plan: Buffer<Plan>,
    systems: Buffer<System<f64, MAX_PLANETS>>,
    notes: Buffer<Notes<f64>>,
    records: Buffer<Record>,
    items: Buffer<u64>,
    open: Buffer<u64>,
    /// Systems that have ended.
    done: u64,
}

impl<'a> Worker<Task<'a>> for DeviceEngine {
    fn label(&self) -> String {
        self.numbered()
    }

    fn capacity(&self, _: &Task<'a>) -> u64 {
        self.most
    }

    fn work(&self, task: &Task<'a>, share: Share<'_>) -> Result<(), EngineError> {
        let device = &self.device;
        let room = task.items().clamp(1, self.most) as usize;
        let has_tangent = task.spec.specification().has_tangent();
        let plan = task.spec.plan();
        let is_adaptive = plan.physics.integrator != Physics::WISDOM_HOLMAN;
        let is_observed = plan.observation.kind != Observation::NONE;
        let is_general = is_adaptive || is_observed || plan.physics.is_general();
        // The blocks of a multiprocessor, for which 128 registers are enough, or shared memory; and the words of that for a thread.
        let (blocks, words) = match (is_general, plan.count, has_tangent) {
            (false, 2, _) | (false, 3, false) => (Some(8), 0),
            (false, 5..=7, true) => (Some(4), planets_shared_words::<WithTangent, SOME>()),
            (false, 5..=7, false) => (Some(4), planets_shared_words::<Alone, SOME>()),
            (false, 8, true) => (Some(4), planets_shared_words::<WithTangent, MANY>()),
            (false, 8, false) => (Some(4), planets_shared_words::<Alone, MANY>()),
            _ => (None, 0),
        };
        let mut kernel = Kernel {
            engine: self,
            residency: blocks.map(|blocks| Residency {
                threads: BLOCK,
                blocks,
            }),
            shared: 8 * BLOCK * words as u32,
            task,
            share,
            entry: match (is_general, has_tangent) {
                (_, true) if is_observed && is_adaptive => {
                    Entry::of::<Planets<Adaptive<Observed<WithTangent>>, MAX_PLANETS>>()
                }
                (_, false) if is_observed && is_adaptive => {
                    Entry::of::<Planets<Adaptive<Observed<Alone>>, MAX_PLANETS>>()
                }
                (_, true) if is_observed => general_entry::<General<Observed<WithTangent>>>(plan),
                (_, false) if is_observed => general_entry::<General<Observed<Alone>>>(plan),
                (_, true) if is_adaptive => general_entry::<Adaptive<WithTangent>>(plan),
                (_, false) if is_adaptive => general_entry::<Adaptive<Alone>>(plan),
                (false, true) => entry::<WithTangent>(plan),
                (false, false) => entry::<Alone>(plan),
                (true, true) => general_entry::<General<WithTangent>>(plan),
                (true, false) => general_entry::<General<Alone>>(plan),
            },
            plan: Buffer::of(device, &[*plan])?,
            systems: Buffer::filled(device, room, 0)?,
            notes: Buffer::filled(device, if is_observed { room } else { 1 }, 0)?,
            records: Buffer::filled(device, room, 0)?,
            items: Buffer::filled(device, room, 0)?,
            open: Buffer::filled(device, 1, 0)?,
            done: 0,
        };
        in_portions(share, [1, self.most], |spans| {
            for list in lists(&spans, room as u64) {
                kernel.follow(&list)?;
            }
            Ok(())
        })
    }
}

impl Kernel<'_> {
    /// Follows systems to their ends and delivers their records.
    fn follow(&mut self, spans: &[Range<u64>]) -> Result<(), EngineError> {
        let items: Vec<u64> = spans.iter().cloned().flatten().collect();
        self.items.upload(&items)?;
        let count = items.len() as u32;
        let grid = Grid::new(count.div_ceil(BLOCK), BLOCK)
            .shared(self.shared)
            .residency(self.residency);
        let (mut begins, mut steps) = (1_u32, self.engine.steps);
        loop {
            let began = Instant::now();
            self.open.fill(0)?;
            let job = PlanetsJob {
                plan: self.plan.as_ptr(),
                systems: self.systems.as_mut_ptr(),
                notes: self.notes.as_mut_ptr(),
                records: self.records.as_mut_ptr(),
                open: self.open.as_ptr().cast(),
                items: self.items.as_ptr(),
                count,
                steps,
            };
            // SAFETY: the buffers have room for these systems and live until the device is done.
            unsafe {
                self.engine
                    .device
                    .launch_entry(self.entry, grid, (job, begins))?
            };
            let mut open = [0];
            self.open.download(&mut open)?;
            begins = 0;
            self.share.report(self.done + u64::from(count) - open[0]);
            self.share.check()?;
            if open[0] == 0 {
                break;
            }
            if self.engine.adapts {
                let ratio = LAUNCH.as_secs_f64() / began.elapsed().as_secs_f64().max(1e-6);
                steps = (f64::from(steps) * ratio.clamp(0.25, 4.0)).clamp(1.0, 1e6) as u32;
            }
        }
        let mut records = vec![Record::default(); count as usize];
        self.records.download(&mut records)?;
        self.done += u64::from(count);
        let mut left = &records[..];
        for span in spans {
            let (now, later) = left.split_at((span.end - span.start) as usize);
            self.task.deliver(self.share, span.start, now)?;
            left = later;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattered_systems_share_a_launch() {
        assert_eq!(
            lists(&[3..4, 7..12, 20..21], 4),
            [vec![3..4, 7..10], vec![10..12, 20..21]]
        );
        assert_eq!(lists(&[0..8], 4), [vec![0..4], vec![4..8]]);
        assert!(lists(&[], 4).is_empty());
    }
}
