//! Integrators of divergence maps: their order, and the same bits on every engine.

use glam::DVec3;
use kernels_gpu::Vec3;
use kernels_gpu::integrator::three_body::{
    AdamsBashforth2, AdamsBashforth4, ExplicitEuler, Hermite4, Integrator as Stepper, Leapfrog,
    Memory, RungeKutta4, SemiImplicitEuler, Start as FirstSteps, State,
};
use kernels_gpu::physics::three_body::{Pulls, Relative};
use trisolar::divergence::{
    CpuEngine, DivergenceKernel, EmulatorEngine, Engine, Integrator, Precision, Specification,
    Start, Unattended, Validated,
};
use trisolar::simd::Simd;

const ECCENTRICITY: f64 = 0.3;

/// How much of a period is integrated: not all of it, since there the errors of first order of some methods cancel.
const SHARE: f64 = 0.7;

/// Distance from where Kepler's equation puts a planet (G·M = a = 1) after [`SHARE`] of a period from pericentre, in `steps`
/// steps. The third body is a test particle far away.
fn kepler_error<I: Stepper<f64, Pulls = Pulls<f64>>>(steps: u32, start: FirstSteps) -> f64 {
    let time = SHARE * std::f64::consts::TAU;
    let dt = time / f64::from(steps);
    let zero = Vec3 {
        x: 0.0,
        y: 0.0,
        z: 0.0,
    };
    let speed = ((1.0 + ECCENTRICITY) / (1.0 - ECCENTRICITY)).sqrt();
    let pericentre = Vec3 {
        x: 1.0 - ECCENTRICITY,
        ..zero
    };
    let q = Relative {
        a: pericentre,
        b: Vec3 { z: 1.0e3, ..zero },
    };
    let u = Relative {
        a: Vec3 {
            y: speed * dt,
            ..zero
        },
        b: zero,
    };
    let pulls = Pulls::new([0.4 * dt * dt, 0.6 * dt * dt, 0.0], 0.0);
    let mut s: State<f64, I::Memory> = State::new(&q, &u);
    I::begin(&mut s, &pulls);
    for _ in 0..I::STARTS {
        I::start(&mut s, start, &pulls);
    }
    let mut t = s;
    for _ in I::STARTS..steps {
        I::step_both(&mut s, &mut t, &pulls);
    }
    assert!(same(&s, &t), "side by side, two equal systems stay equal");
    let mut anomaly = time;
    for _ in 0..100 {
        anomaly = time + ECCENTRICITY * anomaly.sin();
    }
    let d = s.q.a
        - Vec3 {
            x: anomaly.cos() - ECCENTRICITY,
            y: (1.0 - ECCENTRICITY * ECCENTRICITY).sqrt() * anomaly.sin(),
            z: 0.0,
        };
    d.dot(d).sqrt()
}

fn same<M: Memory<f64>>(s: &State<f64, M>, t: &State<f64, M>) -> bool {
    s.q == t.q && s.u == t.u
}

/// The slope of log(error) over log(dt) between `steps` and twice as many.
fn order<I: Stepper<f64, Pulls = Pulls<f64>>>(steps: u32, start: FirstSteps) -> f64 {
    (kepler_error::<I>(steps, start) / kepler_error::<I>(2 * steps, start)).log2()
}

fn assert_order(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 0.1,
        "order {found:.3} instead of {expected}"
    );
}

#[test]
fn explicit_euler_converges_with_order_1() {
    assert_order(order::<ExplicitEuler>(400_000, FirstSteps::Euler), 1.0);
}

#[test]
fn semi_implicit_euler_converges_with_order_1() {
    assert_order(order::<SemiImplicitEuler>(20_000, FirstSteps::Euler), 1.0);
}

#[test]
fn leapfrog_converges_with_order_2() {
    assert_order(order::<Leapfrog>(2000, FirstSteps::Euler), 2.0);
}

#[test]
fn adams_bashforth_2_converges_with_order_2_whatever_its_start() {
    assert_order(order::<AdamsBashforth2>(8000, FirstSteps::Euler), 2.0);
    assert_order(order::<AdamsBashforth2>(8000, FirstSteps::RungeKutta), 2.0);
}

#[test]
fn adams_bashforth_4_converges_with_order_4_and_a_start_of_that_order() {
    assert_order(order::<AdamsBashforth4>(2000, FirstSteps::RungeKutta), 4.0);
}

#[test]
fn the_euler_start_of_the_source_document_leaves_adams_bashforth_4_with_order_2() {
    assert_order(order::<AdamsBashforth4>(8000, FirstSteps::Euler), 2.0);
}

#[test]
fn runge_kutta_4_converges_with_order_4() {
    assert_order(order::<RungeKutta4>(1000, FirstSteps::Euler), 4.0);
}

#[test]
fn hermite_4_converges_with_order_4() {
    assert_order(order::<Hermite4>(1000, FirstSteps::Euler), 4.0);
}

#[test]
fn symplectic_integrators_keep_the_energy_where_explicit_euler_does_not() {
    // The orbit's size after 20 periods, in 2000 steps each.
    fn radius<I: Stepper<f64, Pulls = Pulls<f64>>>() -> f64 {
        let dt = std::f64::consts::TAU / 2000.0;
        let zero = Vec3 {
            x: 0.0,
            y: 0.0,
            z: 0.0,
        };
        let q = Relative {
            a: Vec3 { x: 1.0, ..zero },
            b: Vec3 { z: 1.0e3, ..zero },
        };
        let u = Relative {
            a: Vec3 { y: dt, ..zero },
            b: zero,
        };
        let pulls = Pulls::new([dt * dt, 0.0, 0.0], 0.0);
        let mut s: State<f64, I::Memory> = State::new(&q, &u);
        I::begin(&mut s, &pulls);
        let mut t = s;
        for _ in 0..40_000 {
            I::step_both(&mut s, &mut t, &pulls);
        }
        s.q.a.dot(s.q.a).sqrt()
    }
    assert!(
        radius::<ExplicitEuler>() > 1.2,
        "{}",
        radius::<ExplicitEuler>()
    );
    assert!((radius::<SemiImplicitEuler>() - 1.0).abs() < 0.01);
    assert!((radius::<Leapfrog>() - 1.0).abs() < 1e-5);
}

/// A map of a few hundred steps with early, late and no partings.
fn lively(integrator: Integrator, start: Start, steps: u64) -> Validated {
    let spec = Specification {
        size: [33, 22],
        center: [2.0, 3.0],
        span: [40.0, 37.0],
        steps,
        dt: 0.02,
        shift: DVec3::new(0.02, -0.01, 0.015),
        critical_distance: 0.04,
        integrator,
        start,
        ..Specification::default()
    };
    spec.validate().expect("valid")
}

/// Twins that part within the first steps, where multistep methods start.
fn hasty(integrator: Integrator, start: Start, steps: u64) -> Validated {
    let mut spec = lively(integrator, start, steps).specification().clone();
    spec.center = [0.5, 0.5];
    spec.span = [16.0, 16.0];
    spec.positions[0].z = 0.0;
    spec.dt = 0.1;
    spec.critical_distance = 0.03;
    spec.validate().expect("valid")
}

fn methods() -> Vec<(Integrator, Start)> {
    let mut list: Vec<_> = Integrator::ALL.map(|i| (i, Start::Euler)).into();
    list.push((Integrator::AdamsBashforth2, Start::RungeKutta));
    list.push((Integrator::AdamsBashforth4, Start::RungeKutta));
    list
}

fn times(engine: &dyn Engine, spec: &Validated) -> Vec<u32> {
    engine.compute(spec, &Unattended).expect("computes").times
}

#[test]
fn every_integrator_gives_the_same_bits_in_all_lanes_and_in_the_emulated_kernel() {
    for (integrator, start) in methods() {
        let mut specs = vec![
            lively(integrator, start, 400),
            lively(integrator, start, 401),
        ];
        specs.extend([1, 2, 3, 4, 5].map(|steps| hasty(integrator, start, steps)));
        specs.push(hasty(integrator, start, 60));
        for spec in specs {
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
fn the_hasty_map_has_partings_in_every_starting_step() {
    let map = times(
        &CpuEngine::new(None).expect("threads"),
        &hasty(Integrator::AdamsBashforth4, Start::Euler, 60),
    );
    for t in [2, 3, 4, 5, 6] {
        assert!(map.contains(&t), "none after {t} steps: {map:?}");
    }
}

#[test]
fn integrators_of_fourth_order_agree_where_euler_has_long_left_the_trajectory() {
    let engine = CpuEngine::new(None).expect("threads");
    let map = |integrator, start| {
        let mut spec = lively(integrator, start, 500).specification().clone();
        spec.dt = 0.01;
        times(&engine, &spec.validate().expect("valid"))
    };
    let reference = map(Integrator::RungeKutta4, Start::Euler);
    let near = |other: Vec<u32>| {
        reference
            .iter()
            .zip(&other)
            .filter(|(a, b)| a.abs_diff(**b) <= 1)
            .count() as f64
            / reference.len() as f64
    };
    let hermite = near(map(Integrator::Hermite4, Start::Euler));
    let bashforth = near(map(Integrator::AdamsBashforth4, Start::RungeKutta));
    let euler = near(map(Integrator::ExplicitEuler, Start::Euler));
    let all = format!("hermite {hermite}, adams-bashforth {bashforth}, euler {euler}");
    assert!(hermite > 0.95, "{all}");
    assert!(bashforth > 0.9, "{all}");
    assert!(euler < 0.8, "{all}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |integrator, start, precision| {
        let spec = Specification {
            integrator,
            start,
            precision,
            ..Specification::default()
        };
        spec.validate().expect_err("refused").to_string()
    };
    let text = refused(Integrator::Leapfrog, Start::RungeKutta, Precision::F64);
    assert!(
        text.contains("--start") && text.contains("adams-bashforth"),
        "{text}"
    );
    let text = refused(Integrator::RungeKutta4, Start::Euler, Precision::F32);
    assert!(
        text.contains("--integrator") && text.contains("explicit-euler"),
        "{text}"
    );
}
