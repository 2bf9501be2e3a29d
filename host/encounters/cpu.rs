//! Encounters on the CPU: threads with SIMD lanes. A lane gets another run as soon as its run has ended.

use std::time::Duration;

use kernels_gpu::encounters::lanes::{Runs, integrate};
use kernels_gpu::encounters::{Pairs, Record, Start};
use kernels_gpu::number::Single;
use kernels_gpu::number::bits::Bits;

use super::{Precision, Task, Validated};
use trisolar_ensemble::LaneItems;
use trisolar_run::queue::Share;
use trisolar_run::{EngineError, Workers};
use trisolar_simd::{OnLanes, Simd, peak};

/// Blocks of steps between two readings of the clock.
const STEP_BLOCKS_PER_CHECK: u32 = 64;

/// The limit of these cores: kicks per second if the `f64` operations of a kick never wait for one another. It is measured for this time.
pub fn kicks_limit(workers: &Workers, length: Duration) -> f64 {
    peak::operations_per_second(workers.simd(), workers.threads(), length)
        / Precision::F64.kick_operations()
}

/// Integrates runs of the task on these threads.
pub(super) fn on_lanes(
    task: &Task<'_>,
    workers: &Workers,
    share: Share<'_>,
) -> Result<(), EngineError> {
    let simd = workers.simd();
    trisolar_ensemble::on_lanes(task, workers, share, |items| {
        lanes(simd, task, &mut OfThread(items));
    })
}

/// The runs of a thread.
struct OfThread<'a, 'b>(&'a mut LaneItems<'b, Validated, Record>);

impl Runs for OfThread<'_, '_> {
    fn next(&mut self) -> Option<u64> {
        self.0.next_item()
    }

    fn start(&mut self, run: u64) -> Start {
        self.0.spec().start(run)
    }

    fn ended(&mut self, run: u64, record: &Record, _: &Pairs<f64>) {
        self.0.ended(run, *record);
    }

    fn stopped(&mut self) -> bool {
        self.0.stopped(STEP_BLOCKS_PER_CHECK)
    }
}

/// Scalar lanes, with the instruction for a fused multiply-add instead of a function call.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma")]
fn scalar_fma(task: &Task<'_>, runs: &mut OfThread<'_, '_>) {
    integrate::<f64, _>(task.spec.settings(), task.spec.stages(), runs);
}

/// A thread's work.
struct Integration<'a, 'b, 'c, 'd>(&'a Task<'b>, &'a mut OfThread<'c, 'd>);

impl OnLanes for Integration<'_, '_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn on<D: Bits<Alone = f64>, S: Single>(self) {
        let Self(task, runs) = self;
        integrate::<D, _>(task.spec.settings(), task.spec.stages(), runs);
    }
}

/// Integrates the runs that the thread can draw.
fn lanes(simd: Simd, task: &Task<'_>, runs: &mut OfThread<'_, '_>) {
    match simd {
        // SAFETY: the line above checks that the machine has the instruction.
        #[cfg(target_arch = "x86_64")]
        Simd::Scalar if trisolar_simd::has_fma() => unsafe { scalar_fma(task, runs) },
        _ => simd.run(Integration(task, runs)),
    }
}
