//! Computes maps on the devices of this process.

use super::engine::{DivergenceMap, Ran, Streamed, Task};
use super::select::{self, Selected};
use super::{Devices, Executor, Validated, run_on};
use trisolar_device::{DeviceInfo, GpuError};
use trisolar_run::{EngineError, Monitor, RunOptions};

impl Devices {
    /// As [`divergence::run`](super::run), on these devices.
    ///
    /// # Errors
    /// As [`divergence::run`](super::run).
    pub fn run(
        &self,
        spec: &Validated,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<DivergenceMap, EngineError> {
        run_on(self, spec, options, monitor)
    }

    /// As [`divergence::stream`](super::stream), on these devices.
    ///
    /// # Errors
    /// As [`divergence::stream`](super::stream).
    pub fn stream(
        &self,
        task: &Task<'_>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Streamed, EngineError> {
        let (selected, notes) = select::engine(self, task.spec, task.pixels(), options)?;
        let engine = selected.engine();
        Ok(streamed(&selected, engine.stream(task, monitor)?, notes))
    }
}

impl Executor for Devices {
    fn stream(
        &self,
        task: &Task<'_>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Streamed, EngineError> {
        self.stream(task, options, monitor)
    }

    fn gpus(&self) -> Result<Vec<DeviceInfo>, GpuError> {
        self.list()
    }
}

fn streamed(selected: &Selected, mut ran: Ran, mut notes: Vec<String>) -> Streamed {
    let engine = selected.engine();
    notes.append(&mut ran.notes);
    ran.notes = notes;
    Streamed {
        engine: engine.name(),
        device: engine.device(),
        ran,
    }
}

/// Computes a map on the engine that `options` select. A program that computes many maps should keep the [`Devices`] open and call
/// [`Devices::run`].
///
/// With [`Backend::Auto`](trisolar_run::Backend::Auto), GPUs that cannot be used are skipped, and if all GPUs fail during the computation the CPU computes the
/// remaining pixels. The notes of the result mention both.
///
/// # Errors
/// See [`Engine::compute`](super::Engine::compute).
pub fn run(
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<DivergenceMap, EngineError> {
    Devices::new().run(spec, options, monitor)
}

/// Computes pixels of a map on the engine that `options` select, as [`run`] does, and passes them to the task's sink as they arrive.
///
/// # Errors
/// See [`Engine::stream`](super::Engine::stream).
pub fn stream(
    task: &Task<'_>,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Streamed, EngineError> {
    Devices::new().stream(task, options, monitor)
}
