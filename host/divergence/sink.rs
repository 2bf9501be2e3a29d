//! Destinations of results: memory, or a file for maps that are larger than memory.

use std::sync::{Mutex, PoisonError};

use super::value::{ValueSlice, ValueType, ValueVec};
use trisolar_run::EngineError;

/// Takes results, from any thread and in any order.
pub trait Sink: Sync {
    /// Takes the values of the pixels from number `first` on. Every pixel of the run is passed once.
    ///
    /// # Errors
    /// The reason why the sink cannot take them, which ends the run.
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError>;
}

/// A whole map in memory.
#[derive(Debug)]
pub(super) struct MemorySink(Mutex<ValueVec>);

impl MemorySink {
    /// A sink with memory for a map of this many pixels.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`].
    pub fn new(of: ValueType, pixels: u64) -> Result<Self, EngineError> {
        zeroed(of, pixels).map(|values| Self(Mutex::new(values)))
    }

    /// The map.
    pub fn into_values(self) -> ValueVec {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for MemorySink {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.put(first as usize, values);
        Ok(())
    }
}

/// Memory for the results, or an error if there is not enough.
pub(super) fn zeroed(of: ValueType, pixels: u64) -> Result<ValueVec, EngineError> {
    let needed = pixels * of.size() as u64;
    let available = trisolar_run::machine::available_memory();
    let out_of_memory = EngineError::OutOfMemory {
        device: "host".into(),
        needed,
        available,
    };
    // The system may grant more memory than it has and end the program when the memory is used.
    if available > 0 && needed > available {
        return Err(out_of_memory);
    }
    let length = usize::try_from(pixels).unwrap_or(usize::MAX);
    of.zeroed(length).ok_or(out_of_memory)
}
