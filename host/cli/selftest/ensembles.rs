//! Encounters and planetary systems in the self test: the records of every engine for all kinds of starts.

use std::time::Instant;

use trisolar::ensemble::{CpuEngine, Engine, Ensemble, GpuEngine as _, Slice as _};
use trisolar::gpu;
use trisolar::run::partial::Contents as _;
use trisolar::run::{EngineError, Unattended};
use trisolar::simd::Simd;
use trisolar::spec::SpecError;

use super::{Failure, Outcome, interrupt};

/// An ensemble to compare.
pub(super) struct Case<E> {
    name: String,
    all: E,
    /// Its first items, if the emulator computes these only.
    few: Option<E>,
}

impl<E: Ensemble> Case<E> {
    pub(super) fn new(
        name: impl Into<String>,
        all: Result<E, SpecError>,
        few: Option<Result<E, SpecError>>,
    ) -> Result<Self, Failure> {
        let name = name.into();
        let valid = |given: Result<E, SpecError>| {
            given.map_err(|e| Failure::Failed(format!("{name} of the self test: {e}")))
        };
        Ok(Self {
            all: valid(all)?,
            few: few.map(valid).transpose()?,
            name,
        })
    }
}

/// Every engine on every case, against one lane on one thread.
pub(super) fn outcomes<E: Ensemble>(
    cases: &[Case<E>],
    simds: &[Simd],
) -> Result<Vec<Outcome>, Failure> {
    let mut list = Vec::new();
    let gpus: Vec<_> = (gpu::devices().unwrap_or_default().iter())
        .map(|device| {
            let engine = gpu::open(device.index).map(E::Gpu::on);
            (device.index, engine.map_err(EngineError::from))
        })
        .collect();
    for Case { name, all, few } in cases {
        let reference = CpuEngine::with_simd(Some(1), Simd::Scalar)?;
        let expected = reference.compute(all, &Unattended)?.values;
        let mut add = |engine: String, with: Result<&dyn Engine<E>, EngineError>, of: &E| {
            let start = Instant::now();
            let got = with.and_then(|with| with.compute(of, &Unattended));
            list.push(Outcome {
                map: name.clone(),
                engine,
                pixels: of.items(),
                different: got
                    .map(|got| E::slice(&got.values).different(E::slice(&expected)))
                    .map_err(|e| e.to_string()),
                seconds: start.elapsed().as_secs_f64(),
            });
            interrupt::check()
        };
        for &simd in simds {
            let engine = CpuEngine::with_simd(Some(2), simd)?;
            add(format!("cpu, {simd}, 2 threads"), Ok(&engine), all)?;
        }
        let engine = E::Gpu::emulated_gpu();
        match few {
            None => add("emulator".into(), Ok(&engine), all)?,
            Some(few) => {
                let items = E::Contents::ITEMS;
                add(
                    format!("emulator, {} {items}", few.items()),
                    Ok(&engine),
                    few,
                )?;
            }
        }
        for (index, engine) in &gpus {
            let engine = engine.as_ref().map(|e| e as &dyn Engine<E>);
            add(format!("gpu {index}"), engine.map_err(Clone::clone), all)?;
        }
    }
    Ok(list)
}
