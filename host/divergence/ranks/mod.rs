//! Maps on several MPI ranks: rank 0 has the queue of pixels, takes the results and writes them; every rank, including rank 0,
//! draws pixels for its devices whenever it has few left, so that uneven maps and unequal ranks finish together.
//!
//! [`lead`] runs what rank 0 does, with all ranks' devices behind a [`Crew`]; meanwhile the others [`serve`], until rank 0
//! [`dismiss`]es them. MPI is called by the thread that joined the [`World`](trisolar_run::mpi::World) only; the threads that
//! compute leave their messages with the [`Post`](post::Post).

mod crew;
mod feed;
mod gpus;
mod message;
mod post;
mod report;
mod serve;

pub use self::crew::{Crew, dismiss, lead};
pub use self::gpus::share;
pub use self::serve::{Local, serve};
