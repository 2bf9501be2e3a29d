//! Executors of maps: this process, or several processes together.

use super::Validated;
use super::engine::{DivergenceMap, Streamed, Task};
use super::resolution;
use super::sink::MemorySink;
use super::value::ValueVec;
use trisolar_device::{DeviceInfo, GpuError};
use trisolar_run::{EngineError, Monitor, RunOptions};

/// Computes pixels with the devices of one process or of several. Several tasks can run at a time.
pub trait Executor: Sync {
    /// Computes pixels of a map and passes them to the task's sink as they arrive.
    ///
    /// # Errors
    /// As [`stream`](super::stream).
    fn stream(
        &self,
        task: &Task<'_>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Streamed, EngineError>;

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

/// Computes a map, as [`run`](super::run) does in a single process.
///
/// # Errors
/// As [`run`](super::run).
pub fn run_on(
    executor: &dyn Executor,
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<DivergenceMap, EngineError> {
    let work = || values_on(executor, spec, options, monitor);
    let ((values, streamed), resolution) = resolution::beside(spec, options, monitor, work)?;
    Ok(DivergenceMap::new(spec, values, streamed).with_resolution(Some(resolution)))
}

/// All values of a map, without the check of its resolution that [`run_on`] makes beside the computation.
///
/// # Errors
/// As [`run`](super::run).
pub fn values_on(
    executor: &dyn Executor,
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<(ValueVec, Streamed), EngineError> {
    let memory = MemorySink::new(spec.value_type(), spec.pixels())?;
    let whole = [0..spec.pixels()];
    let task = Task::new(spec, &whole, &memory);
    let streamed = executor.stream(&task, options, monitor)?;
    Ok((memory.into_values(), streamed))
}
