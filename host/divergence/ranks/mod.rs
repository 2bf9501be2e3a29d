//! Maps on several MPI ranks: rank 0 has the queue of pixels, takes the results and writes them; every rank, including rank 0,
//! draws pixels for its devices whenever few are left, so that uneven maps and unequal ranks finish together.
//!
//! [`lead`] runs the work of rank 0, which uses the devices of all ranks through a [`Leader`]. Meanwhile the other ranks [`serve`],
//! until rank 0 calls [`shutdown`]. Only the thread that initialised the [`World`](trisolar_run::mpi::World) calls MPI; the threads
//! that compute send their messages through the [`Mailbox`](mailbox::Mailbox).

mod feed;
mod gpus;
mod leader;
mod mailbox;
mod message;
mod report;
mod serve;

pub use self::gpus::share;
pub use self::leader::{Leader, lead, shutdown};
pub use self::serve::{Local, serve};

/// A source of pixels for a running task.
pub(super) trait Supply: Sync {
    /// Adds pixels to the queue of the devices while they compute, until there are no more, and then closes it.
    fn feed(&self, queue: &super::queue::Queue<'_>);
}
