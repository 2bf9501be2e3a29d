//! A device's part in the computation of a map: the pixels that it draws, and the sink that takes their values.

use std::ops::Deref;

use super::sink::Sink;
use super::value::ValueSlice;
use trisolar_run::EngineError;
use trisolar_run::queue;

pub(super) use trisolar_run::queue::{MAX_TIME_AHEAD, Pace, Queue};

/// The handle by which a device takes part in a run.
#[derive(Clone, Copy)]
pub(super) struct Share<'a> {
    share: queue::Share<'a>,
    sink: &'a dyn Sink,
}

impl<'a> Share<'a> {
    /// A share of a queue whose results go to `sink`.
    pub fn new(share: queue::Share<'a>, sink: &'a dyn Sink) -> Self {
        Self { share, sink }
    }

    /// The values of pixels that the device has drawn, from `first` on.
    ///
    /// # Errors
    /// The error that ended the run, or that of the sink, which ends the run.
    pub fn deliver(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        let span = first..first + values.len() as u64;
        (self.share).deliver(span, || self.sink.put(first, values))
    }
}

impl<'a> Deref for Share<'a> {
    type Target = queue::Share<'a>;

    fn deref(&self) -> &Self::Target {
        &self.share
    }
}
