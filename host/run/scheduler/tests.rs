//! Tests the scheduler with devices that are slow, unequal, or fail.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;
use crate::Unattended;
use crate::queue::Pace;

/// How a simulated device fails.
#[derive(Clone, Copy, PartialEq)]
enum Fails {
    Never,
    AtOnce,
    /// After this many deliveries, with items drawn.
    After(u64),
    Panics,
}

/// A simulated device that sleeps for each item and delivers its number.
struct Pretended {
    name: &'static str,
    an_item: Duration,
    fails: Fails,
}

impl Pretended {
    const fn new(name: &'static str, microseconds: u64, fails: Fails) -> Self {
        Self {
            name,
            an_item: Duration::from_micros(microseconds),
            fails,
        }
    }
}

/// The destination of the results.
type Put<'a> = dyn Fn(Range<u64>) -> Result<(), EngineError> + Sync + 'a;

impl<'a> Worker<&'a Put<'a>> for Pretended {
    fn label(&self) -> String {
        self.name.into()
    }

    fn capacity(&self, _: &&'a Put<'a>) -> u64 {
        16
    }

    fn work(&self, put: &&'a Put<'a>, share: Share<'_>) -> Result<(), EngineError> {
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
                rate: 1.0 / self.an_item.as_secs_f64(),
            };
            for span in share.draw(pace, 640, 16)?.spans {
                assert!(self.fails != Fails::Panics, "a fault in a device's code");
                if self.fails == Fails::After(deliveries) {
                    return Err(failure());
                }
                std::thread::sleep(self.an_item * (span.end - span.start) as u32);
                share.deliver(span.clone(), || put(span.clone()))?;
                deliveries += 1;
            }
            if !share.wait()? {
                return Ok(());
            }
        }
    }
}

/// Runs simulated devices on these items; every item must be delivered once, and no other.
fn run_on(
    workers: &[&Pretended],
    reserve: Option<&Pretended>,
    spans: &[Range<u64>],
    monitor: &dyn Monitor,
) -> Result<Ran, EngineError> {
    let counts = Mutex::new(vec![
        0;
        spans.iter().map(|s| s.end).max().unwrap_or(0) as usize
    ]);
    let put = |span: Range<u64>| {
        let mut counts = counts.lock().unwrap();
        span.for_each(|item| counts[item as usize] += 1);
        Ok(())
    };
    let ran = run_with(workers, reserve, spans, monitor, &put)?;
    for (item, count) in counts.lock().unwrap().iter().enumerate() {
        let asked = spans.iter().any(|s| s.contains(&(item as u64)));
        assert_eq!(*count, u8::from(asked), "{item}");
    }
    let all: u64 = spans.iter().map(|s| s.end - s.start).sum();
    assert_eq!(ran.portions.iter().map(|p| p.1).sum::<u64>(), all);
    Ok(ran)
}

fn run_with(
    workers: &[&Pretended],
    reserve: Option<&Pretended>,
    spans: &[Range<u64>],
    monitor: &dyn Monitor,
    put: &Put<'_>,
) -> Result<Ran, EngineError> {
    let workers: Vec<&dyn Worker<&Put<'_>>> = workers.iter().map(|w| *w as _).collect();
    let items = Items {
        spans,
        steps: 5,
        name: "items",
        supply: None,
        at_start: None,
    };
    run(&workers, reserve.map(|w| w as _), &put, &items, monitor)
}

#[test]
fn unequal_devices_share_the_items_by_their_speed_and_finish_together() {
    let (fast, slow) = (
        Pretended::new("fast", 20, Fails::Never),
        Pretended::new("slow", 80, Fails::Never),
    );
    let ran = run_on(&[&fast, &slow], None, &[0..20_000], &Unattended).expect("runs");
    assert_eq!(ran.notes, [""; 0]);
    let share = ran.portions[0].1 as f64 / 20_000.0;
    assert!((0.7..0.9).contains(&share), "{share} instead of 0.8");
    // 20000 items at 62500 a second; sleeping takes longer than asked.
    let elapsed = ran.elapsed;
    assert!(elapsed < Duration::from_millis(900), "{elapsed:?}");
}

#[test]
fn what_a_failing_device_leaves_the_others_do_and_the_notes_say_so() {
    // Slow enough that it does not do everything before the other one has begun, also on a busy machine.
    let good = Pretended::new("good", 40, Fails::Never);
    for fails in [Fails::AtOnce, Fails::After(0), Fails::After(3)] {
        let bad = Pretended::new("bad GPU", 5, fails);
        for workers in [[&bad, &good], [&good, &bad]] {
            let ran = run_on(&workers, None, &[0..5000], &Unattended).expect("one is left");
            let [note] = &ran.notes[..] else {
                panic!("{:?}", ran.notes)
            };
            let said = "bad GPU: launching a kernel failed: it was pulled out; the other";
            assert!(note.starts_with(said), "{note}");
        }
    }
}

#[test]
fn the_reserve_does_what_all_have_left_undone() {
    let first = Pretended::new("GPU 0", 5, Fails::After(2));
    let second = Pretended::new("GPU 1", 5, Fails::AtOnce);
    let cpu = Pretended::new("CPU", 1, Fails::Never);
    let all = [0..3000];
    let ran = run_on(&[&first, &second], Some(&cpu), &all, &Unattended).expect("the CPU is left");
    assert_eq!(ran.notes.len(), 2);
    let by_cpu = |note: &String| note.contains("; the CPU computes");
    assert!(ran.notes.iter().all(by_cpu), "{:?}", ran.notes);
    let by_cpu = ran.portions.last().expect("three").1;
    assert!((1..3000).contains(&by_cpu), "{by_cpu}");

    let error = run_on(&[&first, &second], None, &all, &Unattended).expect_err("nobody is left");
    assert!(error.to_string().contains("it was pulled out"), "{error}");
}

#[test]
fn a_fault_in_a_devices_code_ends_the_run_and_is_not_hidden() {
    let good = Pretended::new("good", 5, Fails::Never);
    let bad = Pretended::new("bad", 5, Fails::Panics);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        run_on(&[&good, &bad], None, &[0..5000], &Unattended).map(drop)
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
    let monitor = Impatient(AtomicU64::new(0));
    let error = run_on(&[&device, &device], None, &[0..1 << 20], &monitor);
    assert!(matches!(error, Err(EngineError::Cancelled)));
}

#[test]
fn a_sink_that_takes_no_more_ends_the_run_with_its_error() {
    let full = AtomicBool::new(false);
    let put = |_| {
        if full.swap(true, Ordering::Relaxed) {
            return Err(EngineError::Sink("the disk is full".into()));
        }
        Ok(())
    };
    let device = Pretended::new("a device", 1, Fails::Never);
    let (both, all) = ([&device, &device], [0..5000]);
    let error = run_with(&both, Some(&device), &all, &Unattended, &put).expect_err("full");
    assert_eq!(error.to_string(), "the disk is full");
}

#[test]
fn only_the_items_asked_for_are_computed_and_each_once() {
    let spans = [3..4, 100..1501, 1501..1502, 2000..2000, 3999..4000];
    let good = Pretended::new("good", 1, Fails::Never);
    let bad = Pretended::new("bad", 1, Fails::After(5));
    run_on(&[&bad, &good], None, &spans, &Unattended).expect("runs");
}

/// The rows of small squares, as the explorer asks for them.
#[test]
fn short_spans_fill_a_device_as_long_ones_do() {
    let spans: Vec<_> = (0..1000).map(|n| 256 * n..256 * n + 128).collect();
    let queue = Queue::new(&spans, 60, &[4096], &Unattended);
    let share = queue.share(0);
    share.ready();
    let drawn = |room| -> u64 {
        let grant = share
            .draw(Pace::default(), room, 1024)
            .expect("not cancelled");
        grant.spans.iter().map(|s| s.end - s.start).sum()
    };
    // Two rounds of 4096 items; a span takes up the room of 1024.
    assert_eq!(drawn(1 << 20), 8192);
    assert_eq!(drawn(16 << 10), 16 * 128);
}
