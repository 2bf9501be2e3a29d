//! Every engine computes the same bits, which are those of the reference.

use std::path::Path;

use glam::DVec3;
use trisolar::divergence::{
    CpuEngine, DivergenceKernel, EmulatorEngine, Engine, EngineError, Monitor, Plane,
    Specification, Unattended, Validated,
};
use trisolar::simd::Simd;

fn times(engine: &dyn Engine<Validated>, spec: &Validated) -> Vec<u32> {
    engine
        .compute(spec, &Unattended)
        .expect("computes")
        .values
        .into()
        .expect("steps")
}

/// A map of a few hundred steps with early partings, late partings and none, near misses and collisions, and an odd size.
fn lively(size: [u64; 2]) -> Specification {
    Specification {
        size,
        center: [2.0, 3.0].into(),
        span: [40.0, 37.0],
        steps: 700,
        dt: 0.02,
        shift: DVec3::new(0.02, -0.01, 0.015),
        critical_distance: 0.04,
        ..Specification::default()
    }
}

fn specifications() -> Vec<Validated> {
    let mut other_plane = lively([29, 40]);
    other_plane.plane = Plane::Yz;
    other_plane.body = 3;
    other_plane.softening = 0.05;
    let mut third = lively([33, 17]);
    third.plane = Plane::Xz;
    third.body = 2;
    third.masses = [3.0, 0.0, 70.0];
    // A pixel exactly at the place of body 2, whose trajectory is NaN from the first step on.
    let mut collision = lively([16, 16]);
    collision.positions[0].z = 0.0;
    collision.center = [0.0, 0.0].into();
    let mut one_row = lively([301, 1]);
    one_row.steps = 300;
    let mut one_column = lively([1, 77]);
    one_column.steps = 300;
    // Separations outside the ordinary range of r², which take the slow path of r⁻³.
    let mut huge = lively([12, 9]);
    huge.positions[2] = DVec3::new(1e40, -1e42, 0.0);
    huge.steps = 50;
    [
        lively([64, 48]),
        other_plane,
        third,
        collision,
        one_row,
        one_column,
        huge,
    ]
    .map(|s| s.validate().expect("valid"))
    .into()
}

#[test]
fn the_test_maps_have_early_late_and_no_partings() {
    let spec = lively([64, 48]).validate().expect("valid");
    let map = times(&CpuEngine::new(None).expect("threads"), &spec);
    let steps = spec.specification().steps as u32;
    let part = |from: u32, to: u32| map.iter().filter(|t| (from..to).contains(*t)).count();
    assert!(
        part(0, steps / 5) > 100,
        "{} part early",
        part(0, steps / 5)
    );
    assert!(
        part(steps / 2, steps) > 100,
        "{} part late",
        part(steps / 2, steps)
    );
    assert!(
        part(steps, steps + 1) > 50,
        "{} never part",
        part(steps, steps + 1)
    );
}

#[test]
fn cpu_lanes_and_threads_agree_in_every_pixel() {
    for spec in specifications() {
        let reference = times(
            &CpuEngine::with_simd(Some(1), Simd::Scalar).expect("threads"),
            &spec,
        );
        for simd in Simd::available() {
            for threads in [1, 2, 5] {
                let engine = CpuEngine::with_simd(Some(threads), simd).expect("threads");
                assert!(
                    times(&engine, &spec) == reference,
                    "{simd}, {threads} threads: {spec:?}"
                );
            }
        }
    }
}

#[test]
fn cpu_and_emulated_gpu_agree_in_every_pixel() {
    let cpu = CpuEngine::new(None).expect("threads");
    for spec in specifications() {
        let reference = times(&cpu, &spec);
        for kernel in DivergenceKernel::ALL {
            let engine = EmulatorEngine::new(kernel);
            assert!(
                times(&engine, &spec) == reference,
                "{}: {spec:?}",
                kernel.name()
            );
        }
    }
}

#[test]
fn block_size_thread_order_and_launch_length_do_not_change_a_pixel() {
    let spec = lively([23, 31]).validate().expect("valid");
    let reference = times(&CpuEngine::new(None).expect("threads"), &spec);
    for (block, blocks, slice_ns, seed) in [
        (1, 3, 0, None),
        (32, 1, u64::MAX, Some(1)),
        (96, 7, 0, Some(2)),
        (1024, 2, 1000, Some(3)),
    ] {
        for kernel in DivergenceKernel::ALL {
            let engine = EmulatorEngine {
                kernel,
                block,
                blocks,
                slice_ns,
                seed,
            };
            assert!(times(&engine, &spec) == reference, "{engine:?}");
        }
    }
}

#[test]
fn nan_ends_a_pixel_as_parted_at_that_step() {
    let mut spec = lively([16, 16]);
    spec.positions[0].z = 0.0;
    spec.center = [0.0, 0.0].into();
    let spec = spec.validate().expect("valid");
    let map = times(&CpuEngine::new(None).expect("threads"), &spec);
    // Pixel (8, 8) is the origin, where body 2 is: its pull makes the velocity NaN in the first step and the position in the
    // second, and the third step finds the twins parted.
    assert_eq!(map[8 * 16 + 8], 2);
}

#[test]
fn the_100x100_map_equals_the_reference() {
    let spec = Specification {
        size: [100, 100],
        ..Specification::default()
    }
    .validate()
    .expect("valid");
    let map = times(&CpuEngine::new(None).expect("threads"), &spec);
    assert_eq!(map.iter().map(|t| u64::from(*t)).sum::<u64>(), 443_725_853);
    assert_eq!(map.iter().filter(|t| **t == 50_000).count(), 6674);
    assert_eq!(map.iter().min(), Some(&9707));
    assert_eq!([map[4321], map[7550]], [20527, 47744]);
}

#[test]
fn the_headline_map_equals_the_reference_in_every_pixel() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/divergence_300x300_50000.npy");
    let file = std::fs::read(path).expect("the golden map");
    let reference: Vec<u32> = file[file.len() - 4 * 90_000..]
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")))
        .collect();
    assert_eq!(
        reference.iter().map(|t| u64::from(*t)).sum::<u64>(),
        3_995_478_705
    );
    let spec = Specification::default().validate().expect("valid");
    let map = times(&CpuEngine::new(None).expect("threads"), &spec);
    let different = map.iter().zip(&reference).filter(|(a, b)| a != b).count();
    assert_eq!(different, 0, "pixels differ");
}

struct StopSoon(std::sync::atomic::AtomicU32);

impl Monitor for StopSoon {
    fn cancelled(&self) -> bool {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 3
    }
}

#[test]
fn a_cancelled_run_ends_at_once() {
    let spec = Specification {
        size: [2000, 2000],
        ..Specification::default()
    }
    .validate()
    .expect("valid");
    let start = std::time::Instant::now();
    let outcome = CpuEngine::new(None)
        .expect("threads")
        .compute(&spec, &StopSoon(std::sync::atomic::AtomicU32::new(0)));
    assert!(matches!(outcome, Err(EngineError::Cancelled)));
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

struct Watch(std::sync::Mutex<Vec<(u64, u64)>>);

impl Monitor for Watch {
    fn progress(&self, done: u64, total: u64) {
        self.0.lock().expect("not poisoned").push((done, total));
    }
}

#[test]
fn progress_increases_to_the_total() {
    let spec = lively([64, 48]).validate().expect("valid");
    for engine in [
        &CpuEngine::new(Some(2)).expect("threads") as &dyn Engine<Validated>,
        &EmulatorEngine::new(DivergenceKernel::Fetch),
    ] {
        let watch = Watch(std::sync::Mutex::new(Vec::new()));
        engine.compute(&spec, &watch).expect("computes");
        let seen = watch.0.into_inner().expect("not poisoned");
        let total = 64 * 48 * 700;
        assert!(seen.is_sorted(), "{}", engine.name());
        assert_eq!(seen.last(), Some(&(total, total)), "{}", engine.name());
        assert!(seen.iter().all(|(_, t)| *t == total), "{}", engine.name());
    }
}
