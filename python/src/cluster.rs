//! Star clusters by Hermite integration, as an iterator of snapshots.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use trisolar::accuracy::{EnergyError, no_energy};
use trisolar::bodies::Bodies;
use trisolar::divergence::EngineError;
use trisolar::hermite::{
    self, BlockStep, Cluster, HermiteError, Options, Overrides, OverridesError, RunError, Snapshot,
    StepCheck, Times, Validated, bodies_of,
};
use trisolar::spec::Parameters as _;

use crate::array::{self, Array, Part};
use crate::nbody::EnergyReport;
use crate::stream::{EndedEarly, ResultSender, Stream};
use crate::{errors, values};

/// A validated run that has not started.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct ClusterProblem {
    start: Arc<Validated>,
    overrides: Overrides,
}

/// Masses, positions and velocities as bytes of f64.
type Arrays<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

#[pymethods]
impl ClusterProblem {
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
            let mut under: Overrides = values::parsed(text, file)?;
            if bodies.is_some() {
                under = under.without_start();
            }
            overrides = overrides.merged_over(under);
        }
        let bodies = bodies
            .as_ref()
            .map(|(mass, position, velocity)| array::bodies([mass, position, velocity], 3));
        let (carried, _) = values::carried(told)?;
        let started = overrides.start_with(bodies, carried);
        let (start, overrides) = started.map_err(|error| match error {
            OverridesError::File(error) => errors::bodies_file(&error),
            error => errors::bad_input(&error),
        })?;
        Ok(Self {
            start: Arc::new(start),
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
        self.start.warnings().to_vec()
    }

    /// Starts the run: its states are those at time 0, at every multiple of `every`, and at `end`.
    #[pyo3(signature = (backend="auto", threads=None, simd=None, gpus=None, block_step="auto"))]
    fn run(
        &self,
        py: Python<'_>,
        backend: &str,
        threads: Option<i64>,
        simd: Option<&str>,
        gpus: Option<i64>,
        block_step: &str,
    ) -> PyResult<ClusterRun> {
        let options = Options {
            backend: values::backend(backend)?,
            threads: values::threads(threads)?,
            simd: values::simd(simd)?,
            gpus: gpus.map(values::gpu_count).transpose()?,
            block_step: values::option(block_step, "--block-step", str::parse::<BlockStep>)?,
            duration: None,
        };
        options
            .check(self.overrides.scheme)
            .map_err(|e| errors::value(&e.given, e.option, &e.allowed))?;
        let start = Arc::clone(&self.start);
        let times = self.overrides.times_from(start.specification().start_time);
        let Times { end, every } = times.map_err(|e| errors::bad_input(&e))?;
        let options = Options {
            duration: Some(end),
            ..options
        };
        let most = self.overrides.max_error;
        let accuracy = Arc::new(Mutex::default());
        let found: Arc<Mutex<EnergyReport>> = Arc::clone(&accuracy);
        let stream = Stream::new(move |sink| {
            let specification = start.specification();
            let devices = options
                .open(specification, start.bodies().len())
                .map_err(errors::engine)?;
            let engine = devices.engine().map_err(failed)?;
            let by = devices.block_steps(engine.as_ref(), specification);
            let opened = Opened {
                engine: engine.name(),
                device: engine.device(),
                block_steps: by.name(),
                notes: [start.notes(), devices.notes()].concat(),
            };
            sink.give(Message::Opened(opened))?;
            let mut cluster = Cluster::new(&start, engine).map_err(failed)?;
            cluster.set_block_steps(by).map_err(failed)?;
            compute(&mut cluster, [every, end], most, &found, sink)
        })?;
        match stream.next(py, None)? {
            Some(Message::Opened(opened)) => Ok(ClusterRun {
                stream,
                opened,
                accuracy,
                told: hermite::files::told(self.start.specification())
                    .to_string()
                    .into(),
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
    State(ComputedState),
}

/// The opened engine.
struct Opened {
    engine: &'static str,
    device: String,
    block_steps: &'static str,
    notes: Vec<String>,
}

/// A snapshot, its particles as arrays.
struct ComputedState {
    snapshot: Snapshot,
    bodies: Bodies,
}

fn compute(
    cluster: &mut Cluster<'_>,
    [every, end]: [f64; 2],
    most: Option<f64>,
    found: &Mutex<EnergyReport>,
    sink: &ResultSender<'_, Message>,
) -> Result<(), EndedEarly> {
    let start = bodies_of(cluster.stars());
    let mut error: Option<EnergyError> = None;
    let specification = cluster.specification().clone();
    let mut observe = |mut snapshot: Snapshot| -> Result<(), EndedEarly> {
        let stars = std::mem::take(&mut snapshot.stars);
        let bodies = specification.bodies_of(&stars);
        let (total, time) = (snapshot.energy.total(), snapshot.time);
        if !total.is_finite() {
            let said = no_energy(&format!("time {time}"), total, &bodies);
            return Err(PyRuntimeError::new_err(said).into());
        }
        let error = error.get_or_insert(EnergyError::new(snapshot.energy));
        error.look(snapshot.energy.internal);
        *found.lock().unwrap_or_else(PoisonError::into_inner) = EnergyReport {
            errors: Some([error.last(), error.largest()]),
            warnings: error.warning(ADVICE).into_iter().collect(),
        };
        sink.give(Message::State(ComputedState { snapshot, bodies }))?;
        let checked = error.check(most);
        checked.map_err(|said| PyRuntimeError::new_err(said).into())
    };
    let mut check = StepCheck::of(
        cluster.specification(),
        &start,
        [cluster.time(), end],
        None,
        None,
    );
    let monitor = sink.monitor();
    let run = hermite::integrate(cluster, every, end, check.as_mut(), monitor, &mut observe);
    run.map_err(|error| match error {
        RunError::Observer(ended) => ended,
        RunError::Hermite(HermiteError::Engine(EngineError::Cancelled)) => EndedEarly::Unwanted,
        RunError::Hermite(error) => failed(error).into(),
    })?;
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    found.warnings.extend(cluster.abrupt_warning(ADVICE));
    let Some(displacement) = check.and_then(|check| check.largest()) else {
        return Ok(());
    };
    let names = cluster.specification().names.as_deref();
    found.warnings.extend(displacement.warning(names, ADVICE));
    let checked = displacement.check(most, names);
    checked.map_err(|said| PyRuntimeError::new_err(said).into())
}

/// What helps against large errors.
const ADVICE: &str = "use a smaller eta or a larger softening";

fn failed(error: HermiteError) -> PyErr {
    match error {
        HermiteError::Engine(error) => errors::engine(error),
        error => PyRuntimeError::new_err(error.to_string()),
    }
}

/// A running integration.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct ClusterRun {
    stream: Stream<Message>,
    opened: Opened,
    accuracy: Arc<Mutex<EnergyReport>>,
    /// The other values of the particles, as JSON.
    told: Arc<str>,
}

impl ClusterRun {
    fn accuracy(&self) -> EnergyReport {
        let known = self.accuracy.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[pymethods]
impl ClusterRun {
    /// The next state; `None` after the last.
    #[pyo3(signature = (progress=None))]
    fn next(
        &self,
        py: Python<'_>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Option<ClusterState>> {
        let Some(Message::State(ComputedState { snapshot, bodies })) =
            self.stream.next(py, progress.as_ref())?
        else {
            return Ok(None);
        };
        Ok(Some(ClusterState {
            snapshot,
            bodies: Arc::new(bodies),
            told: Arc::clone(&self.told),
        }))
    }

    /// Ends the run.
    fn close(&self) {
        self.stream.close();
    }

    /// The relative error of the energy at the last state computed and the largest, once they are known.
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

    /// Whether `host` or `device` performs block steps.
    #[getter]
    fn block_steps(&self) -> &'static str {
        self.opened.block_steps
    }

    /// Notes for the user.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.opened.notes.clone()
    }
}

/// The particles at one time.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct ClusterState {
    snapshot: Snapshot,
    bodies: Arc<Bodies>,
    told: Arc<str>,
}

#[pymethods]
impl ClusterState {
    /// The other values of the particles, as JSON, and the time, for another run.
    #[getter]
    fn told(&self) -> values::Told {
        (Some(self.told.to_string()), Some(self.snapshot.time))
    }

    /// The time of the state.
    #[getter]
    fn time(&self) -> f64 {
        self.snapshot.time
    }

    /// n masses.
    #[getter]
    fn mass(&self) -> Array {
        Array::of(&self.bodies, Part::Mass)
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

    /// Kinetic energy.
    #[getter]
    fn kinetic(&self) -> f64 {
        self.snapshot.energy.kinetic
    }

    /// Potential energy, softened.
    #[getter]
    fn potential(&self) -> f64 {
        self.snapshot.energy.potential
    }

    /// The energy without the motion of the centre of mass.
    #[getter]
    fn internal(&self) -> f64 {
        self.snapshot.energy.internal
    }

    /// Block steps so far.
    #[getter]
    fn blocks(&self) -> u64 {
        self.snapshot.blocks
    }

    /// Steps of particles so far.
    #[getter]
    fn steps(&self) -> u64 {
        self.snapshot.steps
    }

    /// The density centre.
    #[getter]
    fn centre(&self) -> Array {
        Array::numbers(self.snapshot.shape.centre.to_array().into())
    }

    /// The core radius.
    #[getter]
    fn core_radius(&self) -> f64 {
        self.snapshot.shape.core_radius
    }

    /// Radii that hold [`lagrange_fractions`] of the mass.
    #[getter]
    fn lagrange_radii(&self) -> Array {
        Array::numbers(self.snapshot.shape.lagrange.to_vec())
    }

    /// If close pairs are regularised, the number of binaries, and semi-major axis and eccentricity of the most strongly bound one.
    #[getter]
    fn binaries(&self) -> Option<(usize, Option<(f64, f64)>)> {
        let found = self.snapshot.binaries?;
        Some((found.number, found.hardest))
    }
}

/// The fractions of the mass whose radii a state has.
#[pyfunction]
pub(crate) fn lagrange_fractions() -> Vec<f64> {
    hermite::SHAPE_FRACTIONS.to_vec()
}
