//! Equations as text, whose items have a record each.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use trisolar::ensemble::{Computed, Devices, Repeated, beside, compute};
use trisolar::equation_text::Text;
use trisolar::io::atomic::check_writable;
use trisolar::own_program::{self, FilesError};
use trisolar::spec::Parameters as _;
use trisolar::system::files::Format;
use trisolar::system::{Overrides, Summary, Validated};

use crate::{errors, values, watch};

/// The values of options, which override those of TOML text.
fn given(
    options: &Bound<'_, PyDict>,
    toml: Option<&str>,
    file: Option<&str>,
) -> PyResult<Overrides> {
    let given: Overrides = values::typed(values::table(options)?)?;
    match toml {
        Some(text) => Ok(given.merged_over(values::parsed(text, file)?)),
        None => Ok(given),
    }
}

/// The values of options, which override those of TOML text, as JSON and as TOML.
#[pyfunction]
pub(crate) fn equations_values(
    options: &Bound<'_, PyDict>,
    toml: Option<&str>,
    file: Option<&str>,
) -> PyResult<(String, String)> {
    let given = given(options, toml, file)?;
    Ok((values::json(&given)?, values::toml(&given)?))
}

/// The files of a program for the equations in a file, with their paths, but for the equations themselves.
#[pyfunction]
pub(crate) fn program_files(
    name: &str,
    equations: &str,
    file: PathBuf,
    checkout: Option<PathBuf>,
) -> PyResult<Vec<(&'static str, String)>> {
    let files = own_program::files(name, equations, Some(&file), checkout.as_deref());
    files.map_err(|error| match error {
        FilesError::NoSystem => PyValueError::new_err(format!(
            "{}: there is no line such as export!(flow Lorenz); as in the files of `trisolar new`",
            file.display()
        )),
        FilesError::NoClone(reason) => {
            let given = checkout.unwrap_or_default();
            errors::value(&given.display().to_string(), "checkout", &reason)
        }
        FilesError::Lock(error) => errors::file(&error),
    })
}

/// Validated equations that have not been followed.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct EquationsProblem {
    valid: Arc<Validated<Text>>,
}

#[pymethods]
impl EquationsProblem {
    /// The values of options override those of TOML text, which override the defaults.
    #[new]
    #[pyo3(signature = (options, toml=None, file=None))]
    fn new(options: &Bound<'_, PyDict>, toml: Option<&str>, file: Option<&str>) -> PyResult<Self> {
        let valid = Text::validated(&given(options, toml, file)?);
        let valid = valid.map_err(|e| errors::specification(&e, None))?;
        Ok(Self {
            valid: Arc::new(valid),
        })
    }

    /// Every value, as JSON.
    #[getter]
    fn json(&self) -> PyResult<String> {
        values::json(&Text::overrides(self.valid.specification()))
    }

    /// Every value, as TOML.
    #[getter]
    fn toml(&self) -> PyResult<String> {
        values::toml(&Text::overrides(self.valid.specification()))
    }

    /// Follows the items.
    #[pyo3(signature = (backend, threads, simd, gpus, progress))]
    fn run(
        &self,
        py: Python<'_>,
        backend: &str,
        threads: Option<i64>,
        simd: Option<&str>,
        gpus: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<EquationsFound> {
        let options = values::ensemble_options(backend, threads, simd, gpus)?;
        let valid = Arc::clone(&self.valid);
        let (computed, again) = watch::run(py, progress, move |monitor| {
            let devices = Devices::new();
            let again = || valid.sample(&options, monitor);
            let compute = || compute(&devices, &*valid, &options, monitor);
            beside(&devices, &*valid, &options, again, compute)
        })?;
        Ok(EquationsFound {
            valid: Arc::clone(&self.valid),
            computed,
            again,
        })
    }
}

/// Name, range and number of values of an axis of a map.
type Axis = (String, [f64; 2], u64);

/// Items that were followed.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct EquationsFound {
    valid: Arc<Validated<Text>>,
    computed: Computed<Validated<Text>>,
    /// Items that were followed again.
    again: Option<Repeated<f64>>,
}

#[pymethods]
impl EquationsFound {
    /// Names of columns, their NumPy types (little-endian), and all rows packed.
    fn records<'py>(
        &self,
        py: Python<'py>,
    ) -> (Vec<(&'static str, &'static str)>, Bound<'py, PyBytes>) {
        let columns = self.valid.columns().into_iter();
        let numbers = self.computed.values.numbers.iter();
        let rows: Vec<u8> = py.detach(|| numbers.flat_map(|x| x.to_le_bytes()).collect());
        (
            columns.map(|name| (name, "<f8")).collect(),
            PyBytes::new(py, &rows),
        )
    }

    /// The axes of a map, columns first.
    #[getter]
    fn axes(&self) -> Vec<Axis> {
        let specification = self.valid.specification();
        let axes = specification.axes().into_iter().flatten();
        let axes = axes.zip(specification.size.unwrap_or_default());
        axes.map(|((name, range), n)| (name.to_owned(), range, n))
            .collect()
    }

    /// The names of the outcomes 1, 2 and so on.
    #[getter]
    fn outcomes(&self) -> Vec<String> {
        self.valid.about().outcomes.clone()
    }

    /// The summary as JSON.
    #[getter]
    fn summary(&self) -> PyResult<String> {
        let numbers = &self.computed.values.numbers;
        values::json(&Summary::of(&self.valid, numbers, self.again.as_ref()))
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

    /// Notes for the user, such as that no GPU could be used.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.computed.report.notes.clone()
    }

    /// Writes the columns, the first of them, or its picture.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let format = Format::of(&path, &self.valid).map_err(|allowed| {
            PyValueError::new_err(format!("invalid value '{}': {allowed}", path.display()))
        })?;
        py.detach(|| {
            check_writable(&path)?;
            format.write(&path, &self.valid, &self.computed.values.numbers)
        })
        .map_err(|e| errors::file(&e))
    }
}
