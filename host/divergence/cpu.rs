//! The CPU engine: threads with SIMD lanes. A lane gets another pixel as soon as its pixel is done.

use std::marker::PhantomData;
use std::ops::Range;

use kernels_gpu::Real;
use kernels_gpu::integrator::MapIntegrator;
use kernels_gpu::lanes::{LaneMasses, LaneState, Pixel, PixelSource};
use kernels_gpu::map::{Job, Masses, Point};
use kernels_gpu::methods::Entries;
use kernels_gpu::number::Precision as Number;
use kernels_gpu::quantity::Quantity;

use super::Specification;
use super::batches::{Batches, ROUNDS_PER_SLICE, SharedBatches, Work};
use super::engine::{Engine, Ran, Task};
use super::quantity::OfMethod;
use super::queue::Share;
use super::scheduler::{self, Worker};
use super::value::Value;
use trisolar_run::{EngineError, Monitor, Workers};
use trisolar_simd::Simd;
#[cfg(target_arch = "x86_64")]
use trisolar_simd::{F32x8, F32x16, F64x4, F64x8};

/// Computes maps on the CPU.
#[derive(Debug)]
pub struct CpuEngine {
    workers: Workers,
}

impl CpuEngine {
    /// An engine with this many threads (`None`: as many as the process may use) and the fastest lanes of this machine.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system cannot start that many.
    pub fn new(threads: Option<usize>) -> Result<Self, EngineError> {
        Self::with_simd(threads, None)
    }

    /// An engine with lanes that the caller chooses from [`Simd::available`] (`None`: the fastest).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_simd(
        threads: Option<usize>,
        simd: impl Into<Option<Simd>>,
    ) -> Result<Self, EngineError> {
        let workers = Workers::with_simd(threads, simd)?;
        Ok(Self { workers })
    }

    pub(super) fn workers(&self) -> &Workers {
        &self.workers
    }
}

impl Engine for CpuEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        self.workers.in_words()
    }

    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError> {
        scheduler::run(&[self], None, task, monitor)
    }
}

impl Worker for CpuEngine {
    fn label(&self) -> String {
        self.device()
    }

    fn capacity(&self, specification: &Specification) -> u64 {
        let (precision, integrator) = (&specification.precision, &specification.integrator);
        let lanes = LanesOf {
            simd: self.workers.simd(),
        };
        let quantity = specification.quantity;
        let lanes = quantity.with_method(precision.kind(), integrator.name(), lanes);
        (self.workers.threads() * lanes.unwrap_or(1)) as u64
    }

    fn work(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        // The job begins with pixel 0, because the lanes get the numbers of their pixels together with the pixels.
        let job = task.spec.job(0, 0);
        let shared = SharedBatches::new(&self.workers, task.spec, &job, share);
        if !shared.begin() {
            return share.check();
        }
        let results = self.workers.broadcast(|context| {
            work(
                self.workers.simd(),
                task.spec.specification(),
                &shared,
                context.index(),
            )
        });
        results.into_iter().collect()
    }
}

/// The worker for the quantity, precision and integrator of the map on these lanes.
fn work(
    simd: Simd,
    method: &Specification,
    shared: &SharedBatches<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    let (precision, integrator) = (method.precision.kind(), method.integrator.name());
    let on_lanes = OnLanes {
        simd,
        shared,
        thread,
    };
    let done = (method.quantity).with_method(precision, integrator, on_lanes);
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
        match self.simd {
            Simd::Scalar => <P::OnLanes<f64, f32> as Real>::LANES,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => <P::OnLanes<F64x4, F32x8> as Real>::LANES,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => <P::OnLanes<F64x8, F32x16> as Real>::LANES,
        }
    }
}

/// A thread's work in an instruction set.
struct OnLanes<'a> {
    simd: Simd,
    shared: &'a SharedBatches<'a>,
    thread: usize,
}

impl OfMethod for OnLanes<'_> {
    type Output = Result<(), EngineError>;

    fn visit<Q: Quantity<Value: Value>, P: Number, I: MapIntegrator>(
        self,
        _: Entries<Q, P, I>,
    ) -> Self::Output {
        let Self {
            simd,
            shared,
            thread,
        } = self;
        match simd {
            Simd::Scalar => worker_scalar::<Q, I, P::OnLanes<f64, f32>>(shared, thread),
            // SAFETY: a CpuEngine holds only instruction sets that the machine has.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { worker_avx2::<Q, I, P::OnLanes<F64x4, F32x8>>(shared, thread) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe {
                worker_avx512::<Q, I, P::OnLanes<F64x8, F32x16>>(shared, thread)
            },
        }
    }
}

/// Not inlined, because the compiler takes twice as long for a function that contains all of them.
#[inline(never)]
fn worker_scalar<Q: Quantity<Value: Value>, I: MapIntegrator, R: Real>(
    shared: &SharedBatches<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<Q, I, R>(shared, thread)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn worker_avx2<Q: Quantity<Value: Value>, I: MapIntegrator, R: Real>(
    shared: &SharedBatches<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<Q, I, R>(shared, thread)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn worker_avx512<Q: Quantity<Value: Value>, I: MapIntegrator, R: Real>(
    shared: &SharedBatches<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<Q, I, R>(shared, thread)
}

/// Takes the steps of pixels until the run is over. Inlined into a function with the lanes' instruction set.
#[inline(always)]
fn worker<Q: Quantity<Value: Value>, I: MapIntegrator, R: Real>(
    shared: &SharedBatches<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    let mut masses = LaneMasses::new(&shared.job.masses);
    let mut lanes = LaneState::<Q, I, R>::fresh(shared.job);
    let mut source = Batches::new(shared, FromStart::<Q::Value>(PhantomData));
    loop {
        let went = lanes.run_with_masses(shared.job, ROUNDS_PER_SLICE, &mut masses, &mut source);
        if !source.go_on(thread, &mut lanes, went)? {
            return Ok(());
        }
    }
}

/// Computes pixels from their starts and keeps the value of each.
struct FromStart<V>(PhantomData<V>);

impl<V: Value> Work for FromStart<V> {
    type Value = V;

    fn begin(&self, span: Range<u64>) -> Vec<V> {
        vec![V::default(); (span.end - span.start) as usize]
    }

    fn deliver(&self, share: Share<'_>, first: u64, values: &[V]) -> Result<(), EngineError> {
        share.deliver(first, V::slice(values))
    }
}

impl<V: Value> PixelSource<V> for Batches<'_, FromStart<V>> {
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
        let point = self.shared.spec.point(number);
        point.unwrap_or_else(|| job.grid.point(number))
    }

    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        self.shared.spec.masses(number)
    }
}
