//! The emulated thread that currently runs on this CPU thread: its coordinates, and how it waits for others.

use std::cell::{Cell, OnceCell, RefCell};
use std::panic::Location;
use std::ptr;
use std::sync::Mutex;

use corosensei::Yielder;
use corosensei::trap::CoroutineTrapHandler;

use super::copies::{BulkCopy, Copies};
use super::error::{Fault, Site, fail};
use super::memory::SharedMemory;
use super::warp::{Operation, Together, WarpCall};

/// What ended an emulated thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "signals are caught on Linux only")
)]
pub(crate) enum Signal {
    /// An access to this address, and whether it was a write, if that is known.
    Access { address: usize, write: Option<bool> },
    /// The kernel was aborted, as after a panic that cannot unwind.
    Abort,
    /// An instruction that cannot be executed.
    Instruction,
}

/// The state that the threads of a block share.
pub(crate) struct BlockContext {
    pub shared: RefCell<SharedMemory>,
    /// Copies that end when somebody waits for their barrier.
    pub bulk: RefCell<Vec<BulkCopy>>,
    /// The destination of `print!`, if the launch captures output.
    pub output: Option<*const Mutex<String>>,
    /// Linear index of the block in its cluster.
    pub rank: u32,
    /// Blocks of the cluster in each direction.
    pub cluster_dim: [u32; 3],
    /// The blocks of the cluster by rank.
    pub cluster: OnceCell<Vec<*const BlockContext>>,
    /// Whether a thread of the block has run, and whether all have ended.
    pub begun: Cell<bool>,
    pub ended: Cell<bool>,
}

impl BlockContext {
    /// Index of the block in its cluster.
    pub(crate) fn place_in_cluster(&self) -> [u32; 3] {
        let [x, y, _] = self.cluster_dim;
        [self.rank % x, self.rank / x % y, self.rank / x / y]
    }

    /// The block with this rank, and the place in its shared memory that `pointer` is in that of this block.
    #[track_caller]
    pub(crate) fn mapped(&self, pointer: *mut u8, rank: u32) -> (*const Self, *mut u8) {
        let cluster = self.cluster.get().map_or(&[][..], Vec::as_slice);
        let Some(&block) = cluster.get(rank as usize) else {
            panic!(
                "there is no block of rank {rank} in a cluster of {} blocks",
                cluster.len()
            );
        };
        let Some(place) = self.shared.borrow().locate(pointer) else {
            panic!(
                "map_shared_rank needs an array of shared_array!, shared_slice! or dynamic shared memory of this block"
            );
        };
        // SAFETY: the blocks of a cluster live as long as each other.
        let pointer = unsafe { &*block }.shared.borrow_mut().twin(place);
        (block, pointer)
    }

    /// An address in words, if it is near a shared array of the cluster.
    pub(super) fn describe_shared(&self, address: usize) -> Option<String> {
        let cluster = self.cluster.get().map_or(&[][..], Vec::as_slice);
        cluster.iter().find_map(|block| {
            // SAFETY: the blocks of a cluster live as long as each other.
            let shared = unsafe { &**block }.shared.try_borrow().ok()?;
            shared.describe(address)
        })
    }

    /// Panics unless the block's shared memory can be reached.
    #[track_caller]
    pub(crate) fn assert_running(&self) {
        assert!(
            self.begun.get(),
            "the shared memory of block {} of the cluster was used before the block had begun: call cluster::sync first",
            self.rank
        );
        assert!(
            !self.ended.get(),
            "the shared memory of block {} of the cluster was used after the block had ended: call cluster::sync before its end",
            self.rank
        );
    }
}

/// Where a thread is with regard to the barrier of its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It has not arrived.
    No,
    /// It has arrived, others have not.
    Pending,
    /// All have arrived, and it has not yet waited.
    Complete,
}

/// An emulated thread.
pub(crate) struct Context {
    pub thread_idx: [u32; 3],
    pub block_idx: Cell<[u32; 3]>,
    pub block_dim: [u32; 3],
    pub grid_dim: [u32; 3],
    /// Linear index of the thread in the block.
    pub linear: u32,
    pub block: *const BlockContext,
    pub yielder: Cell<*const Yielder<(), ()>>,
    pub wait: Cell<Wait>,
    /// The result of the last wait: a value and a predicate.
    pub answer: Cell<(u128, bool)>,
    /// The asynchronous copies that this thread has started.
    pub copies: RefCell<Copies>,
    /// The stores of tiles that this thread has started.
    pub stores: RefCell<Copies>,
    /// True when the launch has failed and the thread is being unwound, in which case it no longer waits for anything.
    pub cancelled: Cell<bool>,
    pub arrival: Cell<Arrival>,
    /// How a signal ends the thread, while it runs.
    pub trap: Cell<Option<CoroutineTrapHandler<()>>>,
    /// What has ended it so.
    pub fault: Cell<Option<Signal>>,
    /// The message of its panic, with the place.
    pub message: RefCell<Option<String>>,
    /// Bytes of its stack, and the address of the stack's last inaccessible byte below them.
    pub stack_bytes: usize,
    pub stack_limit: Cell<usize>,
}

impl Context {
    /// Whether an address is just below the thread's stack.
    pub(super) fn is_beyond_stack(&self, address: usize) -> bool {
        const NEAR: usize = 64 << 10;
        let limit = self.stack_limit.get();
        (limit.saturating_sub(NEAR)..limit).contains(&address)
    }

    pub(crate) fn site(&self) -> Site {
        Site {
            block: self.block_idx.get(),
            thread: self.thread_idx,
        }
    }

    pub(crate) fn block(&self) -> &BlockContext {
        // SAFETY: the block outlives its threads, and is used by this CPU thread alone.
        unsafe { &*self.block }
    }

    fn suspend(&self, wait: Wait) -> (u128, bool) {
        if self.cancelled.get() {
            return (0, false);
        }
        self.wait.set(wait);
        // SAFETY: set at the start of the running coroutine, and valid until its end.
        unsafe { &*self.yielder.get() }.suspend(());
        self.answer.get()
    }
}

/// The reason why a thread does not run.
#[derive(Clone, Copy)]
pub(crate) enum Wait {
    /// The thread may run.
    Nothing,
    Barrier(BarrierCall),
    Warp(WarpCall),
    /// At `activemask`, until every other lane of the warp waits for something else.
    ActiveMask(&'static Location<'static>),
    /// For the other threads of the cluster.
    Cluster(&'static Location<'static>),
}

#[derive(Clone, Copy)]
pub(crate) struct BarrierCall {
    pub kind: BarrierKind,
    pub predicate: bool,
    pub at: &'static Location<'static>,
}

/// The barrier functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Plain,
    Count,
    And,
    Or,
}

impl BarrierKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "sync_threads",
            Self::Count => "sync_threads_count",
            Self::And => "sync_threads_and",
            Self::Or => "sync_threads_or",
        }
    }
}

thread_local! {
    static CURRENT: Cell<*const Context> = const { Cell::new(ptr::null()) };
}

/// Makes `context` the running thread and returns the previous one.
pub(crate) fn set_current(context: *const Context) -> *const Context {
    CURRENT.replace(context)
}

/// The running thread, if there is one.
#[inline]
pub(crate) fn try_current<'a>() -> Option<&'a Context> {
    // SAFETY: the scheduler sets the pointer around each run of a thread; callers use the reference within the run.
    unsafe { CURRENT.get().as_ref() }
}

/// The running thread.
///
/// # Panics
/// Panics outside of a launch.
#[inline]
pub(crate) fn current<'a>() -> &'a Context {
    match try_current() {
        Some(context) => context,
        None => outside(),
    }
}

#[cold]
#[inline(never)]
fn outside() -> ! {
    panic!(
        "a function of the GPU was called outside of a launch: on the CPU, run the kernel with cuda_std::emulator::launch"
    )
}

/// Waits for all threads of the block. The result is the count, or 1 for true and 0 for false.
pub(crate) fn wait_for_barrier(
    kind: BarrierKind,
    predicate: bool,
    at: &'static Location<'static>,
) -> u32 {
    current()
        .suspend(Wait::Barrier(BarrierCall {
            kind,
            predicate,
            at,
        }))
        .0 as u32
}

/// Arrives at the barrier of the cluster.
#[track_caller]
pub(crate) fn arrive_at_cluster() {
    let context = current();
    assert!(
        context.arrival.replace(Arrival::Pending) == Arrival::No || context.cancelled.get(),
        "a thread arrives at the barrier of its cluster twice without cluster::wait"
    );
}

/// Waits for the barrier of the cluster.
#[track_caller]
pub(crate) fn wait_for_cluster(at: &'static Location<'static>) {
    let context = current();
    match context.arrival.get() {
        Arrival::No => assert!(
            context.cancelled.get(),
            "a thread waits at the barrier of its cluster without cluster::arrive"
        ),
        Arrival::Pending => {
            context.suspend(Wait::Cluster(at));
        }
        Arrival::Complete => {}
    }
    context.arrival.set(Arrival::No);
}

/// Waits for the lanes in the mask of the call.
pub(crate) fn wait_for_warp(call: WarpCall) -> (u128, bool) {
    let context = current();
    let lane = context.linear % crate::warp::WARP_SIZE;
    if call.mask & (1 << lane) == 0 && !context.cancelled.get() {
        fail(Fault::NotInMask {
            call: call.operation.name(),
            mask: call.mask,
            lane,
            at: call.at,
        });
    }
    context.suspend(Wait::Warp(call))
}

/// Does one step of all 32 lanes of the warp; `part` is this lane's share of it.
pub(crate) fn together<T>(operation: Together, part: &mut T, at: &'static Location<'static>) {
    let context = current();
    let [x, y, z] = context.block_dim;
    let first = context.linear - context.linear % crate::warp::WARP_SIZE;
    assert!(
        x * y * z - first >= crate::warp::WARP_SIZE,
        "{} needs all 32 lanes of a warp, but the block ends after {} of them",
        operation.name,
        x * y * z - first
    );
    wait_for_warp(WarpCall {
        operation: Operation::Together(operation),
        mask: u32::MAX,
        value: std::ptr::from_mut(part) as usize as u128,
        at,
    });
}

/// Waits until the warp has converged as far as it can; returns the lanes that arrived here.
pub(crate) fn wait_for_active(at: &'static Location<'static>) -> u32 {
    current().suspend(Wait::ActiveMask(at)).0 as u32
}

/// Lets the other threads run, including those of blocks that other workers run.
pub(crate) fn pause() {
    std::thread::yield_now();
    current().suspend(Wait::Nothing);
}
