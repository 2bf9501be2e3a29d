//! Precisions of divergence maps: equal bits on every engine where these are promised, and bounds on the errors.

use glam::DVec3;
use trisolar::divergence::{
    CpuEngine, DivergenceKernel, EmulatorEngine, Engine, Precision, Specification, Unattended,
    Validated,
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

/// A map of a few hundred steps with early partings, late partings and none, and an odd size.
fn lively(precision: Precision) -> Specification {
    Specification {
        size: [19, 13],
        center: [2.0, 3.0],
        span: [40.0, 37.0],
        steps: 501,
        dt: 0.02,
        shift: DVec3::new(0.02, -0.01, 0.015),
        critical_distance: 0.04,
        precision,
        ..Specification::default()
    }
}

fn fixed(fraction_bits: u8) -> Precision {
    Precision::Fixed { fraction_bits }
}

fn modes() -> Vec<Precision> {
    let mut list = Precision::ALL.to_vec();
    list.extend([fixed(12), fixed(40)]);
    list
}

#[test]
fn every_mode_gives_the_same_bits_in_all_lanes_and_in_the_emulated_kernel() {
    for precision in modes() {
        let mut collision = lively(precision);
        collision.size = [16, 16];
        collision.positions[0].z = 0.0;
        collision.center = [0.0, 0.0];
        let mut softened = lively(precision);
        softened.softening = 0.3;
        softened.body = 3;
        for spec in [lively(precision), collision, softened] {
            let spec = spec.validate().expect("valid");
            let scalar = CpuEngine::with_simd(Some(1), Simd::Scalar).expect("threads");
            let reference = times(&scalar, &spec);
            for simd in Simd::available() {
                let engine = CpuEngine::with_simd(Some(2), simd).expect("threads");
                assert!(times(&engine, &spec) == reference, "{simd}: {spec:?}");
            }
            let mut engine = EmulatorEngine::new(DivergenceKernel::Fetch);
            (engine.block, engine.blocks) = (32, 3);
            assert!(times(&engine, &spec) == reference, "emulator: {spec:?}");
        }
    }
}

#[test]
fn fast_equals_f64_on_a_cpu() {
    let engine = CpuEngine::new(None).expect("threads");
    let map = |p| times(&engine, &lively(p).validate().expect("valid"));
    assert!(map(Precision::Fast) == map(Precision::F64));
}

/// The fraction of pixels of the headline map, at 20×20, that equal those of exact mode.
fn equal_share(reference: &[u32], precision: Precision) -> f64 {
    let map = headline(precision);
    reference.iter().zip(&map).filter(|(a, b)| a == b).count() as f64 / map.len() as f64
}

fn headline(precision: Precision) -> Vec<u32> {
    let spec = Specification {
        size: [20, 20],
        precision,
        ..Specification::default()
    };
    times(
        &CpuEngine::new(None).expect("threads"),
        &spec.validate().expect("valid"),
    )
}

#[test]
fn modes_are_as_accurate_as_their_digits_allow() {
    let exact = headline(Precision::F64);
    let share = |precision| equal_share(&exact, precision);
    let (mixed, single) = (share(Precision::Mixed), share(Precision::F32));
    let pairs = share(Precision::FloatFloat);
    let wide = share(Precision::DoubleDouble);
    let (coarse, fine) = (share(fixed(26)), share(fixed(48)));
    let all = format!(
        "mixed {mixed}, f32 {single}, float-float {pairs}, double-double {wide}, fixed:26 {coarse}, fixed:48 {fine}"
    );
    // Two thirds of the pixels never part, which any arithmetic computes correctly.
    assert!((0.80..1.0).contains(&mixed), "{all}");
    assert!((0.60..0.75).contains(&single), "{all}");
    assert!(pairs > 0.97, "{all}");
    // Rounding in f64 decides few of the pixels.
    assert!(wide > 0.97, "{all}");
    assert!(coarse < 0.75, "{all}");
    assert!(fine > 0.95, "{all}");
}

#[test]
fn values_out_of_a_modes_range_are_rejected() {
    let refused = |precision, distance: f64| {
        let mut spec = lively(precision);
        spec.positions[2] = DVec3::splat(distance);
        spec.validate().expect_err("refused").to_string()
    };
    let text = refused(fixed(50), 5000.0);
    assert!(
        text.contains("--positions") && text.contains("fixed:50"),
        "{text}"
    );
    let text = refused(Precision::F32, 1e19);
    assert!(
        text.contains("--positions") && text.contains("f32"),
        "{text}"
    );
    let mut spec = lively(fixed(50));
    spec.critical_distance = 1.0;
    let text = spec.validate().expect_err("refused").to_string();
    assert!(text.contains("--critical-distance"), "{text}");
}

#[test]
fn fixed_point_saturates_instead_of_wrapping_around() {
    // All bodies recede at 100 per step: after 21 million units of length, the range of the numbers ends, and the twins are still
    // together.
    let mut spec = lively(fixed(40));
    spec.g = 1e-9;
    spec.velocities = [DVec3::ZERO, DVec3::splat(2e5), DVec3::splat(-2e5)];
    spec.dt = 1.0;
    spec.size = [2, 2];
    let map = times(
        &CpuEngine::new(None).expect("threads"),
        &spec.validate().expect("valid"),
    );
    assert!(map.iter().all(|t| *t == 501), "{map:?}");
}
