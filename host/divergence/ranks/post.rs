//! Messages between the threads that compute and the one that may call MPI.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::message::Message;
use trisolar_run::mpi::World;

/// Interval between two checks for messages from other ranks.
const BETWEEN_LOOKS: Duration = Duration::from_micros(200);

type Parcel = (usize, Vec<u8>);

/// Sends messages to other ranks, and delivers messages of other ranks to the threads that wait for them.
pub(super) struct Post {
    out: Sender<Parcel>,
    lines: Mutex<HashMap<(u32, usize), Sender<Message>>>,
}

impl Post {
    /// The mailbox, and the receiving end of its outgoing messages.
    pub fn new() -> (Self, Receiver<Parcel>) {
        let (out, given) = channel();
        let lines = Mutex::default();
        (Self { out, lines }, given)
    }

    /// The messages about a task between this rank and `peer`.
    pub fn line(&self, task: u32, peer: usize) -> Line<'_> {
        let (sender, inbox) = channel();
        self.lines().insert((task, peer), sender);
        Line {
            post: self,
            task,
            peer,
            inbox: Mutex::new(inbox),
        }
    }

    /// Closes the line: no more messages are received on it.
    pub fn hang_up(&self) {
        self.lines().clear();
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<(u32, usize), Sender<Message>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the messages of the threads and delivers received messages; `other` receives messages that belong to no line, with
    /// their rank and task. Waits briefly if there is no message. The thread that initialised MPI must call this repeatedly.
    pub fn work(
        &self,
        world: &World,
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
                // The messages of another build of the program cannot be read.
                eprintln!(
                    "error: rank {from} runs a different build of the program than rank {}",
                    world.number()
                );
                world.abort(1);
            };
            let line = self.lines().get(&(task, from)).cloned();
            match line {
                // A thread that has ended needs no messages.
                Some(line) => drop(line.send(message)),
                None => other(from, task, message),
            }
        }
        world.forget_delivered();
        if idle && let Ok((to, bytes)) = given.recv_timeout(BETWEEN_LOOKS) {
            world.send_bytes(to, bytes);
        }
    }
}

/// One end of the messages about a task between two ranks.
pub(super) struct Line<'a> {
    post: &'a Post,
    task: u32,
    peer: usize,
    inbox: Mutex<Receiver<Message>>,
}

/// The result of waiting on a line.
#[derive(Debug)]
pub(super) enum Heard {
    Message(Message),
    Nothing,
    /// There is no message, and none will follow.
    Over,
}

impl Line<'_> {
    pub fn say(&self, message: &Message) {
        // Fails only when the run is over.
        let _ = self.post.out.send((self.peer, message.to_bytes(self.task)));
    }

    /// Waits for a message, but not for long.
    pub fn hear(&self, most: Duration) -> Heard {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        match inbox.recv_timeout(most) {
            Ok(message) => Heard::Message(message),
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => Heard::Over,
        }
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        self.post.lines().remove(&(self.task, self.peer));
    }
}
