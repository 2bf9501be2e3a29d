//! Maps on several MPI ranks: the messages about pixels, and how each rank computes its own.

use std::fmt;

use kernels_gpu::device::fetch::TILE;
use serde::{Deserialize, Serialize};

use super::engine::{Ran, Streamed, Task};
use super::sink::Sink;
use super::value::ValueSlice;
use super::{Devices, Driver, Executor, Portion, SpecError, Specification, Validated, select};
use trisolar_device::Energy;
use trisolar_run::processes::{
    self, Begin, Channel, FromShare, Granted, Member, Piece, Report, ToShare, Unable,
};
use trisolar_run::queue::Share;
use trisolar_run::{EngineError, Messages, Monitor, RunOptions};

pub use trisolar_run::processes::{share, shutdown};

/// The description of a task that rank 0 sends to the other ranks.
#[derive(Serialize, Deserialize)]
struct Work {
    specification: Specification,
    /// The checksum of the start states, if they are not a grid's.
    points: Option<u32>,
}

/// All ranks' devices, on rank 0.
pub struct Leader<'a> {
    leader: &'a processes::Leader,
    /// The devices of rank 0 itself.
    devices: Devices,
}

impl fmt::Debug for Leader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.leader.fmt(f)
    }
}

/// Runs `work` on rank 0 with all ranks' devices; see [`processes::lead`].
pub fn lead<T: Send>(
    world: &dyn Messages,
    in_turn: bool,
    work: impl FnOnce(&Leader<'_>) -> T + Send,
) -> T {
    processes::lead(world, in_turn, |leader| {
        let devices = Devices::new();
        work(&Leader { leader, devices })
    })
}

impl Executor for Leader<'_> {
    fn stream(
        &self,
        task: &Task<'_>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Streamed, EngineError> {
        let spec = task.spec;
        let work = Work {
            specification: spec.specification().clone(),
            points: spec.points().map(|points| points.checksum()),
        };
        let options = by_threads(options);
        let (together, elapsed) = self.leader.run(
            &processes::Task {
                spans: task.spans,
                steps: spec.specification().steps,
                name: "pixels",
                work: serde_json::to_value(&work).expect("plain data"),
                own: &|share, pixels| own(&self.devices, task, &options, share, pixels),
                put: &|piece| put(task, piece),
            },
            monitor,
        )?;
        let portion = |(device, pixels)| Portion { device, pixels };
        let energy = together.joules.map(|joules| Energy {
            joules,
            watts: joules / elapsed.as_secs_f64().max(1e-9),
        });
        Ok(Streamed {
            engine: together.engine,
            device: together.device,
            ran: Ran {
                elapsed,
                notes: together.notes,
                portions: together.portions.into_iter().map(portion).collect(),
                energy,
            },
        })
    }

    fn processes(&self) -> usize {
        self.leader.size()
    }
}

/// Stores values of another rank.
fn put(task: &Task<'_>, piece: &Piece) -> Result<(), EngineError> {
    let values = task.spec.value_type().from_le_bytes(&piece.bytes);
    let values = values.ok_or_else(|| EngineError::Sink("a rank's values are cut off".into()))?;
    task.sink.put(piece.first, values.as_slice())
}

/// Several ranks always use a thread for each device.
fn by_threads(options: &RunOptions) -> RunOptions {
    RunOptions {
        driver: Driver::Threads,
        ..*options
    }
}

/// Pixels that a device of this kind takes as one piece.
fn unit(engine: &str) -> u64 {
    if engine.starts_with("gpu") {
        u64::from(TILE)
    } else {
        1
    }
}

/// Computes pixels that arrive during the task, on the devices that `options` select. About `pixels` of them are expected.
fn compute(
    devices: &Devices,
    spec: &Validated,
    options: &RunOptions,
    pixels: u64,
    stream: impl FnOnce(&dyn super::Engine) -> Result<Ran, EngineError>,
) -> Result<Report, EngineError> {
    let (chosen, mut notes) = select::engine(devices, spec, pixels, options)?;
    let engine = chosen.engine();
    let mut ran = stream(engine)?;
    notes.append(&mut ran.notes);
    let portions = ran.portions.into_iter().map(|p| (p.device, p.pixels));
    Ok(Report {
        engine: engine.name().into(),
        device: engine.device(),
        notes,
        portions: portions.collect(),
        joules: ran.energy.map(|e| e.joules),
    })
}

/// Passes the values of rank 0's devices to the queue of all ranks.
struct Own<'a> {
    share: Share<'a>,
    sink: &'a dyn Sink,
}

impl Sink for Own<'_> {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        let span = first..first + values.len() as u64;
        (self.share).deliver(span, || self.sink.put(first, values))
    }
}

/// Computes pixels on rank 0.
fn own(
    devices: &Devices,
    task: &Task<'_>,
    options: &RunOptions,
    share: Share<'_>,
    pixels: u64,
) -> Result<Report, EngineError> {
    compute(devices, task.spec, options, pixels, |engine| {
        let unit = unit(engine.name());
        let supply = FromShare { share, unit };
        let sink = task.sink;
        let results = Own { share, sink };
        let part = Task::supplied(task.spec, &results, &supply);
        engine.stream(&part, &ToShare(share))
    })
}

/// The options and start states that a rank has itself.
#[allow(missing_debug_implementations)]
pub struct Local<'a> {
    /// The options of its computation.
    pub options: RunOptions,
    /// Reads the start states of a specification that has points instead of a grid. Every rank reads the file itself, because it may be
    /// large.
    pub points: &'a (dyn Fn(Specification) -> Result<Validated, String> + Sync),
}

/// Computes for rank 0; see [`processes::serve`].
pub fn serve(world: &dyn Messages, local: &Local<'_>) -> u8 {
    let options = by_threads(&local.options);
    let serving = Serving {
        local,
        shares_gpus: processes::shared(&options, world),
        options,
        devices: Devices::new(),
    };
    processes::serve(world, &serving)
}

/// A rank other than rank 0.
struct Serving<'a> {
    local: &'a Local<'a>,
    options: RunOptions,
    devices: Devices,
    /// Whether other ranks use this rank's GPUs as well.
    shares_gpus: bool,
}

impl Member for Serving<'_> {
    fn compute(&self, begin: Begin, channel: &Channel<'_>) -> Result<Report, Unable> {
        let work: Work =
            serde_json::from_value(begin.work).map_err(|e| Unable::Reason(e.to_string()))?;
        let valid = self.local.validated(work).map_err(Unable::Reason)?;
        let turn = |turn| processes::in_turn(&self.options, turn);
        let options = begin.turn.map_or(self.options, turn);
        let compute = |engine: &dyn super::Engine| {
            let granted = Granted::new(channel, unit(engine.name()));
            let results = Results(&granted);
            let task = Task::supplied(&valid, &results, &granted);
            engine.stream(&task, &granted)
        };
        let mut report = self::compute(&self.devices, &valid, &options, begin.items, compute)?;
        if self.shares_gpus && report.engine != "cpu" {
            // The counter belongs to the GPU and would include the work of other ranks.
            report.joules = None;
        }
        Ok(report)
    }
}

/// Sends the values of another rank's devices to rank 0.
struct Results<'a>(&'a Granted<'a>);

impl Sink for Results<'_> {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        self.0.put(first, values.len() as u64, &values.le_bytes());
        Ok(())
    }
}

impl Local<'_> {
    fn validated(&self, work: Work) -> Result<Validated, String> {
        let Some(checksum) = work.points else {
            let refused = |e: SpecError| format!("--{} {}: {}", e.option, e.given, e.allowed);
            return work.specification.validate().map_err(refused);
        };
        let valid = (self.points)(work.specification)?;
        if valid.points().map(|points| points.checksum()) != Some(checksum) {
            return Err("--points: the file is not the one that rank 0 has read".into());
        }
        Ok(valid)
    }
}
