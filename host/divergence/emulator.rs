//! The kernels under the emulator of the grid: slow, for tests of kernels and of the engine where there is no GPU.

use std::sync::Arc;
use std::time::Duration;

use super::device::{DeviceEngine, LaunchShape};
use super::{DivergenceKernel, Task, Validated};
use trisolar_ensemble::{Engine, Report};
use trisolar_run::{EngineError, Monitor, machine};

/// The device engine on an emulator, with the parameters of its launches.
#[derive(Clone, Copy, Debug)]
pub struct EmulatorEngine {
    /// The kernel.
    pub kernel: DivergenceKernel,
    /// Threads per block.
    pub block: u32,
    /// Blocks of a grid of fetching threads.
    pub blocks: u32,
    /// Length of a launch of fetching threads in nanoseconds; 0 for the shortest possible.
    pub slice_ns: u64,
    /// Seed of the random order in which threads run; `None` for their natural order.
    pub seed: Option<u64>,
}

impl EmulatorEngine {
    /// An engine with blocks of 128 threads in their natural order and the shortest launches, so that threads are often interrupted
    /// and resumed.
    pub fn new(kernel: DivergenceKernel) -> Self {
        let LaunchShape { block, blocks, .. } = LaunchShape::EMULATED;
        Self {
            kernel,
            block,
            blocks,
            slice_ns: 0,
            seed: None,
        }
    }

    /// The engine of this device.
    pub(super) fn engine(&self) -> DeviceEngine {
        let emulator = machine::emulator().seed(self.seed).resident(self.blocks);
        let shape = LaunchShape {
            block: self.block,
            blocks: self.blocks,
            slice: Some(Duration::from_nanos(self.slice_ns)),
            ..LaunchShape::EMULATED
        };
        DeviceEngine::with(Arc::new(emulator), self.kernel, shape)
    }
}

impl Engine<Validated> for EmulatorEngine {
    fn name(&self) -> &'static str {
        "emulator"
    }

    fn device(&self) -> String {
        Engine::device(&self.engine())
    }

    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Report, EngineError> {
        self.engine().stream(task, monitor)
    }
}
