//! Executors: the devices of this process, or of several processes together.

use trisolar_device::{DeviceInfo, GpuError};
use trisolar_run::{EngineError, Monitor, RunOptions};

use super::contract::{Ensemble, Report, Task};
use super::devices::Devices;
use super::engine::{Computed, Engine as _, in_memory};

/// Computes items with the devices of one process or of several. Several tasks can run at a time.
pub trait Executor<E: Ensemble>: Sync {
    /// Computes items and passes their values to the task's sink as they arrive.
    ///
    /// With [`Backend::Auto`](trisolar_run::Backend::Auto), GPUs that cannot be used are skipped, and if all GPUs fail during the computation
    /// the CPU computes the remaining items. The notes of the report mention both.
    ///
    /// # Errors
    /// As [`Engine::stream`](super::Engine::stream); also if a GPU is needed and none can be used, or if the CPU engine cannot start.
    fn stream(
        &self,
        task: &Task<'_, E>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Report, EngineError>;

    /// The GPUs of this process.
    ///
    /// # Errors
    /// The reason why there is none.
    fn gpus(&self) -> Result<Vec<DeviceInfo>, GpuError> {
        trisolar_device::devices()
    }

    /// Checks, before long work starts, that the options are compatible and that the GPUs which they name exist.
    ///
    /// # Errors
    /// [`EngineError::Refused`].
    fn check(&self, options: &RunOptions) -> Result<(), EngineError> {
        options.check()?;
        // Finding the GPUs takes some time.
        if !options.gpus.is_definite() {
            return Ok(());
        }
        options.check_with(self.gpus().as_deref())
    }

    /// Number of processes that take part.
    fn processes(&self) -> usize {
        1
    }
}

impl<E: Ensemble> Executor<E> for Devices<E> {
    fn stream(
        &self,
        task: &Task<'_, E>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Report, EngineError> {
        let (engine, mut notes) = self.select(task.spec, task.items(), options)?;
        let mut report = engine.stream(task, monitor)?;
        notes.append(&mut report.notes);
        Ok(Report { notes, ..report })
    }

    fn gpus(&self) -> Result<Vec<DeviceInfo>, GpuError> {
        self.list()
    }
}

/// Computes all items in memory.
///
/// # Errors
/// As [`Executor::stream`], and [`EngineError::OutOfMemory`] if there is too little memory for the values.
pub fn compute<E: Ensemble>(
    executor: &dyn Executor<E>,
    spec: &E,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Computed<E>, EngineError> {
    in_memory(spec, |task| executor.stream(task, options, monitor))
}
