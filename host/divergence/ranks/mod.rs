//! Maps on several MPI ranks: rank 0 has the queue of pixels, takes the results and writes them; every rank, including rank 0,
//! draws pixels for its devices whenever few are left, so that uneven maps and unequal ranks finish together.
//!
//! [`lead`] runs what rank 0 does, with all ranks' devices behind a [`Leader`]; meanwhile the others [`serve`], until rank 0
//! [`shutdown`]es them. MPI is called by the thread that joined the [`World`](trisolar_run::mpi::World) only; the threads that
//! compute leave their messages with the [`Mailbox`](mailbox::Mailbox).

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
