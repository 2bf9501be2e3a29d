//! `trisolar bench`: measures the speed of this machine, and compares it with its limit.

use clap::Subcommand;

use std::time::Instant;

use serde_json::Value;

use trisolar::ensemble::{CpuEngine, Engine, Ensemble, MultiDeviceEngine, Slice as _};
use trisolar::run::{Backend, EngineError, GpuChoice, RunOptions};
use trisolar::simd::Simd;

use super::cpu_args::CpuArgs;
use super::progress::Progress;
use super::report::{self, Common};
use super::{Failure, values};

mod cluster;
mod divergence;
mod encounters;
mod ladder;
mod nbody;
mod planets;
mod solvers;

/// Options of `trisolar bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    problem: Problem,
}

#[derive(Debug, Subcommand)]
enum Problem {
    /// Divergence maps: every engine, the plain loop and the limit of the machine
    Divergence(divergence::Args),
    /// The steps by which the divergence loop became fast, each a kernel, over block sizes
    Ladder(ladder::Args),
    /// Star clusters: forces with derivatives and whole runs on every engine
    Cluster(cluster::Args),
    /// Three-body encounters: encounters and kicks per second on every engine, and whether their records are equal
    Encounters(encounters::Args),
    /// Planetary systems: steps per second on every engine, and whether their records are equal
    Planets(planets::Args),
    /// All-pairs N-body: interactions per second of every solver over the number of bodies
    Nbody(nbody::Args),
    /// N-body solvers: the tables of Pacheco & Malensek (2021), and Trisolar beside C loops after them on one core
    Solvers(solvers::Args),
}

/// The devices of measurements of an ensemble.
#[derive(Debug, clap::Args)]
struct EnsembleArgs {
    #[command(flatten)]
    cpu: CpuArgs,
    /// How many GPUs compute together [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::gpu_count)]
    gpus: Option<u32>,
    /// What to measure: auto (all there is), cpu or gpu
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = values::backend)]
    backend: Backend,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

impl EnsembleArgs {
    /// An engine for each instruction set that is measured.
    fn cpus<E>(&self) -> Result<Vec<(Simd, CpuEngine<E>)>, EngineError> {
        let simds = match self.backend {
            Backend::Gpu => Vec::new(),
            _ => Simd::chosen_or_all(self.cpu.simd()),
        };
        let engine = |simd| Ok((simd, CpuEngine::with_simd(self.cpu.threads, simd)?));
        simds.into_iter().map(engine).collect()
    }

    /// The GPUs that are measured together, and notes about those that are not.
    fn gpus<E: Ensemble>(&self) -> Result<(Option<MultiDeviceEngine<E>>, Vec<String>), Failure> {
        if self.backend == Backend::Cpu {
            return Ok((None, Vec::new()));
        }
        let options = RunOptions {
            backend: Backend::Gpu,
            gpus: GpuChoice::First(self.gpus.unwrap_or(1)),
            ..RunOptions::default()
        };
        match MultiDeviceEngine::open(u64::MAX, &options) {
            Ok((engine, notes)) => Ok((Some(engine), notes)),
            Err(error) if self.backend == Backend::Gpu || self.gpus.is_some() => Err(error.into()),
            Err(error) => Ok((None, vec![error.to_string()])),
        }
    }
}

/// A measurement of an ensemble.
struct Measured<E: Ensemble> {
    values: E::Values,
    seconds: f64,
    /// Values that differ from those of the engine before, and how many were compared.
    different: u64,
    compared: u64,
}

/// Computes an ensemble, and compares the first values with those of the engine before.
fn measure<E: Ensemble>(
    name: &str,
    engine: &dyn Engine<E>,
    spec: &E,
    before: Option<&E::Values>,
) -> Result<Measured<E>, EngineError> {
    let progress = Progress::new(name, false);
    let start = Instant::now();
    let values = engine.compute(spec, &progress)?.values;
    let seconds = start.elapsed().as_secs_f64();
    progress.finish();
    let both = before.map(|before| (E::slice(&values), E::slice(before)));
    Ok(Measured {
        seconds,
        different: both.map_or(0, |(a, b)| a.different(b)),
        compared: both.map_or(0, |(a, b)| a.count().min(b.count())),
        values,
    })
}

/// Whether the records of a measurement are those of the engine before, in words.
fn agreement(different: Option<u64>, compared: u64) -> String {
    match different {
        None => String::new(),
        Some(0) => format!("\n  {compared} records equal"),
        Some(n) => format!("\n  {n} OF {compared} RECORDS DIFFER"),
    }
}

/// What the JSON objects of measurements have in common, begun at `begin`. `rates` are all measured ones, of which the report has the largest.
fn common<'a>(
    begin: Instant,
    specification: Value,
    devices: impl IntoIterator<Item = &'a str>,
    rates: impl IntoIterator<Item = f64>,
    rate_unit: &'static str,
) -> Common {
    Common {
        specification,
        devices: report::devices(devices),
        seconds: begin.elapsed().as_secs_f64(),
        rate: rates.into_iter().reduce(f64::max),
        rate_unit,
        ..Common::default()
    }
}

/// Measures and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.problem {
        Problem::Divergence(args) => divergence::run(args),
        Problem::Ladder(args) => ladder::run(args),
        Problem::Cluster(args) => cluster::run(args),
        Problem::Encounters(args) => encounters::run(args),
        Problem::Planets(args) => planets::run(args),
        Problem::Nbody(args) => nbody::run(args),
        Problem::Solvers(args) => solvers::run(args),
    }
}
