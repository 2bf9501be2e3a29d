//! Selects an engine from the user's options: which GPUs, with or without the CPU, and what happens if there is no GPU.

use super::devices::{CpuLease, Devices};
use super::engine::Engine;
use super::multi_device::MultiDeviceEngine;
use super::{Specification, Validated};
use trisolar_run::{Backend, Driver, EngineError, GpuChoice, RunOptions};

/// The engine that computes a map.
pub(super) enum Selected {
    /// GPUs, or GPUs and the CPU.
    MultiDevice(MultiDeviceEngine),
    /// The CPU.
    Cpu(CpuLease),
}

impl Selected {
    pub fn engine(&self) -> &dyn Engine {
        match self {
            Self::MultiDevice(multi_device) => multi_device,
            Self::Cpu(cpu) => &**cpu,
        }
    }
}

/// Selects the engine for `options` and a map of this many pixels; also returns notes for the user.
///
/// # Errors
/// No GPU can be used and one is needed, or the CPU engine cannot start.
pub(super) fn engine(
    devices: &Devices,
    spec: &Validated,
    pixels: u64,
    options: &RunOptions,
) -> Result<(Selected, Vec<String>), EngineError> {
    options.check()?;
    let mut notes = Vec::new();
    if options.backend != Backend::Cpu {
        match MultiDeviceEngine::of(devices, pixels, options) {
            Ok((multi_device, mut said)) => {
                notes.append(&mut said);
                notes.extend(mixed(spec.specification(), options.with_cpu));
                return Ok((Selected::MultiDevice(multi_device), notes));
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
    if options.driver == Driver::Single {
        notes.push("the driver single only drives GPUs; the CPU computes as usual".into());
    }
    Ok((Selected::Cpu(devices.cpu(options)?), notes))
}

/// The note for a precision whose bits depend on the device, if GPUs and the CPU compute together.
fn mixed(specification: &Specification, with_cpu: bool) -> Option<String> {
    let portable = specification.precision.is_portable();
    (with_cpu && !portable).then(|| {
        format!(
            "with --precision {} pixels may differ in the last bits between GPU and CPU, and \
             different runs distribute the pixels differently",
            specification.precision
        )
    })
}
