//! The engine for devices: one thread for each system, in launches that are short, so that the engine can show progress and be cancelled.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernels_gpu::kernels::{Planets, PlanetsJob};
use kernels_gpu::planets::{Alone, Follow, MAX_PLANETS, Plan, Record, System, WithTangent};

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
{
    match plan.count {
        2 => Entry::of::<Planets<F, 2>>(),
        3 => Entry::of::<Planets<F, 3>>(),
        4 => Entry::of::<Planets<F, 4>>(),
        _ => Entry::of::<Planets<F, MAX_PLANETS>>(),
    }
}

/// The kernel with its buffers.
struct Kernel<'a> {
    engine: &'a DeviceEngine,
    task: &'a Task<'a>,
    share: Share<'a>,
    entry: Entry<Arguments>,
    residency: Option<Residency>,
    plan: Buffer<Plan>,
    systems: Buffer<System<f64, MAX_PLANETS>>,
    records: Buffer<Record>,
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
        let is_small = matches!((task.spec.plan().count, has_tangent), (2, _) | (3, false));
        let mut kernel = Kernel {
            engine: self,
            // 128 registers are few enough for eight blocks a multiprocessor, and enough for these.
            residency: is_small.then_some(Residency {
                threads: BLOCK,
                blocks: 8,
            }),
            task,
            share,
            entry: match has_tangent {
                true => entry::<WithTangent>(task.spec.plan()),
                false => entry::<Alone>(task.spec.plan()),
            },
            plan: Buffer::of(device, &[*task.spec.plan()])?,
            systems: Buffer::filled(device, room, 0)?,
            records: Buffer::filled(device, room, 0)?,
            open: Buffer::filled(device, 1, 0)?,
            done: 0,
        };
        in_portions(share, [1, self.most], |spans| {
            for span in spans {
                let mut first = span.start;
                while first < span.end {
                    let end = span.end.min(first + room as u64);
                    kernel.follow(first..end)?;
                    first = end;
                }
            }
            Ok(())
        })
    }
}

impl Kernel<'_> {
    /// Follows consecutive systems to their ends and delivers their records.
    fn follow(&mut self, span: Range<u64>) -> Result<(), EngineError> {
        let count = (span.end - span.start) as u32;
        let grid = Grid::new(count.div_ceil(BLOCK), BLOCK).residency(self.residency);
        let (mut begins, mut steps) = (1_u32, self.engine.steps);
        loop {
            let began = Instant::now();
            self.open.fill(0)?;
            let job = PlanetsJob {
                plan: self.plan.as_ptr(),
                systems: self.systems.as_mut_ptr(),
                records: self.records.as_mut_ptr(),
                open: self.open.as_ptr().cast(),
                first: span.start,
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
        self.task.deliver(self.share, span.start, &records)
    }
}
