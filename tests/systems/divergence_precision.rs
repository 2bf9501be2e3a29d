//! Precisions of divergence maps: equal bits on every engine where these are promised, and bounds on the errors.

use glam::DVec3;
use trisolar::divergence::{
    Center, CpuEngine, DivergenceKernel, EmulatorEngine, Engine, Integrator, Precision,
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

/// A map of a few hundred steps with early partings, late partings and none, and an odd size.
fn lively(precision: Precision) -> Specification {
    Specification {
        size: [19, 13],
        center: [2.0, 3.0].into(),
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
        collision.center = [0.0, 0.0].into();
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

/// A map of span 2⁻⁶⁶ (1.4e-20), far below the distance of neighbouring f64.
fn deep() -> Specification {
    // With few enough bits that places which are a pixel apart are exact.
    let coarse = |x: f64| (x * 2f64.powi(85)).round() / 2f64.powi(85);
    Specification {
        size: [8, 4],
        center: Center::of([
            [4.696_930_927_975_962, coarse(-1.330_931_443_057_511_6e-16)],
            [
                -0.179_569_398_936_193_75,
                coarse(-1.134_364_901_414_682_7e-17),
            ],
        ]),
        span: [2f64.powi(-66), 2f64.powi(-67)],
        shift: DVec3::splat(2f64.powi(-80)),
        dt: 0.01,
        steps: 20_000,
        integrator: Integrator::Regularised6,
        precision: Precision::DoubleDouble,
        ..Specification::default()
    }
}

#[test]
fn neighbouring_pixels_of_a_deep_map_differ_and_have_their_values_wherever_the_map_begins() {
    let spec = deep().validate().expect("valid");
    let scalar = CpuEngine::with_simd(Some(2), Simd::Scalar).expect("threads");
    let reference = times(&scalar, &spec);
    for simd in Simd::available() {
        let engine = CpuEngine::with_simd(Some(2), simd).expect("threads");
        assert!(times(&engine, &spec) == reference, "{simd}");
    }
    // The twins part, and neighbours part at other times.
    let parted: Vec<u32> = (reference.iter().copied())
        .filter(|n| *n < 20_000)
        .collect();
    println!("{reference:?}");
    assert!(parted.len() > 8, "{reference:?}");
    let mut distinct = parted.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(2 * distinct.len() > parted.len(), "{reference:?}");
    // The map that begins one pixel farther along has the same pixels, one column earlier.
    let mut moved = deep();
    moved.center = moved.center.moved([2f64.powi(-69), 0.0]);
    let moved = times(&scalar, &moved.validate().expect("valid"));
    for row in 0..4 {
        let (there, here) = (
            &reference[8 * row + 1..8 * row + 8],
            &moved[8 * row..8 * row + 7],
        );
        assert_eq!(there, here, "row {row}");
    }
    // In f64 all pixels are one, and the shift is nothing.
    let narrow = Specification {
        precision: Precision::F64,
        ..deep()
    };
    let refused = narrow.clone().validate().unwrap_err();
    assert_eq!(refused.option, "shift");
    assert!(refused.allowed.contains("double-double"), "{refused:?}");
    let chosen = narrow.validate_at_depth().expect("in double-double");
    assert_eq!(chosen.specification(), spec.specification());
    assert!(chosen.warnings().is_empty(), "{:?}", chosen.warnings());
}

#[test]
fn the_emulated_kernel_has_the_bits_of_a_deep_map() {
    let small = Specification {
        size: [3, 2],
        ..deep()
    };
    let spec = small.validate().expect("valid");
    let scalar = CpuEngine::with_simd(Some(2), Simd::Scalar).expect("threads");
    let mut emulator = EmulatorEngine::new(DivergenceKernel::Fetch);
    (emulator.block, emulator.blocks) = (32, 1);
    assert_eq!(times(&emulator, &spec), times(&scalar, &spec));
}

#[test]
fn f64_is_kept_where_it_is_enough() {
    for (span, precision) in [
        (1.0, Precision::F64),
        (1e-6, Precision::F64),
        (1e-15, Precision::DoubleDouble),
        (1e-25, Precision::DoubleDouble),
    ] {
        let spec = Specification {
            span: [span; 2],
            size: [8, 8],
            shift: DVec3::splat(1e-3 * span),
            precision: Precision::F64,
            ..deep()
        };
        let valid = spec.validate_at_depth().expect("valid");
        assert_eq!(valid.specification().precision, precision, "{span:e}");
    }
    // Integrators without double-double stay what they are.
    let spec = Specification {
        span: [1e-13; 2],
        shift: DVec3::splat(1e-15),
        precision: Precision::F64,
        integrator: Integrator::RungeKutta4,
        ..deep()
    };
    let valid = spec.clone().validate_at_depth().expect("valid");
    assert_eq!(valid.specification(), &spec);
}

#[test]
fn a_centre_of_32_digits_is_written_and_read_back() {
    let spec = deep();
    let text = serde_json::to_string(&spec).expect("plain data");
    assert!(text.contains("\"center\":[\"4.6969"), "{text}");
    let read: Specification = serde_json::from_str(&text).expect("its own text");
    assert_eq!(read, spec);
    let usual = serde_json::to_value(Specification::default()).expect("plain data");
    assert_eq!(usual["center"], serde_json::json!([0.0, 0.0]));
}
