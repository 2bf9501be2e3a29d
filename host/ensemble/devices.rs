//! Devices that stay open between computations, and their selection. Opening a GPU, loading its kernels and allocating its buffers can take longer than
//! a small task, so a program that computes many should do it once.

use trisolar_device::{DeviceInfo, GpuError};
use trisolar_run::{Backend, EngineError, GpuChoice, RunOptions, machine};

use super::contract::{Ensemble, GpuEngine as _};
use super::engine::{CpuEngine, CpuKey, CpuLease, GpuLease, MultiDeviceEngine};
use super::lease::DevicePool;

/// Devices that stay open from one computation to the next.
///
/// A device is opened when it is first needed and leased to one computation at a time. Concurrent computations have a handle each,
/// with its own streams and buffers. A device that has failed is closed. Clones share the devices.
#[derive(Debug)]
pub struct Devices<E: Ensemble> {
    /// Number of emulated GPUs; `None` for the GPUs of the machine.
    emulated: Option<u32>,
    gpus: DevicePool<u32, E::Gpu>,
    cpus: DevicePool<CpuKey, CpuEngine<E>>,
}

impl<E: Ensemble> Clone for Devices<E> {
    fn clone(&self) -> Self {
        Self {
            emulated: self.emulated,
            gpus: self.gpus.clone(),
            cpus: self.cpus.clone(),
        }
    }
}

impl<E: Ensemble> Default for Devices<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Ensemble> Devices<E> {
    /// The GPUs of this machine and its CPU. None of them is opened yet.
    pub fn new() -> Self {
        Self {
            emulated: None,
            gpus: DevicePool::default(),
            cpus: DevicePool::default(),
        }
    }

    /// The CPU, and this many GPUs that are emulated on it. They are slow and meant for tests on machines without a GPU.
    pub fn emulated(gpus: u32) -> Self {
        Self {
            emulated: Some(gpus),
            ..Self::new()
        }
    }

    /// The available GPUs.
    ///
    /// # Errors
    /// There is no GPU, or no driver.
    pub(crate) fn list(&self) -> Result<Vec<DeviceInfo>, GpuError> {
        let Some(count) = self.emulated else {
            return trisolar_device::devices();
        };
        let info = |index| DeviceInfo {
            index,
            name: "emulated GPU".into(),
            compute_capability: (7, 0),
            memory_bytes: machine::available_memory(),
            multiprocessors: 2,
            shared_bytes_per_block: 48 << 10,
            clock_khz: 0,
        };
        Ok((0..count).map(info).collect())
    }

    /// How often a GPU has been opened so far: once for each computation that needed a GPU at the same time as others, not once for
    /// every computation.
    pub fn gpus_opened(&self) -> u64 {
        self.gpus.opened()
    }

    /// How often threads of the CPU engine have been started so far.
    pub fn cpus_opened(&self) -> u64 {
        self.cpus.opened()
    }

    /// A handle of the GPU with this number; an open one if possible.
    fn gpu(&self, index: u32) -> Result<GpuLease<E>, EngineError> {
        self.gpus.take(index, || match self.emulated {
            Some(_) => Ok(E::Gpu::emulated_gpu()),
            None => Ok(E::Gpu::on(trisolar_device::open_keeping(index)?)),
        })
    }

    /// A handle of the CPU engine with the threads and the instruction set of these options.
    fn cpu(&self, options: &RunOptions) -> Result<CpuLease<E>, EngineError> {
        let (threads, simd) = (options.threads, options.simd);
        let open = || CpuEngine::with_simd(threads, simd);
        self.cpus.take((threads, simd), open)
    }

    /// See [`MultiDeviceEngine::open`].
    fn open_gpus(
        &self,
        items: u64,
        options: &RunOptions,
    ) -> Result<(MultiDeviceEngine<E>, Vec<String>), EngineError> {
        let (gpus, notes) = options.open_gpus(self.list(), items, |number| self.gpu(number))?;
        let cpu = |wanted: bool| wanted.then(|| self.cpu(options)).transpose();
        let engine = MultiDeviceEngine {
            gpus,
            cpu: cpu(options.with_cpu)?,
            reserve: cpu(options.backend == Backend::Auto && !options.with_cpu)?,
        };
        Ok((engine, notes))
    }

    /// Selects the engine for `options` and this many items of an ensemble; also returns notes for the user.
    ///
    /// # Errors
    /// No GPU can be used and one is needed, or the CPU engine cannot start.
    pub(crate) fn select(
        &self,
        spec: &E,
        items: u64,
        options: &RunOptions,
    ) -> Result<(MultiDeviceEngine<E>, Vec<String>), EngineError> {
        options.check()?;
        let mut notes = Vec::new();
        if wants_gpus::<E>(options, items) {
            match self.open_gpus(items, options) {
                Ok((engine, mut notes)) => {
                    notes.extend(spec.note_on_gpus(options.with_cpu));
                    return Ok((engine, notes));
                }
                Err(error) => {
                    let reason = error.to_string();
                    let note = error.passed_over(options.backend)?;
                    // A missing GPU is only mentioned to users who asked for all GPUs.
                    let asked = (options.gpus == GpuChoice::All)
                        .then(|| format!("--gpus all: {reason}; the CPU computes instead"));
                    notes.extend(note.or(asked));
                }
            }
        }
        let engine = MultiDeviceEngine {
            gpus: Vec::new(),
            cpu: Some(self.cpu(options)?),
            reserve: None,
        };
        Ok((engine, notes))
    }
}

/// Whether `options` want GPUs for this many items, if there are any.
pub(crate) fn wants_gpus<E: Ensemble>(options: &RunOptions, items: u64) -> bool {
    match options.backend {
        Backend::Cpu => false,
        Backend::Gpu => true,
        Backend::Auto => items >= E::AUTO_GPU_ITEMS,
    }
}

impl<E: Ensemble> MultiDeviceEngine<E> {
    /// Opens the GPUs that `options` select for this many items, and the CPU if they want it; also returns notes about GPUs that cannot be
    /// used.
    ///
    /// # Errors
    /// [`EngineError::Refused`] if a named GPU does not exist; otherwise the reason why no GPU can be used.
    pub fn open(items: u64, options: &RunOptions) -> Result<(Self, Vec<String>), EngineError> {
        Devices::new().open_gpus(items, options)
    }
}
