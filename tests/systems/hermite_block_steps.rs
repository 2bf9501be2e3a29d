//! Whole block steps on the device, under the emulator: bits, counts, warnings and errors equal the host's.

use trisolar::divergence::Backend;
use trisolar::hermite::{
    AhmadCohen, BlockStep, BlockSteps, Cluster, Counters, CpuEngine, Engine, HermiteError, Options,
    Order, Precision, Scheme, Specification, Star, emulator, resident_emulator,
};
use trisolar::nbody::{Bodies, Model};

fn cpu() -> Box<dyn Engine> {
    Box::new(CpuEngine::new(Some(1)).unwrap())
}

fn by_host(spec: &Specification, bodies: &Bodies) -> Cluster<'static> {
    let start = spec.clone().validate(bodies.clone()).unwrap();
    Cluster::new(&start, cpu()).unwrap()
}

fn by_device(spec: &Specification, bodies: &Bodies, engine: Box<dyn Engine>) -> Cluster<'static> {
    let start = spec.clone().validate(bodies.clone()).unwrap();
    let mut cluster = Cluster::new(&start, engine).unwrap();
    cluster.set_block_steps(BlockSteps::Device).unwrap();
    cluster
}

/// All data of a checkpoint.
fn state(cluster: &Cluster<'_>) -> (Vec<u64>, String) {
    let numbers = cluster.stars().iter().flat_map(|s| {
        let vectors = s.taylor.iter().flat_map(|v| [v.x, v.y, v.z]);
        vectors.chain([s.mass, s.time, s.step])
    });
    let rest = format!(
        "{} {} {:?} {:?}",
        cluster.time(),
        cluster.next_time(),
        cluster.counters(),
        cluster.abrupt()
    );
    (numbers.map(f64::to_bits).collect(), rest)
}

fn assert_same(a: &Cluster<'_>, b: &Cluster<'_>, what: &str) {
    let (a, b) = (state(a), state(b));
    assert_eq!(a.1, b.1, "{what}");
    assert!(a.0 == b.0, "{what}: the bits differ");
}

/// The time of a block.
fn time_after(blocks: usize, spec: &Specification, bodies: &Bodies) -> f64 {
    let mut cluster = by_host(spec, bodies);
    for _ in 0..blocks {
        cluster.step().unwrap();
    }
    cluster.time()
}

#[test]
fn the_device_takes_the_same_block_steps_as_the_host() {
    for order in Order::ALL {
        for precision in Precision::ALL {
            for (n, softening, blocks) in [(3, 0.0, 40), (150, 0.02, 8)] {
                let spec = Specification {
                    softening,
                    precision,
                    ..Specification::new(order)
                };
                let bodies = Model::Plummer.build(Some(n), 3, 1.0, 3).unwrap();
                let time = time_after(blocks, &spec, &bodies);
                let mut host = by_host(&spec, &bodies);
                host.advance_to(time).unwrap();
                assert!(host.counters().blocks >= blocks as u64);
                // The first three cases use the kernel for small systems, and the fourth and sixth that which divides the particles among its blocks (with
                // three particles that for small systems). The others use the general kernel: one block per active particle, chains, and a switch between
                // the two. In some cases, the devices leave block steps with 2000 pairs or more to the force kernel.
                for (devices, grid, few, many, block, seed) in [
                    (1, 1, 1000, u64::MAX, 32, None),
                    (1, 3, 1, u64::MAX, 32, Some(5)),
                    (1, 40, 1, u64::MAX, 32, Some(6)),
                    (1, 2, 1000, 10_000, 32, None),
                    (1, 2, 0, u64::MAX, 64, Some(7)),
                    (1, 3, 20, 2000, 32, Some(8)),
                    (2, 1, 20, u64::MAX, 32, None),
                    (3, 2, 0, 2000, 64, Some(9)),
                ] {
                    let engine = resident_emulator(devices, grid, few, many, block, seed);
                    let mut device = by_device(&spec, &bodies, engine);
                    device.advance_to(time).unwrap();
                    let what = format!(
                        "order {order}, {precision}, {n} bodies, {devices} x {grid} blocks"
                    );
                    assert_same(&host, &device, &what);
                    let energies = [&mut host, &mut device].map(|c| c.energy(time).unwrap());
                    assert_eq!(energies[0], energies[1], "{what}");
                }
            }
        }
    }
}

#[test]
fn blocks_with_a_part_of_the_stars_step_few_and_many_active_bodies_with_the_same_bits() {
    // Without softening, the pull of a body on itself takes the slow path of r⁻³.
    for (order, n, softening) in [
        (Order::Four, 60, 0.01),
        (Order::Four, 60, 0.0),
        (Order::Six, 37, 0.01),
        (Order::Eight, 25, 0.01),
    ] {
        let spec = Specification {
            softening,
            ..Specification::new(order)
        };
        let bodies = Model::Plummer.build(Some(n), 4, 1.0, 3).unwrap();
        let time = time_after(150, &spec, &bodies);
        let mut host = by_host(&spec, &bodies);
        host.advance_to(time).unwrap();
        let active = &host.counters().active;
        assert!(active[..4].iter().all(|n| *n > 0), "{active:?}");
        for (grid, many, seed) in [(4, u64::MAX, None), (2, 700, Some(11))] {
            let engine = resident_emulator(1, grid, 0, many, 32, seed);
            let mut device = by_device(&spec, &bodies, engine);
            device.advance_to(time).unwrap();
            assert_same(&host, &device, &format!("order {order}, {grid} blocks"));
        }
    }
}

#[test]
fn a_block_step_that_the_host_repeats_leaves_the_steps_before_it() {
    // The first steps of a close pair are so long that the host has to repeat some of the first block steps.
    for order in Order::ALL {
        let spec = Specification {
            eta: 0.2,
            eta_start: 3.0,
            ..Specification::new(order)
        };
        let bodies = Model::Plummer.build(Some(30), 7, 1.0, 3).unwrap();
        let time = 0.0625;
        let mut host = by_host(&spec, &bodies);
        host.advance_to(time).unwrap();
        // The kernels for small systems, for particles that are divided among blocks, and for any system.
        for (few, many) in [(10, u64::MAX), (10, 30 * 30), (0, u64::MAX)] {
            let engine = resident_emulator(1, 4, few, many, 32, None);
            let mut device = by_device(&spec, &bodies, engine);
            let mut launches = 0;
            let mut count = |_| {
                launches += 1;
                true
            };
            device.advance(time, &mut count).unwrap();
            assert!(launches > 1, "order {order}: the host takes no block step");
            assert_same(&host, &device, &format!("order {order}, {few} {many}"));
        }
    }
}

#[test]
fn repeated_correction_and_large_systems_give_the_same_bits_as_well() {
    let spec = Specification {
        iterations: 3,
        ..Specification::new(Order::Six)
    };
    let bodies = Model::Plummer.build(Some(40), 1, 1.0, 3).unwrap();
    let time = time_after(10, &spec, &bodies);
    let mut host = by_host(&spec, &bodies);
    host.advance_to(time).unwrap();
    for (devices, few, many) in [
        (1, 0, u64::MAX),
        (1, 1000, 100),
        (2, 0, 100),
        (3, 1000, u64::MAX),
    ] {
        let engine = resident_emulator(devices, 2, few, many, 32, None);
        let mut device = by_device(&spec, &bodies, engine);
        device.advance_to(time).unwrap();
        assert_same(&host, &device, "three iterations");
    }
    // The system has 128 partial sums.
    let spec = Specification {
        softening: 0.01,
        ..Specification::new(Order::Four)
    };
    let bodies = Model::Plummer.build(Some(1030), 1, 1.0, 3).unwrap();
    let time = time_after(3, &spec, &bodies);
    let mut host = by_host(&spec, &bodies);
    host.advance_to(time).unwrap();
    let mut device = by_device(
        &spec,
        &bodies,
        resident_emulator(1, 2, 100, u64::MAX, 128, None),
    );
    device.advance_to(time).unwrap();
    assert_same(&host, &device, "1030 bodies");
}

#[test]
fn block_steps_with_more_than_128_partial_sums_have_the_same_bits() {
    // The system has 256 partial sums. Most particles have steps too long to be due.
    let n = 8200;
    for order in Order::ALL {
        let spec = Specification {
            softening: 0.01,
            ..Specification::new(order)
        };
        let bodies = Model::Plummer.build(Some(n), 1, 1.0, 3).unwrap();
        let mut stars = Star::of(&bodies);
        for (place, star) in stars.iter_mut().enumerate() {
            star.step = match place % 400 {
                7 => 1.0 / 4096.0,
                9 => 1.0 / 2048.0,
                _ => 1.0 / 32.0,
            };
        }
        let resumed = |engine| {
            let none = Counters::default();
            Cluster::resumed(spec.clone(), stars.clone(), Vec::new(), 0.0, none, engine).unwrap()
        };
        let mut host = resumed(cpu());
        host.advance_to(2.0 / 4096.0).unwrap();
        assert!(host.counters().blocks >= 2 && host.counters().steps < 300);
        for (devices, grid, many, block) in [
            (1, 2, u64::MAX, 128),
            (1, 3, 200_000, 64),
            (2, 2, u64::MAX, 64),
            (2, 2, 1, 64),
        ] {
            let engine = resident_emulator(devices, grid, 0, many, block, Some(5));
            let mut device = resumed(engine);
            device.set_block_steps(BlockSteps::Device).unwrap();
            device.advance_to(2.0 / 4096.0).unwrap();
            assert_same(
                &host,
                &device,
                &format!("order {order}, {devices} x {grid} blocks"),
            );
        }
    }
}

#[test]
fn long_runs_with_several_launches_and_snapshots_end_in_the_same_state() {
    let spec = Specification {
        eta: 0.06,
        eta_start: 0.01,
        ..Specification::new(Order::Eight)
    };
    let bodies = Model::Burrau.build(None, 1, 1.0, 3).unwrap();
    let mut host = by_host(&spec, &bodies);
    let mut device = by_device(&spec, &bodies, emulator(1, 10, 32, None));
    let mut asked = 0;
    for time in [1.0, 1.3, 2.5] {
        host.advance_to(time).unwrap();
        let reached = device.advance(time, &mut |_| {
            asked += 1;
            true
        });
        assert!(reached.unwrap());
        assert_same(&host, &device, "Burrau's problem");
        let [a, b] = [&mut host, &mut device].map(|c| c.energy(time).unwrap());
        assert_eq!(a, b);
    }
    assert!(host.counters().blocks > 1100, "{:?}", host.counters());
    // There is more than one launch, but far fewer launches than blocks.
    assert!((1..20).contains(&asked), "{asked}");
    // The callback can stop the run, with the particles as they are at that time.
    assert!(!device.advance(20.0, &mut |_| false).unwrap());
    let time = device.time();
    assert!(time > 2.5 && time < 20.0);
    host.advance_to(time).unwrap();
    assert_same(&host, &device, "stopped early");
    // The host takes one block in between.
    host.step().unwrap();
    device.step().unwrap();
    let time = time + 0.1;
    host.advance_to(time).unwrap();
    device.advance_to(time).unwrap();
    assert_same(&host, &device, "after a block by the host");
}

#[test]
fn warnings_and_errors_equal_the_hosts() {
    // A step across a head-on encounter.
    let bodies = Bodies::from_iter([
        (1.0, [30.0, 0.0, 0.0], [0.0; 3]),
        (0.5, [0.05, 0.0005, 0.0], [-5.0, 0.0, 0.0]),
        (0.5, [-0.05, -0.0005, 0.0], [5.0, 0.0, 0.0]),
    ]);
    let coarse = Specification {
        eta_start: 20.0,
        ..Specification::new(Order::Six)
    };
    let mut host = by_host(&coarse, &bodies);
    host.advance_to(0.1).unwrap();
    assert!(host.abrupt().is_some());
    for devices in [1, 2] {
        let mut device = by_device(&coarse, &bodies, emulator(devices, 10, 32, None));
        device.advance_to(0.1).unwrap();
        assert_same(&host, &device, "a jump");
    }

    // For a pair in free fall, the error names the step, the pair and their distance.
    let bodies = Bodies::from_iter([
        (1.0, [9.0, 0.0, 0.0], [0.0; 3]),
        (1.0, [0.001, 0.0, 0.0], [0.0; 3]),
        (1.0, [-0.001, 0.0, 0.0], [0.0; 3]),
    ]);
    let spec = Specification::new(Order::Six);
    let told = |cluster: &mut Cluster<'_>| cluster.advance_to(1.0).unwrap_err();
    let errors = [
        told(&mut by_host(&spec, &bodies)),
        told(&mut by_device(&spec, &bodies, emulator(1, 10, 32, None))),
    ];
    assert!(matches!(errors[0], HermiteError::StepTooSmall { .. }));
    assert_eq!(errors[0].to_string(), errors[1].to_string());

    // A shortest step is set, and its uses are counted.
    let spec = Specification {
        softening: 0.01,
        min_step: Some(1.0 / 256.0),
        ..Specification::new(Order::Four)
    };
    let bodies = Model::Plummer.build(Some(100), 2, 1.0, 3).unwrap();
    let mut host = by_host(&spec, &bodies);
    host.advance_to(0.0625).unwrap();
    assert!(host.counters().clamped > 0);
    for devices in [1, 2] {
        let mut device = by_device(&spec, &bodies, emulator(devices, 10, 32, None));
        device.advance_to(0.0625).unwrap();
        assert_same(&host, &device, "a shortest step");
    }
}

#[test]
fn engines_without_block_steps_say_why() {
    let refused = |spec: &Specification, engine: Box<dyn Engine>| {
        let start = spec
            .clone()
            .validate(Model::Plummer.build(Some(50), 1, 1.0, 3).unwrap());
        let mut cluster = Cluster::new(&start.unwrap(), engine).unwrap();
        let error = cluster.set_block_steps(BlockSteps::Device).unwrap_err();
        assert_eq!(cluster.block_steps(), BlockSteps::Host);
        error.to_string()
    };
    let mut spec = Specification::new(Order::Four);
    assert!(refused(&spec, cpu()).contains("does not perform whole block steps"));
    let many = emulator(17, 10, 32, None);
    assert!(refused(&spec, many).contains("at most 16 devices"));
    spec.ahmad_cohen = Some(AhmadCohen::new(50));
    assert!(refused(&spec, cpu()).contains("does not perform whole block steps"));
    let two = refused(&spec, emulator(2, 10, 32, None));
    assert!(
        two.contains("Ahmad–Cohen scheme need a single device"),
        "{two}"
    );
}

#[test]
fn auto_selects_the_device_wherever_possible() {
    let mut spec = Specification::new(Order::Four);
    let devices = Options::default().open(&spec, 50).unwrap();
    assert!(devices.notes().is_empty());
    assert_eq!(devices.engine().unwrap().name(), "cpu");
    let chosen =
        |spec: &Specification, engine: Box<dyn Engine>| devices.block_steps(engine.as_ref(), spec);
    assert_eq!(chosen(&spec, cpu()), BlockSteps::Host);
    assert_eq!(chosen(&spec, emulator(1, 10, 32, None)), BlockSteps::Device);
    assert_eq!(chosen(&spec, emulator(2, 10, 32, None)), BlockSteps::Device);
    spec.ahmad_cohen = Some(AhmadCohen::new(50));
    assert_eq!(chosen(&spec, emulator(1, 10, 32, None)), BlockSteps::Device);
    assert_eq!(chosen(&spec, emulator(2, 10, 32, None)), BlockSteps::Host);
}

#[test]
fn invalid_combinations_say_what_is_required() {
    let refused = |backend, gpus, block_step: &str, scheme| {
        let options = Options {
            backend,
            gpus,
            block_step: block_step.parse().unwrap(),
            ..Options::default()
        };
        options.check(scheme).map_err(|error| error.to_string())
    };
    let message = |text: &str| Err(text.to_owned());
    for backend in [Backend::Auto, Backend::Cpu] {
        assert_eq!(
            refused(backend, Some(2), "auto", None),
            message("--gpus 2: more than 1 needs --backend gpu")
        );
        assert_eq!(
            refused(backend, None, "device", None),
            message("--block-step device: needs --backend gpu")
        );
    }
    let gpu = Backend::Gpu;
    assert_eq!(refused(gpu, Some(2), "device", None), Ok(()));
    let neighbours = Some(Scheme::AhmadCohen);
    assert_eq!(
        refused(gpu, Some(2), "device", neighbours),
        message("--block-step device: needs --gpus 1 with --scheme ahmad-cohen")
    );
    assert_eq!(refused(gpu, None, "device", neighbours), Ok(()));
    assert_eq!(refused(gpu, Some(2), "auto", neighbours), Ok(()));
    assert_eq!(refused(gpu, Some(1), "device", Some(Scheme::Plain)), Ok(()));
    let unknown = "gpu".parse::<BlockStep>();
    assert_eq!(unknown.unwrap_err(), "must be auto, host or device");
}
