//! The statics `#[address_space(shared)]` of the program.
//!
//! On the CPU such a static has one address, but each block has its own on a GPU. So the blocks of a program with such statics
//! take turns, those of other launches at the same time included: a block has the statics from its start to its end, but for the
//! times when its threads do nothing but wait for other blocks.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::memory::FRESH_BYTE;

/// All of them, gathered by the linker.
#[doc(hidden)]
#[linkme::distributed_slice]
pub static SHARED_STATICS: [SharedStatic];

/// One of them. For the macro alone.
#[doc(hidden)]
#[derive(Debug)]
pub struct SharedStatic {
    address: *mut u8,
    bytes: usize,
}

// SAFETY: the memory is used by who has the turn alone.
unsafe impl Sync for SharedStatic {}

impl SharedStatic {
    /// # Safety
    /// The address of a static that can be written, and its size.
    #[must_use]
    pub const unsafe fn new(address: *mut u8, bytes: usize) -> Self {
        Self { address, bytes }
    }

    fn write(&self, bytes: &[u8]) {
        // SAFETY: as `new` says; the turn keeps others away.
        unsafe {
            self.address
                .copy_from_nonoverlapping(bytes.as_ptr(), self.bytes)
        }
    }

    fn read(&self, into: &mut Vec<u8>) {
        let from = into.len();
        into.resize(from + self.bytes, 0);
        // SAFETY: as `write`.
        unsafe {
            self.address
                .copy_to_nonoverlapping(into[from..].as_mut_ptr(), self.bytes)
        }
    }
}

/// Tickets, served in the order in which they were drawn.
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
    /// Waits for it; `None` if the program has no such statics.
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

    /// Lets the blocks that wait have their turns, and takes the next with the statics as they were.
    pub fn pass(&mut self) {
        let waiting = {
            let queue = queue();
            queue.next > queue.serving + 1
        };
        if !waiting {
            return;
        }
        let mut kept = Vec::new();
        SHARED_STATICS.iter().for_each(|s| s.read(&mut kept));
        release();
        wait();
        let mut rest = &kept[..];
        for s in SHARED_STATICS {
            s.write(rest);
            rest = &rest[s.bytes..];
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
