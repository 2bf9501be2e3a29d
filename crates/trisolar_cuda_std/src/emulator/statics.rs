//! The `#[address_space(shared)]` statics of the program.
//!
//! On a GPU each block has its own copy of such a static, but on the CPU the static has only one address. Therefore the blocks
//! of a program with such statics take turns, including those of concurrent launches. A block's turn lasts from its start to
//! its end, except for the times when its threads only wait for other blocks.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::guarded::FRESH_BYTE;

/// The shared statics of the program, which the linker collects.
#[doc(hidden)]
#[linkme::distributed_slice]
pub static SHARED_STATICS: [SharedStatic];

/// A shared static. Only the macro uses this type.
#[doc(hidden)]
#[derive(Debug)]
pub struct SharedStatic {
    address: *mut u8,
    bytes: usize,
}

// SAFETY: only the holder of the turn uses the memory.
unsafe impl Sync for SharedStatic {}

impl SharedStatic {
    /// # Safety
    /// `address` must be the address of a writable static of `bytes` bytes.
    #[must_use]
    pub const unsafe fn new(address: *mut u8, bytes: usize) -> Self {
        Self { address, bytes }
    }

    fn write(&self, bytes: &[u8]) {
        // SAFETY: `new` guarantees the memory, and the turn excludes other users.
        unsafe {
            self.address
                .copy_from_nonoverlapping(bytes.as_ptr(), self.bytes)
        }
    }

    fn read(&self, into: &mut Vec<u8>) {
        let from = into.len();
        into.resize(from + self.bytes, 0);
        // SAFETY: the same as for `write`.
        unsafe {
            self.address
                .copy_to_nonoverlapping(into[from..].as_mut_ptr(), self.bytes)
        }
    }
}

/// A queue of tickets, which are served in the order in which they were drawn.
struct Queue {
    next: u64,
    serving: u64,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    next: 0,
    serving: 0,
});
static SERVED: Condvar = Condvar::new();

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait() {
    let mut queue = queue();
    let ticket = queue.next;
    queue.next += 1;
    while queue.serving != ticket {
        queue = SERVED.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

fn release() {
    queue().serving += 1;
    SERVED.notify_all();
}

/// A block's turn to use the statics.
pub(super) struct Turn(());

impl Turn {
    /// Waits for a turn; returns `None` if the program has no such statics.
    pub fn take() -> Option<Self> {
        if SHARED_STATICS.is_empty() {
            return None;
        }
        wait();
        let most = SHARED_STATICS.iter().map(|s| s.bytes).max();
        let fresh = vec![FRESH_BYTE; most.unwrap_or(0)];
        SHARED_STATICS.iter().for_each(|s| s.write(&fresh));
        Some(Self(()))
    }

    /// Lets waiting blocks have their turns, then waits for the next turn and restores the statics.
    pub fn pass(&mut self) {
        let waiting = {
            let queue = queue();
            queue.next > queue.serving + 1
        };
        if !waiting {
            return;
        }
        let mut kept = Vec::new();
        self.save(&mut kept);
        release();
        wait();
        self.restore(&kept);
    }

    /// Copies the content of the statics.
    pub fn save(&mut self, into: &mut Vec<u8>) {
        into.clear();
        SHARED_STATICS.iter().for_each(|s| s.read(into));
    }

    /// Replaces the content of the statics by what [`save`](Self::save) has copied.
    pub fn restore(&mut self, mut from: &[u8]) {
        for s in SHARED_STATICS {
            let (first, rest) = from.split_at(s.bytes);
            s.write(first);
            from = rest;
        }
    }

    /// Bytes of the statics that the block has written to.
    pub fn written(&self) -> usize {
        let mut found = Vec::new();
        let is_written = |s: &&SharedStatic| {
            found.clear();
            s.read(&mut found);
            found.iter().any(|byte| *byte != FRESH_BYTE)
        };
        (SHARED_STATICS.iter())
            .filter(is_written)
            .map(|s| s.bytes)
            .sum()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        release();
    }
}
