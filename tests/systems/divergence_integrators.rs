//! Integrators of divergence maps have their order, and the same bits on every engine.

use glam::DVec3;
use kernels_gpu::Real;
use kernels_gpu::integrator::fixed_steps::{MassesOf, State, accelerations};
use kernels_gpu::integrator::{self as by, MapIntegrator, Twins};
use kernels_gpu::lanes::one_pixel;
use kernels_gpu::map::{self, DivergenceCriterion, FirstSteps, Masses, OwnSteps, Point};
use kernels_gpu::physics::three_body::{MassTerms, Relative};
use kernels_gpu::quantity::Divergence;
use trisolar::divergence::{
    CpuEngine, DivergenceKernel, EmulatorEngine, Engine, Integrator, Precision, Specification,
    Start, Unattended, Validated,
};
use trisolar::simd::Simd;

const ECCENTRICITY: f64 = 0.3;

/// The fraction of a period that is integrated. It is not a whole period, after which the first-order errors of some methods
/// cancel.
const FRACTION_OF_PERIOD: f64 = 0.7;

/// The masses in an integrator's form, from G·m.
fn masses<I: MapIntegrator>(strengths: [f64; 3], dt: f64) -> I::Masses<f64> {
    I::masses(&Masses {
        in_steps: MassTerms::new(strengths.map(|g| [g * (dt * dt), 0.0]), 0.0),
        criterion: DivergenceCriterion::new(strengths, [1.0, 0.0, 0.0], 1.0),
        own_steps: OwnSteps {
            strengths: strengths.map(|g| [g * (dt * dt), 0.0]),
            step: 0.1,
        },
    })
}

/// Relative positions and velocities after `steps` steps of length `dt`.
fn after<I: MapIntegrator>(
    point: &Point,
    masses: &I::Masses<f64>,
    (steps, dt): (u32, f64),
    first: FirstSteps,
) -> [Relative<f64>; 2] {
    let mut s = I::begin(&point.start(dt), masses);
    for _ in 0..I::STARTS {
        I::start(&mut s, first, masses);
    }
    let mut t = s;
    for _ in I::STARTS..steps {
        I::step([&mut s, &mut t], masses);
    }
    let velocities = |s| I::velocities(s, 1.0 / dt, masses);
    assert_eq!(
        (I::positions(&s), velocities(&s)),
        (I::positions(&t), velocities(&t)),
        "two equal systems stay equal side by side"
    );
    [I::positions(&s), velocities(&s)]
}

/// A planet that starts at this distance with this tangential speed; the third body is a distant test particle.
fn planet(distance: f64, speed: f64) -> Point {
    Point {
        positions: [[0.0; 3], [distance, 0.0, 0.0], [0.0, 0.0, 1.0e3]],
        velocities: [[0.0; 3], [0.0, speed, 0.0], [0.0; 3]],
        ..Point::RESTING
    }
}

/// The distance of a planet (G·M = a = 1) from its position by Kepler's equation after [`FRACTION_OF_PERIOD`] of a period from
/// the pericentre, in `steps` steps.
fn kepler_error<I: MapIntegrator>(steps: u32, first: FirstSteps) -> [f64; 2] {
    let time = FRACTION_OF_PERIOD * std::f64::consts::TAU;
    let dt = time / f64::from(steps);
    let speed = ((1.0 + ECCENTRICITY) / (1.0 - ECCENTRICITY)).sqrt();
    let start = planet(1.0 - ECCENTRICITY, speed);
    let masses = masses::<I>([0.4, 0.6, 0.0], dt);
    let [x, v] = after::<I>(&start, &masses, (steps, dt), first);
    let mut anomaly = time;
    for _ in 0..100 {
        anomaly = time + ECCENTRICITY * anomaly.sin();
    }
    let minor = (1.0 - ECCENTRICITY * ECCENTRICITY).sqrt();
    let rate = 1.0 / (1.0 - ECCENTRICITY * anomaly.cos());
    let distance = |x: f64, y: f64| x.hypot(y);
    [
        distance(
            x.a.x - (anomaly.cos() - ECCENTRICITY),
            x.a.y - minor * anomaly.sin(),
        ),
        distance(
            v.a.x + rate * anomaly.sin(),
            v.a.y - rate * minor * anomaly.cos(),
        ),
    ]
}

/// The slopes of log(error) against log(dt) between `steps` and twice as many steps, for positions and velocities.
fn order<I: MapIntegrator>(steps: u32, first: FirstSteps) -> [f64; 2] {
    let (few, many) = (
        kepler_error::<I>(steps, first),
        kepler_error::<I>(2 * steps, first),
    );
    [0, 1].map(|k| (few[k] / many[k]).log2())
}

fn assert_order(found: [f64; 2], expected: f64) {
    for (found, what) in found.into_iter().zip(["positions", "velocities"]) {
        assert!(
            (found - expected).abs() < 0.1,
            "{what}: order {found:.3} instead of {expected}"
        );
    }
}

/// A number of steps at which rounding errors and terms of higher order are both negligible.
fn steps(integrator: Integrator) -> u32 {
    match (integrator.name(), integrator.order()) {
        ("explicit-euler", _) => 400_000,
        (_, 1) => 20_000,
        (_, 2) => 8000,
        _ => 1500,
    }
}

macro_rules! assert_orders {
    ([] $($name:ident $entry:ident $bodies:ident,)*) => {$(
        assert_orders!(@$bodies $name);
    )*};
    // Their test is in `regularised`.
    (@own $name:ident) => {};
    (@$other:ident $name:ident) => {
        let integrator = Integrator::$name;
        let found = order::<<by::$name as by::Integrator>::OnMaps>(
            steps(integrator),
            FirstSteps::RungeKutta,
        );
        println!("{integrator}: {found:?}");
        assert_order(found, f64::from(integrator.order()));
    };
}

#[test]
fn every_integrator_converges_with_its_order() {
    kernels_gpu::integrators!({assert_orders} []);
}

#[test]
fn adams_bashforth_2_has_order_2_with_either_start() {
    assert_order(order::<by::AdamsBashforth2>(8000, FirstSteps::Euler), 2.0);
}

#[test]
fn the_euler_start_reduces_adams_bashforth_4_to_order_2() {
    assert_order(order::<by::AdamsBashforth4>(8000, FirstSteps::Euler), 2.0);
}

#[test]
fn symplectic_integrators_keep_the_energy_where_explicit_euler_does_not() {
    // The size of the orbit after 20 periods with 2000 steps each.
    fn radius<I: MapIntegrator>() -> f64 {
        let dt = std::f64::consts::TAU / 2000.0;
        let masses = masses::<I>([1.0, 0.0, 0.0], dt);
        let circle = planet(1.0, 1.0);
        let [x, _] = after::<I>(&circle, &masses, (40_000, dt), FirstSteps::Euler);
        x.a.dot(x.a).sqrt()
    }
    let explicit = radius::<by::ExplicitEuler>();
    assert!(explicit > 1.2, "{explicit}");
    assert!((radius::<by::SymplecticEuler>() - 1.0).abs() < 0.01);
    assert!((radius::<by::Leapfrog>() - 1.0).abs() < 1e-5);
    type Verlet = <by::VelocityVerlet as by::Integrator>::OnMaps;
    assert!((radius::<Verlet>() - 1.0).abs() < 1e-5);
    type Forest = <by::ForestRuth as by::Integrator>::OnMaps;
    assert!((radius::<Forest>() - 1.0).abs() < 1e-10);
}

/// The largest difference between the components of two states, relative to the largest component.
fn difference(found: &[Relative<f64>; 2], expected: &[Relative<f64>; 2]) -> f64 {
    let numbers = |s: &[Relative<f64>; 2]| -> Vec<f64> {
        let vectors = s.iter().flat_map(|r| [r.a, r.b]);
        vectors.flat_map(|v| [v.x, v.y, v.z]).collect()
    };
    let (found, expected) = (numbers(found), numbers(expected));
    let pairs = found.iter().zip(&expected);
    let error = pairs.fold(0.0_f64, |e, (a, b)| e.max((a - b).abs()));
    error / expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()))
}

macro_rules! compare_forms {
    ([$point:ident $strengths:ident $dt:ident $steps:ident] $($name:ident $entry:ident $bodies:ident,)*) => {$(
        { compare_forms!(@$bodies $name $point $strengths $dt $steps); }
    )*};
    (@three $name:ident $($rest:ident)*) => {};
    (@own $name:ident $($rest:ident)*) => {};
    (@any $name:ident $point:ident $strengths:ident $dt:ident $steps:ident) => {
        type Own = <by::$name as by::Integrator>::OnMaps;
        type General = by::General<by::$name, 1, { <by::$name as by::SystemIntegrator>::SAVED }>;
        let (own, general) = (masses::<Own>($strengths, $dt), masses::<General>($strengths, $dt));
        let first = FirstSteps::RungeKutta;
        let own = after::<Own>(&$point, &own, ($steps, $dt), first);
        let general = after::<General>(&$point, &general, ($steps, $dt), first);
        // The staggered leapfrog has the positions of kick–drift–kick.
        let expected = if Integrator::$name == Integrator::Leapfrog {
            type Verlet = <by::VelocityVerlet as by::Integrator>::OnMaps;
            after::<Verlet>(&$point, &masses::<Verlet>($strengths, $dt), ($steps, $dt), first)
        } else {
            general
        };
        let error = difference(&own, &expected);
        println!("{}: {error:e}", stringify!($name));
        assert!(error < 1e-12, "{}: {error:e}", stringify!($name));
    };
}

#[test]
fn the_forms_for_maps_equal_the_general_forms_to_rounding() {
    let point = Point {
        positions: [[0.3, -1.1, 0.2], [2.0, 0.4, -0.3], [-1.2, 1.9, 0.7]],
        velocities: [[0.2, 0.4, -0.1], [-0.3, 0.5, 0.2], [0.1, -0.6, 0.05]],
        ..Point::RESTING
    };
    let (strengths, dt, steps) = ([1.0, 0.7, 1.4], 0.01, 200_u32);
    kernels_gpu::integrators!({compare_forms} [point strengths dt steps]);
}

/// A leapfrog that takes eight short steps instead of one where the first two bodies are close. An integrator of maps may do
/// this, because it owns its state and its steps.
#[derive(Clone, Copy, Debug)]
struct Adaptive;

/// Square of the distance within which steps are shorter.
const CLOSE_DISTANCE2: f64 = 1.0;

impl MapIntegrator for Adaptive {
    type Masses<R: Real> = MassesOf<R>;
    type State<R: Real> = State<R, [Relative<R>; 0]>;
    type Twins<R: Real> = Twins<Self::State<R>>;

    fn masses<R: Real>(masses: &Masses) -> MassesOf<R> {
        masses.in_steps.convert()
    }

    fn begin<R: Real>(start: &map::Start<R>, _: &MassesOf<R>) -> Self::State<R> {
        State {
            q: start.positions,
            u: start.steps,
            memory: [],
        }
    }

    fn step<R: Real, const N: usize>(systems: [&mut Self::State<R>; N], masses: &MassesOf<R>) {
        for s in systems {
            let near =
                s.q.a
                    .norm2_plus(R::zero())
                    .at_most(R::from_f64(CLOSE_DISTANCE2));
            for substep in 0..8 {
                let far = if substep == 0 { 1.0 } else { 0.0 };
                let part = |k: f64| R::select(near, R::from_f64(k * 0.125), R::from_f64(k * far));
                s.q = advanced(&s.q, part(0.5), &s.u);
                let [f] = accelerations([s.q], masses);
                s.u = advanced(&s.u, part(1.0), &f);
                s.q = advanced(&s.q, part(0.5), &s.u);
            }
        }
    }

    fn positions<R: Real>(s: &Self::State<R>) -> Relative<R> {
        s.q
    }

    fn velocities<R: Real>(s: &Self::State<R>, rate: R::Constant, _: &MassesOf<R>) -> Relative<R> {
        s.u.scaled(rate)
    }
}

/// x + k · d, with a different factor in each lane.
fn advanced<R: Real>(x: &Relative<R>, k: R, d: &Relative<R>) -> Relative<R> {
    Relative {
        a: x.a.add_scaled(k, d.a),
        b: x.b.add_scaled(k, d.b),
    }
}

#[test]
fn maps_can_use_an_integrator_with_its_own_steps() {
    // Near the pericentre, its steps are an eighth as long.
    let error = |e: [f64; 2]| e[0].hypot(e[1]);
    let leapfrog = error(kepler_error::<by::Leapfrog>(2000, FirstSteps::Euler));
    let adaptive = error(kepler_error::<Adaptive>(2000, FirstSteps::Euler));
    assert!(adaptive < 0.5 * leapfrog, "{adaptive:e}, {leapfrog:e}");
    // The plain loop over steps accepts any integrator.
    let spec = lively(Integrator::Leapfrog, Start::Euler, 400);
    let job = spec.job(0, 1);
    let adaptive: Vec<u32> = (0..spec.pixels())
        .map(|pixel| one_pixel::<Divergence, Adaptive, f64>(&job, pixel))
        .collect();
    let leapfrog = times(&CpuEngine::new(None).expect("threads"), &spec);
    let pairs = adaptive.iter().zip(&leapfrog);
    let near = pairs.filter(|(a, b)| a.abs_diff(**b) <= 20).count();
    assert!(near > adaptive.len() / 2, "{adaptive:?} {leapfrog:?}");
    assert_ne!(adaptive, leapfrog);
}

/// A map of a few hundred steps with early partings, late partings and none.
fn lively(integrator: Integrator, start: Start, steps: u64) -> Validated {
    let spec = Specification {
        size: [33, 22],
        center: [2.0, 3.0].into(),
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

/// A map whose twins part within the first steps, which multistep methods take differently.
fn hasty(integrator: Integrator, start: Start, steps: u64) -> Validated {
    let mut spec = lively(integrator, start, steps).specification().clone();
    spec.center = [0.5, 0.5].into();
    spec.span = [16.0, 16.0];
    spec.positions[0].z = 0.0;
    spec.dt = 0.1;
    spec.critical_distance = 0.03;
    spec.validate().expect("valid")
}

fn methods() -> Vec<(Integrator, Start)> {
    let mut list: Vec<_> = Integrator::ALL.iter().map(|i| (*i, Start::Euler)).collect();
    list.push((Integrator::AdamsBashforth2, Start::RungeKutta));
    list.push((Integrator::AdamsBashforth4, Start::RungeKutta));
    list
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
fn every_integrator_gives_the_same_bits_in_all_lanes_and_in_the_emulated_kernel() {
    for (integrator, start) in methods() {
        let mut specs = vec![
            lively(integrator, start, 400),
            lively(integrator, start, 401),
        ];
        specs.extend([1, 2, 3, 4, 5].map(|steps| hasty(integrator, start, steps)));
        specs.push(hasty(integrator, start, 60));
        for spec in specs {
            // More than twice the threads of the emulated grid, so that they fetch pixels.
            let small = Specification {
                size: [19, 13],
                ..spec.specification().clone()
            };
            let spec = small.validate().expect("valid");
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
fn the_hasty_map_has_partings_in_every_first_step() {
    let map = times(
        &CpuEngine::new(None).expect("threads"),
        &hasty(Integrator::AdamsBashforth4, Start::Euler, 60),
    );
    for t in [2, 3, 4, 5, 6] {
        assert!(map.contains(&t), "none after {t} steps: {map:?}");
    }
}

#[test]
fn fourth_order_integrators_agree_where_euler_has_long_diverged() {
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
fn invalid_combinations_are_rejected() {
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
