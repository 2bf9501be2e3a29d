//! Runs on several MPI ranks. Rank 0 has the queue of items, takes the results and writes them. Every rank, including rank 0, draws items
//! for its devices whenever it has few left, so that all ranks end together even if items or ranks are unequal.
//!
//! [`lead`] runs the work of rank 0, which reaches all ranks through a [`Leader`]. Meanwhile the other ranks [`serve`], until rank 0 calls
//! [`shutdown`]. Only the system knows the items and the form of their results: here they are JSON at the beginning of a task and bytes
//! from then on. Only the thread that joined the ranks calls [`Messages`](crate::Messages). It sends what the threads that compute have put into a
//! mailbox, and gives them what arrives.

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
