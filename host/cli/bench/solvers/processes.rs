//! Tables 7.5 and 7.6: MPI processes and threads.

use std::process::Command;

use trisolar::nbody::{CpuEngine, Precision, Schedule, Solver};
use trisolar::simd::Simd;

use super::threads::cell;
use super::{Row, Tables, doublings, fastest, problem};
use crate::{Failure, interrupt};

const BODIES: usize = 800;
/// Processes; basic and reduced.
const BOOK_MPI: [(usize, [f64; 2]); 5] = [
    (1, [17.30, 8.68]),
    (2, [8.65, 4.45]),
    (4, [4.35, 2.30]),
    (8, [2.20, 1.26]),
    (16, [1.13, 0.78]),
];
/// Threads; basic and reduced.
const BOOK_THREADS: [(usize, [f64; 2]); 3] =
    [(1, [15.13, 8.77]), (2, [7.62, 4.42]), (4, [3.85, 2.26])];

pub(super) fn measure(
    tables: &mut Tables,
    steps: u64,
    most: usize,
    repeats: u32,
    simd: Option<Simd>,
) -> Result<(), Failure> {
    tables.heading(&format!(
        "Tables 7.5 and 7.6: MPI processes and threads on this machine, {BODIES} particles, {steps} steps"
    ));
    let problem_of = |solver| problem(BODIES, solver, Precision::F64);
    let problems = [problem_of(Solver::Basic)?, problem_of(Solver::Reduced)?];
    let mut no_mpi = (!cfg!(feature = "mpi")).then(|| "built without the feature `mpi`".to_owned());
    tables.line(&format!(
        "{:<9}{:>17}{:>17}{:>17}{:>17}",
        "workers", "threads: basic", "reduced", "MPI: basic", "reduced"
    ));
    for workers in doublings(most, 16) {
        let mut line = format!("{workers:<9}");
        for (k, problem) in problems.iter().enumerate() {
            let engine = CpuEngine::with_simd(Some(workers), Schedule::Cyclic, simd)?;
            let (seconds, _) = fastest(&engine, problem, steps, repeats)?;
            let book = find(&BOOK_THREADS, workers, k);
            line.push_str(&cell(seconds, book, 17));
            tables
                .rows
                .push(row("7.6", "threads", k, workers, steps, seconds, book));
        }
        for (k, solver) in Solver::ALL.iter().enumerate() {
            let measured = match &no_mpi {
                Some(_) => None,
                None => match mpirun(workers, *solver, steps, repeats, simd)? {
                    Ok(seconds) => Some(seconds),
                    Err(reason) => {
                        no_mpi = Some(reason);
                        None
                    }
                },
            };
            let book = find(&BOOK_MPI, workers, k);
            match measured {
                Some(seconds) => {
                    line.push_str(&cell(seconds, book, 17));
                    tables
                        .rows
                        .push(row("7.5", "mpi", k, workers, steps, seconds, book));
                }
                None => line.push_str(&format!("{:>17}", "-")),
            }
        }
        tables.line(&line);
    }
    if let Some(reason) = no_mpi {
        tables.line(&format!("(MPI not measured: {reason})"));
    }
    Ok(())
}

fn find(book: &[(usize, [f64; 2])], workers: usize, k: usize) -> Option<f64> {
    let found = book.iter().find(|(w, _)| *w == workers);
    found.map(|(_, times)| times[k])
}

fn row(
    table: &'static str,
    what: &str,
    k: usize,
    workers: usize,
    steps: u64,
    seconds: f64,
    book_seconds: Option<f64>,
) -> Row {
    Row {
        table,
        name: format!("{what}, {}", Solver::ALL[k]),
        workers,
        bodies: BODIES,
        steps,
        seconds,
        book_seconds,
    }
}

/// Seconds of the fastest run of this program under mpirun, or the reason of the failure.
fn mpirun(
    processes: usize,
    solver: Solver,
    steps: u64,
    repeats: u32,
    simd: Option<Simd>,
) -> Result<Result<f64, String>, Failure> {
    let program = std::env::current_exe()
        .map_err(|e| Failure::Failed(format!("cannot find this program: {e}")))?;
    let mut best = f64::INFINITY;
    for _ in 0..repeats {
        interrupt::check()?;
        let output = Command::new("mpirun")
            .args(["--oversubscribe", "-n", &processes.to_string()])
            .arg(&program)
            .args([
                "nbody",
                "--model",
                "line",
                "--backend",
                "cpu",
                "--json",
                "--integrator",
                "explicit-euler",
            ])
            .args([
                "--threads",
                "1",
                "--n",
                &BODIES.to_string(),
                "--steps",
                &steps.to_string(),
            ])
            .args(["--solver", solver.name()])
            .args(simd.iter().flat_map(|simd| ["--simd", simd.name()]))
            // Open MPI runs as root only if both variables are set; a measurement does no harm.
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .output();
        let output = match output {
            Ok(output) => output,
            Err(e) => return Ok(Err(format!("no mpirun: {e}"))),
        };
        let seconds = serde_json::from_slice::<serde_json::Value>(&output.stdout)
            .ok()
            .and_then(|v| v["seconds"].as_f64());
        match seconds {
            Some(s) => best = best.min(s),
            None => {
                let said = String::from_utf8_lossy(&output.stderr);
                let line = said.lines().find(|l| !l.trim().is_empty());
                return Ok(Err(format!(
                    "mpirun failed: {}",
                    line.unwrap_or("it does not say why")
                )));
            }
        }
    }
    Ok(Ok(best))
}
