//! Which engine computes a run.

use std::rc::Rc;

use super::{CpuEngine, Engine, Partials, Precision, Ranks, Schedule, Validated};
use crate::divergence::{Backend, EngineError};

/// From this number of bodies on `auto` prefers a GPU: below, a step is over before a GPU's launches are.
const WORTH_A_GPU: usize = 2048;

/// How to compute; nothing here changes a value, except [`Partials::Threads`] the last bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Which engine.
    pub backend: Backend,
    /// Threads of the CPU engine; `None` for as many as the process may use.
    pub threads: Option<usize>,
    /// How the CPU engine's threads share the work.
    pub schedule: Schedule,
    /// Where the CPU engine's reduced solver keeps partial sums.
    pub partials: Partials,
    /// Number of the GPU.
    pub device: u32,
}

/// The engine that the options ask for, and what the user should know about the choice. `auto` takes a GPU for many bodies
/// if one can be used.
///
/// # Errors
/// [`EngineError`] if there is no such engine.
pub fn engine(
    problem: &Validated,
    options: &Options,
) -> Result<(Box<dyn Engine>, Vec<String>), EngineError> {
    let mut notes = Vec::new();
    let precision = problem.specification().precision;
    let single = precision == Precision::F32;
    let wanted = match options.backend {
        Backend::Auto if precision == Precision::FloatFloat => false,
        Backend::Cpu => false,
        Backend::Gpu => true,
        Backend::Auto => single || problem.bodies().len() >= WORTH_A_GPU,
    };
    if wanted {
        match gpu(options.device) {
            Ok(engine) => return Ok((engine, notes)),
            Err(error) if options.backend == Backend::Gpu => return Err(error),
            // The ordinary case of a machine without a GPU is no news.
            Err(EngineError::NoGpu(_)) if !crate::gpu::driver_present() => {}
            Err(error) => notes.push(format!("{error}; the CPU computes instead")),
        }
    }
    Ok((Box::new(on_cpu(problem, options)?), notes))
}

/// The CPU engine that the options ask for, as one of several processes that share the bodies.
///
/// # Errors
/// [`EngineError::Threads`].
pub fn engine_on_ranks(
    problem: &Validated,
    options: &Options,
    ranks: Rc<dyn Ranks>,
) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(on_cpu(problem, options)?.with_ranks(ranks)))
}

fn on_cpu(problem: &Validated, options: &Options) -> Result<CpuEngine, EngineError> {
    // One thread for few bodies: others would only wait.
    let threads = match options.threads {
        None if problem.bodies().len() < 512 => Some(1),
        given => given,
    };
    Ok(CpuEngine::new(threads, options.schedule)?.with_partials(options.partials))
}

#[cfg(feature = "gpu")]
fn gpu(device: u32) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(super::GpuEngine::new(device)?))
}

#[cfg(not(feature = "gpu"))]
fn gpu(_: u32) -> Result<Box<dyn Engine>, EngineError> {
    Err(EngineError::NoGpu(
        "this program was built without the feature `gpu`".into(),
    ))
}
