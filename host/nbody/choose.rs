//! Which engine computes a run.

use std::rc::Rc;

use super::{CpuEngine, Engine, Partials, Precision, Ranks, Schedule, Validated};
use crate::divergence::{Backend, EngineError};

/// From this number of bodies on `auto` prefers a GPU: below, a step is over before a GPU's launches are.
const WORTH_A_GPU: usize = 2048;

/// Fewer bodies than this are integrated by one thread, unless asked otherwise: others would only wait.
pub const FEW: usize = 512;

/// From this number of bodies on several GPUs are faster than one: below, they wait for each other's positions.
#[cfg(feature = "gpu")]
const WORTH_MORE_GPUS: usize = 131_072;

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
    /// Number of the first GPU.
    pub device: u32,
    /// How many GPUs compute together; `None` for all from the first on, where there are enough bodies.
    pub gpus: Option<u32>,
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
    // Whose numbers GPUs are much faster with, for any number of bodies.
    let single = precision != Precision::F64;
    let wanted = match options.backend {
        Backend::Cpu => false,
        Backend::Gpu => true,
        Backend::Auto => single || problem.bodies().len() >= WORTH_A_GPU,
    };
    if wanted {
        match gpu(options, problem.bodies().len()) {
            Ok(engine) => return Ok((engine, notes)),
            Err(error) => notes.extend(error.passed_over(options.backend)?),
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
    let threads = match options.threads {
        None if problem.bodies().len() < FEW => Some(1),
        given => given,
    };
    Ok(CpuEngine::new(threads, options.schedule)?.with_partials(options.partials))
}

#[cfg(feature = "gpu")]
fn gpu(options: &Options, bodies: usize) -> Result<Box<dyn Engine>, EngineError> {
    let first = options.device;
    let there = crate::gpu::devices()?.len() as u32;
    let count = match options.gpus {
        Some(count) => count,
        None if bodies >= WORTH_MORE_GPUS => there.saturating_sub(first).max(1),
        None => 1,
    };
    // A number that there is none of is refused with a message that says how many there are.
    let devices: Vec<u32> = (first..first.saturating_add(count)).collect();
    Ok(Box::new(super::GpuEngine::on(&devices)?))
}

#[cfg(not(feature = "gpu"))]
fn gpu(_: &Options, _: usize) -> Result<Box<dyn Engine>, EngineError> {
    Err(EngineError::NoGpu(
        "this program was built without the feature `gpu`".into(),
    ))
}
