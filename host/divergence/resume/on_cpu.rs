//! Continues pixels on the CPU: threads × SIMD lanes, every lane refilled as soon as its pixel is done.

use std::ops::Range;

use kernels_gpu::Real;
use kernels_gpu::integrator::ExplicitEuler;
use kernels_gpu::lanes::{Ended, LaneState, Pixel, PixelSource, ResumableSource};
use kernels_gpu::quantity::{Divergence, Quantity};

use super::super::batches::{Batches, ROUNDS_PER_SLICE, SharedBatches, Work};
use super::super::cpu::CpuEngine;
use super::super::queue::Share;
use super::{Item, Resuming, Stepper};
use crate::Value as _;
use trisolar_run::EngineError;
use trisolar_simd::Simd;

impl Stepper for CpuEngine {
    fn step(&self, task: &Resuming<'_>, share: Share<'_>) -> Result<(), EngineError> {
        let job = task.spec.job(0, 0);
        let shared = SharedBatches::new(self.workers(), task.spec, &job, share);
        if !shared.begin() {
            return share.check();
        }
        let results = self
            .workers()
            .broadcast(|context| work(self.workers().simd(), task, &shared, context.index()));
        results.into_iter().collect()
    }
}

/// The state of pixels in the lanes of `R`.
type State<R> = <Divergence as Quantity>::State<R, ExplicitEuler>;

/// Continues items from their states.
impl Work for &Resuming<'_> {
    type Value = Item;

    fn begin(&self, span: Range<u64>) -> Vec<Item> {
        span.map(|number| self.items.get(number)).collect()
    }

    fn deliver(&self, share: Share<'_>, first: u64, items: &[Item]) -> Result<(), EngineError> {
        self.items.put(first, items);
        share.deliver(first, u32::slice(&self.times(items)))
    }
}

impl PixelSource<u32> for Batches<'_, &Resuming<'_>> {
    #[inline(always)]
    fn next(&mut self) -> Option<Pixel> {
        self.next_pixel()
    }

    #[inline(always)]
    fn done(&mut self, slot: u32, _: u32) {
        self.count(slot);
    }
}

impl<R: Real<Lane = f64>> ResumableSource<Divergence, ExplicitEuler, R>
    for Batches<'_, &Resuming<'_>>
{
    #[inline(always)]
    fn resume(&mut self, slot: u32) -> Option<(State<f64>, u32)> {
        let item = self.value(slot);
        Some((item.state, item.taken))
    }

    #[inline(always)]
    fn leave(&mut self, slot: u32, end: Ended<'_, Divergence, ExplicitEuler, R>) {
        *self.value(slot) = end.item();
    }
}

fn work(
    simd: Simd,
    task: &Resuming<'_>,
    shared: &SharedBatches<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    match simd {
        Simd::Scalar => worker::<f64>(task, shared, thread),
        // SAFETY: a CpuEngine holds only instruction sets that the machine has.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => unsafe { worker_avx2(task, shared, thread) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => unsafe { worker_avx512(task, shared, thread) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn worker_avx2(
    task: &Resuming<'_>,
    shared: &SharedBatches<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<trisolar_simd::F64x4>(task, shared, thread)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn worker_avx512(
    task: &Resuming<'_>,
    shared: &SharedBatches<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<trisolar_simd::F64x8>(task, shared, thread)
}

/// Steps items until the run is over. Inlined into a function with the lanes' instruction set.
#[inline(always)]
fn worker<R: Real<Lane = f64>>(
    task: &Resuming<'_>,
    shared: &SharedBatches<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    let mut lanes = LaneState::<Divergence, ExplicitEuler, R>::fresh(shared.job);
    let mut source = Batches::new(shared, task);
    loop {
        let went = lanes.resume(shared.job, ROUNDS_PER_SLICE, &mut source);
        if !source.go_on(thread, &mut lanes, went)? {
            return Ok(());
        }
    }
}
