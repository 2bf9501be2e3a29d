//! Ensembles on several MPI ranks: the messages about items, and how each rank computes its own.

use std::fmt;

use trisolar_bodies::Points;
use trisolar_device::Energy;
use trisolar_run::partial::Contents as _;
use trisolar_run::processes::{
    self, Begin, Channel, FromShare, Granted, Member, Piece, ToShare, Unable,
};
use trisolar_run::queue::Share;
use trisolar_run::{EngineError, Messages, Monitor, RunOptions};
use trisolar_spec::SpecError;

use super::contract::{Ensemble, Portion, Report, Sink, Slice as _, Task};
use super::devices::Devices;
use super::engine::{Engine as _, MultiDeviceEngine};
use super::executor::Executor;

/// All ranks' devices, on rank 0.
pub struct Leader<'a, E: Ensemble> {
    leader: &'a processes::Leader,
    /// The devices of rank 0 itself.
    devices: Devices<E>,
}

impl<E: Ensemble> fmt::Debug for Leader<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.leader.fmt(f)
    }
}

/// Runs `work` on rank 0 with all ranks' devices; see [`processes::lead`].
pub fn lead<E: Ensemble, T: Send>(
    world: &dyn Messages,
    in_turn: bool,
    work: impl FnOnce(&Leader<'_, E>) -> T + Send,
) -> T {
    processes::lead(world, in_turn, |leader| {
        let devices = Devices::new();
        work(&Leader { leader, devices })
    })
}

impl<E: Ensemble> Executor<E> for Leader<'_, E> {
    fn stream(
        &self,
        task: &Task<'_, E>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Report, EngineError> {
        let (together, elapsed) = self.leader.run(
            &processes::Task {
                spans: task.spans,
                steps: task.spec.steps(),
                name: E::Contents::ITEMS,
                work: serde_json::to_value(task.spec.contents()).expect("plain data"),
                own: &|share, items| own(&self.devices, task, options, share, items),
                put: &|piece| put(task, piece),
            },
            monitor,
        )?;
        let energy = together.joules.map(|joules| Energy {
            joules,
            watts: joules / elapsed.as_secs_f64().max(1e-9),
        });
        Ok(Report {
            engine: together.engine,
            device: together.device,
            elapsed,
            notes: together.notes,
            portions: Portion::all(together.portions),
            energy,
        })
    }

    fn processes(&self) -> usize {
        self.leader.size()
    }
}

/// Stores values of another rank.
fn put<E: Ensemble>(task: &Task<'_, E>, piece: &Piece) -> Result<(), EngineError> {
    let values = task.spec.of_bytes(&piece.bytes);
    let values = values.filter(|values| E::slice(values).count() == piece.count);
    let values = values.ok_or_else(|| EngineError::Sink("a rank's values are cut off".into()))?;
    task.sink.put(piece.first, E::slice(&values))
}

/// Computes items that arrive during the task, on the devices that `options` select. About `items` of them are expected. `stream` is given
/// the engine, and the number of items that it takes as one piece.
fn compute<E: Ensemble>(
    devices: &Devices<E>,
    spec: &E,
    options: &RunOptions,
    items: u64,
    stream: impl FnOnce(&MultiDeviceEngine<E>, u64) -> Result<Report, EngineError>,
) -> Result<processes::Report, EngineError> {
    let (engine, mut notes) = devices.select(spec, items, options)?;
    let unit = if engine.name() == "cpu" {
        1
    } else {
        E::GPU_PIECE
    };
    let report = stream(&engine, unit)?;
    notes.extend(report.notes);
    let portions = report.portions.into_iter().map(|p| (p.device, p.items));
    Ok(processes::Report {
        engine: report.engine.into(),
        device: report.device,
        notes,
        portions: portions.collect(),
        joules: report.energy.map(|energy| energy.joules),
    })
}

/// Passes the values of rank 0's devices to the queue of all ranks.
struct Own<'a, E: Ensemble> {
    share: Share<'a>,
    task: &'a Task<'a, E>,
}

impl<E: Ensemble> Sink<E> for Own<'_, E> {
    fn put(&self, first: u64, values: E::Slice<'_>) -> Result<(), EngineError> {
        self.task.deliver(self.share, first, values)
    }
}

/// Computes items on rank 0.
fn own<E: Ensemble>(
    devices: &Devices<E>,
    task: &Task<'_, E>,
    options: &RunOptions,
    share: Share<'_>,
    items: u64,
) -> Result<processes::Report, EngineError> {
    compute(devices, task.spec, options, items, |engine, unit| {
        let supply = FromShare { share, unit };
        let results = Own { share, task };
        let part = Task::supplied(task.spec, &results, &supply);
        engine.stream(&part, &ToShare(share))
    })
}

/// Reads the points of an ensemble. Every rank reads the file itself, because it may be large.
pub type ReadPoints<'a> = &'a (dyn Fn() -> Result<Points, SpecError> + Sync);

/// The options and start states that a rank has itself.
#[allow(missing_debug_implementations)]
pub struct Local<'a> {
    /// The options of its computation.
    pub options: RunOptions,
    /// Its start states, for ensembles that have points.
    pub points: ReadPoints<'a>,
}

/// Computes for rank 0; see [`processes::serve`].
pub fn serve<E: Ensemble>(world: &dyn Messages, local: &Local<'_>) -> u8 {
    let serving = Serving::<E> {
        local,
        shares_gpus: processes::shared(&local.options, world),
        devices: Devices::new(),
    };
    processes::serve(world, &serving)
}

/// A rank other than rank 0.
struct Serving<'a, E: Ensemble> {
    local: &'a Local<'a>,
    devices: Devices<E>,
    /// Whether other ranks use this rank's GPUs as well.
    shares_gpus: bool,
}

impl<E: Ensemble> Member for Serving<'_, E> {
    fn compute(&self, begin: Begin, channel: &Channel<'_>) -> Result<processes::Report, Unable> {
        let contents: E::Contents =
            serde_json::from_value(begin.work).map_err(|e| Unable::Reason(e.to_string()))?;
        let spec = E::of_contents(&contents, self.local.points)
            .map_err(|e| Unable::Reason(format!("--{} {}: {}", e.option, e.given, e.allowed)))?;
        if spec.contents().difference(&contents).is_some() {
            let reason = "--points: the file is not the one that rank 0 has read";
            return Err(Unable::Reason(reason.into()));
        }
        let own = self.local.options;
        let options = begin
            .turn
            .map_or(own, |turn| processes::in_turn(&own, turn));
        let stream = |engine: &MultiDeviceEngine<E>, unit: u64| {
            let granted = Granted::new(channel, unit);
            let results = Results(&granted);
            let task = Task::supplied(&spec, &results, &granted);
            engine.stream(&task, &granted)
        };
        let mut report = compute(&self.devices, &spec, &options, begin.items, stream)?;
        if self.shares_gpus && report.engine != "cpu" {
            // The counter belongs to the GPU and would include the work of other ranks.
            report.joules = None;
        }
        Ok(report)
    }
}

/// Sends the values of another rank's devices to rank 0.
struct Results<'a>(&'a Granted<'a>);

impl<E: Ensemble> Sink<E> for Results<'_> {
    fn put(&self, first: u64, values: E::Slice<'_>) -> Result<(), EngineError> {
        self.0.put(first, values.count(), &values.le_bytes());
        Ok(())
    }
}
