//! Continues pixels on the CPU: threads with SIMD lanes. A lane gets another pixel as soon as its pixel is done.

use std::ops::Range;

use kernels_gpu::Real;
use kernels_gpu::integrator::ExplicitEuler;
use kernels_gpu::lanes::{Ended, LaneState, Pixel, PixelSource, ResumableSource};
use kernels_gpu::number::Single;
use kernels_gpu::number::bits::Bits;
use kernels_gpu::quantity::{Divergence, Quantity};

use super::super::batches::{Batches, ROUNDS_PER_SLICE, SharedBatches, Work};
use super::super::cpu::CpuEngine;
use super::super::queue::Share;
use super::{Item, Resuming, Stepper};
use crate::Value as _;
use trisolar_run::EngineError;
use trisolar_simd::{OnLanes, Simd};

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
    simd.run(OfThread {
        task,
        shared,
        thread,
    })
}

/// A thread's work.
struct OfThread<'a> {
    task: &'a Resuming<'a>,
    shared: &'a SharedBatches<'a>,
    thread: usize,
}

impl OnLanes for OfThread<'_> {
    type Output = Result<(), EngineError>;

    #[inline(always)]
    fn on<D: Bits<Alone = f64>, S: Single>(self) -> Self::Output {
        worker::<D>(self.task, self.shared, self.thread)
    }
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
