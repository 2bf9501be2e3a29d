//! Planetary systems, whose records form one array.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use trisolar::ensemble::{Computed, beside, compute};
use trisolar::io::atomic::check_writable;
use trisolar::io::plot::Theme;
use trisolar::planets::files::{Format, Look, OUTCOMES, unit};
use trisolar::planets::{
    CHECKED, Devices, Overrides, Summary, Validated, step_check, with_half_the_step,
};
use trisolar::spec::Parameters as _;

use crate::{errors, values, watch};

/// Validated planetary systems that have not been followed.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct PlanetsProblem {
    valid: Arc<Validated>,
    overrides: Overrides,
}

#[pymethods]
impl PlanetsProblem {
    /// The values of options override those of TOML text, which override the defaults.
    #[new]
    #[pyo3(signature = (options, toml=None, file=None))]
    fn new(options: &Bound<'_, PyDict>, toml: Option<&str>, file: Option<&str>) -> PyResult<Self> {
        let mut given: Overrides = values::typed(values::table(options)?)?;
        if let Some(text) = toml {
            given = given.merged_over(values::parsed(text, file)?);
        }
        let valid = given.validated();
        let valid = valid.map_err(|e| errors::specification(&e, None))?;
        Ok(Self {
            overrides: Overrides {
                max_error: given.max_error,
                ..Overrides::of(valid.specification())
            },
            valid: Arc::new(valid),
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

    /// Follows the systems.
    #[pyo3(signature = (backend, threads, simd, gpus, progress))]
    fn run(
        &self,
        py: Python<'_>,
        backend: &str,
        threads: Option<i64>,
        simd: Option<&str>,
        gpus: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PlanetsFound> {
        let options = values::ensemble_options(backend, threads, simd, gpus)?;
        let valid = Arc::clone(&self.valid);
        let (computed, summary) = watch::run(py, progress, move |monitor| {
            let devices = Devices::new();
            let repeat = with_half_the_step(&valid, CHECKED);
            let again = || {
                repeat
                    .map(|r| r.compute(&options, monitor, <[_]>::to_vec))
                    .transpose()
            };
            let compute = || compute(&devices, &*valid, &options, monitor);
            let (computed, again) = beside(&devices, &*valid, &options, again, compute)?;
            let all = &computed.values;
            let check = again.map(|again| step_check(all, &again));
            let summary = Summary::of(&valid, all, check);
            Ok((computed, summary))
        })?;
        Ok(PlanetsFound {
            valid: Arc::clone(&self.valid),
            computed,
            summary,
            max_error: self.overrides.max_error,
        })
    }
}

/// Name, unit, range and number of values of an axis of a map.
type Axis = (String, &'static str, [f64; 2], u64);

/// Systems that were followed.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct PlanetsFound {
    valid: Arc<Validated>,
    computed: Computed<Validated>,
    summary: Summary,
    max_error: Option<f64>,
}

#[pymethods]
impl PlanetsFound {
    /// Names of columns, their NumPy types (little-endian), and all rows packed.
    fn records<'py>(
        &self,
        py: Python<'py>,
    ) -> (Vec<(&'static str, &'static str)>, Bound<'py, PyBytes>) {
        let all_reals = self.valid.specification().observable.reals();
        let wholes = ["outcome", "steps"].map(|name| (name, "<u4"));
        let reals = all_reals.iter().map(|(name, ..)| (*name, "<f8"));
        let columns = wholes.into_iter().chain(reals).collect();
        let rows = py.detach(|| {
            let mut rows = Vec::new();
            for record in &self.computed.values {
                let wholes = [record.outcome, record.steps].map(u32::to_le_bytes);
                rows.extend_from_slice(wholes.as_flattened());
                for (.., value) in &all_reals {
                    rows.extend_from_slice(&value(record).to_le_bytes());
                }
            }
            rows
        });
        (columns, PyBytes::new(py, &rows))
    }

    /// The units of the columns that have one.
    #[getter]
    fn units(&self) -> Vec<(&'static str, &'static str)> {
        let reals = self.valid.specification().observable.reals().into_iter();
        let units = reals.map(|(name, unit, _)| (name, unit));
        units.filter(|(_, unit)| !unit.is_empty()).collect()
    }

    /// The axes of a map, columns first.
    #[getter]
    fn axes(&self) -> Vec<Axis> {
        let axes = self.valid.specification().axes().into_iter();
        axes.map(|(name, range, n)| {
            let unit = unit(&name);
            (name, unit, range, n)
        })
        .collect()
    }

    /// The summary as JSON.
    #[getter]
    fn summary(&self) -> PyResult<String> {
        values::json(&self.summary)
    }

    /// `cpu` or `gpu`.
    #[getter]
    fn engine(&self) -> &'static str {
        self.computed.report.engine
    }

    /// The device in words.
    #[getter]
    fn device(&self) -> &str {
        &self.computed.report.device
    }

    /// Seconds of the computation itself.
    #[getter]
    fn seconds(&self) -> f64 {
        self.computed.report.elapsed.as_secs_f64()
    }

    /// Warnings: reasons why the results may not be what the user intended.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.summary.warnings.clone()
    }

    /// Notes for the user, such as that no GPU could be used.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.computed.report.notes.clone()
    }

    /// Checks that no energy error exceeds the limit.
    fn check(&self) -> PyResult<()> {
        let checked = self.summary.check(self.max_error);
        checked.map_err(|message| errors::failed(&message))
    }

    /// Writes the records, the observable, or the picture of a map.
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
            format.write(&path, &self.valid, &self.computed.values, &look)
        })
        .map_err(|e| errors::file(&e))
    }
}

/// How systems end: the numbers in the column `outcome` and their names.
#[pyfunction]
pub(crate) fn planet_outcomes() -> Vec<(u32, &'static str)> {
    let all = OUTCOMES.iter();
    all.map(|(outcome, name)| (outcome.0, *name)).collect()
}
