//! Star clusters by Hermite integration, as an iterator of states.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trisolar::bodies::Bodies;
use trisolar::hermite::{
    self, BlockStep, CheckOptions, ClusterRun, Line, Options, Overrides, OverridesError,
    PreparedCluster, Star, Validated,
};
use trisolar::time_run::Files;

use crate::array::{self, Array, Part};
use crate::stream::{EndedEarly, ResultSender};
use crate::time_run::{self, Arrays, EnergyReport, Message, Opened, Running, Source};
use crate::{errors, values};

/// A validated run that has not started.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct ClusterProblem {
    source: Source<Box<Validated>, Box<Overrides>>,
    overrides: Overrides,
}

#[pymethods]
impl ClusterProblem {
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
            let (of_run, _) = PreparedCluster::options(&path).map_err(errors::time_run)?;
            return Ok(Self {
                source: Source::Checkpoint(path, asked),
                overrides: of_run,
            });
        }
        let bodies = bodies
            .as_ref()
            .map(|(mass, position, velocity, _)| array::bodies([mass, position, velocity], 3));
        let (carried, _) = values::carried(told)?;
        let started = overrides.start_with(bodies, carried);
        let (start, overrides) = started.map_err(|error| match error {
            OverridesError::File(error) => errors::bodies_file(&error),
            error => errors::bad_input(&error),
        })?;
        Ok(Self {
            source: Source::Start(Box::new(start)),
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
            Source::Start(start) => start.warnings().to_vec(),
            Source::Checkpoint(..) => Vec::new(),
        }
    }

    /// Starts the run: its states are those at time 0, at every multiple of `every`, and at `end`; those of a resumed run are those that
    /// it has not recorded yet.
    #[pyo3(signature = (files, backend="auto", threads=None, simd=None, gpus=None, block_step="auto"))]
    #[allow(clippy::too_many_arguments, reason = "keywords of the command line")]
    fn run(
        &self,
        py: Python<'_>,
        files: &Bound<'_, PyDict>,
        backend: &str,
        threads: Option<i64>,
        simd: Option<&str>,
        gpus: Option<i64>,
        block_step: &str,
    ) -> PyResult<Running> {
        let options = Options {
            backend: values::backend(backend)?,
            threads: values::threads(threads)?,
            simd: values::simd(simd)?,
            gpus: gpus.map(values::gpu_count).transpose()?,
            block_step: values::option(block_step, "--block-step", str::parse::<BlockStep>)?,
            duration: None,
        };
        let overrides = self.overrides.clone();
        let checked = options.check(overrides.scheme);
        checked.map_err(|e| errors::value(&e.given, e.option, &e.allowed))?;
        let prepared = match &self.source {
            Source::Start(start) => {
                let start = Validated::clone(start);
                PreparedCluster::new(time_run::files(files)?, &[], || Ok((start, overrides)))
            }
            Source::Checkpoint(path, asked) => PreparedCluster::resume(path, asked),
        };
        let prepared = prepared.map_err(errors::time_run)?;
        Running::start(py, move |sink, found| {
            compute(prepared, options, found, sink)
        })
    }
}

fn compute(
    prepared: PreparedCluster,
    options: Options,
    found: &std::sync::Mutex<EnergyReport>,
    sink: &ResultSender<'_, Message>,
) -> Result<(), EndedEarly> {
    let specification = prepared.specification().clone();
    let options = Options {
        duration: Some(prepared.times.end - prepared.time()),
        ..options
    };
    let devices = options.open(&specification, prepared.bodies().len());
    let devices = devices.map_err(errors::engine)?;
    let most = prepared.overrides.max_error;
    let check = Some(CheckOptions::default());
    let started = prepared.start(&devices, check, None, sink.monitor());
    let (recorder, notes) = started.map_err(errors::time_run)?;
    let cluster = &recorder.run.cluster;
    sink.give(Message::Opened(Opened {
        engine: cluster.engine().name(),
        device: cluster.engine().device(),
        block_steps: Some(cluster.block_steps().name()),
        notes,
        has_files: recorder.files != Files::default(),
    }))?;
    let told: Arc<str> = hermite::files::told(&specification).to_string().into();
    let state = move |_: &ClusterRun<'_>, stars: &Vec<Star>, line: Option<&Line>| {
        let state = ClusterState {
            line: line.cloned().unwrap_or_default(),
            bodies: Arc::new(specification.bodies_of(stars)),
            told: Arc::clone(&told),
        };
        let make = move |py: Python<'_>| Ok(Py::new(py, state)?.into_any());
        Box::new(make) as time_run::MakeState
    };
    time_run::compute(recorder, (most, ADVICE), found, sink, state)
}

/// What helps against large errors.
const ADVICE: &str = "use a smaller eta or a larger softening";

/// The particles at one time.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct ClusterState {
    line: Line,
    bodies: Arc<Bodies>,
    told: Arc<str>,
}

#[pymethods]
impl ClusterState {
    /// The other values of the particles, as JSON, and the time, for another run.
    #[getter]
    fn told(&self) -> values::Told {
        (Some(self.told.to_string()), Some(self.line.time))
    }

    /// The time of the state.
    #[getter]
    fn time(&self) -> f64 {
        self.line.time
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
        self.line.kinetic
    }

    /// Potential energy, softened.
    #[getter]
    fn potential(&self) -> f64 {
        self.line.potential
    }

    /// The energy without the motion of the centre of mass.
    #[getter]
    fn internal(&self) -> f64 {
        self.line.internal
    }

    /// Block steps so far.
    #[getter]
    fn blocks(&self) -> u64 {
        self.line.blocks
    }

    /// Steps of particles so far.
    #[getter]
    fn steps(&self) -> u64 {
        self.line.steps
    }

    /// The density centre.
    #[getter]
    fn centre(&self) -> Array {
        Array::numbers(self.line.centre.to_array().into())
    }

    /// The core radius.
    #[getter]
    fn core_radius(&self) -> f64 {
        self.line.core_radius
    }

    /// Radii that hold [`lagrange_fractions`] of the mass.
    #[getter]
    fn lagrange_radii(&self) -> Array {
        Array::numbers(self.line.lagrange.to_vec())
    }

    /// If close pairs are regularised, the number of binaries, and semi-major axis and eccentricity of the most strongly bound one.
    #[getter]
    fn binaries(&self) -> Option<(usize, Option<(f64, f64)>)> {
        let found = self.line.binaries?;
        Some((found.number, found.hardest))
    }
}

/// The fractions of the mass whose radii a state has.
#[pyfunction]
pub(crate) fn lagrange_fractions() -> Vec<f64> {
    hermite::SHAPE_FRACTIONS.to_vec()
}
