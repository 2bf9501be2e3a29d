//! The items of a run on several MPI ranks: rank 0 has the queue of items, takes the results and writes them; every rank, including
//! rank 0, draws items for its devices whenever it has few left, so that uneven items and unequal ranks finish together.
//!
//! [`lead`] runs what rank 0 does, with all ranks behind a [`Leader`]; meanwhile the others [`serve`], until rank 0 [`shutdown`]s
//! them. What the items are, and what their results look like, is known to the system alone: it is JSON at the beginning of a task and
//! bytes from then on. MPI is called by the thread that joined the [`World`](crate::mpi::World) only; the threads that compute leave
//! their messages with the [`Mailbox`](mailbox::Mailbox).

mod feed;
mod gpus;
mod leader;
mod mailbox;
mod message;
mod report;
mod serve;

pub use self::feed::{FromShare, Granted, ToShare};
pub use self::gpus::{in_turn, share, shared};
pub use self::leader::{Leader, Task, lead, shutdown};
pub use self::mailbox::Channel;
pub use self::message::Piece;
pub use self::report::{Report, Together};
pub use self::serve::{Begin, Member, Unable, serve};
