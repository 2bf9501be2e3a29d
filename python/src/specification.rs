//! A validated specification, from options and TOML text.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trisolar::config;
use trisolar::divergence::{Backend, RunOptions, Validated};

use crate::map::Map;
use crate::{errors, values, watch};

/// The most threads that can be asked for.
const MAX_THREADS: i64 = 4096;

/// A divergence map to be computed, every value checked.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct Specification(Arc<Validated>);

#[pymethods]
impl Specification {
    /// From options (they go first), then the keys of TOML text, then the defaults. `file` is where the text is
    /// from, for messages.
    #[new]
    #[pyo3(signature = (options, toml=None, file=None))]
    fn new(options: &Bound<'_, PyDict>, toml: Option<&str>, file: Option<&str>) -> PyResult<Self> {
        let mut given = values::given(options)?;
        if let Some(text) = toml {
            given = given.over(config::parse(text).map_err(|e| {
                PyValueError::new_err(match (file, &e.line) {
                    (Some(file), Some((n, line))) => format!("{file}:{n}: {line}\n{}", e.message),
                    (Some(file), None) => format!("{file}\n{}", e.message),
                    (None, _) => e.to_string(),
                })
            })?);
        }
        let valid = trisolar::divergence::Specification::from(given).validate();
        let valid = valid.map_err(|e| {
            let among_options = options
                .get_item(e.option.replace('-', "_"))
                .is_ok_and(|value| value.is_some_and(|v| !v.is_none()));
            errors::specification(&e, file.filter(|_| !among_options))
        })?;
        Ok(Self(Arc::new(valid)))
    }

    /// Every value, as JSON.
    #[getter]
    fn json(&self) -> String {
        json(self.0.specification())
    }

    /// Every value, as TOML: a file for `trisolar divergence --config`.
    #[getter]
    fn toml(&self) -> String {
        config::to_text(self.0.specification())
    }

    /// What should be known before the map is computed.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    /// Computes the map; other Python threads run meanwhile. `progress(done, total)` is called some times a second
    /// in the calling thread, and signals are handled.
    #[pyo3(signature = (backend="auto", threads=None, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        backend: &str,
        threads: Option<i64>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Map> {
        let options = RunOptions {
            backend: match backend {
                "auto" => Backend::Auto,
                "cpu" => Backend::Cpu,
                "gpu" => Backend::Gpu,
                _ => {
                    return Err(errors::value(
                        backend,
                        "--backend",
                        "must be auto, cpu or gpu",
                    ));
                }
            },
            threads: threads
                .map(|n| match n {
                    1..=MAX_THREADS => Ok(n as usize),
                    _ => Err(errors::value(
                        &n.to_string(),
                        "--threads",
                        &format!("must be a whole number from 1 to {MAX_THREADS}"),
                    )),
                })
                .transpose()?,
            ..RunOptions::default()
        };
        watch::run(py, &self.0, options, progress.as_ref()).map(Map::new)
    }
}

/// Every value, as JSON.
pub(crate) fn json(specification: &trisolar::divergence::Specification) -> String {
    serde_json::to_string(specification).expect("a specification is plain numbers and names")
}
