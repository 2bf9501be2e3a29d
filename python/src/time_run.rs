//! Runs in time, N-body runs and clusters, as iterators of states that write files on the way.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use trisolar::divergence::EngineError;
use trisolar::io::npz::NpzReader;
use trisolar::spec::Parameters;
use trisolar::time_run::{Error, Files, Observer, Recorder, TimeRun};

use crate::stream::{EndedEarly, ResultSender, Stream};
use crate::{errors, values};

/// Masses, positions and velocities as bytes of f64, and the number of coordinates of a position.
pub(crate) type Arrays<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    u8,
);

/// The files of a run from their names.
pub(crate) fn files(named: &Bound<'_, PyDict>) -> PyResult<Files> {
    let path = |name: &str| -> PyResult<Option<PathBuf>> {
        let given = named.get_item(name)?;
        given.map(|path| path.extract()).transpose()
    };
    Ok(Files {
        series: path("series")?,
        snapshots: path("snapshots")?,
        checkpoint: path("checkpoint")?,
        ..Files::default()
    })
}

/// Refuses options that cannot be given with `resume`, by their names.
pub(crate) fn only_extends<'a>(given: impl IntoIterator<Item = &'a str>) -> PyResult<()> {
    let others = |name: &&str| !["end", "steps", "max_error"].contains(name);
    match given.into_iter().find(others) {
        None => Ok(()),
        Some(name) => {
            let allowed = "the run has all options with which it began; end, steps and max_error can be given with resume";
            Err(errors::bad_input(&format!("{name}: {allowed}")))
        }
    }
}

/// Makes a state of Python.
pub(crate) type MakeState = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// The messages of the run's thread.
pub(crate) enum Message {
    Opened(Opened),
    State(MakeState),
}

/// The opened engine.
pub(crate) struct Opened {
    pub engine: &'static str,
    pub device: String,
    /// Where block steps are performed, in a cluster.
    pub block_steps: Option<&'static str>,
    pub notes: Vec<String>,
    /// Whether it writes files.
    pub has_files: bool,
}

/// The energy error of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct EnergyReport {
    /// The error at the latest state, and the largest.
    errors: Option<[f64; 2]>,
    /// The warnings about the accuracy of the run.
    warnings: Vec<String>,
}

/// Sends the states of a run.
struct Sending<'a, F> {
    sink: &'a ResultSender<'a, Message>,
    found: &'a Mutex<EnergyReport>,
    end: f64,
    state: F,
}

impl<T, F> Observer<T> for Sending<'_, F>
where
    T: TimeRun,
    F: Fn(&T, &T::State, Option<&T::Row>) -> MakeState,
{
    fn recorded(
        &mut self,
        run: &mut T,
        time: f64,
        state: &T::State,
        row: Option<&T::Row>,
    ) -> Result<(), Error> {
        // Without a series, the energy is evaluated at the start and at the end.
        if row.is_some() || time >= self.end {
            let errors = run.energy_error().map(|e| [e.last(), e.largest()]);
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.errors = errors;
        }
        let sent = self
            .sink
            .give(Message::State((self.state)(run, state, row)));
        sent.map_err(|_| EngineError::Cancelled.into())
    }
}

/// Runs to the end in the run's thread; `advice` tells what helps against large errors, and `most` is the limit of errors.
pub(crate) fn compute<T: TimeRun>(
    mut recorder: Recorder<T>,
    (most, advice): (Option<f64>, &str),
    found: &Mutex<EnergyReport>,
    sink: &ResultSender<'_, Message>,
    state: impl Fn(&T, &T::State, Option<&T::Row>) -> MakeState,
) -> Result<(), EndedEarly> {
    let mut observer = Sending {
        sink,
        found,
        end: recorder.stops.end,
        state,
    };
    if let Err(error) = recorder.run(&mut observer) {
        let saved = recorder.end_early(&error, true, &observer);
        saved.map_err(errors::time_run)?;
        return Err(match error {
            Error::Engine(EngineError::Cancelled) => EndedEarly::Unwanted,
            error => errors::time_run(error).into(),
        });
    }
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    found.warnings = recorder.warnings(advice);
    Ok(recorder.check(most).map_err(errors::time_run)?)
}

/// A running integration.
#[pyclass(frozen, module = "trisolar._trisolar", name = "TimeRun")]
pub(crate) struct Running {
    stream: Stream<Message>,
    opened: Opened,
    found: Arc<Mutex<EnergyReport>>,
}

impl Running {
    /// Starts a run in a thread of its own.
    pub(crate) fn start(
        py: Python<'_>,
        run: impl FnOnce(&ResultSender<'_, Message>, &Mutex<EnergyReport>) -> Result<(), EndedEarly>
        + Send
        + 'static,
    ) -> PyResult<Self> {
        let found: Arc<Mutex<EnergyReport>> = Arc::default();
        let theirs = Arc::clone(&found);
        let stream = Stream::new(move |sink| run(sink, &theirs))?;
        match stream.next(py, None)? {
            Some(Message::Opened(opened)) => Ok(Self {
                stream,
                opened,
                found,
            }),
            _ => Err(PyRuntimeError::new_err(
                "internal error: no engine was opened",
            )),
        }
    }

    fn found(&self) -> EnergyReport {
        let known = self.found.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[pymethods]
impl Running {
    /// The next state; `None` after the last.
    #[pyo3(signature = (progress=None))]
    fn next(
        &self,
        py: Python<'_>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        match self.stream.next(py, progress.as_ref())? {
            Some(Message::State(make)) => make(py).map(Some),
            _ => Ok(None),
        }
    }

    /// Ends the run. Its files are then complete.
    fn close(&self, py: Python<'_>) {
        self.stream.close();
        if self.opened.has_files {
            py.detach(|| self.stream.join());
        }
    }

    /// The relative error of the energy at the latest state whose energy was evaluated and the largest, once they are known.
    #[getter]
    fn energy_errors(&self) -> Option<[f64; 2]> {
        self.found().errors
    }

    /// The warnings about the accuracy of the run.
    #[getter]
    fn accuracy_warnings(&self) -> Vec<String> {
        self.found().warnings
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

    /// Whether `host` or `device` performs the block steps of a cluster.
    #[getter]
    fn block_steps(&self) -> Option<&'static str> {
        self.opened.block_steps
    }

    /// Notes for the user.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.opened.notes.clone()
    }
}

/// What a run begins with: a start, or a checkpoint and what is asked of its run.
pub(crate) enum Source<S, O> {
    Start(S),
    Checkpoint(PathBuf, O),
}

/// What a checkpoint is asked for, if there is one.
pub(crate) fn resumed<O: Clone + Parameters>(
    resume: Option<PathBuf>,
    overrides: &O,
) -> PyResult<Option<(PathBuf, Box<O>)>> {
    let Some(path) = resume else {
        return Ok(None);
    };
    // The error is that of a file.
    NpzReader::open(&path).map_err(|error| errors::file(&error))?;
    let names = O::DECLARATIONS.iter().map(|declaration| declaration.name);
    only_extends(names.filter(|name| overrides.has(name)))?;
    Ok(Some((path, Box::new(overrides.clone()))))
}

/// The values that are given: those of options over those of TOML text, without its start if there are `bodies`.
pub(crate) fn merged<O>(
    options: &Bound<'_, PyDict>,
    (toml, file): (Option<&str>, Option<&str>),
    without_start: Option<fn(O) -> O>,
) -> PyResult<O>
where
    O: Parameters + serde::de::DeserializeOwned,
{
    let overrides: O = values::typed(values::table(options)?)?;
    let Some(text) = toml else {
        return Ok(overrides);
    };
    let under: O = values::parsed(text, file)?;
    Ok(overrides.merged_over(match without_start {
        Some(without_start) => without_start(under),
        None => under,
    }))
}
