//! What an ensemble is, and what its computation takes and returns.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Map, Value, json};
use trisolar_bodies::Points;
use trisolar_device::{Device, Energy, Plain};
use trisolar_run::partial::{Contents, Layout};
use trisolar_run::queue::{Share, Supply};
use trisolar_run::scheduler::Worker;
use trisolar_run::{EngineError, Workers};
use trisolar_simd::Simd;
use trisolar_spec::SpecError;

/// The validated specification of an ensemble.
pub trait Ensemble: fmt::Debug + Clone + Send + Sync + 'static {
    /// Number of items from which [`Backend::Auto`](trisolar_run::Backend::Auto) uses GPUs: for fewer, opening a GPU takes longer than the
    /// items.
    const AUTO_GPU_ITEMS: u64;
    /// Number of items that a GPU takes as one piece.
    const GPU_PIECE: u64 = 1;
    /// Whether the energy of GPUs is measured, for monitors that want it.
    const MEASURES_ENERGY: bool = false;

    /// The specification in the record of an unfinished computation and in messages between processes. It names the ensemble and its items.
    type Contents: Contents;
    /// The values of consecutive items, borrowed.
    type Slice<'a>: Slice<'a>;
    /// The values of all items.
    type Values: Send;
    /// The engine of a GPU.
    type Gpu: GpuEngine + for<'a> Worker<Task<'a, Self>>;

    /// The specification for a record or a message. Points, which may be many, are represented by their checksum.
    fn contents(&self) -> Self::Contents;

    /// The ensemble of these contents; `points` reads the start states, if it has points.
    ///
    /// # Errors
    /// A value that is not allowed, or points that cannot be read.
    fn of_contents(
        contents: &Self::Contents,
        points: impl FnOnce() -> Result<Points, SpecError>,
    ) -> Result<Self, SpecError>;

    /// The layout of the file beside the output `path`.
    fn layout(&self, path: &Path) -> Layout;

    /// Number of items.
    fn items(&self) -> u64;

    /// Number of steps of each item, of which monitors are told; 1 if it is not known in advance.
    fn steps(&self) -> u64 {
        1
    }

    /// Memory that the values of all items need on the host during a computation (bytes).
    fn bytes_needed(&self) -> u64;

    /// Values of all items that are not computed yet; `None` if there is not enough memory.
    fn blank(&self) -> Option<Self::Values>;

    /// Stores the values of consecutive items from number `first` on.
    fn put(all: &mut Self::Values, first: usize, values: Self::Slice<'_>);

    /// All values, borrowed.
    fn slice(values: &Self::Values) -> Self::Slice<'_>;

    /// Values from their [bytes](Slice::le_bytes); `None` if the last one is incomplete.
    fn of_bytes(&self, bytes: &[u8]) -> Option<Self::Values>;

    /// Number of items that a CPU thread computes at a time with this instruction set.
    fn lanes(&self, simd: Simd) -> usize {
        simd.lanes()
    }

    /// Draws items of the task and delivers their values on the CPU, until no items are left.
    ///
    /// # Errors
    /// Those of the queue and of the sink.
    fn on_lanes(
        task: &Task<'_, Self>,
        workers: &Workers,
        share: Share<'_>,
    ) -> Result<(), EngineError>;

    /// What the user should know about bits that depend on the device, where GPUs compute, perhaps together with the CPU.
    fn note_on_gpus(&self, _with_cpu: bool) -> Option<String> {
        None
    }
}

/// The engine of an ensemble on a device: a GPU, or the emulator of the grid.
pub trait GpuEngine: fmt::Debug + Send + Sync {
    /// An engine on this device.
    fn on(device: Arc<dyn Device>) -> Self;

    /// An engine with a small grid under the emulator, for tests.
    fn emulated_gpu() -> Self;

    /// Its device.
    fn device(&self) -> &Arc<dyn Device>;

    /// Its number and name, as those of a worker.
    fn numbered(&self) -> String {
        let info = self.device().info();
        format!("GPU {}, {}", info.index, info.name)
    }
}

/// Draws spans of items, of at least and at most these numbers at a time, for which `compute` delivers the values, until no items are left.
///
/// # Errors
/// Those of the queue and of `compute`.
pub fn in_portions(
    share: Share<'_>,
    [least, most]: [u64; 2],
    mut compute: impl FnMut(Vec<Range<u64>>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    if !share.ready() {
        return share.check();
    }
    let mut rate = 0.0;
    loop {
        let spans = share.draw_portion(rate, least, most)?;
        if spans.is_empty() {
            if !share.wait()? {
                return Ok(());
            }
            continue;
        }
        let began = Instant::now();
        let count: u64 = spans.iter().map(|span| span.end - span.start).sum();
        compute(spans)?;
        rate = count as f64 / began.elapsed().as_secs_f64().max(1e-6);
    }
}

/// The values of consecutive items.
pub trait Slice<'a>: Copy {
    /// Number of items.
    fn count(self) -> u64;

    /// Their bytes in files and messages.
    fn le_bytes(self) -> Cow<'a, [u8]>;

    /// How many of them differ in any bit from those of `others` at the same places, as far as both go.
    fn different(self, others: Self) -> u64 {
        let [a, b] = [self.le_bytes(), others.le_bytes()];
        let size = (a.len() / self.count().max(1) as usize).max(1);
        let pairs = a.chunks(size).zip(b.chunks(size));
        pairs.filter(|(a, b)| a != b).count() as u64
    }
}

impl<'a, T: Plain> Slice<'a> for &'a [T] {
    fn count(self) -> u64 {
        self.len() as u64
    }

    /// Their bytes in memory.
    fn le_bytes(self) -> Cow<'a, [u8]> {
        // SAFETY: plain values have no padding, so that all of their bytes are initialised.
        let bytes = unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), size_of_val(self)) };
        Cow::Borrowed(bytes)
    }
}

/// The options in which two specifications differ, with both values.
pub fn differences<T: Serialize>(there: &T, here: &T) -> Vec<String> {
    let [there, here] = [there, here].map(|given| match serde_json::to_value(given) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    });
    let text = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "none".to_owned(),
        Some(Value::Array(list)) if list.is_empty() => "none".to_owned(),
        Some(value) => value.to_string(),
    };
    let differing = here.keys().filter(|key| there.get(*key) != here.get(*key));
    let differing = differing.map(|key| {
        let [there, here] = [&there, &here].map(|values| text(values.get(key)));
        let option = key.replace('_', "-");
        format!("--{option} ({there} there, {here} here)")
    });
    differing.collect()
}

/// Takes values, from any thread and in any order.
pub trait Sink<E: Ensemble>: Sync {
    /// Takes the values of the items from number `first` on. Every item of a task is passed once.
    ///
    /// # Errors
    /// The reason why the sink cannot take them, which ends the computation.
    fn put(&self, first: u64, values: E::Slice<'_>) -> Result<(), EngineError>;
}

/// Items to compute.
#[allow(missing_debug_implementations)]
pub struct Task<'a, E: Ensemble> {
    /// The ensemble.
    pub spec: &'a E,
    /// Numbers of the items, in ascending order and without overlap.
    pub spans: &'a [Range<u64>],
    /// The destination of the values.
    pub sink: &'a dyn Sink<E>,
    /// The source of further items while these are computed.
    pub supply: Option<&'a dyn Supply>,
}

impl<'a, E: Ensemble> Task<'a, E> {
    /// A task for these items (in ascending order and without overlap) of an ensemble.
    pub fn new(spec: &'a E, spans: &'a [Range<u64>], sink: &'a dyn Sink<E>) -> Self {
        Self {
            spec,
            spans,
            sink,
            supply: None,
        }
    }

    /// A task whose items arrive while it runs.
    pub(crate) fn supplied(spec: &'a E, sink: &'a dyn Sink<E>, supply: &'a dyn Supply) -> Self {
        Self {
            supply: Some(supply),
            ..Self::new(spec, &[], sink)
        }
    }

    /// Its items; those of the whole ensemble, if they arrive while the task runs.
    pub fn spans_to_come(&self) -> Cow<'a, [Range<u64>]> {
        if self.supply.is_some() {
            return Cow::Owned(vec![0..self.spec.items()]);
        }
        Cow::Borrowed(self.spans)
    }

    /// Number of its items; that of the whole ensemble, if they arrive while the task runs.
    pub fn items(&self) -> u64 {
        self.spans_to_come().iter().map(|s| s.end - s.start).sum()
    }

    /// Passes the values of items that a device has drawn, from number `first` on, to the sink.
    ///
    /// # Errors
    /// The error that ended the run, or that of the sink, which ends the run.
    pub fn deliver(
        &self,
        share: Share<'_>,
        first: u64,
        values: E::Slice<'_>,
    ) -> Result<(), EngineError> {
        let span = first..first + values.count();
        share.deliver(span, || self.sink.put(first, values))
    }
}

/// The report on a computation.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// `cpu`, `gpu`, `gpu+cpu` or `emulator`.
    pub engine: &'static str,
    /// Description of the device.
    pub device: String,
    /// Time of the computation itself, from the moment at which all devices were ready to the last result on the host.
    pub elapsed: Duration,
    /// Facts that the user should know, such as that a GPU failed and others took over.
    pub notes: Vec<String>,
    /// The contribution of each device.
    pub portions: Vec<Portion>,
    /// The energy that the GPUs used, if it was measured.
    pub energy: Option<Energy>,
}

impl Report {
    /// The report where all items were there already; `device` says so.
    pub fn nothing(device: &str) -> Self {
        Self {
            engine: "none",
            device: device.into(),
            ..Self::default()
        }
    }

    /// The contributions of the devices as JSON, each with its number of `items`, such as `pixels`.
    pub fn portions_json(&self, items: &str) -> Value {
        let portion = |p: &Portion| json!({ "device": p.device, items: p.items });
        self.portions.iter().map(portion).collect()
    }
}

/// The contribution of a device to an ensemble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portion {
    /// Description of the device.
    pub device: String,
    /// Number of items that it computed.
    pub items: u64,
}

impl Portion {
    /// Portions of devices, each with its number of items.
    pub(crate) fn all(portions: Vec<(String, u64)>) -> Vec<Self> {
        let portion = |(device, items)| Self { device, items };
        portions.into_iter().map(portion).collect()
    }
}
