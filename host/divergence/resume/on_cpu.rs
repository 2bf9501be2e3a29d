//! Pixels under way on the CPU: threads × SIMD lanes, every lane refilled as soon as its pixel is done.

use std::ops::Range;

use kernels_gpu::divergence::{Course, Feed, Leave, Pixel, Twins, Walker};
use kernels_gpu::integrator::three_body::{ExplicitEuler, State};
use kernels_gpu::physics::three_body::Relative;
use kernels_gpu::{Real, Vec3};

use super::super::batches::{Batches, SLICE, Work};
use super::super::cpu::{CpuEngine, Shared};
use super::super::engine::EngineError;
use super::super::queue::Share;
use super::{Item, Resuming, Stepper};
use crate::simd::Simd;

impl Stepper for CpuEngine {
    fn step(&self, task: &Resuming<'_>, share: Share<'_>) -> Result<(), EngineError> {
        let job = task.spec.job(0, 0);
        let shared = Shared::new(self, task.spec, &job, share);
        if !shared.begin() {
            return share.check();
        }
        let results = self
            .pool()
            .broadcast(|context| work(self.simd(), task, &shared, context.index()));
        results.into_iter().collect()
    }
}

type OneStep<R> = [Relative<R>; 0];

/// One lane of twins.
#[inline(always)]
fn one_lane<R: Real>(twins: &Twins<R, OneStep<R>>, lane: usize) -> Twins<f64, OneStep<f64>> {
    let vector = |v: Vec3<R>| Vec3 {
        x: v.x.to_f64(lane),
        y: v.y.to_f64(lane),
        z: v.z.to_f64(lane),
    };
    let relative = |r: &Relative<R>| Relative {
        a: vector(r.a),
        b: vector(r.b),
    };
    let state = |s: &State<R, OneStep<R>>| State {
        q: relative(&s.q),
        u: relative(&s.u),
        memory: [],
    };
    Twins {
        a: state(&twins.a),
        b: state(&twins.b),
    }
}

/// Items from where they are.
impl Work for &Resuming<'_> {
    type Value = Item;

    fn begin(&self, span: Range<u64>) -> Vec<Item> {
        span.map(|number| self.items.get(number)).collect()
    }

    fn deliver(&self, share: Share<'_>, first: u64, items: &[Item]) -> Result<(), EngineError> {
        self.items.put(first, items);
        share.deliver(first, &self.times(items))
    }
}

impl Feed for Batches<'_, &Resuming<'_>> {
    #[inline(always)]
    fn next(&mut self) -> Option<Pixel> {
        self.next_pixel()
    }

    #[inline(always)]
    fn done(&mut self, slot: u32, _: u32) {
        self.count(slot);
    }
}

impl<R: Real> Course<R, OneStep<R>> for Batches<'_, &Resuming<'_>> {
    #[inline(always)]
    fn resume(&mut self, slot: u32) -> Option<(Twins<R, OneStep<R>>, u32)> {
        let item = self.value(slot);
        let state = |s: &State<f64, OneStep<f64>>| State::new(&s.q, &s.u);
        let twins = Twins {
            a: state(&item.twins.a),
            b: state(&item.twins.b),
        };
        Some((twins, item.taken))
    }

    #[inline(always)]
    fn leave(&mut self, slot: u32, end: Leave<'_, R, OneStep<R>>) {
        *self.value(slot) = Item {
            twins: one_lane(end.twins, end.lane),
            taken: end.taken,
            parted: end.parted,
        };
    }
}

fn work(
    simd: Simd,
    task: &Resuming<'_>,
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    match simd {
        Simd::Scalar => worker::<f64, 1>(task, shared, thread),
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
fn worker_avx2(task: &Resuming<'_>, shared: &Shared<'_>, thread: usize) -> Result<(), EngineError> {
    worker::<crate::simd::F64x4, 4>(task, shared, thread)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn worker_avx512(
    task: &Resuming<'_>,
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<crate::simd::F64x8, 8>(task, shared, thread)
}

/// Steps items until the run is over. Inlined into a function with the lanes' instruction set.
#[inline(always)]
fn worker<R: Real, const N: usize>(
    task: &Resuming<'_>,
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    let mut walker = Walker::<R, N, ExplicitEuler>::fresh();
    let mut feed = Batches::new(shared, task);
    loop {
        let went = walker.walk_course(shared.job, SLICE, &mut feed);
        if !feed.go_on(thread, &mut walker, went)? {
            return Ok(());
        }
    }
}
