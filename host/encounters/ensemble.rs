//! Integrated encounters, and the ensemble that they are.

use std::ops::Range;

use kernels_gpu::encounters::Record;

use super::store::EncounterContents;
use super::{DeviceEngine, Devices, Executor, Specification, Task, Validated, cpu};
use trisolar_bodies::Points;
use trisolar_ensemble::{Computed, Ensemble, Report};
use trisolar_run::queue::Share;
use trisolar_run::{EngineError, Monitor, RunOptions, Workers};
use trisolar_spec::SpecError;

/// The records of an ensemble, one for each run, in the order of the runs.
pub type Records = trisolar_ensemble::Records<Record>;

/// Integrated encounters.
#[derive(Clone, Debug)]
pub struct Encounters {
    /// Their specification.
    pub specification: Specification,
    /// One record for each run, in the order of the runs.
    pub records: Records,
    /// How they were integrated.
    pub report: Report,
}

impl Encounters {
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

impl Ensemble for Validated {
    // For fewer runs a GPU is not worth the seconds that it takes to open it and compile the kernel.
    const AUTO_GPU_ITEMS: u64 = 20_000;

    type Contents = EncounterContents;
    type Gpu = DeviceEngine;
    trisolar_ensemble::plain_records!(Record);

    fn contents(&self) -> EncounterContents {
        EncounterContents::of(self)
    }

    fn of_contents(
        contents: &EncounterContents,
        points: impl FnOnce() -> Result<Points, SpecError>,
    ) -> Result<Self, SpecError> {
        let points = contents.has_points().then(points).transpose()?;
        contents.specification.validated(points.as_ref())
    }

    fn items(&self) -> u64 {
        self.runs()
    }

    fn on_lanes(task: &Task<'_>, workers: &Workers, share: Share<'_>) -> Result<(), EngineError> {
        cpu::on_lanes(task, workers, share)
    }

    fn note_on_gpus(&self, with_cpu: bool) -> Option<String> {
        let precision = self.specification().precision;
        let devices = if with_cpu {
            ", and from run to run on which runs the CPU integrates"
        } else {
            ""
        };
        (!precision.is_portable()).then(|| {
            format!(
                "with --precision {precision} the bits of the records depend on the kind of GPU{devices}; the statistics do not"
            )
        })
    }
}

/// Computes encounters on the engine that `options` select.
///
/// # Errors
/// See [`Executor::stream`], and [`EngineError::OutOfMemory`] if there is too little memory for the records.
pub fn run(
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Encounters, EngineError> {
    run_on(&Devices::new(), spec, options, monitor)
}

/// Computes encounters in memory on these devices, as [`run`] does.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    executor: &dyn Executor<Validated>,
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Encounters, EngineError> {
    let Computed { values, report } = trisolar_ensemble::compute(executor, spec, options, monitor)?;
    Ok(Encounters {
        specification: spec.specification().clone(),
        records: values.into(),
        report,
    })
}
