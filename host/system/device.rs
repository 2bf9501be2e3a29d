//! The engine for devices: one thread for each item.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trisolar_device::{Buffer, Device, Grid};
use trisolar_ensemble::{GpuEngine, Task, in_portions};
use trisolar_equations::DeviceJob;
use trisolar_run::queue::Share;
use trisolar_run::scheduler::Worker;
use trisolar_run::{EngineError, machine};

use crate::table::Rows;
use crate::{Equations, Validated};

/// Most numbers that a launch returns.
const MAX_NUMBERS: u64 = 1 << 24;
/// Duration of a launch for which the number of its items is chosen.
const LAUNCH: Duration = Duration::from_millis(100);
/// Threads per block.
const BLOCK: u32 = 64;

/// Follows items on a device: a GPU, or the emulator of the grid.
#[derive(Clone, Debug)]
pub struct DeviceEngine {
    device: Arc<dyn Device>,
    /// Items of the first launch.
    first: u64,
    /// Largest number of items of a launch.
    most: u64,
}

impl GpuEngine for DeviceEngine {
    fn on(device: Arc<dyn Device>) -> Self {
        Self {
            device,
            first: 1 << 15,
            most: 1 << 23,
        }
    }

    fn emulated_gpu() -> Self {
        Self {
            device: Arc::new(machine::emulator()),
            first: 100,
            most: 100,
        }
    }

    fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }
}

impl<'a, Q: Equations> Worker<Task<'a, Validated<Q>>> for DeviceEngine {
    fn label(&self) -> String {
        self.numbered()
    }

    fn capacity(&self, _: &Task<'a, Validated<Q>>) -> u64 {
        self.first
    }

    fn work(&self, task: &Task<'a, Validated<Q>>, share: Share<'_>) -> Result<(), EngineError> {
        let (spec, width) = (task.spec, task.spec.width());
        let most = (MAX_NUMBERS / width as u64)
            .min(self.most)
            .min(task.items().max(1));
        let job = Buffer::of(&self.device, &[*spec.job()])?;
        let out = Buffer::<f64>::filled(&self.device, most as usize * width, 0)?;
        let mut numbers = vec![0.0; most as usize * width];
        let (mut room, mut done) = (self.first.min(most), 0);
        in_portions(share, [1, most], |spans| {
            for span in spans {
                let mut first = span.start;
                while first < span.end {
                    let began = Instant::now();
                    let count = room.min(span.end - first);
                    let items = DeviceJob {
                        job: job.as_ptr(),
                        out: out.as_mut_ptr(),
                        first,
                        count: count as u32,
                        width: width as u32,
                    };
                    let grid = Grid::covering(count as u32, BLOCK);
                    // SAFETY: `out` has room for these items, and both buffers live until the download.
                    unsafe {
                        spec.equations()
                            .launch(&self.device, spec.job(), grid, items)?;
                    }
                    let numbers = &mut numbers[..count as usize * width];
                    out.download(numbers)?;
                    task.deliver(share, first, Rows { numbers, width })?;
                    first += count;
                    done += count;
                    share.report(done);
                    share.check()?;
                    let ratio = LAUNCH.as_secs_f64() / began.elapsed().as_secs_f64().max(1e-6);
                    let next = count as f64 * ratio.clamp(0.25, 8.0);
                    room = (next as u64).clamp(self.first.min(most), most);
                }
            }
            Ok(())
        })
    }
}
