//! `trisolar bench nbody`: all-pairs interactions per second. As in NVIDIA's nbody sample and in Bertinelli (2024/25), a step of N
//! bodies counts as N² interactions, of 20 operations in `f32` and 30 in `f64`.

mod measure;
mod output;

use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;
use trisolar::nbody::{MAX_BODIES, Precision};
use trisolar::run::{Backend, Outputs};

use self::measure::{Bench, Tables};
use crate::cpu_args::CpuArgs;
use crate::report::{self, Common};
use crate::{Failure, interrupt, values};

/// Measures whole steps (forces and motion) of the symplectic Euler integrator for Plummer models.
#[derive(Debug, clap::Args)]
#[command(
    about = "Measure all-pairs N-body: interactions per second of every solver over the number of bodies"
)]
pub(crate) struct Args {
    /// Numbers of bodies, separated by commas [default: 1024 to 1048576 in factors of 4 on a GPU (up to 262144 except in f32); up
    /// to 16384 on the CPU]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = bodies)]
    n: Option<Vec<usize>>,
    /// Precisions to measure on a GPU: f32, f64, float-float; the CPU is measured in f64
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "f32,f64", value_parser = precision)]
    precision: Vec<Precision>,
    /// How many GPUs compute together, for each measurement: 1,2,4 measures one, two and four [default: 1 and all]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = gpus)]
    gpus: Option<Vec<usize>>,
    /// Number of measurements of each rate, for the error bars, 2 to 1000
    #[arg(long, value_name = "N", default_value = "10", value_parser = repeats)]
    repeats: usize,
    /// Shortest time of a measurement in seconds
    #[arg(long, value_name = "SECONDS", default_value = "0.05", value_parser = values::number)]
    seconds: f64,
    /// Also measure the basic solver in f32 over block sizes, and over bodies per thread and unrolling
    #[arg(long)]
    tables: bool,
    #[command(flatten)]
    cpu: CpuArgs,
    /// What to measure: auto (all there is), cpu or gpu
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = values::backend)]
    backend: Backend,
    /// Also write the measurements to this CSV file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also draw rates over the number of bodies, with error bars, into this PNG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print one JSON object instead of the tables
    #[arg(long)]
    json: bool,
}

fn whole(text: &str, range: std::ops::RangeInclusive<usize>) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(n) if range.contains(&n) => Ok(n),
        _ => Err(format!(
            "must be a whole number from {} to {}",
            range.start(),
            range.end()
        )),
    }
}

fn bodies(text: &str) -> Result<usize, String> {
    whole(text, 2..=MAX_BODIES)
}

fn gpus(text: &str) -> Result<usize, String> {
    whole(text, 1..=64)
}

fn repeats(text: &str) -> Result<usize, String> {
    whole(text, 2..=1000)
}

fn precision(text: &str) -> Result<Precision, String> {
    text.parse()
}

/// Measures and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let begin = Instant::now();
    if !(args.seconds.is_finite() && args.seconds > 0.0) {
        let given = args.seconds.to_string();
        let allowed = "must be a finite number above 0 (seconds)";
        return Err(Failure::value(&given, "--seconds", allowed));
    }
    if let Some(count) = args.gpus.as_ref().and_then(|list| list.first())
        && args.backend == Backend::Cpu
    {
        let reason = "--backend cpu measures no GPU; remove one of the two options";
        return Err(Failure::value(&count.to_string(), "--gpus", reason));
    }
    let mut outputs = Outputs::new();
    for (option, path) in [("--csv", &args.csv), ("--plot", &args.plot)] {
        if let Some(path) = path {
            outputs.file(option, path);
        }
    }
    let _claim = outputs.claim()?;
    interrupt::watch()?;
    let bench = Bench {
        repeats: args.repeats,
        seconds: args.seconds,
    };
    let mut rates = Vec::new();
    let mut tables = Tables::default();
    let mut devices = Vec::new();
    if args.backend != Backend::Cpu {
        match measure::on_gpus(args, &bench, &mut rates, &mut tables) {
            Ok(names) => devices.extend(names),
            Err(failure) if args.backend == Backend::Gpu => return Err(failure),
            Err(Failure::Failed(message)) => {
                report::to_stderr(&format!(
                    "note: {}",
                    message.lines().next().unwrap_or_default()
                ));
            }
            Err(failure) => return Err(failure),
        }
    }
    if args.backend != Backend::Gpu {
        devices.push(measure::on_cpu(args, &bench, &mut rates)?);
    }
    if let Some(path) = &args.csv {
        output::csv(path, &rates, &tables)?;
    }
    if let Some(path) = &args.plot {
        output::plot(path, &devices, &rates)?;
    }
    if args.json {
        let specification = json!({ "repeats": args.repeats, "seconds": args.seconds });
        let names = devices.iter().map(String::as_str);
        let found = rates.iter().map(|rate| rate.rate * 1e9);
        let common = Common {
            files: args.csv.iter().chain(&args.plot).cloned().collect(),
            ..super::common(begin, specification, names, found, "interactions/s")
        };
        return report::json(&common.with(output::json(&rates, &tables)));
    }
    report::to_stdout(&output::text(&devices, args.repeats, &rates, &tables))
}
