//! A validated specification, from options and TOML text.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use trisolar::config;
use trisolar::divergence::{Points, RunOptions, SpecError, Validated};

use crate::map::Map;
use crate::{errors, values, watch};

/// A divergence map to be computed, every value checked.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct Specification(Arc<Validated>);

#[pymethods]
impl Specification {
    /// From options (they go first), then the keys of TOML text, then the defaults. `file` is where the text is
    /// from, for messages. `points` are start states instead of a grid: the shape of an array and its f64 values.
    /// Options in `under` stand under the others: what points stand in for is not used there.
    #[new]
    #[pyo3(signature = (options, toml=None, file=None, points=None, under=None))]
    fn new(
        options: &Bound<'_, PyDict>,
        toml: Option<&str>,
        file: Option<&str>,
        points: Option<(Vec<usize>, Bound<'_, PyBytes>)>,
        under: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut given = values::given(options)?;
        if let Some(under) = under {
            given = given.over(values::given(under)?);
        }
        if let Some(text) = toml {
            given = given.over(values::parsed(text, file)?);
        }
        let among_options = |name: &str| {
            let given = options.get_item(name.replace('-', "_"));
            given.is_ok_and(|value| value.is_some_and(|v| !v.is_none()))
        };
        let failed = |e: SpecError| {
            let file = file.filter(|_| e.option != "points" && !among_options(e.option));
            errors::specification(&e, file)
        };
        let specification = trisolar::divergence::Specification::from(given);
        let valid = match points {
            None => specification.validate(),
            Some((shape, values)) => {
                let values = bytemuck::pod_collect_to_vec(values.as_bytes());
                let points = Points::new(&shape, values).map_err(failed)?;
                if let Some(key) = points.replaces().iter().find(|key| among_options(key)) {
                    return Err(PyValueError::new_err(format!(
                        "the points stand in for '--{key}': leave one of them out"
                    )));
                }
                specification.validate_points(points)
            }
        };
        Ok(Self(Arc::new(valid.map_err(failed)?)))
    }

    /// Every value, as JSON.
    #[getter]
    fn json(&self) -> String {
        self.0.json()
    }

    /// Every value, as TOML: a file for `trisolar divergence --config`.
    #[getter]
    fn toml(&self) -> String {
        config::to_text_for(self.0.specification(), self.0.points().map(AsRef::as_ref))
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
            backend: values::backend(backend)?,
            threads: values::threads(threads)?,
            ..RunOptions::default()
        };
        watch::run(py, &self.0, options, progress.as_ref()).map(Map::new)
    }
}
