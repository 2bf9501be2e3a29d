//! Encounters on several MPI ranks: the messages about runs, and how each rank integrates its own.

use std::fmt;

use kernels_gpu::encounters::Record;
use serde::{Deserialize, Serialize};

use super::devices::SelectedDevices;
use super::engine::{Engine as _, Executor, Portion, Sink, Streamed, Task};
use super::store::{bytes, records_of};
use super::{Overrides, Validated};
use trisolar_bodies::Points;
use trisolar_run::processes::{
    self, Begin, Channel, FromShare, Granted, Member, Piece, Report, ToShare, Unable,
};
use trisolar_run::queue::Share;
use trisolar_run::scheduler::Ran;
use trisolar_run::{EngineError, Messages, Monitor, RunOptions};

/// The description of a task that rank 0 sends to the other ranks.
#[derive(Serialize, Deserialize)]
struct Work {
    specification: Overrides,
    /// The checksum of the start states, if they are points.
    points: Option<u32>,
}

/// All ranks' devices, on rank 0.
pub struct Leader<'a>(&'a processes::Leader);

impl fmt::Debug for Leader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Runs `work` on rank 0 with all ranks' devices; see [`processes::lead`].
pub fn lead<T: Send>(world: &dyn Messages, work: impl FnOnce(&Leader<'_>) -> T + Send) -> T {
    processes::lead(world, false, |leader| work(&Leader(leader)))
}

impl Executor for Leader<'_> {
    fn stream(
        &self,
        task: &Task<'_>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Streamed, EngineError> {
        let work = Work {
            specification: Overrides::of(task.spec.specification()),
            points: task.spec.points_checksum(),
        };
        let (together, elapsed) = self.0.run(
            &processes::Task {
                spans: task.spans,
                steps: 1,
                name: "runs",
                work: serde_json::to_value(&work).expect("plain data"),
                own: &|share, runs| own(task, options, share, runs),
                put: &|piece| put(task, piece),
            },
            monitor,
        )?;
        let portion = |(device, runs)| Portion { device, runs };
        Ok(Streamed {
            engine: together.engine,
            device: together.device,
            elapsed,
            notes: together.notes,
            portions: together.portions.into_iter().map(portion).collect(),
        })
    }
}

/// Stores records of another rank.
fn put(task: &Task<'_>, piece: &Piece) -> Result<(), EngineError> {
    let records = records_of(&piece.bytes);
    let whole = records.filter(|records| records.len() as u64 == piece.count);
    let records = whole.ok_or_else(|| EngineError::Sink("a rank's records are cut off".into()))?;
    task.sink.put(piece.first, &records)
}

/// Integrates runs of an ensemble that arrive during the task, on the devices that `options` select. About `runs` of them are expected.
fn compute(
    spec: &Validated,
    options: &RunOptions,
    runs: u64,
    stream: impl FnOnce(&SelectedDevices) -> Result<Ran, EngineError>,
) -> Result<Report, EngineError> {
    let precision = spec.specification().precision;
    let (devices, notes) = SelectedDevices::open(runs, precision, options)?;
    let streamed = Streamed::of(&devices, notes, stream(&devices)?);
    let portions = streamed.portions.into_iter().map(|p| (p.device, p.runs));
    Ok(Report {
        engine: streamed.engine.into(),
        device: streamed.device,
        notes: streamed.notes,
        portions: portions.collect(),
        joules: None,
    })
}

/// Passes the records of rank 0's devices to the queue of all ranks.
struct Own<'a> {
    share: Share<'a>,
    sink: &'a dyn Sink,
}

impl Sink for Own<'_> {
    fn put(&self, first: u64, records: &[Record]) -> Result<(), EngineError> {
        let span = first..first + records.len() as u64;
        (self.share).deliver(span, || self.sink.put(first, records))
    }
}

/// Integrates runs on rank 0.
fn own(
    task: &Task<'_>,
    options: &RunOptions,
    share: Share<'_>,
    runs: u64,
) -> Result<Report, EngineError> {
    compute(task.spec, options, runs, |devices| {
        let supply = FromShare { share, unit: 1 };
        let sink = task.sink;
        let results = Own { share, sink };
        let part = Task {
            supply: Some(&supply),
            ..Task::new(task.spec, &[], &results)
        };
        devices.stream(&part, &ToShare(share))
    })
}

/// The options and start states that a rank has itself.
#[allow(missing_debug_implementations)]
pub struct Local<'a> {
    /// The options of its computation, or the reason why it cannot compute.
    pub options: Result<RunOptions, EngineError>,
    /// Reads the start states of encounters that have points. Every rank reads the file itself, because it may be large.
    pub points: &'a (dyn Fn() -> Result<Points, String> + Sync),
}

/// Computes for rank 0; see [`processes::serve`].
pub fn serve(world: &dyn Messages, local: &Local<'_>) -> u8 {
    processes::serve(world, local)
}

impl Member for Local<'_> {
    fn compute(&self, begin: Begin, channel: &Channel<'_>) -> Result<Report, Unable> {
        let work: Work =
            serde_json::from_value(begin.work).map_err(|e| Unable::Reason(e.to_string()))?;
        let options = self.options.clone()?;
        let valid = self.validated(&work).map_err(Unable::Reason)?;
        let report = self::compute(&valid, &options, begin.items, |devices| {
            let granted = Granted::new(channel, 1);
            let results = Results(&granted);
            let task = Task {
                supply: Some(&granted),
                ..Task::new(&valid, &[], &results)
            };
            devices.stream(&task, &granted)
        })?;
        Ok(report)
    }
}

impl Local<'_> {
    fn validated(&self, work: &Work) -> Result<Validated, String> {
        let points = work.points.map(|_| (self.points)()).transpose()?;
        let valid = work.specification.validated(points.as_ref());
        let valid = valid.map_err(|e| format!("--{} {}: {}", e.option, e.given, e.allowed))?;
        if valid.points_checksum() != work.points {
            return Err("--points: the file is not the one that rank 0 has read".into());
        }
        Ok(valid)
    }
}

/// Sends the records of another rank's devices to rank 0.
struct Results<'a>(&'a Granted<'a>);

impl Sink for Results<'_> {
    fn put(&self, first: u64, records: &[Record]) -> Result<(), EngineError> {
        self.0.put(first, records.len() as u64, bytes(records));
        Ok(())
    }
}
