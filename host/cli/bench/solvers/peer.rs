//! Serial C loops after Pacheco & Malensek (2021), compiled when the benchmark runs, and Trisolar's loops, all on one core.

use std::path::Path;
use std::process::Command;

use trisolar::bodies::numbers;
use trisolar::nbody::{Bodies, CpuEngine, Precision, Schedule, Solver};
use trisolar::simd::Simd;

use super::{Row, Tables, fastest, problem};
use crate::{Failure, interrupt};

const SOURCE: &str = include_str!("textbook.c");
const FLAGS: [&str; 2] = ["-O3", "-march=native"];
const BODIES: usize = 2000;
const STEPS: u64 = 20;

/// The measurements of a solver.
struct Measured {
    name: String,
    solver: Solver,
    seconds: f64,
}

pub(super) fn measure(
    tables: &mut Tables,
    repeats: u32,
    chosen: Option<Simd>,
) -> Result<(), Failure> {
    let folder = tempfile::tempdir()
        .map_err(|e| Failure::Failed(format!("cannot make a temporary folder: {e}")))?;
    let compiled = compile(folder.path());
    let mut measured = Vec::new();
    let mut agreement = 0.0_f64;
    for solver in Solver::ALL {
        let problem = problem(BODIES, *solver, Precision::F64)?;
        let mut rivals: Vec<(String, Option<CpuEngine>)> = Vec::new();
        if compiled.is_ok() {
            rivals.push(("C after P&M".into(), None));
        }
        // Scalar lanes are only of interest on machines without vector units.
        let simds = Simd::chosen_or_all(chosen);
        let alone = simds.len() == 1;
        let is_of_use = |s: &Simd| *s != Simd::Scalar || alone;
        for simd in simds.into_iter().filter(is_of_use) {
            let engine = CpuEngine::with_simd(Some(1), Schedule::Dynamic, simd)?;
            rivals.push((format!("Rust, {simd}"), Some(engine)));
        }
        let mut seconds = vec![f64::INFINITY; rivals.len()];
        let mut ends = vec![Bodies::default(); rivals.len()];
        // In turn, so that other load affects all of them equally.
        for _ in 0..repeats {
            interrupt::check()?;
            for (k, (_, engine)) in rivals.iter().enumerate() {
                let (s, end) = match engine {
                    Some(engine) => fastest(engine, &problem, STEPS, 2)?,
                    None => run(&folder.path().join("textbook"), *solver)?,
                };
                seconds[k] = seconds[k].min(s);
                ends[k] = end;
            }
        }
        agreement = agreement.max(difference(&ends[0], &ends[ends.len() - 1]));
        for ((name, _), seconds) in rivals.into_iter().zip(seconds) {
            measured.push(Measured {
                name,
                solver: *solver,
                seconds,
            });
        }
    }
    report(tables, &measured, compiled.as_ref().err(), agreement);
    Ok(())
}

/// Compiles the loops, or returns the reason of the failure.
fn compile(folder: &Path) -> Result<(), String> {
    let source = folder.join("textbook.c");
    std::fs::write(&source, SOURCE).map_err(|e| e.to_string())?;
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let output = Command::new(&compiler)
        .args(FLAGS)
        .arg("-o")
        .arg(folder.join("textbook"))
        .arg(&source)
        .arg("-lm")
        .output()
        .map_err(|e| format!("no C compiler `{compiler}`: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "`{compiler}` failed: {}",
        said.lines().next().unwrap_or("it does not say why")
    ))
}

fn run(program: &Path, solver: Solver) -> Result<(f64, Bodies), Failure> {
    let failed = |reason: String| {
        Failure::Failed(format!("the C program after Pacheco & Malensek: {reason}"))
    };
    let output = Command::new(program)
        .args([solver.name(), &BODIES.to_string(), &STEPS.to_string(), "1"])
        .output()
        .map_err(|e| failed(e.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    let seconds = lines.next().and_then(|l| l.parse().ok());
    let seconds = seconds.ok_or_else(|| failed("it prints no time".into()))?;
    let mut bodies = Bodies::default();
    for line in lines {
        let numbers: Vec<f64> = line
            .split_whitespace()
            .filter_map(|w| w.parse().ok())
            .collect();
        if let [x, y, vx, vy] = numbers[..] {
            bodies.push(5e24, [x, y, 0.0], [vx, vy, 0.0]);
        }
    }
    Ok((seconds, bodies))
}

/// The largest difference of positions, relative to the extent of the line.
fn difference(a: &Bodies, b: &Bodies) -> f64 {
    let extent = 1e5 * BODIES as f64;
    let pairs = numbers(&a.position).iter().zip(numbers(&b.position));
    pairs.fold(0.0, |d, (x, y)| d.max((x - y).abs() / extent))
}

fn report(tables: &mut Tables, measured: &[Measured], no_c: Option<&String>, agreement: f64) {
    tables.heading(&format!(
        "One core, {BODIES} particles, {STEPS} steps: serial C loops after Pacheco & Malensek (2021) ({}) and \
         Trisolar, in f64 and two dimensions",
        FLAGS.join(" ")
    ));
    match no_c {
        Some(reason) => tables.line(&format!("(not compared with C: {reason})")),
        None => tables.line(&format!(
            "(positions at the end differ by {agreement:.0e} of the line's length at most)"
        )),
    }
    tables.line(&format!(
        "{:<10}{:<24}{:>10}{:>18}{:>10}",
        "solver", "program", "seconds", "interactions/s", "x C"
    ));
    for m in measured {
        let c = measured
            .iter()
            .find(|c| c.solver == m.solver && no_c.is_none());
        let row = Row {
            table: "serial",
            name: format!("{}, {}", m.solver, m.name),
            workers: 1,
            bodies: BODIES,
            steps: STEPS,
            seconds: m.seconds,
            book_seconds: None,
        };
        let ratio = c.map_or("-".into(), |c| format!("{:.2}", c.seconds / m.seconds));
        tables.line(&format!(
            "{:<10}{:<24}{:>10.4}{:>18.3e}{ratio:>10}",
            m.solver.name(),
            m.name,
            m.seconds,
            row.rate()
        ));
        tables.rows.push(row);
    }
}
