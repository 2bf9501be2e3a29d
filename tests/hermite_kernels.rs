//! The Hermite kernels under the emulator of the grid: the same bits as the CPU engine's, whatever the grid.

use trisolar::hermite::{Body, Cluster, CpuEngine, Engine, Order, Specification, emulator};
use trisolar::nbody::Model;

fn bodies(n: usize) -> Vec<Body> {
    let model = Model::Plummer.build(Some(n), 5, 1.0, 3).unwrap();
    (0..n)
        .map(|i| Body {
            mass: model.mass[i],
            position: model.position[i],
            velocity: model.velocity[i],
        })
        .collect()
}

/// State after some blocks, and the potentials.
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
        for (n, softening) in [(3, 0.0), (150, 0.02)] {
            let spec = Specification {
                softening,
                ..Specification::new(order)
            };
            let cpu = run(&spec, n, 6, Box::new(CpuEngine::new(Some(1)).unwrap()));
            // Few blocks make a thread fold all partial sums, many leave all to the other kernel.
            for (block, resident, seed) in [(32, 1, None), (64, 1000, Some(7)), (32, 6, Some(8))] {
                let emulated = run(&spec, n, 6, emulator(block, resident, seed));
                assert!(
                    cpu == emulated,
                    "order {order}, {n} bodies, {block} threads, {resident} blocks"
                );
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
    assert!(cpu == run(&spec, 40, 3, emulator(32, 3, None)));
    // 128 partial sums.
    let spec = Specification {
        softening: 0.01,
        ..Specification::new(Order::Four)
    };
    let cpu = run(&spec, 1030, 1, Box::new(CpuEngine::new(Some(1)).unwrap()));
    assert!(cpu == run(&spec, 1030, 1, emulator(128, 10, None)));
    assert!(cpu == run(&spec, 1030, 1, emulator(64, 100_000, None)));
}
