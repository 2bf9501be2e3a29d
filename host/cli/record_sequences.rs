//! The commands below that of an ensemble of records.

use super::Failure;
use super::record_sequence::SequenceCommand;
use super::resume::Typed;
use super::{record_sweep, record_zoom};

/// Sequences of ensembles.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Sequence<C: SequenceCommand> {
    /// Compute a zoom: a sequence of maps towards a point
    Zoom(Box<record_zoom::Args<C>>),
    /// Compute an ensemble for each value of a parameter, or each pair of values of two
    Sweep(Box<record_sweep::Args<C>>),
}

impl<C: SequenceCommand> Sequence<C> {
    /// Computes the frames that are missing.
    pub(crate) fn run(&self, typed: &Typed) -> Result<(), Failure> {
        match self {
            Self::Zoom(args) => record_zoom::run(args, typed),
            Self::Sweep(args) => record_sweep::run(args, typed),
        }
    }
}
