//! The Ahmad–Cohen scheme conserves energy like the plain scheme with fewer regular steps, loses no neighbour, and has the same
//! bits everywhere and after resuming.

use trisolar::bodies::{Bodies, Model};
use trisolar::hermite::{
    AhmadCohen, BlockSteps, Cluster, CpuEngine, Engine, Lists, Order, Precision, Specification,
    emulator, resident_emulator,
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

/// Everything that a checkpoint has, and the energy.
fn state(cluster: &mut Cluster<'_>) -> String {
    let time = cluster.time();
    let energy = cluster.energy(time).unwrap();
    format!(
        "{time} {} {:?} {:?} {:?} {energy:?}",
        cluster.next_time(),
        cluster.counters(),
        cluster.abrupt(),
        cluster.parts()
    )
}

fn assert_same(a: &mut Cluster<'_>, b: &mut Cluster<'_>, what: &str) {
    let (left, right) = (state(a), state(b));
    assert!(left == right, "{what}:\n{left:.400}\n{right:.400}");
    assert!(bits(a) == bits(b), "{what}: the bits differ");
}

/// A cluster whose block steps the device performs.
fn by_device(spec: &Specification, bodies: &Bodies, engine: Box<dyn Engine>) -> Cluster<'static> {
    let mut cluster = cluster(spec, bodies, engine);
    cluster.set_block_steps(BlockSteps::Device).unwrap();
    cluster
}

#[test]
fn the_device_takes_the_same_block_steps_as_the_host() {
    for precision in Precision::ALL {
        // A list of 300 neighbours has 32 partial sums. The last lists overflow.
        for (n, neighbours, scale, end) in [
            (3, 2, 1.0, 0.25),
            (160, 12, 1.0, 0.03),
            (420, 300, 1.0, 0.0),
            (160, 3, 1e-3, 0.03),
        ] {
            let mut bodies = Model::Plummer.build(Some(n), 2, 1.0, 3).unwrap();
            bodies.position[..n / 2]
                .iter_mut()
                .for_each(|x| *x *= scale);
            bodies.velocity[..n / 2]
                .iter_mut()
                .for_each(|v| *v *= f64::sqrt(scale));
            let spec = Specification {
                precision,
                softening: 0.05,
                ..specification(n, neighbours)
            };
            let mut host = cluster(&spec, &bodies, cpu(1));
            host.advance_to(end).unwrap();
            while host.counters().regular_steps == 0 || host.counters().blocks < 4 {
                host.step().unwrap();
            }
            let counters = host.counters().clone();
            println!("{counters:?}");
            assert!((counters.overflows > 0) == (scale < 1.0));
            let end = host.time();
            for (grid, block, seed) in [(1, 32, None), (3, 64, Some(7))] {
                let engine = resident_emulator(1, grid, 0, 1, block, seed);
                let mut device = by_device(&spec, &bodies, engine);
                device.advance_to(end).unwrap();
                let what = format!("{precision}, {n} bodies, {grid} blocks of {block}");
                assert_same(&mut host, &mut device, &what);
            }
        }
    }
}

#[test]
fn host_and_device_take_turns() {
    let bodies = Model::King { w0: 5.0 }.build(Some(100), 2, 1.0, 3).unwrap();
    let spec = specification(100, 12);
    let mut host = cluster(&spec, &bodies, cpu(1));
    let mut device = by_device(&spec, &bodies, resident_emulator(1, 2, 0, 1, 32, None));
    for end in [0.02, 0.03, 0.05] {
        host.advance_to(end).unwrap();
        device.advance_to(end).unwrap();
        assert_same(&mut host, &mut device, "to a time");
        host.step().unwrap();
        device.step().unwrap();
        assert_same(&mut host, &mut device, "a block by the host");
    }
    // A resumed run starts from the parts of the checkpoint.
    let mut resumed = Cluster::resumed(
        spec,
        device.stars().to_vec(),
        device.parts().to_vec(),
        device.time(),
        device.counters().clone(),
        resident_emulator(1, 2, 0, 1, 32, None),
    )
    .unwrap();
    resumed.set_block_steps(BlockSteps::Device).unwrap();
    host.advance_to(0.07).unwrap();
    resumed.advance_to(0.07).unwrap();
    assert_same(&mut host, &mut resumed, "resumed");
}

#[test]
fn steps_that_are_too_short_or_jump_are_counted_as_on_the_host() {
    let bodies = Model::Plummer.build(Some(100), 2, 1.0, 3).unwrap();
    let forced = Specification {
        min_step: Some(1.0 / 256.0),
        ..specification(100, 12)
    };
    let mut host = cluster(&forced, &bodies, cpu(1));
    host.advance_to(0.0625).unwrap();
    assert!(host.counters().clamped > 0);
    let mut device = by_device(&forced, &bodies, emulator(1, 10, 32, None));
    device.advance_to(0.0625).unwrap();
    assert_same(&mut host, &mut device, "a shortest step");

    // The host performs a step across a head-on encounter.
    let pair = Bodies::from_iter([
        (1.0, [30.0, 0.0, 0.0], [0.0; 3]),
        (0.5, [0.05, 0.0005, 0.0], [-5.0, 0.0, 0.0]),
        (0.5, [-0.05, -0.0005, 0.0], [5.0, 0.0, 0.0]),
    ]);
    let coarse = Specification {
        softening: 0.0,
        eta_start: 20.0,
        ..specification(3, 2)
    };
    let mut host = cluster(&coarse, &pair, cpu(1));
    host.advance_to(0.1).unwrap();
    assert!(host.abrupt().is_some());
    let mut device = by_device(&coarse, &pair, emulator(1, 10, 32, None));
    device.advance_to(0.1).unwrap();
    assert_same(&mut host, &mut device, "a jump");
}

#[test]
fn large_systems_on_the_device_have_the_bits_of_the_host() {
    // 256 partial sums; the device sums the forces of as many blocks as are due first.
    let n = 8200;
    let bodies = Model::Plummer.build(Some(n), 1, 1.0, 3).unwrap();
    let spec = specification(n, 20);
    let start = cluster(&spec, &bodies, cpu(2));
    // All but some particles wait.
    let mut stars = start.stars().to_vec();
    let mut parts = start.parts().to_vec();
    for (place, (star, parts)) in stars.iter_mut().zip(&mut parts).enumerate() {
        (star.step, parts.step) = match place % 400 {
            7 => (1.0 / 8192.0, 1.0 / 4096.0),
            9 => (1.0 / 4096.0, 1.0 / 4096.0),
            _ => (1.0 / 32.0, 1.0 / 32.0),
        };
    }
    let run = |engine: Box<dyn Engine>, by| {
        let counters = start.counters().clone();
        let mut cluster = Cluster::resumed(
            spec.clone(),
            stars.clone(),
            parts.clone(),
            0.0,
            counters,
            engine,
        )
        .unwrap();
        cluster.set_block_steps(by).unwrap();
        cluster.advance_to(3.0 / 8192.0).unwrap();
        cluster
    };
    let mut host = run(cpu(2), BlockSteps::Host);
    assert!(host.counters().regular_steps > 20 && host.counters().steps < 400);
    let engine = resident_emulator(1, 3, 0, 1, 64, Some(5));
    let mut device = run(engine, BlockSteps::Device);
    assert_same(&mut host, &mut device, "3 blocks");
}
