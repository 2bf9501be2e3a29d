//! Rank 0, which uses the devices of all ranks for one run.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::feed::{FromShare, ToShare};
use super::mailbox::{Channel, Mailbox, Received};
use super::message::Message;
use super::report::{Report, together};
use crate::engine::{Streamed, Task};
use crate::queue::{Pace, Share};
use crate::scheduler::{self, Worker};
use crate::{Devices, Driver, Executor, Specification, select};
use trisolar_run::Ranks as _;
use trisolar_run::mpi::World;
use trisolar_run::{EngineError, Monitor, RunOptions};

/// Longest time to wait for a message while there is nothing else to do.
const IDLE_WAIT: Duration = Duration::from_millis(20);
/// Longest time to wait for a message while a rank waits for an answer.
const REQUEST_WAIT: Duration = Duration::from_millis(1);

/// All ranks' devices, on rank 0.
pub struct Leader {
    mailbox: Mailbox,
    size: usize,
    in_turn: bool,
    tasks: AtomicU32,
    /// The devices of rank 0.
    devices: Devices,
}

impl fmt::Debug for Leader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MPI ranks", self.size)
    }
}

/// Runs `work` on rank 0 in a thread of its own. Meanwhile the calling thread, which initialised MPI, exchanges messages with the
/// other ranks, which [`serve`](super::serve). With `in_turn`, which is meant for many maps, a rank with several GPUs computes each
/// task on one of them, in turn.
///
/// A panic in `work` ends all ranks.
pub fn lead<T: Send>(world: &World, in_turn: bool, work: impl FnOnce(&Leader) -> T + Send) -> T {
    let (mailbox, outgoing) = Mailbox::new();
    let leader = Leader {
        mailbox,
        size: world.size(),
        in_turn,
        tasks: AtomicU32::new(0),
        devices: Devices::new(),
    };
    std::thread::scope(|scope| {
        let work = scope.spawn(|| work(&leader));
        while !work.is_finished() {
            // Messages without a receiver are about tasks that have ended.
            leader.mailbox.work(world, &outgoing, |_, _, _| ());
        }
        work.join().unwrap_or_else(|_| world.abort(1))
    })
}

/// Tells the ranks that [`serve`](super::serve) to end with an exit code, and waits until they have ended.
pub fn shutdown(world: &World, code: u8) {
    for rank in 1..world.size() {
        world.send_bytes(rank, Message::Quit(code).to_bytes(u32::MAX));
    }
    let mut gone = 1;
    while gone < world.size() {
        // Their earlier messages must be received, needed or not, because MPI does not end before that.
        match world.receive_bytes() {
            Some((_, bytes)) => {
                let quit = matches!(Message::from_bytes(&bytes), Some((_, Message::Quit(_))));
                gone += usize::from(quit);
            }
            None => std::thread::sleep(REQUEST_WAIT),
        }
    }
}

impl Executor for Leader {
    fn stream(
        &self,
        task: &Task<'_>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Streamed, EngineError> {
        let number = self.tasks.fetch_add(1, Ordering::Relaxed);
        let pixels = task.pixels().div_ceil(self.size as u64);
        let own = Own {
            devices: &self.devices,
            options: RunOptions {
                driver: Driver::Threads,
                ..*options
            },
            pixels,
            report: Mutex::default(),
        };
        let begin = Message::Begin {
            specification: Box::new(task.spec.specification().clone()),
            points: task.spec.points().map(|points| points.checksum()),
            pixels,
            turn: self.in_turn.then_some(u64::from(number)),
        };
        let others: Vec<RemoteDevices<'_>> = (1..self.size)
            .map(|rank| RemoteDevices {
                rank,
                channel: self.mailbox.channel(number, rank),
                begin: &begin,
                report: Mutex::default(),
            })
            .collect();
        let workers = std::iter::once(&own as &dyn Worker);
        let workers: Vec<_> = workers.chain(others.iter().map(|o| o as _)).collect();
        let ran = scheduler::run(&workers, None, task, monitor)?;
        let reports = std::iter::once(own.report).chain(others.into_iter().map(|o| o.report));
        let reports: Vec<Report> = reports
            .map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        Ok(together(&reports, ran.elapsed))
    }

    fn processes(&self) -> usize {
        self.size
    }
}

/// Ends the run on all ranks: other ranks do not silently take over the work of a rank that cannot go on.
fn fail(share: Share<'_>, error: EngineError) -> EngineError {
    // If the run has already ended, its error is returned.
    share.check().err().unwrap_or_else(|| share.fail(error))
}

/// Rank 0's devices.
struct Own<'a> {
    devices: &'a Devices,
    options: RunOptions,
    /// Expected number of pixels for them.
    pixels: u64,
    report: Mutex<Report>,
}

impl Worker for Own<'_> {
    fn label(&self) -> String {
        "rank 0".into()
    }

    fn capacity(&self, _: &Specification) -> u64 {
        1
    }

    fn work(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        let report = self.compute(task, share).map_err(|e| fail(share, e))?;
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
        Ok(())
    }
}

impl Own<'_> {
    fn compute(&self, task: &Task<'_>, share: Share<'_>) -> Result<Report, EngineError> {
        let (selected, mut notes) =
            select::engine(self.devices, task.spec, self.pixels, &self.options)?;
        let engine = selected.engine();
        let supply = FromShare {
            share,
            engine: engine.name(),
        };
        let results = ToShare(share);
        let part = Task::supplied(task.spec, &results, &supply);
        let mut ran = engine.stream(&part, &results)?;
        notes.append(&mut ran.notes);
        ran.notes = notes;
        Ok(Report::new(Streamed {
            engine: engine.name(),
            device: engine.device(),
            ran,
        }))
    }
}

/// Another rank's devices.
struct RemoteDevices<'a> {
    rank: usize,
    channel: Channel<'a>,
    begin: &'a Message,
    report: Mutex<Report>,
}

impl Worker for RemoteDevices<'_> {
    fn label(&self) -> String {
        format!("rank {}", self.rank)
    }

    fn capacity(&self, _: &Specification) -> u64 {
        1
    }

    fn work(&self, _: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        self.channel.send(self.begin);
        let result = self.serve_requests(share);
        if result.is_err() {
            self.channel.send(&Message::Cancel);
        }
        result
    }
}

impl RemoteDevices<'_> {
    /// Answers the rank until it has reported the end of the task.
    fn serve_requests(&self, share: Share<'_>) -> Result<(), EngineError> {
        // The rank's request that has not been granted, and the number of grants so far.
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
                    for (first, values) in results {
                        share.deliver(first, values.as_slice())?;
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
                    let reason = "it has ended".into();
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
