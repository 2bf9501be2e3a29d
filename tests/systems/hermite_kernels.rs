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
