//! Runs a launch: spreads its blocks over CPU threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::cluster::Team;
use super::error::EmulatorError;
use super::faults::{Watch, keep_messages};
use super::guarded::Running;
use super::launch::{AnyKernel, Dim3, Launch, Random, Stats};
use super::statics::Turn;
use crate::kernel::one_thread;
use crate::{ArgumentError, Exported, Kernel, Memory, Plain, RawSlice, RawSliceMut, SafeKernel};

/// With more workers, the stacks of blocks that wait at barriers would exceed Linux's default limit on memory mappings.
const MAX_DEFAULT_WORKERS: usize = 16;

/// Safe kernels run on slices of the host.
impl Memory for Launch {
    type Array<T: Plain> = [T];

    fn slice<T: Plain>(&self, _: &'static str, array: &[T]) -> Result<RawSlice<T>, ArgumentError> {
        Ok(RawSlice::new(array.as_ptr(), array.len()))
    }

    fn slice_mut<T: Plain>(
        &self,
        _: &'static str,
        array: &mut [T],
    ) -> Result<RawSliceMut<T>, ArgumentError> {
        Ok(RawSliceMut::new(array.as_mut_ptr(), array.len()))
    }
}

impl Launch {
    /// Runs `kernel` once for every thread of the grid, and returns when all have finished.
    ///
    /// # Errors
    /// See [`EmulatorError`]. If several blocks fail, the error is that of the block whose cluster comes first in the grid's order,
    /// among those that had started.
    ///
    /// # Safety
    /// The same as for a launch on a GPU: `kernel` runs on several CPU threads at once, whether its captures are `Sync` or not.
    /// Whatever it accesses must be valid for that, as the kernel's own contract says.
    pub unsafe fn run<F: Fn()>(&self, kernel: F) -> Result<Stats, EmulatorError> {
        self.run_any(AnyKernel::new(&kernel))
    }

    /// Runs a kernel with these arguments, as [`run`](Self::run) does.
    ///
    /// # Errors
    /// The same as for [`run`](Self::run).
    ///
    /// # Safety
    /// The same as for a launch on a GPU: the arguments must meet the kernel's own contract.
    pub unsafe fn run_kernel<K: Kernel>(
        &self,
        arguments: K::Arguments,
    ) -> Result<Stats, EmulatorError> {
        let launch = match K::exported() {
            Some(exported) => self.of_kernel(&exported)?,
            None => self.clone(),
        };
        launch.run_any(AnyKernel {
            closure: std::ptr::from_ref(&arguments).cast(),
            call: one_thread::<K>,
        })
    }

    /// Runs a kernel that is a safe function, on slices of the host. The launch has one dimension.
    ///
    /// # Errors
    /// The same as for [`run`](Self::run), and [`EmulatorError::Argument`] if a slice's length does not fit.
    pub fn run_safe<K: SafeKernel>(
        &self,
        given: K::Given<'_, Self>,
    ) -> Result<Stats, EmulatorError> {
        let (grid, block) = (self.grid, self.block);
        for (what, given) in [
            ("the grid's y", grid.y),
            ("the grid's z", grid.z),
            ("the block's y", block.y),
            ("the block's z", block.z),
        ] {
            if given != 1 {
                return Err(EmulatorError::Dimensions {
                    what,
                    given: given.to_string(),
                    allowed: "1 for a safe kernel",
                });
            }
        }
        let arguments = K::arguments(self, grid.x, given)?;
        // SAFETY: the slices are borrowed until this returns, and a safe kernel uses its own share of those that it writes.
        unsafe { self.run_kernel::<K>(arguments) }
    }

    /// Runs a kernel with `arguments` once for every thread of the grid: [`run_kernel`](Self::run_kernel) for callers that are not
    /// generic over kernels.
    ///
    /// # Errors
    /// The same as for [`run`](Self::run).
    ///
    /// # Safety
    /// `arguments` points to a tuple of the kernel's arguments, and its function may be called with them from several CPU threads at
    /// once until this returns.
    pub unsafe fn run_exported(
        &self,
        kernel: &Exported,
        arguments: *const (),
    ) -> Result<Stats, EmulatorError> {
        self.of_kernel(kernel)?.run_any(AnyKernel {
            closure: arguments,
            call: kernel.thread,
        })
    }

    /// This launch within the bounds and with the clusters of a kernel.
    fn of_kernel(&self, kernel: &Exported) -> Result<Self, EmulatorError> {
        kernel.check_threads(self.block.count())?;
        kernel.check_grid(self.grid.array())?;
        Ok(match kernel.cluster {
            Some([x, y, z]) => self.clone().cluster((x, y, z)),
            None => self.clone(),
        })
    }

    /// The part of a launch that does not depend on the kernel's type, so that it is compiled once. The closure must outlive
    /// the call.
    fn run_any(&self, kernel: AnyKernel) -> Result<Stats, EmulatorError> {
        self.check()?;
        keep_messages();
        let running = Running::begin();
        let clusters = self.grid.count() / self.cluster.count();
        let workers = match self.workers {
            Some(workers) => workers,
            None => thread::available_parallelism()
                .map_or(1, usize::from)
                .min(MAX_DEFAULT_WORKERS),
        };
        let workers = workers.min(usize::try_from(clusters).unwrap_or(usize::MAX));
        let shared = Progress {
            launch: self,
            order: Order::new(self.seed, clusters),
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            outcome: Mutex::new((Stats::default(), None)),
            output: Mutex::new(String::new()),
        };
        // Not the calling thread, which would count as panicking for good after a kernel has been aborted within a panic.
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| shared.work(kernel));
            }
        });
        let (mut stats, failure) = shared
            .outcome
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        stats.output = shared
            .output
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let overrun = running
            .overrun()
            .map(|(side, bytes)| EmulatorError::Overrun { side, bytes });
        match failure.map(|(_, error)| error).or(overrun) {
            Some(error) => Err(error),
            None => Ok(stats),
        }
    }
}

/// Runs `kernel` once for every thread of `grid` blocks of `block` threads; [`Launch`] has more options.
///
/// # Errors
/// See [`EmulatorError`].
///
/// # Safety
/// See [`Launch::run`].
pub unsafe fn launch<F: Fn()>(
    grid: impl Into<Dim3>,
    block: impl Into<Dim3>,
    shared_bytes: usize,
    kernel: F,
) -> Result<Stats, EmulatorError> {
    // SAFETY: the caller guarantees the same.
    unsafe {
        Launch::new(grid, block)
            .shared_bytes(shared_bytes)
            .run(kernel)
    }
}

/// The state that the CPU threads of a launch share.
struct Progress<'a> {
    launch: &'a Launch,
    order: Order,
    next: AtomicU64,
    stop: AtomicBool,
    /// The sums so far, and the failure of the lowest cluster that has failed.
    outcome: Mutex<(Stats, Option<(u64, EmulatorError)>)>,
    output: Mutex<String>,
}

impl Progress<'_> {
    fn work(&self, kernel: AnyKernel) {
        let output = self.launch.capture.then_some(&self.output);
        let _watch = Watch::new();
        let mut team = Team::new(self.launch, kernel, output);
        let mut failure = None;
        loop {
            // Taking the turn before the cluster makes clusters begin in their order.
            let turn = Turn::take();
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let Some(cluster) = self.order.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            if let Err(error) = team.run(cluster, turn) {
                self.stop.store(true, Ordering::Relaxed);
                failure = Some((cluster, error));
            }
        }
        let stats = team.stats();
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let (total, first) = &mut *outcome;
        total.blocks += stats.blocks;
        total.threads += stats.threads;
        total.barriers += stats.barriers;
        total.warp_operations += stats.warp_operations;
        total.shared_bytes = total.shared_bytes.max(stats.shared_bytes);
        if let Some((cluster, error)) = failure
            && first.as_ref().is_none_or(|(lowest, _)| cluster < *lowest)
        {
            *first = Some((cluster, error));
        }
    }
}

/// The order of the clusters: ascending, or a permutation i -> (i · step + start) mod count.
struct Order {
    count: u64,
    step: u64,
    start: u64,
}

impl Order {
    fn new(seed: Option<u64>, count: u64) -> Self {
        let Some(seed) = seed else {
            return Self {
                count,
                step: 1,
                start: 0,
            };
        };
        let mut random = Random::new(seed);
        let start = random.next() % count;
        let step = std::iter::repeat_with(|| random.next() % count)
            .take(64)
            .find(|&step| gcd(step, count) == 1)
            .unwrap_or(1);
        Self { count, step, start }
    }

    fn get(&self, index: u64) -> Option<u64> {
        let place = u128::from(index) * u128::from(self.step) + u128::from(self.start);
        (index < self.count).then_some((place % u128::from(self.count)) as u64)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
