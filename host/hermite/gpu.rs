//! The kernels on GPUs: a stream each, on which everything is queued in order.

use super::Engine;
use super::device::{Call, Device, DeviceEngine};
use crate::gpu::{Argument, DeviceMemory, Gpu, GpuError, Pinned, Plain};
use crate::run::EngineError;
use crate::run::Workers;

/// Threads of a block of force kernels with tiles: few, because few particles are active at a time.
const BLOCK: u32 = 64;
/// Numbers of an array up to which it has a mirror in page-locked memory.
const MOST_MIRRORED: usize = 1 << 22;
/// Terms of a partial sum up to which a block for each active particle is taken while there are few of them.
const SHORT_SUMS: u32 = 64;

/// An engine on these GPUs together, which deal the particles that pull among them; `workers` do the host's part.
///
/// # Panics
/// Without any.
pub fn on_gpus(gpus: &[Gpu], workers: Workers) -> Box<dyn Engine + '_> {
    let devices = gpus.iter().map(|gpu| OnGpu { gpu }).collect();
    Box::new(DeviceEngine::new(devices, BLOCK, workers))
}

struct OnGpu<'a> {
    gpu: &'a Gpu,
}

/// An array on a device, and its mirror on the host for copies that nobody waits for.
struct Array<'a, T: Plain> {
    memory: DeviceMemory<'a, T>,
    mirror: Option<Pinned<'a, T>>,
    /// Whether the mirror may still be copied from or to.
    busy: bool,
}

impl<'a, T: Plain + Default> Array<'a, T> {
    fn new(gpu: &'a Gpu, length: usize, mirrored: bool) -> Result<Self, GpuError> {
        gpu.enter()?;
        let mirror = (mirrored && length <= MOST_MIRRORED)
            .then(|| Pinned::new(gpu, length, T::default()))
            .transpose()?;
        Ok(Self {
            memory: DeviceMemory::filled(gpu, length, 0)?,
            mirror,
            busy: false,
        })
    }

    fn put(&mut self, gpu: &Gpu, values: &[T]) -> Result<(), GpuError> {
        gpu.enter()?;
        let Some(mirror) = &mut self.mirror else {
            return self.memory.upload(values);
        };
        if self.busy {
            gpu.synchronise()?;
        }
        mirror[..values.len()].copy_from_slice(values);
        self.busy = true;
        // SAFETY: the mirror is not touched before the stream has been waited for, see `busy`.
        unsafe { self.memory.copy_from_pinned(mirror, values.len()) }
    }

    fn ask(&mut self, gpu: &Gpu, length: usize) -> Result<(), GpuError> {
        gpu.enter()?;
        let Some(mirror) = &mut self.mirror else {
            return Ok(());
        };
        self.busy = true;
        // SAFETY: the mirror is not touched before the stream has been waited for, see `busy`.
        unsafe { self.memory.copy_to(0, mirror, length) }
    }

    fn get(&mut self, gpu: &Gpu, values: &mut [T]) -> Result<(), GpuError> {
        gpu.enter()?;
        let Some(mirror) = &self.mirror else {
            return self.memory.download(values);
        };
        gpu.synchronise()?;
        self.busy = false;
        values.copy_from_slice(&mirror[..values.len()]);
        Ok(())
    }
}

impl<T: Plain> Drop for Array<'_, T> {
    fn drop(&mut self) {
        // The mirror must outlive what is queued, and memory is given back in its context. Nothing can be done about a
        // failure: the device is lost.
        let _ = self.memory.gpu().enter();
        if self.busy {
            let _ = self.memory.gpu().synchronise();
        }
    }
}

impl<'a> Device for OnGpu<'a> {
    type Numbers = Array<'a, f64>;
    type Places = Array<'a, u32>;

    fn name(&self) -> &'static str {
        "gpu"
    }

    fn device(&self) -> String {
        self.gpu.info().name.clone()
    }

    fn few(&self, terms: u32) -> u32 {
        if terms <= SHORT_SUMS {
            2 * self.gpu.info().multiprocessors
        } else {
            self.gpu.info().multiprocessors / 4
        }
    }

    fn numbers(&self, length: usize) -> Result<Self::Numbers, EngineError> {
        Ok(Array::new(self.gpu, length, false)?)
    }

    fn exchanged(&self, length: usize) -> Result<Self::Numbers, EngineError> {
        Ok(Array::new(self.gpu, length, true)?)
    }

    fn places(&self, length: usize) -> Result<Self::Places, EngineError> {
        Ok(Array::new(self.gpu, length, true)?)
    }

    fn put(&self, to: &mut Self::Numbers, values: &[f64]) -> Result<(), EngineError> {
        Ok(to.put(self.gpu, values)?)
    }

    fn put_places(&self, to: &mut Self::Places, values: &[u32]) -> Result<(), EngineError> {
        Ok(to.put(self.gpu, values)?)
    }

    fn ask(&self, from: &mut Self::Numbers, length: usize) -> Result<(), EngineError> {
        Ok(from.ask(self.gpu, length)?)
    }

    fn get(&self, from: &mut Self::Numbers, values: &mut [f64]) -> Result<(), EngineError> {
        Ok(from.get(self.gpu, values)?)
    }

    fn ask_places(&self, from: &mut Self::Places, length: usize) -> Result<(), EngineError> {
        Ok(from.ask(self.gpu, length)?)
    }

    fn get_places(&self, from: &mut Self::Places, values: &mut [u32]) -> Result<(), EngineError> {
        Ok(from.get(self.gpu, values)?)
    }

    fn address(&self, of: &Self::Numbers) -> u64 {
        of.memory.address()
    }

    fn places_address(&self, of: &Self::Places) -> u64 {
        of.memory.address()
    }

    fn is_cooperative(&self) -> bool {
        self.gpu.is_cooperative().unwrap_or(false)
    }

    fn resident_blocks(&self, call: &Call, threads: u32, shared: u32) -> Result<u32, EngineError> {
        self.gpu.enter()?;
        let each = self
            .gpu
            .kernel(call.name())?
            .resident_blocks(threads, shared)?;
        Ok(each * self.gpu.info().multiprocessors)
    }

    unsafe fn launch(
        &self,
        call: &Call,
        blocks: u32,
        threads: u32,
        shared: u32,
    ) -> Result<(), EngineError> {
        self.gpu.enter()?;
        let kernel = self.gpu.kernel(call.name())?;
        let arguments = arguments(call);
        // SAFETY: the arguments are those of the kernel, in its order; the caller vouches for the memory.
        unsafe {
            match call {
                Call::Steps { .. } => {
                    kernel.launch_cooperative(blocks, threads, shared, &arguments)?;
                }
                _ => kernel.launch(blocks, threads, shared, &arguments)?,
            }
        }
        Ok(())
    }
}

/// A call's values in the order of the kernel's parameters.
fn arguments(call: &Call) -> Vec<Argument<'_>> {
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
            many: _,
            order: _,
            precision: _,
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
            components,
            count,
            parts,
        } => vec![
            Argument::new(partial),
            Argument::new(out),
            Argument::new(components),
            Argument::new(count),
            Argument::new(parts),
        ],
        Call::Neighbours {
            launch,
            predicted,
            places,
            radii2,
            lists,
            lengths,
        } => vec![
            Argument::new(launch),
            Argument::new(predicted),
            Argument::new(places),
            Argument::new(radii2),
            Argument::new(lists),
            Argument::new(lengths),
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
        Call::Steps {
            order: _,
            precision: _,
            job,
            state,
        } => vec![
            Argument::new(job),
            Argument::new(&state.stars),
            Argument::new(&state.rest),
            Argument::new(&state.moved),
            Argument::new(&state.predicted),
            Argument::new(&state.active),
            Argument::new(&state.forces),
            Argument::new(&state.partial),
            Argument::new(&state.levels),
            Argument::new(&state.control),
            Argument::new(&state.report),
        ],
    }
}
