//! The Hermite kernels under the emulator have the same bits as the CPU engine, whatever the grid.

use kernels_gpu::Vec3;
use trisolar::hermite::{
    Cluster, CpuEngine, Engine, Order, Precision, Specification, Star, emulator,
};
use trisolar::nbody::{Bodies, Model};
use trisolar::simd::Simd;

fn bodies(n: usize) -> Bodies {
    Model::Plummer.build(Some(n), 5, 1.0, 3).unwrap()
}

/// The state after some blocks, and the potentials.
fn run(spec: &Specification, n: usize, blocks: usize, engine: Box<dyn Engine>) -> Vec<u64> {
    let start = spec.clone().validate(bodies(n)).unwrap();
    let mut cluster = Cluster::new(&start, engine).unwrap();
    for _ in 0..blocks {
        cluster.step().unwrap();
    }
    let time = cluster.time();
    let stars = cluster.at(time).unwrap();
    let potentials = cluster.potentials(&stars).unwrap();
    let numbers = stars
        .iter()
        .flat_map(|s| s.taylor.iter().flat_map(|v| [v.x, v.y, v.z]));
    numbers.chain(potentials).map(f64::to_bits).collect()
}

#[test]
fn the_kernels_give_the_bits_of_the_cpu_engine() {
    for order in Order::ALL {
        for precision in Precision::ALL {
            for (n, softening) in [(3, 0.0), (150, 0.02)] {
                let spec = Specification {
                    softening,
                    precision,
                    ..Specification::new(order)
                };
                let cpu = run(&spec, n, 6, Box::new(CpuEngine::new(Some(1)).unwrap()));
                // The cases use one block per active particle, tiles, and a switch between the two.
                for (few, block, seed) in [(1000, 32, None), (0, 64, Some(7)), (20, 32, Some(8))] {
                    let emulated = run(&spec, n, 6, emulator(1, few, block, seed));
                    assert!(
                        cpu == emulated,
                        "order {order}, {precision}, {n} bodies, few up to {few}, {block} threads"
                    );
                }
            }
        }
    }
}

#[test]
fn several_devices_give_the_same_bits() {
    for (order, precision) in [
        (Order::Six, Precision::F64),
        (Order::Eight, Precision::SplitF32),
    ] {
        let spec = Specification {
            softening: 0.02,
            precision,
            ..Specification::new(order)
        };
        let cpu = run(&spec, 200, 4, Box::new(CpuEngine::new(Some(1)).unwrap()));
        // Some cases have more devices than partial sums.
        for devices in [2, 3, 4, 17] {
            for few in [0, 1000] {
                let emulated = run(&spec, 200, 4, emulator(devices, few, 32, None));
                assert!(cpu == emulated, "{devices} devices, few up to {few}");
            }
        }
    }
}

#[test]
fn repeated_correction_and_large_systems_give_the_same_bits_as_well() {
    let spec = Specification {
        iterations: 2,
        ..Specification::new(Order::Six)
    };
    let cpu = run(&spec, 40, 3, Box::new(CpuEngine::new(Some(1)).unwrap()));
    assert!(cpu == run(&spec, 40, 3, emulator(1, 0, 32, None)));
    // The system has 128 partial sums.
    let spec = Specification {
        softening: 0.01,
        ..Specification::new(Order::Four)
    };
    let cpu = run(&spec, 1030, 1, Box::new(CpuEngine::new(Some(1)).unwrap()));
    assert!(cpu == run(&spec, 1030, 1, emulator(1, 0, 128, None)));
    assert!(cpu == run(&spec, 1030, 1, emulator(1, 2000, 64, None)));
}

/// Forces on some particles, and the potentials at the first particles, as bits.
fn forces_on(
    spec: &Specification,
    stars: &[Star],
    places: &[u32],
    mut engine: Box<dyn Engine>,
) -> Vec<u64> {
    engine.load(spec, stars).unwrap();
    engine.predict(0.001).unwrap();
    let zero = Vec3 {
        x: 0.0,
        y: 0.0,
        z: 0.0,
    };
    let mut forces = vec![[zero; 4]; places.len()];
    engine.forces(places, &mut forces).unwrap();
    let numbers = forces.iter().flatten().flat_map(|v| [v.x, v.y, v.z]);
    numbers.map(f64::to_bits).collect()
}

/// Stars whose higher derivatives are not 0.
fn moving_stars(n: usize) -> Vec<Star> {
    let mut stars = Star::of(&bodies(n));
    for (place, star) in stars.iter_mut().enumerate() {
        for (k, v) in star.taylor[2..8].iter_mut().enumerate() {
            let x = (0.7 * place as f64 + k as f64).sin();
            *v = Vec3 {
                x,
                y: 0.5 - x,
                z: x * x,
            };
        }
    }
    stars
}

#[test]
fn systems_with_more_than_128_partial_sums_give_the_same_bits_on_all_engines() {
    // The systems have 256, 512 and 2048 partial sums; the last partial sums of two of them are padded.
    for (n, count) in [(8192, 3), (17_000, 20), (65_600, 2)] {
        let stars = moving_stars(n);
        let places: Vec<u32> = (0..count).map(|k| (k * 4097 + 5) % n as u32).collect();
        let all = [
            (Order::Four, Precision::F64),
            (Order::Eight, Precision::F64),
            (Order::Six, Precision::SplitF32),
        ];
        // The emulator takes long for the larger systems.
        let some = if n > 8192 { &all[..1] } else { &all };
        for &(order, precision) in some {
            let spec = Specification {
                softening: 4.0 / n as f64,
                precision,
                ..Specification::new(order)
            };
            let of = |engine| forces_on(&spec, &stars, &places, engine);
            let expected = of(Box::new(
                CpuEngine::with_simd(Some(1), Simd::Scalar).unwrap(),
            ));
            for simd in Simd::available() {
                for threads in [1, 3] {
                    let engine = CpuEngine::with_simd(Some(threads), simd).unwrap();
                    assert!(
                        expected == of(Box::new(engine)),
                        "order {order}, {precision}, {n} bodies, {simd}, {threads} threads"
                    );
                }
            }
            for (devices, block) in [(1, 32), (1, 128), (3, 64)] {
                assert!(
                    expected == of(emulator(devices, 0, block, None)),
                    "order {order}, {precision}, {n} bodies, {devices} devices, {block} threads"
                );
            }
        }
    }
}

#[test]
fn potentials_of_more_than_128_partial_sums_have_the_same_bits() {
    let n = 8200;
    let spec = Specification {
        softening: 0.01,
        ..Specification::new(Order::Four)
    };
    let stars = moving_stars(n);
    let of = |mut engine: Box<dyn Engine>| {
        engine.load(&spec, &stars).unwrap();
        engine.predict(0.0).unwrap();
        // As many potentials as the test has time for.
        let mut potentials = vec![0.0; 70];
        engine.potentials(&mut potentials).unwrap();
        potentials.into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    let expected = of(Box::new(
        CpuEngine::with_simd(Some(1), Simd::Scalar).unwrap(),
    ));
    for simd in Simd::available() {
        assert!(expected == of(Box::new(CpuEngine::with_simd(Some(2), simd).unwrap())));
    }
    for devices in [1, 2] {
        assert!(expected == of(emulator(devices, 0, 64, None)), "{devices}");
    }
}

#[test]
fn lanes_and_threads_give_the_same_bits_in_split_f32_too() {
    for order in Order::ALL {
        let spec = Specification {
            softening: 0.01,
            precision: Precision::SplitF32,
            ..Specification::new(order)
        };
        let engines = (Simd::available().into_iter())
            .flat_map(|simd| [1, 3].map(|n| CpuEngine::with_simd(Some(n), simd).unwrap()));
        let results: Vec<Vec<u64>> = engines
            .map(|engine| run(&spec, 300, 5, Box::new(engine)))
            .collect();
        assert!(results.windows(2).all(|w| w[0] == w[1]), "order {order}");
    }
}

/// Accelerations and jerks at the start in one precision.
fn forces(order: Order, precision: Precision, n: usize) -> Vec<[Vec3<f64>; 4]> {
    let spec = Specification {
        softening: 0.004,
        precision,
        ..Specification::new(order)
    };
    let start = spec.validate(bodies(n)).unwrap();
    let cluster = Cluster::new(&start, Box::new(CpuEngine::new(Some(1)).unwrap())).unwrap();
    let of = |star: &Star| std::array::from_fn(|k| star.taylor[2 + k]);
    cluster.stars().iter().map(of).collect()
}

#[test]
fn split_f32_forces_are_accurate_to_single_precision() {
    for order in Order::ALL {
        let [exact, split] = Precision::ALL.map(|precision| forces(order, precision, 1024));
        for k in 0..order.derivatives() {
            let size = |v: Vec3<f64>| v.norm2_plus(0.0);
            let scale = exact.iter().map(|f| size(f[k])).sum::<f64>();
            let error = exact.iter().zip(&split).map(|(a, b)| size(a[k] - b[k]));
            let error = (error.sum::<f64>() / scale).sqrt();
            println!("order {order}, derivative {k}: {error:e}");
            // The error exceeds the rounding errors of f64 sums but is below a few units of f32.
            assert!((1e-9..1e-6).contains(&error), "derivative {k}: {error:e}");
        }
    }
}
