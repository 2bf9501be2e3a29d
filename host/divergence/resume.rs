//! Continues pixels from the states in which an earlier computation with fewer steps left them, on the CPU, on GPUs, or on both.
//! The results have the bits of one computation. Only divergence maps in `f64` by explicit Euler can be continued.

use kernels_gpu::integrator::{ExplicitEuler, MapIntegrator};
use kernels_gpu::lanes;
use kernels_gpu::map::Job;
use kernels_gpu::quantity::{Divergence, Quantity};

use super::engine::{Ran, Task};
use super::queue::Share;
use super::scheduler::{self, Worker};
use super::sink::Sink;
use super::{Precision, Specification, Validated};
use trisolar_run::{EngineError, Monitor};
use trisolar_spec::Integrator;

mod on_cpu;
mod on_device;

/// A pixel with the state of an unfinished computation.
pub type Item = lanes::Item<<Divergence as Quantity>::State<f64, ExplicitEuler>>;

/// Whether pixels of such maps can be resumed.
pub fn can_resume(spec: &Validated) -> bool {
    let s = spec.specification();
    let method = (s.quantity, s.precision, s.integrator);
    method
        == (
            super::Quantity::Divergence,
            Precision::F64,
            Integrator::ExplicitEuler,
        )
}

impl Validated {
    /// A pixel at its start.
    pub fn item(&self, pixel: u64) -> Item {
        self.starts().item(pixel)
    }

    /// All pixels at their starts.
    pub fn starts(&self) -> Starts {
        Starts(self.job_in_lengths(0, 1))
    }
}

/// The pixels of a map at their starts.
#[derive(Clone, Copy, Debug)]
pub struct Starts(Job);

impl Starts {
    /// A pixel at its start.
    pub fn item(&self, pixel: u64) -> Item {
        let masses = ExplicitEuler::masses::<f64>(&self.0.masses);
        let point = self.0.grid.point(pixel);
        Item::new(Divergence::begin::<f64, ExplicitEuler>(
            &point, &self.0, &masses,
        ))
    }
}

/// Unfinished pixels, with numbers that the caller chooses.
pub trait Items: Sync {
    /// The state of a pixel before the computation.
    fn get(&self, number: u64) -> Item;
    /// Takes the final states of the pixels from number `first` on. Every pixel is passed once, before its result goes to the sink.
    fn put(&self, first: u64, items: &[Item]);
}

/// A task: unfinished pixels to be computed to their ends.
#[derive(Clone, Copy)]
pub struct Resuming<'a> {
    /// The map, one that [`can_resume`].
    pub spec: &'a Validated,
    /// Numbers of the pixels, in ascending order and without overlap; all of them [go on](Item::goes_on).
    pub spans: &'a [std::ops::Range<u64>],
    /// Their states.
    pub items: &'a dyn Items,
    /// The destination of the results.
    pub sink: &'a dyn Sink,
}

impl Resuming<'_> {
    /// Number of pixels.
    pub fn pixels(&self) -> u64 {
        self.task().pixels()
    }

    pub(super) fn task(&self) -> Task<'_> {
        Task::new(self.spec, self.spans, self.sink)
    }

    /// Computes them on all of `steppers`; see [`scheduler::run`].
    pub(super) fn run(
        &self,
        steppers: &[&dyn Stepper],
        reserve: Option<&dyn Stepper>,
        monitor: &dyn Monitor,
    ) -> Result<Ran, EngineError> {
        let at_work = |stepper| Stepping {
            stepper,
            task: self,
        };
        let workers: Vec<_> = steppers.iter().map(|s| at_work(*s)).collect();
        let workers: Vec<&dyn Worker> = workers.iter().map(|w| w as &dyn Worker).collect();
        let reserve = reserve.map(at_work);
        let reserve = reserve.as_ref().map(|w| w as &dyn Worker);
        scheduler::run(&workers, reserve, &self.task(), monitor)
    }

    /// The step counts of these finished items.
    fn times(&self, items: &[Item]) -> Vec<u32> {
        let steps = self.spec.specification().steps as u32;
        items.iter().map(|item| item.counted(steps)).collect()
    }
}

/// A device that can continue unfinished pixels.
pub(super) trait Stepper: Worker {
    /// As [`work`](Worker::work), for unfinished pixels.
    ///
    /// # Errors
    /// As there.
    fn step(&self, task: &Resuming<'_>, share: Share<'_>) -> Result<(), EngineError>;
}

/// Adapts a [`Stepper`] to [`Worker`].
struct Stepping<'a> {
    stepper: &'a dyn Stepper,
    task: &'a Resuming<'a>,
}

impl Worker for Stepping<'_> {
    fn label(&self) -> String {
        self.stepper.label()
    }

    fn capacity(&self, specification: &Specification) -> u64 {
        self.stepper.capacity(specification)
    }

    fn work(&self, _: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        self.stepper.step(self.task, share)
    }
}
