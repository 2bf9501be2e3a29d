//! The kernels of the ladder under the emulator: each computes the map, whatever the block size.

use std::sync::atomic::AtomicU32;

use cuda_std::emulator::Launch;
use kernels_gpu::kernels::{
    LADDER_STATE, divergence_ladder_early_exit, divergence_ladder_fetch, divergence_ladder_memory,
    divergence_ladder_products, divergence_ladder_registers, divergence_ladder_single_root,
};
use trisolar::divergence::{CpuEngine, Engine, Rung, Specification, Unattended, Validated};

/// The headline map's start positions, with partings within a few hundred steps.
fn valid() -> Validated {
    let spec = Specification {
        size: [21, 17],
        steps: 400,
        dt: 0.02,
        critical_distance: 0.005,
        ..Specification::default()
    };
    spec.validate().expect("valid")
}

fn climb(rung: Rung, valid: &Validated, block: u32) -> Vec<u32> {
    let plan = valid.ladder_plan();
    let mut times = vec![u32::MAX; plan.count as usize];
    let mut state = vec![f64::NAN; LADDER_STATE * times.len()];
    let (to, state) = (times.as_mut_ptr(), state.as_mut_ptr());
    let next = AtomicU32::new(0);
    let blocks = if rung == Rung::Fetch {
        2
    } else {
        plan.count.div_ceil(block)
    };
    let kernel = || {
        // SAFETY: the arrays have the lengths that the kernels require.
        unsafe {
            match rung {
                Rung::Memory => divergence_ladder_memory(plan, state, to),
                Rung::Registers => divergence_ladder_registers(plan, to),
                Rung::Products => divergence_ladder_products(plan, to),
                Rung::EarlyExit => divergence_ladder_early_exit(plan, to),
                Rung::SingleRoot => divergence_ladder_single_root(plan, to),
                Rung::Fetch => divergence_ladder_fetch(plan, &next, to),
                Rung::Tuned => unreachable!("tested as an engine"),
            }
        }
    };
    // SAFETY: only one thread writes each pixel.
    unsafe { Launch::new(blocks, block).run(kernel) }.expect("runs");
    times
}

#[test]
fn every_rung_gives_the_map_for_any_block_size() {
    let valid = valid();
    let engine = CpuEngine::new(None).expect("threads");
    let tuned = engine
        .compute(&valid, &Unattended)
        .expect("computes")
        .values;
    let tuned: Vec<u32> = tuned.into().expect("steps");
    let parted = tuned.iter().filter(|t| **t < 400).count();
    assert!((50..tuned.len() - 50).contains(&parted), "{parted} part");
    let equal = |map: &[u32]| map.iter().zip(&tuned).filter(|(a, b)| a == b).count();
    for rung in &Rung::ALL[..6] {
        let map = climb(*rung, &valid, 32);
        assert!(map == climb(*rung, &valid, 96), "{rung:?}: block size");
        // Rounding differs from that of the tuned kernel and rarely shifts a parting by a step.
        let least = if *rung == Rung::SingleRoot { 0.9 } else { 0.99 };
        assert!(
            equal(&map) as f64 >= least * tuned.len() as f64,
            "{rung:?}: {}",
            equal(&map)
        );
    }
}

#[test]
fn rungs_with_the_same_arithmetic_have_the_same_bits() {
    let valid = valid();
    let map = |rung| climb(rung, &valid, 64);
    assert!(map(Rung::Memory) == map(Rung::Registers));
    assert!(map(Rung::Products) == map(Rung::EarlyExit));
    assert!(map(Rung::EarlyExit) == map(Rung::Fetch));
}
