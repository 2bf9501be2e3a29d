//! `trisolar bench`: measures the speed of this machine, and compares it with its limit.

use clap::Subcommand;

use std::time::Instant;

use serde_json::Value;

use super::Failure;
use super::report::{self, Common};

mod cluster;
mod divergence;
mod encounters;
mod ladder;
mod nbody;
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
    /// All-pairs N-body: interactions per second of every solver over the number of bodies
    Nbody(nbody::Args),
    /// N-body solvers: the tables of Pacheco & Malensek (2021), and Trisolar beside C loops after them on one core
    Solvers(solvers::Args),
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
        Problem::Nbody(args) => nbody::run(args),
        Problem::Solvers(args) => solvers::run(args),
    }
}
