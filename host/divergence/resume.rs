//! Pixels that go on where an earlier computation of fewer steps left them, with the bits of one computation: on the CPU or a
//! GPU, exact maps by explicit Euler.

use std::time::{Duration, Instant};

use kernels_gpu::divergence::{Course, Feed, IDLE, Job, Leave, Pixel, Twins, Walker};
use kernels_gpu::gravity::Relative;
use kernels_gpu::integrator::three_body::{ExplicitEuler, State};
use kernels_gpu::{Lanes, Vec3};

use super::engine::{Backend, EngineError, Monitor, RunOptions};
use super::{CpuEngine, Integrator, Precision, Validated};
use crate::simd::Simd;

pub use kernels_gpu::kernels::Item;

/// Whether pixels of such maps can be resumed.
pub fn can_resume(spec: &Validated) -> bool {
    let s = spec.specification();
    (s.precision, s.integrator) == (Precision::Exact, Integrator::ExplicitEuler)
}

impl Validated {
    /// A pixel at its start.
    pub fn item(&self, pixel: u64) -> Item {
        Item::new(self.job_in_lengths(0, 1).grid.twins(pixel))
    }
}

/// Steps every item until its twins have parted or it has had all the map's steps, and says where that was. An item that has had
/// as many steps already stays as it is.
///
/// # Errors
/// As [`run`](super::run), which chooses the device in the same way.
///
/// # Panics
/// Unless [`can_resume`].
pub fn resume(
    spec: &Validated,
    items: &mut [Item],
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Resumed, EngineError> {
    assert!(can_resume(spec), "exact maps by explicit Euler");
    let mut notes = Vec::new();
    if options.backend != Backend::Cpu {
        match on_gpu(spec, items, options, monitor) {
            Ok(resumed) => return Ok(resumed),
            Err(EngineError::Cancelled) => return Err(EngineError::Cancelled),
            Err(error) if options.backend == Backend::Gpu => return Err(error),
            Err(EngineError::NoGpu(_)) if !crate::gpu::driver_present() => {}
            Err(error) => notes.push(format!("{error}; the CPU computes instead")),
        }
    }
    let engine = CpuEngine::new(options.threads)?;
    let start = Instant::now();
    engine.resume(spec, items, monitor)?;
    Ok(Resumed {
        elapsed: start.elapsed(),
        engine: "cpu",
        device: super::Engine::device(&engine),
        notes,
    })
}

/// Who resumed pixels, and what it took.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// Time of the computation itself.
    pub elapsed: Duration,
    /// `cpu` or `gpu`.
    pub engine: &'static str,
    /// The device in words.
    pub device: String,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// A [`Lanes`] whose numbers can be looked at.
pub(super) trait Exposed: Lanes {
    /// The number in a lane.
    fn number(self, lane: usize) -> f64;
}

impl Exposed for f64 {
    #[inline(always)]
    fn number(self, _: usize) -> f64 {
        self
    }
}

#[cfg(target_arch = "x86_64")]
impl Exposed for crate::simd::F64x4 {
    #[inline(always)]
    fn number(self, lane: usize) -> f64 {
        self.to_array()[lane]
    }
}

#[cfg(target_arch = "x86_64")]
impl Exposed for crate::simd::F64x8 {
    #[inline(always)]
    fn number(self, lane: usize) -> f64 {
        self.to_array()[lane]
    }
}

type OneStep<R> = [Relative<R>; 0];

/// One lane of twins.
#[inline(always)]
fn one_lane<R: Exposed>(twins: &Twins<R, OneStep<R>>, lane: usize) -> Twins<f64, OneStep<f64>> {
    let vector = |v: Vec3<R>| Vec3 {
        x: v.x.number(lane),
        y: v.y.number(lane),
        z: v.z.number(lane),
    };
    let relative = |r: &Relative<R>| Relative {
        a: vector(r.a),
        b: vector(r.b),
    };
    let state = |s: &State<R, OneStep<R>>| State {
        q: relative(&s.q),
        u: relative(&s.u),
        memory: [],
    };
    Twins {
        a: state(&twins.a),
        b: state(&twins.b),
    }
}

/// Items from a list, and where they ended.
struct Listed<'a> {
    items: &'a [Item],
    /// The first one and the distance to the next: threads take turns.
    next: usize,
    stride: usize,
    ended: Vec<(usize, Item)>,
}

impl Feed for Listed<'_> {
    #[inline(always)]
    fn next(&mut self) -> Option<Pixel> {
        let index = self.next;
        self.next += self.stride;
        (index < self.items.len()).then_some(Pixel {
            number: 0,
            slot: index as u32,
        })
    }

    #[inline(always)]
    fn done(&mut self, _: u32, _: u32) {}
}

impl<R: Exposed> Course<R, OneStep<R>> for Listed<'_> {
    #[inline(always)]
    fn resume(&mut self, pixel: u32) -> Option<(Twins<R, OneStep<R>>, u32)> {
        let item = &self.items[pixel as usize];
        let state = |s: &State<f64, OneStep<f64>>| State::new(&s.q, &s.u);
        let twins = Twins {
            a: state(&item.twins.a),
            b: state(&item.twins.b),
        };
        Some((twins, item.taken))
    }

    #[inline(always)]
    fn leave(&mut self, pixel: u32, end: Leave<'_, R, OneStep<R>>) {
        let item = Item {
            twins: one_lane(end.twins, end.lane),
            taken: end.taken,
            parted: end.parted,
        };
        self.ended.push((pixel as usize, item));
    }
}

/// Pairs of steps between looking for a cancellation and reporting progress.
const SLICE: u32 = 1 << 13;

impl CpuEngine {
    fn resume(
        &self,
        spec: &Validated,
        items: &mut [Item],
        monitor: &dyn Monitor,
    ) -> Result<(), EngineError> {
        let job = spec.job(0, 1);
        let unfinished: Vec<usize> = (0..items.len())
            .filter(|i| items[*i].goes_on(job.steps))
            .collect();
        let list: Vec<Item> = unfinished.iter().map(|i| items[*i]).collect();
        let total = list.len() as u64;
        let finished = std::sync::atomic::AtomicU64::new(0);
        let threads = self.pool().current_num_threads();
        let ended = self.pool().broadcast(|context| {
            let mut feed = Listed {
                items: &list,
                next: context.index(),
                stride: threads,
                ended: Vec::new(),
            };
            let mut told = 0;
            let mut go_on = |feed: &Listed<'_>| {
                use std::sync::atomic::Ordering::Relaxed;
                let new = (feed.ended.len() - told) as u64;
                told = feed.ended.len();
                let all = finished.fetch_add(new, Relaxed) + new;
                monitor.progress(all, total);
                !monitor.cancelled()
            };
            work(self.simd(), &job, &mut feed, &mut go_on);
            feed.ended
        });
        for (index, item) in ended.into_iter().flatten() {
            items[unfinished[index]] = item;
        }
        if monitor.cancelled() && finished.into_inner() < total {
            return Err(EngineError::Cancelled);
        }
        Ok(())
    }
}

fn work(simd: Simd, job: &Job, feed: &mut Listed<'_>, go_on: &mut dyn FnMut(&Listed<'_>) -> bool) {
    match simd {
        Simd::Scalar => worker::<f64, 1>(job, feed, go_on),
        // SAFETY: a CpuEngine holds only instruction sets that the machine has.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => unsafe { worker_avx2(job, feed, go_on) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => unsafe { worker_avx512(job, feed, go_on) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn worker_avx2(job: &Job, feed: &mut Listed<'_>, go_on: &mut dyn FnMut(&Listed<'_>) -> bool) {
    worker::<crate::simd::F64x4, 4>(job, feed, go_on);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn worker_avx512(job: &Job, feed: &mut Listed<'_>, go_on: &mut dyn FnMut(&Listed<'_>) -> bool) {
    worker::<crate::simd::F64x8, 8>(job, feed, go_on);
}

/// Steps items until none is left. Inlined into a function with the lanes' instruction set.
#[inline(always)]
fn worker<R: Exposed, const N: usize>(
    job: &Job,
    feed: &mut Listed<'_>,
    go_on: &mut dyn FnMut(&Listed<'_>) -> bool,
) {
    let mut walker = Walker::<R, N, ExplicitEuler>::fresh();
    loop {
        let went = walker.walk_course(job, SLICE, feed);
        let busy = walker.pixel.iter().any(|p| *p < IDLE);
        if !go_on(feed) || (went < SLICE && !busy) {
            return;
        }
    }
}

#[cfg(not(feature = "gpu"))]
fn on_gpu(
    _: &Validated,
    _: &mut [Item],
    _: &RunOptions,
    _: &dyn Monitor,
) -> Result<Resumed, EngineError> {
    Err(EngineError::NoGpu(
        "this program was built without the feature `gpu`".into(),
    ))
}

#[cfg(feature = "gpu")]
fn on_gpu(
    spec: &Validated,
    items: &mut [Item],
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Resumed, EngineError> {
    use super::GpuChoice;
    // One GPU: the first of those asked for.
    let number = match options.gpus {
        GpuChoice::These(bits) => bits.trailing_zeros(),
        _ => 0,
    };
    on_device::resume(number, spec, items, monitor)
}

#[cfg(feature = "gpu")]
mod on_device {
    use std::time::{Duration, Instant};

    use kernels_gpu::divergence::Walker;
    use kernels_gpu::integrator::three_body::ExplicitEuler;
    use kernels_gpu::kernels::Shared;

    use super::{EngineError, Item, Monitor, Resumed, Validated};
    use crate::gpu::{Argument, DeviceMemory, Gpu, Kernel};

    /// Threads of a block.
    const BLOCK: u32 = 128;
    /// Items on the device at a time: 208 MiB.
    const BATCH: usize = 1 << 20;
    /// An item in words of 32 bits.
    const WORDS: usize = size_of::<Item>() / 4;
    /// What a launch takes.
    const SLICE: Duration = Duration::from_millis(50);

    fn words(item: &Item) -> [u32; WORDS] {
        // SAFETY: 24 f64 and two u32 without padding; any bits of them are numbers.
        unsafe { std::mem::transmute(*item) }
    }

    fn item(words: [u32; WORDS]) -> Item {
        // SAFETY: as above.
        unsafe { std::mem::transmute(words) }
    }

    pub(super) fn resume(
        number: u32,
        spec: &Validated,
        items: &mut [Item],
        monitor: &dyn Monitor,
    ) -> Result<Resumed, EngineError> {
        let gpu = Gpu::open(number)?;
        gpu.enter()?;
        let kernel = gpu.kernel("divergence_resume")?;
        let steps = spec.specification().steps as u32;
        let unfinished: Vec<usize> = (0..items.len())
            .filter(|i| items[*i].goes_on(steps))
            .collect();
        let total = unfinished.len() as u64 * u64::from(steps);
        let mut before = 0;
        let start = Instant::now();
        for batch in unfinished.chunks(BATCH) {
            let mut list: Vec<u32> = Vec::with_capacity(batch.len() * WORDS);
            for index in batch {
                list.extend(words(&items[*index]));
            }
            let mut memory = DeviceMemory::<u32>::filled(&gpu, list.len(), 0)?;
            memory.upload(&list)?;
            let report = |steps| monitor.progress(before + steps, total);
            step(&gpu, &kernel, spec, &memory, batch.len(), &report, monitor)?;
            memory.download(&mut list)?;
            let (ended, _) = list.as_chunks::<WORDS>();
            for (index, words) in batch.iter().zip(ended) {
                items[*index] = item(*words);
            }
            before += batch.len() as u64 * u64::from(steps);
        }
        Ok(Resumed {
            elapsed: start.elapsed(),
            engine: "gpu",
            device: gpu.info().name.clone(),
            notes: Vec::new(),
        })
    }

    /// Launches until all items are at their ends.
    fn step(
        gpu: &Gpu,
        kernel: &Kernel<'_>,
        spec: &Validated,
        items: &DeviceMemory<'_, u32>,
        count: usize,
        report: &dyn Fn(u64),
        monitor: &dyn Monitor,
    ) -> Result<(), EngineError> {
        let job = spec.job(0, count as u32);
        let most = kernel.resident_blocks(BLOCK, 0)?.max(1) * gpu.info().multiprocessors;
        let blocks = most.min(count.div_ceil(BLOCK as usize) as u32);
        let kept = size_of::<Walker<f64, 1, ExplicitEuler>>();
        let words = ((blocks * BLOCK) as usize * kept).div_ceil(size_of::<u64>());
        // All ones: threads that have not asked for an item yet.
        let threads = DeviceMemory::<u64>::filled(gpu, words, 0xff)?;
        let shared = DeviceMemory::<u64>::filled(gpu, size_of::<Shared>().div_ceil(8), 0)?;
        let all = count as u64 * u64::from(job.steps);
        let slice = SLICE.as_nanos() as u64;
        let (to, from, counters) = (items.address(), threads.address(), shared.address());
        let arguments = [
            Argument::new(&job),
            Argument::new(&slice),
            Argument::new(&to),
            Argument::new(&from),
            Argument::new(&counters),
        ];
        loop {
            // SAFETY: the kernel's parameters; the arrays have the lengths that it asks for and live until the device is
            // done.
            unsafe { kernel.launch(blocks, BLOCK, 0, &arguments)? };
            let end = gpu.mark()?;
            while !end.reached()? {
                std::thread::sleep(Duration::from_micros(200));
            }
            let mut read = vec![0; shared.len()];
            shared.download(&mut read)?;
            // The first counter: steps accounted for.
            report(read[0]);
            if read[0] == all {
                return Ok(());
            }
            if monitor.cancelled() {
                return Err(EngineError::Cancelled);
            }
        }
    }
}
