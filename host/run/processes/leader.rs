//! The part of rank 0, which treats all ranks as the devices of one run.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::mailbox::{Channel, Mailbox, Received};
use super::message::{Message, Piece};
use super::report::{Report, Together};
use crate::queue::{Pace, Share};
use crate::scheduler::{self, Items, Worker};
use crate::{EngineError, Messages, Monitor};

/// Longest wait for a message while the rank has nothing else to do.
const IDLE_WAIT: Duration = Duration::from_millis(20);
/// Longest wait for a message while a rank waits for an answer.
const REQUEST_WAIT: Duration = Duration::from_millis(1);

/// All ranks, on rank 0.
pub struct Leader {
    mailbox: Mailbox,
    size: usize,
    in_turn: bool,
    tasks: AtomicU32,
}

impl fmt::Debug for Leader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MPI ranks", self.size)
    }
}

/// Runs `work` on rank 0 in a new thread. The calling thread, which has joined the world, meanwhile exchanges messages with the other
/// ranks, which [`serve`](super::serve). With `in_turn`, a rank with several GPUs computes each task on one of them, in turn, which suits
/// runs of many tasks.
///
/// A panic in `work` ends all ranks.
pub fn lead<T: Send>(
    world: &dyn Messages,
    in_turn: bool,
    work: impl FnOnce(&Leader) -> T + Send,
) -> T {
    let (mailbox, given) = Mailbox::new();
    let leader = Leader {
        mailbox,
        size: world.size(),
        in_turn,
        tasks: AtomicU32::new(0),
    };
    std::thread::scope(|scope| {
        let work = scope.spawn(|| work(&leader));
        while !work.is_finished() {
            // Messages without a receiver belong to tasks that have ended.
            leader.mailbox.work(world, &given, |_, _, _| ());
        }
        work.join().unwrap_or_else(|_| world.abort(1))
    })
}

/// Tells the ranks in [`serve`](super::serve) to end with an exit code, and waits until they have ended.
pub fn shutdown(world: &dyn Messages, code: u8) {
    for rank in 1..world.size() {
        world.send_bytes(rank, Message::Quit(code).to_bytes(u32::MAX));
    }
    let mut gone = 1;
    while gone < world.size() {
        // Their earlier messages must be received, even if they are not needed, because MPI does not end before that.
        match world.receive_bytes() {
            Some((_, bytes)) => {
                let quit = matches!(Message::from_bytes(&bytes), Some((_, Message::Quit(_))));
                gone += usize::from(quit);
            }
            None => std::thread::sleep(REQUEST_WAIT),
        }
    }
}

/// A task for all ranks.
#[allow(missing_debug_implementations)]
pub struct Task<'a> {
    /// Numbers of the items, in ascending order and without overlap.
    pub spans: &'a [Range<u64>],
    /// Number of steps of each item, which the monitor is told.
    pub steps: u64,
    /// The word for the items in messages, such as `pixels`.
    pub name: &'static str,
    /// The specification of the items for the other ranks, as their system writes it.
    pub work: Value,
    /// Computes on rank 0, which draws from the queue of all ranks; the number is that of the items it is expected to draw.
    pub own: &'a (dyn Fn(Share<'_>, u64) -> Result<Report, EngineError> + Sync),
    /// Stores results of another rank.
    pub put: &'a (dyn Fn(&Piece) -> Result<(), EngineError> + Sync),
}

impl Leader {
    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Computes a task on all ranks, and reports the part of each rank and the time.
    ///
    /// # Errors
    /// The error that ended the run. A rank that cannot go on ends it for all ranks.
    pub fn run(
        &self,
        task: &Task<'_>,
        monitor: &dyn Monitor,
    ) -> Result<(Together, Duration), EngineError> {
        let number = self.tasks.fetch_add(1, Ordering::Relaxed);
        let count: u64 = task.spans.iter().map(|s| s.end - s.start).sum();
        let expected = count.div_ceil(self.size as u64);
        let own = Own {
            task,
            expected,
            report: Mutex::default(),
        };
        let begin = Message::Begin {
            work: task.work.clone(),
            items: expected,
            turn: self.in_turn.then_some(u64::from(number)),
        };
        let others: Vec<RemoteDevices<'_>> = (1..self.size)
            .map(|rank| RemoteDevices {
                rank,
                channel: self.mailbox.channel(number, rank),
                begin: &begin,
                task,
                report: Mutex::default(),
            })
            .collect();
        let workers = std::iter::once(&own as &dyn Worker<()>);
        let workers: Vec<_> = workers.chain(others.iter().map(|o| o as _)).collect();
        let items = Items {
            spans: task.spans,
            steps: task.steps,
            name: task.name,
            supply: None,
            at_start: None,
        };
        let ran = scheduler::run(&workers, None, &(), &items, monitor)?;
        let reports = std::iter::once(own.report).chain(others.into_iter().map(|o| o.report));
        let reports: Vec<Report> = reports
            .map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        Ok((Together::of(&reports), ran.elapsed))
    }
}

/// Ends the run on all ranks. Other ranks do not silently take over the work of a rank that cannot go on.
fn fail(share: Share<'_>, error: EngineError) -> EngineError {
    // A run that has ended already is not an error.
    share.check().err().unwrap_or_else(|| share.fail(error))
}

/// Rank 0's devices.
struct Own<'a> {
    task: &'a Task<'a>,
    /// Number of items that they are expected to compute.
    expected: u64,
    report: Mutex<Report>,
}

impl Worker<()> for Own<'_> {
    fn label(&self) -> String {
        "rank 0".into()
    }

    fn capacity(&self, (): &()) -> u64 {
        1
    }

    fn work(&self, (): &(), share: Share<'_>) -> Result<(), EngineError> {
        let report = (self.task.own)(share, self.expected).map_err(|e| fail(share, e))?;
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
        Ok(())
    }
}

/// Another rank's devices.
struct RemoteDevices<'a> {
    rank: usize,
    channel: Channel<'a>,
    begin: &'a Message,
    task: &'a Task<'a>,
    report: Mutex<Report>,
}

impl Worker<()> for RemoteDevices<'_> {
    fn label(&self) -> String {
        format!("rank {}", self.rank)
    }

    fn capacity(&self, (): &()) -> u64 {
        1
    }

    fn work(&self, (): &(), share: Share<'_>) -> Result<(), EngineError> {
        self.channel.send(self.begin);
        let result = self.converse(share);
        if result.is_err() {
            self.channel.send(&Message::Cancel);
        }
        result
    }
}

impl RemoteDevices<'_> {
    /// Answers the rank until the rank has reported the end of the task.
    fn converse(&self, share: Share<'_>) -> Result<(), EngineError> {
        // The request that has not been answered, and the number of grants.
        let (mut asked, mut grants) = (None, 0);
        let (mut unit, mut over) = (1, false);
        loop {
            match self.channel.receive(if asked.is_some() {
                REQUEST_WAIT
            } else {
                IDLE_WAIT
            }) {
                Received::Message(Message::Ready {
                    capacity,
                    unit: piece,
                }) => {
                    unit = piece;
                    share.set_capacity(capacity);
                    share.ready();
                }
                Received::Message(Message::Ask {
                    backlog,
                    rate,
                    steps,
                    number,
                }) => {
                    share.report(steps);
                    if number == grants {
                        asked = Some(Pace { backlog, rate });
                    }
                }
                Received::Message(Message::Steps(steps)) => share.report(steps),
                Received::Message(Message::Results(results)) => {
                    for piece in results {
                        let span = piece.first..piece.first + piece.count;
                        share.deliver(span, || (self.task.put)(&piece))?;
                    }
                }
                Received::Message(Message::Ended(report)) => {
                    *self.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
                    return Ok(());
                }
                Received::Message(Message::Failed { gpus, reason }) => {
                    return Err(fail(share, self.failure(gpus, reason)));
                }
                Received::Message(_) | Received::Timeout => {}
                Received::Closed => {
                    let reason = "it is gone".into();
                    return Err(fail(share, self.failure(None, reason)));
                }
            }
            share.check()?;
            let Some(pace) = asked.filter(|_| !over) else {
                continue;
            };
            let spans = share.draw(pace, u64::MAX, unit)?.spans;
            if !spans.is_empty() {
                self.channel.send(&Message::Grant(spans));
                (asked, grants) = (None, grants + 1);
            } else if share.is_over()? {
                self.channel.send(&Message::End);
                over = true;
            }
        }
    }

    fn failure(&self, gpus: Option<String>, reason: String) -> EngineError {
        let rank = self.rank;
        match gpus {
            Some(given) => EngineError::refused("gpus", given, format!("{reason} (rank {rank})")),
            None => EngineError::Rank { rank, reason },
        }
    }
}
