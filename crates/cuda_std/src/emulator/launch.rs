//! A launch: its dimensions and options, checked, and the blocks spread over CPU threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::block::Worker;
use super::error::EmulatorError;
use super::memory::LIMIT;
use super::statics::Turn;
use crate::Kernel;

/// Extent of a grid (in blocks) or a block (in threads).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim3 {
    /// Along x, which runs fastest.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

impl Dim3 {
    pub(crate) fn array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }

    fn count(self) -> u64 {
        self.array()
            .into_iter()
            .map(u64::from)
            .fold(1, u64::saturating_mul)
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self { x, y, z }
    }
}

impl From<glam::UVec2> for Dim3 {
    fn from(v: glam::UVec2) -> Self {
        Self {
            x: v.x,
            y: v.y,
            z: 1,
        }
    }
}

impl From<glam::UVec3> for Dim3 {
    fn from(v: glam::UVec3) -> Self {
        Self {
            x: v.x,
            y: v.y,
            z: v.z,
        }
    }
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Blocks run.
    pub blocks: u64,
    /// Threads run.
    pub threads: u64,
    /// Barriers passed, counted once for a block.
    pub barriers: u64,
    /// Warp operations, counted once for the lanes that made one together.
    pub warp_operations: u64,
    /// Largest shared memory of a block in bytes.
    pub shared_bytes: usize,
    /// What the kernel printed, if [captured](Launch::capture_output).
    pub output: String,
}

/// A launch to be: dimensions and options.
#[derive(Clone, Debug)]
#[must_use = "a launch does nothing until `run`"]
pub struct Launch {
    pub(super) grid: Dim3,
    pub(super) block: Dim3,
    pub(super) shared_bytes: usize,
    pub(super) seed: Option<u64>,
    workers: Option<usize>,
    pub(super) stack_bytes: usize,
    pub(super) capture: bool,
}

/// A stack that holds a panic with its backtrace; only touched pages cost memory.
const STACK_BYTES: usize = 256 << 10;
const MIN_STACK_BYTES: usize = 16 << 10;
/// With more, the stacks of blocks that wait at barriers would be too many mappings for Linux's default limit.
const MAX_DEFAULT_WORKERS: usize = 16;

impl Launch {
    /// `grid` blocks of `block` threads each.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self {
            grid: grid.into(),
            block: block.into(),
            shared_bytes: 0,
            seed: None,
            workers: None,
            stack_bytes: STACK_BYTES,
            capture: false,
        }
    }

    /// Bytes of dynamic shared memory of each block.
    pub fn shared_bytes(mut self, bytes: usize) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// Runs threads in a random order, another one after each wait, that this seed decides. Without a seed they run in
    /// the order of their index. A kernel without races gives the same result for every seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// CPU threads that run blocks: 1 or more, by default one a core up to 16. With one, blocks run one
    /// after the other and a launch is repeatable even if its blocks race.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Bytes of each thread's stack, at least 16384; by default 262144. Panics print from this stack.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Collects what the kernel prints in [`Stats::output`] instead of writing it to standard output.
    pub fn capture_output(mut self, capture: bool) -> Self {
        self.capture = capture;
        self
    }

    /// Runs `kernel` once for every thread of the grid, and returns when all have finished.
    ///
    /// # Errors
    /// See [`EmulatorError`]. If several blocks fail, the error is that of the first in the grid's order among those
    /// that had started.
    ///
    /// # Safety
    /// As a launch on a GPU: `kernel` runs on several CPU threads at once, whether its captures are `Sync` or not. Whatever
    /// it reaches must be valid for that, as the kernel's own contract says.
    pub unsafe fn run<F: Fn()>(&self, kernel: F) -> Result<Stats, EmulatorError> {
        self.run_any(AnyKernel::new(&kernel))
    }

    /// Runs a kernel with these arguments, as [`run`](Self::run) does.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Safety
    /// As a launch on a GPU: the arguments meet the kernel's own contract.
    pub unsafe fn run_kernel<K: Kernel>(
        &self,
        arguments: K::Arguments,
    ) -> Result<Stats, EmulatorError> {
        // SAFETY: the function is that of the arguments; the caller's promise for the rest.
        unsafe { self.run_erased(std::ptr::from_ref(&arguments).cast(), one_thread::<K>) }
    }

    /// Runs `thread` with `arguments` once for every thread of the grid: [`run_kernel`](Self::run_kernel) for callers that are not
    /// generic over kernels.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Safety
    /// `thread` may be called with `arguments` from several CPU threads at once until this returns.
    pub unsafe fn run_erased(
        &self,
        arguments: *const (),
        thread: unsafe fn(*const ()),
    ) -> Result<Stats, EmulatorError> {
        self.run_any(AnyKernel {
            closure: arguments,
            call: thread,
        })
    }

    /// The same once for all kernels, so that the compiler does not make it anew for each. The closure must outlive the call.
    fn run_any(&self, kernel: AnyKernel) -> Result<Stats, EmulatorError> {
        self.check()?;
        let blocks = self.grid.count();
        let workers = match self.workers {
            Some(workers) => workers,
            None => thread::available_parallelism()
                .map_or(1, usize::from)
                .min(MAX_DEFAULT_WORKERS),
        };
        let workers = workers.min(usize::try_from(blocks).unwrap_or(usize::MAX));
        let shared = Progress {
            launch: self,
            order: Order::new(self.seed, blocks),
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            outcome: Mutex::new((Stats::default(), None)),
            output: Mutex::new(String::new()),
        };
        if workers <= 1 {
            shared.work(kernel);
        } else {
            thread::scope(|scope| {
                for _ in 1..workers {
                    scope.spawn(|| shared.work(kernel));
                }
                shared.work(kernel);
            });
        }
        let (mut stats, failure) = shared
            .outcome
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        stats.output = shared
            .output
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        match failure {
            Some((_, error)) => Err(error),
            None => Ok(stats),
        }
    }

    fn check(&self) -> Result<(), EmulatorError> {
        let bad = |what, given: String, allowed| {
            Err(EmulatorError::Dimensions {
                what,
                given,
                allowed,
            })
        };
        let limits: [(&'static str, u32, u32, &'static str); 6] = [
            (
                "the grid's x",
                self.grid.x,
                i32::MAX as u32,
                "1 to 2147483647",
            ),
            ("the grid's y", self.grid.y, 65_535, "1 to 65535"),
            ("the grid's z", self.grid.z, 65_535, "1 to 65535"),
            ("the block's x", self.block.x, 1024, "1 to 1024"),
            ("the block's y", self.block.y, 1024, "1 to 1024"),
            ("the block's z", self.block.z, 64, "1 to 64"),
        ];
        for (what, given, most, allowed) in limits {
            if given == 0 || given > most {
                return bad(what, given.to_string(), allowed);
            }
        }
        if self.block.count() > 1024 {
            return bad(
                "the number of threads of a block",
                self.block.count().to_string(),
                "at most 1024",
            );
        }
        if self.shared_bytes > LIMIT {
            let block = [0; 3];
            return Err(EmulatorError::SharedMemory {
                block,
                bytes: self.shared_bytes,
                limit: LIMIT,
            });
        }
        if self.workers == Some(0) {
            return bad("the number of workers", "0".into(), "1 or more");
        }
        if self.stack_bytes < MIN_STACK_BYTES {
            return bad(
                "the stack of a thread in bytes",
                self.stack_bytes.to_string(),
                "at least 16384",
            );
        }
        Ok(())
    }
}

/// `kernel` once for every thread of `grid` blocks of `block` threads; [`Launch`] has more options.
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
    // SAFETY: the caller's promise is the same.
    unsafe {
        Launch::new(grid, block)
            .shared_bytes(shared_bytes)
            .run(kernel)
    }
}

/// What one thread of a kernel does; a function for [`Launch::run_erased`].
///
/// # Safety
/// `arguments` must point to the kernel's [`Arguments`](Kernel::Arguments), which meet the kernel's own contract.
pub unsafe fn one_thread<K: Kernel>(arguments: *const ()) {
    // SAFETY: the caller's promise; kernels take what is copied bit by bit.
    unsafe { K::call(arguments.cast::<K::Arguments>().read()) }
}

/// The closure of a launch without its type, to be called from coroutines of any CPU thread.
#[derive(Clone, Copy)]
pub(super) struct AnyKernel {
    closure: *const (),
    call: unsafe fn(*const ()),
}

// SAFETY: `Launch::run` makes its caller promise that the closure may be called from any thread.
unsafe impl Send for AnyKernel {}
// SAFETY: as above.
unsafe impl Sync for AnyKernel {}

impl AnyKernel {
    fn new<F: Fn()>(kernel: &F) -> Self {
        unsafe fn call<F: Fn()>(closure: *const ()) {
            // SAFETY: the pointer was made from an `&F` that lives as long as the launch.
            let kernel = unsafe { &*closure.cast::<F>() };
            kernel();
        }
        Self {
            closure: std::ptr::from_ref(kernel).cast(),
            call: call::<F>,
        }
    }

    pub(super) fn run(self) {
        // SAFETY: `new` paired the pointer with its function, and the launch outlives its threads.
        unsafe { (self.call)(self.closure) };
    }
}

/// What the CPU threads of a launch share.
struct Progress<'a> {
    launch: &'a Launch,
    order: Order,
    next: AtomicU64,
    stop: AtomicBool,
    /// Sums, and the failure of the lowest block so far.
    outcome: Mutex<(Stats, Option<(u64, EmulatorError)>)>,
    output: Mutex<String>,
}

impl Progress<'_> {
    fn work(&self, kernel: AnyKernel) {
        let output = self.launch.capture.then_some(&self.output);
        let mut worker = Worker::new(self.launch, kernel, output);
        let mut failure = None;
        loop {
            // First the turn, then the block: so that blocks begin in their order.
            let turn = Turn::take();
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let Some(block) = self.order.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            if let Err(error) = worker.run_block(block, turn) {
                self.stop.store(true, Ordering::Relaxed);
                failure = Some((block, error));
            }
        }
        let stats = worker.stats();
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let (total, first) = &mut *outcome;
        total.blocks += stats.blocks;
        total.threads += stats.threads;
        total.barriers += stats.barriers;
        total.warp_operations += stats.warp_operations;
        total.shared_bytes = total.shared_bytes.max(stats.shared_bytes);
        if let Some((block, error)) = failure
            && first.as_ref().is_none_or(|(lowest, _)| block < *lowest)
        {
            *first = Some((block, error));
        }
    }
}

/// The order of the blocks: ascending, or a permutation i -> (i · step + start) mod count.
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

/// SplitMix64: enough to shuffle threads with.
#[derive(Clone, Copy)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.next() % (last as u64 + 1)) as usize);
        }
    }
}
