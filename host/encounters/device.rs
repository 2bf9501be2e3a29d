//! The engine for devices. Launches are short, and threads continue where they stopped, so that the engine can show progress and be
//! cancelled.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernels_gpu::device::encounters::{Job, Shared, Thread};
use kernels_gpu::encounters::start::Plan;
use kernels_gpu::encounters::step::Stage;
use kernels_gpu::encounters::{BodiesStart, Record};
use kernels_gpu::kernels::Encounters;
use kernels_gpu::number::Fast;

use super::{Precision, Task};
use trisolar_device::{Buffer, Device, Entry, Grid, Plain, Residency};
use trisolar_ensemble::{GpuEngine, in_portions};
use trisolar_run::queue::Share;
use trisolar_run::scheduler::Worker;
use trisolar_run::{EngineError, machine};

/// Number of resident blocks per multiprocessor. With the 168 registers per thread that this allows, the kernel is fastest: with 128, steps
/// wait for what does not fit into them.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 3;
/// Duration of a launch on a GPU (ns).
const LAUNCH_NS: u64 = 100_000_000;
/// Largest number of runs of a job, whose records are in the device's memory.
const MAX_RUNS_PER_JOB: u64 = 1 << 24;
/// The same limit if runs arrive in small portions, as in one of several processes.
const MAX_SUPPLIED_RUNS_PER_JOB: u64 = 1 << 21;
/// Smallest number of consecutive runs that make a job of their own. Shorter spans share a job, whose start states the host makes.
const MIN_RUNS_FOR_OWN_JOB: u64 = 1 << 15;
/// Smallest number of runs per thread of a job: with fewer, the last runs, which take longest, would cost too much.
const RUNS_PER_THREAD: u64 = 8;
/// Longest time between two deliveries of the records of a job.
const MAX_DELIVERY_INTERVAL: Duration = Duration::from_secs(20);
/// The byte that fills the outcome of a run that has not ended. It is no [`Outcome`](super::Outcome).
const NOT_ENDED: u8 = 0xff;

/// Integrates encounters on a device: a GPU, or the emulator of the grid.
#[derive(Clone, Debug)]
pub struct DeviceEngine {
    device: Arc<dyn Device>,
    /// Threads per block.
    block: u32,
    /// Largest number of blocks in a grid.
    blocks: u32,
    /// Duration of a launch (ns).
    slice_ns: u64,
}

/// The limit of these devices: kicks per second if their `f64` units are always busy. `None` if the number of units is not known.
pub fn device_kicks_limit<'a>(
    devices: impl Iterator<Item = &'a dyn Device>,
    precision: Precision,
) -> Option<f64> {
    let rates = devices.map(|device| device.info().f64_operations_per_second());
    rates
        .sum::<Option<f64>>()
        .map(|rate| rate / precision.kick_operations())
}

impl DeviceEngine {
    /// An engine under the emulator of the grid, with this number of blocks and of threads per block. Launches are as short as possible, so
    /// that threads are often interrupted. `seed` determines the random order in which the threads run.
    pub fn emulated(blocks: u32, block: u32, seed: Option<u64>) -> Self {
        let emulator = machine::emulator().seed(seed).resident(blocks);
        Self {
            block,
            blocks,
            slice_ns: 0,
            ..Self::on(Arc::new(emulator))
        }
    }
}

impl GpuEngine for DeviceEngine {
    fn on(device: Arc<dyn Device>) -> Self {
        Self {
            device,
            block: 128,
            blocks: u32::MAX,
            slice_ns: LAUNCH_NS,
        }
    }

    fn emulated_gpu() -> Self {
        Self::emulated(2, 32, None)
    }

    fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }
}

impl<'a> Worker<Task<'a>> for DeviceEngine {
    fn label(&self) -> String {
        self.numbered()
    }

    fn capacity(&self, _: &Task<'a>) -> u64 {
        let multiprocessors = self.device.info().multiprocessors;
        let resident = multiprocessors.saturating_mul(BLOCKS_PER_MULTIPROCESSOR);
        RUNS_PER_THREAD * u64::from(resident.min(self.blocks)) * u64::from(self.block)
    }

    fn work(&self, task: &Task<'a>, share: Share<'_>) -> Result<(), EngineError> {
        let mut kernel = Kernel::new(self, task, share)?;
        let most = match task.supply {
            Some(_) => MAX_SUPPLIED_RUNS_PER_JOB,
            None => MAX_RUNS_PER_JOB,
        };
        let least = RUNS_PER_THREAD * kernel.threads();
        in_portions(share, [least, most], |spans| {
            let mut jobs = jobs(spans).into_iter();
            jobs.try_for_each(|job| kernel.integrate(&job))
        })
    }
}

/// Divides spans of runs into jobs.
fn jobs(spans: Vec<Range<u64>>) -> Vec<Vec<Range<u64>>> {
    let (large, small): (Vec<_>, Vec<_>) =
        (spans.into_iter()).partition(|span| span.end - span.start >= MIN_RUNS_FOR_OWN_JOB);
    let small = (!small.is_empty()).then_some(small);
    let large = large.into_iter().map(|span| vec![span]);
    large.chain(small).collect()
}

/// Whether a job's run has ended.
fn has_ended(record: &Record) -> bool {
    record.outcome != NOT_ENDED
}

/// The arguments of the kernel.
type Arguments = <Encounters<f64> as cuda_std::Kernel>::Arguments;

/// The kernel for this arithmetic of the steps.
fn entry(precision: Precision) -> Entry<Arguments> {
    match precision {
        Precision::F64 => Entry::of::<Encounters<f64>>(),
        Precision::Fast => Entry::of::<Encounters<Fast>>(),
    }
}

/// The kernel with its buffers.
struct Kernel<'a> {
    engine: &'a DeviceEngine,
    task: &'a Task<'a>,
    share: Share<'a>,
    entry: Entry<Arguments>,
    grid: Grid,
    threads: Buffer<u64>,
    shared: Buffer<u64>,
    stages: Buffer<Stage>,
    plan: Buffer<Plan>,
    records: Option<Buffer<Record>>,
    bodies: Option<Buffer<BodiesStart>>,
    host: Vec<Record>,
    /// Number of runs of the earlier jobs.
    done: u64,
}

impl<'a> Kernel<'a> {
    fn new(
        engine: &'a DeviceEngine,
        task: &'a Task<'a>,
        share: Share<'a>,
    ) -> Result<Self, EngineError> {
        let &DeviceEngine {
            ref device,
            block,
            blocks,
            ..
        } = engine;
        let grid = Grid::new(0, block).residency(Some(Residency {
            threads: block,
            blocks: BLOCKS_PER_MULTIPROCESSOR,
        }));
        let entry = entry(task.spec.specification().precision);
        let resident = device.resident_blocks(entry, grid)?;
        let most = task
            .items()
            .min(MAX_RUNS_PER_JOB)
            .div_ceil(block.into())
            .max(1);
        let blocks = most.min(resident.min(blocks).into()) as u32;
        if blocks == 0 {
            return Err(EngineError::Gpu {
                device: device.info().name.clone(),
                call: "finding room for the kernel's threads",
                reason: "a multiprocessor has too few registers for a block".into(),
            });
        }
        let words = (blocks * block) as usize * size_of::<Thread>().div_ceil(8);
        Ok(Self {
            engine,
            task,
            share,
            entry,
            grid: Grid { blocks, ..grid },
            threads: Buffer::filled(device, words, 0)?,
            shared: Buffer::filled(device, size_of::<Shared>() / 8, 0)?,
            stages: Buffer::of(device, task.spec.stages())?,
            plan: Buffer::of(device, &[*task.spec.plan()])?,
            records: None,
            bodies: None,
            host: Vec::new(),
            done: 0,
        })
    }

    /// Number of threads of a launch.
    fn threads(&self) -> u64 {
        u64::from(self.grid.blocks) * u64::from(self.engine.block)
    }

    /// Integrates runs that this device has drawn and delivers their records.
    fn integrate(&mut self, runs: &[Range<u64>]) -> Result<(), EngineError> {
        let (task, device) = (self.task, &self.engine.device);
        let count: u64 = runs.iter().map(|span| span.end - span.start).sum();
        let room = count as usize;
        let bodies = match (task.spec.given_bodies(), runs) {
            (None, [_]) => std::ptr::null(),
            (Some(given), [span]) => {
                let given = &given[span.start as usize..span.end as usize];
                filled(&mut self.bodies, device, given)?
            }
            (_, spans) => {
                let all = spans.iter().cloned().flatten();
                let bodies: Vec<BodiesStart> = all.map(|run| task.spec.bodies(run)).collect();
                filled(&mut self.bodies, device, &bodies)?
            }
        };
        if self
            .records
            .as_ref()
            .is_none_or(|buffer| buffer.len() < room)
        {
            // The smaller buffer comes first, because there may be too little memory for both.
            self.records = None;
            self.records = Some(Buffer::filled(device, room, NOT_ENDED)?);
            self.host.resize(room, Record::default());
        }
        let records = self.records.as_mut().expect("it was made just now");
        records.fill(NOT_ENDED)?;
        self.threads.fill(0)?;
        self.shared.fill(0)?;
        let job = Job {
            settings: *task.spec.settings(),
            stages: self.stages.as_ptr(),
            plan: self.plan.as_ptr(),
            bodies,
            records: records.as_mut_ptr(),
            first: runs[0].start,
            count,
            stage_count: task.spec.stages().len() as u32,
            unused: 0,
        };
        let blocks = count.div_ceil(self.engine.block.into());
        let grid = Grid {
            blocks: blocks.min(self.grid.blocks.into()) as u32,
            ..self.grid
        };
        let mut missing = Missing::new(runs);
        let mut harvested = Instant::now();
        let mut ended = 0;
        while ended < count {
            let arguments = (
                job,
                self.engine.slice_ns,
                self.threads.as_mut_ptr().cast(),
                self.shared.as_ptr().cast(),
            );
            // SAFETY: the arrays have the lengths that the kernel requires and live until the device is done.
            unsafe { device.launch_entry(self.entry, grid, arguments)? };
            let mut now = [0; 2];
            self.shared.download(&mut now)?;
            ended = now[1];
            self.share.report(self.done + ended);
            let goes_on = self.share.check();
            // Also of a computation that has been ended: a file keeps what is done.
            if goes_on.is_err() || ended == count || harvested.elapsed() >= MAX_DELIVERY_INTERVAL {
                self.harvest(&mut missing, room)?;
                harvested = Instant::now();
            }
            goes_on?;
        }
        self.done += count;
        Ok(())
    }

    /// Copies the records of a job from the device and delivers the new ones.
    fn harvest(&mut self, missing: &mut Missing, room: usize) -> Result<(), EngineError> {
        let host = &mut self.host[..room];
        if let Some(records) = &self.records {
            records.download(host)?;
        }
        missing.take(host, |span, records| {
            self.task.deliver(self.share, span.start, records)
        })
    }
}

/// Copies `values` to the device, into a buffer that is kept from one job to the next.
fn filled<T: Plain>(
    buffer: &mut Option<Buffer<T>>,
    device: &Arc<dyn Device>,
    values: &[T],
) -> Result<*const T, EngineError> {
    match buffer {
        Some(buffer) if buffer.len() >= values.len() => buffer.upload(values)?,
        _ => {
            *buffer = None;
            *buffer = Some(Buffer::of(device, values)?);
        }
    }
    Ok(buffer.as_ref().map_or(std::ptr::null(), Buffer::as_ptr))
}

/// The runs of a job whose records have not been delivered, each with the place of its record.
struct Missing(Vec<(Range<u64>, usize)>);

impl Missing {
    fn new(runs: &[Range<u64>]) -> Self {
        let mut place = 0;
        let placed = runs.iter().map(|span| {
            let at = place;
            place += (span.end - span.start) as usize;
            (span.clone(), at)
        });
        Self(placed.collect())
    }

    /// Delivers the records of the runs that have ended since the last call.
    fn take(
        &mut self,
        records: &[Record],
        mut deliver: impl FnMut(Range<u64>, &[Record]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut left = Vec::new();
        for (span, mut place) in std::mem::take(&mut self.0) {
            let count = (span.end - span.start) as usize;
            let mut first = span.start;
            for group in records[place..place + count].chunk_by(|a, b| has_ended(a) == has_ended(b))
            {
                let span = first..first + group.len() as u64;
                if has_ended(&group[0]) {
                    deliver(span, group)?;
                } else {
                    left.push((span, place));
                }
                first += group.len() as u64;
                place += group.len();
            }
        }
        self.0 = left;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::{CpuEngine, Limits, Specification, Validated, same_bits};
    use trisolar_ensemble::{Engine as _, Sink, together};
    use trisolar_run::{Monitor, Unattended};

    const RUNS: u64 = 80;

    fn valid() -> Validated {
        let specification = Specification {
            n: RUNS,
            limits: Limits {
                max_time: None,
                max_steps: 400,
            },
            ..Specification::default()
        };
        specification.validate().unwrap()
    }

    /// Records by the numbers of their runs; each run must come once.
    #[derive(Default)]
    struct Found(Mutex<Vec<(u64, Record)>>);

    impl Sink<Validated> for Found {
        fn put(&self, first: u64, records: &[Record]) -> Result<(), EngineError> {
            let mut all = self.0.lock().unwrap();
            all.extend((first..).zip(records.iter().copied()));
            Ok(())
        }
    }

    impl Found {
        /// The runs, whose records must be as expected.
        fn runs(&self, expected: &[Record]) -> Vec<u64> {
            let mut all = self.0.lock().unwrap().clone();
            all.sort_unstable_by_key(|(run, _)| *run);
            for (run, record) in &all {
                assert!(same_bits(record, &expected[*run as usize]), "{run}");
            }
            all.into_iter().map(|(run, _)| run).collect()
        }
    }

    /// A device that fails after it has drawn runs.
    struct Failing;

    impl<'a> Worker<Task<'a>> for Failing {
        fn label(&self) -> String {
            "a bad GPU".into()
        }

        fn capacity(&self, _: &Task<'a>) -> u64 {
            32
        }

        fn work(&self, _: &Task<'a>, share: Share<'_>) -> Result<(), EngineError> {
            share.ready();
            share.draw_portion(0.0, 10, 10)?;
            Err(EngineError::Gpu {
                device: self.label(),
                call: "launching a kernel",
                reason: "it was pulled out".into(),
            })
        }
    }

    #[test]
    fn devices_and_the_cpu_together_give_the_records_of_one_also_where_one_fails() {
        let spec = valid();
        let cpu = CpuEngine::new(Some(2)).unwrap();
        let expected = cpu.compute(&spec, &Unattended).unwrap().values;
        let [one, other] = [1, 1].map(|blocks| DeviceEngine::emulated(blocks, 32, None));
        // A task that leaves out some runs between others.
        for spans in [vec![0..RUNS], vec![3..4, 10..50, 60..61, 79..80]] {
            for number in 0..4 {
                let found = Found::default();
                let task = Task::new(&spec, &spans, &found);
                let groups: [&[&dyn Worker<Task<'_>>]; 4] = [
                    &[&one, &other],
                    &[&one, &cpu],
                    &[&Failing, &one],
                    &[&cpu, &Failing, &other],
                ];
                let group = groups[number];
                let ran = together(group, None, &task, &Unattended, None).unwrap();
                let asked: Vec<u64> = spans.iter().cloned().flatten().collect();
                assert_eq!(ran.portions.iter().map(|p| p.1).sum::<u64>(), task.items());
                let failed = group.iter().filter(|w| w.label() == "a bad GPU").count();
                assert_eq!(ran.notes.len(), failed);
                let named =
                    |note: &String| note.starts_with("a bad GPU: launching a kernel failed");
                assert!(ran.notes.iter().all(named), "{:?}", ran.notes);
                assert_eq!(found.runs(&expected), asked);
            }
        }
        // The reserve integrates the runs that all other devices have left.
        let found = Found::default();
        let whole = [0..RUNS];
        let task = Task::new(&spec, &whole, &found);
        let ran = together(&[&Failing], Some(&cpu), &task, &Unattended, None).unwrap();
        assert!(
            ran.notes[0].ends_with("the CPU computes the 10 runs that it had begun, and the rest")
        );
        assert_eq!(found.runs(&expected).len() as u64, RUNS);
    }

    #[test]
    fn what_has_ended_is_kept_when_a_computation_is_cancelled() {
        /// Ends the computation after some launches.
        struct Impatient(AtomicU64);
        impl Monitor for Impatient {
            fn cancelled(&self) -> bool {
                self.0.fetch_add(1, Ordering::Relaxed) >= 4
            }
        }
        let spec = valid();
        let cpu = CpuEngine::new(Some(1)).unwrap();
        let expected = cpu.compute(&spec, &Unattended).unwrap().values;
        let engine = DeviceEngine::emulated(1, 32, None);
        let found = Found::default();
        let whole = [0..RUNS];
        let task = Task::new(&spec, &whole, &found);
        let error = engine.stream(&task, &Impatient(AtomicU64::new(0)));
        assert!(matches!(error, Err(EngineError::Cancelled)));
        let kept = found.runs(&expected).len() as u64;
        assert!((1..RUNS).contains(&kept), "{kept}");
    }

    fn record(outcome: u8) -> Record {
        Record {
            outcome,
            ..Record::default()
        }
    }

    #[test]
    fn what_has_ended_is_delivered_once_and_in_its_place() {
        let mut missing = Missing::new(&[10..13, 20..21, 30..34]);
        let mut records = vec![record(NOT_ENDED); 8];
        let mut delivered: Vec<(u64, u8)> = Vec::new();
        for ended in [&[1, 2, 3][..], &[], &[4, 7], &[0, 5, 6]] {
            for place in ended {
                records[*place] = record(*place as u8);
            }
            let deliver = |span: Range<u64>, records: &[Record]| {
                assert_eq!(span.end - span.start, records.len() as u64);
                delivered.extend(span.zip(records.iter().map(|r| r.outcome)));
                Ok(())
            };
            missing.take(&records, deliver).unwrap();
        }
        assert!(missing.0.is_empty());
        delivered.sort_unstable();
        let expected = [
            (10, 0),
            (11, 1),
            (12, 2),
            (20, 3),
            (30, 4),
            (31, 5),
            (32, 6),
            (33, 7),
        ];
        assert_eq!(delivered, expected);
    }

    #[test]
    fn scattered_runs_share_a_job() {
        let spans = vec![
            0..5,
            7..8,
            10..10 + MIN_RUNS_FOR_OWN_JOB,
            1 << 40..(1 << 40) + 3,
        ];
        let together = vec![0..5, 7..8, 1 << 40..(1 << 40) + 3];
        assert_eq!(jobs(spans), [vec![10..10 + MIN_RUNS_FOR_OWN_JOB], together]);
        assert_eq!(jobs(vec![3..4]), [vec![3..4]]);
        assert!(jobs(Vec::new()).is_empty());
    }
}
