//! Stacks of coroutines. They are kept between launches, because mapping one costs more than running most kernel threads.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use corosensei::stack::DefaultStack;

use super::error::EmulatorError;

/// The largest number of kept stacks of one size.
const MAX_KEPT_STACKS: usize = 4096;

static KEPT_STACKS: Mutex<Option<HashMap<usize, Vec<DefaultStack>>>> = Mutex::new(None);

/// The stacks of one CPU thread of a launch.
pub(crate) struct Stacks {
    bytes: usize,
    free: Vec<DefaultStack>,
}

impl Stacks {
    /// Takes over up to `most` kept stacks of this size.
    pub(crate) fn new(bytes: usize, most: usize) -> Self {
        let mut all = KEPT_STACKS.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get_or_insert_default().entry(bytes).or_default();
        let free = kept.split_off(kept.len().saturating_sub(most));
        Self { bytes, free }
    }

    /// Takes a kept stack or allocates one.
    ///
    /// # Errors
    /// [`EmulatorError::Stack`] if there is no memory or the limit on mappings is reached.
    pub(crate) fn take(&mut self) -> Result<DefaultStack, EmulatorError> {
        if let Some(stack) = self.free.pop() {
            return Ok(stack);
        }
        DefaultStack::new(self.bytes).map_err(|error| EmulatorError::Stack {
            bytes: self.bytes,
            reason: error.to_string(),
        })
    }

    /// Returns a stack for reuse.
    pub(crate) fn put(&mut self, stack: DefaultStack) {
        self.free.push(stack);
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let mut all = KEPT_STACKS.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get_or_insert_default().entry(self.bytes).or_default();
        let room = MAX_KEPT_STACKS
            .saturating_sub(kept.len())
            .min(self.free.len());
        kept.extend(self.free.drain(..room));
    }
}
