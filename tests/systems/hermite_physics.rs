//! The Hermite integrator: known orbits, known counts, orders of convergence, equal bits everywhere.

// Known values are given with all their published digits.
#![allow(clippy::excessive_precision)]

use std::f64::consts::PI;

use trisolar::bodies::{Bodies, DVec3};
use trisolar::hermite::{
    Cluster, CpuEngine, HermiteError, Order, Precision, Specification, Validated, bodies_of,
};
use trisolar::simd::Simd;

fn cluster(spec: Specification, bodies: &Bodies) -> Cluster<'static> {
    let engine = CpuEngine::new(None).unwrap();
    Cluster::new(&validated(spec, bodies), Box::new(engine)).unwrap()
}

fn validated(spec: Specification, bodies: &Bodies) -> Validated {
    spec.validate(bodies.clone()).unwrap()
}

fn first(n: usize, bodies: &Bodies) -> Bodies {
    Bodies {
        mass: bodies.mass[..n].into(),
        position: bodies.position[..n].into(),
        velocity: bodies.velocity[..n].into(),
    }
}

/// Constant steps of the same length for all particles.
fn constant(order: Order, step: f64, iterations: u32) -> Specification {
    Specification {
        max_step: step,
        min_step: Some(step),
        iterations,
        ..Specification::new(order)
    }
}

fn plummer() -> Bodies {
    include_str!("../golden/plummer_1024.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let n: Vec<f64> = line
                .split_whitespace()
                .map(|w| w.parse().unwrap())
                .collect();
            (n[1], [n[2], n[3], n[4]], [n[5], n[6], n[7]])
        })
        .collect()
}

fn plummer_run(order: Order) -> (Specification, Bodies) {
    let bodies = plummer();
    let softening = 4.0 / bodies.len() as f64;
    (
        Specification {
            softening,
            ..Specification::new(order)
        },
        bodies,
    )
}

/// Relative energy error, number of block steps and number of particle steps up to t = 2.
fn two_time_units(order: Order) -> (f64, u64, u64) {
    let (spec, bodies) = plummer_run(order);
    let mut cluster = cluster(spec, &bodies);
    let start = cluster.energy(0.0).unwrap();
    assert!((start.kinetic - 0.24284807471546).abs() < 1e-13);
    assert!((start.potential + 0.50512314611667).abs() < 1e-13);
    cluster.advance_to(2.0).unwrap();
    let end = cluster.energy(2.0).unwrap().total();
    let counters = cluster.counters();
    assert_eq!(counters.lengths.iter().sum::<u64>(), counters.steps);
    assert_eq!(counters.active.iter().sum::<u64>(), counters.blocks);
    assert_eq!(cluster.abrupt(), None);
    (
        (start.total() - end) / start.total(),
        counters.blocks,
        counters.steps,
    )
}

fn within_a_percent(got: u64, known: u64) -> bool {
    got.abs_diff(known) * 100 <= known
}

#[test]
fn order_4_reproduces_the_known_steps_and_error_of_the_plummer_model() {
    let (error, blocks, steps) = two_time_units(Order::Four);
    println!("order 4: {blocks} {steps} {error:e}");
    assert!(within_a_percent(blocks, 9124), "{blocks} block steps");
    assert!(within_a_percent(steps, 496195), "{steps} particle steps");
    assert!((error / 1.38e-9 - 1.0).abs() < 0.01, "dE/E = {error:e}");
}

#[test]
fn order_6_reproduces_the_known_steps_and_error_of_the_plummer_model() {
    let (error, blocks, steps) = two_time_units(Order::Six);
    println!("order 6: {blocks} {steps} {error:e}");
    assert!(within_a_percent(blocks, 2532), "{blocks} block steps");
    assert!(within_a_percent(steps, 192964), "{steps} particle steps");
    assert!((error / -6.5e-9 - 1.0).abs() < 0.01, "dE/E = {error:e}");
}

#[test]
fn order_8_keeps_the_energy_of_the_plummer_model_as_well() {
    let (error, blocks, steps) = two_time_units(Order::Eight);
    println!("order 8: {blocks} {steps} {error:e}");
    assert!(error.abs() < 1e-10, "dE/E = {error:e}");
    assert!((1500..4000).contains(&blocks), "{blocks} block steps");
    assert!(steps < 250_000, "{steps} particle steps");
}

/// Two bodies of mass 1/2 with a semi-major axis of 1 at the apocentre; the period is 2π.
fn kepler(eccentricity: f64) -> Bodies {
    let (r, v) = (
        1.0 + eccentricity,
        ((1.0 - eccentricity) / (1.0 + eccentricity)).sqrt(),
    );
    Bodies::from_iter([
        (0.5, [r / 2.0, 0.0, 0.0], [0.0, v / 2.0, 0.0]),
        (0.5, [-r / 2.0, 0.0, 0.0], [0.0, -v / 2.0, 0.0]),
    ])
}

/// The distance from the start after one period, with steps of this length.
fn period_error(order: Order, step: f64) -> f64 {
    let bodies = kepler(0.5);
    // With a converged corrector, no error of the predictor remains that would steepen the slope.
    let mut cluster = cluster(constant(order, step, 3), &bodies);
    cluster.advance_to(2.0 * PI).unwrap();
    let stars = cluster.at(2.0 * PI).unwrap();
    stars[0].position().distance(bodies.position[0])
}

#[test]
fn the_error_of_an_eccentric_orbit_falls_with_the_order_of_the_scheme() {
    for (order, step) in [
        (Order::Four, 0.03125),
        (Order::Six, 0.03125),
        (Order::Eight, 0.0625),
    ] {
        let errors = [step, step / 2.0].map(|step| period_error(order, step));
        let slope = (errors[0] / errors[1]).log2();
        println!("order {order}: {errors:?}, slope {slope:.2}");
        assert!(
            (slope - f64::from(order.number())).abs() < 0.1,
            "order {order}: slope {slope:.2}"
        );
    }
}

#[test]
fn converged_correction_is_reversible_in_time() {
    for order in Order::ALL {
        let bodies = kepler(0.3);
        let spec = constant(order, 1.0 / 64.0, 30);
        let mut there = cluster(spec.clone(), &bodies);
        there.advance_to(4.0).unwrap();
        let mut turned = bodies_of(&there.at(4.0).unwrap());
        turned.velocity.iter_mut().for_each(|v| *v = -*v);
        let mut back = cluster(spec, &turned);
        back.advance_to(4.0).unwrap();
        let stars = back.at(4.0).unwrap();
        let error = stars[0].position().distance(bodies.position[0]);
        println!("order {order}: {error:e}");
        assert!(error < 1e-12, "order {order}: {error:e}");
    }
}

#[test]
fn burraus_three_bodies_agree_with_the_known_solution_to_eight_digits_at_time_20() {
    let rest = [0.0; 3];
    let bodies = Bodies::from_iter([
        (3.0, [1.0, 3.0, 0.0], rest),
        (4.0, [-2.0, -1.0, 0.0], rest),
        (5.0, [1.0, -1.0, 0.0], rest),
    ]);
    let spec = Specification {
        eta: 0.06,
        eta_start: 0.01,
        iterations: 3,
        ..Specification::new(Order::Eight)
    };
    let mut cluster = cluster(spec, &bodies);
    let energy = cluster.energy(0.0).unwrap().total();
    assert!((energy + 769.0 / 60.0).abs() < 1e-13);
    for (time, known) in [
        (10.0, [0.778480410138085493, 0.141392300290086169, 0.0]),
        (20.0, [3.004292636696399205, 0.511925235024685866, 0.0]),
    ] {
        cluster.advance_to(time).unwrap();
        let error = cluster.at(time).unwrap()[0]
            .position()
            .distance(DVec3::from(known));
        println!("t = {time}: {error:e}, {:?}", cluster.counters());
        assert!(error < 1e-8, "t = {time}: {error:e}");
    }
    let after = cluster.energy(20.0).unwrap().total();
    assert!(((after - energy) / energy).abs() < 1e-8);
}

#[test]
fn rounding_noise_of_high_derivatives_does_not_shorten_steps() {
    let bodies = kepler(0.5);
    for (eta, eta_start) in [(0.05, 0.01), (0.02, 0.002), (0.005, 0.0005)] {
        let spec = Specification {
            eta,
            eta_start,
            ..Specification::new(Order::Eight)
        };
        let mut cluster = cluster(spec, &bodies);
        let before = cluster.energy(0.0).unwrap().total();
        cluster.advance_to(4.0 * PI).unwrap();
        let error = (cluster.energy(4.0 * PI).unwrap().total() - before) / before;
        let counters = cluster.counters();
        println!("eta {eta}: {error:e}, {counters:?}");
        assert!(counters.steps < 100_000);
        assert!(error.abs() < 1e-12, "eta {eta}: {error:e}");
    }
    // Single precision has more rounding noise.
    let (mut spec, bodies) = plummer_run(Order::Eight);
    spec.precision = Precision::SplitF32;
    let mut cluster = cluster(spec, &bodies);
    let before = cluster.energy(0.0).unwrap().total();
    cluster.advance_to(0.5).unwrap();
    let error = (cluster.energy(0.5).unwrap().total() - before) / before;
    println!("split-f32: {error:e}, {:?}", cluster.counters());
    assert!(error.abs() < 1e-6, "{error:e}");
}

#[test]
fn the_figure_eight_closes_after_a_hundred_periods() {
    let v = [-0.932407371441052301548232, -0.864731460921005956374659];
    let r = [0.970004356697333439943497, -0.243087531535848861715740];
    let half = [-v[0] / 2.0, -v[1] / 2.0, 0.0];
    let bodies = Bodies::from_iter([
        (1.0, [r[0], r[1], 0.0], half),
        (1.0, [-r[0], -r[1], 0.0], half),
        (1.0, [0.0; 3], [v[0], v[1], 0.0]),
    ]);
    let spec = Specification {
        eta: 0.1,
        eta_start: 0.01,
        ..Specification::new(Order::Eight)
    };
    let mut cluster = cluster(spec, &bodies);
    let time = 100.0 * 6.325913982926211677589;
    cluster.advance_to(time).unwrap();
    let stars = cluster.at(time).unwrap();
    for (star, start) in stars.iter().zip(&bodies.position) {
        let error = star.position().distance(*start);
        println!("{error:e}");
        assert!(error < 1e-9, "{error:e}");
    }
    let energy = cluster.energy(time).unwrap().total();
    assert!((energy + 1.287141995631857705).abs() < 1e-11);
}

fn bits(cluster: &Cluster<'_>) -> Vec<u64> {
    (cluster.stars().iter())
        .flat_map(|s| {
            s.taylor
                .iter()
                .flat_map(|v| [v.x, v.y, v.z])
                .chain([s.time, s.step])
        })
        .map(f64::to_bits)
        .collect()
}

#[test]
fn threads_and_lanes_do_not_change_a_bit() {
    for order in Order::ALL {
        for n in [3, 17, 300] {
            let (mut spec, bodies) = plummer_run(order);
            if n == 17 {
                spec.softening = 0.0;
            }
            let start = validated(spec, &first(n, &bodies));
            let results: Vec<Vec<u64>> = (Simd::available().into_iter())
                .flat_map(|simd| [1, 3].map(|threads| (simd, threads)))
                .map(|(simd, threads)| {
                    let engine = CpuEngine::with_simd(Some(threads), simd).unwrap();
                    let mut cluster = Cluster::new(&start, Box::new(engine)).unwrap();
                    cluster.advance_to(0.25).unwrap();
                    let potentials = {
                        let stars = cluster.at(0.25).unwrap();
                        cluster.potentials(&stars).unwrap()
                    };
                    let mut all = bits(&cluster);
                    all.extend(potentials.iter().map(|p| p.to_bits()));
                    all
                })
                .collect();
            assert!(
                results.windows(2).all(|w| w[0] == w[1]),
                "order {order}, {n} bodies"
            );
        }
    }
}

#[test]
fn a_resumed_cluster_goes_on_to_the_same_bits() {
    let (spec, bodies) = plummer_run(Order::Six);
    let mut whole = cluster(spec, &first(200, &bodies));
    whole.advance_to(0.3).unwrap();
    let mut resumed = Cluster::resumed(
        whole.specification().clone(),
        whole.stars().to_vec(),
        Vec::new(),
        whole.time(),
        whole.counters().clone(),
        Box::new(CpuEngine::new(Some(1)).unwrap()),
    )
    .unwrap();
    whole.advance_to(0.6).unwrap();
    resumed.advance_to(0.6).unwrap();
    assert_eq!(bits(&whole), bits(&resumed));
    assert_eq!(whole.counters(), resumed.counters());
}

#[test]
fn snapshots_and_diagnostics_do_not_change_a_cluster() {
    let (spec, bodies) = plummer_run(Order::Four);
    let mut plain = cluster(spec.clone(), &first(100, &bodies));
    let mut watched = cluster(spec, &first(100, &bodies));
    plain.advance_to(0.5).unwrap();
    for k in 1..=10 {
        let time = 0.05 * f64::from(k);
        watched.advance_to(time).unwrap();
        watched.energy(time).unwrap();
    }
    assert_eq!(bits(&plain), bits(&watched));
}

#[test]
fn a_pair_in_free_fall_is_named() {
    let rest = [0.0; 3];
    let bodies = Bodies::from_iter([
        (1.0, [9.0, 0.0, 0.0], rest),
        (1.0, [0.001, 0.0, 0.0], rest),
        (1.0, [-0.001, 0.0, 0.0], rest),
    ]);
    let mut cluster = cluster(Specification::new(Order::Six), &bodies);
    match cluster.advance_to(1.0) {
        Err(HermiteError::StepTooSmall {
            body,
            neighbour,
            distance,
            ..
        }) => {
            assert_eq!(body + neighbour, 3);
            assert!(distance < 1e-6);
        }
        other => panic!("{other:?}"),
    }
}

/// Two bodies that meet head-on, a thousandth of a length unit apart, far from a third one.
fn head_on() -> Bodies {
    Bodies::from_iter([
        (1.0, [30.0, 0.0, 0.0], [0.0; 3]),
        (0.5, [0.05, 0.0005, 0.0], [-5.0, 0.0, 0.0]),
        (0.5, [-0.05, -0.0005, 0.0], [5.0, 0.0, 0.0]),
    ])
}

#[test]
fn a_step_across_a_head_on_encounter_is_reported_with_the_pair() {
    for order in Order::ALL {
        // The encounter is not visible at the start of the step, but it is at its end.
        let coarse = Specification {
            eta_start: 20.0,
            ..Specification::new(order)
        };
        let mut jumping = cluster(coarse, &head_on());
        jumping.step().unwrap();
        let worst = jumping.abrupt().expect("a warning");
        println!("order {order}: {worst:?}");
        assert_eq!(
            (
                worst.body.min(worst.neighbour),
                worst.body.max(worst.neighbour)
            ),
            (1, 2)
        );
        // The reported positions are those before the step, which crossed that distance.
        assert!((worst.distance - 0.1).abs() < 1e-4, "{worst:?}");
        assert!(worst.ratio >= 8.0, "{worst:?}");
        assert_eq!(jumping.counters().abrupt, 2);
        // Steps that resolve the passage give no warning and conserve the energy, which the long step does not.
        let energy = |cluster: &mut Cluster<'_>, time| cluster.energy(time).unwrap().total();
        let mut careful = cluster(Specification::new(order), &head_on());
        let before = energy(&mut careful, 0.0);
        careful.advance_to(0.0625).unwrap();
        let after = energy(&mut careful, 0.0625);
        assert_eq!((careful.abrupt(), careful.counters().abrupt), (None, 0));
        assert!(((after - before) / before).abs() < 1e-4);
        let time = jumping.time();
        let jumped = energy(&mut jumping, time);
        println!(
            "{:e} {:e}",
            (after - before) / before,
            (jumped - before) / before
        );
        assert!(((jumped - before) / before).abs() > 1e-2);
    }
}

#[test]
fn the_shortest_step_is_enforced_and_counted() {
    let min = 1.0 / 256.0;
    let (mut spec, bodies) = plummer_run(Order::Four);
    spec.min_step = Some(min);
    let mut cluster = cluster(spec, &first(300, &bodies));
    cluster.advance_to(0.25).unwrap();
    assert!(cluster.stars().iter().all(|s| s.step >= min));
    assert!(cluster.counters().clamped > 0);
}

#[test]
fn a_single_body_moves_straight_on() {
    let bodies = Bodies::from_iter([(1.0, [1.0, 2.0, 3.0], [0.5, 0.0, -1.0])]);
    for order in Order::ALL {
        let mut cluster = cluster(Specification::new(order), &bodies);
        cluster.advance_to(2.0).unwrap();
        assert_eq!(
            cluster.at(2.0).unwrap()[0].position(),
            DVec3::new(2.0, 2.0, 1.0)
        );
    }
}
