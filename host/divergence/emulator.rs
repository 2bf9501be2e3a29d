//! The kernels under the emulator of the grid: slow, for tests of kernels and of the engine where there is no GPU.

use std::sync::Arc;
use std::time::Duration;

use super::device::{Accelerator, DeviceEngine, GpuSource, LaunchShape};
use super::engine::{Engine, Ran, Task};
use super::queue::Share;
use super::scheduler::{self, Worker};
use super::{DivergenceKernel, Specification};
use trisolar_device::{DeviceInfo, GpuError};
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
        Self {
            kernel,
            block: 128,
            blocks: 8,
            slice_ns: 0,
            seed: None,
        }
    }

    /// The engine of this device. Its ring and its portions are short, so that small maps wrap around.
    fn engine(&self) -> DeviceEngine {
        let emulator = machine::emulator().seed(self.seed).resident(self.blocks);
        let shape = LaunchShape {
            block: self.block,
            blocks: self.blocks,
            slots: 8,
            slice: Some(Duration::from_nanos(self.slice_ns)),
            band: 1 << 16,
        };
        DeviceEngine::on(Arc::new(emulator), self.kernel, shape)
    }
}

impl Engine for EmulatorEngine {
    fn name(&self) -> &'static str {
        "emulator"
    }

    fn device(&self) -> String {
        self.engine().device()
    }

    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError> {
        scheduler::run(&[self], None, task, monitor)
    }
}

impl Worker for EmulatorEngine {
    fn label(&self) -> String {
        self.device()
    }

    fn capacity(&self, _: &Specification) -> u64 {
        u64::from(self.blocks) * u64::from(self.block)
    }

    fn work(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        self.engine().work(task, share)
    }
}

/// Any number of emulated GPUs.
#[derive(Debug)]
pub(super) struct Emulated {
    pub gpus: u32,
}

impl GpuSource for Emulated {
    fn list(&self) -> Result<Vec<DeviceInfo>, GpuError> {
        let info = |index| DeviceInfo {
            index,
            name: "emulated GPU".into(),
            compute_capability: (7, 0),
            memory_bytes: machine::available_memory(),
            multiprocessors: 2,
            shared_bytes_per_block: 48 << 10,
            clock_khz: 0,
        };
        Ok((0..self.gpus).map(info).collect())
    }

    fn open(&self, index: u32) -> Result<Box<dyn Accelerator>, EngineError> {
        let engine = EmulatorEngine {
            block: 32,
            blocks: 2,
            ..EmulatorEngine::new(DivergenceKernel::Fetch)
        };
        Ok(Box::new(EmulatedGpu { index, engine }))
    }
}

/// An emulated GPU.
#[derive(Debug)]
struct EmulatedGpu {
    index: u32,
    engine: EmulatorEngine,
}

impl Worker for EmulatedGpu {
    fn label(&self) -> String {
        format!("emulated GPU {}", self.index)
    }

    fn capacity(&self, specification: &Specification) -> u64 {
        self.engine.capacity(specification)
    }

    fn work(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        self.engine.work(task, share)
    }
}

impl Accelerator for EmulatedGpu {
    fn name(&self) -> String {
        "emulated GPU".into()
    }

    fn usable(&self) -> bool {
        true
    }
}
