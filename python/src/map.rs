//! A computed map. NumPy uses its memory without a copy.

use std::path::PathBuf;
use std::str::FromStr;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use trisolar::config;
use trisolar::divergence::{Checks, DivergenceMap, MapAxis, Points, Scale, StepCheck};
use trisolar::io::atomic::check_writable;
use trisolar::io::colour::{ColourMap, ColourRange};
use trisolar::io::picture::Theme;
use trisolar::output::{self, Look, Output, Shown, Style};

use crate::{errors, values};

/// A computed map; `numpy.asarray` of it is the array of its values.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct Map(DivergenceMap);

impl Map {
    pub(crate) fn new(map: DivergenceMap) -> Self {
        Self(map)
    }

    /// The points of the user.
    fn given_points(&self) -> Option<&Points> {
        self.0.points.as_deref().filter(|points| !points.are_made())
    }
}

/// The name, the meaning, the unit and the values of an axis, the first value and the span.
type PlainAxis = (&'static str, String, &'static str, Vec<f64>, [f64; 2]);

#[pymethods]
impl Map {
    /// NumPy's array interface: u32 or f64 by the quantity, height x width (or as the points are arranged), read-only, memory of this object,
    /// which NumPy keeps alive.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, self.0.shape())?)?;
        let values = self.0.values.as_slice();
        interface.set_item("typestr", values.value_type().numpy_type())?;
        // The object is frozen: the vector neither moves nor changes.
        interface.set_item("data", (values.bytes().as_ptr() as usize, true))?;
        Ok(interface)
    }

    /// What the values are.
    #[getter]
    fn array_label(&self) -> &'static str {
        self.0.specification.quantity.array_label()
    }

    /// The quantity: its name, the label of the values in pictures, the unit, and whether the colours are logarithmic.
    #[getter]
    fn quantity(&self) -> (&'static str, &'static str, &'static str, bool) {
        let quantity = self.0.specification.quantity;
        let logarithmic = quantity.scale() == Scale::Logarithmic;
        (
            quantity.name(),
            quantity.label(),
            quantity.unit(),
            logarithmic,
        )
    }

    /// The method in words (integrator, step, steps), and in a second line which share of the sampled values changes.
    #[getter]
    fn method(&self) -> String {
        let method = self.0.specification.method();
        match self.0.checks.caption() {
            Some(caption) => format!("{method}\n{caption}"),
            None => method,
        }
    }

    /// What pictures show of values that count steps, and its unit: the time until the twins part.
    #[getter]
    fn time_label(&self) -> Option<[&'static str; 2]> {
        let counts = self.0.specification.quantity.counts_steps();
        Shown::Time.label().filter(|_| counts)
    }

    /// The values at the ends of the colours, where these are not the least and the greatest.
    #[getter]
    fn colour_range(&self) -> Option<(f64, f64)> {
        match output::range(self.0.specification.quantity, self.0.values.as_slice()) {
            ColourRange::Fixed(low, high) => Some((low, high)),
            ColourRange::Whole => None,
        }
    }

    /// Every value of the specification, as JSON.
    #[getter]
    fn spec_json(&self) -> String {
        self.0.specification_json()
    }

    /// Every value of the specification, as TOML: a file for `trisolar divergence --config`.
    #[getter]
    fn spec_toml(&self) -> String {
        config::to_text_for(&self.0.specification, self.0.points.as_deref())
    }

    /// The start states, if the map has no grid: the shape of the array and its f64 values.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> Option<(Vec<usize>, Bound<'py, PyBytes>)> {
        let (shape, values) = self.given_points()?.array();
        Some((shape, PyBytes::new(py, bytemuck::cast_slice(&values))))
    }

    /// The arrangement of the points.
    #[getter]
    fn points_shape(&self) -> Option<Vec<usize>> {
        Some(self.given_points()?.shape().to_owned())
    }

    /// The axes of the map, columns first, if it does not consist of points: the name, the meaning, the unit and the values of each, the
    /// first value and the span; or None where nothing is known of an axis.
    #[getter]
    fn axes(&self) -> Option<[Option<PlainAxis>; 2]> {
        if self.given_points().is_some() {
            return None;
        }
        let specification = &self.0.specification;
        let [width, height] = specification.size;
        let [columns, rows] = specification.axes();
        let plain = |axis: Option<MapAxis>, count: u64| {
            let axis = axis?;
            let values = axis.values(count).collect();
            Some((
                axis.name,
                axis.meaning,
                axis.unit,
                values,
                [axis.low, axis.span],
            ))
        };
        Some([plain(columns, width), plain(rows, height)])
    }

    /// `cpu` or `gpu`.
    #[getter]
    fn engine(&self) -> &'static str {
        self.0.report.engine
    }

    /// The device in words.
    #[getter]
    fn device(&self) -> &str {
        &self.0.report.device
    }

    /// Seconds of the computation itself.
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.report.elapsed.as_secs_f64()
    }

    /// Steps taken.
    #[getter]
    fn pixel_steps(&self) -> u64 {
        self.0.statistics.pixel_steps
    }

    /// Pixels whose twins never parted, for divergence.
    #[getter]
    fn never_parted(&self) -> Option<u64> {
        self.0.statistics.never_parted
    }

    /// The share of a sample of the pixels for which the step is too long, if it is known.
    #[getter]
    fn unresolved(&self) -> Option<f64> {
        self.0.resolution.map(|found| found.share)
    }

    /// Pixels of that sample, and those of them for which the step is too long.
    #[getter]
    fn resolution(&self) -> Option<(u64, u64)> {
        let found = self.0.resolution?;
        Some((found.sample, found.unresolved))
    }

    /// The sampled pixels, those of them that could be compared, and those whose value changes by more than 5 %, with a quarter of the
    /// step and in double-double.
    #[getter]
    fn checks(&self) -> [Option<(u64, u64, u64)>; 2] {
        let Checks { step, rounding } = self.0.checks;
        let numbers = |found: StepCheck| (found.sample, found.compared, found.changed);
        [step, rounding].map(|found| found.map(numbers))
    }

    /// The number of the verdict on each pixel, if the map was certified.
    #[getter]
    fn verdicts<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let certificate = self.0.certificate.as_ref()?;
        Some(PyBytes::new(py, &certificate.of_pixels))
    }

    /// The predicted rounding error of each pixel, f64, if the map was certified and its values are exponents.
    #[getter]
    fn predicted_error<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let bounds = (self.0.certificate.as_ref()?.predicted.as_ref()?.of_pixels).as_ref()?;
        Some(PyBytes::new(py, bytemuck::cast_slice(bounds)))
    }

    /// The shares of the verdicts as JSON, if the map was certified.
    #[getter]
    fn certificate(&self) -> Option<String> {
        let certificate = self.0.certificate.as_ref()?;
        Some(serde_json::json!(certificate).to_string())
    }

    /// Warnings: reasons why the map may not be what the user intended.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    /// The warning that the computation found.
    #[getter]
    fn accuracy_warning(&self) -> Option<String> {
        self.0.resolution?.warning()
    }

    /// Checks that the share of unresolved pixels does not exceed `most`.
    fn check(&self, most: Option<f64>) -> PyResult<()> {
        self.0
            .check(most)
            .map_err(|message| errors::failed(&message))
    }

    /// Notes for the user, such as that the CPU took over from a GPU that failed.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.report.notes.clone()
    }

    /// The warning about characters of the title for which the picture at `path` has only a box.
    #[staticmethod]
    fn glyph_warning(path: PathBuf, title: &str) -> Option<String> {
        output::glyph_warning(title, &[Output::new(&path).ok()?])
    }

    /// Writes a file: picture, array or both, by the extension.
    #[pyo3(signature = (path, bare, name, title, shrink, theme, y_axis, look))]
    #[expect(clippy::too_many_arguments, reason = "the options of a file")]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        bare: bool,
        name: &str,
        title: Option<String>,
        shrink: i64,
        theme: &str,
        y_axis: Option<&str>,
        look: &str,
    ) -> PyResult<()> {
        let usual = values::option(look, "--look", str::parse::<Look>)?.style();
        let colormap = |text: &str| ColourMap::from_str(text).map_err(|e| e.to_string());
        let style = Style {
            bare,
            colormap: values::option(name, "--colormap", colormap)?,
            title,
            shrink: values::option(&shrink.to_string(), "--shrink", output::shrink)?,
            theme: values::option(theme, "--theme", str::parse::<Theme>)?,
            y: values::direction(y_axis)?.unwrap_or(usual.y),
            ..usual
        };
        py.detach(|| {
            let output = Output::new(&path)?;
            check_writable(&path)?;
            output.write(&self.0, &style)
        })
        .map_err(|e| errors::file(&e))
    }
}
