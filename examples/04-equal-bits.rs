//! Checks that all engines give the same bits, including the GPU kernels under the emulator:
//! `cargo run --release --example 04-equal-bits`.

use std::error::Error;

use trisolar::divergence::{
    CpuEngine, DivergenceKernel, EmulatorEngine, Engine, Specification, Unattended, Validated,
};
use trisolar::simd::Simd;

fn main() -> Result<(), Box<dyn Error>> {
    let valid = Specification {
        size: [20, 30],
        steps: 20_000,
        ..Specification::default()
    }
    .validate()?;

    let mut engines: Vec<(String, Box<dyn Engine<Validated>>)> = Vec::new();
    for simd in Simd::available() {
        engines.push((
            format!("CPU, {simd}"),
            Box::new(CpuEngine::with_simd(None, simd)?),
        ));
    }
    for kernel in DivergenceKernel::ALL {
        engines.push((
            format!("emulator, {}", kernel.name()),
            Box::new(EmulatorEngine::new(kernel)),
        ));
    }

    let mut first = None;
    for (name, engine) in engines {
        let computed = engine.compute(&valid, &Unattended)?;
        let same = first.get_or_insert_with(|| computed.values.clone()) == &computed.values;
        println!(
            "{name:30} {:>10.2?}  {}",
            computed.report.elapsed,
            if same { "equal" } else { "DIFFERENT" }
        );
    }
    Ok(())
}
