//! Stacks of coroutines, kept from launch to launch: mapping one costs more than most kernel threads.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use corosensei::stack::DefaultStack;

use super::error::EmulatorError;

/// Most stacks of one size that are kept.
const KEPT: usize = 4096;

static KEPT_STACKS: Mutex<Option<HashMap<usize, Vec<DefaultStack>>>> = Mutex::new(None);

/// The stacks of one CPU thread of a launch.
pub(crate) struct Stacks {
    bytes: usize,
    free: Vec<DefaultStack>,
}

impl Stacks {
    /// Takes over up to `most` stacks of this size that are lying about.
    pub(crate) fn new(bytes: usize, most: usize) -> Self {
        let mut all = KEPT_STACKS.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get_or_insert_default().entry(bytes).or_default();
        let free = kept.split_off(kept.len().saturating_sub(most));
        Self { bytes, free }
    }

    /// A stack.
    ///
    /// # Errors
    /// [`EmulatorError::Stack`] if there is no memory, or no room for another mapping.
    pub(crate) fn take(&mut self) -> Result<DefaultStack, EmulatorError> {
        if let Some(stack) = self.free.pop() {
            return Ok(stack);
        }
        DefaultStack::new(self.bytes).map_err(|error| EmulatorError::Stack {
            bytes: self.bytes,
            reason: error.to_string(),
        })
    }

    /// Gives a stack back.
    pub(crate) fn put(&mut self, stack: DefaultStack) {
        self.free.push(stack);
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let mut all = KEPT_STACKS.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get_or_insert_default().entry(self.bytes).or_default();
        let room = KEPT.saturating_sub(kept.len()).min(self.free.len());
        kept.extend(self.free.drain(..room));
    }
}
