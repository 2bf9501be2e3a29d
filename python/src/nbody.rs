//! All-pairs N-body runs, as an iterator of states.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trisolar::accuracy::{self, Energies};
use trisolar::nbody::files::Moment;
use trisolar::nbody::{
    self, Bodies, Diagnostics, EnergyLooks, NbodyRun, Options, Overrides, OverridesError,
    PreparedNbody, Snapshot, Validated, Watch,
};
use trisolar::time_run::Files;

use crate::array::{self, Array, Part};
use crate::stream::{EndedEarly, ResultSender};
use crate::time_run::{self, Arrays, EnergyReport, Message, Opened, Running, Source};
use crate::{errors, values};

/// Largest number of steps between two states.
const MAX_STEPS_BETWEEN_STATES: i64 = 1 << 53;

/// A validated run that has not started.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct NbodyProblem {
    source: Source<Box<Validated>, Box<Overrides>>,
    overrides: Overrides,
}

#[pymethods]
impl NbodyProblem {
    /// The values of options override those of TOML text, which override the defaults; `bodies` replace a start. The run of a checkpoint
    /// to `resume` has values of its own.
    #[new]
    #[pyo3(signature = (options, toml=None, file=None, bodies=None, told=None, resume=None))]
    fn new(
        options: &Bound<'_, PyDict>,
        toml: Option<&str>,
        file: Option<&str>,
        bodies: Option<Arrays<'_>>,
        told: Option<values::Told>,
        resume: Option<PathBuf>,
    ) -> PyResult<Self> {
        let without_start = bodies
            .as_ref()
            .map(|_| Overrides::without_start as fn(_) -> _);
        let overrides: Overrides = time_run::merged(options, (toml, file), without_start)?;
        if let Some((path, asked)) = time_run::resumed(resume, &overrides)? {
            let of_run = PreparedNbody::options(&path).map_err(errors::time_run)?;
            return Ok(Self {
                source: Source::Checkpoint(path, asked),
                overrides: of_run.overrides,
            });
        }
        if overrides.compared().is_some() {
            let reason = "--integrator: compare_integrators integrates one start by several";
            return Err(errors::bad_input(&reason));
        }
        let (problem, overrides) = match bodies {
            None => overrides.problem(),
            Some(arrays) => {
                let (mass, position, velocity, columns) = arrays;
                let bodies = array::bodies([&mass, &position, &velocity], columns);
                let (carried, dimensions) = values::carried(told)?;
                let dimensions = dimensions.unwrap_or(columns).min(columns);
                overrides.problem_of(bodies, dimensions, carried)
            }
        }
        .map_err(|error| match error {
            OverridesError::File(error) => errors::bodies_file(&error),
            error => errors::bad_input(&error),
        })?;
        Ok(Self {
            source: Source::Start(Box::new(problem)),
            overrides,
        })
    }

    /// Every value, as JSON.
    #[getter]
    fn json(&self) -> PyResult<String> {
        values::json(&self.overrides)
    }

    /// Every value, as TOML.
    #[getter]
    fn toml(&self) -> PyResult<String> {
        values::toml(&self.overrides)
    }

    /// Warnings before the run.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        match &self.source {
            Source::Start(problem) => problem.warnings().to_vec(),
            Source::Checkpoint(..) => Vec::new(),
        }
    }

    /// Starts the run: its states are those at the start, after every multiple of `every` steps, and after the last; those of a resumed
    /// run are those that it has not recorded yet.
    #[pyo3(signature = (files, every, backend, threads, simd, schedule, partials, device, gpus))]
    #[allow(clippy::too_many_arguments, reason = "keywords of the command line")]
    fn run(
        &self,
        py: Python<'_>,
        files: &Bound<'_, PyDict>,
        every: Option<i64>,
        backend: &str,
        threads: Option<i64>,
        simd: Option<&str>,
        schedule: &str,
        partials: &str,
        device: Option<i64>,
        gpus: Option<i64>,
    ) -> PyResult<Running> {
        let every = every.map(|n| match n {
            1..=MAX_STEPS_BETWEEN_STATES => Ok(n as u64),
            _ => {
                let allowed = "must be a whole number from 1 to 9007199254740992 (2^53)";
                Err(errors::value(&n.to_string(), "--every", allowed))
            }
        });
        let every = every.transpose()?;
        let number = |device: i64| {
            let allowed = "must be a whole number from 0 to 4294967295";
            u32::try_from(device)
                .map_err(|_| errors::value(&device.to_string(), "--device", allowed))
        };
        let options = Options {
            backend: values::backend(backend)?,
            threads: values::threads(threads)?,
            simd: values::simd(simd)?,
            schedule: values::option(schedule, "--schedule", str::parse)?,
            partials: values::option(partials, "--partials", str::parse)?,
            device: device.map(number).transpose()?,
            gpus: gpus.map(values::gpu_count).transpose()?,
        };
        let overrides = self.overrides.clone();
        let prepared = match &self.source {
            Source::Start(problem) => {
                let problem = Validated::clone(problem);
                let files = time_run::files(files)?;
                PreparedNbody::new(files, every, &[], || Ok((problem, overrides))).map(
                    |mut prepared| {
                        prepared.bits.partials = options.partials;
                        prepared
                    },
                )
            }
            Source::Checkpoint(path, asked) => {
                time_run::only_extends(every.map(|_| "every"))?;
                PreparedNbody::resume(path, asked)
            }
        };
        let prepared = prepared.map_err(errors::time_run)?;
        let options = prepared.bits.over(options);
        Running::start(py, move |sink, found| {
            compute(prepared, &options, found, sink)
        })
    }
}

/// What helps against large errors.
const ADVICE: &str = "use a smaller dt, a larger softening or another integrator";

fn compute(
    mut prepared: PreparedNbody,
    options: &Options,
    found: &Mutex<EnergyReport>,
    sink: &ResultSender<'_, Message>,
) -> Result<(), EndedEarly> {
    let problem = Arc::new(prepared.problem.clone());
    let (engine, of_engine) = nbody::engine(&problem, options).map_err(errors::engine)?;
    let engine = engine.as_ref();
    let looks = prepared.overrides.energy.unwrap_or_default();
    prepared.checks_steps = looks == EnergyLooks::Ends;
    let most = prepared.overrides.max_error;
    let energies = |bodies: &Bodies| {
        let (threads, simd) = (options.threads, options.simd);
        accuracy::energies(bodies, problem.specification(), engine, threads, simd)
    };
    let watch = Watch {
        energies: &energies,
        reports_energy: true,
        reports_diagnostics: false,
        is_live: false,
        monitor: sink.monitor(),
    };
    let started = prepared.start(engine, options, watch);
    let (recorder, notes) = started.map_err(errors::time_run)?;
    sink.give(Message::Opened(Opened {
        engine: engine.name(),
        device: engine.device(),
        block_steps: None,
        notes: [problem.notes(), &notes, &of_engine].concat(),
        has_files: recorder.files != Files::default(),
    }))?;
    let state = |_: &NbodyRun<'_>, state: &Snapshot, _: Option<&Moment>| {
        let (state, problem) = (state.clone(), Arc::clone(&problem));
        let make = move |py: Python<'_>| {
            let bodies = Arc::new(state.bodies);
            let state = NbodyState {
                step: state.step,
                time: state.time,
                mass: Py::new(py, Array::of(&bodies, Part::Mass))?,
                bodies,
                problem,
            };
            Ok(Py::new(py, state)?.into_any())
        };
        Box::new(make) as time_run::MakeState
    };
    time_run::compute(recorder, (most, ADVICE), found, sink, state)
}

/// The bodies after some steps.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct NbodyState {
    /// Steps taken.
    #[pyo3(get)]
    step: u64,
    /// `step` · `dt`.
    #[pyo3(get)]
    time: f64,
    bodies: Arc<Bodies>,
    /// n masses.
    #[pyo3(get)]
    mass: Py<Array>,
    problem: Arc<Validated>,
}

#[pymethods]
impl NbodyState {
    /// The other values of the bodies, as JSON, and the time, for another run.
    #[getter]
    fn told(&self) -> PyResult<values::Told> {
        let json = values::json(self.problem.specification())?;
        Ok((Some(json), Some(self.time)))
    }

    /// n x 3.
    #[getter]
    fn position(&self) -> Array {
        Array::of(&self.bodies, Part::Position)
    }

    /// n x 3.
    #[getter]
    fn velocity(&self) -> Array {
        Array::of(&self.bodies, Part::Velocity)
    }
}

/// The relative error of an internal energy in a run that started with these kinetic, potential and internal energies.
#[pyfunction]
pub(crate) fn energy_error(start: (f64, f64, f64), internal: f64) -> f64 {
    let (kinetic, potential, of_start) = start;
    let start = Energies {
        kinetic,
        potential,
        internal: of_start,
    };
    start.relative_error(internal)
}

/// The diagnostics of bodies, as JSON.
#[pyfunction]
pub(crate) fn nbody_diagnostics(
    py: Python<'_>,
    bodies: Arrays<'_>,
    g: f64,
    softening: f64,
) -> PyResult<String> {
    let (mass, position, velocity, columns) = bodies;
    let bodies = array::bodies([&mass, &position, &velocity], columns);
    values::json(&py.detach(|| Diagnostics::of(&bodies, g, softening)))
}
