//! Runs kernels on the CPU: an emulator of the grid with real barriers, warps and shared memory.
//!
//! Every thread of a block is a coroutine. It runs until it finishes or has to wait, for a barrier or for the other lanes of
//! its warp; then the next one runs. Blocks are spread over the CPU's cores, but in a program with statics in shared memory
//! only one block runs at a time. During a launch, the functions of [`thread`](crate::thread), [`warp`](crate::warp),
//! [`shared`](crate::shared) and [`atomic`](crate::atomic) behave as they do on a GPU.
//!
//! ```
//! use cuda_std::emulator::Launch;
//! use cuda_std::prelude::*;
//!
//! /// # Safety
//! /// `data` is valid for `n` values.
//! #[kernel]
//! pub unsafe fn double(data: *mut u32, n: u32) {
//!     let i = thread::index_1d();
//!     if i < n {
//!         // SAFETY: i < n, and every thread has an i of its own.
//!         unsafe { *data.add(i as usize) *= 2 };
//!     }
//! }
//!
//! let mut data = vec![1, 2, 3];
//! let pointer = data.as_mut_ptr();
//! // SAFETY: the pointer is valid for 3 values and nothing else uses it.
//! let stats = unsafe { Launch::new(1, 32).run(|| double(pointer, 3)) }.unwrap();
//! assert_eq!(data, [2, 4, 6]);
//! assert_eq!(stats.threads, 32);
//! ```
//!
//! # What it detects
//! - a barrier that some threads of a block never reach, or at which they call different functions;
//! - a warp operation with lanes that have exited, wait elsewhere, or are not in their own mask;
//! - a panic in a kernel, with its block, thread and line; this includes every slice index out of bounds;
//! - an index that is out of the bounds of a [`SharedSlice`](crate::shared::SharedSlice);
//! - on Linux, reads and writes through raw pointers outside of memory of [`allocate`] and of shared arrays, up to 8 GB away, and a full stack, with
//!   the thread; elsewhere, and where the size of the memory is no multiple of 16 bytes, only writes beside it, when the block or the launch ends;
//! - misaligned pointers and broken contracts of `core`'s unsafe functions, where the program has debug assertions;
//! - missing barriers and races, by their wrong results: threads run one after another, in a random order, which is another one for each
//!   [seed](Launch::seed), and memory starts with a pattern instead of zeros;
//! - asynchronous copies that are read before the wait for them: the bytes move when a thread waits, not before;
//! - shared memory of another block of the cluster, used out of bounds, before that block has begun or after it has ended;
//! - launch dimensions and sizes of shared memory that no GPU accepts.
//!
//! # What it does not detect
//! The emulator misses accesses outside of memory that the program has allocated otherwise, such as a `Vec`, races within one
//! instruction, and anything about time. A thread that spins until another one writes never lets that one run unless it calls
//! [`nanosleep`](crate::thread::nanosleep).

mod block;
mod cluster;
mod context;
mod copies;
mod error;
mod faults;
mod guarded;
mod launch;
mod memory;
mod run;
mod stacks;
mod statics;
mod warp;

pub use crate::kernel::one_thread;
pub use error::{EmulatorError, Site, Waiting};
pub use guarded::{allocate, free};
pub use launch::{DEFAULT_SEED, Dim3, Launch, Stats};
pub use run::launch;
#[doc(hidden)]
pub use statics::{SHARED_STATICS, SharedStatic};

pub(crate) use context::{
    BarrierKind, BlockContext, Context, arrive_at_cluster, current, pause, together, try_current,
    wait_for_active, wait_for_barrier, wait_for_cluster, wait_for_warp,
};
pub(crate) use copies::{BulkCopy, Copy};
pub(crate) use error::{Fault, fail};
pub(crate) use warp::{Operation, Reduction, Together, WarpCall};
