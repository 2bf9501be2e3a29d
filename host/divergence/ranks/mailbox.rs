//! Messages between the threads that compute and the one that may call MPI.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::message::Message;
use trisolar_run::mpi::World;

/// Interval between two checks for messages from other ranks.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

type Outgoing = (usize, Vec<u8>);

/// Sends messages to other ranks, and delivers messages of other ranks to the threads that wait for them.
pub(super) struct Mailbox {
    out: Sender<Outgoing>,
    channels: Mutex<HashMap<(u32, usize), Sender<Message>>>,
}

impl Mailbox {
    /// The mailbox, and the receiving end of its outgoing messages.
    pub fn new() -> (Self, Receiver<Outgoing>) {
        let (out, outgoing) = channel();
        let channels = Mutex::default();
        (Self { out, channels }, outgoing)
    }

    /// The messages about a task between this rank and `peer`.
    pub fn channel(&self, task: u32, peer: usize) -> Channel<'_> {
        let (sender, inbox) = channel();
        self.channels().insert((task, peer), sender);
        Channel {
            mailbox: self,
            task,
            peer,
            inbox: Mutex::new(inbox),
        }
    }

    /// Closes the channel: no more messages are received on it.
    pub fn close_all(&self) {
        self.channels().clear();
    }

    fn channels(&self) -> MutexGuard<'_, HashMap<(u32, usize), Sender<Message>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the messages of the threads and delivers received messages; `other` receives messages that belong to no channel, with
    /// their rank and task. Waits briefly if there is no message. The thread that initialised MPI must call this repeatedly.
    pub fn work(
        &self,
        world: &World,
        outgoing: &Receiver<Outgoing>,
        mut other: impl FnMut(usize, u32, Message),
    ) {
        let mut idle = true;
        while let Ok((to, bytes)) = outgoing.try_recv() {
            world.send_bytes(to, bytes);
            idle = false;
        }
        while let Some((from, bytes)) = world.receive_bytes() {
            idle = false;
            let Some((task, message)) = Message::from_bytes(&bytes) else {
                // The messages of another build of the program cannot be read.
                eprintln!(
                    "error: rank {from} runs a different build of the program than rank {}",
                    world.number()
                );
                world.abort(1);
            };
            let channel = self.channels().get(&(task, from)).cloned();
            match channel {
                // A thread that has ended needs no messages.
                Some(channel) => drop(channel.send(message)),
                None => other(from, task, message),
            }
        }
        world.forget_delivered();
        if idle && let Ok((to, bytes)) = outgoing.recv_timeout(POLL_INTERVAL) {
            world.send_bytes(to, bytes);
        }
    }
}

/// One end of the messages about a task between two ranks.
pub(super) struct Channel<'a> {
    mailbox: &'a Mailbox,
    task: u32,
    peer: usize,
    inbox: Mutex<Receiver<Message>>,
}

/// The result of waiting on a channel.
#[derive(Debug)]
pub(super) enum Received {
    Message(Message),
    Timeout,
    /// There is no message, and none will follow.
    Closed,
}

impl Channel<'_> {
    pub fn send(&self, message: &Message) {
        // Fails only when the run is over.
        let _ = self
            .mailbox
            .out
            .send((self.peer, message.to_bytes(self.task)));
    }

    /// Waits for a message, but not for long.
    pub fn receive(&self, most: Duration) -> Received {
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
        self.mailbox.channels().remove(&(self.task, self.peer));
    }
}
