//! Devices of all kinds that compute a map together.

use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::{CpuEngine, DivergenceKernel, EmulatorEngine, Quantity, Sink};
use trisolar_ensemble::{Engine as _, together};
use trisolar_run::Unattended;
use trisolar_run::queue::Pace;
use trisolar_run::scheduler::{Ran, Worker};

/// A map in memory.
struct Memory(Mutex<ValueVec>);

impl Sink<Validated> for Memory {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        self.0.lock().unwrap().put(first as usize, values);
        Ok(())
    }
}

/// A device for tasks of any lifetime.
type AnyWorker<'w> = &'w dyn for<'a> Worker<Task<'a>>;

/// The values that these devices compute together.
fn computed(workers: &[AnyWorker<'_>], spec: &Validated, spans: &[Range<u64>]) -> (ValueVec, Ran) {
    let memory = Memory(Mutex::new(spec.blank().unwrap()));
    let task = Task::new(spec, spans, &memory);
    let workers: Vec<&dyn Worker<Task<'_>>> = workers.iter().map(|worker| *worker as _).collect();
    let ran = together(&workers, None, &task, &Unattended, None).expect("runs");
    (memory.0.into_inner().unwrap(), ran)
}

/// A map of more tiles than the emulated ring has slots, with early, late and no partings.
fn lively(quantity: Quantity) -> Validated {
    let specification = Specification {
        size: [149, 131],
        center: [2.0, 3.0].into(),
        steps: 60,
        dt: 0.2,
        shift: glam::DVec3::splat(0.1),
        critical_distance: 0.3,
        quantity,
        ..Specification::default()
    };
    specification.validate().expect("valid")
}

/// An emulated device with this many blocks of this many threads.
fn gpu(blocks: u32, block: u32) -> DeviceEngine {
    let engine = EmulatorEngine {
        blocks,
        block,
        ..EmulatorEngine::new(DivergenceKernel::Fetch)
    };
    engine.engine()
}

/// A device that draws pixels and then fails.
struct Failing;

impl<'a> Worker<Task<'a>> for Failing {
    fn label(&self) -> String {
        "failing".into()
    }

    fn capacity(&self, _: &Task<'a>) -> u64 {
        32
    }

    fn work(&self, _: &Task<'a>, share: Share<'_>) -> Result<(), EngineError> {
        share.ready();
        share.draw(Pace::default(), 3000, 1000)?;
        std::thread::sleep(Duration::from_millis(5));
        Err(EngineError::NoGpu("it has failed".into()))
    }
}

#[test]
fn emulated_gpus_and_the_cpu_together_compute_the_bits_of_one() {
    let cpu = CpuEngine::new(Some(2)).expect("threads");
    let (small, large) = (gpu(1, 32), gpu(4, 64));
    let plain = EmulatorEngine::new(DivergenceKernel::Plain).engine();
    let sets: [&[AnyWorker<'_>]; 5] = [
        &[&large],
        &[&small, &large],
        &[&large, &cpu],
        &[&Failing, &large, &Failing],
        &[&plain, &small],
    ];
    for quantity in Quantity::ALL {
        let spec = lively(*quantity);
        let reference = cpu.compute(&spec, &Unattended).expect("computes").values;
        // The plain kernel, in the last set, only computes divergence.
        let count = if *quantity == Quantity::Divergence {
            5
        } else {
            4
        };
        for workers in &sets[..count] {
            let (values, ran) = computed(workers, &spec, &[0..spec.pixels()]);
            let (values, reference) = (values.as_slice(), reference.as_slice());
            assert!(values.bytes() == reference.bytes(), "{quantity}");
            let failed = workers.iter().filter(|w| w.label() == "failing").count();
            assert_eq!(ran.notes.len(), failed, "{:?}", ran.notes);
        }
    }
}

#[test]
fn many_spans_are_computed_by_devices_of_every_kind() {
    let spec = lively(Quantity::Divergence);
    let pixels = spec.pixels();
    let cpu = CpuEngine::new(Some(2)).expect("threads");
    let reference = cpu.compute(&spec, &Unattended).expect("computes").values;
    let gpu = gpu(2, 32);
    // Short ones, so that what a device draws at a time spans several.
    let spans: Vec<_> = (0..pixels / 7)
        .map(|n| 7 * n..7 * n + 1 + n % 6)
        .chain(std::iter::once(pixels - 1..pixels))
        .collect();
    let sets: [&[AnyWorker<'_>]; 4] = [&[&cpu], &[&gpu], &[&gpu, &cpu], &[&Failing, &cpu]];
    for workers in sets {
        let (values, _) = computed(workers, &spec, &spans);
        let (values, reference) = (values.as_slice(), reference.as_slice());
        for span in &spans {
            let span = span.start as usize..span.end as usize;
            assert_eq!(values.range(span.clone()), reference.range(span));
        }
    }
}
