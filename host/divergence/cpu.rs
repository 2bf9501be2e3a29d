//! Maps on the CPU: threads with SIMD lanes. A lane gets another pixel as soon as its pixel is done.

use std::marker::PhantomData;

use kernels_gpu::Real;
use kernels_gpu::integrator::MapIntegrator;
use kernels_gpu::lanes::{LaneState, Pixel, PixelSource};
use kernels_gpu::map::{Job, Masses, Point};
use kernels_gpu::methods::Entries;
use kernels_gpu::number::bits::Bits;
use kernels_gpu::number::{Precision as Number, Single};
use kernels_gpu::quantity::Quantity;

use super::batches::{Batches, ROUNDS_PER_SLICE, SharedBatches};
use super::quantity::OfMethod;
use super::value::Value;
use super::{Specification, Task, Validated};
use trisolar_run::queue::Share;
use trisolar_run::{Backend, EngineError, Workers};
use trisolar_simd::{OnLanes, Simd};

/// The warning about a computation that may take place on the CPU, if this machine can compute only one number at a time.
pub fn cpu_warning(backend: Backend) -> Option<&'static str> {
    match Simd::best() {
        _ if backend == Backend::Gpu => None,
        _ if !trisolar_simd::has_fma() => Some(
            "this CPU has no fused multiply-add instruction; the results have the same bits, but the CPU engine computes one number at a \
             time, with fused multiply-adds in software, which takes longer",
        ),
        Simd::Scalar => Some(
            "this CPU has none of the instruction sets for several numbers at a time; the results have the same bits, but the CPU engine \
             computes one number at a time, which takes longer",
        ),
        _ => None,
    }
}

/// Number of pixels that a thread computes at a time.
pub(super) fn lanes(spec: &Validated, simd: Simd) -> usize {
    let method = spec.specification();
    let (precision, integrator) = (method.precision.kind(), method.integrator.name());
    let lanes = (method.quantity).with_method(precision, integrator, LanesOf { simd });
    lanes.expect("validated: the method is in the table")
}

/// Computes pixels of the task on these threads.
pub(super) fn on_lanes(
    task: &Task<'_>,
    workers: &Workers,
    share: Share<'_>,
) -> Result<(), EngineError> {
    // The job begins with pixel 0, because the lanes get the numbers of their pixels together with the pixels.
    let job = task.spec.job(0, 0);
    let shared = SharedBatches::new(workers, task, &job, share);
    let method = task.spec.specification();
    let results =
        workers.broadcast(|context| work(workers.simd(), method, &shared, context.index()));
    results.into_iter().collect()
}

/// The worker for the quantity, precision and integrator of the map on these lanes.
fn work(
    simd: Simd,
    method: &Specification,
    shared: &SharedBatches<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    let (precision, integrator) = (method.precision.kind(), method.integrator.name());
    let work = OfThread {
        simd,
        shared,
        thread,
    };
    let done = (method.quantity).with_method(precision, integrator, work);
    done.expect("validated: the method is in the table")
}

/// Finds the number of lanes of an instruction set.
struct LanesOf {
    simd: Simd,
}

impl OfMethod for LanesOf {
    type Output = usize;

    fn visit<Q: Quantity<Value: Value>, P: Number, I: MapIntegrator>(
        self,
        _: Entries<Q, P, I>,
    ) -> usize {
        self.simd.run(CountOf(PhantomData::<P>))
    }
}

/// The number of lanes of a precision.
struct CountOf<P>(PhantomData<P>);

impl<P: Number> OnLanes for CountOf<P> {
    type Output = usize;
    const ALONE: bool = cfg!(test);

    #[inline(always)]
    fn on<D: Bits<Alone = f64>, S: Single>(self) -> usize {
        <P::OnLanes<D, S> as Real>::LANES
    }
}

/// A thread's work in an instruction set.
struct OfThread<'a> {
    simd: Simd,
    shared: &'a SharedBatches<'a>,
    thread: usize,
}

impl OfMethod for OfThread<'_> {
    type Output = Result<(), EngineError>;

    fn visit<Q: Quantity<Value: Value>, P: Number, I: MapIntegrator>(
        self,
        _: Entries<Q, P, I>,
    ) -> Self::Output {
        self.simd.run(ByMethod {
            shared: self.shared,
            thread: self.thread,
            method: PhantomData::<(Q, P, I)>,
        })
    }
}

/// A thread's work by a method.
struct ByMethod<'a, M> {
    shared: &'a SharedBatches<'a>,
    thread: usize,
    method: PhantomData<M>,
}

impl<Q: Quantity<Value: Value>, P: Number, I: MapIntegrator> OnLanes for ByMethod<'_, (Q, P, I)> {
    type Output = Result<(), EngineError>;
    // Each instruction set takes minutes to compile. The tests of the systems compare the bits of all.
    const ALONE: bool = cfg!(test);

    #[inline(always)]
    fn on<D: Bits<Alone = f64>, S: Single>(self) -> Self::Output {
        worker::<Q, I, P::OnLanes<D, S>>(self.shared, self.thread)
    }
}

/// Takes the steps of pixels until the run is over. Inlined into a function with the lanes' instruction set.
#[inline(always)]
fn worker<Q: Quantity<Value: Value>, I: MapIntegrator, R: Real>(
    shared: &SharedBatches<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    let mut masses = Q::own_masses::<R, I>(&shared.job.masses);
    let mut lanes = LaneState::<Q, I, R>::fresh(shared.job);
    let mut source = Batches::<Q::Value>::new(shared);
    loop {
        let went = lanes.run_with_masses(shared.job, ROUNDS_PER_SLICE, &mut masses, &mut source);
        if !source.go_on(thread, &mut lanes, went)? {
            return Ok(());
        }
    }
}

impl<V: Value> PixelSource<V> for Batches<'_, V> {
    const OWN_MASSES: bool = true;

    #[inline(always)]
    fn next(&mut self) -> Option<Pixel> {
        self.next_pixel()
    }

    #[inline(always)]
    fn done(&mut self, slot: u32, value: V) {
        *self.value(slot) = value;
        self.count(slot);
    }

    #[inline(always)]
    fn point(&self, job: &Job, number: u64) -> Point {
        let point = self.shared.task.spec.point(number);
        point.unwrap_or_else(|| job.grid.point(number))
    }

    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        self.shared.task.spec.masses(number)
    }
}
