//! Analyses of maps of outcomes.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trisolar::atlas::files::of_array;
use trisolar::atlas::{Atlas, BOXES};
use trisolar::io::npy::Array;

use crate::values;

/// The analyses of an array of this shape, whose values are f64 in bytes, as JSON.
#[pyfunction]
pub(crate) fn atlas_json(
    py: Python<'_>,
    shape: Vec<usize>,
    values: &Bound<'_, PyBytes>,
    limits: Vec<f64>,
    boxes: Option<Vec<usize>>,
) -> PyResult<String> {
    let values: Vec<f64> = bytemuck::pod_collect_to_vec(values.as_bytes());
    let found = py.detach(|| {
        let map = of_array(&Array { shape, values }, &limits, |_| None)?;
        Atlas::of(&map, boxes.as_deref().unwrap_or(&BOXES))
    });
    values::json(&found.map_err(PyValueError::new_err)?)
}
