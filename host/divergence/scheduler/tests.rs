//! Tests the scheduler with devices that are slow, unequal, or fail.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::*;
use crate::queue::{Pace, Queue};
use crate::sink::{MemorySink, Sink};
use crate::{
    CpuEngine, DivergenceKernel, EmulatorEngine, Engine, Quantity, Unattended, Validated,
    ValueSlice,
};

/// How a simulated device fails.
#[derive(Clone, Copy, PartialEq)]
enum Fails {
    Never,
    AtOnce,
    /// After this many deliveries, with pixels drawn.
    After(u64),
    Panics,
}

/// A simulated device that sleeps for each pixel and invents its result.
struct Pretended {
    name: &'static str,
    a_pixel: Duration,
    unit: u64,
    fails: Fails,
}

impl Pretended {
    const fn new(name: &'static str, microseconds: u64, fails: Fails) -> Self {
        Self {
            name,
            a_pixel: Duration::from_micros(microseconds),
            unit: 16,
            fails,
        }
    }
}

fn result(pixel: u64) -> u32 {
    (pixel as u32).wrapping_mul(2_654_435_761) | 1
}

impl Worker for Pretended {
    fn label(&self) -> String {
        self.name.into()
    }

    fn capacity(&self, _: &Specification) -> u64 {
        self.unit
    }

    fn work(&self, _: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        let failure = || EngineError::Gpu {
            device: self.name.into(),
            call: "launching a kernel",
            reason: "it was pulled out".into(),
        };
        if self.fails == Fails::AtOnce {
            return Err(failure());
        }
        share.ready();
        let mut deliveries = 0;
        loop {
            let pace = Pace {
                backlog: 0,
                rate: 1.0 / self.a_pixel.as_secs_f64(),
            };
            for span in share.draw(pace, 40 * self.unit, self.unit)?.spans {
                assert!(self.fails != Fails::Panics, "a fault in a device's code");
                if self.fails == Fails::After(deliveries) {
                    return Err(failure());
                }
                let times: Vec<u32> = span.clone().map(result).collect();
                std::thread::sleep(self.a_pixel * times.len() as u32);
                share.deliver(span.start, ValueSlice::U32(&times))?;
                deliveries += 1;
            }
            if !share.wait()? {
                return Ok(());
            }
        }
    }
}

fn map(pixels: u64) -> Validated {
    let specification = Specification {
        size: [pixels, 1],
        ..Specification::default()
    };
    specification.validate().expect("valid")
}

/// Runs simulated devices on a map and returns the collected results.
fn run_on(
    workers: &[&dyn Worker],
    reserve: Option<&dyn Worker>,
    pixels: u64,
    monitor: &dyn Monitor,
) -> Result<(Vec<u32>, Ran), EngineError> {
    let spec = map(pixels);
    let memory = MemorySink::new(spec.value_type(), pixels)?;
    let whole = [0..pixels];
    let task = Task::new(&spec, &whole, &memory);
    let ran = run(workers, reserve, &task, monitor)?;
    Ok((memory.into_values().into().expect("steps"), ran))
}

fn expected(pixels: u64) -> Vec<u32> {
    (0..pixels).map(result).collect()
}

#[test]
fn unequal_devices_share_the_pixels_by_their_speed_and_finish_together() {
    let (fast, slow) = (
        Pretended::new("fast", 20, Fails::Never),
        Pretended::new("slow", 80, Fails::Never),
    );
    let (times, ran) = run_on(&[&fast, &slow], None, 20_000, &Unattended).expect("runs");
    assert!(times == expected(20_000));
    assert_eq!(ran.notes, [""; 0]);
    let share = ran.portions[0].pixels as f64 / 20_000.0;
    assert!((0.7..0.9).contains(&share), "{share} instead of 0.8");
    // 20000 pixels at 62500 a second; sleeping takes longer than asked.
    assert!(
        ran.elapsed < Duration::from_millis(900),
        "{:?}",
        ran.elapsed
    );
}

#[test]
fn what_a_failing_device_leaves_the_others_do_and_the_notes_say_so() {
    // Slow enough that it does not do everything before the other one has begun, also on a busy machine.
    let good = Pretended::new("good", 40, Fails::Never);
    for fails in [Fails::AtOnce, Fails::After(0), Fails::After(3)] {
        let bad = Pretended::new("bad GPU", 5, fails);
        for workers in [[&bad, &good], [&good, &bad]] {
            let workers = workers.map(|w| w as &dyn Worker);
            let (times, ran) = run_on(&workers, None, 5000, &Unattended).expect("one is left");
            assert!(times == expected(5000));
            let [note] = &ran.notes[..] else {
                panic!("{:?}", ran.notes)
            };
            assert!(
                note.starts_with(
                    "bad GPU: launching a kernel failed: it was pulled out; the other"
                ),
                "{note}"
            );
            assert_eq!(ran.portions.iter().map(|p| p.pixels).sum::<u64>(), 5000);
        }
    }
}

#[test]
fn the_reserve_does_what_all_have_left_undone() {
    let first = Pretended::new("GPU 0", 5, Fails::After(2));
    let second = Pretended::new("GPU 1", 5, Fails::AtOnce);
    let cpu = Pretended::new("CPU", 1, Fails::Never);
    let workers: [&dyn Worker; 2] = [&first, &second];
    let (times, ran) = run_on(&workers, Some(&cpu), 3000, &Unattended).expect("the CPU is left");
    assert!(times == expected(3000));
    assert_eq!(ran.notes.len(), 2);
    assert!(
        ran.notes.iter().all(|n| n.contains("; the CPU computes")),
        "{:?}",
        ran.notes
    );
    let by_cpu = ran.portions.last().expect("three").pixels;
    assert!((1..3000).contains(&by_cpu), "{by_cpu}");

    let error = run_on(&workers, None, 3000, &Unattended).expect_err("nobody is left");
    assert!(error.to_string().contains("it was pulled out"), "{error}");
}

#[test]
fn a_fault_in_a_devices_code_ends_the_run_and_is_not_hidden() {
    let good = Pretended::new("good", 5, Fails::Never);
    let bad = Pretended::new("bad", 5, Fails::Panics);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        run_on(&[&good, &bad], None, 5000, &Unattended).map(drop)
    }));
    assert!(outcome.is_err());
}

#[test]
fn a_run_that_is_cancelled_ends_soon() {
    struct Impatient(AtomicU64);
    impl Monitor for Impatient {
        fn cancelled(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) > 5
        }
    }
    let device = Pretended::new("slow", 100, Fails::Never);
    let error = run_on(
        &[&device, &device],
        None,
        1 << 20,
        &Impatient(AtomicU64::new(0)),
    );
    assert!(matches!(error, Err(EngineError::Cancelled)));
}

#[test]
fn a_sink_that_takes_no_more_ends_the_run_with_its_error() {
    struct Full(AtomicBool);
    impl Sink for Full {
        fn put(&self, _: u64, _: ValueSlice<'_>) -> Result<(), EngineError> {
            if self.0.swap(true, Ordering::Relaxed) {
                return Err(EngineError::Sink("the disk is full".into()));
            }
            Ok(())
        }
    }
    let spec = map(5000);
    let whole = [0..5000];
    let full = Full(AtomicBool::new(false));
    let task = Task::new(&spec, &whole, &full);
    let device = Pretended::new("a device", 1, Fails::Never);
    let error = run(&[&device, &device], Some(&device), &task, &Unattended).expect_err("full");
    assert_eq!(error.to_string(), "the disk is full");
}

#[test]
fn only_the_pixels_asked_for_are_computed_and_each_once() {
    struct Counting(Mutex<Vec<u8>>);
    impl Sink for Counting {
        fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
            let times = values.of::<u32>().expect("steps");
            let mut counts = self.0.lock().expect("no panic");
            for (n, times) in times.iter().enumerate() {
                assert_eq!(*times, result(first + n as u64));
                counts[first as usize + n] += 1;
            }
            Ok(())
        }
    }
    let spec = map(4000);
    let sink = Counting(Mutex::new(vec![0; 4000]));
    let spans = [3..4, 100..1501, 1501..1502, 2000..2000, 3999..4000];
    let task = Task::new(&spec, &spans, &sink);
    let good = Pretended::new("good", 1, Fails::Never);
    let bad = Pretended::new("bad", 1, Fails::After(5));
    let ran = run(&[&bad, &good], None, &task, &Unattended).expect("runs");
    let counts = sink.0.lock().expect("no panic").clone();
    for (pixel, count) in counts.into_iter().enumerate() {
        let asked = spans.iter().any(|s| s.contains(&(pixel as u64)));
        assert_eq!(count, u8::from(asked), "{pixel}");
    }
    assert_eq!(
        ran.portions.iter().map(|p| p.pixels).sum::<u64>(),
        task.pixels()
    );
}

/// A map of more tiles than the emulated ring has slots, with early, late and no partings.
fn lively() -> Validated {
    let specification = Specification {
        size: [149, 131],
        center: [2.0, 3.0],
        steps: 60,
        dt: 0.2,
        shift: glam::DVec3::splat(0.1),
        critical_distance: 0.3,
        ..Specification::default()
    };
    specification.validate().expect("valid")
}

/// A device that draws pixels and then fails.
struct Failing<'a>(&'a dyn Worker);

impl Worker for Failing<'_> {
    fn label(&self) -> String {
        "failing".into()
    }

    fn capacity(&self, specification: &Specification) -> u64 {
        self.0.capacity(specification)
    }

    fn work(&self, _: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        share.ready();
        let pace = Pace {
            backlog: 0,
            rate: 0.0,
        };
        share.draw(pace, 3000, 1000)?;
        std::thread::sleep(Duration::from_millis(5));
        Err(EngineError::NoGpu("it has failed".into()))
    }
}

#[test]
fn emulated_gpus_and_the_cpu_together_compute_the_bits_of_one() {
    let cpu = CpuEngine::new(Some(2)).expect("threads");
    let gpu = |blocks, block| EmulatorEngine {
        blocks,
        block,
        ..EmulatorEngine::new(DivergenceKernel::Fetch)
    };
    let (small, large) = (gpu(1, 32), gpu(4, 64));
    let plain = EmulatorEngine::new(DivergenceKernel::Plain);
    let failing = Failing(&small);
    let sets: [&[&dyn Worker]; 5] = [
        &[&large],
        &[&small, &large],
        &[&large, &cpu],
        &[&failing, &large, &failing],
        &[&plain, &small],
    ];
    let of_quantity = |quantity| {
        let specification = Specification {
            quantity,
            ..lively().specification().clone()
        };
        specification.validate().expect("valid")
    };
    for spec in Quantity::ALL.iter().map(|quantity| of_quantity(*quantity)) {
        let reference = cpu.compute(&spec, &Unattended).expect("computes").values;
        let quantity = spec.specification().quantity;
        // The plain kernel, in the last set, only computes divergence.
        let sets = &sets[..if quantity == Quantity::Divergence {
            5
        } else {
            4
        }];
        for workers in sets {
            let memory = MemorySink::new(spec.value_type(), spec.pixels()).expect("memory");
            let whole = [0..spec.pixels()];
            let task = Task::new(&spec, &whole, &memory);
            let ran = run(workers, None, &task, &Unattended).expect("runs");
            let values = memory.into_values();
            let (values, reference) = (values.as_slice(), reference.as_slice());
            assert!(values.bytes() == reference.bytes(), "{quantity}");
            let failed = workers.iter().filter(|w| w.label() == "failing").count();
            assert_eq!(ran.notes.len(), failed, "{:?}", ran.notes);
        }
    }
}

/// The rows of small squares, as the explorer asks for them.
#[test]
fn short_spans_fill_a_device_as_long_ones_do() {
    let spans: Vec<_> = (0..1000).map(|n| 256 * n..256 * n + 128).collect();
    let queue = Queue::new(&spans, 60, &[4096], &Unattended);
    let share = queue.share(0);
    share.ready();
    let pace = Pace {
        backlog: 0,
        rate: 0.0,
    };
    let drawn = |room| -> u64 {
        let grant = share.draw(pace, room, 1024).expect("not cancelled");
        grant.spans.iter().map(|s| s.end - s.start).sum()
    };
    // Two rounds of 4096 pixels; a span takes up the room of 1024.
    assert_eq!(drawn(1 << 20), 8192);
    assert_eq!(drawn(16 << 10), 16 * 128);
}

#[test]
fn many_spans_are_computed_by_devices_of_every_kind() {
    let spec = lively();
    let pixels = spec.pixels();
    let cpu = CpuEngine::new(Some(2)).expect("threads");
    let reference = cpu.compute(&spec, &Unattended).expect("computes").values;
    let gpu = EmulatorEngine {
        blocks: 2,
        block: 32,
        ..EmulatorEngine::new(DivergenceKernel::Fetch)
    };
    // Short ones, so that what a device draws at a time spans several.
    let spans: Vec<_> = (0..pixels / 7)
        .map(|n| 7 * n..7 * n + 1 + n % 6)
        .chain(std::iter::once(pixels - 1..pixels))
        .collect();
    let failing = Failing(&gpu);
    let sets: [&[&dyn Worker]; 4] = [&[&cpu], &[&gpu], &[&gpu, &cpu], &[&failing, &cpu]];
    for workers in sets {
        let memory = MemorySink::new(spec.value_type(), pixels).expect("memory");
        let task = Task::new(&spec, &spans, &memory);
        run(workers, None, &task, &Unattended).expect("runs");
        let values = memory.into_values();
        let (values, reference) = (values.as_slice(), reference.as_slice());
        for span in &spans {
            let span = span.start as usize..span.end as usize;
            assert_eq!(values.range(span.clone()), reference.range(span));
        }
    }
}
