//! The part of the ranks other than rank 0, which compute the items that rank 0 grants.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use super::mailbox::{Channel, Mailbox};
use super::message::Message;
use super::report::Report;
use crate::{EngineError, Messages};

/// A task in which a rank is to take part.
#[derive(Clone, Debug)]
pub struct Begin {
    /// The specification of the items, as rank 0 sent it.
    pub work: Value,
    /// Number of items that this rank is expected to compute.
    pub items: u64,
    /// The task's number, if each is to be computed on one GPU, in turn.
    pub turn: Option<u64>,
}

/// Why a rank cannot take part.
#[derive(Debug)]
pub enum Unable {
    /// Its devices cannot go on.
    Engine(EngineError),
    /// Another reason, in words.
    Reason(String),
}

impl From<EngineError> for Unable {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

/// What a rank other than rank 0 computes.
pub trait Member: Sync {
    /// Computes the items that rank 0 grants, through [`Granted`](super::Granted), until rank 0 has no more.
    ///
    /// # Errors
    /// The reason why it cannot go on, which ends the run for all ranks.
    fn compute(&self, begin: Begin, channel: &Channel<'_>) -> Result<Report, Unable>;
}

/// Computes for rank 0, which is in [`lead`](super::lead), until rank 0 calls [`shutdown`](super::shutdown). Returns the exit code.
pub fn serve(world: &dyn Messages, member: &dyn Member) -> u8 {
    let (mailbox, given) = Mailbox::new();
    let mut code = None;
    std::thread::scope(|scope| {
        while code.is_none() {
            mailbox.work(world, &given, |_, number, message| match message {
                Message::Begin { work, items, turn } => {
                    let channel = mailbox.channel(number, 0);
                    let begin = Begin { work, items, turn };
                    scope.spawn(move || take_part(member, begin, &channel));
                }
                Message::Quit(given) => code = Some(given),
                // The message belongs to a task that has ended.
                _ => {}
            });
        }
        // Threads that still compute learn that the run is over.
        mailbox.hang_up();
    });
    let code = code.unwrap_or_default();
    world.send_bytes(0, Message::Quit(code).to_bytes(u32::MAX));
    code
}

/// Computes until rank 0 has no more items, and returns a report, or the reason why it cannot.
fn take_part(member: &dyn Member, begin: Begin, channel: &Channel<'_>) {
    let failed = |gpus, reason| Message::Failed { gpus, reason };
    let outcome = match catch_unwind(AssertUnwindSafe(|| member.compute(begin, channel))) {
        Ok(Ok(report)) => Message::Ended(report),
        // Rank 0 knows this already.
        Ok(Err(Unable::Engine(EngineError::Cancelled))) => return,
        Ok(Err(Unable::Engine(EngineError::Refused {
            option: "gpus",
            given,
            reason,
        }))) => failed(Some(given), reason),
        Ok(Err(Unable::Engine(error))) => failed(None, error.to_string()),
        Ok(Err(Unable::Reason(reason))) => failed(None, reason),
        Err(panic) => failed(None, format!("internal error: {}", words(&*panic))),
    };
    channel.send(&outcome);
}

/// The message of a panic.
fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic")
}
