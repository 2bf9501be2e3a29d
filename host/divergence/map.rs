//! Computed maps, and the ensemble that their pixels are.

use std::path::Path;
use std::sync::Arc;

use kernels_gpu::device::fetch::TILE;

use super::quantity::Statistics;
use super::store::{self, MapContents};
use super::value::{ValueSlice, ValueVec};
use super::{Certificate, Checks, cpu, resolution, step_check};
use super::{DeviceEngine, Devices, Executor, Points, Resolution, Specification, Task, Validated};
use trisolar_ensemble::{self as ensemble, Computed, Ensemble, Report, Slice};
use trisolar_run::partial::Layout;
use trisolar_run::queue::Share;
use trisolar_run::{EngineError, Monitor, RunOptions, Workers};
use trisolar_simd::Simd;
use trisolar_spec::SpecError;

impl Ensemble for Validated {
    const AUTO_GPU_ITEMS: u64 = 0;
    const GPU_PIECE: u64 = TILE as u64;
    const MEASURES_ENERGY: bool = true;

    type Contents = MapContents;
    type Slice<'a> = ValueSlice<'a>;
    type Values = ValueVec;
    type Gpu = DeviceEngine;

    fn contents(&self) -> MapContents {
        MapContents::of(self)
    }

    fn of_contents(
        contents: &MapContents,
        points: impl FnOnce() -> Result<Points, SpecError>,
    ) -> Result<Self, SpecError> {
        let specification = contents.specification.clone();
        if contents.has_points() {
            return specification.validate_points(points()?);
        }
        specification.validate()
    }

    fn layout(&self, path: &Path) -> Layout {
        store::layout(path, self)
    }

    fn items(&self) -> u64 {
        self.pixels()
    }

    fn steps(&self) -> u64 {
        self.specification().steps
    }

    fn bytes_needed(&self) -> u64 {
        self.pixels() * self.value_type().size() as u64
    }

    fn blank(&self) -> Option<ValueVec> {
        self.value_type()
            .zeroed(usize::try_from(self.pixels()).ok()?)
    }

    fn put(all: &mut ValueVec, first: usize, values: ValueSlice<'_>) {
        all.put(first, values);
    }

    fn slice(values: &ValueVec) -> ValueSlice<'_> {
        values.as_slice()
    }

    fn of_bytes(&self, bytes: &[u8]) -> Option<ValueVec> {
        self.value_type().from_le_bytes(bytes)
    }

    fn lanes(&self, simd: Simd) -> usize {
        cpu::lanes(self, simd)
    }

    fn on_lanes(task: &Task<'_>, workers: &Workers, share: Share<'_>) -> Result<(), EngineError> {
        cpu::on_lanes(task, workers, share)
    }

    fn note_on_gpus(&self, with_cpu: bool) -> Option<String> {
        let precision = self.specification().precision;
        (with_cpu && !precision.is_portable()).then(|| {
            format!(
                "with --precision {precision} pixels may differ in the last bits between GPU and CPU, and \
                 different runs distribute the pixels differently"
            )
        })
    }
}

impl<'a> Slice<'a> for ValueSlice<'a> {
    fn count(self) -> u64 {
        self.len() as u64
    }

    fn le_bytes(self) -> std::borrow::Cow<'a, [u8]> {
        self.le_bytes()
    }
}

/// A computed map with its specification and report.
#[derive(Clone, Debug)]
pub struct DivergenceMap {
    /// The specification of the map.
    pub specification: Specification,
    /// The start states, if they are not a grid's: `values` are theirs, in the same order.
    pub points: Option<Arc<Points>>,
    /// The values of the specification's quantity, height × width, row-major. In a divergence map, the number of steps that began
    /// while the twins were together; it is `specification.steps` where they never parted.
    pub values: ValueVec,
    /// How they were computed.
    pub report: Report,
    /// Statistics of the values.
    pub statistics: Statistics,
    /// The share of pixels for which the step is too long, if it was determined.
    pub resolution: Option<Resolution>,
    /// How many values of samples change with a quarter of the step, and in double-double.
    pub checks: Checks,
    /// The verdicts on all pixels, if the map was [certified](Self::certify); `checks` then count all pixels.
    pub certificate: Option<Certificate>,
    /// Warnings known before the run and found during it: reasons why the map may not be what the user intended.
    pub warnings: Vec<String>,
}

impl DivergenceMap {
    /// Adds the resolution of the time step to the map.
    #[must_use]
    pub fn with_resolution(mut self, resolution: Option<Resolution>) -> Self {
        self.resolution = resolution;
        self.warnings.extend(resolution.and_then(|r| r.warning()));
        self
    }

    /// Computes every pixel again, and adds a verdict on each. `spec` is the map's.
    ///
    /// # Errors
    /// See [`Certificate::of`].
    pub fn certify(
        &mut self,
        executor: &dyn Executor<Validated>,
        spec: &Validated,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<(), EngineError> {
        let values = self.values.as_slice();
        let (certificate, checks) = Certificate::of(executor, spec, values, options, monitor)?;
        (self.certificate, self.checks) = (Some(certificate), checks);
        Ok(())
    }

    /// Checks that the share of wrong values does not exceed the user's limit, if there is one.
    ///
    /// # Errors
    /// See [`Checks::check`].
    pub fn check(&self, most: Option<f64>) -> Result<(), String> {
        self.checks.check(self.resolution, most)
    }

    /// The shape of `values`: height and width, or how the points are arranged.
    pub fn shape(&self) -> Vec<usize> {
        match &self.points {
            Some(points) => points.shape().to_owned(),
            None => [1, 0].map(|k| self.specification.size[k] as usize).into(),
        }
    }

    /// The specification as JSON text, without the values that the points replace.
    pub fn specification_json(&self) -> String {
        super::config::json(&self.specification, self.points.as_deref())
    }

    /// The steps of every pixel, of a divergence map.
    ///
    /// # Panics
    /// If the values of the map's quantity are of another type.
    pub fn steps_together(&self) -> &[u32] {
        self.values.steps_together()
    }

    /// A map of computed values: one for each pixel of `spec`, in their order.
    pub fn new(spec: &Validated, values: ValueVec, report: Report) -> Self {
        let s = spec.specification();
        Self {
            specification: s.clone(),
            points: spec.points().cloned(),
            statistics: s.quantity.statistics(values.as_slice(), s.steps),
            values,
            report,
            resolution: None,
            checks: Checks::default(),
            certificate: None,
            warnings: spec.warnings(),
        }
    }
}

/// Computes a map on the engine that `options` select. A program that computes many maps should keep the [`Devices`] open and call
/// [`run_on`].
///
/// # Errors
/// See [`Executor::stream`], and [`EngineError::OutOfMemory`] if there is too little memory for the map.
pub fn run(
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<DivergenceMap, EngineError> {
    run_on(&Devices::new(), spec, options, monitor)
}

/// Computes a map on these devices, as [`run`] does.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    executor: &dyn Executor<Validated>,
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<DivergenceMap, EngineError> {
    let compute = || ensemble::compute(executor, spec, options, monitor);
    let work = || step_check::beside(spec, options, monitor, compute);
    let ((Computed { values, report }, checks), resolution) =
        resolution::beside(spec, options, monitor, work)?;
    let mut map = DivergenceMap::new(spec, values, report).with_resolution(Some(resolution));
    map.checks = checks;
    Ok(map)
}

#[cfg(test)]
mod tests;
