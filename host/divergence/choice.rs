//! From what a user asks for to an engine: which GPUs, with or without the CPU, and what happens where there is none.

use super::engine::{Backend, Engine, EngineError, RunOptions};
use super::{CpuEngine, Specification, Validated};

/// An engine for `options` to compute so many pixels of a map, and what the user should know about it.
///
/// # Errors
/// No GPU can be used and one is needed, or the CPU engine cannot start.
pub(super) fn engine(
    spec: &Validated,
    pixels: u64,
    options: &RunOptions,
) -> Result<(Box<dyn Engine>, Vec<String>), EngineError> {
    let mut notes = Vec::new();
    if options.backend != Backend::Cpu {
        match gpus(pixels, options) {
            Ok((engine, mut said)) => {
                notes.append(&mut said);
                notes.extend(mixed(spec.specification(), options.with_cpu));
                return Ok((engine, notes));
            }
            // What the user asked for by number must be there.
            Err(error @ EngineError::Gpus { .. }) => return Err(error),
            Err(error) if options.backend != Backend::Auto => return Err(error),
            // The ordinary case of a machine without a GPU is no news.
            Err(EngineError::NoGpu(_)) if !crate::gpu::driver_present() => {}
            Err(error) => notes.push(format!("{error}; the CPU computes instead")),
        }
    }
    Ok((Box::new(CpuEngine::new(options.threads)?), notes))
}

/// What a mode whose bits depend on the device makes of two kinds of devices.
fn mixed(specification: &Specification, with_cpu: bool) -> Option<String> {
    let portable = specification.precision.is_portable();
    (with_cpu && !portable).then(|| {
        format!(
            "with --precision {} pixels may differ in the last bits between GPU and CPU, and which computes a pixel is \
             not the same every time",
            specification.precision
        )
    })
}

#[cfg(feature = "gpu")]
fn gpus(pixels: u64, options: &RunOptions) -> Result<(Box<dyn Engine>, Vec<String>), EngineError> {
    use super::fleet::FleetEngine;

    let (fleet, notes) = FleetEngine::open(pixels, options)?;
    Ok((Box::new(fleet), notes))
}

#[cfg(not(feature = "gpu"))]
fn gpus(_: u64, _: &RunOptions) -> Result<(Box<dyn Engine>, Vec<String>), EngineError> {
    Err(EngineError::NoGpu(
        "this program was built without the feature `gpu`".into(),
    ))
}
