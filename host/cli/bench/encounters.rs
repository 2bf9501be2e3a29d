//! `trisolar bench encounters`: encounters and kicks per second of the study of Trani et al. (2024), with and without jumps.

use std::time::{Duration, Instant};

use serde_json::json;
use trisolar::encounters::{
    Engine, Jump, Limits, Order, Precision, Record, Specification, Validated, device_kicks_limit,
    kicks_limit,
};
use trisolar::run::EngineError;
use trisolar::simd::Simd;

use super::{EnsembleArgs, agreement};
use crate::progress::Progress;
use crate::report::{self, Common};
use crate::{Failure, interrupt};

/// Measures encounters of a circular binary of masses 15 and 17.5, a = 5, with a single body of mass 12.5 at rest at 100: phase and
/// inclination uniform, to the end. The records of all engines are compared bit for bit.
#[derive(Debug, clap::Args)]
#[command(about = "Measure three-body encounters: encounters and kicks per second on every engine")]
pub(crate) struct Args {
    /// Encounters on GPUs
    #[arg(long, value_name = "N", default_value = "1000000", allow_hyphen_values = true, value_parser = runs)]
    n: u64,
    /// Encounters on the CPU, which are the first of those on GPUs
    #[arg(long, value_name = "N", default_value = "4000", allow_hyphen_values = true, value_parser = runs)]
    cpu_n: u64,
    /// Also measure without jumps, with runs limited to 100000 steps
    #[arg(long)]
    without_jumps: bool,
    /// Orders of the integrator, separated by commas: 2, 6 or 8
    #[arg(long, value_name = "P,...", value_delimiter = ',', default_value = "6", value_parser = order)]
    order: Vec<Order>,
    /// Arithmetics of the steps on GPUs, separated by commas: f64 or fast, whose records are not compared
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "f64,fast", value_parser = str::parse::<Precision>)]
    precision: Vec<Precision>,
    #[command(flatten)]
    devices: EnsembleArgs,
}

/// Duration of the measurement of a CPU's limit.
const PEAK_TIME: Duration = Duration::from_millis(300);

fn runs(text: &str) -> Result<u64, String> {
    trisolar::spec::read::whole(text, 1..=1 << 32)
}

fn order(text: &str) -> Result<Order, String> {
    match text.trim() {
        "2" => Ok(Order::Two),
        "6" => Ok(Order::Six),
        "8" => Ok(Order::Eight),
        _ => Err("must be 2, 6 or 8".into()),
    }
}

/// A measurement.
#[derive(Debug, serde::Serialize)]
struct Rate {
    engine: String,
    device: String,
    order: Order,
    jumps: bool,
    precision: Precision,
    runs: u64,
    seconds: f64,
    encounters_per_second: f64,
    kicks_per_second: f64,
    /// Kicks per second as a share of the machine's limit, which would keep its `f64` units always busy; `None` if the limit is not known.
    of_limit: Option<f64>,
    /// Mean number of kicks of an encounter.
    kicks: f64,
    /// Number of records that differ from those of the previous engine, among those that both computed; `None` for the first engine.
    different: Option<u64>,
    compared: u64,
}

/// Measures and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let begin = Instant::now();
    interrupt::watch()?;
    let mut rates = Vec::new();
    let cpus = args.devices.cpus()?;
    let (gpu, notes) = args.devices.gpus()?;
    let jumps = if args.without_jumps {
        vec![true, false]
    } else {
        vec![true]
    };
    for order in &args.order {
        for jumps in &jumps {
            let spec = |n, precision| specification(n, *order, *jumps, precision);
            let mut before: Option<Vec<Record>> = None;
            let mut add = |name: String,
                           engine: &dyn Engine<Validated>,
                           limit: Option<f64>,
                           n: u64,
                           precision: Precision| {
                let others = before.as_ref().filter(|_| precision.is_portable());
                let (mut rate, records) = measure(name, engine, &spec(n, precision)?, others)?;
                rate.of_limit = limit.map(|limit| rate.kicks_per_second / limit);
                if precision.is_portable() {
                    before = Some(records);
                }
                rates.push(rate);
                Ok::<(), Failure>(())
            };
            for (simd, engine) in &cpus {
                add(
                    simd.to_string(),
                    engine,
                    // The compiler vectorises scalar code, so the scalar peak is not a limit.
                    (*simd != Simd::Scalar).then(|| kicks_limit(engine.workers(), PEAK_TIME)),
                    args.cpu_n,
                    Precision::F64,
                )?;
            }
            if let Some(engine) = &gpu {
                for precision in &args.precision {
                    // The driver compiles the kernel on first use.
                    let warm = spec(1024, *precision)?;
                    engine.compute(&warm, &Progress::new("", true))?;
                    let name = if precision.is_portable() {
                        "GPU".into()
                    } else {
                        format!("GPU {precision}")
                    };
                    let limit = device_kicks_limit(engine.gpus(), *precision);
                    add(name, engine, limit, args.n, *precision)?;
                }
            }
        }
    }
    let equal = rates.iter().all(|r| r.different.unwrap_or(0) == 0);
    if args.devices.json {
        let devices = rates.iter().map(|rate| rate.device.as_str());
        let kicks = rates.iter().map(|rate| rate.kicks_per_second);
        let specification = json!({
            "n": args.n,
            "cpu_n": args.cpu_n,
            "order": args.order,
            "precision": args.precision,
            "without_jumps": args.without_jumps,
        });
        let common = Common {
            notes,
            ..super::common(begin, specification, devices, kicks, "kicks/s")
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
    n: u64,
    order: Order,
    jumps: bool,
    precision: Precision,
) -> Result<Validated, Failure> {
    let usual = Specification::default();
    let specification = Specification {
        n,
        precision,
        order,
        steps_per_period: order.steps_per_period(),
        jump: if jumps { usual.jump } else { Jump::Off },
        limits: Limits {
            max_steps: if jumps {
                usual.limits.max_steps
            } else {
                100_000
            },
            ..usual.limits
        },
        ..usual
    };
    let valid = specification.validate();
    valid.map_err(|e| Failure::Failed(format!("the benchmark's encounters: {e}")))
}

fn measure(
    name: String,
    engine: &dyn Engine<Validated>,
    spec: &Validated,
    before: Option<&Vec<Record>>,
) -> Result<(Rate, Vec<Record>), EngineError> {
    let super::Measured {
        values: records,
        seconds,
        different,
        compared,
    } = super::measure(&name, engine, spec, before)?;
    let order = spec.specification().order;
    let steps: u64 = records.iter().map(|r| u64::from(r.steps)).sum();
    let kicks = steps as f64 * order.stages() as f64;
    let rate = Rate {
        engine: name,
        device: engine.device(),
        order,
        jumps: spec.specification().jump != Jump::Off,
        precision: spec.specification().precision,
        runs: spec.runs(),
        seconds,
        encounters_per_second: spec.runs() as f64 / seconds,
        kicks_per_second: kicks / seconds,
        of_limit: None,
        kicks: kicks / spec.runs() as f64,
        different: (compared > 0).then_some(different),
        compared,
    };
    Ok((rate, records))
}

fn text(rates: &[Rate], notes: &[String]) -> String {
    let mut text = format!(
        "{:<9} {:>5} {:>5} {:>10} {:>9} {:>13} {:>10} {:>8} {:>10}",
        "engine",
        "order",
        "jumps",
        "runs",
        "seconds",
        "encounters/s",
        "kicks/s",
        "of limit",
        "kicks each"
    );
    for rate in rates {
        text.push_str(&format!(
            "\n{:<9} {:>5} {:>5} {:>10} {:>9.3} {:>13.1} {:>10.3e} {:>8} {:>10.3e}",
            rate.engine,
            u32::from(rate.order),
            if rate.jumps { "on" } else { "off" },
            rate.runs,
            rate.seconds,
            rate.encounters_per_second,
            rate.kicks_per_second,
            rate.of_limit
                .map_or("-".into(), |share| format!("{:.1} %", 100.0 * share)),
            rate.kicks
        ));
        text.push_str(&agreement(rate.different, rate.compared));
    }
    text.push_str(&format!(
        "\n\nThe limit is that of the f64 units, at {} operations a kick ({} in fast).\n",
        Precision::F64.kick_operations(),
        Precision::Fast.kick_operations()
    ));
    let mut devices: Vec<&str> = rates.iter().map(|r| r.device.as_str()).collect();
    devices.dedup();
    text.push_str(&devices.join("\n"));
    for note in notes {
        text.push_str(&format!("\nnote: {note}"));
    }
    text
}
