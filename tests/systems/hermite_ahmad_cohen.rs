//! The Ahmad–Cohen scheme conserves energy like the plain scheme with fewer regular steps, loses no neighbour, and has the same
//! bits everywhere and after resuming.

use trisolar::bodies::{Bodies, Model};
use trisolar::hermite::{
    AhmadCohen, Cluster, CpuEngine, Engine, Lists, Order, Specification, emulator,
};

fn specification(n: usize, neighbours: u32) -> Specification {
    Specification {
        softening: 4.0 / n as f64,
        ahmad_cohen: Some(AhmadCohen {
            neighbours,
            ..AhmadCohen::new(n)
        }),
        ..Specification::new(Order::Four)
    }
}

fn cluster(spec: &Specification, bodies: &Bodies, engine: Box<dyn Engine>) -> Cluster<'static> {
    let start = spec.clone().validate(bodies.clone()).unwrap();
    Cluster::new(&start, engine).unwrap()
}

fn cpu(threads: usize) -> Box<dyn Engine> {
    Box::new(CpuEngine::new(Some(threads)).unwrap())
}

fn bits(cluster: &Cluster<'_>) -> Vec<u64> {
    (cluster.stars().iter())
        .flat_map(|s| {
            let numbers = s.taylor[..4].iter().flat_map(|v| [v.x, v.y, v.z]);
            numbers.chain([s.time, s.step])
        })
        .map(f64::to_bits)
        .collect()
}

#[test]
fn energy_is_conserved_like_in_the_plain_scheme_with_fewer_full_sums() {
    let bodies = Model::Plummer.build(Some(512), 3, 1.0, 3).unwrap();
    let spec = specification(512, 30);
    let plain = Specification {
        ahmad_cohen: None,
        ..spec.clone()
    };
    let errors = [&plain, &spec].map(|spec| {
        let mut cluster = cluster(spec, &bodies, cpu(1));
        let before = cluster.energy(0.0).unwrap().total();
        cluster.advance_to(1.0).unwrap();
        let after = cluster.energy(1.0).unwrap().total();
        let counters = cluster.counters().clone();
        println!("{counters:?}");
        (((after - before) / before).abs(), counters)
    });
    println!("{:e} {:e}", errors[0].0, errors[1].0);
    assert!(errors[0].0 < 1e-7, "plain: {:e}", errors[0].0);
    assert!(errors[1].0 < 1e-6, "Ahmad–Cohen: {:e}", errors[1].0);
    let (plain, split) = (&errors[0].1, &errors[1].1);
    assert!(split.regular_steps * 2 < plain.steps);
    let mean = split.irregular_pairs as f64 / (split.steps + split.regular_steps) as f64;
    assert!((15.0..60.0).contains(&mean), "{mean} neighbours");
}

#[test]
fn smaller_steps_make_a_smaller_error() {
    let bodies = Model::Plummer.build(Some(128), 5, 1.0, 3).unwrap();
    let error = |eta: f64| {
        let mut spec = specification(128, 20);
        spec.eta = eta;
        spec.ahmad_cohen.as_mut().unwrap().eta_regular = eta;
        let mut cluster = cluster(&spec, &bodies, cpu(1));
        let before = cluster.energy(0.0).unwrap().total();
        cluster.advance_to(0.5).unwrap();
        ((cluster.energy(0.5).unwrap().total() - before) / before).abs()
    };
    let (coarse, fine) = (error(0.2), error(0.05));
    println!("{coarse:e} {fine:e}");
    assert!(fine < 0.1 * coarse, "{coarse:e} {fine:e}");
}

#[test]
fn the_kernels_give_the_bits_of_the_cpu_engine() {
    let bodies = Model::King { w0: 5.0 }.build(Some(160), 2, 1.0, 3).unwrap();
    let spec = specification(160, 12);
    let run = |engine| {
        let mut cluster = cluster(&spec, &bodies, engine);
        cluster.advance_to(0.02).unwrap();
        assert!(cluster.counters().regular_steps > 0);
        (bits(&cluster), cluster.parts().to_vec())
    };
    let expected = run(cpu(1));
    assert!(expected == run(cpu(3)));
    assert!(expected == run(emulator(1, 1000, 64, None)));
    assert!(expected == run(emulator(2, 10, 32, Some(4))));
}

#[test]
fn a_resumed_run_goes_on_to_the_same_bits() {
    let bodies = Model::Plummer.build(Some(200), 1, 1.0, 3).unwrap();
    let mut whole = cluster(&specification(200, 14), &bodies, cpu(1));
    whole.advance_to(0.1).unwrap();
    // The checkpoint is in the middle of regular steps.
    assert!(whole.parts().iter().any(|p| p.time < whole.time()));
    let mut resumed = Cluster::resumed(
        whole.specification().clone(),
        whole.stars().to_vec(),
        whole.parts().to_vec(),
        whole.time(),
        whole.counters().clone(),
        cpu(2),
    )
    .unwrap();
    whole.advance_to(0.2).unwrap();
    resumed.advance_to(0.2).unwrap();
    assert!(bits(&whole) == bits(&resumed));
    assert_eq!(whole.counters(), resumed.counters());
    assert_eq!(whole.parts(), resumed.parts());
}

#[test]
fn a_list_that_does_not_fit_says_so_and_is_taken_again() {
    // Every body has 300 bodies within its radius.
    let mut bodies = Model::Plummer.build(Some(300), 1, 1.0, 3).unwrap();
    let spec = Specification {
        softening: 0.1,
        ahmad_cohen: Some(AhmadCohen {
            neighbours: 3,
            ..AhmadCohen::new(300)
        }),
        ..Specification::new(Order::Four)
    };
    let capacity = spec.ahmad_cohen.unwrap().capacity();
    assert!(capacity < 299);
    for engine in [cpu(1), emulator(1, 0, 64, None)] {
        let mut engine = engine;
        let start = spec.clone().validate(bodies.clone()).unwrap();
        let stars = Cluster::new(&start, cpu(1)).unwrap().stars().to_vec();
        engine.load(&spec, &stars).unwrap();
        engine.predict(0.0).unwrap();
        let mut lists = Lists::default();
        engine
            .neighbours(&[0, 7], &[1e6, 0.0], capacity, &mut lists)
            .unwrap();
        assert_eq!(lists.lengths, [299, 0]);
        assert_eq!(lists.get(0), None);
        assert_eq!(lists.get(1), Some(&[][..]));
        engine
            .neighbours(&[0, 7], &[1e6, 0.0], 512, &mut lists)
            .unwrap();
        assert_eq!(lists.get(0).unwrap(), (1..300).collect::<Vec<u32>>());
    }
    // A dense group in the middle of a wide cluster, where radii that suit the cluster contain far too many bodies.
    bodies.position[..200].iter_mut().for_each(|x| *x *= 1e-3);
    bodies.velocity[..200].iter_mut().for_each(|v| *v *= 0.1);
    let mut crowded = cluster(&spec, &bodies, cpu(1));
    assert!(
        crowded
            .parts()
            .iter()
            .all(|p| p.neighbours.len() <= capacity)
    );
    let before = crowded.energy(0.0).unwrap().total();
    crowded.advance_to(0.25).unwrap();
    assert!(
        crowded
            .parts()
            .iter()
            .all(|p| p.neighbours.len() <= capacity)
    );
    let error = (crowded.energy(0.25).unwrap().total() - before) / before;
    println!("{error:e} {:?}", crowded.counters().overflows);
    assert!(crowded.counters().overflows > 0);
    assert!(error.abs() < 1e-7, "{error:e}");
}

#[test]
fn everybody_a_neighbour_leaves_a_regular_force_of_rounding_which_is_not_followed() {
    let bodies = Model::Plummer.build(Some(20), 1, 1.0, 3).unwrap();
    let mut spec = specification(20, 30);
    spec.softening = 0.1;
    let mut cluster = cluster(&spec, &bodies, cpu(1));
    let before = cluster.energy(0.0).unwrap().total();
    cluster.advance_to(2.0).unwrap();
    let counters = cluster.counters();
    println!("{counters:?}");
    assert!(counters.steps < 20_000 && counters.regular_steps < 5_000);
    let error = (cluster.energy(2.0).unwrap().total() - before) / before;
    assert!(error.abs() < 1e-6, "{error:e}");
}
