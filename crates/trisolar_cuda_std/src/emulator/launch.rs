//! A launch: its dimensions, its options and their limits.

use super::error::EmulatorError;
use super::memory::MAX_SHARED_BYTES;

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

    pub(super) fn count(self) -> u64 {
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

/// What a launch ran and used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Blocks run.
    pub blocks: u64,
    /// Threads run.
    pub threads: u64,
    /// Barriers passed, counted once for a block.
    pub barriers: u64,
    /// Warp operations, counted once for all lanes that made one together.
    pub warp_operations: u64,
    /// Largest shared memory of a block in bytes.
    pub shared_bytes: usize,
    /// The kernel's output, if it was [captured](Launch::capture_output).
    pub output: String,
}

/// The dimensions and options of a launch.
#[derive(Clone, Debug)]
#[must_use = "a launch does nothing until `run`"]
pub struct Launch {
    pub(super) grid: Dim3,
    pub(super) block: Dim3,
    pub(super) cluster: Dim3,
    pub(super) shared_bytes: usize,
    pub(super) seed: Option<u64>,
    pub(super) workers: Option<usize>,
    pub(super) stack_bytes: usize,
    pub(super) capture: bool,
}

/// Large enough for a panic with its backtrace; only touched pages cost memory.
const STACK_BYTES: usize = 256 << 10;
const MIN_STACK_BYTES: usize = 16 << 10;

/// The seed of the order of threads in launches that set none.
pub const DEFAULT_SEED: u64 = 1;

impl Launch {
    /// A launch of `grid` blocks of `block` threads each.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self {
            grid: grid.into(),
            block: block.into(),
            cluster: 1.into(),
            shared_bytes: 0,
            seed: Some(DEFAULT_SEED),
            workers: None,
            stack_bytes: STACK_BYTES,
            capture: false,
        }
    }

    /// Sets the bytes of dynamic shared memory of each block.
    pub fn shared_bytes(mut self, bytes: usize) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// Sets the blocks of a [cluster](crate::cluster), for kernels that are launched as closures; `#[kernel(cluster = …)]` sets it otherwise.
    pub fn cluster(mut self, cluster: impl Into<Dim3>) -> Self {
        self.cluster = cluster.into();
        self
    }

    /// Sets the seed of the random order in which threads run, which changes after every wait; the default is [`DEFAULT_SEED`]. A kernel
    /// without races gives the same result for every seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Runs the threads in the order of their index, which hides races that another order shows.
    pub fn natural_order(mut self) -> Self {
        self.seed = None;
        self
    }

    /// Sets the number of CPU threads that run blocks, at least 1; the default is one for each core, at most 16. With one
    /// worker, blocks run one after another, so that a launch is repeatable even if its blocks race.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets the bytes of each thread's stack, at least 16384; the default is 262144. A panic's message is formatted on this
    /// stack.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Collects what the kernel prints in [`Stats::output`] instead of writing it to standard output.
    pub fn capture_output(mut self, capture: bool) -> Self {
        self.capture = capture;
        self
    }

    pub(super) fn check(&self) -> Result<(), EmulatorError> {
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
        let cluster = self.cluster.array();
        if !(1..=u64::from(crate::cluster::MAX_SIZE)).contains(&self.cluster.count()) {
            let given = format!("{} x {} x {}", cluster[0], cluster[1], cluster[2]);
            return bad("the cluster", given, "1 to 8 blocks");
        }
        for ((blocks, of_cluster), what) in (self.grid.array().into_iter()).zip(cluster).zip([
            "the grid's x",
            "the grid's y",
            "the grid's z",
        ]) {
            if !blocks.is_multiple_of(of_cluster) {
                return bad(what, blocks.to_string(), "a multiple of the cluster's");
            }
        }
        if self.shared_bytes > MAX_SHARED_BYTES {
            let block = [0; 3];
            return Err(EmulatorError::SharedMemory {
                block,
                bytes: self.shared_bytes,
                limit: MAX_SHARED_BYTES,
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

/// The closure of a launch without its type, which coroutines on any CPU thread can call.
#[derive(Clone, Copy)]
pub(super) struct AnyKernel {
    pub(super) closure: *const (),
    pub(super) call: unsafe fn(*const ()),
}

// SAFETY: `Launch::run` requires its caller to guarantee that the closure may be called from any thread.
unsafe impl Send for AnyKernel {}
// SAFETY: as above.
unsafe impl Sync for AnyKernel {}

impl AnyKernel {
    pub(super) fn new<F: Fn()>(kernel: &F) -> Self {
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

/// SplitMix64, which is good enough to shuffle threads.
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
