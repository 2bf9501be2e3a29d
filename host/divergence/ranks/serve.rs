//! The ranks other than rank 0, which compute the pixels that rank 0 grants.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use super::feed::Granted;
use super::gpus;
use super::mailbox::{Channel, Mailbox};
use super::message::Message;
use super::report::Report;
use crate::engine::{Streamed, Task};
use crate::{Devices, Driver, SpecError, Specification, Validated, select};
use trisolar_run::mpi::World;
use trisolar_run::{EngineError, RunOptions};

/// The options and start states of a rank.
#[allow(missing_debug_implementations)]
pub struct Local<'a> {
    /// The options of its computations.
    pub options: RunOptions,
    /// Adds the start states to a specification that has points instead of a grid. Every rank reads them from a file, because there
    /// may be many.
    pub points: &'a (dyn Fn(Specification) -> Result<Validated, String> + Sync),
}

/// Computes for rank 0, which [`lead`](super::lead)s, until it calls [`shutdown`](super::shutdown). Returns the exit code.
pub fn serve(world: &World, local: &Local<'_>) -> u8 {
    let options = RunOptions {
        driver: Driver::Threads,
        ..local.options
    };
    let shares_gpus = gpus::shared(&options, world);
    let devices = Devices::new();
    let (mailbox, outgoing) = Mailbox::new();
    let mut code = None;
    std::thread::scope(|scope| {
        while code.is_none() {
            mailbox.work(world, &outgoing, |_, number, message| match message {
                Message::Begin {
                    specification,
                    points,
                    pixels,
                    turn,
                } => {
                    let channel = mailbox.channel(number, 0);
                    let options = turn.map_or(options, |turn| gpus::in_turn(&options, turn));
                    let job = Job {
                        devices: devices.clone(),
                        options,
                        pixels,
                        shares_gpus,
                    };
                    scope.spawn(move || {
                        let valid = local.validated(*specification, points);
                        job.take_part(valid, &channel);
                    });
                }
                Message::Quit(given) => code = Some(given),
                // The message is about a task that has ended.
                _ => {}
            });
        }
        // Threads that still compute learn that the run is over.
        mailbox.close_all();
    });
    let code = code.unwrap_or_default();
    world.send_bytes(0, Message::Quit(code).to_bytes(u32::MAX));
    code
}

impl Local<'_> {
    fn validated(
        &self,
        specification: Specification,
        checksum: Option<u32>,
    ) -> Result<Validated, String> {
        let Some(checksum) = checksum else {
            let refused = |e: SpecError| format!("--{} {}: {}", e.option, e.given, e.allowed);
            return specification.validate().map_err(refused);
        };
        let valid = (self.points)(specification)?;
        if valid.points().map(|points| points.checksum()) != Some(checksum) {
            return Err("--points: the file differs from the one that rank 0 has read".into());
        }
        Ok(valid)
    }
}

/// The part of a task that this rank computes.
struct Job {
    devices: Devices,
    options: RunOptions,
    /// Expected number of pixels for this rank.
    pixels: u64,
    shares_gpus: bool,
}

impl Job {
    /// Computes until rank 0 has no more pixels, and sends the report or the failure.
    fn take_part(&self, valid: Result<Validated, String>, channel: &Channel<'_>) {
        let failed = |gpus, reason| Message::Failed { gpus, reason };
        let outcome = match valid {
            Err(reason) => failed(None, reason),
            Ok(valid) => match catch_unwind(AssertUnwindSafe(|| self.compute(&valid, channel))) {
                Ok(Ok(report)) => Message::Ended(report),
                // Rank 0 has cancelled the task itself.
                Ok(Err(EngineError::Cancelled)) => return,
                Ok(Err(EngineError::Refused {
                    option: "gpus",
                    given,
                    reason,
                })) => failed(Some(given), reason),
                Ok(Err(error)) => failed(None, error.to_string()),
                Err(panic) => failed(None, format!("internal error: {}", words(&*panic))),
            },
        };
        channel.send(&outcome);
    }

    fn compute(&self, valid: &Validated, channel: &Channel<'_>) -> Result<Report, EngineError> {
        let (selected, mut notes) =
            select::engine(&self.devices, valid, self.pixels, &self.options)?;
        let engine = selected.engine();
        let granted = Granted {
            channel,
            engine: engine.name(),
            out: Mutex::default(),
            unwanted: AtomicBool::new(false),
        };
        let task = Task::supplied(valid, &granted, &granted);
        let mut ran = engine.stream(&task, &granted)?;
        notes.append(&mut ran.notes);
        ran.notes = notes;
        let mut report = Report::new(Streamed {
            engine: engine.name(),
            device: engine.device(),
            ran,
        });
        if self.shares_gpus && report.engine != "cpu" {
            // The counters belong to the GPU, so the work of other ranks would be counted as well.
            report.joules = None;
        }
        Ok(report)
    }
}

/// The message of a panic.
fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic")
}
