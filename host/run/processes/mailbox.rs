//! Passes messages between the threads that compute and the thread that may call MPI.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::message::Message;
use crate::Messages;

/// Interval at which the thread checks for messages from other ranks.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

type Parcel = (usize, Vec<u8>);

/// Sends messages to other ranks, and delivers received messages to their channels.
pub(super) struct Mailbox {
    out: Sender<Parcel>,
    lines: Mutex<HashMap<(u32, usize), Sender<Message>>>,
}

impl Mailbox {
    /// The mailbox, and the messages that threads have put into it.
    pub fn new() -> (Self, Receiver<Parcel>) {
        let (out, given) = channel();
        let lines = Mutex::default();
        (Self { out, lines }, given)
    }

    /// Opens the channel for messages about a task between this rank and `peer`.
    pub fn channel(&self, task: u32, peer: usize) -> Channel<'_> {
        let (sender, inbox) = channel();
        self.lines().insert((task, peer), sender);
        Channel {
            mailbox: self,
            task,
            peer,
            inbox: Mutex::new(inbox),
        }
    }

    /// Closes the channel: no more messages are received on it.
    pub fn hang_up(&self) {
        self.lines().clear();
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<(u32, usize), Sender<Message>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the messages of the threads and delivers received messages; `other` receives messages that belong to no channel, with
    /// their rank and task. Waits briefly if there is no message. The thread that initialised MPI must call this repeatedly.
    pub fn work(
        &self,
        world: &dyn Messages,
        given: &Receiver<Parcel>,
        mut other: impl FnMut(usize, u32, Message),
    ) {
        let mut idle = true;
        while let Ok((to, bytes)) = given.try_recv() {
            world.send_bytes(to, bytes);
            idle = false;
        }
        while let Some((from, bytes)) = world.receive_bytes() {
            idle = false;
            let Some((task, message)) = Message::from_bytes(&bytes) else {
                // The message comes from another version of this program and cannot be read.
                // The rank ends in any case, also if the standard error cannot be written.
                let _ = writeln!(
                    std::io::stderr(),
                    "error: rank {from} is not the same program as rank {}",
                    world.rank()
                );
                world.abort(1);
            };
            let channel = self.lines().get(&(task, from)).cloned();
            match channel {
                // A receiver that has gone needs no message.
                Some(channel) => drop(channel.send(message)),
                None => other(from, task, message),
            }
        }
        world.forget_delivered();
        if idle && let Ok((to, bytes)) = given.recv_timeout(POLL_INTERVAL) {
            world.send_bytes(to, bytes);
        }
    }
}

/// One end of a channel for messages about a task between two ranks.
#[allow(missing_debug_implementations)]
pub struct Channel<'a> {
    mailbox: &'a Mailbox,
    task: u32,
    peer: usize,
    inbox: Mutex<Receiver<Message>>,
}

/// The state of a channel.
#[derive(Debug)]
pub(super) enum Received {
    Message(Message),
    Timeout,
    /// No further message will come.
    Closed,
}

impl Channel<'_> {
    pub(super) fn send(&self, message: &Message) {
        // This fails only when the run is over.
        let _ = self
            .mailbox
            .out
            .send((self.peer, message.to_bytes(self.task)));
    }

    /// Waits a short time for a message.
    pub(super) fn receive(&self, most: Duration) -> Received {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        match inbox.recv_timeout(most) {
            Ok(message) => Received::Message(message),
            Err(RecvTimeoutError::Timeout) => Received::Timeout,
            Err(RecvTimeoutError::Disconnected) => Received::Closed,
        }
    }
}

impl Drop for Channel<'_> {
    fn drop(&mut self) {
        self.mailbox.lines().remove(&(self.task, self.peer));
    }
}
