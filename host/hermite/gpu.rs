//! The kernels on a GPU: one stream, on which everything is queued in order.

use super::Engine;
use super::device::{Call, Device, DeviceEngine};
use crate::divergence::EngineError;
use crate::gpu::{Argument, DeviceMemory, Gpu};

/// Threads of a block of force kernels: few, because few particles are active at a time.
const BLOCK: u32 = 64;

/// An engine on this GPU.
pub fn on_gpu(gpu: &Gpu) -> Box<dyn Engine + '_> {
    Box::new(DeviceEngine::new(OnGpu { gpu }, BLOCK))
}

struct OnGpu<'a> {
    gpu: &'a Gpu,
}

impl<'a> Device for OnGpu<'a> {
    type Numbers = DeviceMemory<'a, f64>;
    type Places = DeviceMemory<'a, u32>;

    fn name(&self) -> &'static str {
        "gpu"
    }

    fn device(&self) -> String {
        self.gpu.info().name.clone()
    }

    fn resident_blocks(&self, call: &Call, threads: u32) -> Result<u32, EngineError> {
        let kernel = self.gpu.kernel(call.name())?;
        Ok(kernel.resident_blocks(threads, 0)? * self.gpu.info().multiprocessors)
    }

    fn numbers(&self, length: usize) -> Result<DeviceMemory<'a, f64>, EngineError> {
        Ok(DeviceMemory::filled(self.gpu, length, 0)?)
    }

    fn places(&self, length: usize) -> Result<DeviceMemory<'a, u32>, EngineError> {
        Ok(DeviceMemory::filled(self.gpu, length, 0)?)
    }

    fn put(&self, to: &mut DeviceMemory<'a, f64>, values: &[f64]) -> Result<(), EngineError> {
        Ok(to.upload(values)?)
    }

    fn put_places(
        &self,
        to: &mut DeviceMemory<'a, u32>,
        values: &[u32],
    ) -> Result<(), EngineError> {
        Ok(to.upload(values)?)
    }

    fn get(&self, from: &DeviceMemory<'a, f64>, values: &mut [f64]) -> Result<(), EngineError> {
        Ok(from.download(values)?)
    }

    fn address(&self, of: &DeviceMemory<'a, f64>) -> u64 {
        of.address()
    }

    fn places_address(&self, of: &DeviceMemory<'a, u32>) -> u64 {
        of.address()
    }

    unsafe fn launch(
        &self,
        call: &Call,
        blocks: u32,
        threads: u32,
        shared: u32,
    ) -> Result<(), EngineError> {
        let kernel = self.gpu.kernel(call.name())?;
        let arguments = arguments(call);
        // SAFETY: the arguments are those of the kernel, in its order; the caller vouches for the memory.
        unsafe { kernel.launch(blocks, threads, shared, &arguments)? };
        Ok(())
    }
}

/// A call's values in the order of the kernel's parameters.
fn arguments(call: &Call) -> Vec<Argument> {
    match call {
        Call::Predict {
            order: _,
            stars,
            predicted,
            time,
            places,
        } => vec![
            Argument::new(stars),
            Argument::new(predicted),
            Argument::new(time),
            Argument::new(places),
        ],
        Call::Scatter {
            from,
            places,
            to,
            count,
            width,
            stride,
            skip,
        } => vec![
            Argument::new(from),
            Argument::new(places),
            Argument::new(to),
            Argument::new(count),
            Argument::new(width),
            Argument::new(stride),
            Argument::new(skip),
        ],
        Call::Force {
            order: _,
            launch,
            predicted,
            places,
            partial,
        } => vec![
            Argument::new(launch),
            Argument::new(predicted),
            Argument::new(places),
            Argument::new(partial),
        ],
        Call::Fold {
            partial,
            out,
            values,
            rest,
        } => vec![
            Argument::new(partial),
            Argument::new(out),
            Argument::new(values),
            Argument::new(rest),
        ],
        Call::Potential {
            launch,
            predicted,
            out,
            width,
        } => vec![
            Argument::new(launch),
            Argument::new(predicted),
            Argument::new(out),
            Argument::new(width),
        ],
    }
}
