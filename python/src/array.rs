//! Arrays of results, whose memory NumPy uses without a copy.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use trisolar::bodies::{Bodies, DVec3};

/// Values with their shape; `numpy.asarray` of it is an array, f64, read-only.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct Array {
    values: Values,
}

enum Values {
    Numbers(Vec<f64>),
    Of(Arc<Bodies>, Part),
}

/// An array of bodies.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Mass,
    Position,
    Velocity,
}

impl Array {
    /// One of the arrays of bodies.
    pub(crate) fn of(bodies: &Arc<Bodies>, part: Part) -> Self {
        let values = Values::Of(Arc::clone(bodies), part);
        Self { values }
    }

    /// Numbers per body.
    pub(crate) fn numbers(values: Vec<f64>) -> Self {
        let values = Values::Numbers(values);
        Self { values }
    }
}

#[pymethods]
impl Array {
    /// NumPy's array interface: f64, (n) or (n, 3), memory of this object, which NumPy keeps alive.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let row = |x: &[f64]| Ok((x.as_ptr() as usize, PyTuple::new(py, [x.len()])?));
        let vectors = |x: &[DVec3]| {
            let shape = PyTuple::new(py, [x.len(), 3])?;
            Ok::<_, PyErr>((x.as_ptr() as usize, shape))
        };
        let (address, shape) = match &self.values {
            Values::Numbers(x) => row(x),
            Values::Of(bodies, Part::Mass) => row(&bodies.mass),
            Values::Of(bodies, Part::Position) => vectors(&bodies.position),
            Values::Of(bodies, Part::Velocity) => vectors(&bodies.velocity),
        }?;
        let little = cfg!(target_endian = "little");
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", shape)?;
        interface.set_item("typestr", if little { "<f8" } else { ">f8" })?;
        // The object is frozen: the vector neither moves nor changes.
        interface.set_item("data", (address, true))?;
        Ok(interface)
    }
}

/// Bodies whose masses, positions and velocities are bytes of f64; vectors have `width` components, 2 or 3.
pub(crate) fn bodies([mass, position, velocity]: [&Bound<'_, PyBytes>; 3], width: u8) -> Bodies {
    let numbers =
        |bytes: &Bound<'_, PyBytes>| -> Vec<f64> { bytemuck::pod_collect_to_vec(bytes.as_bytes()) };
    let vector = |v: &[f64]| DVec3::new(v[0], v[1], v.get(2).copied().unwrap_or(0.0));
    let vectors = |bytes| -> Vec<DVec3> {
        let numbers = numbers(bytes);
        let width = usize::from(width.clamp(2, 3));
        numbers.chunks_exact(width).map(vector).collect()
    };
    Bodies {
        mass: numbers(mass),
        position: vectors(position),
        velocity: vectors(velocity),
    }
}
