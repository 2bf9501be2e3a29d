//! Integrated encounters, and a function that computes them in one call.

use std::ops::{Deref, Range};
use std::sync::Arc;

use kernels_gpu::encounters::Record;

use super::engine::{Executor, Options, Streamed, in_memory};
use super::store::Mapped;
use super::{Devices, Specification, Validated};
use trisolar_run::{EngineError, Monitor, RunOptions};

/// The records of an ensemble, one for each run, in the order of the runs.
#[derive(Clone, Debug)]
pub enum Records {
    /// In memory.
    Memory(Vec<Record>),
    /// In a file, which the system reads on access.
    File(Arc<Mapped>),
}

impl From<Vec<Record>> for Records {
    fn from(records: Vec<Record>) -> Self {
        Self::Memory(records)
    }
}

impl Deref for Records {
    type Target = [Record];

    fn deref(&self) -> &[Record] {
        match self {
            Self::Memory(records) => records,
            Self::File(records) => records.records(),
        }
    }
}

/// Integrated encounters.
#[derive(Clone, Debug)]
pub struct Ensemble {
    /// Their specification.
    pub specification: Specification,
    /// One record for each run, in the order of the runs.
    pub records: Records,
    /// How they were integrated.
    pub streamed: Streamed,
}

impl Ensemble {
    /// Total number of steps of the runs with these numbers.
    pub fn steps(&self, spans: &[Range<u64>]) -> u64 {
        let of = |span: &Range<u64>| {
            let records = &self.records[span.start as usize..span.end as usize];
            records.iter().map(|r| u64::from(r.steps)).sum::<u64>()
        };
        spans.iter().map(of).sum()
    }

    /// Their kicks.
    pub fn kicks(&self, spans: &[Range<u64>]) -> f64 {
        self.steps(spans) as f64 * self.specification.order.stages() as f64
    }
}

/// Computes encounters on the engine that `options` select. With [`Backend::Auto`](trisolar_run::Backend::Auto), GPUs that cannot be used
/// are skipped, and if all GPUs fail the CPU integrates the remaining runs. The notes mention both.
///
/// # Errors
/// See [`Engine::integrate`](super::Engine::integrate).
pub fn run(
    spec: &Validated,
    options: &Options,
    monitor: &dyn Monitor,
) -> Result<Ensemble, EngineError> {
    run_on(&Devices, spec, &options.checked()?, monitor)
}

/// Computes encounters in memory, as [`run`] does here.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    executor: &dyn Executor,
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Ensemble, EngineError> {
    let (records, streamed) = in_memory(spec, |task| executor.stream(task, options, monitor))?;
    Ok(Ensemble {
        specification: spec.specification().clone(),
        records: records.into(),
        streamed,
    })
}
