//! The kernel on the CPU, under the emulator of the grid: slow, for tests of kernel code where there is no GPU.

use std::sync::atomic::Ordering;

use cuda_std::emulator::Launch;
use kernels_gpu::device::encounters::{Job, Shared, Thread};
use kernels_gpu::encounters::Record;
use kernels_gpu::kernels::encounters;

use super::Validated;
use super::engine::{Engine, room};
use crate::run::{EngineError, Monitor};

/// Runs the kernel's code in emulated grids, in the shortest launches there are, so that threads are often put aside.
#[derive(Clone, Copy, Debug)]
pub struct EmulatorEngine {
    /// Threads of a block.
    pub block: u32,
    /// Blocks of a grid.
    pub blocks: u32,
    /// Runs the threads in a random order that this number decides.
    pub seed: Option<u64>,
}

impl Default for EmulatorEngine {
    fn default() -> Self {
        Self {
            block: 32,
            blocks: 2,
            seed: None,
        }
    }
}

impl Engine for EmulatorEngine {
    fn name(&self) -> &'static str {
        "emulator"
    }

    fn device(&self) -> String {
        format!("emulated grid, {}", crate::machine::cpu_name())
    }

    fn integrate(
        &self,
        spec: &Validated,
        monitor: &dyn Monitor,
    ) -> Result<Vec<Record>, EngineError> {
        let mut records = room(spec.runs())?;
        let mut threads = vec![Thread::default(); (self.block * self.blocks) as usize];
        let shared = Shared::default();
        let bodies = spec.given_bodies();
        let job = Job {
            settings: *spec.settings(),
            stages: spec.stages().as_ptr(),
            plan: spec.plan(),
            bodies: bodies.map_or(std::ptr::null(), <[_]>::as_ptr),
            records: records.as_mut_ptr(),
            first: 0,
            count: spec.runs(),
            stage_count: spec.stages().len() as u32,
            unused: 0,
        };
        // Addresses, so that the threads of the grid may have them.
        let mine = threads.as_mut_ptr();
        loop {
            let mut launch = Launch::new(self.blocks, self.block);
            if let Some(seed) = self.seed {
                launch = launch.seed(seed);
            }
            let (job, mine) = (Sent(job), Sent(mine));
            // SAFETY: the arrays are as long as the kernel asks for, and outlive the launch; each thread uses its own
            // value, and each run's record is written by the thread that has the run.
            let outcome =
                unsafe { launch.run(|| encounters(job.get(), 0, mine.get(), &raw const shared)) };
            outcome.map_err(|e| EngineError::Gpu {
                device: self.device(),
                call: "encounters",
                reason: e.to_string(),
            })?;
            let ended = shared.ended.load(Ordering::Relaxed);
            monitor.progress(ended, spec.runs());
            if ended == spec.runs() {
                return Ok(records);
            }
            if monitor.cancelled() {
                return Err(EngineError::Cancelled);
            }
        }
    }
}

/// Arguments of a launch, which its threads share.
#[derive(Clone, Copy)]
struct Sent<T>(T);

impl<T: Copy> Sent<T> {
    fn get(&self) -> T {
        self.0
    }
}

// SAFETY: the threads of a launch use what it points to as the kernel's safety conditions say.
unsafe impl<T> Send for Sent<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Sent<T> {}
