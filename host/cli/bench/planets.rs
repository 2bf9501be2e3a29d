//! `trisolar bench planets`: steps per second of planetary systems, with and without a tangent vector.

use std::time::Instant;

use serde_json::json;
use trisolar::ensemble::Engine;
use trisolar::planets::{Number, Observable, Overrides, Preset, Record, Validated, YEAR};
use trisolar::run::EngineError;
use trisolar::spec::read;

use super::{EnsembleArgs, Measured, agreement};
use crate::progress::Progress;
use crate::report::{self, Common};
use crate::{Failure, interrupt};

/// The number of the giant planets.
const GIANTS: usize = 4;

/// Measures the planets of the solar system with drawn mean anomalies, at 20 steps in the shortest period: the giant planets from Jupiter on if
/// there are up to 4 planets, otherwise those from Mercury on, and beyond 8 others like Neptune at 1.5 times the distance of the one before. The records of all engines are compared bit for bit.
#[derive(Debug, clap::Args)]
#[command(
    about = "Measure planetary systems: steps per second on every engine, with and without MEGNO"
)]
pub(crate) struct Args {
    /// Numbers of planets, separated by commas: 1 to 15
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "2,3,8", value_parser = planets)]
    planets: Vec<usize>,
    /// Systems on GPUs
    #[arg(long, value_name = "N", default_value = "131072", allow_hyphen_values = true, value_parser = systems)]
    n: u64,
    /// Systems on the CPU, which are the first of those on GPUs
    #[arg(long, value_name = "N", default_value = "256", allow_hyphen_values = true, value_parser = systems)]
    cpu_n: u64,
    /// Steps of each system
    #[arg(long, value_name = "N", default_value = "10000", allow_hyphen_values = true, value_parser = steps)]
    steps: u64,
    #[command(flatten)]
    devices: EnsembleArgs,
}

fn planets(text: &str) -> Result<usize, String> {
    read::whole::<usize>(text, 1..=15)
}

fn systems(text: &str) -> Result<u64, String> {
    read::whole(text, 1..=1 << 32)
}

fn steps(text: &str) -> Result<u64, String> {
    read::whole(text, 1..=1_000_000_000)
}

/// A measurement.
#[derive(Debug, serde::Serialize)]
struct Rate {
    engine: String,
    device: String,
    planets: usize,
    megno: bool,
    systems: u64,
    seconds: f64,
    steps_per_second: f64,
    /// Number of records that differ from those of the previous engine, among those that both computed; `None` for the first engine.
    different: Option<u64>,
    compared: u64,
}

/// Measures and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let begin = Instant::now();
    interrupt::watch()?;
    let cpus = args.devices.cpus()?;
    let (gpu, notes) = args.devices.gpus()?;
    let mut rates = Vec::new();
    for &count in &args.planets {
        for observable in [Observable::Time, Observable::Megno] {
            let mut before: Option<Vec<Record>> = None;
            let mut add = |name: String, engine: &dyn Engine<Validated>, n: u64| {
                let spec = specification(count, observable, n, args.steps)?;
                let (rate, records) = measure(name, engine, &spec, before.as_ref())?;
                rates.push(rate);
                before = Some(records);
                interrupt::check()
            };
            for (simd, engine) in &cpus {
                add(simd.to_string(), engine, args.cpu_n)?;
            }
            if let Some(engine) = &gpu {
                // The driver compiles the kernel on first use.
                let warm = specification(count, observable, 64, 1)?;
                engine.compute(&warm, &Progress::new("", true))?;
                add("GPU".into(), engine, args.n)?;
            }
        }
    }
    let equal = rates.iter().all(|r| r.different.unwrap_or(0) == 0);
    if args.devices.json {
        let devices = rates.iter().map(|rate| rate.device.as_str());
        let steps = rates.iter().map(|rate| rate.steps_per_second);
        let specification = json!({
            "planets": args.planets,
            "n": args.n,
            "cpu_n": args.cpu_n,
            "steps": args.steps,
        });
        let common = Common {
            notes,
            ..super::common(begin, specification, devices, steps, "steps/s")
        };
        report::json(&common.with(json!({ "rates": rates, "equal": equal })))?;
    } else {
        report::to_stdout(&text(&rates, &notes))?;
    }
    if equal {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

fn specification(
    count: usize,
    observable: Observable,
    n: u64,
    steps: u64,
) -> Result<Validated, Failure> {
    let failed = |e: String| Failure::Failed(format!("the benchmark's planets: {e}"));
    let preset = match count <= GIANTS {
        true => Preset::Giants,
        false => Preset::SolarSystem,
    };
    let (_, mut planet) = preset.system();
    planet.truncate(count);
    while let Some(last) = planet.last().copied()
        && planet.len() < count
    {
        let mut next = last;
        next.0[1] = Number::Fixed(1.5 * last.0[1].range()[0]);
        planet.push(next);
    }
    for planet in &mut planet {
        planet.0[6] = Number::Uniform([0.0, YEAR]);
    }
    let [mass, a] = [0, 1].map(|k| planet[0].0[k].range()[0]);
    let period = (a * a * a / (1.0 + mass)).sqrt();
    let overrides = Overrides {
        planet,
        n: Some(n),
        years: Some(0.05 * period * steps as f64),
        observable: Some(observable),
        ..Overrides::default()
    };
    let valid = overrides.validated();
    valid.map_err(|e| failed(e.to_string()))
}

fn measure(
    name: String,
    engine: &dyn Engine<Validated>,
    spec: &Validated,
    before: Option<&Vec<Record>>,
) -> Result<(Rate, Vec<Record>), EngineError> {
    let Measured {
        values: records,
        seconds,
        different,
        compared,
    } = super::measure(&name, engine, spec, before)?;
    let steps: u64 = records.iter().map(|r| u64::from(r.steps)).sum();
    let of = spec.specification();
    let rate = Rate {
        engine: name,
        device: engine.device(),
        planets: of.planets.len(),
        megno: of.has_tangent(),
        systems: of.n,
        seconds,
        steps_per_second: steps as f64 / seconds,
        different: (compared > 0).then_some(different),
        compared,
    };
    Ok((rate, records))
}

fn text(rates: &[Rate], notes: &[String]) -> String {
    let mut text = format!(
        "{:<9} {:>7} {:>5} {:>10} {:>9} {:>10}",
        "engine", "planets", "MEGNO", "systems", "seconds", "steps/s"
    );
    for rate in rates {
        text.push_str(&format!(
            "\n{:<9} {:>7} {:>5} {:>10} {:>9.3} {:>10.3e}{}",
            rate.engine,
            rate.planets,
            if rate.megno { "yes" } else { "no" },
            rate.systems,
            rate.seconds,
            rate.steps_per_second,
            agreement(rate.different, rate.compared)
        ));
    }
    let mut devices: Vec<&str> = rates.iter().map(|r| r.device.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    text.push_str("\n\n");
    text.push_str(&devices.join("\n"));
    for note in notes {
        text.push_str(&format!("\nnote: {note}"));
    }
    text
}
