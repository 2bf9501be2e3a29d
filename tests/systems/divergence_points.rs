//! Points: on every engine, start states that are listed individually have the values that they have as pixels of a map.

use glam::DVec3;
use trisolar::divergence::{
    CpuEngine, DivergenceKernel, EmulatorEngine, Engine, EngineError, Integrator, Plane, Points,
    Precision, Specification, Start, Unattended, Validated,
};
use trisolar::simd::Simd;

/// A small map with early partings, late partings and none.
fn lively() -> Specification {
    Specification {
        size: [13, 9],
        center: [2.0, 3.0].into(),
        span: [40.0, 37.0],
        steps: 300,
        dt: 0.02,
        shift: DVec3::new(0.02, -0.01, 0.015),
        critical_distance: 0.04,
        ..Specification::default()
    }
}

/// Every precision, and every integrator in f64.
fn methods() -> Vec<Specification> {
    let precisions = Precision::ALL.map(|precision| Specification {
        precision,
        ..lively()
    });
    let integrators = Integrator::ALL.iter().map(|integrator| Specification {
        integrator: *integrator,
        start: if integrator.is_multistep() {
            Start::RungeKutta
        } else {
            Start::Euler
        },
        ..lively()
    });
    precisions.into_iter().chain(integrators).collect()
}

/// The start states of a map's pixels: x, y, z of bodies 1, 2, 3, and then their velocities.
fn states(s: &Specification) -> Vec<[[DVec3; 3]; 2]> {
    let [w, h] = s.size;
    let at = |k: usize, i: u64| {
        s.center[k] - s.span[k] / 2.0 + s.span[k] * (i as f64 / s.size[k] as f64)
    };
    let pixel = |i: u64| {
        let mut positions = s.positions;
        let body = &mut positions[usize::from(s.body) - 1];
        let [first, second] = s.plane.axes();
        body[first] = at(0, i % w);
        body[second] = at(1, i / w);
        [positions, s.velocities]
    };
    (0..w * h).map(pixel).collect()
}

/// Points with 3, 9, 18 or 21 numbers each, in the given order.
fn points(s: &Specification, columns: usize, order: &[usize]) -> Points {
    let states = states(s);
    let grid_body = usize::from(s.body) - 1;
    let values = order.iter().flat_map(|i| {
        let [p, v] = states[*i];
        let mut all: Vec<f64> = [p, v].concat().iter().flat_map(|x| x.to_array()).collect();
        all.extend(s.masses);
        match columns {
            3 => p[grid_body].to_array().to_vec(),
            _ => all[..columns].to_vec(),
        }
    });
    Points::new(&[order.len(), columns], values.collect()).expect("points")
}

fn in_order(s: &Specification) -> Vec<usize> {
    (0..(s.size[0] * s.size[1]) as usize).collect()
}

fn times(engine: &dyn Engine<Validated>, spec: &Validated) -> Vec<u32> {
    engine
        .compute(spec, &Unattended)
        .expect("computes")
        .values
        .into()
        .expect("steps")
}

#[test]
fn points_of_a_grid_have_the_times_of_its_map_by_every_method_on_lanes_and_emulated_gpu() {
    for s in methods() {
        let order = in_order(&s);
        let grid = s.clone().validate().expect("valid");
        let given = s.clone().validate_points(points(&s, 3, &order));
        let given = given.expect("valid");
        let expected = times(&CpuEngine::new(Some(1)).expect("threads"), &grid);
        for simd in Simd::available() {
            let engine = CpuEngine::with_simd(Some(2), simd).expect("threads");
            assert!(times(&engine, &given) == expected, "{simd}: {s:?}");
        }
        let mut emulator = EmulatorEngine::new(DivergenceKernel::Fetch);
        emulator.blocks = 1;
        assert!(times(&emulator, &given) == expected, "emulator: {s:?}");
    }
}

#[test]
fn whole_states_in_any_order_have_the_times_of_their_pixels() {
    for (body, plane) in [(1, Plane::Xy), (2, Plane::Xz), (3, Plane::Yz)] {
        let mut s = lively();
        (s.body, s.plane) = (body, plane);
        let mut order = in_order(&s);
        order.reverse();
        order.swap(3, 100);
        let engine = CpuEngine::new(None).expect("threads");
        let map = times(&engine, &s.clone().validate().expect("valid"));
        let expected: Vec<u32> = order.iter().map(|i| map[*i]).collect();
        for columns in [3, 9, 18, 21] {
            // Values that the points contain are not taken from the specification.
            let mut other = s.clone();
            (other.center, other.size) = ([1e6, 1e6].into(), [1, 1]);
            if columns > 3 {
                other.positions = [DVec3::ONE; 3];
            }
            if columns > 9 {
                other.velocities = [DVec3::ONE; 3];
            }
            if columns > 18 {
                other.masses = [1.0, 2.0, 3.0];
            }
            let given = other.validate_points(points(&s, columns, &order));
            let found = times(&engine, &given.expect("valid"));
            assert!(found == expected, "body {body}, {columns} numbers");
        }
    }
}

/// Masses of neighbouring pixels, some of which are test bodies. Regularised integrators have none.
fn masses(integrator: Integrator) -> [[f64; 3]; 4] {
    let least = integrator.steps_per_period().map_or(0.0, |_| 1.0);
    MASSES.map(|masses| masses.map(|m| m.max(least)))
}

const MASSES: [[f64; 3]; 4] = [
    [10.0, 20.0, 30.0],
    [0.0, 5.0, 40.0],
    [12.0, 0.0, 0.5],
    [0.0, 0.0, 0.0],
];

#[test]
fn neighbours_with_masses_of_their_own_have_the_times_of_maps_of_these_masses_by_every_method() {
    for s in methods() {
        let order = in_order(&s);
        let reference = CpuEngine::with_simd(Some(1), Simd::Scalar).expect("threads");
        let own = masses(s.integrator);
        let maps = own.map(|masses| {
            let s = Specification {
                masses,
                ..s.clone()
            };
            times(&reference, &s.validate().expect("valid"))
        });
        let expected: Vec<u32> = order.iter().map(|i| maps[i % 4][*i]).collect();
        assert!(maps[0] != maps[1] && maps[1] != maps[2], "{s:?}");
        let mut values = points(&s, 21, &order).array().1.to_vec();
        for (i, point) in values.chunks_exact_mut(21).enumerate() {
            point[18..].copy_from_slice(&own[i % 4]);
        }
        let given = Points::new(&[9, 13, 21], values).expect("points");
        let given = s.clone().validate_points(given).expect("valid");
        for simd in Simd::available() {
            let engine = CpuEngine::with_simd(Some(3), simd).expect("threads");
            assert!(times(&engine, &given) == expected, "{simd}: {s:?}");
        }
        let mut emulator = EmulatorEngine::new(DivergenceKernel::Fetch);
        emulator.blocks = 1;
        assert!(times(&emulator, &given) == expected, "emulator: {s:?}");
    }
}

#[test]
fn maps_over_parameters_have_the_times_of_the_same_points() {
    for draw in [vec![], vec!["vz3=uniform:-1:1".to_owned()]] {
        let made = Specification {
            map: ["mass2=5:40", "vx1=-5:0"].map(str::to_owned).into(),
            draw,
            ..lively()
        };
        let made = made.validate().expect("valid");
        let (shape, values) = made.points().expect("made").array();
        let points = Points::new(&shape, values.into_owned()).expect("points");
        let given = lively().validate_points(points).expect("valid");
        let reference = CpuEngine::with_simd(Some(1), Simd::Scalar).expect("threads");
        let expected = times(&reference, &given);
        for simd in Simd::available() {
            let engine = CpuEngine::with_simd(Some(3), simd).expect("threads");
            assert!(times(&engine, &made) == expected, "{simd}");
        }
        let mut emulator = EmulatorEngine::new(DivergenceKernel::Fetch);
        emulator.blocks = 1;
        assert!(times(&emulator, &made) == expected, "emulator");
    }
}

#[test]
fn invalid_points_are_rejected_by_number() {
    let s = lively();
    let with = |columns: usize, changes: &[(usize, f64)]| {
        let mut values = points(&s, columns, &[0, 1, 2]).array().1.to_vec();
        for (at, number) in changes {
            values[*at] = *number;
        }
        Points::new(&[3, columns], values)
            .and_then(|points| s.clone().validate_points(points))
            .expect_err("refused")
            .to_string()
    };
    let cases = [
        (with(3, &[(4, f64::NAN)]), "--points NaN of point 1: "),
        (
            with(18, &[(35, f64::INFINITY)]),
            "--points inf of point 1: ",
        ),
        (
            with(9, &[(9, 1.7e308), (12, -1.7e308)]),
            "--points point 1: all distances",
        ),
        (with(21, &[(41, -1.0)]), "--points masses of point 1: "),
        (
            with(21, &[(40, 1.7e308), (41, 1.7e308)]),
            "--points point 1: its masses: their sum",
        ),
        (
            with(21, &[(62, 1e-310)]),
            "--points point 2: its masses: --g times mass times --dt^2",
        ),
    ];
    for (said, expected) in cases {
        assert!(said.starts_with(expected), "{said}");
    }
    // Bodies 2 and 3 of point 0 are at one place, which softening allows.
    let mut values = points(&s, 9, &[0]).array().1.to_vec();
    values.copy_within(3..6, 6);
    let same = || Points::new(&[1, 9], values.clone()).expect("points");
    let said = s.clone().validate_points(same()).expect_err("refused");
    assert!(
        said.to_string()
            .starts_with("--points point 0: bodies 2 and 3 coincide"),
        "{said}"
    );
    let softened = Specification {
        softening: 0.1,
        ..s.clone()
    };
    assert!(softened.validate_points(same()).is_ok());
    for (shape, n) in [(&[3][..], 3), (&[2, 4], 8), (&[0, 3], 0), (&[5, 3], 12)] {
        assert!(Points::new(shape, vec![0.5; n]).is_err(), "{shape:?}");
    }
}

#[test]
fn the_plain_kernel_rejects_points() {
    let s = lively();
    let given = s.clone().validate_points(points(&s, 3, &[5]));
    let engine = EmulatorEngine::new(DivergenceKernel::Plain);
    let failed = engine.compute(&given.expect("valid"), &Unattended);
    assert!(matches!(failed, Err(EngineError::Gpu { .. })), "{failed:?}");
}
