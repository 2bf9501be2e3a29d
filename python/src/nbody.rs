//! All-pairs N-body runs, as an iterator of states.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use trisolar::accuracy::{self, Energies, EnergyError};
use trisolar::divergence::EngineError;
use trisolar::nbody::{
    self, Bodies, Diagnostics, EnergyLooks, Options, Overrides, OverridesError, RunError, Snapshot,
    StepCheck, Validated,
};
use trisolar::spec::Parameters as _;

use crate::array::{self, Array, Part};
use crate::stream::{EndedEarly, ResultSender, Stream};
use crate::{errors, values};

/// Largest number of steps between two states.
const MAX_STEPS_BETWEEN_STATES: i64 = 1 << 53;

/// A validated run that has not started.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct NbodyProblem {
    problem: Arc<Validated>,
    overrides: Overrides,
}

/// Masses, positions and velocities as bytes of f64, and the number of coordinates of a position.
type Arrays<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    u8,
);

#[pymethods]
impl NbodyProblem {
    /// The values of options override those of TOML text, which override the defaults; `bodies` replace a start.
    #[new]
    #[pyo3(signature = (options, toml=None, file=None, bodies=None, told=None))]
    fn new(
        options: &Bound<'_, PyDict>,
        toml: Option<&str>,
        file: Option<&str>,
        bodies: Option<Arrays<'_>>,
        told: Option<values::Told>,
    ) -> PyResult<Self> {
        let mut overrides: Overrides = values::typed(values::table(options)?)?;
        if let Some(text) = toml {
            let under: Overrides = values::parsed(text, file)?;
            overrides = overrides.merged_over(if bodies.is_some() {
                under.without_start()
            } else {
                under
            });
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
            problem: Arc::new(problem),
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
        self.problem.warnings().to_vec()
    }

    /// Starts the run: its states are those at the start, after every multiple of `every` steps, and after the last.
    #[pyo3(signature = (every, backend, threads, simd, schedule, partials, device, gpus))]
    #[allow(clippy::too_many_arguments, reason = "keywords of the command line")]
    fn run(
        &self,
        py: Python<'_>,
        every: Option<i64>,
        backend: &str,
        threads: Option<i64>,
        simd: Option<&str>,
        schedule: &str,
        partials: &str,
        device: Option<i64>,
        gpus: Option<i64>,
    ) -> PyResult<NbodyRun> {
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
        let problem = Arc::clone(&self.problem);
        let watched = Watched {
            looks: self.overrides.energy.unwrap_or_default(),
            most: self.overrides.max_error,
        };
        let accuracy = Arc::new(Mutex::default());
        let found = Arc::clone(&accuracy);
        let stream =
            Stream::new(move |sink| compute(&problem, every, &options, watched, &found, sink))?;
        match stream.next(py, None)? {
            Some(Message::Opened(opened)) => Ok(NbodyRun {
                stream,
                opened,
                accuracy,
                problem: Arc::clone(&self.problem),
                mass: Mutex::default(),
            }),
            _ => Err(PyRuntimeError::new_err(
                "internal error: no engine was opened",
            )),
        }
    }
}

/// The messages of the run's thread.
enum Message {
    Opened(Opened),
    State(Snapshot),
}

/// The opened engine.
struct Opened {
    engine: &'static str,
    device: String,
    notes: Vec<String>,
}

/// The energy error of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct EnergyReport {
    /// The error at the end, and the largest.
    pub errors: Option<[f64; 2]>,
    /// The warnings about the accuracy of the run.
    pub warnings: Vec<String>,
}

/// What helps against large errors.
const ADVICE: &str = "use a smaller dt, a larger softening or another integrator";

/// How the energy of a run is evaluated.
#[derive(Clone, Copy)]
struct Watched {
    looks: EnergyLooks,
    most: Option<f64>,
}

fn compute(
    problem: &Validated,
    every: Option<u64>,
    options: &Options,
    watched: Watched,
    found: &Mutex<EnergyReport>,
    sink: &ResultSender<'_, Message>,
) -> Result<(), EndedEarly> {
    let (engine, notes) = nbody::engine(problem, options).map_err(errors::engine)?;
    sink.give(Message::Opened(Opened {
        engine: engine.name(),
        device: engine.device(),
        notes: [problem.notes(), &notes[..]].concat(),
    }))?;
    let start = Snapshot {
        step: 0,
        time: problem.specification().time(0),
        bodies: problem.bodies().clone(),
    };
    let engine = engine.as_ref();
    let spec = problem.specification();
    let evaluated = |state: &Snapshot| -> Result<Energies, EndedEarly> {
        let found = accuracy::energies(&state.bodies, spec, engine, options.threads, options.simd);
        let energies = found.map_err(errors::engine)?;
        if energies.total().is_finite() {
            return Ok(energies);
        }
        let when = format!("step {} (time {})", state.step, state.time);
        let said = accuracy::no_energy(&when, energies.total(), &state.bodies);
        Err(PyRuntimeError::new_err(said).into())
    };
    let known = watched.looks == EnergyLooks::Ends;
    let mut error = match known {
        true => Some(EnergyError::new(evaluated(&start)?)),
        false => None,
    };
    sink.give(Message::State(start.clone()))?;
    let every = every.unwrap_or(spec.steps);
    let mut observe = |state: Snapshot| -> Result<(), EndedEarly> {
        let end = state.step == spec.steps;
        let mut checked = Ok(());
        if let Some(error) = error.as_mut().filter(|_| end) {
            error.look(evaluated(&state)?.internal);
            *found.lock().unwrap_or_else(PoisonError::into_inner) = EnergyReport {
                errors: Some([error.last(), error.largest()]),
                warnings: error.warning(ADVICE).into_iter().collect(),
            };
            checked = error.check(watched.most);
        }
        sink.give(Message::State(state))?;
        checked.map_err(|said| PyRuntimeError::new_err(said).into())
    };
    let mut check = known.then(|| StepCheck::of(problem, 0)).flatten();
    let outcome = nbody::integrate_with_pauses(
        engine,
        problem,
        (&start, None),
        [every, u64::MAX, u64::MAX],
        check.as_mut(),
        sink.monitor(),
        &mut |state, _, _| observe(state),
    );
    outcome.map_err(|error| match error {
        RunError::Observer(ended) => ended,
        RunError::Engine(EngineError::Cancelled) => EndedEarly::Unwanted,
        RunError::Engine(error) => EndedEarly::Failed(errors::engine(error)),
        RunError::NotFinite(lost) => EndedEarly::Failed(PyRuntimeError::new_err(lost.to_string())),
    })?;
    let Some(displacement) = check.and_then(|check| check.largest()) else {
        return Ok(());
    };
    let names = spec.names.as_deref();
    let warning = displacement.warning(names, ADVICE);
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    found.warnings.extend(warning);
    let checked = displacement.check(watched.most, names);
    checked.map_err(|said| PyRuntimeError::new_err(said).into())
}

/// A running integration.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct NbodyRun {
    stream: Stream<Message>,
    opened: Opened,
    accuracy: Arc<Mutex<EnergyReport>>,
    problem: Arc<Validated>,
    /// The array of masses, the same for all states.
    mass: Mutex<Option<Py<Array>>>,
}

impl NbodyRun {
    fn accuracy(&self) -> EnergyReport {
        let known = self.accuracy.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[pymethods]
impl NbodyRun {
    /// The next state; `None` after the last.
    #[pyo3(signature = (progress=None))]
    fn next(
        &self,
        py: Python<'_>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Option<NbodyState>> {
        let Some(Message::State(state)) = self.stream.next(py, progress.as_ref())? else {
            return Ok(None);
        };
        let Snapshot { step, time, bodies } = state;
        let bodies = Arc::new(bodies);
        let mut mass = self.mass.lock().unwrap_or_else(PoisonError::into_inner);
        if mass.is_none() {
            *mass = Some(Py::new(py, Array::of(&bodies, Part::Mass))?);
        }
        let mass = mass.as_ref().expect("set above").clone_ref(py);
        Ok(Some(NbodyState {
            step,
            time,
            bodies,
            mass,
            problem: Arc::clone(&self.problem),
        }))
    }

    /// Ends the run.
    fn close(&self) {
        self.stream.close();
    }

    /// The relative error of the energy at the end and the largest, once they are known.
    #[getter]
    fn energy_errors(&self) -> Option<[f64; 2]> {
        self.accuracy().errors
    }

    /// The warnings about the accuracy of the run.
    #[getter]
    fn accuracy_warnings(&self) -> Vec<String> {
        self.accuracy().warnings
    }

    /// `cpu` or `gpu`.
    #[getter]
    fn engine(&self) -> &'static str {
        self.opened.engine
    }

    /// The device in words.
    #[getter]
    fn device(&self) -> &str {
        &self.opened.device
    }

    /// Notes about the selection of the engine.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.opened.notes.clone()
    }
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
