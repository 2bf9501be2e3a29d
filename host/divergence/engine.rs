//! The engines that compute maps: one trait, selected at run time.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::quantity::Statistics;
use super::sink::{MemorySink, Sink};
use super::value::ValueVec;
use super::{Points, Resolution, Specification, Validated};
use trisolar_device::Energy;
use trisolar_run::{EngineError, Monitor};

/// Computes maps.
pub trait Engine {
    /// `cpu` or `gpu`.
    fn name(&self) -> &'static str;
    /// Description of the device, for reports.
    fn device(&self) -> String;
    /// Computes some pixels of a map and passes their values to the task's sink as they arrive.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] if the monitor ended the run; otherwise the failure.
    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError>;

    /// The value of every pixel, row-major.
    ///
    /// # Errors
    /// As [`stream`](Self::stream), and [`EngineError::OutOfMemory`] if there is too little memory for the map.
    fn compute(&self, spec: &Validated, monitor: &dyn Monitor) -> Result<Computed, EngineError> {
        let memory = MemorySink::new(spec.value_type(), spec.pixels())?;
        let whole = [0..spec.pixels()];
        let task = Task::new(spec, &whole, &memory);
        let Ran {
            elapsed,
            notes,
            portions,
            energy,
        } = self.stream(&task, monitor)?;
        Ok(Computed {
            values: memory.into_values(),
            elapsed,
            notes,
            portions,
            energy,
        })
    }
}

/// Pixels to compute.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The map.
    pub spec: &'a Validated,
    /// The pixels to compute (row-major numbers), in ascending order and without overlap.
    pub spans: &'a [Range<u64>],
    /// The destination of the results.
    pub sink: &'a dyn Sink,
    /// The source of further pixels while these are computed.
    pub(super) supply: Option<&'a dyn trisolar_run::queue::Supply>,
}

impl<'a> Task<'a> {
    /// A task for these pixels (row-major numbers, in ascending order and without overlap) of a map.
    pub fn new(spec: &'a Validated, spans: &'a [Range<u64>], sink: &'a dyn Sink) -> Self {
        Self {
            spec,
            spans,
            sink,
            supply: None,
        }
    }

    /// A task whose pixels arrive while it runs.
    pub(super) fn supplied(
        spec: &'a Validated,
        sink: &'a dyn Sink,
        supply: &'a dyn trisolar_run::queue::Supply,
    ) -> Self {
        Self {
            supply: Some(supply),
            ..Self::new(spec, &[], sink)
        }
    }

    /// Its pixels; those of the whole map, if they arrive while the task runs.
    pub(super) fn spans_to_come(&self) -> Cow<'a, [Range<u64>]> {
        if self.supply.is_some() {
            return Cow::Owned(vec![0..self.spec.pixels()]);
        }
        Cow::Borrowed(self.spans)
    }

    /// Number of pixels of the task; the number of pixels of the map if they arrive while the task runs.
    pub fn pixels(&self) -> u64 {
        self.spans_to_come().iter().map(|s| s.end - s.start).sum()
    }
}

/// The report of a finished task.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Time of the computation itself: on a GPU from the first launch to the last result on the host, without
    /// start-up and compilation.
    pub elapsed: Duration,
    /// Facts that the user should know, such as that a GPU failed and others took over.
    pub notes: Vec<String>,
    /// The contribution of each device.
    pub portions: Vec<Portion>,
    /// The energy that the GPUs used, if it can be measured.
    pub energy: Option<Energy>,
}

/// The contribution of a device to a map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Portion {
    /// Description of the device.
    pub device: String,
    /// Pixels that it computed.
    pub pixels: u64,
}

/// The result of an engine.
#[derive(Clone, Debug)]
pub struct Computed {
    /// The value of every pixel, row-major.
    pub values: ValueVec,
    /// See [`Ran`].
    pub elapsed: Duration,
    /// See [`Ran`].
    pub notes: Vec<String>,
    /// See [`Ran`].
    pub portions: Vec<Portion>,
    /// See [`Ran`].
    pub energy: Option<Energy>,
}

impl Computed {
    /// The steps of every pixel, of a divergence map.
    ///
    /// # Panics
    /// If the values of the map's quantity are of another type.
    pub fn steps_together(&self) -> &[u32] {
        self.values.of().expect(NO_STEP_COUNTS)
    }
}

/// The panic message if counts of steps are requested from a map of another quantity.
pub(super) const NO_STEP_COUNTS: &str = "the values of this quantity are not counts of steps";

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
    /// `cpu`, `gpu` or `gpu+cpu`.
    pub engine: &'static str,
    /// Description of the device.
    pub device: String,
    /// Time of the computation itself, see [`Ran::elapsed`].
    pub elapsed: Duration,
    /// Statistics of the values.
    pub statistics: Statistics,
    /// Facts that the user should know, such as that a GPU failed and the CPU took over.
    pub notes: Vec<String>,
    /// The contribution of each device.
    pub portions: Vec<Portion>,
    /// The energy that the GPUs used, if it can be measured.
    pub energy: Option<Energy>,
    /// The share of pixels for which the step is too long, if it was determined.
    pub resolution: Option<Resolution>,
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
        self.values.of().expect(NO_STEP_COUNTS)
    }

    /// A map of computed values: one for each pixel of `spec`, in their order.
    pub fn new(spec: &Validated, values: ValueVec, streamed: Streamed) -> Self {
        let s = spec.specification();
        Self {
            specification: s.clone(),
            points: spec.points().cloned(),
            statistics: s.quantity.statistics(values.as_slice(), s.steps),
            values,
            engine: streamed.engine,
            device: streamed.device,
            elapsed: streamed.ran.elapsed,
            notes: streamed.ran.notes,
            portions: streamed.ran.portions,
            energy: streamed.ran.energy,
            resolution: None,
            warnings: spec.warnings(),
        }
    }
}

/// The report of [`stream`](super::stream) about a task.
#[derive(Clone, Debug)]
pub struct Streamed {
    /// `cpu`, `gpu` or `gpu+cpu`.
    pub engine: &'static str,
    /// Description of the device.
    pub device: String,
    /// The report of the engine.
    pub ran: Ran,
}
