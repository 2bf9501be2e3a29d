//! Where the results of a run go: memory, or a file of a map that is larger than that.

use std::sync::{Mutex, PoisonError};

use crate::run::EngineError;

/// Takes results, from any thread and in any order.
pub trait Sink: Sync {
    /// `times` of the pixels from number `first` on. Every pixel of the run comes once.
    ///
    /// # Errors
    /// What keeps the sink from taking them; it ends the run.
    fn put(&self, first: u64, times: &[u32]) -> Result<(), EngineError>;
}

/// A whole map in memory.
#[derive(Debug)]
pub(super) struct Memory(Mutex<Vec<u32>>);

impl Memory {
    /// Room for a map of this many pixels.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`].
    pub fn new(pixels: u64) -> Result<Self, EngineError> {
        zeroed(pixels).map(|times| Self(Mutex::new(times)))
    }

    /// The map.
    pub fn into_times(self) -> Vec<u32> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Memory {
    fn put(&self, first: u64, times: &[u32]) -> Result<(), EngineError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all[first as usize..][..times.len()].copy_from_slice(times);
        Ok(())
    }
}

/// Memory for the results, or an error if there is not enough.
pub(super) fn zeroed(pixels: u64) -> Result<Vec<u32>, EngineError> {
    let (needed, available) = (pixels * 4, crate::machine::available_memory());
    let out_of_memory = EngineError::OutOfMemory {
        device: "host".into(),
        needed,
        available,
    };
    // The system may promise memory that it has not, and end the program when it is used.
    if available > 0 && needed > available {
        return Err(out_of_memory);
    }
    let mut times = Vec::new();
    let length = usize::try_from(pixels).unwrap_or(usize::MAX);
    times.try_reserve_exact(length).map_err(|_| out_of_memory)?;
    times.resize(length, 0);
    Ok(times)
}
