//! Integrated encounters, and the ensemble that they are.

use std::ops::Range;

use kernels_gpu::encounters::Record;

use super::outcome::class;
use super::store::EncounterContents;
use super::{Certificate, DeviceEngine, Devices, Executor, Specification, Task, Validated, cpu};
use trisolar_bodies::Points;
use trisolar_ensemble::{Computed, Ensemble, Repeat, Repeated, Report, StepCheck, beside, changes};
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
    /// How many outcomes of a sample change with twice the steps, if it was determined.
    pub step_check: Option<StepCheck>,
    /// The verdicts on their outcomes, if they were determined.
    pub certificate: Option<Certificate>,
}

impl Encounters {
    /// Determines the verdict on every outcome: see [`Certificate::of`].
    ///
    /// # Errors
    /// As [`Certificate::of`].
    pub fn certify(
        &mut self,
        executor: &dyn Executor<Validated>,
        spec: &Validated,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<(), EngineError> {
        let found = Certificate::of(executor, spec, &self.records, options, monitor)?;
        if let Some((certificate, step_check)) = found {
            (self.certificate, self.step_check) = (Some(certificate), Some(step_check));
        }
        Ok(())
    }

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
    let repeat = with_twice_the_steps(spec);
    let again = || {
        repeat
            .map(|r| r.compute(options, monitor, <[Record]>::to_vec))
            .transpose()
    };
    let compute = || trisolar_ensemble::compute(executor, spec, options, monitor);
    let (computed, again) = beside(executor, spec, options, again, compute)?;
    let Computed { values, report } = computed;
    let step_check = again.map(|again| step_check(&values, &again));
    Ok(Encounters {
        specification: spec.specification().clone(),
        records: values.into(),
        report,
        step_check,
        certificate: None,
    })
}

/// The largest sample of runs that are integrated again.
const CHECKED: u64 = 256;
/// Of this many runs one is integrated again, in twice the steps: a tenth of the time.
const RUNS_PER_CHECK: u64 = 20;

/// A sample of these runs, which depends on their number alone, with twice the steps. `None` if there are fewer than 20 runs, or twice the
/// steps are too many.
pub fn with_twice_the_steps(spec: &Validated) -> Option<Repeat<Validated>> {
    let most = CHECKED.min(spec.runs() / RUNS_PER_CHECK);
    let finer = spec.with_steps_times(2.0).filter(|_| most > 0)?;
    Some(Repeat::new(finer, spec.runs(), most))
}

/// How many of these runs have another outcome, or another body that escapes, with twice the steps.
pub fn step_check(records: &[Record], again: &Repeated<Record>) -> StepCheck {
    changes(again, |item, again| {
        class(&records[item as usize]) == class(again)
    })
}
