//! Complete three-body encounters, whose records form one array.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use trisolar::bodies::Points;
use trisolar::encounters::files::{Format, REALS, WHOLES, parameter_columns};
use trisolar::encounters::pictures::Look;
use trisolar::encounters::summary::outcome_name;
use trisolar::encounters::{self, Devices, Encounters, Outcome, Overrides, Summary, Validated};
use trisolar::io::atomic::check_writable;
use trisolar::io::plot::Theme;
use trisolar::spec::Parameters as _;
use trisolar::zoom::{self, Frame, NamedBase, Number};

use crate::{errors, values, watch};

/// Validated encounters that have not been computed.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct EncountersProblem {
    valid: Arc<Validated>,
    overrides: Overrides,
}

#[pymethods]
impl EncountersProblem {
    /// The values of options override those of TOML text, which override the defaults. `points` are the shape and the values of an array.
    #[new]
    #[pyo3(signature = (options, toml=None, file=None, points=None))]
    fn new(
        options: &Bound<'_, PyDict>,
        toml: Option<&str>,
        file: Option<&str>,
        points: Option<(Vec<usize>, Bound<'_, PyBytes>)>,
    ) -> PyResult<Self> {
        let overrides = given(options, toml, file)?;
        let points = match points {
            None => None,
            Some((shape, bytes)) => {
                let numbers = bytemuck::pod_collect_to_vec(bytes.as_bytes());
                let points = Points::new(&shape, numbers);
                Some(points.map_err(|e| errors::specification(&e, None))?)
            }
        };
        let valid = overrides.validated(points.as_ref());
        let valid = valid.map_err(|e| errors::specification(&e, None))?;
        Ok(Self::of(valid, overrides.max_error))
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

    /// Computes the encounters, and the verdicts on their outcomes.
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
    #[pyo3(signature = (backend, threads, simd, gpus, progress, certify=false))]
    fn run(
        &self,
        py: Python<'_>,
        backend: &str,
        threads: Option<i64>,
        simd: Option<&str>,
        gpus: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
        certify: bool,
    ) -> PyResult<EncountersFound> {
        let options = values::ensemble_options(backend, threads, simd, gpus)?;
        let valid = Arc::clone(&self.valid);
        let ensemble = watch::run(py, progress, move |monitor| {
            let devices = Devices::new();
            let mut found = encounters::run_on(&devices, &valid, &options, monitor)?;
            if certify {
                found.certify(&devices, &valid, &options, monitor)?;
            }
            Ok(found)
        })?;
        let summary = py.detach(|| Summary::of(&ensemble));
        Ok(EncountersFound {
            valid: Arc::clone(&self.valid),
            ensemble,
            summary,
            max_error: self.overrides.max_error,
        })
    }
}

impl EncountersProblem {
    fn of(valid: Validated, max_error: Option<f64>) -> Self {
        let overrides = Overrides {
            max_error,
            ..Overrides::of(valid.specification())
        };
        Self {
            valid: Arc::new(valid),
            overrides,
        }
    }
}

/// The values of options, which override those of TOML text.
fn given(
    options: &Bound<'_, PyDict>,
    toml: Option<&str>,
    file: Option<&str>,
) -> PyResult<Overrides> {
    let overrides: Overrides = values::typed(values::table(options)?)?;
    Ok(match toml {
        Some(text) => overrides.merged_over(values::parsed(text, file)?),
        None => overrides,
    })
}

/// The maps of outcomes of a zoom to a point, every one of them checked: by the usual formula, and those of `set` (`NAME=FORMULA`), which
/// override it.
#[pyfunction]
#[pyo3(signature = (options, toml, file, to, set, frames))]
pub(crate) fn encounters_zoom_frames(
    options: &Bound<'_, PyDict>,
    toml: Option<&str>,
    file: Option<&str>,
    to: Vec<f64>,
    set: Vec<String>,
    frames: i64,
) -> PyResult<Vec<EncountersProblem>> {
    let frames = values::frames(frames)?;
    let overrides = given(options, toml, file)?;
    let base = NamedBase::towards(specification(&overrides)?, &to).map_err(|allowed| {
        let to: Vec<String> = to.iter().map(f64::to_string).collect();
        errors::value(&to.join(","), "--to", &allowed)
    })?;
    let rules = set.iter();
    let rules = rules.map(|text| values::option(text, "--set", str::parse));
    let found = base.zoom(&rules.collect::<PyResult<Vec<_>>>()?, frames);
    let found = found.map_err(|e| errors::bad_input(&e))?;
    let problem =
        |frame: Frame<Validated>| EncountersProblem::of(frame.specification, overrides.max_error);
    Ok(found.into_iter().map(problem).collect())
}

/// An ensemble of a sweep, with the names and values of its parameters.
type Swept = (EncountersProblem, Vec<(String, f64)>);

/// The ensembles of a sweep, every one of them checked, with the values of their parameters: one for each value, or each pair of values,
/// of `vary` (`NAME=VALUES`).
#[pyfunction]
#[pyo3(signature = (options, toml, file, vary))]
pub(crate) fn encounters_sweep_frames(
    options: &Bound<'_, PyDict>,
    toml: Option<&str>,
    file: Option<&str>,
    vary: Vec<String>,
) -> PyResult<(Vec<Swept>, Vec<values::ParameterUnit>)> {
    let overrides = given(options, toml, file)?;
    let vary = values::vary(&vary)?;
    let base = NamedBase::centred(specification(&overrides)?);
    let found = zoom::sweep(&base, &vary).map_err(|e| errors::bad_input(&e))?;
    let problem = |frame: Frame<Validated>| {
        let set = frame.set.into_iter().map(|s| (s.name, s.value)).collect();
        (
            EncountersProblem::of(frame.specification, overrides.max_error),
            set,
        )
    };
    let unit = |vary: &zoom::Vary<Number<encounters::Specification>>| {
        (vary.parameter.to_string(), vary.parameter.unit())
    };
    let units = vary.iter().map(unit).collect();
    Ok((found.into_iter().map(problem).collect(), units))
}

/// The specification with these values.
fn specification(overrides: &Overrides) -> PyResult<encounters::Specification> {
    let valid = overrides.validated(None);
    let valid = valid.map_err(|e| errors::specification(&e, None))?;
    Ok(valid.specification().clone())
}

/// Name and unit of an axis of a map.
type Axis = (&'static str, &'static str);

/// Computed encounters.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct EncountersFound {
    valid: Arc<Validated>,
    ensemble: Encounters,
    summary: Summary,
    max_error: Option<f64>,
}

#[pymethods]
impl EncountersFound {
    /// Names of columns, their NumPy types (little-endian), and all rows packed.
    fn records<'py>(&self, py: Python<'py>) -> (Vec<(String, &'static str)>, Bound<'py, PyBytes>) {
        let starts = parameter_columns(&self.valid);
        let wholes = WHOLES.iter().map(|(name, _)| ((*name).to_owned(), "<u4"));
        let reals = REALS.iter().map(|(name, _)| ((*name).to_owned(), "<f8"));
        let overrides = starts.iter().map(|(_, name)| (name.clone(), "<f8"));
        let columns: Vec<_> = wholes.chain(reals).chain(overrides).collect();
        let rows = py.detach(|| {
            let row = 4 * WHOLES.len() + 8 * (REALS.len() + starts.len());
            let mut bytes = Vec::with_capacity(row * self.ensemble.records.len());
            for (run, record) in self.ensemble.records.iter().enumerate() {
                for (_, value) in WHOLES {
                    bytes.extend_from_slice(&value(record).to_le_bytes());
                }
                for (_, value) in REALS {
                    bytes.extend_from_slice(&value(record).to_le_bytes());
                }
                for (place, _) in &starts {
                    let value = self.valid.value(*place, run as u64);
                    bytes.extend_from_slice(&value.to_le_bytes());
                }
            }
            bytes
        });
        (columns, PyBytes::new(py, &rows))
    }

    /// Width and height, if it is a map, and the names and units of its axes.
    #[getter]
    fn map(&self) -> Option<([u64; 2], Vec<Axis>)> {
        let spec = self.valid.specification();
        let size = spec.size?;
        let axes = spec.axes().into_iter().flatten();
        Some((size, axes.map(|(p, _)| (p.name, p.unit)).collect()))
    }

    /// The verdict on each outcome, if they were determined.
    #[getter]
    fn verdicts<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let found = self.ensemble.certificate.as_ref()?;
        Some(PyBytes::new(py, &found.of_runs))
    }

    /// The summary as JSON.
    #[getter]
    fn summary(&self) -> PyResult<String> {
        values::json(&self.summary)
    }

    /// `cpu` or `gpu`.
    #[getter]
    fn engine(&self) -> &'static str {
        self.ensemble.report.engine
    }

    /// The device in words.
    #[getter]
    fn device(&self) -> &str {
        &self.ensemble.report.device
    }

    /// Seconds of the computation itself.
    #[getter]
    fn seconds(&self) -> f64 {
        self.ensemble.report.elapsed.as_secs_f64()
    }

    /// Warnings: reasons why the results may not be what the user intended.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.summary.warnings()
    }

    /// The warnings about energies.
    #[getter]
    fn accuracy_warning(&self) -> Option<String> {
        self.summary.accuracy_warning()
    }

    /// Notes for the user, such as that no GPU could be used.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.ensemble.report.notes.clone()
    }

    /// Checks that no energy error exceeds the limit.
    fn check(&self) -> PyResult<()> {
        let checked = self.summary.check(self.max_error);
        checked.map_err(|message| errors::failed(&message))
    }

    /// Writes the records, or the picture of a map.
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        theme: &str,
        y_axis: Option<&str>,
    ) -> PyResult<()> {
        let look = Look {
            theme: values::option(theme, "--theme", str::parse::<Theme>)?,
            y: values::direction(y_axis)?.unwrap_or_default(),
        };
        let format = Format::of(&path, &self.valid).map_err(|allowed| {
            PyValueError::new_err(format!("invalid value '{}': {allowed}", path.display()))
        })?;
        py.detach(|| {
            check_writable(&path)?;
            format.write(&path, &self.valid, &self.ensemble, &look)
        })
        .map_err(|e| errors::file(&e))
    }
}

/// How runs end: the numbers in the column `outcome` and their names.
#[pyfunction]
pub(crate) fn encounter_outcomes() -> Vec<(u8, &'static str)> {
    let all = Outcome::ALL.iter();
    all.map(|outcome| (outcome.0, outcome_name(*outcome)))
        .collect()
}
