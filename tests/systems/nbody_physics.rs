//! Known orbits: orders of convergence, periods, conserved quantities, the Pythagorean problem.

use trisolar::bodies::DVec3;
use trisolar::divergence::Unattended;
use trisolar::nbody::{
    Bodies, CpuEngine, Diagnostics, Engine, Integrator, Method, Model, Schedule, Solver,
    Specification, Validated,
};
use trisolar::simd::Simd;

fn integrate(bodies: Bodies, change: impl FnOnce(&mut Specification)) -> Bodies {
    let mut spec = Specification::default();
    change(&mut spec);
    let steps = spec.steps;
    let problem = spec.validate(bodies).unwrap();
    let engine = CpuEngine::new(Some(1), Schedule::Dynamic).unwrap();
    let mut run = engine.start(&problem, problem.bodies()).unwrap();
    run.advance(steps, &Unattended).unwrap();
    run.bodies().unwrap()
}

/// The first body on an ellipse after 0.3 periods in `steps` steps. (After a whole period, symplectic Euler would appear to be of
/// second order.)
fn after_a_part(integrator: Integrator, steps: u64) -> DVec3 {
    let start = Model::Kepler {
        a: 1.0,
        e: 0.3,
        ratio: 0.5,
    }
    .build(None, 0, 1.0, 3)
    .unwrap();
    // Kepler's third law for a total mass of 1.5.
    let period = std::f64::consts::TAU / 1.5_f64.sqrt();
    let end = integrate(start, |s| {
        s.integrator = integrator.into();
        s.steps = steps;
        s.dt = 0.3 * period / steps as f64;
    });
    end.position[0]
}

#[test]
fn the_error_shrinks_with_the_order_of_the_integrator() {
    let reference = after_a_part(Integrator::RungeKutta4, 20_000);
    for integrator in Integrator::of_any_bodies() {
        let steps = if integrator.order() == 4 { 200 } else { 2_000 };
        let miss = |steps| after_a_part(integrator, steps).distance(reference);
        let slope = (miss(steps) / miss(2 * steps)).log2();
        let order = f64::from(integrator.order());
        assert!((slope - order).abs() < 0.1, "{integrator}: slope {slope}");
    }
}

#[test]
fn the_figure_eight_closes() {
    let start = Model::FigureEight.build(None, 0, 1.0, 3).unwrap();
    let energy = Diagnostics::of(&start, 1.0, 0.0).total;
    assert!((energy + 1.287_141_995_631_857_7).abs() < 1e-15, "{energy}");
    let end = integrate(start.clone(), |s| {
        s.integrator = Integrator::ForestRuth.into();
        s.steps = 10_000;
        s.dt = 6.325_913_982_926_211 / 10_000.0;
    });
    for (a, b) in start.position.iter().zip(&end.position) {
        assert!(a.distance(*b) < 1e-10, "{}", a.distance(*b));
    }
}

#[test]
fn the_lagrange_triangle_completes_one_revolution_per_period() {
    let start = Model::Lagrange.build(None, 0, 1.0, 3).unwrap();
    let end = integrate(start.clone(), |s| {
        s.integrator = Integrator::RungeKutta4.into();
        s.steps = 5_000;
        s.dt = 3.627_598_728_468_436 / 5_000.0;
    });
    for (a, b) in start.position.iter().zip(&end.position) {
        assert!(a.distance(*b) < 1e-9, "{}", a.distance(*b));
    }
}

#[test]
fn burraus_problem_follows_the_quadruple_precision_solution() {
    let start = Model::Burrau.build(None, 0, 1.0, 3).unwrap();
    let energy = Diagnostics::of(&start, 1.0, 0.0).total;
    assert!((energy + 769.0 / 60.0).abs() < 1e-14, "{energy}");
    // A fixed step cannot resolve the close encounters, but it is accurate up to t = 10.
    let end = integrate(start, |s| {
        s.integrator = Integrator::ForestRuth.into();
        s.steps = 2_000_000;
        s.dt = 5e-6;
    });
    let expected = [0.778_480_410_138_085_5, 0.141_392_300_290_086_17, 0.0];
    let miss = end.position[0].distance(expected.into());
    assert!(miss < 1e-6, "{miss}");
}

#[test]
fn symplectic_integrators_conserve_energy_and_all_conserve_momenta() {
    let start = Model::Plummer.build(Some(200), 4, 1.0, 3).unwrap();
    let before = Diagnostics::of(&start, 1.0, 0.05);
    for integrator in Integrator::of_any_bodies() {
        for solver in Solver::ALL {
            let end = integrate(start.clone(), |s| {
                s.integrator = integrator.into();
                s.solver = *solver;
                s.softening = 0.05;
                s.steps = 500;
                s.dt = 0.002;
            });
            let after = Diagnostics::of(&end, 1.0, 0.05);
            let error = ((after.total - before.total) / before.total).abs();
            let allowed = match integrator {
                Integrator::ExplicitEuler => 0.05,
                Integrator::SymplecticEuler => 1e-3,
                _ if integrator.order() == 2 => 1e-5,
                _ => 1e-6,
            };
            assert!(error < allowed, "{integrator} {solver}: {error}");
            for d in 0..3 {
                assert!((after.momentum[d] - before.momentum[d]).abs() < 1e-13);
                let turn = (after.angular_momentum[d] - before.angular_momentum[d]).abs();
                // Explicit Euler does not conserve it, and Adams–Bashforth 2 conserves it only to its own, second order.
                let allowed = match integrator {
                    Integrator::ExplicitEuler => f64::INFINITY,
                    Integrator::AdamsBashforth2 => 1e-6,
                    _ => 1e-9,
                };
                assert!(turn < allowed, "{integrator} {solver}: {turn}");
            }
        }
    }
}

#[test]
fn a_reversed_symplectic_step_returns_to_the_start() {
    let start = Model::Plummer.build(Some(50), 4, 1.0, 3).unwrap();
    for integrator in [
        Integrator::Leapfrog,
        Integrator::VelocityVerlet,
        Integrator::ForestRuth,
    ] {
        let there = integrate(start.clone(), |s| {
            s.integrator = integrator.into();
            s.softening = 0.05;
        });
        let back = integrate(there, |s| {
            s.integrator = integrator.into();
            s.softening = 0.05;
            s.dt = -s.dt;
        });
        for (a, b) in start.position.iter().zip(&back.position) {
            assert!(a.distance(*b) < 1e-11, "{integrator}: {}", a.distance(*b));
        }
    }
}

#[test]
fn models_have_the_properties_that_name_them() {
    let plummer = Model::Plummer.build(Some(2000), 11, 1.0, 3).unwrap();
    let d = Diagnostics::of(&plummer, 1.0, 0.0);
    assert!((d.total + 0.25).abs() < 1e-12 && (d.virial_ratio - 0.5).abs() < 1e-12);
    assert!(
        d.centre_of_mass
            .iter()
            .chain(&d.momentum)
            .all(|x| x.abs() < 1e-14)
    );
    // Half the mass of a Plummer sphere is within 1.3048 scale lengths of 3π/16.
    assert!((d.lagrange[2] - 0.769).abs() < 0.05, "{}", d.lagrange[2]);
    assert_eq!(
        plummer,
        Model::Plummer.build(Some(2000), 11, 1.0, 3).unwrap()
    );
    assert_ne!(
        plummer,
        Model::Plummer.build(Some(2000), 12, 1.0, 3).unwrap()
    );
    let sphere = Model::Sphere { radius: 2.0 }
        .build(Some(2000), 1, 1.0, 3)
        .unwrap();
    assert!(sphere.position.iter().all(|p| p.length() <= 2.0));
    let inner = sphere.position.iter().filter(|p| p.length() < 1.0).count();
    assert!(
        (200..300).contains(&inner),
        "an eighth of the volume: {inner}"
    );
    let planets = Model::OuterPlanets.build(None, 0, 1.0, 3).unwrap();
    // After its period of 4333 days, Jupiter returns to its start; the Sun moves with all of the planets.
    let end = integrate(planets.clone(), |s| {
        s.g = Model::OuterPlanets.natural_g();
        s.dt = 4333.0 / 1000.0;
    });
    let of = |b: &Bodies| b.position[1] - b.position[0];
    assert!(of(&planets).distance(of(&end)) < 0.1 * of(&planets).length());
}

#[test]
fn steps_of_their_own_follow_the_pythagorean_problem_through_its_close_encounters() {
    let start = Model::Burrau.build(None, 1, 1.0, 3).unwrap();
    let with = |tolerance: f64, end: f64| {
        let spec = Specification {
            integrator: Method::Adaptive,
            tolerance: Some(tolerance),
            dt: 0.02,
            steps: (end / 0.02).round() as u64,
            ..Specification::default()
        };
        spec.validate(start.clone()).unwrap()
    };
    let run = |problem: &Validated, simd: Simd, pause: u64| {
        let engine = CpuEngine::with_simd(Some(1), Schedule::Dynamic, simd).unwrap();
        let mut bodies = problem.bodies().clone();
        let (mut done, mut own) = (0, 0);
        while done < problem.specification().steps {
            let mut run = engine.start(problem, &bodies).unwrap();
            let steps = pause.min(problem.specification().steps - done);
            done += run.advance(steps, &Unattended).unwrap();
            own += run.own_steps().unwrap()[0];
            bodies = run.bodies().unwrap();
        }
        (bodies, own)
    };
    // The first body in quadruple precision.
    let known = [
        (10.0, [0.778480410138085493, 0.141392300290086169], 1e-8),
        (20.0, [3.004292636696399205, 0.511925235024685866], 1e-7),
        (40.0, [-0.622003691801097122, 1.858318157899772753], 1e-5),
    ];
    for (end, [x, y], allowed) in known {
        let (bodies, own) = run(&with(1e-12, end), Simd::Scalar, u64::MAX);
        let miss = bodies.position[0].distance(DVec3::new(x, y, 0.0));
        assert!(miss < allowed, "t = {end}: {miss}");
        assert!(own < 200 * end as u64, "t = {end}: {own} steps");
    }
    let problem = with(1e-10, 20.0);
    let (expected, _) = run(&problem, Simd::Scalar, u64::MAX);
    for simd in Simd::available() {
        for pause in [1, 77] {
            let (bodies, _) = run(&problem, simd, pause);
            assert!(bodies == expected, "{simd:?}, a pause every {pause} steps");
        }
    }
}
