//! Asynchronous copies. They move no byte before somebody waits for them, so that a kernel that forgets to wait reads what was there before.

use std::collections::VecDeque;

/// The bytes of one copy.
#[derive(Clone, Copy)]
pub(crate) struct Copy {
    pub to: *mut u8,
    /// Null for zeros.
    pub from: *const u8,
    pub bytes: usize,
}

impl Copy {
    fn finish(self) {
        // SAFETY: whoever started the copy has vouched for both places until the wait for it.
        unsafe {
            if self.from.is_null() {
                self.to.write_bytes(0, self.bytes);
            } else {
                self.from.copy_to(self.to, self.bytes);
            }
        }
    }
}

/// The copies that one thread has started and not waited for.
#[derive(Default)]
pub(crate) struct Copies {
    /// Groups that are committed, the oldest first.
    groups: VecDeque<Vec<Copy>>,
    open: Vec<Copy>,
}

impl Copies {
    pub(crate) fn start(&mut self, copy: Copy) {
        self.open.push(copy);
    }

    pub(crate) fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// Finishes all groups but the latest `pending`.
    pub(crate) fn wait(&mut self, pending: usize) {
        while self.groups.len() > pending {
            for copy in self.groups.pop_front().into_iter().flatten() {
                copy.finish();
            }
        }
    }

    /// Finishes everything, committed or not.
    pub(crate) fn wait_all(&mut self) {
        self.commit();
        self.wait(0);
    }
}

/// A copy whose end a barrier in shared memory counts.
#[derive(Clone, Copy)]
pub(crate) struct BulkCopy {
    pub barrier: *mut u64,
    pub copy: Copy,
}

impl BulkCopy {
    /// Ends the copies of `barrier`; returns their bytes.
    pub(crate) fn finish_all(copies: &mut Vec<Self>, barrier: *mut u64) -> usize {
        let mut bytes = 0;
        copies.retain(|bulk| {
            let ours = bulk.barrier == barrier;
            if ours {
                bulk.copy.finish();
                bytes += bulk.copy.bytes;
            }
            !ours
        });
        bytes
    }
}
