//! Star clusters in the self test: the Hermite kernels of every order, precision and scheme.

use std::time::Instant;

use trisolar::bodies::Model;
use trisolar::hermite::{
    AhmadCohen, BlockSteps, Cluster, CpuEngine, Engine, HermiteError, Order, Precision,
    Specification, emulator, on_devices,
};
use trisolar::run::Workers;
use trisolar::simd::Simd;

use super::{Failure, Outcome, Sizes, interrupt};

/// A run to compare.
struct Case {
    name: &'static str,
    specification: Specification,
    particles: usize,
}

fn cases(particles: usize) -> Vec<Case> {
    let of = |name, order, precision, ahmad_cohen| Case {
        name,
        specification: Specification {
            softening: 0.01,
            precision,
            ahmad_cohen,
            ..Specification::new(order)
        },
        particles,
    };
    let neighbours = AhmadCohen::new(particles);
    use Precision::{F64, SplitF32};
    vec![
        of("cluster of order 4", Order::Four, F64, None),
        of("cluster of order 6", Order::Six, F64, None),
        of("cluster of order 8", Order::Eight, F64, None),
        of("cluster of order 4, split-f32", Order::Four, SplitF32, None),
        of("cluster of order 6, split-f32", Order::Six, SplitF32, None),
        of(
            "cluster of order 8, split-f32",
            Order::Eight,
            SplitF32,
            None,
        ),
        of("cluster, Ahmad-Cohen", Order::Four, F64, Some(neighbours)),
    ]
}

/// Time of the last block that is compared.
fn last_time(case: &Case, blocks: usize) -> Result<f64, HermiteError> {
    let mut cluster = start(case, Box::new(CpuEngine::with_simd(Some(1), Simd::Scalar)?))?;
    for _ in 0..blocks {
        cluster.step()?;
    }
    Ok(cluster.time())
}

fn start<'e>(case: &Case, engine: Box<dyn Engine + 'e>) -> Result<Cluster<'e>, HermiteError> {
    let valid = "the self test's model is valid";
    let bodies = Model::Plummer.build(Some(case.particles), 1, 1.0, 3);
    let start = case.specification.clone().validate(bodies.expect(valid));
    Cluster::new(&start.expect(valid), engine)
}

/// The particles' numbers at a time, and their potentials; block steps are made by the host or the device.
fn compute(
    case: &Case,
    engine: Box<dyn Engine + '_>,
    by: BlockSteps,
    time: f64,
) -> Result<Vec<u64>, HermiteError> {
    let mut cluster = start(case, engine)?;
    cluster.set_block_steps(by)?;
    cluster.advance_to(time)?;
    let stars = cluster.at(time)?;
    let potentials = cluster.potentials(&stars)?;
    let numbers = (stars.iter()).flat_map(|s| s.taylor.iter().flat_map(|v| [v.x, v.y, v.z]));
    Ok(numbers.chain(potentials).map(f64::to_bits).collect())
}

/// Every engine on every case, against one lane on one thread.
pub(super) fn outcomes(simds: &[Simd], sizes: &Sizes) -> Result<Vec<Outcome>, Failure> {
    let mut list = Vec::new();
    let gpus: Vec<_> = (trisolar::gpu::devices().unwrap_or_default().iter())
        .map(|device| (device.index, trisolar::gpu::open(device.index)))
        .collect();
    for case in cases(sizes.particles) {
        let time = last_time(&case, sizes.blocks)?;
        let reference = CpuEngine::with_simd(Some(1), Simd::Scalar)?;
        let expected = compute(&case, Box::new(reference), BlockSteps::Host, time)?;
        let mut add = |name: String, by, engine: Result<Box<dyn Engine + '_>, HermiteError>| {
            let start = Instant::now();
            let got = engine.and_then(|engine| compute(&case, engine, by, time));
            let count =
                |got: Vec<u64>| got.iter().zip(&expected).filter(|(a, b)| a != b).count() as u64;
            list.push(Outcome {
                map: case.name.into(),
                engine: name,
                pixels: expected.len() as u64,
                different: got.map(count).map_err(|e| e.to_string()),
                seconds: start.elapsed().as_secs_f64(),
            });
            interrupt::check()
        };
        for &simd in simds {
            let engine = CpuEngine::with_simd(Some(2), simd);
            let name = format!("cpu, {simd}, 2 threads");
            let engine = engine.map(|e| Box::new(e) as Box<dyn Engine>);
            add(name, BlockSteps::Host, engine)?;
        }
        let emulated = emulator(1, 20, 64, None);
        add("emulator".into(), BlockSteps::Host, Ok(emulated))?;
        let name = "emulator, its block steps".into();
        add(name, BlockSteps::Device, Ok(emulator(1, 20, 64, None)))?;
        for (index, gpu) in &gpus {
            let engine = || {
                let gpu = gpu.clone().map_err(|e| HermiteError::Engine(e.into()))?;
                Ok(on_devices(vec![gpu], Workers::default()))
            };
            add(format!("gpu {index}"), BlockSteps::Host, engine())?;
            let name = format!("gpu {index}, its block steps");
            add(name, BlockSteps::Device, engine())?;
        }
        if gpus.len() > 1 && case.specification.ahmad_cohen.is_none() {
            let together = gpus
                .iter()
                .map(|(_, gpu)| gpu.clone())
                .collect::<Result<_, _>>();
            let engine = together
                .map(|all| on_devices(all, Workers::default()))
                .map_err(|e| HermiteError::Engine(e.into()));
            let name = format!("{} gpus, their block steps", gpus.len());
            add(name, BlockSteps::Device, engine)?;
        }
    }
    Ok(list)
}
